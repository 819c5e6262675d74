/** Tickers once each, ascending, so that the order in which they were named changes nothing. */
export function tickersInOrder(tickers: readonly string[]): string[] {
  return [...new Set(tickers)].sort()
}

/** Compares by place in the vocabulary; values that are not in it follow, ascending; null last. */
export function byVocabulary(vocabulary: readonly string[]): (a: string | null, b: string | null) => number {
  const place = (value: string): number => (vocabulary.includes(value) ? vocabulary.indexOf(value) : vocabulary.length)
  return (a, b) => {
    if (a === null || b === null) return Number(a === null) - Number(b === null)
    return place(a) - place(b) || Number(a > b) - Number(a < b)
  }
}
