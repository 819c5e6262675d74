import { InvalidParameter } from '../errors.js'
import { type Day, formatDay } from '../model/day.js'
import { STABILITIES, UNDEFINED } from '../model/series.js'
import { TIMEFRAMES } from '../model/terms.js'
import type { StudyQuery } from '../params/studies.js'
import { fieldOf, type PricedSource, type Trials, tickerBars } from '../source.js'
import { ESTIMATION, modelledEvents, pathOf } from './abnormal.js'
import { excursions, LEAST_UNITS } from './cell.js'
import { type EventStudy, type Occurrence, type StudyWindow, shiftsUsed } from './result.js'
import { forwardReturns, lacksDividends, whole } from './signals.js'
import { type Subject, subjectsOf } from './subject.js'
import { type CellSpec, cellTrial } from './trials.js'
import { warningsOf } from './warnings.js'
import { type Material, studyWindow } from './window.js'

export type { StudyQuery } from '../params/studies.js'

export interface StudyWays {
  /** Told what is being done, often; the text is made when it is asked for. */
  step?: (text: () => string) => void
  /** Where every cell that was looked at is noted. */
  trials?: Trials | null
}

/**
 * What followed the events, against what follows any bar, random entries and the other bands of the field.
 * The same query of the same data gives the same bytes, in whatever order its tickers are named. Throws NotFound,
 * TierRestricted and Busy as the source does, InvalidParameter for a market model without a benchmark.
 */
export async function eventStudy(source: PricedSource, query: StudyQuery, ways: StudyWays = {}): Promise<EventStudy> {
  const { step = () => {}, trials = null } = ways
  const { filter, benchmark } = query
  if (query.abnormal === 'market' && benchmark === null)
    throw new InvalidParameter('abnormal "market" needs a benchmark to measure the market by.', { param: 'benchmark' })
  const held = benchmark === null ? null : (await tickerBars(source, benchmark, filter.timeframe)).series
  const subjects = await subjectsOf(source, query, step)
  const modelled = query.abnormal === 'none' ? [] : modelledEvents(subjects, query.abnormal, held)
  const { context } = filter
  const contextDays = context === null ? null : (await tickerBars(source, context.ticker, filter.timeframe)).series.days
  const fromPrices = (await fieldOf(source, filter.field))?.needs === 'bars'
  const material: Material = {
    query,
    subjects,
    benchmark: held,
    contextDays,
    modelled,
    fromPrices,
    asOf: await source.asOfDay(),
  }
  const cells = query.horizons.map((horizon, i) => {
    step(() => `study  ${horizon} bars  ${i + 1}/${query.horizons.length}`)
    return studyWindow(material, horizon)
  })
  const windows = cells.map(({ window }) => window)
  const range = rangeOf(subjects)
  const noted = await trials?.note(
    'cell',
    cells.map(cell => trialOf(query, range, cell)),
  )
  step(() => 'study  path')
  return {
    ...headOf(material, range),
    trials: { run: windows.length, ledger: noted?.ofKind ?? null },
    windows,
    path: pathOf(subjects, modelled, query),
    occurrences: occurrencesOf(subjects, query.horizons),
    assumptions: assumptionsOf(material, windows),
    warnings: [...warningsOf(material, windows), ...source.remarks()],
    hints: hintsOf(material),
  }
}

interface Range {
  first: Day | null
  last: Day | null
}

/** Of the bars that count. */
function rangeOf(subjects: readonly Subject[]): Range {
  const range: Range = { first: null, last: null }
  for (const { eligible, prices } of subjects) {
    if (eligible.length === 0) continue
    const { days } = prices.series
    range.first = Math.min(range.first ?? days[eligible[0]!]!, days[eligible[0]!]!)
    range.last = Math.max(range.last ?? days[eligible.at(-1)!]!, days[eligible.at(-1)!]!)
  }
  return range
}

function headOf({ query, subjects, asOf }: Material, { first, last }: Range) {
  const { filter, benchmark, abnormal, seed, reps, resamples, min_events } = query
  const { context } = filter
  const copy = <Value>(values: readonly Value[] | null): Value[] | null => (values === null ? null : [...values])
  return {
    schema: 'bands.study/1' as const,
    tickers: subjects.map(({ ticker }) => ticker),
    field: filter.field,
    timeframe: filter.timeframe,
    bands: copy(filter.bands),
    prev_bands: copy(filter.prev_bands),
    stability: copy(filter.stability),
    max_flips: filter.max_flips,
    context: context === null ? null : { ...context, bands: copy(context.bands) },
    after: filter.after,
    before: filter.before,
    first: dateOf(first),
    last: dateOf(last),
    as_of: dateOf(asOf),
    ...barsOf(subjects),
    benchmark,
    abnormal,
    seed,
    reps: reps === 'all' ? null : reps,
    resamples,
    min_events,
    events: subjects.reduce((sum, { signals }) => sum + signals.bars.length, 0),
  }
}

/** Of the tickers, whatever was asked. */
function barsOf(subjects: readonly Subject[]): { first_bar: string | null; last_bar: string | null } {
  const ends = subjects.flatMap(({ prices: { series } }) => [...series.days.slice(0, 1), ...series.days.slice(-1)])
  if (ends.length === 0) return { first_bar: null, last_bar: null }
  return { first_bar: formatDay(Math.min(...ends)), last_bar: formatDay(Math.max(...ends)) }
}

function dateOf(day: Day | null): string | null {
  return day === null ? null : formatDay(day)
}

function trialOf(
  { tickers, filter }: StudyQuery,
  range: Range,
  { window, sharpe }: { window: StudyWindow; sharpe: number | null },
) {
  const spec: CellSpec = { tickers: [...new Set(tickers)], filter, horizon: window.horizon, ...range }
  return cellTrial(spec, { p: window.tests[0]!.p, sharpe })
}

/** Every event with what followed it, by date and then by ticker. */
function occurrencesOf(subjects: readonly Subject[], horizons: readonly number[]): Occurrence[] {
  const dated = subjects.flatMap(subject => {
    const returns = horizons.map(horizon => forwardReturns(subject.prices, horizon))
    return Array.from(subject.signals.bars, (bar, i) => ({
      day: subject.prices.series.days[bar]!,
      occurrence: occurrenceOf(subject, i, horizons, returns),
    }))
  })
  return dated.sort((a, b) => a.day - b.day).map(({ occurrence }) => occurrence)
}

function occurrenceOf(
  { ticker, prices, states, signals }: Subject,
  i: number,
  horizons: readonly number[],
  returns: readonly Float64Array[],
): Occurrence {
  const bar = signals.bars[i]!
  const { unit } = TIMEFRAMES[prices.series.timeframe]
  const told = (code: number): number | null => (code === UNDEFINED ? null : code)
  const stability = told(signals.stability[i]!)
  const found: Occurrence = {
    ticker,
    date: formatDay(prices.series.days[bar]!),
    prev_band: states.bands[signals.left[i]!]!,
    band: states.bands[signals.entered[i]!]!,
    stability: stability === null ? null : STABILITIES[stability]!,
    flips: told(signals.flips[i]!),
    context_band: signals.contextBands?.[i] ?? null,
    close: prices.series.close[bar]!,
    returns: {},
    mfe: {},
    mae: {},
  }
  horizons.forEach((horizon, h) => {
    const window = `${horizon}${unit}`
    const followed = returns[h]![bar]!
    const elapsed = !Number.isNaN(followed)
    const { mfe, mae } = excursions(prices, bar, horizon)
    found.returns[window] = elapsed ? followed : null
    found.mfe[window] = elapsed ? mfe : null
    found.mae[window] = elapsed ? mae : null
  })
  return found
}

/** Words before the name of a band that make the name of a stronger one. */
const STRONGER = ['strong', 'deep', 'deeply', 'extremely']

/** What else could be asked, in sentences: bands of nearly the same name that were left out, with what they would add. */
function hintsOf({ query: { filter }, subjects }: Material): string[] {
  const { bands, context } = filter
  const vocabulary = subjects[0]?.states.bands ?? []
  const entered = strongerOf(bands, vocabulary).map(([band, sibling]) =>
    hint(
      'band',
      [band, sibling],
      total(subjects, ({ byBand }) => byBand[vocabulary.indexOf(sibling)]!.length),
    ),
  )
  if (context === null) return entered.filter(told => told !== null)
  const seen = [...new Set(subjects.flatMap(({ anyContext }) => anyContext.contextBands ?? []))]
  const beside = strongerOf(context.bands, seen).map(([band, sibling]) =>
    hint(
      `context band of ${context.ticker}`,
      [band, sibling],
      total(subjects, ({ anyContext }) => anyContext.contextBands!.filter(other => other === sibling).length),
    ),
  )
  return [...entered, ...beside].filter(told => told !== null)
}

function hint(what: string, [band, sibling]: [string, string], more: number): string | null {
  if (more === 0) return null
  return `${sibling} is a band of its own, with ${more} more ${more === 1 ? 'event' : 'events'}: ${what} ${band},${sibling} takes both.`
}

/** Bands that were asked for, each with one that was not and whose name is its own made stronger. */
function strongerOf(asked: readonly string[] | null, vocabulary: readonly (string | null)[]): [string, string][] {
  return (asked ?? []).flatMap(band =>
    STRONGER.map(word => `${word}_${band}`)
      .filter(sibling => vocabulary.includes(sibling) && !asked!.includes(sibling))
      .map((sibling): [string, string] => [band, sibling]),
  )
}

function total(subjects: readonly Subject[], of: (subject: Subject) => number): number {
  return subjects.reduce((sum, subject) => sum + of(subject), 0)
}

/** What was assumed, line by line, for whoever reads the numbers. */
function assumptionsOf({ query, subjects, fromPrices }: Material, windows: readonly StudyWindow[]): string[] {
  const { filter, benchmark, abnormal, resamples, seed, min_events } = query
  const pooled = subjects.length > 1
  return [
    'Returns are from the close of the event to the close so many bars of the same ticker later, without costs; that close is known only when trading in it is over, so a trade has to take a later price (a backtest does).',
    pricesLine(subjects),
    `Base: every bar of the same ${pooled ? 'tickers' : 'ticker'} and dates on which ${filter.field} has a band and whose window has elapsed${pooled ? '; each ticker counts in it as its events count' : ''}.`,
    `p (${shiftsLine(query, windows)}): the events stay where they are and the returns are rotated against them${pooled ? ', by the same number of days in all tickers, and an event that lands where its ticker has no bar drops out of that rotation' : ''}; the share of rotations with as great a difference, two-sided. It takes the days of the events for days like others: where they fall in volatile times it is too small.`,
    'Studentised: the same rotations, each difference divided by its own Newey-West error, so that volatile times are compared with their own spread (Janssen 1997, Chung & Romano 2013).',
    ...contextLine(filter.context),
    ...(fromPrices ? [leaningLine(filter.field)] : []),
    `Intervals (95 %, of the difference): stationary bootstrap of the calendar, and BCa of units of events whose windows share no day; ${resamples} resamples each, their ends moved out as few stretches of time ask for (Hesterberg 2015).`,
    'Random entries: as many bars of the same tickers, anywhere in the range; events whose windows overlap are moved together. The mean of entries of the same calendar years is told beside it, but no p against it: the year holds the very fall or rise that led to an event.',
    `n_indep counts windows of one ticker that share no bar${pooled ? ', added up over the tickers, which are not independent of each other; n_stretches counts dates of events of any ticker whose windows share no day' : ''}; with n_indep below ${LEAST_UNITS}, or fewer than ${min_events} events, there is neither p-value nor interval.`,
    `Calendar time: the mean return of all open positions by day, ${benchmark === null ? 'less what their tickers earn on any bar' : `its alpha against ${benchmark}`}.`,
    ...modelLines(abnormal, benchmark),
    'Path: its ribbon is the 95 % interval of the mean over units of events whose windows share no day.',
    `Nothing here allows for the ${query.horizons.length > 1 ? 'several windows' : 'other questions'} that were looked at; a sweep corrects for it.`,
    'The tickers are those that were asked for: ones that no longer trade may be missing among them (survivorship).',
    `Seed ${seed}: the same question of the same data gives the same bytes.`,
  ]
}

function shiftsLine({ reps }: Material['query'], windows: readonly StudyWindow[]): string {
  const used = shiftsUsed(windows)
  const rule = reps === 'all' ? 'every possible one' : `every possible one up to 2,000, else ${reps} drawn ones`
  if (used === null) return `joint circular shift, ${rule}`
  const [least, most] = [used.least, used.most].map(whole)
  return `joint circular shift, ${least === most ? least : `${least} to ${most}`} shifts: ${rule}`
}

function contextLine(context: Material['query']['filter']['context']): string[] {
  if (context?.bands == null) return []
  const { ticker, field, bands } = context
  return [
    `Same context: the bars of the base on which ${ticker} ${field} was ${bands.join(' or ')}. The difference from any bar holds what such times bring anyway, that from these bars does not; p and intervals are of the former.`,
  ]
}

function leaningLine(field: string): string {
  return `${field} is made from prices, and the base holds the fall or rise that led to an event: in short ranges the difference leans the other way by a part of its spread (of pools of random walks of 1,250 bars 6 in 100 have a p below .05).`
}

function pricesLine(subjects: Material['subjects']): string {
  const raw = subjects.filter(({ prices }) => lacksDividends(prices)).length
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
    `Abnormal returns: ${model}, estimated on bars t-${first} to t-${last} of each event, summed up over the window. Kolari and Pynnonen's test takes all events; the others, which take events for independent, only the first of those that share days.`,
    `Where a band is made from prices the estimation window holds part of the fall or rise that led to it, and abnormal returns lean the other way: there the p of the shifts is the one to trust.`,
  ]
}
