/** One line of blocks that rise with the values, as wide as there are values but at most `width`: the last of each column. */
export function sparkline(values: readonly number[], { width, ascii }: { width: number; ascii: boolean }): string {
  const signs = ascii ? ASCII : BLOCKS
  const columns = Math.min(width, values.length)
  const shown = Array.from({ length: columns }, (_, i) => values[Math.ceil(((i + 1) * values.length) / columns) - 1]!)
  const high = shown.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY)
  const low = shown.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)
  const top = signs.length - 1
  const place = (value: number): number => (high === low ? Math.floor(top / 2) : ((value - low) / (high - low)) * top)
  return shown.map(value => signs[Math.round(place(value))]!).join('')
}

const BLOCKS = '▁▂▃▄▅▆▇█'
const ASCII = '.:-=+*#@'
