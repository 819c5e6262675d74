/** What an analyst thinks of a stock. */
export type Opinion = 'strong_buy' | 'buy' | 'hold' | 'sell' | 'strong_sell'

/** What single firms call each opinion; other words do not count. */
const WORDS: readonly (readonly [opinion: Opinion, words: readonly string[]])[] = [
  ['strong_buy', ['strong buy', 'conviction buy', 'top pick', 'long-term buy']],
  [
    'buy',
    [
      'buy',
      'outperform',
      'overweight',
      'market outperform',
      'sector outperform',
      'positive',
      'accumulate',
      'add',
      'outperformer',
    ],
  ],
  [
    'hold',
    [
      'hold',
      'neutral',
      'equal-weight',
      'equal weight',
      'market perform',
      'sector perform',
      'sector weight',
      'peer perform',
      'perform',
      'in-line',
      'fair value',
      'mixed',
    ],
  ],
  ['sell', ['sell', 'underperform', 'underweight', 'reduce', 'negative', 'sector underperform']],
  ['strong_sell', ['strong sell']],
]

const OPINIONS: ReadonlyMap<string, Opinion> = new Map(
  WORDS.flatMap(([opinion, words]) => words.map(word => [word, opinion] as const)),
)

/** What a firm's word says, case aside; null when the word does not count. */
export function opinionOf(grade: string): Opinion | null {
  return OPINIONS.get(grade.trim().toLowerCase()) ?? null
}
