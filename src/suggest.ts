/**
 * The nearest allowed words to a mistyped one, best first: within two slips (one for up to four letters), case aside.
 * A slip is a letter missing, added, changed, or swapped with its neighbour (optimal string alignment).
 */
export function suggest(word: string, allowed: readonly string[], most = 3): string[] {
  const typed = word.toLowerCase()
  const reach = typed.length <= 4 ? 1 : 2
  return allowed
    .map(candidate => ({ candidate, slips: slipsBetween(typed, candidate.toLowerCase(), reach) }))
    .filter(({ slips }) => slips <= reach)
    .sort((a, b) => a.slips - b.slips || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, most)
    .map(({ candidate }) => candidate)
}

/** ` Did you mean "oversold"?`, or nothing. */
export function didYouMean(suggestions: readonly string[]): string {
  if (suggestions.length === 0) return ''
  return ` Did you mean ${suggestions.map(word => `"${word}"`).join(' or ')}?`
}

function slipsBetween(a: string, b: string, reach: number): number {
  if (Math.abs(a.length - b.length) > reach) return reach + 1
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      row[j] = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1))
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (swapped) row[j] = Math.min(row[j]!, beforeLast[j - 2]! + 1)
    }
    beforeLast = last
    last = row
  }
  return last[b.length]!
}
