import { formatInteger } from '../../core/errors.js'
import { daysAt, rangeOf } from '../../core/model/calendar.js'
import { type Day, formatDay } from '../../core/model/day.js'
import type { EventFilter } from '../../core/params/studies.js'
import { LEVEL, TESTS_CHECKED_IN } from '../../core/statistics/verdict.js'
import { ESTIMATION } from './abnormal.js'
import { isVolatile, LEAST_UNITS, type StudyWindow, tooFewEvents, type Warning, type WarningKind } from './result.js'
import { excludesDividends, lostWindowsOf } from './signals.js'
import type { Subject } from './subject.js'
import type { Material } from './window.js'

/** Warnings about the numbers of a study. */
export function warningsOf(material: Material, windows: readonly StudyWindow[]): Warning[] {
  const { subjects, query, asOf } = material
  const partial = coverage(material).map((sentence): Warning => ['partial', sentence])
  if (datesOf(subjects, 'signals').length === 0) return [['nothing', noEvent(material)], ...partial]
  return [
    ...ofWindows(windows, subjects.length),
    ...partial,
    ['partial', anyContext(query.filter)],
    ['disputed', leaning(material)],
    ['looks', severalTests(windows)],
    ['left_out', delisted(subjects, query.horizons, asOf)],
    ['prices', unadjusted(subjects)],
    ['left_out', without(subjects)],
  ]
}

function datesOf(subjects: readonly Subject[], which: 'signals' | 'anyContext'): Day[] {
  return subjects.flatMap(subject => [...daysAt(subject.prices.series.days, subject[which].bars)])
}

function noEvent({ subjects, query: { filter } }: Material): string {
  const inRange = extent(subjects.map(({ prices, eligible }) => daysAt(prices.series.days, eligible)))
  if (inRange !== null) return `No event from ${inRange}.`
  const all = extent(
    subjects.map(({ bandRange: { first, last } }) => Int32Array.from(first === null ? [] : [first, last!])),
  )
  if (all === null) return 'No bar has a band of this field, so there is no event.'
  return `No event: the dates asked for leave out every bar with a band of ${filter.field}, from ${all}.`
}

function extent(days: readonly Int32Array[]): string | null {
  const { first, last } = rangeOf(days)
  return first === null || last === null ? null : `${formatDay(first)} to ${formatDay(last)}`
}

/** Warnings about a second ticker that ends early or begins late. */
function coverage({ query: { filter, benchmark }, subjects, contextDays, benchmark: held }: Material): string[] {
  const events = datesOf(subjects, 'signals')
  const { context } = filter
  return [
    ...(context === null ? [] : contextCoverage(context.ticker, contextDays!, events, datesOf(subjects, 'anyContext'))),
    ...(benchmark === null ? [] : benchmarkCoverage(benchmark, held!.days, events)),
  ]
}

function anyContext({ context }: EventFilter): string | null {
  if (context === null || context.bands !== null) return null
  const { ticker, field } = context
  return `No band of ${ticker} ${field} was asked for: the context leaves out no event, and only shows its band for each. ${ticker}:${field}=BAND narrows to a band, and a sweep splits by all of them.`
}

/** A warning about some windows, and its text for each of them. */
interface WindowWarning {
  kind: WarningKind
  /** false where it does not apply. */
  of(window: StudyWindow): string | false
  says(list: string): string
  between?: string
  /** Only for several tickers. */
  pooled?: true
}

/** With fewer units, BCa intervals of random walks miss the truth up to twice as often as they claim. */
const ENOUGH_FOR_BCA = 50

const WINDOW_WARNINGS: readonly WindowWarning[] = [
  {
    kind: 'few',
    of: ({ grey, window, n, n_indep }) => grey && `${window}: ${n}, ${n_indep} without overlap`,
    says: list => `Too few events for a p-value or an interval (${list}): read them one by one, not as an average.`,
  },
  {
    // Many events on few dates are one event in many tickers.
    kind: 'few',
    of: ({ window, n, n_independent: cases }) => n > 0 && cases < LEAST_UNITS && `${window}: ${n} events, ${cases}`,
    says: list =>
      `Few independent cases: the events of all tickers amount to fewer than ${LEAST_UNITS} (${list}), because tickers move together. That is little evidence, however many events there are.`,
    pooled: true,
  },
  {
    kind: 'allowed',
    of: ({ window, n, n_indep }) => n_indep < n && `${window}: ${n_indep} of ${n}`,
    says: list => `Windows overlap: fewer than the events share no bar (${list}). P and the intervals allow for that.`,
    between: ', ',
  },
  {
    kind: 'allowed',
    of: window => isVolatile(window) && spreadsOf(window),
    says: list =>
      `Returns after the events spread wider than after any bar (deviation ${list}): the events fall in volatile times. P, the interval and random entry allow for that. The p of the plain shift and the p of the aftermath do not: both are too small there.`,
  },
  {
    kind: 'allowed',
    of: ({ window, intervals }) => intervals.some(({ units }) => units !== null && units < ENOUGH_FOR_BCA) && window,
    says: list =>
      `The events make fewer than ${ENOUGH_FOR_BCA} units that share no day (${list}): BCa intervals of so few, and the ribbon of the path, are too narrow. The stationary bootstrap allows for it.`,
    between: ', ',
  },
  {
    kind: 'disputed',
    of: ({ window, tests: [test], intervals: [interval] }) =>
      isOffZero(interval) && test?.p != null && test.p >= LEVEL && window,
    says: list =>
      `Interval without 0, p of ${LEVEL} or more (${list}): the bootstrap and the t-test disagree here. The verdict goes by p.`,
    between: ', ',
  },
  {
    kind: 'left_out',
    of: ({ window, lost }) => lost.not_elapsed > 0 && `${window}: ${lost.not_elapsed}`,
    says: list => `Events whose window has not elapsed are left out (${list}).`,
    between: ', ',
  },
]

function isOffZero(interval: StudyWindow['intervals'][number] | undefined): boolean {
  const { low = null, high = null } = interval ?? {}
  return low !== null && high !== null && (low > 0 || high < 0)
}

function ofWindows(windows: readonly StudyWindow[], tickers: number): Warning[] {
  return WINDOW_WARNINGS.map(({ kind, of, says, between = '; ', pooled }) => {
    const list = windows.map(of).filter(text => text !== false)
    return [kind, list.length > 0 && (tickers > 1 || !pooled) && says(list.join(between))]
  })
}

function spreadsOf({ window, deviation, base }: StudyWindow): string {
  const percent = (value: number | null): string => `${(100 * value!).toFixed(1)} %`
  return `${window}: ${percent(deviation)}, any bar ${percent(base.deviation)}`
}

/** For bands made from prices: the abnormal return is measured against the fall or rise that led to the event. */
function leaning({ query: { filter, abnormal }, fromPrices }: Material): string | null {
  const { field } = filter
  if (abnormal === 'none' || !fromPrices) return null
  return `${field} is made from prices: the estimation window of an event holds part of the fall or rise before it. So abnormal returns lean the other way, and their tests find too much, the more events the more. Trust P.`
}

function severalTests(windows: readonly StudyWindow[]): string | null {
  const tested = windows.filter(({ tests }) => tests[0]?.p !== null).length
  if (tested < 2) return null
  const formatP = Math.round(100 * (1 - 0.95 ** tested))
  return `${tested} windows were looked at: were they independent, at least one p below .05 would come by chance ${formatP} % of the time.`
}

function delisted(subjects: readonly Subject[], horizons: readonly number[], asOf: number | null): string | null {
  const longest = Math.max(...horizons)
  let unknown = 0
  let settled = 0
  for (const { prices, signals } of subjects) {
    const lost = lostWindowsOf(prices, longest, signals.bars, asOf)
    unknown += lost.delisted
    settled += lost.settled
  }
  const why = 'because the bars of their ticker end early and its final price is not known'
  const parts = [
    ...(unknown === 0 ? [] : [`${unknown} ${unknown === 1 ? 'is' : 'are'} lost, ${why}`]),
    ...(settled === 0 ? [] : [`${settled} ${settled === 1 ? 'ends' : 'end'} with the final price of a delisting`]),
  ]
  return parts.length === 0 ? null : `Of the windows of ${longest} bars ${parts.join('; ')}.`
}

function unadjusted(subjects: readonly Subject[]): string | null {
  const raw = subjects.filter(({ prices, signals }) => excludesDividends(prices) && signals.bars.length > 0)
  if (raw.length === 0) return null
  return `Prices of ${named(raw)} are not adjusted for dividends, whose ex-dates look like falls.`
}

function without(subjects: readonly Subject[]): string | null {
  const none = subjects.filter(({ signals }) => signals.bars.length === 0)
  if (none.length === 0) return null
  return `${none.length} of ${subjects.length} tickers have no such event and count nowhere: ${named(none)}.`
}

/** Number of tickers that a sentence names. */
const NAMED = 5

function named(subjects: readonly Subject[]): string {
  const names = subjects.slice(0, NAMED).map(({ ticker }) => ticker)
  return subjects.length > NAMED ? `${names.join(', ')} and ${subjects.length - NAMED} more` : names.join(', ')
}

/** A band may be carried over a weekend or a holiday without a warning. */
const CURRENT_DAYS = 7

/**
 * Warnings where a context ticker's bars do not cover the events. Its band is the latest one on or before the date,
 * however old.
 *
 * @param days dates of its bars, ascending
 * @param events dates of the counted events, in any order
 * @param unfiltered also the events that the context excludes; before its first bar it excludes all
 */
export function contextCoverage(
  ticker: string,
  days: Int32Array,
  events: readonly Day[],
  unfiltered: readonly Day[] = events,
): string[] {
  const out = unfiltered.length > events.length ? ': left out' : ''
  return eventsBeyondBars(
    ticker,
    days,
    [events, 'whose band is carried forward'],
    [unfiltered, `so in no band of it${out}`],
  )
}

/** Warnings where the bars of a benchmark do not cover the events: it has no return there. */
function benchmarkCoverage(ticker: string, days: Int32Array, events: readonly Day[]): string[] {
  const late = 'and there is nothing to compare them with'
  return eventsBeyondBars(ticker, days, [events, late], [events, 'so have nothing to be compared with'])
}

/**
 * Sentences about the events after a ticker's last bar, and about those before its first one.
 * @param days of the ticker's bars
 */
function eventsBeyondBars(
  ticker: string,
  days: Int32Array,
  [late, lateMeans]: EventsAndMeaning,
  [early, earlyMeans]: EventsAndMeaning,
): string[] {
  const first = days[0]
  const last = days.at(-1)
  if (first === undefined || last === undefined) return []
  const after = late.filter(day => day > last + CURRENT_DAYS).length
  const before = early.filter(day => day < first).length
  return [
    ...(after === 0
      ? []
      : [`${some(after, late)} after the last bar of ${ticker} (${formatDay(last)}), ${lateMeans}.`]),
    ...(before === 0
      ? []
      : [`${some(before, early)} before the first bar of ${ticker} (${formatDay(first)}) and ${earlyMeans}.`]),
  ]
}

/** Events to count, and what it means for them, as the end of a sentence. */
type EventsAndMeaning = readonly [events: readonly Day[], meaning: string]

function some(n: number, of: readonly Day[]): string {
  return `${n} of ${of.length} events ${n === 1 ? 'lies' : 'lie'}`
}

/** Prefixes that turn the name of a band into a stronger one. */
const STRONGER = ['strong', 'deep', 'deeply', 'extremely']

/** Suggested queries, in sentences: stronger bands of the same name that were left out, with their number of events. */
export function hintsOf({ query: { filter }, subjects }: Material): string[] {
  const { bands, context } = filter
  const total = (of: (subject: Subject) => number): number => subjects.reduce((sum, subject) => sum + of(subject), 0)
  const entered = (band: string): number =>
    total(({ states, byBand }) => byBand[states.bands.indexOf(band)]?.length ?? 0)
  const eventsIn = (band: string): number =>
    total(({ anyContext }) => anyContext.contextBands?.filter(other => other === band).length ?? 0)
  return [
    ...strongerBands('band', bands, entered),
    ...(context === null ? [] : strongerBands(`context band of ${context.ticker}`, context.bands, eventsIn)),
  ]
}

/** @param eventsOf number of events that a band would add */
function strongerBands(what: string, chosen: readonly string[] | null, eventsOf: (band: string) => number): string[] {
  return (chosen ?? []).flatMap(band =>
    STRONGER.flatMap(word => {
      const stronger = `${word}_${band}`
      const more = chosen!.includes(stronger) ? 0 : eventsOf(stronger)
      if (more === 0) return []
      return `${stronger} is a band of its own, with ${more} more ${more === 1 ? 'event' : 'events'}: ${what} ${band},${stronger} takes both.`
    }),
  )
}

/** Assumptions behind the numbers, one a line. */
export function assumptionsOf({ query, subjects, fromPrices }: Material): string[] {
  const { filter, benchmark, abnormal, resamples, seed } = query
  const pooled = subjects.length > 1
  return [
    RETURNS_ASSUMED,
    pricesLine(subjects),
    `Base: every bar of the same ${pooled ? 'tickers' : 'ticker'} and dates on which ${filter.field} has a band and whose window has elapsed${pooled ? '; each ticker counts in it as its events count' : ''}.`,
    `P (Newey-West t): the mean excess per event of the calendar series over its Newey-West error, lag window - 1. Two-sided Student t; its degrees of freedom are the effective number of blocks of dates less one${pooled ? ', so a day on which many tickers have events counts as one' : ''} (Newey & West 1987, Carter, Schnepel & Steigerwald 2017). ${TESTS_CHECKED_IN}`,
    `Plain shift (${shiftsText(query.reps)}): the returns are rotated against the events${pooled ? ', by the same number of days in all tickers' : ''}. It treats the days of the events like other days: in volatile times its p is too small.`,
    ...contextLine(filter.context),
    ...(fromPrices ? [leaningLine(filter.field)] : []),
    `Intervals (95 %, of the difference): stationary bootstrap of the calendar, and BCa of units of events whose windows share no day; ${resamples} resamples each. Their ends are moved out if there are few periods (Hesterberg 2015).`,
    'Random entries: as many bars of the same tickers, anywhere in the range; events whose windows overlap are moved together. Each mean is divided by its own Newey-West error. The mean of entries of the same calendar years is shown, without a p: the year holds the very fall or rise that led to an event.',
    `n_indep counts windows of one ticker that share no bar${pooled ? ', added up over the tickers' : ''}. With n_indep below ${LEAST_UNITS}, or ${tooFewEvents(query)}, there is neither p-value nor interval.`,
    `Calendar time: the mean return of all open positions by day, ${benchmark === null ? 'less what their tickers earn on any bar' : `its alpha against ${benchmark}`}.`,
    ...modelLines(abnormal, benchmark),
    'Path: its ribbon is the 95 % interval of the mean over units of events whose windows share no day; of few of them it is too narrow.',
    "Independent cases (n_independent): share · (1 - share) / E² of the share of returns above 0, at most n. E is the Newey-West error of that share over the calendar. Its 95 % interval is Wilson's (1927) on this number of cases.",
    'Aftermath: p asks whether the bands after the events are spread otherwise than after any bar, which in volatile times they are without any edge.',
    'P is that of one window. The verdict needs it below .05 after correction: over the windows by Holm, and over the trial log by Benjamini-Hochberg (not with family run).',
    ...commonAssumptions(seed),
  ]
}

/** Sweeps assume this, too. */
export const RETURNS_ASSUMED =
  'Returns are from the close of the event to the close at the end of the window, without costs. The close is known only after trading, so a trade needs a later price (a backtest does that).'

/** Assumptions of every study and every sweep. */
export function commonAssumptions(seed: number): string[] {
  return [
    'The tickers are those that were asked for: ones that no longer trade may be missing among them (survivorship).',
    `Seed ${seed}: the same question of the same data gives the same bytes.`,
  ]
}

function shiftsText(reps: Material['query']['reps']): string {
  return reps === 'all'
    ? 'every possible shift'
    : `every possible shift up to 2,000, else ${formatInteger(reps)} drawn ones`
}

function contextLine(context: Material['query']['filter']['context']): string[] {
  if (context?.bands == null) return []
  const { ticker, field, bands } = context
  return [
    `Same context: the bars of the base on which ${ticker} ${field} was ${bands.join(' or ')}. The difference from any bar holds what such times bring anyway, that from these bars does not; p and intervals are of the former.`,
  ]
}

function leaningLine(field: string): string {
  return `${field} is made from prices, and the base holds the fall or rise before an event. In short ranges the difference leans the other way by a part of its spread.`
}

function pricesLine(subjects: Material['subjects']): string {
  const raw = subjects.filter(({ prices }) => excludesDividends(prices)).length
  const adjusted = subjects.some(({ prices }) => prices.adjustment !== 'raw')
  if (raw === 0) return adjusted ? 'Prices are adjusted for splits and dividends.' : 'Prices are as they were traded.'
  if (raw === subjects.length) return 'Prices are not adjusted for dividends: returns and base both lack them.'
  return `Prices of ${raw} of ${subjects.length} tickers are not adjusted for dividends: returns and base both lack them there.`
}

function modelLines(abnormal: Material['query']['abnormal'], benchmark: string | null): string[] {
  if (abnormal === 'none') return []
  const { first, last } = ESTIMATION
  const model = abnormal === 'market' ? `market model on ${benchmark}` : 'mean-adjusted returns'
  return [
    `Abnormal returns: ${model}, estimated on bars t-${first} to t-${last} of each event, summed up over the window. Kolari and Pynnonen's test takes all events; the others, which take events for independent, only the first of those that share days. In bands that are not made from the direction of prices they are cautious.`,
    `If a band is made from prices, the estimation window holds part of the fall or rise before it. Abnormal returns then lean the other way: trust P.`,
  ]
}

/** A probability with three decimals: `.042`, `<.001`. */
export function chance(p: number): string {
  return p < 0.0005 ? '<.001' : p.toFixed(3).replace(/^0/, '')
}
