// For: questions about later returns, and the log of all that was tried.
// In: a source of bars and events.
// Out: results with intervals, p-values and verdicts.

import { sha256 } from '@noble/hashes/sha2.js'
import { InvalidParameter } from '../core/errors.js'
import { isCondition, lagInWords, TRUE, TRUTHS } from '../core/language/as-field.js'
import { type Day, formatDay, parseDay } from '../core/model/day.js'
import { windowName } from '../core/model/terms.js'
import type { EventFilter, Family } from '../core/params/studies.js'
import type { Trial, TrialKind, TrialQuestion, Trials } from '../core/source.js'
import { benjaminiHochberg } from '../core/statistics/selection.js'
import { LEVEL } from '../core/statistics/verdict.js'

/** The identity of a combination: its question, its tickers, and the date range of its data. */
export interface CellSpec {
  tickers: readonly string[]
  filter: EventFilter
  horizon: number
  /** First and last bar on which the field has a band; null without any. */
  first: Day | null
  last: Day | null
}

type CellFound = Pick<Trial, 'p' | 'test' | 'sharpe'>

/** One combination as the trial log keeps it. Study, tally and sweep give the same combination the same hash. */
export function cellTrial({ horizon, ...question }: CellSpec, result: CellFound): Trial {
  return cellTrials(question, [{ horizon, ...result }])[0]!
}

/** The combinations of one question, which differ only in their windows, as the trial log keeps them. */
export function cellTrials(
  question: Omit<CellSpec, 'horizon'>,
  cells: readonly (CellFound & { horizon: number })[],
): Trial[] {
  const document = hashedDocument(question)
  const questionHash = hashOf({ ...document, kind: 'question' })
  const { first, last, filter } = question
  return cells.map(({ horizon, ...result }) => ({
    hash: hashOf({ ...document, horizon }),
    spec: cellInWords({ ...question, horizon }),
    ...result,
    asked: { question: questionHash, timeframe: filter.timeframe, first, last },
  }))
}

/** Hashes JSON whose bytes only depend on the values: keys ascending, no spaces. */
export function hashOf(document: object): string {
  // node:crypto takes 5 ms to load, as long as a question about one ticker computes.
  return Buffer.from(sha256(Buffer.from(JSON.stringify(withSortedKeys(document))))).toString('hex')
}

/** The same JSON value with the keys of every object ascending. */
function withSortedKeys(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  // Texts have no keys: the thousands of tickers of a market are not copied.
  if (Array.isArray(value)) return value.every(item => typeof item === 'string') ? value : value.map(withSortedKeys)
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, inner]) => [key, withSortedKeys(inner)]))
}

/**
 * The document of a combination that is hashed, without the window. Its keys never change, so that a combination noted
 * by an older version has the same hash.
 */
function hashedDocument({ tickers, filter, first, last }: Omit<CellSpec, 'horizon'>) {
  const { field, timeframe, bands, prev_bands, stability, max_flips, context, when, lag, ...others } = filter
  const { after, before, ...unhashed } = others
  // The types fail here for a new part of the filter: hash it below, and leave it out at its default.
  unhashed satisfies Record<string, never>
  return {
    kind: 'cell',
    tickers: tickers.toSorted(),
    field,
    timeframe,
    bands: bands?.toSorted() ?? null,
    prevBands: prev_bands?.toSorted() ?? null,
    stability: stability?.toSorted() ?? null,
    maxFlips: max_flips,
    context: context === null ? null : { ...context, bands: context.bands?.toSorted() ?? null },
    ...(when === undefined ? {} : { when }),
    ...(lag === undefined ? {} : { lag }),
    after: after === null ? null : parseDay(after),
    before: before === null ? null : parseDay(before),
    first,
    last,
  }
}

/** For example `rsi_zone = oversold; 20d; SPY; 2013-02-08 to 2018-02-07`. */
function cellInWords({ tickers, filter, horizon, first, last }: CellSpec): string {
  return [
    ...filterWords(filter),
    windowName(horizon, filter.timeframe),
    tickerWords(tickers),
    first === null || last === null ? 'no bars' : `${formatDay(first)} to ${formatDay(last)}`,
  ].join('; ')
}

/** How a result compares with all questions about the same data; the headline shows it. */
export interface LogComparison {
  /** `run`: the verdict leaves the log out. */
  family: Family
  /** Questions of the log with the same timeframe and overlapping dates. This one is among them. */
  questions: number
  windows: number
  /** The number of windows with p below .05 by chance alone. */
  expected: number
}

/** A run compared with the log, and the q of each of its trials over the log, by hash; null without a p. */
export interface RunInLog {
  log: LogComparison
  /** How many cells or strategies, as the run has, the log knows of any data. */
  countOfKind: number
  q: ReadonlyMap<string, number | null>
  /** The trials of other runs that q counts; without a p of the current test their p is null. */
  others: readonly Trial[]
}

/**
 * Notes the trials of a run, and corrects their p by Benjamini-Hochberg over all logged trials of the same data. A
 * combination without a p of the current test counts with p = 1. A strategy without one does not count.
 * @param family only noted in the result: whether the verdict counts q
 * @returns null without a log
 */
export async function noteAndCompare(
  trials: Trials | null,
  kind: TrialKind,
  runTrials: readonly Trial[],
  family: Family,
): Promise<RunInLog | null> {
  if (trials === null) return null
  const { ofKind } = await trials.note(kind, runTrials)
  const logTrials = countedTrials(await trials.of('cell'), await trials.of('strategy'))
  return { ...compareWithLog(runTrials, logTrials, family), countOfKind: ofKind }
}

/**
 * Corrects the p of a run's trials by Benjamini-Hochberg over all logged trials of the same data.
 * @param logTrials all trials of the log; the run's own values replace those of the same hash
 * @param family only noted in the result
 */
export function compareWithLog(
  runTrials: readonly Trial[],
  logTrials: readonly Trial[],
  family: Family,
): Omit<RunInLog, 'countOfKind'> {
  const runTrialByHash = new Map(runTrials.map(trial => [trial.hash, trial]))
  // A run without a test keeps the p that an earlier test gave its trials.
  for (const trial of logTrials)
    if (runTrialByHash.get(trial.hash)?.test === null) runTrialByHash.set(trial.hash, trial)
  // The trials of a run nearly all have the same dates, which are compared once.
  const questionByDates = new Map<string, TrialQuestion>()
  for (const { asked } of runTrials) questionByDates.set(`${asked!.timeframe} ${asked!.first} ${asked!.last}`, asked!)
  const questions = [...questionByDates.values()]
  const sharesRunData = (trial: Trial): boolean => questions.some(question => sharesData(question, trial.asked))
  const others = logTrials.filter(trial => !runTrialByHash.has(trial.hash) && sharesRunData(trial))
  const ownTrials = [...runTrialByHash.values()]
  const allTrials = [...ownTrials, ...others]
  const corrected = benjaminiHochberg(allTrials.map(trial => pOfCurrentTest(trial) ?? 1))
  const q = new Map<string, number | null>()
  // Own trials come first, so that their indices are those of `corrected`.
  for (const [i, trial] of ownTrials.entries()) q.set(trial.hash, pOfCurrentTest(trial) === null ? null : corrected[i]!)
  const log = { family, ...countsOf(allTrials), expected: allTrials.length * LEVEL }
  return { log, q, others: others.map(trial => ({ ...trial, p: pOfCurrentTest(trial) })) }
}

/** The least value of a corrected p: q over the log; null where the query leaves the log out, or without a q. */
export function leastByLog(log: LogComparison | null, q: number | null): number | null {
  return log?.family === 'ledger' ? q : null
}

/** The greater of p, as corrected within the run, and q over the log if the log counts; null without a p. */
export function correctedByLog(p: number | null, log: LogComparison | null, q: number | null): number | null {
  return p === null ? null : Math.max(p, leastByLog(log, q) ?? 0)
}

/** The p of a trial; null for that of a test that is no longer used. */
function pOfCurrentTest({ p, test }: Trial): number | null {
  return test !== null && CURRENT_TESTS.has(test) ? p : null
}

/** The test of a cell, as studies, sweeps and the log name it. */
export const CELL_TEST = 'newey_west'

/** The test of a strategy, as the log names it. */
export const RANDOM_ENTRY = 'random_entry'

/** The tests whose p the log corrects. A p of any other test counts as 1. */
const CURRENT_TESTS: ReadonlySet<string> = new Set([CELL_TEST, RANDOM_ENTRY])

/** Whether two questions have the same timeframe and common dates. A trial of an unknown question shares all data. */
function sharesData(a: TrialQuestion, b: TrialQuestion | undefined): boolean {
  if (b === undefined) return true
  if (a.timeframe !== b.timeframe) return false
  // Without bars there are no dates.
  if (a.first === null || a.last === null || b.first === null || b.last === null) return false
  return a.first <= b.last && b.first <= a.last
}

/** Whether a trial is a strategy itself. A test of its split or walk-forward has the question of the strategy. */
export function isStrategy({ hash, asked }: Trial): boolean {
  return asked === undefined || asked.question === hash
}

/** The logged trials that the correction counts: all combinations, and the strategies with a p of the current test. */
export function countedTrials<T extends Trial>(cells: readonly T[], strategies: readonly T[]): readonly T[] {
  return [...cells, ...strategies.filter(strategy => pOfCurrentTest(strategy) !== null)]
}

/** The number of distinct questions of some trials, and of windows. A trial without a question counts by its text. */
export function countsOf(trials: readonly Trial[]): Pick<LogComparison, 'questions' | 'windows'> {
  const questions = new Set(trials.map(({ asked, spec }) => asked?.question ?? spec))
  return { questions: questions.size, windows: trials.length }
}

/** Throws InvalidParameter if the correction needs the trial log and there is none. */
export function checkFamily(family: Family | undefined, trials: Trials | null): void {
  if (family !== 'ledger' || trials !== null) return
  const why = 'there is no trial log for the bundled sample'
  const message = `family "ledger" cannot be: ${why}; use family "run", or a database of your own.`
  throw new InvalidParameter(message, { param: 'family', value: family, allowed: ['run'] })
}

/**
 * Runs a question and counts its trials in the log; null: no log. A failed write at the end (a lock, a full disk) does
 * not lose the answer. Its trials count as if they were noted, and a warning says that they are not.
 */
export async function withCountedTrials<Found extends { warnings: string[] }>(
  trials: Trials | null,
  run: (trials: Trials | null) => Promise<Found>,
): Promise<Found> {
  if (trials === null) return run(null)
  const fallback = new FallbackTrials(trials)
  const result = await run(fallback)
  if (fallback.failure === null) return result
  return {
    ...result,
    warnings: [...result.warnings, `this run is not noted in the trial log: ${fallback.failure}`],
  }
}

/** A trial log that remembers the trials that it cannot write. */
class FallbackTrials implements Trials {
  /** Why a trial could not be noted; null if all were. */
  failure: string | null = null
  readonly #ledger: Trials
  readonly #unwritten: { kind: TrialKind; trial: Trial }[] = []

  constructor(ledger: Trials) {
    this.#ledger = ledger
  }

  /** Notes trials, or remembers them if the log cannot be written. Returns their number now, of the kind and of all. */
  async note(kind: TrialKind, trials: readonly Trial[]): Promise<{ ofKind: number; all: number }> {
    try {
      return await this.#ledger.note(kind, trials)
    } catch (error) {
      this.failure = (error as Error).message
      for (const trial of trials) this.#unwritten.push({ kind, trial })
      const cells = await this.of('cell')
      const strategies = await this.of('strategy')
      return { ofKind: (kind === 'cell' ? cells : strategies).length, all: cells.length + strategies.length }
    }
  }

  /**
   * The logged trials of a kind, then those of this run that could not be written, each once. Once writing has failed,
   * a log that cannot be read counts as empty. @param since milliseconds since 1970: only trials logged from then on
   */
  async of(kind: TrialKind, since?: number): Promise<readonly Trial[]> {
    const logged = this.#ledger.of(kind, since)
    const written = await (this.failure === null ? logged : logged.catch(() => []))
    const unwritten = this.#unwritten.filter(other => other.kind === kind).map(({ trial }) => trial)
    const trialByHash = new Map<string, Trial>()
    for (const trial of [...written, ...unwritten]) if (!trialByHash.has(trial.hash)) trialByHash.set(trial.hash, trial)
    return [...trialByHash.values()]
  }

  async close(): Promise<void> {
    await this.#ledger.close()
  }
}

/** The conditions of a filter, one by one: `rsi_zone = oversold`, `while GSPC trend_direction = downtrend`. */
export function filterWords(filter: EventFilter): string[] {
  const { field, bands, prev_bands, stability, max_flips, context, when, lag } = filter
  const contextLag = context?.lag === 1 ? ' a bar before' : ''
  return [
    isCondition(field) && bands?.join() === TRUTHS[TRUE] ? field : `${field} = ${bandsOrAny(bands)}`,
    ...(prev_bands === null ? [] : [`from ${bandsOrAny(prev_bands)}`]),
    ...(stability === null ? [] : [`stability ${bandsOrAny(stability)}`]),
    ...(max_flips === null ? [] : [`at most ${max_flips} flips`]),
    ...(context === null
      ? []
      : [`while ${context.ticker} ${context.field} = ${bandsOrAny(context.bands)}${contextLag}`]),
    ...(when === undefined ? [] : [`when ${when}`]),
    ...lagInWords(lag),
  ]
}

/** Names, ascending, of a few tickers; of more how many they are. */
export function tickerWords(tickers: readonly string[]): string {
  return tickers.length <= 3 ? tickers.toSorted().join(', ') : `${tickers.length} tickers`
}

function bandsOrAny(values: readonly string[] | null): string {
  return values?.join(', ') ?? 'any'
}
