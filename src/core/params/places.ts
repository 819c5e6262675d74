import { type AnyField, BUILT_IN_FIELDS, type FieldSet } from '../fields/index.js'
import { BAR_FIGURES } from '../model/series.js'
import type { FieldName } from '../model/terms.js'
import type { Kind } from './row.js'
import { fieldValue } from './values.js'

/** Where a summary has each field: a section and the names below it; with underscores, the vendor's name of it. */
const PLACES: Readonly<Record<string, string>> = {
  rsi_zone: 'momentum.rsi_zone',
  trend_direction: 'trend.direction',
  ma_alignment: 'trend.ma_alignment',
  volume_ratio_band: 'volume.ratio_band',
  accumulation_state: 'volume.accumulation_state',
  volatility_regime: 'volatility.regime',
  macd_state: 'momentum.macd_state',
  support_status: 'support_level.status',
  resistance_status: 'resistance_level.status',
  valuation_zone: 'fundamentals.valuation_zone',
  growth_zone: 'fundamentals.growth_zone',
  earnings_proximity: 'fundamentals.earnings_proximity',
  analyst_consensus: 'fundamentals.analyst_consensus',
  pe_vs_historical: 'fundamentals.pe_vs_historical_zone',
  pe_vs_sector: 'fundamentals.pe_vs_sector_zone',
  revenue_growth_direction: 'fundamentals.revenue_growth_direction',
  eps_growth_direction: 'fundamentals.eps_growth_direction',
  earnings_surprise: 'fundamentals.last_earnings_surprise',
  analyst_consensus_direction: 'fundamentals.analyst_consensus_direction',
  insider_activity_zone: 'fundamentals.insider_activity.zone',
  net_direction: 'fundamentals.insider_activity.net_direction',
}

/** The place of a field, as `momentum.rsi_zone`; a field of a user's own is a section by itself. */
export function placeOf(field: string): string {
  return PLACES[field] ?? field
}

/** The place of a field in one word, such as `momentum_rsi_zone`: the long name of the field. */
export function longNameOf(field: string): string {
  return placeOf(field).replaceAll('.', '_')
}

/** The section of the prices in a summary. */
export const PRICES = 'ohlcv'

/** The ending of a place that has the stability of a band. */
export const META = '_meta'

/** Whether a place is chosen, by its own name or by a section that contains it. @param chosen undefined: all */
export function isChosen(place: string, chosen: readonly string[] | undefined): boolean {
  return chosen === undefined || chosen.some(name => place === name || place.startsWith(`${name}.`))
}

/** The places that a summary may be asked for: sections, their parts, and the stability of each band. */
export const CHOICES: readonly string[] = [
  ...[PRICES, ...BAR_FIGURES.map(name => `${PRICES}.${name}`)],
  ...new Set(
    BUILT_IN_FIELDS.names.flatMap(field => {
      const parts = placeOf(field).split('.')
      return [...parts.map((_, i) => parts.slice(0, i + 1).join('.')), placeOf(field) + META]
    }),
  ),
]

/** The sections of a summary, in the order of the fields. */
export const SECTIONS: readonly string[] = [
  ...new Set(BUILT_IN_FIELDS.names.map(field => placeOf(field).split('.')[0]!)),
]

const LONG_NAMES = new Map(BUILT_IN_FIELDS.names.map(field => [longNameOf(field), field]))

/** The field of a short or a long name; throws InvalidParameter for any other. */
export function fieldByAnyName(param: string, text: string, fields: FieldSet): AnyField {
  return fieldValue(param, LONG_NAMES.get(text) ?? text, fields)
}

/** A kind of field names that also takes the long ones, such as `momentum_rsi_zone`. @param name that of its schema */
export function withLongNames(kind: Kind<string, string>, name: string): Kind<string, FieldName> {
  const words = new Set([...BUILT_IN_FIELDS.names, ...LONG_NAMES.keys()])
  return {
    ...kind,
    schema: { type: 'string', enum: [...words] },
    name,
    parse: (param, written, scope) =>
      kind.parse(param, typeof written === 'string' ? (LONG_NAMES.get(written) ?? written) : written, scope),
  }
}
