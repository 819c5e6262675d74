import { noBandClause } from '../../core/empty.js'
import { numberText } from '../../core/errors.js'
import { daysAt, rangeOf } from '../../core/model/calendar.js'
import { type Day, formatDay } from '../../core/model/day.js'
import type { EventFilter } from '../../core/params/studies.js'
import { sum } from '../../core/statistics/moments.js'
import { LEVEL, TESTS_CHECKED_IN } from '../../core/statistics/verdict.js'
import { ESTIMATION } from './abnormal.js'
import { isVolatile, LEAST_UNITS, type StudyWindow, tooFewEvents, type Warning, type WarningKind } from './result.js'
import { excludesDividends, lostWindowsOf } from './signals.js'
import type { Subject } from './subject.js'
import type { Material } from './window.js'

/** All warnings of a study, in order of discovery. Without events only why there is none, and what the data lack. */
export function warningsOfStudy(material: Material, windows: readonly StudyWindow[]): Warning[] {
  const { subjects, query, asOf } = material
  const partial = coverageSentences(material).map((sentence): Warning => ['partial', sentence])
  if (eventDates(subjects, 'signals').length === 0) return [['nothing', noEventSentence(material)], ...partial]
  return [
    ...windowWarnings(windows, subjects.length),
    ...partial,
    ['partial', contextWithoutBandsSentence(query.filter)],
    ['disputed', leaningTestsSentence(material)],
    ['looks', severalTestsSentence(windows)],
    ['left_out', delistingSentence(subjects, query.horizons, asOf)],
    ['prices', dividendSentence(subjects)],
    ['left_out', tickersWithoutEventsSentence(subjects)],
  ]
}

/** The dates of events, ticker by ticker. @param which those of the query (`signals`), or those in any context band */
function eventDates(subjects: readonly Subject[], which: 'signals' | 'anyContext'): Day[] {
  return subjects.flatMap(subject => [...daysAt(subject.prices.series.days, subject[which].bars)])
}

/** Why a study has no event: none happened, or no bar counts. */
function noEventSentence({ subjects, query: { filter } }: Material): string {
  const eligibleDates = dateSpan(subjects.map(({ prices, eligible }) => daysAt(prices.series.days, eligible)))
  if (eligibleDates !== null) return `No event from ${eligibleDates}.`
  const tickers = subjects.map(({ prices }) => prices.ticker)
  return `No event: ${noBandClause(filter, tickers, rangeOf(subjects.map(({ prices }) => prices.series.days)))}.`
}

/** The first and last of some days, as `2013-02-08 to 2018-02-07`; null without any. @param days ascending columns */
function dateSpan(days: readonly Int32Array[]): string | null {
  const { first, last } = rangeOf(days)
  return first === null || last === null ? null : `${formatDay(first)} to ${formatDay(last)}`
}

/** Warnings where the bars of the context ticker or of the benchmark do not cover the events. */
function coverageSentences({ query, subjects, contextDays, benchmark }: Material): string[] {
  const { context } = query.filter
  const events = eventDates(subjects, 'signals')
  const sentences: string[] = []
  if (context !== null)
    sentences.push(...contextCoverage(context.ticker, contextDays!, events, eventDates(subjects, 'anyContext')))
  if (query.benchmark !== null) sentences.push(...benchmarkCoverage(query.benchmark, benchmark!.days, events))
  return sentences
}

/** The warning about a context without bands, which filters nothing; null for any other filter. */
function contextWithoutBandsSentence({ context }: EventFilter): string | null {
  if (context === null || context.bands !== null) return null
  const { ticker, field } = context
  return `No band of ${ticker} ${field} was asked for: the context leaves out no event, and only shows its band for each. ${ticker}:${field}=BAND narrows to a band, and a sweep splits by all of them.`
}

/** A sentence about the windows that a warning applies to. */
interface WindowWarning {
  kind: WarningKind
  /** The window as an entry of the list in the sentence; false where the warning does not apply to it. */
  entry(window: StudyWindow): string | false
  sentence(list: string): string
  /** Between the entries of the list (default: `; `). */
  separator?: string
  /** Whether the warning needs several tickers. */
  needsSeveralTickers?: true
}

/** With fewer units, BCa intervals of random walks miss the truth up to twice as often as they claim. */
const MIN_UNITS_FOR_BCA = 50

const WINDOW_WARNINGS: readonly WindowWarning[] = [
  {
    kind: 'few',
    entry: ({ grey, window, n, n_indep }) => grey && `${window}: ${n}, ${n_indep} without overlap`,
    sentence: list => `Too few events for a p-value or an interval (${list}): read them one by one, not as an average.`,
  },
  {
    // Many events on few dates are one event in many tickers.
    kind: 'few',
    entry: ({ window, n, n_independent: cases }) => n > 0 && cases < LEAST_UNITS && `${window}: ${n} events, ${cases}`,
    sentence: list =>
      `Few independent cases: the events of all tickers amount to fewer than ${LEAST_UNITS} (${list}), because tickers move together. That is little evidence, however many events there are.`,
    needsSeveralTickers: true,
  },
  {
    kind: 'allowed',
    entry: ({ window, n, n_indep }) => n_indep < n && `${window}: ${n_indep} of ${n}`,
    sentence: list =>
      `Windows overlap: fewer than the events share no bar (${list}). P and the intervals allow for that.`,
    separator: ', ',
  },
  {
    kind: 'allowed',
    entry: window => isVolatile(window) && deviationsText(window),
    sentence: list =>
      `Returns after the events spread wider than after any bar (deviation ${list}): the events fall in volatile times. P, the interval and random entry allow for that. The p of the plain shift and the p of the aftermath do not: both are too small there.`,
  },
  {
    kind: 'allowed',
    entry: ({ window, intervals }) =>
      intervals.some(({ units }) => units !== null && units < MIN_UNITS_FOR_BCA) && window,
    sentence: list =>
      `The events make fewer than ${MIN_UNITS_FOR_BCA} units that share no day (${list}): BCa intervals of so few, and the ribbon of the path, are too narrow. The stationary bootstrap allows for it.`,
    separator: ', ',
  },
  {
    kind: 'disputed',
    entry: ({ window, tests: [test], intervals: [interval] }) =>
      isOffZero(interval) && test?.p != null && test.p >= LEVEL && window,
    sentence: list =>
      `Interval without 0, p of ${LEVEL} or more (${list}): the bootstrap and the t-test disagree here. The verdict goes by p.`,
    separator: ', ',
  },
  {
    kind: 'left_out',
    entry: ({ window, lost }) => lost.not_elapsed > 0 && `${window}: ${lost.not_elapsed}`,
    sentence: list => `Events whose window has not elapsed are left out (${list}).`,
    separator: ', ',
  },
]

/** Whether an interval has both ends on one side of 0. */
function isOffZero(interval: StudyWindow['intervals'][number] | undefined): boolean {
  if (interval === undefined || interval.low === null || interval.high === null) return false
  return interval.low > 0 || interval.high < 0
}

/** The warnings that apply to at least one window. @param tickers of the study */
function windowWarnings(windows: readonly StudyWindow[], tickers: number): Warning[] {
  return WINDOW_WARNINGS.map(({ kind, entry, sentence, separator = '; ', needsSeveralTickers = false }) => {
    const list = windows.map(entry).filter(text => text !== false)
    const applies = list.length > 0 && (tickers > 1 || !needsSeveralTickers)
    return [kind, applies && sentence(list.join(separator))]
  })
}

/** For example `20d: 7.1 %, any bar 5.0 %`. */
function deviationsText({ window, deviation, base }: StudyWindow): string {
  const percent = (value: number | null): string => `${(100 * value!).toFixed(1)} %`
  return `${window}: ${percent(deviation)}, any bar ${percent(base.deviation)}`
}

/** The warning about abnormal returns of a band made from prices; null for other bands, or without a model. */
function leaningTestsSentence({ query: { filter, abnormal }, isFromBars }: Material): string | null {
  const { field } = filter
  if (abnormal === 'none' || !isFromBars) return null
  return `${field} is made from prices: the estimation window of an event holds part of the fall or rise before it. So abnormal returns lean the other way, and their tests find too much, the more events the more. Trust P.`
}

/** The warning that one of several tests may find something by chance; null with fewer than two. */
function severalTestsSentence(windows: readonly StudyWindow[]): string | null {
  const tested = windows.filter(({ tests }) => tests[0]?.p !== null).length
  if (tested < 2) return null
  const percentByChance = Math.round(100 * (1 - 0.95 ** tested))
  return `${tested} windows were looked at: were they independent, at least one p below .05 would come by chance ${percentByChance} % of the time.`
}

/** How many windows of the longest horizon reach beyond the last bar of a ticker no longer traded; null without any. */
function delistingSentence(
  subjects: readonly Subject[],
  horizons: readonly number[],
  asOf: number | null,
): string | null {
  const longest = Math.max(...horizons)
  let unknown = 0
  let settled = 0
  for (const { prices, signals } of subjects) {
    const lost = lostWindowsOf(prices, longest, signals.bars, asOf)
    unknown += lost.delisted
    settled += lost.settled
  }
  const parts: string[] = []
  const why = 'because the bars of their ticker end early and its final price is not known'
  if (unknown > 0) parts.push(`${unknown} ${unknown === 1 ? 'is' : 'are'} lost, ${why}`)
  if (settled > 0) parts.push(`${settled} ${settled === 1 ? 'ends' : 'end'} with the final price of a delisting`)
  return parts.length === 0 ? null : `Of the windows of ${longest} bars ${parts.join('; ')}.`
}

/** Which prices hold no dividends; null where none count. */
function dividendSentence(subjects: readonly Subject[]): string | null {
  const raw = subjects.filter(({ prices, signals }) => excludesDividends(prices) && signals.bars.length > 0)
  if (raw.length === 0) return null
  return `Prices of ${tickerList(raw)} are not adjusted for dividends, whose ex-dates look like falls.`
}

/** Which tickers have no event; null if all have one. */
function tickersWithoutEventsSentence(subjects: readonly Subject[]): string | null {
  const withoutEvents = subjects.filter(({ signals }) => signals.bars.length === 0)
  if (withoutEvents.length === 0) return null
  return `${withoutEvents.length} of ${subjects.length} tickers have no such event and count nowhere: ${tickerList(withoutEvents)}.`
}

/** Number of tickers that a sentence names. */
const MAX_NAMED_TICKERS = 5

/** For example `AAPL, MSFT and 3 more`. */
function tickerList(subjects: readonly Subject[]): string {
  const names = subjects.slice(0, MAX_NAMED_TICKERS).map(({ ticker }) => ticker)
  const more = subjects.length - names.length
  return more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ')
}

/** Calendar days: a band may be carried over a weekend or a holiday without a warning. */
const MAX_CARRIED_DAYS = 7

/**
 * Warnings where a context ticker's bars do not cover the events. Its band is the latest one on or before the date,
 * however old.
 *
 * @param days dates of its bars, ascending
 * @param events dates of the counted events, in any order
 * @param eventsInAnyContext also the events that the context excludes; before its first bar it excludes all
 */
export function contextCoverage(
  ticker: string,
  days: Int32Array,
  events: readonly Day[],
  eventsInAnyContext: readonly Day[] = events,
): string[] {
  const exclusionText = eventsInAnyContext.length > events.length ? ': left out' : ''
  const early = `so in no band of it${exclusionText}`
  return eventsBeyondBars(ticker, days, [events, 'whose band is carried forward'], [eventsInAnyContext, early])
}

/** Warnings where the bars of a benchmark do not cover the events: it has no return there. */
function benchmarkCoverage(ticker: string, days: Int32Array, events: readonly Day[]): string[] {
  const late = 'and there is nothing to compare them with'
  return eventsBeyondBars(ticker, days, [events, late], [events, 'so have nothing to be compared with'])
}

/**
 * Sentences about the events after a ticker's last bar (counted in `late`), and before its first one (`early`).
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
  const after = late.filter(day => day > last + MAX_CARRIED_DAYS).length
  const before = early.filter(day => day < first).length
  const sentences: string[] = []
  const lateText = `after the last bar of ${ticker} (${formatDay(last)}), ${lateMeans}.`
  if (after > 0) sentences.push(`${eventsLie(after, late)} ${lateText}`)
  const earlyText = `before the first bar of ${ticker} (${formatDay(first)}) and ${earlyMeans}.`
  if (before > 0) sentences.push(`${eventsLie(before, early)} ${earlyText}`)
  return sentences
}

/** Events to count, and what it means for them, as the end of a sentence. */
type EventsAndMeaning = readonly [events: readonly Day[], meaning: string]

/** For example `2 of 9 events lie`. */
function eventsLie(n: number, events: readonly Day[]): string {
  return `${n} of ${events.length} events ${n === 1 ? 'lies' : 'lie'}`
}

/** Prefixes that turn the name of a band into a stronger one. */
const STRONGER_PREFIXES = ['strong', 'deep', 'deeply', 'extremely']

/** Suggested queries, in sentences: add a stronger band that was left out, such as `deep_oversold` to `oversold`. */
export function hintsOf({ query: { filter }, subjects }: Material): string[] {
  const { bands, context } = filter
  const eventsEntering = (band: string): number =>
    sum(subjects.map(({ states, byBand }) => byBand[states.bands.indexOf(band)]?.length ?? 0))
  const eventsInContext = (band: string): number =>
    sum(subjects.map(({ anyContext }) => anyContext.contextBands?.filter(other => other === band).length ?? 0))
  const hints = strongerBands('band', bands, eventsEntering)
  if (context === null) return hints
  return [...hints, ...strongerBands(`context band of ${context.ticker}`, context.bands, eventsInContext)]
}

/**
 * A sentence for each band that is a stronger form of a chosen one, was not chosen, and has events.
 * @param kind of band, as in the sentence
 * @param eventsOf number of events that a band would add
 */
function strongerBands(kind: string, chosen: readonly string[] | null, eventsOf: (band: string) => number): string[] {
  const sentences: string[] = []
  for (const band of chosen ?? []) {
    for (const prefix of STRONGER_PREFIXES) {
      const stronger = `${prefix}_${band}`
      const more = chosen!.includes(stronger) ? 0 : eventsOf(stronger)
      if (more === 0) continue
      const what = `${stronger} is a band of its own, with ${more} more ${more === 1 ? 'event' : 'events'}`
      sentences.push(`${what}. Name both as the ${kind}: ${band},${stronger}.`)
    }
  }
  return sentences
}

/** Assumptions behind the numbers, one a line. */
export function assumptionsOf({ query, subjects, isFromBars }: Material): string[] {
  const { filter, benchmark, abnormal, resamples, seed } = query
  const pooled = subjects.length > 1
  return [
    RETURNS_ASSUMED,
    pricesLine(subjects),
    `Base: every bar of the same ${pooled ? 'tickers' : 'ticker'} and dates on which ${filter.field} has a band and whose window has elapsed${pooled ? '; each ticker counts in it as its events count' : ''}.`,
    `P (Newey-West t): the mean excess per event of the calendar series over its Newey-West error, lag window - 1. Two-sided Student t; its degrees of freedom are the effective number of blocks of dates less one${pooled ? ', so a day on which many tickers have events counts as one' : ''} (Newey & West 1987, Carter, Schnepel & Steigerwald 2017). ${TESTS_CHECKED_IN}`,
    `Plain shift (${shiftsText(query.reps)}): the returns are rotated against the events${pooled ? ', by the same number of days in all tickers' : ''}. It treats the days of the events like other days: in volatile times its p is too small.`,
    ...sameContextLines(filter.context),
    ...(isFromBars ? [leaningLine(filter.field)] : []),
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

/** The last assumptions of studies and sweeps. */
export function commonAssumptions(seed: number): string[] {
  return [
    'The tickers are those that were asked for: ones that no longer trade may be missing among them (survivorship).',
    `Seed ${seed}: the same question of the same data gives the same bytes.`,
  ]
}

/** How many shifts the plain shift tries. */
function shiftsText(reps: Material['query']['reps']): string {
  if (reps === 'all') return 'every possible shift'
  return `every possible shift up to 2,000, else ${numberText(reps)} drawn ones`
}

/** What the figures of the same context mean; none without chosen context bands. */
function sameContextLines(context: Material['query']['filter']['context']): string[] {
  if (context?.bands == null) return []
  const { ticker, field, bands } = context
  return [
    `Same context: the bars of the base on which ${ticker} ${field} was ${bands.join(' or ')}. The difference from any bar holds what such times bring anyway, that from these bars does not; p and intervals are of the former.`,
  ]
}

/** How a field made from prices biases the difference. */
function leaningLine(field: string): string {
  return `${field} is made from prices, and the base holds the fall or rise before an event. In short ranges the difference leans the other way by a part of its spread.`
}

/** Whether the prices are adjusted for dividends, as a sentence. */
function pricesLine(subjects: Material['subjects']): string {
  const raw = subjects.filter(({ prices }) => excludesDividends(prices)).length
  const adjusted = subjects.some(({ prices }) => prices.adjustment !== 'raw')
  if (raw === 0) return adjusted ? 'Prices are adjusted for splits and dividends.' : 'Prices are as they were traded.'
  if (raw === subjects.length) return 'Prices are not adjusted for dividends: returns and base both lack them.'
  return `Prices of ${raw} of ${subjects.length} tickers are not adjusted for dividends: returns and base both lack them there.`
}

/** How abnormal returns are estimated; none without a model. */
function modelLines(abnormal: Material['query']['abnormal'], benchmark: string | null): string[] {
  if (abnormal === 'none') return []
  const { first, last } = ESTIMATION
  const model = abnormal === 'market' ? `market model on ${benchmark}` : 'mean-adjusted returns'
  return [
    `Abnormal returns: ${model}, estimated on bars t-${first} to t-${last} of each event, summed up over the window. Kolari and Pynnonen's test takes all events; the others, which take events for independent, only the first of those that share days. In bands that are not made from the direction of prices they are cautious.`,
    `If a band is made from prices, the estimation window holds part of the fall or rise before it. Abnormal returns then lean the other way: trust P.`,
  ]
}

/** A probability with three decimals, as people read it: `.042`, `<.001`. */
export function formatProbability(p: number): string {
  return p < 0.0005 ? '<.001' : p.toFixed(3).replace(/^0/, '')
}
