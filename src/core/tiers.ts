import { type InvalidParameter, invalid, TierRestricted } from './errors.js'
import type { AnyField, FieldSet } from './fields/index.js'
import { conditionField, isRuled } from './language/as-field.js'
import { type Day, formatDay, yearsBefore } from './model/day.js'
import type { BandEvent, EventsPage, EventsQuery, HistoricEvent, HistoryQuery, OversoldMatch } from './model/event.js'
import { includesTier, TIER_NAMES, type Tier } from './model/terms.js'

/**
 * Throws TierRestricted, naming the field or feature, if a tier may not ask a question. A null tier, as on the command
 * line, may ask for all loaded data.
 * @param fields the known fields
 */
export function entitle(
  { field, context, when }: Pick<HistoryQuery, 'field' | 'context' | 'when'>,
  tier: Tier | null,
  fields: FieldSet,
): void {
  if (tier === null) return
  entitleField(field, tier, fields)
  if (when !== undefined) entitleField(when, tier, fields)
  if (context === undefined) return
  entitleContext(tier)
  entitleField(context.field, tier, fields)
}

/** Throws TierRestricted unless the tier shows the later returns of events. */
export function entitleAftermath(tier: Tier | null): void {
  refuseWithoutRight('aftermath', 'aftermath', tier)
}

/** Throws TierRestricted unless the tier may export. An export has everything that other answers have in parts. */
export function entitleExport(tier: Tier | null): void {
  refuseWithoutRight('exports', 'export', tier)
}

/**
 * Checks the date of a past scan. Throws InvalidParameter for a date after today or before every tier's range. Throws
 * TierRestricted for a date that needs a higher tier.
 */
export function entitleDate(date: Day, tier: Tier | null, today: Day, param = 'date'): void {
  if (tier === null) {
    if (date > today) throw outOfRangeError(param, date, `a date up to ${formatDay(today)}`)
    return
  }
  const reaches = (name: Tier): boolean => date > PLANS[name].rangeStart(today)
  const lowestTier = TIER_NAMES.find(name => includesTier(name, LOWEST_TIER_FOR_DATES) && reaches(name))
  if (date > today || lowestTier === undefined) {
    const first = PLANS[HIGHEST_TIER].rangeStart(today) + 1
    throw outOfRangeError(param, date, `a date from ${formatDay(first)} to ${formatDay(today)}`)
  }
  if (includesTier(tier, lowestTier)) return
  // A tier below that may not name any date.
  const feature = includesTier(tier, LOWEST_TIER_FOR_DATES) ? `a date outside of the last ${PLANS[tier].range}` : 'date'
  throw new TierRestricted(feature, tier, lowestTier)
}

const LOWEST_TIER_FOR_DATES: Tier = 'plus'
const HIGHEST_TIER: Tier = 'pro'

function outOfRangeError(param: string, date: Day, allowed: string): InvalidParameter {
  return invalid('not_allowed', { param, value: formatDay(date), allowed })
}

/** The fields of a tier, in the order of the specification. */
export function grantedFields(tier: Tier | null, { all }: FieldSet): AnyField[] {
  return all.filter(field => includesTier(tier, field.tier))
}

/** Throws TierRestricted for a field above the tier, or for a condition with such a field or, on Free, a ticker. */
function entitleField(name: string, tier: Tier, fields: FieldSet): void {
  const field = fields.named(name) ?? conditionField(name, fields)
  if (isRuled(field)) {
    for (const subject of field.subjects) {
      if (subject.ticker !== null) entitleContext(tier)
      entitleField(subject.field, tier, fields)
    }
  } else if (!includesTier(tier, field.tier)) throw new TierRestricted(name, tier, field.tier)
}

function entitleContext(tier: Tier): void {
  refuseWithoutRight('context', 'cross-asset correlation', tier)
}

/** Throws TierRestricted, which names the feature and the lowest tier with it, unless the tier's plan has the right. */
function refuseWithoutRight(right: 'aftermath' | 'context' | 'exports', feature: string, tier: Tier | null): void {
  if (planOf(tier)[right]) return
  throw new TierRestricted(feature, tier!, TIER_NAMES.find(name => PLANS[name][right])!)
}

/** What a tier permits. */
export interface Plan {
  /** The value of `query_range`. */
  range: string
  /** Events lie after this day; -Infinity for no limit. */
  rangeStart(today: Day): Day
  /** Whether events have aftermath, stability and flips. */
  aftermath: boolean
  /** Cross-asset correlation. */
  context: boolean
  /** Whole files of events, series and bars. */
  exports: boolean
}

interface Subscription extends Plan {
  /** Credits that a server grants an account, in a UTC day and in an hour. */
  credits: { day: number; hour: number }
}

/** The specified rights of each tier, plus exports, which the specification does not have. */
export const PLANS: Readonly<Record<Tier, Subscription>> = {
  free: {
    range: '90d',
    rangeStart: today => today - 90,
    aftermath: false,
    context: false,
    exports: false,
    credits: { day: 250, hour: 100 },
  },
  plus: {
    range: '2y',
    rangeStart: today => yearsBefore(today, 2),
    aftermath: true,
    context: true,
    exports: false,
    credits: { day: 50_000, hour: 5_000 },
  },
  pro: {
    range: '5y',
    rangeStart: today => yearsBefore(today, 5),
    aftermath: true,
    context: true,
    exports: true,
    credits: { day: 100_000, hour: 10_000 },
  },
}

/** `query_range` without a tier. */
export const WHOLE_RANGE = 'all'

const PLAN_WITHOUT_TIER: Plan = {
  range: WHOLE_RANGE,
  rangeStart: () => Number.NEGATIVE_INFINITY,
  aftermath: true,
  context: true,
  exports: true,
}

/** The plan of a tier; null: no limits. */
export function planOf(tier: Tier | null): Plan {
  return tier === null ? PLAN_WITHOUT_TIER : PLANS[tier]
}

/** The start of a tier's range as a date; null if there is no limit. */
export function rangeStartDate(rangeStart: Day): string | null {
  return Number.isFinite(rangeStart) ? formatDay(rangeStart) : null
}

/** The tier of a server's range (`2y`); null if none of ours has it. */
export function tierOfRange(range: string): Tier | null {
  return TIER_NAMES.find(tier => PLANS[tier].range === range) ?? null
}

/** The event without the keys that a tier does not show. */
export function eventForTier<Event extends BandEvent>(event: Event, tier: Tier | null): Event {
  if (planOf(tier).aftermath) return event
  const shown: HistoricEvent = { ...event, aftermath: null }
  for (const key of KEYS_WITHHELD) delete shown[key]
  return shown as Event
}

/** The body of `GET /v1/events`. @param events the events as the caller may see them, newest first */
export function eventsPage(
  query: EventsQuery,
  events: BandEvent[],
  total_occurrences: number,
  query_range: string,
): EventsPage {
  const { ticker, field, timeframe, context, when } = query
  const page: EventsPage = { ticker, field, timeframe, events, total_occurrences, query_range }
  if (context !== undefined) page.context = { ...context }
  if (when !== undefined) page.when = when
  return page
}

const KEYS_WITHHELD = [
  'stability_at_entry',
  'flips_recent_at_entry',
  'flips_lookback',
  'returns',
  'percentiles',
  'missing',
] as const satisfies readonly (keyof HistoricEvent)[]

/** The price of an answer: one credit for each ticker that it reads. */
export function eventsCost({ context }: Pick<EventsQuery, 'context'>): number {
  return context === undefined ? 1 : 2
}

/** `GET /v1/summary/{ticker}` has one price for any number of fields and days. */
export const SUMMARY_COST = 1

/** `GET /v1/search` has one price for any number of tickers. */
export const SEARCH_COST = 1

/** `GET /v1/scan/oversold` has one price for any number of tickers. */
export const OVERSOLD_COST = 1

/** A function for each value of a match; only shown values are computed. Values a ticker cannot have are absent. */
export type OversoldFigures = {
  readonly [Key in keyof OversoldMatch]: () => OversoldMatch[Key] | Promise<OversoldMatch[Key]>
}

/**
 * Returns the values of an oversold ticker that the tier may see, in the order of the specification. Other values are
 * not computed. A null tier sees all.
 */
export async function presentOversold(figures: OversoldFigures, tier: Tier | null): Promise<OversoldMatch> {
  const visible: Record<string, unknown> = {}
  for (const key of OVERSOLD_KEYS[tier ?? HIGHEST_TIER]) {
    const compute = figures[key]
    if (compute !== undefined) visible[key] = await compute()
  }
  return visible as unknown as OversoldMatch
}

/** The values that each tier adds. Free has valuation_zone here, although its events need Plus: this table wins. */
const KEYS_ADDED: Readonly<Record<Tier, readonly (keyof OversoldMatch)[]>> = {
  free: ['ticker', 'asset_class', 'rsi_zone', 'condition_rarity', 'sector', 'market_cap_tier', 'valuation_zone'],
  plus: [
    'stochastic_zone',
    'days_in_oversold',
    'oversold_streaks_count',
    'volume_context',
    'volume_ratio_band',
    'trend_context',
    'nearest_support_distance',
    'sector_rsi_zone',
    'earnings_proximity',
    'growth_zone',
    'analyst_consensus',
    'rsi_zone_stability',
    'rsi_zone_flips_recent',
  ],
  pro: [
    'accumulation_state',
    'historical_median_oversold_days',
    'historical_max_oversold_days',
    'sector_agreement',
    'sector_oversold_count',
    'sector_total_count',
  ],
}

/** The keys of a match that each tier sees, in order. */
export const OVERSOLD_KEYS: Readonly<Record<Tier, readonly (keyof OversoldMatch)[]>> = {
  free: keysUpTo('free'),
  plus: keysUpTo('plus'),
  pro: keysUpTo('pro'),
}

function keysUpTo(tier: Tier): readonly (keyof OversoldMatch)[] {
  return TIER_NAMES.filter(name => includesTier(tier, name)).flatMap(name => KEYS_ADDED[name])
}
