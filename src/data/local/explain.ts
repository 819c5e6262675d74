import { referenceSize } from '../../core/engine/outcomes.js'
import { InvalidParameter, NotFound, TierRestricted, worded } from '../../core/errors.js'
import type { Field, Reading } from '../../core/fields/field.js'
import { ruleInWords } from '../../core/fields/index.js'
import type { Panel } from '../../core/fields/panel.js'
import { isRuled, type RuledField } from '../../core/language/as-field.js'
import { printCondition, printSubject, type Subject, testsOf } from '../../core/language/condition.js'
import { readingsOf } from '../../core/language/truth.js'
import { type Day, formatDay } from '../../core/model/day.js'
import { DEFINITIONS } from '../../core/model/definitions.js'
import type { BandEvent, HistoricEvent, Missing } from '../../core/model/event.js'
import { type Adjustment, type Bar, bandsByBar, barOf, type Performance, type Series } from '../../core/model/series.js'
import { TIER_NAMES, TIMEFRAMES, type Tier, type Timeframe, windowNames } from '../../core/model/terms.js'
import { entitle, PLANS, planOf } from '../../core/tiers.js'
import type { TickerEntry } from '../store/store.js'
import type { Cache } from './cache.js'
import { begunBy, originsIn, type SourceFile } from './known.js'
import { eventsUpTo, historicEvents, missingFactsOf, periodAt, periodBefore, type View } from './view.js'

export interface ExplainQuery {
  ticker: string
  field: string
  timeframe: Timeframe
  /** Default: the newest final bar. */
  date?: Day
  /** How many bars earlier a condition reads the tickers that it names (default 0). */
  lag?: number | undefined
}

/** Why a bar has the band that it has; everything that a figure seen elsewhere may differ in. */
export interface Explanation extends Bar, Pick<SourceFile, 'source' | 'imported_at'> {
  schema: 'bands.explain/1'
  ticker: string
  field: string
  timeframe: Timeframe
  as_of: string
  /** The bar's date; `date_note` says why it is not the requested one, null if it is. */
  date: string
  date_note: string | null
  prices: Adjustment
  /** The first of several imports that brought the bars; absent if there was one. */
  begun?: SourceFile
  /** Which of the ticker's daily bars the file brought that brought this one. */
  source_bars: { first: string; last: string; bars: number; of: number }
  /** For a field that uses facts: why its close is not the unadjusted one; null if it is. */
  price_note: string | null
  /** Bars of history before this one, and the first of them: recursive averages remember where they began. */
  bars_before: number
  history_from: string
  /** Bars that must lie before the first one with a band, as far as bars decide, and that bar's date. */
  warm_up: { bars: number; first_date: string | null }
  rule: string
  readings: { name: string; value: number | null; note: string | null }[]
  /** For a condition: each test with its band, and whether it is true; null: unknown. */
  tests?: ExplainedTest[]
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

/** One test of a condition. */
export interface ExplainedTest {
  test: string
  /** The last bar that counts of the tested ticker, and its band; null if there is none. */
  subject: string
  date: string | null
  band: string | null
  holds: boolean | null
}

/**
 * The answer to "why does another source differ". A date without a bar means the last bar on or before it. Throws
 * TierRestricted for a field above the tier or, below Pro, a date before its range; InvalidParameter for a date before
 * the first bar; NotFound for a ticker without a final bar.
 */
export async function explain(cache: Cache, query: ExplainQuery): Promise<Explanation> {
  const { ticker, timeframe } = query
  entitle(query, cache.tier, cache.fieldSet)
  const view = await cache.view(ticker, timeframe, query.field, query.lag)
  const series = await cache.series(ticker, timeframe)
  const today = await cache.today()
  const t = barOn(query, series, today)
  checkRange(series.days[t]!, cache.tier, today)
  const entry = await cache.entry(ticker)
  const field = cache.field(query.field)
  const judgement = isRuled(field)
    ? await judgedTests(cache, field, query, view, t)
    : await judgedBand(cache, field, query, view, t)
  return {
    schema: 'bands.explain/1',
    ticker,
    field: query.field,
    timeframe,
    as_of: formatDay(today),
    date: formatDay(series.days[t]!),
    date_note: dateNote(query, series, t),
    prices: entry.prices,
    ...sourceOn(series.days[t]!, entry, (await cache.series(ticker, 'daily')).days),
    ...barOf(series, t),
    bars_before: t,
    history_from: formatDay(series.days[0]!),
    ...judgement,
    ...inForce(view, t),
    event: explainedEvent(view, t, cache.tier),
  }
}

function sourceOn(day: Day, entry: TickerEntry, days: Int32Array) {
  const { source, importedAt, begun, first, last, bars } = originsIn(entry, days).findLast(
    origin => origin.first <= day,
  )!
  const range = { first: formatDay(first), last: formatDay(last) }
  const shown = { source, imported_at: importedAt, ...begunBy(begun) }
  return { ...shown, source_bars: { ...range, bars, of: days.length } }
}

function paidNote({ series: { unadjustedClose } }: Panel, t: number): string | null {
  if (unadjustedClose === undefined)
    return 'prices are adjusted and no other close is known, so earnings are compared with an adjusted one'
  return Number.isNaN(unadjustedClose[t]!) ? 'the close before adjustment is unknown on this bar' : null
}

function barOn({ ticker, timeframe, date }: ExplainQuery, { days }: Series, today: Day): number {
  if (days.length === 0) throw new NotFound(`${ticker} has no final ${timeframe} bar as of ${formatDay(today)}.`)
  if (date === undefined) return days.length - 1
  const t = days.findLastIndex(day => day <= date)
  if (t >= 0) return t
  const value = formatDay(date)
  const allowed = `${formatDay(days[0]!)} to ${formatDay(days.at(-1)!)}`
  const message = `date ${value} is before the first ${timeframe} bar of ${ticker} (${allowed}).`
  throw new InvalidParameter(message, { param: 'date', value, allowed })
}

/**
 * The highest tier, and callers without a tier, can explain any bar of their own store; the others those of their
 * range.
 */
function checkRange(day: Day, tier: Tier | null, today: Day): void {
  const highest = TIER_NAMES.at(-1)!
  if (tier === null || tier === highest || day > PLANS[tier].rangeStart(today)) return
  const required = TIER_NAMES.find(name => name !== tier && day > PLANS[name].rangeStart(today)) ?? highest
  throw new TierRestricted(`a bar outside of the last ${PLANS[tier].range}`, tier, required)
}

function dateNote({ date, timeframe }: ExplainQuery, { days }: Series, t: number): string | null {
  if (date === undefined || days[t] === date) return null
  const which = t === days.length - 1 ? `the newest final ${timeframe} bar` : `the last ${timeframe} bar before it`
  return `there is no final ${timeframe} bar of ${formatDay(date)}; this is ${which}`
}

/** The rule applied to the bar, from the same indicators that the events were made with. */
async function judgedBand(cache: Cache, field: Field, { ticker, timeframe }: ExplainQuery, view: View, t: number) {
  const panel = await cache.panel(ticker, timeframe, [field])
  const needsFacts = field.needs !== 'bars'
  const hasNoFacts = needsFacts && panel.fundamentals === null
  const missing = hasNoFacts ? worded(missingFactsOf(field.name, ticker, await cache.store.sheets(ticker))) : null
  const { prices } = await cache.entry(ticker)
  const band = field.bands[field.classify(panel)[t]!] ?? null
  const readings = field.readings(panel, t)
  // Without facts there is no band after any number of bars, so there is no warm-up.
  const bars = hasNoFacts ? 0 : field.warmUp(panel)
  const first = bars < view.bars ? formatDay(panel.series.days[bars]!) : null
  return {
    warm_up: { bars, first_date: first },
    rule: field.rule,
    readings: readings.map(({ name, value, note }) => ({ name, value, note: note ?? null })),
    band,
    undefined_because: band === null ? (missing ?? whyUndefined(t, bars, first, readings)) : null,
    price_note: needsFacts && prices === 'adjusted' ? paidNote(panel, t) : null,
  }
}

/** Each test of a condition on the bar. */
async function judgedTests(
  cache: Cache,
  field: RuledField,
  { ticker, timeframe, lag = 0 }: ExplainQuery,
  view: View,
  t: number,
) {
  const { subjectsOn } = await import('./derived.js')
  const columns = await subjectsOn(cache, field, ticker, timeframe)
  const ground = { on: view, columnOf: (subject: Subject) => columns.get(printSubject(subject))!, lag }
  const tests = readingsOf(
    field.rules.flatMap(({ condition }) => (condition === null ? [] : testsOf(condition))),
    ground,
    t,
  ).map(({ test, day, band, holds }): ExplainedTest => {
    const date = day === null ? null : formatDay(day)
    return { test: printCondition(test), subject: printSubject(test.subject), date, band, holds }
  })
  const { initialBar } = view.record!
  const isBegun = initialBar >= 0 && initialBar < view.bars
  const band = field.bands[bandsByBar(view.record!, view.bars)[t]!] ?? null
  const unknown = tests.filter(({ holds }) => holds === null).map(({ test }) => test)
  return {
    warm_up: { bars: isBegun ? initialBar : view.bars, first_date: isBegun ? formatDay(view.days[initialBar]!) : null },
    rule: ruleInWords(field),
    readings: [],
    tests,
    band,
    undefined_because: band === null ? `unknown on this bar: ${unknown.join(', ')}` : null,
    price_note: null,
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

function inForce(view: View, t: number) {
  const period = periodAt(view, t)
  if (period === null) return { in_force: null, entered: null, bars_in_force: null, initial: false }
  const { band, since, initial } = period
  return { in_force: band, entered: formatDay(view.days[since]!), bars_in_force: t - since, initial }
}

/** What an event's labels were worked out from. Keys above the tier are left out, as in the response. */
export interface ExplainedEvent extends Omit<BandEvent, 'date' | 'band' | 'aftermath'> {
  /** Dates of the flips that were counted, this one included. */
  flips?: string[]
  stability?: StabilitySum
  /** Window → returns; null below the tier that shows them. */
  windows: Record<string, ExplainedWindow> | null
}

/** `volatile` from this number of flips on; otherwise judged by the duration of the previous band. */
interface StabilitySum {
  left_band_entered: string
  left_band_bars: number
  volatile_from_flips: number
  holding_from_bars: number
  established_from_bars: number
  because: string
}

interface ExplainedWindow {
  /** Date of the window's last bar; null until it exists. */
  ends: string | null
  return: number | null
  percentile: number | null
  /** Returns over as many bars that had ended by the event, and how many are needed. */
  sample: number
  sample_needed: number
  performance: Performance | null
  missing: Missing | null
  /** Why there is no performance band. */
  because: string | null
}

/** The event on bar `t` of the view, or null when there is none. */
function explainedEvent(view: View, t: number, tier: Tier | null): ExplainedEvent | null {
  const { record, days } = view
  const i = eventsUpTo(view, days[t]!) - 1
  if (record === null || i < 0 || record.bars[i] !== t) return null
  const { duration } = TIMEFRAMES[view.timeframe]
  const event = historicEvents(view, Int32Array.of(i))[0]!
  const { prev_band, stability_at_entry, flips_recent_at_entry, flips_lookback, [duration]: lasted = null } = event
  if (!planOf(tier).aftermath) return { prev_band, [duration]: lasted, windows: null }
  return {
    prev_band,
    stability_at_entry: stability_at_entry!,
    flips_recent_at_entry: flips_recent_at_entry!,
    flips_lookback: flips_lookback!,
    flips: Array.from(record.bars.subarray(i + 1 - record.flips[i]!, i + 1), bar => formatDay(days[bar]!)),
    stability: stabilitySum(view, i),
    [duration]: lasted,
    windows: Object.fromEntries(
      windowNames(view.timeframe).map((name, w) => [name, explainedWindow(view, t, event, name, w)]),
    ),
  }
}

function stabilitySum(view: View, i: number): StabilitySum {
  const { record, days, timeframe } = view
  const { volatileFlips, holdingFrom, establishedFrom } = DEFINITIONS.stability
  const { since: entered } = periodBefore(view, i)
  const lasted = record!.bars[i]! - entered
  return {
    left_band_entered: formatDay(days[entered]!),
    left_band_bars: lasted,
    volatile_from_flips: volatileFlips,
    holding_from_bars: holdingFrom,
    established_from_bars: establishedFrom,
    because: stabilityWords(record!.flips[i]!, lasted, timeframe),
  }
}

function stabilityWords(flips: number, lasted: number, timeframe: Timeframe): string {
  const { volatileFlips, holdingFrom, establishedFrom } = DEFINITIONS.stability
  const seen = `${count(flips, 'flip')} in ${TIMEFRAMES[timeframe].flipsLookback} bars`
  if (flips >= volatileFlips) return `${seen}, ${volatileFlips} or more: volatile`
  const left = `${seen}, fewer than ${volatileFlips}; the band left behind lasted ${count(lasted, 'bar')}`
  if (lasted < holdingFrom) return `${left}, fewer than ${holdingFrom}: fresh`
  if (lasted < establishedFrom) return `${left}, ${holdingFrom} to ${establishedFrom - 1}: holding`
  return `${left}, ${establishedFrom} or more: established`
}

function explainedWindow(view: View, t: number, event: HistoricEvent, name: string, w: number): ExplainedWindow {
  const { windows, minReference: sample_needed } = TIMEFRAMES[view.timeframe]
  const sample = referenceSize(t, windows[w]!)
  const left = t + windows[w]! - (view.bars - 1)
  const missing = event.missing![name] ?? null
  return {
    ends: left > 0 ? null : formatDay(view.days[t + windows[w]!]!),
    return: event.returns![name]!,
    percentile: event.percentiles![name]!,
    sample,
    sample_needed,
    performance: event.aftermath![name]?.performance ?? null,
    missing,
    because: because(missing, left, sample, sample_needed),
  }
}

function because(missing: Missing | null, left: number, sample: number, needed: number): string | null {
  if (missing === 'pending') return `pending: ${count(left, 'more bar')} to come`
  if (missing === 'no_history') return `no history: ${sample} of the ${needed} earlier returns that a rank needs`
  return null
}

function count(many: number, what: string): string {
  return `${many} ${what}${many === 1 ? '' : 's'}`
}
