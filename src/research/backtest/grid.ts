import { createHash } from 'node:crypto'
import { counted, numberText } from '../../core/errors.js'
import { unionCalendar } from '../../core/model/calendar.js'
import { countBelow, countUpTo, dateOf, formatDay } from '../../core/model/day.js'
import { percent } from '../../core/numbers.js'
import { type Axis, combinations, type GridQuery, type GridStatistic } from '../../core/params/grid.js'
import type { Strategy } from '../../core/params/strategy.js'
import {
  type PricedSource,
  type RunContext,
  type Step,
  type Trials,
  vocabulariesOf,
  type Workers,
} from '../../core/source.js'
import { mean } from '../../core/statistics/moments.js'
import { regression } from '../../core/statistics/robust.js'
import { pbo } from '../../core/statistics/selection.js'
import { deflatedSharpe, type SharpeSample, sampleOf } from '../../core/statistics/sharpe.js'
import { LEVEL, verdictOf } from '../../core/statistics/verdict.js'
import { runInOrder } from '../../data/threads.js'
import { type Choice, choiceOf, indexOfGreatest, type Score } from '../parts.js'
import { bySeverity, LEAST_UNITS, type Warning } from '../study/result.js'
import { checkFamily, correctedByLog } from '../trials.js'
import { type CalendarPart, portfolioCalendar } from './candidates.js'
import { buyAndHold } from './comparison.js'
import { COMBINATION_DRAWS, DEPENDS_ON_DRAW, DRAWS, type DrawnRun, simulate, summaryOfDraws } from './draws.js'
import { type LoadedStrategy, loadStrategies, type Member } from './members.js'
import type { Simulation } from './portfolio.js'
import { randomEntry } from './random-entry.js'
import type {
  DrawsSummary,
  EquityStatistics,
  Grid,
  GridCell,
  Neighbours,
  StrategyVerdict,
  Validation,
} from './result.js'
import { curveOf, equityStatistics, type Figures, figuresOf, returnsOf } from './statistics.js'
import { dataUsed, logAndDeflate, strategyTrial, testsTrial } from './trial-log.js'
import { type Fold, foldsOf, tOfTrades, type Validated, validate, withVerdict } from './validation.js'
import { verdictOn } from './verdict.js'
import {
  choiceWarnings,
  dividendWarning,
  noDaySentence,
  refuseShareCostsOnAdjusted,
  SAME_CLOSE,
  WEEK_DAYS,
  warningsOfOne,
} from './warnings.js'
import { costsInWords, FILLS_IN_WORDS } from './words.js'

/** Blocks of bars, half of which choose in turn; the same number as in a sweep. */
const OVERFITTING_BLOCKS = 16

/**
 * Runs every combination of some values of a strategy. Tests whether the best of them is better than the best of that
 * many by chance. Each combination is logged as a trial.
 * With parts of the data, each training part chooses by the same statistic; the part after it shows the result. The
 * same query on the same data gives the same bytes, with any number of threads. Throws as backtest() does.
 */
export async function grid(
  source: PricedSource,
  query: GridQuery,
  { step, trials = null }: RunContext = {},
): Promise<Grid> {
  const { axes, statistic, strategies, run } = query
  checkFamily(run.family, trials)
  const loaded = await loadStrategies(source, strategies, step)
  loaded.forEach(refuseShareCostsOnAdjusted)
  const data = gridData(loaded, statistic, run.reps)
  const runTasks: RunTasks = tasks => runCells(data, tasks, source, step)
  const results = await runTasks(strategies.map((_, cell) => ({ cell, part: null })))
  const fullCells = results.map(({ full }) => full!)
  const cells = gridCells(axes, results)
  const values = cells.map(({ value }) => value)
  const best = indexOfGreatest(values)
  const validated = await validateChoices(query, loaded, data, fullCells, runTasks)
  step?.(() => 'probability of overfitting')
  const columns = alignedReturns(fullCells)
  const firstEqual = firstEqualCells(columns)
  const overfitting = overfittingOf(columns, firstEqual)
  const deflation = await deflateBest(source, query, fullCells, best, { validated, trials })
  const { barsAYear, statistics } = fullCells[best ?? 0]!
  const bestRun = best === null ? null : simulate(loaded[best]!)
  let bestCell: Grid['best'] = null
  if (best !== null && bestRun !== null) {
    const { deflated_sharpe_p05 } = deflation
    const neighbours = neighboursOf(axes, values, best)
    const curves = curvesOf(bestRun, barsAYear)
    bestCell = { cell: best, strategy: strategies[best]!, neighbours, deflated_sharpe_p05, ...curves }
  }
  const evidence = validated?.evidence ?? null
  const verdict =
    evidence === null
      ? verdictOnBest(best === null ? null : cells[best]!, { ...deflation, pbo: overfitting.pbo })
      : verdictOn(evidence, deflation.trials)
  const validation = withVerdict(validated, verdict)
  return {
    schema: 'bands.grid/3',
    ...resultHead(query, fullCells, await source.asOfDay()),
    bars_a_year: barsAYear,
    seed: strategies[0]!.seed,
    cells,
    best: bestCell,
    smoothness: smoothnessOf(axes, values, firstEqual),
    trials: deflation.trials,
    verdict,
    pbo: overfitting.pbo,
    validation,
    assumptions: assumptionsOf(query),
    warnings: [
      ...bySeverity([
        ['nothing', noDaySentence({ strategy: strategies[0]!, members: data.lists[0] ?? [] })],
        ...warningsOf(query, cells, best),
        daysWarning(strategies, fullCells),
        ...trainingWarnings(validation, query),
        ...(bestRun === null ? [] : warningsOfBest(bestRun, statistics)),
        dividendWarning(data.lists[0] ?? []),
      ]),
      ...source.remarks(),
    ],
    reasons: overfitting.reasons,
  }
}

/** The first keys of a result after its schema. */
function resultHead({ axes, statistic, strategies }: GridQuery, cells: readonly FullCell[], asOf: number | null) {
  const { tickers, timeframe } = strategies[0]!
  const days = unionCalendar(cells.map(({ days }) => days))
  return {
    axes: axes.map(({ key, values }) => ({ key, values: [...values] })),
    statistic,
    tickers: [...tickers],
    ...dataUsed(strategies),
    timeframe,
    first: dateOf(days[0]),
    last: dateOf(days.at(-1)),
    as_of: dateOf(asOf),
  }
}

type BestResult = Pick<Grid, 'trials' | 'pbo'> & Pick<NonNullable<Grid['best']>, 'deflated_sharpe_p05'>

/**
 * Whether the best combination beats the best of that many by chance. The trial log and 95 % of its draws must agree.
 * @param best null where no cell has a value
 */
export function verdictOnBest(
  best: GridCell | null,
  { trials, deflated_sharpe_p05, pbo }: BestResult,
): StrategyVerdict {
  const verdict = (word: StrategyVerdict['word']): StrategyVerdict => ({ word, agreement: null })
  if (best === null) return verdict('not tested')
  if (best.trade_statistics.n < LEAST_UNITS) return verdict('too few')
  if (trials.deflated_sharpe === null) return verdict('not tested')
  const p = correctedByLog(1 - trials.deflated_sharpe, trials.log, trials.log_q)
  const total = best.statistics.total_return ?? 0
  const isDoubted = total <= 0 || (pbo?.probability ?? 0) >= LEVEL
  if (isDoubted || verdictOf(p, total) !== 'beats chance') return verdict('not told from chance')
  const dependsOnDraw = best.draws !== null && 1 - (deflated_sharpe_p05 ?? 0) >= LEVEL
  return verdict(dependsOnDraw ? DEPENDS_ON_DRAW : 'beats chance')
}

/**
 * Logs every cell as a trial, and the test parts of `validated` (null without any). Deflates the Sharpe ratio of the
 * best cell, and the ratio that 95 % of its draws exceed. The p corrected over the log is that of the test parts, or
 * without them that of the best cell, which is logged first.
 * @param cells over all their days
 * @param best null where no cell has a value
 */
async function deflateBest(
  source: PricedSource,
  { strategies, run }: GridQuery,
  cells: readonly FullCell[],
  best: number | null,
  { validated, trials }: { validated: Validated | null; trials: Trials | null },
): Promise<Omit<BestResult, 'pbo'>> {
  const bestOrFirst = best ?? 0
  const { statistics, returns, barsAYear, draws } = cells[bestOrFirst]!
  const sharpeSample = (ratio: number | null): SharpeSample | null =>
    best === null ? null : sampleOf(ratio, returns, barsAYear)
  const bestLoggedFirst = [bestOrFirst, ...[...strategies.keys()].filter(cell => cell !== bestOrFirst)]
  const tried = bestLoggedFirst.map(cell => ({ strategy: strategies[cell]!, ...cells[cell]! }))
  const deflated = await logAndDeflate(tried, sharpeSample(statistics.sharpe), trials, {
    family: run.family,
    vocabularies: await vocabulariesOf(source),
    tests: testsTrial(validated, run),
  })
  const lowSample = sharpeSample(draws?.sharpe.p05 ?? null)
  const { n, variance } = deflated
  const deflated_sharpe_p05 = lowSample && deflatedSharpe({ ...lowSample, trials: n, variance })
  return { trials: deflated, deflated_sharpe_p05 }
}

type RunTasks = (tasks: readonly CellTask[]) => Promise<CellResult[]>

/** The data of strategies for their runs; strategies that need the same data of their tickers share a list. */
function gridData(loaded: readonly LoadedStrategy[], statistic: GridData['statistic'], reps: number): GridData {
  const lists = [...new Set(loaded.map(({ members }) => members))]
  const cells = loaded.map(({ strategy, members }) => ({ strategy, list: lists.indexOf(members) }))
  return { lists, cells, statistic, reps, calendar: portfolioCalendar(lists.flat()) }
}

/** The cells as a result lists them. @param results of all cells over all their days, so that each has `full` */
function gridCells(axes: readonly Axis[], results: readonly CellResult[]): GridCell[] {
  return combinations(axes).map((values, i) => {
    const { value, full } = results[i]!
    const { p, draws, statistics, trade_statistics } = full!
    return { values, value, p, draws, statistics, trade_statistics }
  })
}

/** The combination that each training part chooses by the query's statistic, and its tests; null without parts. */
async function validateChoices(
  { axes, strategies, run }: GridQuery,
  loaded: readonly LoadedStrategy[],
  { calendar }: GridData,
  cells: readonly FullCell[],
  runTasks: RunTasks,
): Promise<Validated | null> {
  const lastDay = cells.reduce((latest, { days }) => Math.max(latest, days.at(-1) ?? latest), -1)
  const folds = foldsOf(calendar.subarray(0, countUpTo(calendar, lastDay)), run)
  if (folds === null) return null
  const choices = await choicesOf(folds, strategies.length, runTasks)
  // Each name lists all keys: `hold 20, stop 5 %`.
  const names = combinations(axes).map(values =>
    values.map((value, i) => `${axes[i]!.key.replaceAll('_', ' ')} ${value}`).join(', '),
  )
  return validate(loaded[0]!, { strategies: loaded, names, choices }, { calendar, last: lastDay }, run)
}

/** The choice of each training part, by the scores of all cells on it. */
async function choicesOf(folds: readonly Fold[], cells: number, runTasks: RunTasks): Promise<Choice[]> {
  const tasks = folds.flatMap(({ train }) => Array.from({ length: cells }, (_, cell) => ({ cell, part: train })))
  const trained = await runTasks(tasks)
  return folds.map((_, i) => choiceOf(trained.slice(i * cells, (i + 1) * cells)))
}

/** The choice of each training part of a backtest among its candidates, by the t of their mean net return a trade. */
export async function candidateChoices(
  candidates: readonly LoadedStrategy[],
  folds: readonly Fold[],
  calendar: Int32Array,
  workers: Workers,
  step?: Step,
): Promise<Choice[]> {
  const noRandomEntry = 0
  const data: GridData = { ...gridData(candidates, 't', noRandomEntry), calendar }
  return choicesOf(folds, candidates.length, tasks => runCells(data, tasks, workers, step))
}

/** The returns of each combination on the days of all of them; 0 before its own first day and after its last. */
function alignedReturns(cells: readonly FullCell[]): Float64Array[] {
  const allDays = unionCalendar(cells.map(({ days }) => days))
  return cells.map(({ days, returns }) => {
    const column = new Float64Array(Math.max(0, allDays.length - 1))
    // A cell's days are consecutive days of the whole calendar.
    column.set(returns, countBelow(allDays, days[0] ?? 0))
    return column
  })
}

/** The cells one step from a cell along one axis, ascending. Cells are numbered row by row, the last axis fastest. */
export function neighboursAt(axes: readonly Pick<Axis, 'values'>[], cell: number): number[] {
  const neighbours: number[] = []
  let stride = 1
  for (const { values } of axes.toReversed()) {
    const index = Math.floor(cell / stride) % values.length
    if (index > 0) neighbours.push(cell - stride)
    if (index + 1 < values.length) neighbours.push(cell + stride)
    stride *= values.length
  }
  return neighbours.sort((a, b) => a - b)
}

/** The number, mean, least and greatest of the known values of a cell's neighbours. */
function neighboursOf(axes: readonly Axis[], values: readonly (number | null)[], cell: number): Neighbours {
  const known = neighboursAt(axes, cell).flatMap(neighbour => values[neighbour] ?? [])
  return {
    n: known.length,
    mean: mean(known),
    least: known.length === 0 ? null : Math.min(...known),
    greatest: known.length === 0 ? null : Math.max(...known),
  }
}

/** For each combination, the first one with the same returns: settings that change no trade are one strategy. */
function firstEqualCells(columns: readonly Float64Array[]): number[] {
  const first = new Map<string, number>()
  return columns.map((column, cell) => {
    const bytes = new Uint8Array(column.buffer, column.byteOffset, column.byteLength)
    const hash = createHash('sha256').update(bytes).digest('hex')
    if (!first.has(hash)) first.set(hash, cell)
    return first.get(hash)!
  })
}

/**
 * The probability of overfitting; cells with equal returns count once.
 * @param columns the returns of each cell
 * @param firstEqual for each cell, the first cell with the same returns
 */
function overfittingOf(columns: readonly Float64Array[], firstEqual: readonly number[]): Pick<Grid, 'pbo' | 'reasons'> {
  const distinct = columns.filter((_, cell) => firstEqual[cell] === cell)
  if (distinct.length < 2) return { pbo: null, reasons: { pbo: 'all combinations have the same returns' } }
  const result = pbo(distinct, OVERFITTING_BLOCKS)
  if ('reason' in result) return { pbo: null, reasons: { pbo: result.reason } }
  return { pbo: result.overfitting, reasons: {} }
}

/**
 * Correlation of the combinations with the means of their neighbours: near 1 on a smooth hill, near 0 for random
 * results. Those with equal returns count once, and not as neighbours of each other: they always correlate.
 * @param firstEqual for each cell, the first cell with the same returns
 */
function smoothnessOf(
  axes: readonly Axis[],
  values: readonly (number | null)[],
  firstEqual: readonly number[],
): number | null {
  const cellValues: number[] = []
  const neighbourMeans: number[] = []
  for (const [cell, value] of values.entries()) {
    if (value === null || firstEqual[cell] !== cell) continue
    const neighbours = new Set(neighboursAt(axes, cell).map(neighbour => firstEqual[neighbour]!))
    neighbours.delete(cell)
    const neighbourMean = mean([...neighbours].flatMap(neighbour => values[neighbour] ?? []))
    if (neighbourMean === null) continue
    cellValues.push(value)
    neighbourMeans.push(neighbourMean)
  }
  return regression(Float64Array.from(cellValues), Float64Array.from(neighbourMeans))?.r ?? null
}

/** What the figures of a grid assume, one a line. */
function assumptionsOf({ strategies, statistic, run }: GridQuery): string[] {
  const { fill, costs, side, risk_free, seed } = strategies[0]!
  return [
    `each combination is a strategy of its own, traded over all its days: ${FILLS_IN_WORDS[fill]}; ${costsInWords(costs, side)}, unless varied; risk-free rate ${percent(risk_free)} a year`,
    `compared by ${statistic.replaceAll('_', ' ')}; of equal ones the first is the best`,
    'neighbours: the combinations one step away along one key, in the order of its values. Smoothness: the correlation of combinations with the mean of their neighbours, those with the same returns once',
    `deflated Sharpe ratio: of the best, by the number of strategies of ${run.family === 'ledger' ? 'the ledger' : 'this run'} and the variance of their ratios (Bailey and López de Prado 2014)`,
    `probability of overfitting: combinatorially symmetric cross-validation of the returns, ${OVERFITTING_BLOCKS} blocks, by Sharpe ratio, of combinations with the same returns one; how often the best of one half is not above the median of the other (Bailey and others 2017)`,
    `seed ${seed}`,
    'survivorship: tickers are those in the store',
    ...(run.tier === null ? [] : [`data: as the ${run.tier} tier sees them`]),
  ]
}

/** The equity curve of the best combination, and the statistics of holding its tickers over the same days. */
function curvesOf(best: DrawnRun, barsAYear: number): Pick<NonNullable<Grid['best']>, 'holding' | 'equity'> {
  const { riskFree } = curveOf(best, barsAYear)
  const prices = best.members.map(member => member.prices)
  return {
    holding: equityStatistics({ ...buyAndHold(prices, best.days, barsAYear), start: 1, riskFree }),
    equity: Array.from(best.days, (day, i) => ({ date: formatDay(day), equity: best.equity[i]! })),
  }
}

const FEWER_DRAWS_THAN_ONE_BACKTEST = `each combination has ${COMBINATION_DRAWS} random choices among equal signals, to save time; a single backtest has ${DRAWS}, so its results differ a little`

/** Warnings about all combinations. @param best index of the best one; null if none has the figure that decides */
function warningsOf({ run, strategies }: GridQuery, cells: readonly GridCell[], best: number | null): Warning[] {
  const idle = cells.filter(({ trade_statistics: { n } }) => n === 0).length
  const trades = best === null ? 0 : cells[best]!.trade_statistics.n
  const few = `${counted(trades, 'closed trade')} of the best: fewer than ${run.min_trades} say little`
  return [
    ['few', best !== null && trades < run.min_trades && few],
    ['partial', idle > 0 && `${numberText(idle)} of ${counted(cells.length, 'combination')} have no closed trade`],
    ['partial', cells.some(({ draws }) => draws !== null) && FEWER_DRAWS_THAN_ONE_BACKTEST],
    ['impossible', strategies.some(({ fill }) => fill === 'close') && SAME_CLOSE],
  ]
}

/** Warns where cells (combinations) begin or end on different days, because their tickers or conditions do. */
function daysWarning(strategies: readonly Strategy[], cells: readonly FullCell[]): Warning {
  const cellsWithDays = cells.filter(({ days }) => days.length > 0)
  const firstDays = cellsWithDays.map(({ days }) => days[0]!)
  const lastDays = cellsWithDays.map(({ days }) => days.at(-1)!)
  const begin = { from: Math.min(...firstDays), to: Math.max(...firstDays) }
  const end = { from: Math.min(...lastDays), to: Math.max(...lastDays) }
  // Where dates end the signals, each run continues until its own trades are closed.
  const mayEndApart = strategies.some(({ entry }) => entry.before !== null)
  const words: string[] = []
  if (begin.from < begin.to) words.push(`begin between ${formatDay(begin.from)} and ${formatDay(begin.to)}`)
  if (!mayEndApart && end.to - end.from > WEEK_DAYS)
    words.push(`end between ${formatDay(end.from)} and ${formatDay(end.to)}`)
  if (words.length === 0) return ['partial', null]
  return [
    'partial',
    `the combinations ${words.join(' and ')}: each is measured over its own days, not over the same ones`,
  ]
}

/** The warnings of a backtest of the best cell. */
function warningsOfBest(best: DrawnRun, statistics: EquityStatistics): Warning[] {
  return warningsOfOne(best, statistics).map(([kind, sentence]) => {
    const isOfAll = kind === 'prices' || sentence === SAME_CLOSE
    return [kind, sentence && !isOfAll && `the best: ${sentence}`]
  })
}

/** Warnings about training parts without a value, or with few trades. */
function trainingWarnings(validation: Validation | null, { statistic, run }: GridQuery): Warning[] {
  const parts = validation?.folds.filter(({ role }) => role === 'train') ?? []
  const undecided = parts.filter(({ chosen }) => chosen === null).length
  const where = parts.length === 1 ? 'the part to choose on' : `${undecided} of ${parts.length} parts to choose on`
  const noStatistic = `on ${where} no combination has a ${statistic.replaceAll('_', ' ')}: the first is traded after it, and all tests leave that out`
  return [['few', undecided > 0 && noStatistic], ...choiceWarnings(validation, run)]
}

/** The data of a grid. Cells that need the same data of their tickers share a list: `list` is its index in `lists`. */
export interface GridData {
  lists: readonly (readonly Member[])[]
  cells: readonly { strategy: Strategy; list: number }[]
  /** `t`: of the mean net return a trade. A backtest chooses by it. */
  statistic: GridStatistic | 't'
  /** Draws of random entry. */
  reps: number
  /** The days of all cells; the parts are ranges of it. */
  calendar: Int32Array
}

/** A cell to run over all its own days, or over one part: a range of the common calendar, the same for all cells. */
export interface CellTask {
  cell: number
  part: CalendarPart | null
}

interface FullCell extends Figures {
  days: Int32Array
  returns: Float64Array
  draws: DrawsSummary | null
  /** Per bar, at a risk-free rate of 0; null where the strategy was ruined. */
  sharpe: number | null
  /** p of random entry. */
  p: number | null
}

/** The statistic that compares the cells; only a part has its draws. */
interface CellResult extends Score {
  /** null for a part. */
  full: FullCell | null
}

/**
 * Returns a function that runs a cell over all its days or a part, and gives the statistic that compares cells. A part
 * also has the statistic of each draw (`values`): a draw is a random order of equal signals that compete for positions.
 * A run over all days has the other figures of the cell.
 */
export function cellRunner({ lists, cells, statistic, reps, calendar }: GridData): (task: CellTask) => CellResult {
  // The days of each list of members; null until its first run over all days.
  const calendars = lists.map((): Int32Array | null => null)
  return ({ cell, part }) => {
    const { strategy, list } = cells[cell]!
    const loaded = { strategy, members: lists[list]! }
    if (part === null) calendars[list] ??= portfolioCalendar(loaded.members)
    const statisticOf = ({ statistics, trade_statistics }: Figures, { trades }: Pick<Simulation, 'trades'>) =>
      statistic === 't' ? tOfTrades(trades) : { ...statistics, ...trade_statistics }[statistic]
    const values: (number | null)[] = []
    const simulation = simulate(loaded, part === null ? calendars[list]! : calendar, part ?? undefined, {
      draws: COMBINATION_DRAWS,
      each: (run, draw) => {
        if (part !== null) values[draw] = statisticOf(figuresOf(run), run)
      },
    })
    const figures = figuresOf(simulation)
    const value = statisticOf(figures, simulation)
    if (part !== null) return { value, values, full: null }
    const { days, sharpe } = strategyTrial(simulation)
    const returns = returnsOf(curveOf(simulation, figures.barsAYear))
    const { p } = randomEntry(strategy, simulation.trades, reps)
    return { value, values, full: { ...figures, days, returns, draws: summaryOfDraws(simulation.draws), sharpe, p } }
  }
}

/** Bars of tickers that take a cell about a millisecond. */
const BARS_A_MS = 20_000

/** Runs cells (combinations) over all days or parts, here or in threads. The results are in the order of the tasks. */
export async function runCells(
  data: GridData,
  tasks: readonly CellTask[],
  workers: Workers,
  step: Step = () => {},
): Promise<CellResult[]> {
  const barsOfCell = data.lists[0]?.reduce((sum, { bars }) => sum + bars.days.length, 0) ?? 0
  const runCell = cellRunner(data)
  const ms = (tasks.length * barsOfCell) / BARS_A_MS
  const work = { job: 'grid' as const, data: () => data, tasks, ms, here: runCell }
  const results: CellResult[] = []
  for await (const result of runInOrder(work, workers)) {
    results.push(result)
    step(() => `combination ${numberText(results.length)} of ${numberText(tasks.length)}`)
  }
  return results
}
