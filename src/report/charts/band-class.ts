/** The bands of a field lie on one range of seven colours, from its first band to its last. */
export function bandClass(code: number, bands: number): string {
  return `band-${bands < 2 ? 3 : Math.round((code * 6) / (bands - 1))}`
}
