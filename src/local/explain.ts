import { InvalidParameter, NotFound, TierRestricted } from '../errors.js'
import type { Field, Reading } from '../fields/field.js'
import { fieldNamed } from '../fields/index.js'
import type { Panel } from '../fields/panel.js'
import { type Day, formatDay } from '../model/day.js'
import { UNDEFINED } from '../model/record.js'
import type { Adjustment, Series } from '../model/series.js'
import { TIER_NAMES, type Tier } from '../model/tier.js'
import type { Timeframe } from '../model/timeframe.js'
import { entitle } from '../policy/entitle.js'
import { PLANS } from '../policy/plans.js'
import type { Cache } from './cache.js'
import { lackOf } from './dossier.js'
import { type ExplainedEvent, explainedEvent } from './explain-event.js'
import { stayOn, type View } from './view.js'

export interface ExplainQuery {
  ticker: string
  field: string
  timeframe: Timeframe
  /** The newest final bar unless given. */
  date?: Day
}

/** Why a bar has the band that it has; everything that a figure seen elsewhere may differ in. */
export interface Explanation {
  schema: 'bands.explain/1'
  ticker: string
  field: string
  timeframe: Timeframe
  as_of: string
  /** The bar's date; `date_note` says why it is not the one asked for, null when it is. */
  date: string
  date_note: string | null
  prices: Adjustment
  source: string
  imported_at: string
  open: number
  high: number
  low: number
  close: number
  volume: number | null
  /** Of a field that stands on facts: why the close that it looks at is not the one that was paid; null when it is. */
  price_note: string | null
  /** Bars of history before this one, and the first of them: recursive averages remember where they began. */
  bars_before: number
  history_from: string
  /** Bars that must lie before the first one with a band, as far as bars decide, and that bar's date. */
  warm_up: { bars: number; first_date: string | null }
  rule: string
  readings: { name: string; value: number | null; note: string | null }[]
  /** The band on this very bar; null where undefined, and then why. */
  band: string | null
  undefined_because: string | null
  /** The band in force: that of the last defined bar, the date it was entered, the bars since. */
  in_force: string | null
  entered: string | null
  bars_in_force: number | null
  /** True while the band in force is the first one, which no event entered. */
  initial: boolean
  /** null unless the band was entered on this bar */
  event: ExplainedEvent | null
}

/**
 * The answer to "why is this not what I see elsewhere". A date without a bar means the last bar on or before it. Throws
 * TierRestricted for a field above the tier or, below Pro, a date before its range; InvalidParameter for a date before
 * the first bar; NotFound for a ticker without a final bar.
 */
export async function explain(cache: Cache, query: ExplainQuery): Promise<Explanation> {
  const { ticker, timeframe } = query
  entitle(query, cache.tier)
  const view = await cache.view(ticker, timeframe, query.field)
  const series = await cache.series(ticker, timeframe)
  const today = await cache.today()
  const t = barAsked(query, series, today)
  checkRange(series.days[t]!, cache.tier, today)
  const entry = await cache.entry(ticker)
  const field = fieldNamed(query.field)!
  const panel = await cache.panel(ticker, timeframe, [field])
  const factless = field.needs !== 'bars' && panel.fundamentals === null
  const lack = factless ? lackOf(field.name, ticker, await cache.store.sheets(ticker)) : null
  return {
    schema: 'bands.explain/1',
    ticker,
    field: query.field,
    timeframe,
    as_of: formatDay(today),
    date: formatDay(series.days[t]!),
    date_note: dateNote(query, series, t),
    prices: entry.prices,
    source: entry.source,
    imported_at: entry.importedAt,
    ...pricesOf(series, t),
    bars_before: t,
    history_from: formatDay(series.days[0]!),
    ...judged(field, panel, t, view.bars, lack),
    price_note: field.needs !== 'bars' && entry.prices === 'adjusted' ? paidNote(panel, t) : null,
    ...inForce(view, t),
    event: explainedEvent(view, t, cache.tier),
  }
}

function paidNote({ series: { unadjustedClose } }: Panel, t: number): string | null {
  if (unadjustedClose === undefined)
    return 'prices are adjusted and no other close is known, so earnings are compared with an adjusted one'
  return Number.isNaN(unadjustedClose[t]!) ? 'the close before adjustment is unknown on this bar' : null
}

function barAsked({ ticker, timeframe, date }: ExplainQuery, { days }: Series, today: Day): number {
  if (days.length === 0) throw new NotFound(`${ticker} has no final ${timeframe} bar as of ${formatDay(today)}.`)
  if (date === undefined) return days.length - 1
  const t = days.findLastIndex(day => day <= date)
  if (t >= 0) return t
  const allowed = `${formatDay(days[0]!)} to ${formatDay(days.at(-1)!)}`
  throw new InvalidParameter(
    `date ${formatDay(date)} is before the first ${timeframe} bar of ${ticker} (${allowed}).`,
    {
      param: 'date',
      value: formatDay(date),
      allowed,
    },
  )
}

/** The highest tier explains any bar of the user's own store; the others those of their range. */
function checkRange(day: Day, tier: Tier, today: Day): void {
  const highest = TIER_NAMES.at(-1)!
  if (tier === highest || day > PLANS[tier].rangeStart(today)) return
  const required = TIER_NAMES.find(name => name !== tier && day > PLANS[name].rangeStart(today)) ?? highest
  throw new TierRestricted(`a bar outside of the last ${PLANS[tier].range}`, tier, required)
}

function dateNote({ date, timeframe }: ExplainQuery, { days }: Series, t: number): string | null {
  if (date === undefined || days[t] === date) return null
  const which = t === days.length - 1 ? `the newest final ${timeframe} bar` : `the last ${timeframe} bar before it`
  return `there is no final ${timeframe} bar of ${formatDay(date)}; this is ${which}`
}

function pricesOf(
  { open, high, low, close, volume }: Series,
  t: number,
): Pick<Explanation, 'open' | 'high' | 'low' | 'close' | 'volume'> {
  const traded = volume[t]!
  return {
    open: open[t]!,
    high: high[t]!,
    low: low[t]!,
    close: close[t]!,
    volume: Number.isNaN(traded) ? null : traded,
  }
}

type Judged = Pick<Explanation, 'warm_up' | 'rule' | 'readings' | 'band' | 'undefined_because'>

/** The rule applied to the bar, from the same indicators that the events were made with. */
function judged(field: Field, panel: Panel, t: number, known: number, lack: string | null): Judged {
  const code = field.classify(panel)[t]!
  const readings = field.readings(panel, t)
  // Without facts no number of bars would do.
  const bars = lack === null ? field.warmUp(panel) : 0
  const first = bars < known ? formatDay(panel.series.days[bars]!) : null
  return {
    warm_up: { bars, first_date: first },
    rule: field.rule,
    readings: readings.map(({ name, value, note }) => ({ name, value, note: note ?? null })),
    band: code === UNDEFINED ? null : field.bands[code]!,
    undefined_because: code === UNDEFINED ? (lack ?? whyUndefined(t, bars, first, readings)) : null,
  }
}

function whyUndefined(t: number, warmUp: number, first: string | null, readings: readonly Reading[]): string {
  if (t < warmUp) {
    const when = first === null ? 'which is yet to come' : `on ${first}`
    return `warm-up: this bar has ${t} before it, and the first that can have a band needs ${warmUp}, ${when}`
  }
  const missing = readings.filter(({ value }) => value === null)
  if (missing.length === 0) return 'the rule takes no side on these readings yet'
  const named = missing.map(({ name, note }) => (note === undefined ? name : `${name} (${note})`))
  return `undefined on this bar: ${named.join(', ')}`
}

function inForce(view: View, t: number): Pick<Explanation, 'in_force' | 'entered' | 'bars_in_force' | 'initial'> {
  const stay = stayOn(view, t)
  if (stay === null) return { in_force: null, entered: null, bars_in_force: null, initial: false }
  const { band, since, initial } = stay
  return { in_force: band, entered: formatDay(view.days[since]!), bars_in_force: t - since, initial }
}
