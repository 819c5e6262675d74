/**
 * Which of `length` points to draw so that nothing that stands out is lost: of every stretch of equal length the points
 * at which each column is least and greatest, beside the first and the last point. All of them where they are no more
 * than `most`.
 */
export function thinned(columns: readonly ArrayLike<number | null>[], length: number, most: number): number[] {
  if (length <= most) return Array.from({ length }, (_, i) => i)
  const kept = new Set<number>([0, length - 1])
  const stretches = Math.max(1, Math.floor((most - kept.size) / (2 * columns.length)))
  for (let stretch = 0; stretch < stretches; stretch++) {
    const from = Math.floor((stretch * length) / stretches)
    const to = Math.floor(((stretch + 1) * length) / stretches)
    for (const column of columns) addExtremes(column, from, to, kept)
  }
  return [...kept].sort((a, b) => a - b)
}

function addExtremes(column: ArrayLike<number | null>, from: number, to: number, kept: Set<number>): void {
  let [least, greatest] = [-1, -1]
  for (let i = from; i < to; i++) {
    const value = column[i]
    if (value === null || value === undefined) continue
    if (least < 0 || value < column[least]!) least = i
    if (greatest < 0 || value > column[greatest]!) greatest = i
  }
  if (least >= 0) kept.add(least).add(greatest)
}

/** Rounded to six significant digits: more than any screen shows, and half the page. */
export function shortened(value: number | null | undefined): number | null {
  return value === null || value === undefined || !Number.isFinite(value) ? null : Number(value.toPrecision(6))
}
