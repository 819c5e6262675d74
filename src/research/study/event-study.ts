// For: returns after events, against all other bars.
// In: signals and prices of each ticker.
// Out: cells of a horizon: mean, hit rate, interval, p-value.

import { availableParallelism } from 'node:os'
import { InvalidParameter } from '../../core/errors.js'
import { daysAt, type Range, rangeOf } from '../../core/model/calendar.js'
import { dateOf, formatDay } from '../../core/model/day.js'
import { STABILITIES, UNDEFINED } from '../../core/model/series.js'
import { windowName } from '../../core/model/terms.js'
import type { StudyQuery } from '../../core/params/studies.js'
import {
  fieldOf,
  type PricedSource,
  type RunContext,
  type Step,
  type Trial,
  tickerBars,
  type Workers,
} from '../../core/source.js'
import { sum } from '../../core/statistics/moments.js'
import { judgeTogether } from '../../core/statistics/verdict.js'
import { canStartThreads, runInOrder, SecondThread } from '../../data/threads.js'
import { cellTrials, leastByLog, noteAndCompare, type RunInLog } from '../trials.js'
import { bandPathOf, type ModelledEvent, modelledEvents, pathComputer } from './abnormal.js'
import {
  bySeverity,
  type EventStudy,
  type Occurrence,
  type StudyWindow,
  samplingOf,
  type UncorrectedWindow,
} from './result.js'
import { returnAfter } from './signals.js'
import { extremesAfter, type Subject, subjectsOf } from './subject.js'
import { figuresWithBase, figuresWithoutBase, joinWindow, type Material, returnsBuffer } from './window.js'
import { assumptionsOf, hintsOf, warningsOfStudy } from './words.js'

export type { StudyQuery } from '../../core/params/studies.js'

/**
 * Returns after the events, compared with any bar, random entries and the other bands of the field. Each window is a
 * cell, noted as a trial in the log `trials` if there is one. Its verdict allows for the other windows and trials. The
 * same query on the same data gives the same bytes, in any order of tickers.
 * Throws NotFound, TierRestricted and Busy as the source does, and InvalidParameter for a market model without a
 * benchmark.
 */
export async function eventStudy(
  source: PricedSource,
  query: StudyQuery,
  options: RunContext = {},
): Promise<EventStudy> {
  const { step = () => {}, trials = null } = options
  const { material, path, band_paths, cells } = await readAndCompute(source, query, step)
  const { subjects } = material
  const range = rangeOf(subjects.map(({ prices, eligible }) => daysAt(prices.series.days, eligible)))
  const ownTrials = trialsOf(query, range, cells)
  const logState = await noteAndCompare(trials, 'cell', ownTrials, query.family ?? 'ledger')
  const uncorrected = cells.map(({ window }) => window)
  const windows = withVerdicts(uncorrected, ownTrials, logState)
  const study: EventStudy = {
    ...describeStudy(material, range),
    trials: { run: windows.length, ledger: logState?.countOfKind ?? null },
    log: logState?.log ?? null,
    windows,
    path,
    band_paths,
    occurrences: [],
    assumptions: assumptionsOf(material),
    warnings: [...bySeverity(warningsOfStudy(material, windows)), ...source.remarks()],
    hints: hintsOf(material),
  }
  return withOccurrences(study, () => occurrencesOf(subjects, query.horizons))
}

/**
 * Adds the verdicts. One page shows all windows, so p is corrected for all of them and for the log.
 * @param ownTrials one a window, in their order
 */
function withVerdicts(
  windows: readonly UncorrectedWindow[],
  ownTrials: readonly Trial[],
  logState: RunInLog | null,
): StudyWindow[] {
  const qByWindow = ownTrials.map(({ hash }) => logState?.q.get(hash) ?? null)
  const testedWindows = windows.map(({ diff, tests }, i) => {
    return { difference: diff, p: tests[0]?.p ?? null, leastP: leastByLog(logState?.log ?? null, qByWindow[i]!) }
  })
  const judgements = judgeTogether(testedWindows)
  return windows.map((window, i) => {
    const { corrected, verdict } = judgements[i]!
    const log_q = qByWindow[i]!
    const reasons = { ...window.reasons }
    if (log_q === null) reasons.log_q = logState === null ? 'there is no trial log' : 'the window has no p'
    if (corrected === null) reasons.p_corrected = 'the window has no p'
    return { ...window, log_q, p_corrected: corrected, verdict, reasons }
  })
}

/** A function for each study that makes its occurrences one by one. */
const OCCURRENCE_MAKERS = new WeakMap<EventStudy, () => Iterable<Occurrence>>()

/**
 * Makes the occurrences of a study a property that is filled on first access. A market has hundreds of thousands, and a
 * table shows none. Returns the same study. `eachOccurrence` makes them again, without an array of all.
 */
function withOccurrences(study: EventStudy, occurrences: () => Iterable<Occurrence>): EventStudy {
  const setValue = (value: Occurrence[]): Occurrence[] => {
    Object.defineProperty(study, 'occurrences', { value, writable: true, enumerable: true, configurable: true })
    return value
  }
  const makeValue = (): Occurrence[] => setValue([...occurrences()])
  OCCURRENCE_MAKERS.set(study, occurrences)
  const property = { get: makeValue, set: setValue, enumerable: true, configurable: true }
  return Object.defineProperty(study, 'occurrences', property)
}

/** The occurrences of a study one by one: all of a market as objects take gigabytes. */
export function eachOccurrence(study: EventStudy): Iterable<Occurrence> {
  return OCCURRENCE_MAKERS.get(study)?.() ?? study.occurrences
}

/** Reads the material while a second thread starts, and computes the parts of the study. */
async function readAndCompute(source: PricedSource, query: StudyQuery, step: Step) {
  const secondThread = secondThreadFor(query, source)
  try {
    const material = await materialOf(source, query, step)
    return { material, ...(await partsOf(material, secondThread, source, step)) }
  } finally {
    await secondThread?.close()
  }
}

/** Reads everything that the study needs. */
async function materialOf(source: PricedSource, query: StudyQuery, step: Step): Promise<Material> {
  const { filter, benchmark } = query
  if (query.abnormal === 'market' && benchmark === null)
    throw new InvalidParameter('abnormal "market" needs a benchmark to measure the market by.', { param: 'benchmark' })
  const benchmarkSeries = benchmark === null ? null : (await tickerBars(source, benchmark, filter.timeframe)).series
  const subjects = await subjectsOf(source, query, step)
  const { context } = filter
  const contextDays = context === null ? null : (await tickerBars(source, context.ticker, filter.timeframe)).series.days
  const isFromBars = (await fieldOf(source, filter.field))?.needs === 'bars'
  const asOf = await source.asOfDay()
  const sectors = (await source.sectors?.()) ?? new Map<string, string>()
  return { query, subjects, benchmark: benchmarkSeries, contextDays, isFromBars, asOf, sectors }
}

/** One window, and the Sharpe ratio of the portfolio that holds its events. */
interface Cell {
  window: UncorrectedWindow
  sharpe: number | null
}

/** Results of tasks: points of the path, other bands, and the figures of windows, with and without their base. */
interface Parts extends Pick<EventStudy, 'path' | 'band_paths'> {
  withBase: ReturnType<typeof figuresWithBase>[]
  withoutBase: ReturnType<typeof figuresWithoutBase>[]
}

/** A part of a study: figures of a window, the path around the events of another band, or points of the path. */
export type StudyTask =
  | { figures: 'with base' | 'without base'; horizon: number }
  | { band: number }
  | { from: number; to: number }

/** With fewer tickers a second thread would save less time than it takes from the processor. */
const MIN_TICKERS_FOR_THREAD = 100

/** A second thread for some parts of a study of many tickers; null if it would not save time, or may not run. */
function secondThreadFor({ tickers }: StudyQuery, { threads = availableParallelism(), cluster }: Workers) {
  const savesTime =
    tickers.length >= MIN_TICKERS_FOR_THREAD && threads > 1 && cluster === undefined && canStartThreads()
  return savesTime ? new SecondThread<Material, StudyTask, Partial<Parts>>('last-of-study') : null
}

/** Bars whose part of a study takes about a millisecond. */
const BARS_A_MS = 10_000

/** Most points of the path in one task. */
const PATH_POINTS_A_TASK = 25

/** Computes the parts of a study: here, or here and in the second thread, or on a cluster. */
async function partsOf(
  material: Material,
  secondThread: ReturnType<typeof secondThreadFor>,
  { cluster }: Workers,
  step: Step,
) {
  const tasks = tasksOf(material)
  const noteProgress = (i: number): void =>
    step(() => `study  ${taskName(tasks[i]!, material)}  ${i + 1}/${tasks.length}`)
  const runPart = partRunner(material)
  const runHere = (task: StudyTask): Partial<Parts> => {
    noteProgress(tasks.indexOf(task))
    return runPart(task)
  }
  const baseBars = material.subjects.reduce((sum, { eligible }) => sum + eligible.length, 0)
  const estimatedMs = 1 + (tasks.length * baseBars) / BARS_A_MS
  const work = { job: 'study' as const, data: () => material, tasks, ms: estimatedMs, here: runHere }
  // Only this thread does the first tasks, those with a base: a second buffer for them would take too much memory.
  const reserved = material.query.horizons.length
  const results =
    secondThread === null
      ? runInOrder(work, { threads: 1, cluster })
      : await secondThread.results(material, tasks, runHere, reserved)
  const parts: Parts = { path: [], band_paths: [], withBase: [], withoutBase: [] }
  let done = 0
  for await (const { path = [], band_paths = [], withBase = [], withoutBase = [] } of results) {
    parts.path.push(...path)
    parts.band_paths.push(...band_paths)
    parts.withBase.push(...withBase)
    parts.withoutBase.push(...withoutBase)
    if (cluster !== undefined) noteProgress(done++)
  }
  const cells = parts.withBase.map(({ window, sharpe }, i): Cell => {
    return { window: joinWindow(window, parts.withoutBase[i]!, material.query), sharpe }
  })
  return { path: parts.path, band_paths: parts.band_paths, cells }
}

/**
 * The tasks of a study. Two threads take them from both ends, so the shortest ones are in the middle: the paths of the
 * bands that the filter leaves out. Figures "with base" need the returns of all bars; others only those of events.
 */
function tasksOf({ query: { path, filter, horizons }, subjects }: Material): StudyTask[] {
  const pieces = Math.ceil((path.before + path.after + 1) / PATH_POINTS_A_TASK)
  const pathTasks = Array.from({ length: pieces }, (_, i) => {
    const from = i * PATH_POINTS_A_TASK - path.before
    return { from, to: Math.min(path.after, from + PATH_POINTS_A_TASK - 1) }
  })
  const bands = subjects[0]?.states.bands ?? []
  const bandTasks = bands.flatMap((band, code) => (filter.bands?.includes(band) ? [] : [{ band: code }]))
  const windowTasks = (figures: 'with base' | 'without base') => horizons.map(horizon => ({ figures, horizon }))
  return [...windowTasks('with base'), ...bandTasks, ...windowTasks('without base'), ...pathTasks]
}

/** The name of a task in the progress line. */
function taskName(task: StudyTask, { subjects }: Material): string {
  if ('figures' in task) return `${task.horizon} bars`
  return 'band' in task ? `path of ${subjects[0]!.states.bands[task.band]!}` : 'path'
}

/** Returns a function that computes one part of a study. It keeps what later parts need as well. */
export function partRunner(material: Material): (task: StudyTask) => Partial<Parts> {
  const { query, subjects, benchmark } = material
  let modelled: ModelledEvent[] | undefined
  let path: ReturnType<typeof pathComputer> | undefined
  let buffer: Float64Array | undefined
  return task => {
    if ('band' in task) return { band_paths: [bandPathOf(subjects, query, task.band)] }
    if ('figures' in task && task.figures === 'with base') {
      buffer ??= returnsBuffer(material)
      return { withBase: [figuresWithBase(material, task.horizon, buffer)] }
    }
    // Tasks with a base come first; their buffer is as large as the closes of all tickers.
    buffer = undefined
    modelled ??= query.abnormal === 'none' ? [] : modelledEvents(subjects, query.abnormal, benchmark)
    if ('figures' in task) return { withoutBase: [figuresWithoutBase(material, modelled, task.horizon)] }
    path ??= pathComputer(subjects, modelled, query)
    return { path: path(task.from, task.to) }
  }
}

/** The first keys of a study's result: its query, dates and number of events. @param range of the base bars */
function describeStudy({ query, subjects, asOf }: Material, range: Range) {
  const { filter, benchmark, abnormal } = query
  const barRange = rangeOf(subjects.map(({ prices }) => prices.series.days))
  return {
    schema: 'bands.study/2' as const,
    tickers: subjects.map(({ ticker }) => ticker),
    ...structuredClone(filter),
    first: dateOf(range.first),
    last: dateOf(range.last),
    as_of: dateOf(asOf),
    first_bar: dateOf(barRange.first),
    last_bar: dateOf(barRange.last),
    benchmark,
    abnormal,
    ...samplingOf(query),
    events: subjects.reduce((sum, { signals }) => sum + signals.bars.length, 0),
  }
}

/** The trials that the log notes, one a window. @param range of the base bars */
function trialsOf({ tickers, filter }: StudyQuery, range: Range, cells: readonly Cell[]): Trial[] {
  const results = cells.map(({ window: { horizon, tests }, sharpe }) => {
    const { p, test } = tests[0]!
    return { horizon, p, test, sharpe }
  })
  return cellTrials({ tickers: [...new Set(tickers)], filter, ...range }, results)
}

/** Yields every event with its later returns, by date and then by ticker. @param subjects ascending by ticker */
function* occurrencesOf(subjects: readonly Subject[], horizons: readonly number[]): Generator<Occurrence> {
  const counts = subjects.map(({ signals }) => signals.bars.length)
  const total = sum(counts)
  // For each event, numbered through all subjects: its subject, and its index among the events of the subject.
  const subjectOf = new Int32Array(total)
  const indexInSubject = new Int32Array(total)
  // One number each, `day * total + event`, sorts the events by day and then by number, without objects to compare.
  const sortKeys = new Float64Array(total)
  let event = 0
  for (const [subjectIndex, { prices, signals }] of subjects.entries()) {
    for (let i = 0; i < signals.bars.length; i++, event++) {
      subjectOf[event] = subjectIndex
      indexInSubject[event] = i
      sortKeys[event] = prices.series.days[signals.bars[i]!]! * total + event
    }
  }
  for (const key of sortKeys.sort()) {
    const day = Math.floor(key / total)
    const next = key - day * total
    yield occurrenceOf(subjects[subjectOf[next]!]!, indexInSubject[next]!, horizons)
  }
}

/** One event of a subject, as the answer shows it. @param event its index among the subject's events */
function occurrenceOf(subject: Subject, event: number, horizons: readonly number[]): Occurrence {
  const { ticker, prices, states, signals } = subject
  const bar = signals.bars[event]!
  const flips = signals.flips[event]!
  const occurrence: Occurrence = {
    ticker,
    date: formatDay(prices.series.days[bar]!),
    prev_band: states.bands[signals.left[event]!]!,
    band: states.bands[signals.entered[event]!]!,
    stability: STABILITIES[signals.stability[event]!] ?? null,
    flips: flips === UNDEFINED ? null : flips,
    context_band: signals.contextBands?.[event] ?? null,
    close: prices.series.close[bar]!,
    returns: {},
    mfe: {},
    mae: {},
  }
  horizons.forEach((horizon, horizonIndex) => {
    const window = windowName(horizon, prices.series.timeframe)
    const laterReturn = returnAfter(prices, bar, horizon)
    const elapsed = !Number.isNaN(laterReturn)
    const { mfe, mae } = extremesAfter(subject, event, horizonIndex)
    occurrence.returns[window] = elapsed ? laterReturn : null
    occurrence.mfe[window] = elapsed ? mfe : null
    occurrence.mae[window] = elapsed ? mae : null
  })
  return occurrence
}
