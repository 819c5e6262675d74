import { earlierReturns } from '../../core/engine/outcomes.js'
import { InvalidParameter, NotFound, TierRestricted, wordsAsText } from '../../core/errors.js'
import type { Field, Reading } from '../../core/fields/field.js'
import { ruleInWords } from '../../core/fields/index.js'
import type { Panel } from '../../core/fields/panel.js'
import { isRuled, type RuledField } from '../../core/language/as-field.js'
import { printCondition, printSubject, type Subject, testsOf } from '../../core/language/condition.js'
import { testReadings } from '../../core/language/truth.js'
import { type Day, formatDay } from '../../core/model/day.js'
import { DEFINITIONS } from '../../core/model/definitions.js'
import type { BandEvent, HistoricEvent, Missing } from '../../core/model/event.js'
import { type Adjustment, type Bar, bandsByBar, barOf, type Performance, type Series } from '../../core/model/series.js'
import { TIER_NAMES, TIMEFRAMES, type Tier, type Timeframe, windowNames } from '../../core/model/terms.js'
import { entitle, PLANS, planOf } from '../../core/tiers.js'
import type { TickerEntry } from '../store/store.js'
import type { Cache } from './cache.js'
import { datedOrigins, earliestImportKey, type SourceFile } from './known.js'
import { eventsUpTo, historicEvents, missingFactsReason, periodAt, periodBefore, type View } from './view.js'

export interface ExplainQuery {
  ticker: string
  field: string
  timeframe: Timeframe
  /** Default: the newest final bar. */
  date?: Day
  /** How many bars earlier a condition reads the tickers that it names (default 0). */
  lag?: number | undefined
}

/** Why a bar has its band, with everything in which a figure from another source may differ. */
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
  /** The daily bars that this bar's file brought: their range and number, and the number of all daily bars. */
  source_bars: { first: string; last: string; bars: number; of: number }
  /** For a field that uses facts: why it does not use the unadjusted close; null if it does. */
  price_note: string | null
  /** The number of earlier bars, and the first date: recursive averages depend on where they began. */
  bars_before: number
  history_from: string
  /** The number of bars before the first one that can have a band, and that bar's date. */
  warm_up: { bars: number; first_date: string | null }
  rule: string
  readings: { name: string; value: number | null; note: string | null }[]
  /** For a condition: each test with its band, and whether it is true; null: unknown. */
  tests?: ExplainedTest[]
  /** The band on this very bar; null if undefined, and then the reason. */
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
  const barIndex = barOnDate(query, series, today)
  refuseOutOfRange(series.days[barIndex]!, cache.tier, today)
  const entry = await cache.entry(ticker)
  const field = cache.field(query.field)
  const judgement = isRuled(field)
    ? await judgeByTests(cache, field, query, view, barIndex)
    : await judgeByBars(cache, field, query, view, barIndex)
  return {
    schema: 'bands.explain/1',
    ticker,
    field: query.field,
    timeframe,
    as_of: formatDay(today),
    date: formatDay(series.days[barIndex]!),
    date_note: dateNote(query, series, barIndex),
    prices: entry.prices,
    ...sourceOfBar(series.days[barIndex]!, entry, (await cache.series(ticker, 'daily')).days),
    ...barOf(series, barIndex),
    bars_before: barIndex,
    history_from: formatDay(series.days[0]!),
    ...judgement,
    ...bandInForce(view, barIndex),
    event: explainEvent(view, barIndex, cache.tier),
  }
}

/** The import that brought a day's bar; `begun` is the earliest of several. @param days the dates of all daily bars */
function sourceOfBar(day: Day, entry: TickerEntry, days: Int32Array) {
  const { source, importedAt, begun, first, last, bars } = datedOrigins(entry, days).findLast(
    origin => origin.first <= day,
  )!
  const range = { first: formatDay(first), last: formatDay(last) }
  const importKeys = { source, imported_at: importedAt, ...earliestImportKey(begun) }
  return { ...importKeys, source_bars: { ...range, bars, of: days.length } }
}

/** Why the unadjusted close of a bar is not used; null if it is known. */
function unadjustedCloseNote({ series: { unadjustedClose } }: Panel, barIndex: number): string | null {
  if (unadjustedClose === undefined)
    return 'prices are adjusted and no other close is known, so earnings are compared with an adjusted one'
  return Number.isNaN(unadjustedClose[barIndex]!) ? 'the close before adjustment is unknown on this bar' : null
}

/** The number of the last bar on or before the query's date; without a date, of the newest final bar. */
function barOnDate({ ticker, timeframe, date }: ExplainQuery, { days }: Series, today: Day): number {
  if (days.length === 0) throw new NotFound(`${ticker} has no final ${timeframe} bar as of ${formatDay(today)}.`)
  if (date === undefined) return days.length - 1
  const barIndex = days.findLastIndex(day => day <= date)
  if (barIndex >= 0) return barIndex
  const value = formatDay(date)
  const allowed = `${formatDay(days[0]!)} to ${formatDay(days.at(-1)!)}`
  const message = `date ${value} is before the first ${timeframe} bar of ${ticker} (${allowed}).`
  throw new InvalidParameter(message, { param: 'date', value, allowed })
}

/**
 * Throws TierRestricted for a bar before the range of the tier. The highest tier, and callers without a tier, can
 * explain any bar.
 */
function refuseOutOfRange(day: Day, tier: Tier | null, today: Day): void {
  const highest = TIER_NAMES.at(-1)!
  if (tier === null || tier === highest || day > PLANS[tier].rangeStart(today)) return
  const required = TIER_NAMES.find(name => name !== tier && day > PLANS[name].rangeStart(today)) ?? highest
  throw new TierRestricted(`a bar outside of the last ${PLANS[tier].range}`, tier, required)
}

/** Why a bar is not on the requested date; null if it is, or if no date was requested. */
function dateNote({ date, timeframe }: ExplainQuery, { days }: Series, barIndex: number): string | null {
  if (date === undefined || days[barIndex] === date) return null
  const shownBar =
    barIndex === days.length - 1 ? `the newest final ${timeframe} bar` : `the last ${timeframe} bar before it`
  return `there is no final ${timeframe} bar of ${formatDay(date)}; this is ${shownBar}`
}

/** The band of a bar by a field's rule, from the indicators that the events were made with. */
async function judgeByBars(
  cache: Cache,
  field: Field,
  { ticker, timeframe }: ExplainQuery,
  view: View,
  barIndex: number,
) {
  const panel = await cache.panel(ticker, timeframe, [field])
  const needsFacts = field.needs !== 'bars'
  const hasNoFacts = needsFacts && panel.fundamentals === null
  const missing = hasNoFacts
    ? wordsAsText(missingFactsReason(field.name, ticker, await cache.store.sheets(ticker)))
    : null
  const { prices } = await cache.entry(ticker)
  const band = field.bands[field.classify(panel)[barIndex]!] ?? null
  const readings = field.readings(panel, barIndex)
  // Without facts there is no band after any number of bars, so there is no warm-up.
  const warmUp = hasNoFacts ? 0 : field.warmUp(panel)
  const firstDate = warmUp < view.bars ? formatDay(panel.series.days[warmUp]!) : null
  return {
    warm_up: { bars: warmUp, first_date: firstDate },
    rule: field.rule,
    readings: readings.map(({ name, value, note }) => ({ name, value, note: note ?? null })),
    band,
    undefined_because: band === null ? (missing ?? whyUndefined(barIndex, warmUp, firstDate, readings)) : null,
    price_note: needsFacts && prices === 'adjusted' ? unadjustedCloseNote(panel, barIndex) : null,
  }
}

/** The band of a bar by a condition's tests, each with its result. */
async function judgeByTests(
  cache: Cache,
  field: RuledField,
  { ticker, timeframe, lag = 0 }: ExplainQuery,
  view: View,
  barIndex: number,
) {
  const { subjectColumns } = await import('./derived.js')
  const columns = await subjectColumns(cache, field, ticker, timeframe)
  const data = { on: view, columnOf: (subject: Subject) => columns.get(printSubject(subject))!, lag }
  const testsOfRules = field.rules.flatMap(({ condition }) => (condition === null ? [] : testsOf(condition)))
  const tests = testReadings(testsOfRules, data, barIndex).map(({ test, day, band, holds }): ExplainedTest => {
    const date = day === null ? null : formatDay(day)
    return { test: printCondition(test), subject: printSubject(test.subject), date, band, holds }
  })
  // Instead of a warm-up, a condition has the bars before its first band.
  const { initialBar } = view.record!
  const hasBegun = initialBar >= 0 && initialBar < view.bars
  const band = field.bands[bandsByBar(view.record!, view.bars)[barIndex]!] ?? null
  const unknownTests = tests.filter(({ holds }) => holds === null).map(({ test }) => test)
  return {
    warm_up: {
      bars: hasBegun ? initialBar : view.bars,
      first_date: hasBegun ? formatDay(view.days[initialBar]!) : null,
    },
    rule: ruleInWords(field),
    readings: [],
    tests,
    band,
    undefined_because: band === null ? `unknown on this bar: ${unknownTests.join(', ')}` : null,
    price_note: null,
  }
}

/**
 * Why a bar has no band.
 * @param warmUp the number of bars before the first one that can have a band
 * @param first the date of that first one; null: not reached yet
 */
function whyUndefined(barIndex: number, warmUp: number, first: string | null, readings: readonly Reading[]): string {
  if (barIndex < warmUp) {
    const when = first === null ? 'which is yet to come' : `on ${first}`
    return `warm-up: this bar has ${barIndex} before it, and the first that can have a band needs ${warmUp}, ${when}`
  }
  const missing = readings.filter(({ value }) => value === null)
  if (missing.length === 0) return 'the rule takes no side on these readings yet'
  const missingNames = missing.map(({ name, note }) => (note === undefined ? name : `${name} (${note})`))
  return `undefined on this bar: ${missingNames.join(', ')}`
}

/** The band in force on a bar, as columns of the answer. */
function bandInForce(view: View, barIndex: number) {
  const period = periodAt(view, barIndex)
  if (period === null) return { in_force: null, entered: null, bars_in_force: null, initial: false }
  const { band, since, initial } = period
  return { in_force: band, entered: formatDay(view.days[since]!), bars_in_force: barIndex - since, initial }
}

/** An event with the figures that its labels were made from. Keys above the tier are left out. */
export interface ExplainedEvent extends Omit<BandEvent, 'date' | 'band' | 'aftermath'> {
  /** Dates of the flips that were counted, this one included. */
  flips?: string[]
  stability?: ExplainedStability
  /** Window → returns; null below the tier that shows them. */
  windows: Record<string, ExplainedWindow> | null
}

/** `volatile` from this number of flips on; otherwise judged by the duration of the previous band. */
interface ExplainedStability {
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
  /** The number of earlier returns over the same window that had ended by the event, and how many a rank needs. */
  sample: number
  sample_needed: number
  performance: Performance | null
  missing: Missing | null
  /** Why there is no performance band. */
  because: string | null
}

/** The event on a bar of the view, or null when there is none. */
function explainEvent(view: View, barIndex: number, tier: Tier | null): ExplainedEvent | null {
  const { record, days } = view
  const eventIndex = eventsUpTo(view, days[barIndex]!) - 1
  if (record === null || eventIndex < 0 || record.bars[eventIndex] !== barIndex) return null
  const { duration: durationKey } = TIMEFRAMES[view.timeframe]
  const event = historicEvents(view, Int32Array.of(eventIndex))[0]!
  const lasted = event[durationKey] ?? null
  const { prev_band, stability_at_entry, flips_recent_at_entry, flips_lookback } = event
  if (!planOf(tier).aftermath) return { prev_band, [durationKey]: lasted, windows: null }
  const firstFlip = eventIndex + 1 - record.flips[eventIndex]!
  return {
    prev_band,
    stability_at_entry: stability_at_entry!,
    flips_recent_at_entry: flips_recent_at_entry!,
    flips_lookback: flips_lookback!,
    flips: Array.from(record.bars.subarray(firstFlip, eventIndex + 1), bar => formatDay(days[bar]!)),
    stability: explainStability(view, eventIndex),
    [durationKey]: lasted,
    windows: Object.fromEntries(
      windowNames(view.timeframe).map((name, w) => [name, explainWindow(view, barIndex, event, name, w)]),
    ),
  }
}

/** The figures behind the stability of the band that an event left. */
function explainStability(view: View, eventIndex: number): ExplainedStability {
  const { record, days, timeframe } = view
  const { volatileFlips, holdingFrom, establishedFrom } = DEFINITIONS.stability
  const { since: entered } = periodBefore(view, eventIndex)
  const lasted = record!.bars[eventIndex]! - entered
  return {
    left_band_entered: formatDay(days[entered]!),
    left_band_bars: lasted,
    volatile_from_flips: volatileFlips,
    holding_from_bars: holdingFrom,
    established_from_bars: establishedFrom,
    because: stabilityWords(record!.flips[eventIndex]!, lasted, timeframe),
  }
}

/** Why a stability has its name. @param lasted the number of bars that the previous band lasted */
function stabilityWords(flips: number, lasted: number, timeframe: Timeframe): string {
  const { volatileFlips, holdingFrom, establishedFrom } = DEFINITIONS.stability
  const flipWords = `${countWords(flips, 'flip')} in ${TIMEFRAMES[timeframe].flipsLookback} bars`
  if (flips >= volatileFlips) return `${flipWords}, ${volatileFlips} or more: volatile`
  const words = `${flipWords}, fewer than ${volatileFlips}; the band left behind lasted ${countWords(lasted, 'bar')}`
  if (lasted < holdingFrom) return `${words}, fewer than ${holdingFrom}: fresh`
  if (lasted < establishedFrom) return `${words}, ${holdingFrom} to ${establishedFrom - 1}: holding`
  return `${words}, ${establishedFrom} or more: established`
}

/** The figures behind the outcome of an event on a bar. @param w the index of the window, `name` its name */
function explainWindow(view: View, barIndex: number, event: HistoricEvent, name: string, w: number): ExplainedWindow {
  const { windows, minReference: sample_needed } = TIMEFRAMES[view.timeframe]
  const sample = earlierReturns(barIndex, windows[w]!)
  const end = barIndex + windows[w]!
  const barsToCome = end - (view.bars - 1)
  const missing = event.missing![name] ?? null
  return {
    ends: barsToCome > 0 ? null : formatDay(view.days[end]!),
    return: event.returns![name]!,
    percentile: event.percentiles![name]!,
    sample,
    sample_needed,
    performance: event.aftermath![name]?.performance ?? null,
    missing,
    because: missingBecause(missing, barsToCome, sample, sample_needed),
  }
}

function missingBecause(missing: Missing | null, barsToCome: number, sample: number, needed: number): string | null {
  if (missing === 'pending') return `pending: ${countWords(barsToCome, 'more bar')} to come`
  if (missing === 'no_history') return `no history: ${sample} of the ${needed} earlier returns that a rank needs`
  return null
}

/** `1 bar`, `2 bars` */
function countWords(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
