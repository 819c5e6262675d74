import { suggest } from '../errors.js'

/** The fields that a text may name: a set of fields is one. */
export interface Vocabulary {
  named(name: string): { readonly name: string; readonly bands: readonly string[] } | undefined
  readonly names: readonly string[]
}

/** What people call a field, where no part of its name says so. */
const CALLED: Readonly<Record<string, readonly string[]>> = {
  sma: ['ma_alignment'],
  ema: ['ma_alignment'],
  moving_average: ['ma_alignment'],
  momentum: ['rsi_zone', 'macd_state'],
  atr: ['volatility_regime'],
  natr: ['volatility_regime'],
  obv: ['accumulation_state'],
  volumes: ['volume_ratio_band'],
  pb: ['valuation_zone'],
  value: ['valuation_zone'],
  sales: ['revenue_growth_direction'],
  surprise: ['earnings_surprise'],
  ratings: ['analyst_consensus'],
  analysts: ['analyst_consensus'],
  insiders: ['insider_activity_zone'],
}

/**
 * The fields that a word may mean, best first: by its spelling, otherwise by the part of a name that it is (`rsi`,
 * `trend`), otherwise by what people call them.
 */
export function fieldsMeant(word: string, { names }: Vocabulary): readonly string[] {
  const typed = word.toLowerCase().replaceAll('-', '_')
  const exact = names.filter(name => name === typed)
  if (exact.length > 0) return exact
  // A short word is rather a part than a slip of the hand: "eps" is not "pe".
  const part = names.filter(name => `_${name}_`.includes(`_${typed}_`))
  const called = Object.hasOwn(CALLED, typed) ? CALLED[typed]! : []
  return part.length > 0
    ? byPlace(part, typed)
    : called.length > 0
      ? called.filter(name => names.includes(name))
      : suggest(typed, names)
}

/** Those that begin with the word first. */
function byPlace(names: readonly string[], word: string): string[] {
  return names.toSorted((a, b) => Number(b.startsWith(word)) - Number(a.startsWith(word)))
}

/** The fields that have a band of that name, in the order of the specification. */
export function fieldsWithBand(band: string, fields: Vocabulary): string[] {
  return fields.names.filter(name => fields.named(name)?.bands.includes(band))
}
