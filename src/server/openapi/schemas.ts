import { DEFINITIONS } from '../../model/definitions.js'
import type { EventsPage } from '../../model/event.js'
import type { OversoldMatch, OversoldPage } from '../../model/oversold.js'
import { PERFORMANCES, STABILITIES } from '../../model/series.js'
import { TIER_NAMES, type Tier } from '../../model/terms.js'
import { EVENTS, OVERSOLD } from '../../params/parameters.js'
import type { Kind } from '../../params/row.js'
import { OVERSOLD_KEYS } from '../../tiers.js'
import type { ErrorShape } from '../../wire/format.js'
import { schemaName, wireSchemas } from '../../wire/schemas.js'
import { type Reference, SCHEMAS_AT, type Schema, schemaRef, title } from './document.js'

/** Every schema of the document by its name: the values of parameters, and the bodies of answers made of the same words. */
export function schemas(shape: ErrorShape): Record<string, Schema> {
  const bodies = Object.entries(wireSchemas(shape, SCHEMAS_AT)).map(([name, schema]) => [
    name,
    withMeanings(name, inWords(schema)),
  ])
  const words = Object.entries(WORDS).map(([name, schema]) => [name, told(name, schema)])
  return Object.fromEntries([...bodies, ...words])
}

/** Where the schema of a kind of parameter lies. */
export function kindRef(kind: Kind<unknown, unknown>): Reference {
  return schemaRef(NAMES.get(JSON.stringify(kind.schema))!)
}

/** Schemas that are named otherwise than after the first parameter of their kind. */
const RENAMED: Readonly<Record<string, string>> = { before: 'Date', min_severity: 'Severity', sort_by: 'OversoldOrder' }

const WORDS: Readonly<Record<string, Schema>> = {
  ...kindSchemas(),
  Tier: { type: 'string', enum: TIER_NAMES },
  Stability: { type: 'string', enum: STABILITIES },
  Performance: { type: 'string', enum: PERFORMANCES },
}
const NAMES = new Map(Object.entries(WORDS).map(([name, schema]) => [JSON.stringify(schema), name]))

const ABOUT: Readonly<Record<string, string>> = {
  Ticker: 'Letters in either case; answers have them in upper case.',
  Sector: 'Neither blank nor with control characters.',
  Field: 'Which of them a tier may ask for, and which bands they have, is listed with the fields.',
  Band: 'Which of them a field has is listed with the fields.',
  Date: 'A calendar date, as 2024-02-29.',
  Performance: `How a return ranked among those of the same ticker over as many bars: ${percentilesInWords()}.`,
}

function kindSchemas(): Record<string, Schema> {
  const found = new Set<string>()
  const words: Record<string, Schema> = {}
  for (const [param, { kind }] of [...Object.entries(EVENTS), ...Object.entries(OVERSOLD)]) {
    const text = JSON.stringify(kind.schema)
    if (!found.has(text)) words[RENAMED[param] ?? schemaName(param)] = kind.schema
    found.add(text)
  }
  return words
}

function told(name: string, schema: Schema): Schema {
  const description = ABOUT[name]
  return description === undefined ? schema : { ...schema, description }
}

function percentilesInWords(): string {
  const edges = [0, ...DEFINITIONS.performance.cuts, 100]
  return PERFORMANCES.map((name, i) => `${name} from ${edges[i]} to ${edges[i + 1]} %`).join(', ')
}

/** The schema with a reference wherever it spells out words that have a name; what it says of them stays. */
function inWords(schema: object): Schema {
  return Object.fromEntries(Object.entries(schema).map(([key, part]) => [key, partInWords(part)]))
}

function partInWords(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(partInWords)
  if (typeof part !== 'object' || part === null) return part
  const { description, ...words } = part as Schema
  const name = NAMES.get(JSON.stringify(words))
  if (name === undefined) return inWords(part)
  return description === undefined ? schemaRef(name) : { ...schemaRef(name), description }
}

/** What the keys of answers mean that their schemas do not say themselves. */

const EVENTS_PAGE: Partial<Record<keyof EventsPage, string>> = {
  ticker: 'The ticker that was asked for, in upper case.',
  field: 'The field that was asked for.',
  timeframe: 'The bars on which bands are told.',
  context: 'Only when one was asked for.',
}

const OVERSOLD_PAGE: Record<keyof OversoldPage, string> = {
  matches: 'In the order asked for, cut at `limit`.',
  total_scanned: 'Tickers of the filters that were looked at: those with a bar of late, and old enough to have a band.',
  match_count: 'All matches, whatever `limit`.',
  data_status: 'Always `eod`: the data is of the end of a day.',
}

const MATCH: Record<keyof OversoldMatch, string> = {
  ticker: 'The ticker.',
  asset_class: 'What it is; null where nothing tells.',
  rsi_zone: 'How oversold it is.',
  condition_rarity: 'How rarely its RSI is as low as this; null where its history is too short.',
  sector: 'Its sector; null where nobody told.',
  market_cap_tier: 'Its size; null where nobody told.',
  valuation_zone: 'Band of the field. Not for crypto and funds.',
  stochastic_zone: 'Where the close lies in the range of the last bars, in the words of `rsi_zone`.',
  days_in_oversold: 'Bars since it became oversold, that one included.',
  oversold_streaks_count: 'Stays at or below oversold in its recent history, the present one included.',
  volume_context: 'The volume of the last bar against its usual one.',
  volume_ratio_band: 'Band of the field.',
  trend_context: 'Band of `trend_direction`.',
  nearest_support_distance: 'How far the close is above its support; null without one, or below it.',
  sector_rsi_zone: 'Zone of the median RSI of the stocks in its sector; null without a sector.',
  earnings_proximity: 'Band of the field. Not for crypto and funds.',
  growth_zone: 'Band of the field. Not for crypto and funds.',
  analyst_consensus: 'Band of the field. Not for crypto and funds.',
  rsi_zone_stability: 'How settled the zone is, by the bars it has lasted and its recent changes.',
  rsi_zone_flips_recent: 'Recent changes of `rsi_zone`.',
  accumulation_state: 'Band of the field.',
  historical_median_oversold_days: 'Of the ended ones among those stays, in bars; null without any.',
  historical_max_oversold_days: 'The longest ended one among those stays, in bars; null without any.',
  sector_agreement: 'Whether its sector as a whole is oversold too; null without a sector.',
  sector_oversold_count: 'Stocks of its sector that are oversold; null without a sector.',
  sector_total_count: 'Stocks of its sector that were looked at; null without a sector.',
}

const MEANINGS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  EventsPage: EVENTS_PAGE,
  OversoldPage: OVERSOLD_PAGE,
  OversoldMatch: Object.fromEntries(Object.entries(MATCH).map(([key, about]) => [key, about + tiersThatSee(key)])),
}

/** A schema with what each of its keys means. */
function withMeanings(name: string, schema: Schema): Schema {
  const meanings = MEANINGS[name]
  if (meanings === undefined) return schema
  const properties = Object.entries(schema.properties as Record<string, Schema>).map(([key, part]) => {
    const description = meanings[key] ?? part.description
    return [key, description === undefined ? part : { ...part, description }]
  })
  return { ...schema, properties: Object.fromEntries(properties) }
}

/** ` Plus and Pro.`, nothing where every tier sees it. */
function tiersThatSee(key: string): string {
  const tiers = TIER_NAMES.filter(tier => isSeen(key, tier))
  return tiers.length === TIER_NAMES.length ? '' : ` ${tiers.map(title).join(' and ')}.`
}

function isSeen(key: string, tier: Tier): boolean {
  return (OVERSOLD_KEYS[tier] as readonly string[]).includes(key)
}
