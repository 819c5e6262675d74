/** The median, of an even number the mean of the two in the middle; null of none. */
export function middleOf(values: readonly number[]): number | null {
  if (values.length === 0) return null
  const ascending = [...values].sort((a, b) => a - b)
  const half = ascending.length >>> 1
  return ascending.length % 2 === 1 ? ascending[half]! : (ascending[half - 1]! + ascending[half]!) / 2
}
