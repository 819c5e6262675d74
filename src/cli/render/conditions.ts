/** What an answer was narrowed to beside the bands entered, as documents spell it. */
export interface Conditions {
  prev_bands: readonly string[] | null
  stability: readonly string[] | null
  max_flips: number | null
  context: { ticker: string; field: string; bands: readonly string[] | null; lag: 0 | 1 } | null
}

/** The same in words, one each; the bands left are a part of what the event is called. */
export function conditionTexts({ stability, max_flips, context }: Omit<Conditions, 'prev_bands'>): string[] {
  return [
    ...(context === null ? [] : [contextText(context)]),
    ...(stability === null ? [] : [`stability ${stability.join(' or ')}`]),
    ...(max_flips === null ? [] : [`at most ${max_flips} ${max_flips === 1 ? 'flip' : 'flips'}`]),
  ]
}

/** ` from neutral_low or neutral`. */
export function fromText({ prev_bands }: Pick<Conditions, 'prev_bands'>): string {
  return prev_bands === null ? '' : ` from ${prev_bands.join(' or ')}`
}

function contextText({ ticker, field, bands, lag }: NonNullable<Conditions['context']>): string {
  const state = bands === null ? '' : ` = ${bands.join(' or ')}`
  return `${bands === null ? 'beside' : 'while'} ${ticker} ${field}${state}${lag === 1 ? ' a bar before' : ''}`
}
