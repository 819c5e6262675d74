import { suggest } from '../errors.js'

/** The fields that a text may name: a set of fields is one. */
export interface Vocabulary {
  named(name: string): { readonly name: string; readonly bands: readonly string[] } | undefined
  readonly names: readonly string[]
}

/** What people call fields, where no part of their names says so. */
const CALLED: Readonly<Record<string, string>> = {
  rsi_zone: 'momentum',
  macd_state: 'momentum',
  ma_alignment: 'sma ema moving_average',
  volatility_regime: 'atr natr',
  accumulation_state: 'obv',
  volume_ratio_band: 'volumes',
  valuation_zone: 'pb value',
  revenue_growth_direction: 'sales',
  earnings_surprise: 'surprise',
  analyst_consensus: 'ratings analysts',
  insider_activity_zone: 'insiders',
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
  if (part.length > 0) return part.toSorted((a, b) => Number(b.startsWith(typed)) - Number(a.startsWith(typed)))
  const called = Object.keys(CALLED).filter(name => CALLED[name]!.split(' ').includes(typed))
  return called.length > 0 ? called.filter(name => names.includes(name)) : suggest(typed, names)
}

/** The fields that have a band of that name, in the order of the specification. */
export function fieldsWithBand(band: string, fields: Vocabulary): string[] {
  return fields.names.filter(name => fields.named(name)?.bands.includes(band))
}
