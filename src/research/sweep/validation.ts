import { numberText } from '../../core/errors.js'
import { formatDay } from '../../core/model/day.js'
import type { Workers } from '../../core/source.js'
import type { BarRange } from '../../core/statistics/folds.js'
import { LEVEL } from '../../core/statistics/verdict.js'
import { runInOrder } from '../../data/threads.js'
import { returnAfter } from '../study/signals.js'
import { type CellOutcome, outcomeOf } from './best.js'
import {
  type CellBatch,
  type CellResult,
  cellCount,
  cellResults,
  compareByEvidence,
  correctedPs,
  Resamples,
  type SweepRun,
} from './cells.js'
import { addSums, type BaseBars, baseBarsOf, poolOf, type Sums, sumsOf, sumsOfPosition, ZERO_SUMS } from './pool.js'
import { SHORT, type SweepValidation } from './result.js'
import {
  type Checkpoint,
  conditionsOf,
  lastWindowEnds,
  rangeMask,
  type TickerData,
  type Timeline,
  trainMask,
  type ValidationPlan,
} from './ticker-data.js'

/** A cell's result on the training part, and its sign there: 1 above its base, -1 below. */
interface ChosenCell extends Pick<CellResult, 'key' | 'name' | 'sums'> {
  p: number
  q: number
  sign: 1 | -1
}

type Fold = ValidationPlan['folds'][number]

/** Chooses cells (combinations) on one part of the data and checks them on another, which no training window meets. */
export async function validationOf(
  run: SweepRun,
  plan: ValidationPlan,
  checkpoint: Checkpoint,
  workers: Workers,
): Promise<SweepValidation> {
  const { timeline, query } = run
  const windowEnds = query.horizons.map(horizon => lastWindowEnds(timeline, horizon))
  const windowCounts = query.horizons.map(horizon => countWindows(run, horizon))
  const folds: SweepValidation['folds'] = []
  const testSumsByFold: Sums[][] = []
  const trainingRuns = plan.folds.map(fold => {
    const masks = windowEnds.map(ends => trainMask(fold, plan.embargo, ends))
    return { ...run, masks, name: `${plan.kind} ${fold.name}` }
  })
  const trained = await trainAll(trainingRuns, checkpoint, workers)
  for (const [i, fold] of plan.folds.entries()) {
    const { masks } = trainingRuns[i]!
    const chosen = chooseCells(trained[i]!, query)
    const testSums = fold.test.map(part => sumsInTestPart(run, part, chosen))
    testSumsByFold.push(testSums)
    folds.push({
      ...foldFigures(fold, masks, windowCounts, timeline),
      chosen: chosen.map(({ name, sign }) => (sign === 1 ? name : `${name}${SHORT}`)),
      train_mean: meanOf(chosen.map(({ sums, sign }) => sumsOfPosition(sums, sign)).reduce(addSums, ZERO_SUMS)),
      test_mean: meanOf(testSums.reduce(addSums, ZERO_SUMS)),
    })
  }
  const all = testSumsByFold.flat().reduce(addSums, ZERO_SUMS)
  return { kind: plan.kind, folds, test: testFigures(all), paths: plan.paths && pathMeans(plan.paths, testSumsByFold) }
}

type Candidate = Pick<CellResult, 'key' | 'name' | 'sums' | 'p'>

/** For each run, the results of all cells on its training part. */
async function trainAll(runs: readonly SweepRun[], checkpoint: Checkpoint, workers: Workers): Promise<Candidate[][]> {
  const trained: Candidate[][] = runs.map(() => [])
  for await (const { run, outcomes } of runCells({ runs, tests: false }, checkpoint, workers))
    for (const { summary } of outcomes) trained[run]!.push(summary)
  return trained
}

/**
 * Chooses the cells (combinations) with a corrected p below 5 %, or the best one where there is none; best first. A
 * cell below its base is sold short (sign -1).
 */
function chooseCells(cells: readonly Candidate[], query: SweepRun['query']): ChosenCell[] {
  const ps = cells.map(({ p }) => p)
  const corrected = correctedPs(ps, [], query.adjust)
  const tested = cells.flatMap(({ p, ...result }, i): ChosenCell[] => {
    const q = corrected[i]!
    const sign = result.sums.returns < result.sums.base ? -1 : 1
    return p === null || q === null ? [] : [{ ...result, p, q, sign }]
  })
  tested.sort(compareByEvidence)
  const significant = tested.filter(({ q }) => q < LEVEL)
  return significant.length > 0 ? significant : tested.slice(0, 1)
}

/** Adds up the returns of the chosen cells' events in a test part, and their base; reversed for cells sold short. */
function sumsInTestPart({ tickerData, timeline }: SweepRun, part: BarRange, chosen: readonly ChosenCell[]): Sums {
  const mask = rangeMask([part], timeline.days.length)
  const baseByName = new Map<string, BaseBars>()
  let sums: Sums = ZERO_SUMS
  for (const { key, sign } of chosen) {
    const { condition, horizon, ticker } = key
    const group = ticker === null ? tickerData : tickerData.filter(data => data.ticker === ticker)
    const baseName = `${condition.field} ${horizon} ${ticker}`
    const base = baseByName.get(baseName) ?? baseBarsOf(group, { field: condition.field, horizon, mask, timeline })
    baseByName.set(baseName, base)
    sums = addSums(sums, sumsOfPosition(sumsOf(poolOf(base, condition)), sign))
  }
  return sums
}

/** By index of the timeline: number of elapsed event windows that begin there, over all tickers and fields. */
function countWindows({ tickerData, timeline }: SweepRun, horizon: number): Int32Array {
  const counts = new Int32Array(timeline.days.length)
  for (const data of tickerData) {
    const indices = timeline.indices.get(data)!
    for (const bar of data.bars) if (!Number.isNaN(returnAfter(data.prices, bar, horizon))) counts[indices[bar]!]!++
  }
  return counts
}

type WindowTest = (horizonIndex: number, index: number) => boolean

/**
 * The parts of a fold with their dates and windows, and the number of windows purged from training.
 * @param masks for each horizon, 1 at each index of the timeline whose windows the training may use
 * @param windowCounts for each horizon, the number of event windows that begin at each index
 */
function foldFigures(
  { name, train, test }: Fold,
  masks: readonly Uint8Array[],
  windowCounts: readonly Int32Array[],
  { days }: Timeline,
): Pick<SweepValidation['folds'][number], 'name' | 'train' | 'test' | 'purged'> {
  const sumWindows = ({ from, to }: BarRange, isCounted: WindowTest): number => {
    let sum = 0
    windowCounts.forEach((counts, horizonIndex) => {
      for (let index = from; index < to; index++) if (isCounted(horizonIndex, index)) sum += counts[index]!
    })
    return sum
  }
  const dated = (range: BarRange, events: number) => {
    return { from: formatDay(days[range.from]!), to: formatDay(days[range.to - 1]!), events }
  }
  const isTrained: WindowTest = (horizonIndex, index) => masks[horizonIndex]![index] === 1
  const isAny: WindowTest = () => true
  const isPurged: WindowTest = (horizonIndex, index) => !isTrained(horizonIndex, index)
  return {
    name,
    train: train.map(range => dated(range, sumWindows(range, isTrained))),
    test: test.map(range => dated(range, sumWindows(range, isAny))),
    purged: train.reduce((sum, range) => sum + sumWindows(range, isPurged), 0),
  }
}

/**
 * Mean return of each path of a CPCV, null without events. A path has the test result of each group of bars from one
 * fold.
 */
function pathMeans(
  { folds: foldsByPath, groups: groupsByFold }: NonNullable<ValidationPlan['paths']>,
  testSumsByFold: readonly Sums[][],
): (number | null)[] {
  return foldsByPath.map(path => {
    const partOf = (fold: number, group: number): number => groupsByFold[fold]!.indexOf(group)
    const sumsOfGroups = path.map((fold, group) => testSumsByFold[fold]![partOf(fold, group)]!)
    return meanOf(sumsOfGroups.reduce(addSums, ZERO_SUMS))
  })
}

function testFigures(sums: Sums): SweepValidation['test'] {
  const { n, returns, base, hits } = sums
  if (n === 0) return { n, mean: null, base: null, diff: null, hit: null }
  return { n, mean: returns / n, base: base / n, diff: (returns - base) / n, hit: hits / n }
}

function meanOf({ n, returns }: Sums): number | null {
  return n === 0 ? null : returns / n
}

export interface SweepData {
  /** At least one. */
  runs: readonly SweepRun[]
  /** Whether a tested cell gets its interval, and its entry for the contest. */
  tests: boolean
}

export interface SweepTask extends CellBatch {
  run: number
}

/** Yields the outcomes of every cell (combination) of each run in order, batch by batch, from here or from threads. */
export async function* runCells(
  data: SweepData,
  checkpoint: Checkpoint,
  workers: Workers,
): AsyncGenerator<{ run: number; outcomes: CellOutcome[] }> {
  const { runs } = data
  const tasks = runs.flatMap((run, i) => batchesOf(run).map(part => ({ ...part, run: i })))
  const testBatch = cellRunner(data)
  // The number of finished cells, for the progress message. Those of this thread count before their batch ends.
  let done = 0
  const reportProgress = (run: number): Promise<void> => {
    const total = cellCount(runs[run]!.query)
    // Each run has the same number of cells.
    const text = () => `${runs[run]!.name}, combination ${numberText(1 + ((done - 1) % total))} of ${numberText(total)}`
    return checkpoint(text)
  }
  const here = async (task: SweepTask): Promise<CellOutcome[]> => {
    const outcomes: CellOutcome[] = []
    for (const outcome of testBatch(task)) {
      outcomes.push(outcome)
      done++
      await reportProgress(task.run)
    }
    return outcomes
  }
  const ms = runs.reduce((sum, run) => sum + msOfRun(run), 0)
  const work = { job: 'sweep' as const, data: () => data, tasks, ms, here }
  let nextTask = 0
  let yielded = 0
  for await (const outcomes of runInOrder(work, workers)) {
    const { run } = tasks[nextTask++]!
    yield { run, outcomes }
    // The cells of other threads are counted only here.
    yielded += outcomes.length
    done = yielded
    await reportProgress(run)
  }
}

/** Returns a function that yields the outcomes of a batch. Batches share their resamples. */
export function cellRunner({ runs, tests }: SweepData): (task: SweepTask) => Generator<CellOutcome> {
  const resamples = tests ? new Resamples(runs[0]!.query) : null
  // The last base is enough, because tasks with the same base follow each other.
  let base: BaseBars | null = null
  let baseName = ''
  return function* (task) {
    const run = runs[task.run]!
    const { field, horizonIndex, from, to } = task
    const wantedBase = [task.run, field, horizonIndex, from, to].join()
    if (base === null || baseName !== wantedBase) {
      const { timeline, query, masks } = run
      const horizon = query.horizons[horizonIndex]!
      base = baseBarsOf(run.tickerData.slice(from, to), { field, horizon, mask: masks[horizonIndex]!, timeline })
      baseName = wantedBase
    }
    for (const result of cellResults(run, task, base)) yield outcomeOf(result, run, resamples)
  }
}

/** Tickers in one batch where each ticker has its own cells: the results of all of them would take too much memory. */
const TICKERS_A_BATCH = 64

/** Milliseconds that a task may take, about. A cell of all tickers is not parted, but each may be a task. */
const MAX_TASK_MS = 5000

/**
 * The batches of a run, in the order of its cells. Pooled, a batch has all tickers and some conditions; otherwise some
 * tickers and all conditions.
 */
function batchesOf({ tickerData, query }: SweepRun): CellBatch[] {
  const { fields, horizons, by } = query
  const isPooled = by === 'pool'
  const tickerRanges = rangesIn(tickerData.length, isPooled ? tickerData.length : TICKERS_A_BATCH)
  const conditionsInTime = Math.max(1, Math.floor(MAX_TASK_MS / msOfCell(tickerData)))
  const batches: CellBatch[] = []
  for (const field of fields.keys()) {
    const { length } = conditionsOf(query, field)
    const conditionRanges = rangesIn(length, isPooled ? conditionsInTime : length)
    for (const horizonIndex of horizons.keys())
      for (const { from, to } of tickerRanges)
        for (const conditions of conditionRanges) batches.push({ field, horizonIndex, from, to, conditions })
  }
  return batches
}

/** Cuts the numbers below `length` into ranges of at most `size`. */
function rangesIn(length: number, size: number): BarRange[] {
  return Array.from({ length: Math.ceil(length / size) }, (_, i) => {
    return { from: i * size, to: Math.min(length, (i + 1) * size) }
  })
}

/** Bars of a cell that take about a millisecond, tests included. */
const CELL_BARS_A_MS = 10_000

/** Milliseconds that a cell of these tickers takes, about. */
function msOfCell(tickerData: readonly TickerData[]): number {
  return tickerData.reduce((sum, { days }) => sum + days.length, 0) / CELL_BARS_A_MS
}

/** Milliseconds that all cells of a run take, about. */
function msOfRun({ tickerData, query }: SweepRun): number {
  const conditions = query.fields.reduce((sum, _, field) => sum + conditionsOf(query, field).length, 0)
  return msOfCell(tickerData) * conditions * query.horizons.length
}
