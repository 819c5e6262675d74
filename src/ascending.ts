type Column = Int32Array | Float64Array

/** How many values of an ascending column are up to `x`; `least` and `most` bound the count where more is known of it. */
export function countUpTo(ascending: Column, x: number, least = 0, most = ascending.length): number {
  let low = least
  let high = most
  while (low < high) {
    const middle = (low + high) >>> 1
    if (ascending[middle]! <= x) low = middle + 1
    else high = middle
  }
  return low
}

/** How many values of an ascending column are below `x`; 0 where `x` is NaN. */
export function countBelow(ascending: Column, x: number, most = ascending.length): number {
  let low = 0
  let high = most
  while (low < high) {
    const middle = (low + high) >>> 1
    if (ascending[middle]! < x) low = middle + 1
    else high = middle
  }
  return low
}
