import { createHash } from 'node:crypto'
import { counted, formatInteger } from '../../core/errors.js'
import { unionCalendar } from '../../core/model/calendar.js'
import { countBelow, countUpTo, dateOf, formatDay } from '../../core/model/day.js'
import { percent } from '../../core/numbers.js'
import { type Axis, combinations, type GridQuery, type GridStatistic } from '../../core/params/grid.js'
import type { Strategy } from '../../core/params/strategy.js'
import { type PricedSource, type RunContext, type Step, vocabulariesOf, type Workers } from '../../core/source.js'
import { mean } from '../../core/statistics/moments.js'
import { regression } from '../../core/statistics/robust.js'
import { pbo } from '../../core/statistics/selection.js'
import { deflatedSharpe, sampleOf } from '../../core/statistics/sharpe.js'
import { LEVEL, verdictOf } from '../../core/statistics/verdict.js'
import { inOrder } from '../../data/threads.js'
import { bestOf, type Choice, choiceOf, type Score } from '../parts.js'
import { bySeverity, LEAST_UNITS, type Warning } from '../study/result.js'
import { checkFamily, correctedByLog } from '../trials.js'
import { type CalendarPart, portfolioCalendar } from './candidates.js'
import { buyAndHold } from './comparison.js'
import { COMBINATION_DRAWS, DEPENDS_ON_DRAW, DRAWS, type DrawnRun, drawsOf, simulate } from './draws.js'
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
import { loadStrategies, type Member, type Ready } from './trade.js'
import { dataUsed, logAndDeflate, strategyTrial, testsTrial } from './trial-log.js'
import { type Fold, foldsOf, tradesT, type Validated, validate, withVerdict } from './validation.js'
import { verdictOn } from './verdict.js'
import {
  choiceWarnings,
  dividendWarning,
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
  const ready = await loadStrategies(source, strategies, step)
  ready.forEach(refuseShareCostsOnAdjusted)
  const distinct = [...new Set(ready.map(({ members }) => members))]
  const data: GridData = {
    lists: distinct,
    cells: ready.map(({ strategy, members }) => ({ strategy, list: distinct.indexOf(members) })),
    statistic,
    reps: run.reps,
    calendar: portfolioCalendar(distinct.flat()),
  }
  const runTasks: RunTasks = tasks => runCells(data, tasks, source, step)
  const results = await runTasks(strategies.map((_, cell) => ({ cell, part: null })))
  const found = results.map(({ whole }) => whole!)
  const cells = cellsOf(axes, results)
  const values = cells.map(({ value }) => value)
  const best = bestOf(values)
  const tested = await validateChoices(query, ready, data, found, runTasks)
  step?.(() => 'probability of overfitting')
  const columns = alignedReturns(found)
  const groups = equalReturns(columns)
  const overfitting = overfittingOf(columns, groups)
  const first = best ?? 0
  const order = [first, ...strategies.keys()].filter((cell, i) => i === 0 || cell !== first)
  const tried = order.map(cell => ({ strategy: strategies[cell]!, ...found[cell]! }))
  const own = found[first]!
  const sample = best === null ? null : sampleOf(own.statistics.sharpe, own.returns, own.barsAYear)
  const vocabularies = await vocabulariesOf(source)
  const tests = testsTrial(tested, run)
  const deflated = await logAndDeflate(tried, sample, trials, { family: run.family, vocabularies, tests })
  const low = best === null ? null : sampleOf(own.draws?.sharpe.p05 ?? null, own.returns, own.barsAYear)
  const deflated_sharpe_p05 = low && deflatedSharpe({ ...low, trials: deflated.n, variance: deflated.variance })
  const evidence = tested?.evidence ?? null
  const shown = best === null ? null : simulate(ready[best]!)
  const verdict =
    evidence !== null
      ? verdictOn(evidence, deflated)
      : verdictOnBest(best === null ? null : cells[best]!, {
          trials: deflated,
          deflated_sharpe_p05,
          pbo: overfitting.pbo,
        })
  const validation = withVerdict(tested, verdict)
  const { tickers, timeframe, seed } = strategies[0]!
  const days = unionCalendar(found.map(({ days }) => days))
  return {
    schema: 'bands.grid/3',
    axes: axes.map(({ key, values }) => ({ key, values: [...values] })),
    statistic,
    tickers: [...tickers],
    ...dataUsed(strategies),
    timeframe,
    first: dateOf(days[0]),
    last: dateOf(days.at(-1)),
    as_of: dateOf(await source.asOfDay()),
    bars_a_year: own.barsAYear,
    seed,
    cells,
    best:
      best === null || shown === null
        ? null
        : {
            cell: best,
            strategy: strategies[best]!,
            neighbours: neighboursOf(axes, values, best),
            deflated_sharpe_p05,
            holding: holdingOf(shown, own.barsAYear),
            equity: Array.from(shown.days, (day, i) => ({ date: formatDay(day), equity: shown.equity[i]! })),
          },
    smoothness: smoothnessOf(axes, values, groups),
    trials: deflated,
    verdict,
    pbo: overfitting.pbo,
    validation,
    assumptions: assumptionsOf(query),
    warnings: [
      ...bySeverity([
        ...warningsOf(query, cells, best),
        daysWarning(strategies, found),
        ...trainingWarnings(validation, query),
        ...(shown === null ? [] : warningsOfBest(shown, own.statistics)),
        dividendWarning(distinct[0] ?? []),
      ]),
      ...source.remarks(),
    ],
    reasons: overfitting.reasons,
  }
}

/** Whether the best beats the best of that many by chance. The trial log and 95 % of its draws must agree. */
export function verdictOnBest(
  top: GridCell | null,
  {
    trials,
    deflated_sharpe_p05: p05,
    pbo,
  }: Pick<Grid, 'trials' | 'pbo'> & Pick<NonNullable<Grid['best']>, 'deflated_sharpe_p05'>,
): StrategyVerdict {
  const word = (word: StrategyVerdict['word']): StrategyVerdict => ({ word, agreement: null })
  if (top === null) return word('not tested')
  const { statistics, trade_statistics, draws } = top
  if (trade_statistics.n < LEAST_UNITS) return word('too few')
  if (trials.deflated_sharpe === null) return word('not tested')
  const p = correctedByLog(1 - trials.deflated_sharpe, trials.log, trials.log_q)
  const total = statistics.total_return ?? 0
  const isDoubted = total <= 0 || (pbo?.probability ?? 0) >= LEVEL
  if (isDoubted || verdictOf(p, total) !== 'beats chance') return word('not told from chance')
  return word(draws !== null && 1 - (p05 ?? 0) >= LEVEL ? DEPENDS_ON_DRAW : 'beats chance')
}

type RunTasks = (tasks: Parameters<typeof runCells>[1]) => Promise<CellResult[]>

function cellsOf(axes: readonly Axis[], seen: readonly CellResult[]): GridCell[] {
  return combinations(axes).map((values, i) => {
    const { value, whole } = seen[i]!
    const { p, draws, statistics, trade_statistics } = whole!
    return { values, value, p, draws, statistics, trade_statistics }
  })
}

/** The choice of each fold's training part by the same statistic, and its result on the test part. */
async function validateChoices(
  { axes, strategies, run }: GridQuery,
  ready: readonly Ready[],
  { calendar }: GridData,
  traded: readonly FullCell[],
  runTasks: RunTasks,
): Promise<Validated | null> {
  const last = traded.reduce((most, { days }) => Math.max(most, days.at(-1) ?? most), -1)
  const folds = foldsOf(calendar.subarray(0, countUpTo(calendar, last)), run)
  if (folds === null) return null
  const choices = await choicesOf(folds, strategies.length, runTasks)
  // Written like the values of the grid, all of which are listed.
  const names = combinations(axes).map(values =>
    values.map((value, i) => `${axes[i]!.key.replaceAll('_', ' ')} ${value}`).join(', '),
  )
  return validate(ready[0]!, { ready, names, choices }, { calendar, last }, run)
}

/** What each training part chooses, by the scores of all cells. */
async function choicesOf(folds: readonly Fold[], cells: number, runTasks: RunTasks): Promise<Choice[]> {
  const tasks = folds.flatMap(({ train }) => Array.from({ length: cells }, (_, cell) => ({ cell, part: train })))
  const trained = await runTasks(tasks)
  return folds.map((_, i) => choiceOf(trained.slice(i * cells, (i + 1) * cells)))
}

/** What each training part of a backtest chooses among its candidates. */
export async function candidateChoices(
  candidates: readonly Ready[],
  folds: readonly Fold[],
  calendar: Int32Array,
  workers: Workers,
  step?: Step,
): Promise<Choice[]> {
  const lists = [...new Set(candidates.map(({ members }) => members))]
  const cells = candidates.map(({ strategy, members }) => ({ strategy, list: lists.indexOf(members) }))
  const data: GridData = { lists, cells, statistic: 't', reps: 0, calendar }
  return choicesOf(folds, cells.length, tasks => runCells(data, tasks, workers, step))
}

/** Returns on the days of all cells. Before its first day and after its last a cell has money and no return. */
function alignedReturns(found: readonly FullCell[]): Float64Array[] {
  const days = unionCalendar(found.map(({ days }) => days))
  return found.map(({ days: own, returns }) => {
    const column = new Float64Array(Math.max(0, days.length - 1))
    // A cell's days are consecutive days of the whole calendar.
    column.set(returns, countBelow(days, own[0] ?? 0))
    return column
  })
}

/** Cells that differ from one by one step along one axis. */
export function neighboursAt(axes: readonly Pick<Axis, 'values'>[], cell: number): number[] {
  const found: number[] = []
  let size = 1
  for (const { values } of axes.toReversed()) {
    const index = Math.floor(cell / size) % values.length
    if (index > 0) found.push(cell - size)
    if (index + 1 < values.length) found.push(cell + size)
    size *= values.length
  }
  return found.sort((a, b) => a - b)
}

function neighboursOf(axes: readonly Axis[], values: readonly (number | null)[], cell: number): Neighbours {
  const known = neighboursAt(axes, cell).flatMap(other => values[other] ?? [])
  return {
    n: known.length,
    mean: mean(known),
    least: known.length === 0 ? null : Math.min(...known),
    greatest: known.length === 0 ? null : Math.max(...known),
  }
}

/** For each cell, the first cell with the same returns: settings that change no trade are one strategy. */
function equalReturns(columns: readonly Float64Array[]): number[] {
  const first = new Map<string, number>()
  return columns.map((column, cell) => {
    const bytes = new Uint8Array(column.buffer, column.byteOffset, column.byteLength)
    const hash = createHash('sha256').update(bytes).digest('hex')
    if (!first.has(hash)) first.set(hash, cell)
    return first.get(hash)!
  })
}

/** Uses each distinct strategy once. */
function overfittingOf(columns: readonly Float64Array[], groups: readonly number[]): Pick<Grid, 'pbo' | 'reasons'> {
  const distinct = columns.filter((_, cell) => groups[cell] === cell)
  const found =
    distinct.length < 2 ? { reason: 'all combinations have the same returns' } : pbo(distinct, OVERFITTING_BLOCKS)
  if ('reason' in found) return { pbo: null, reasons: { pbo: found.reason } }
  return { pbo: found.overfitting, reasons: {} }
}

/**
 * Correlation of the cells with the means of their neighbours: near 1 on a smooth hill, near 0 for random results. Cells
 * with equal returns count once, and not as neighbours of each other, because they always correlate.
 * @param firstEqual of each cell the first cell with the same returns
 */
function smoothnessOf(
  axes: readonly Axis[],
  values: readonly (number | null)[],
  firstEqual: readonly number[],
): number | null {
  const pairs = values.flatMap((value, cell): [number, number][] => {
    if (value === null || firstEqual[cell] !== cell) return []
    const neighbours = new Set(neighboursAt(axes, cell).map(neighbour => firstEqual[neighbour]!))
    neighbours.delete(cell)
    const around = mean([...neighbours].flatMap(neighbour => values[neighbour] ?? []))
    return around === null ? [] : [[value, around]]
  })
  const own = Float64Array.from(pairs, ([value]) => value)
  const neighbourMeans = Float64Array.from(pairs, ([, around]) => around)
  return regression(own, neighbourMeans)?.r ?? null
}

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

function holdingOf(best: DrawnRun, barsAYear: number): EquityStatistics {
  const { riskFree } = curveOf(best, barsAYear)
  const prices = best.members.map(member => member.prices)
  return equityStatistics({ ...buyAndHold(prices, best.days, barsAYear), start: 1, riskFree })
}

const FEWER_DRAWS = `each combination has ${COMBINATION_DRAWS} random choices among equal signals, to save time; a single backtest has ${DRAWS}, so its results differ a little`

function warningsOf({ run, strategies }: GridQuery, cells: readonly GridCell[], best: number | null): Warning[] {
  const idle = cells.filter(({ trade_statistics: { n } }) => n === 0).length
  const trades = best === null ? 0 : cells[best]!.trade_statistics.n
  const few = `${counted(trades, 'closed trade')} of the best: fewer than ${run.min_trades} say little`
  return [
    ['few', best !== null && trades < run.min_trades && few],
    ['partial', idle > 0 && `${formatInteger(idle)} of ${counted(cells.length, 'combination')} have no closed trade`],
    ['partial', cells.some(({ draws }) => draws !== null) && FEWER_DRAWS],
    ['impossible', strategies.some(({ fill }) => fill === 'close') && SAME_CLOSE],
  ]
}

/** Bars of other tickers, or bands of another condition, may begin and end on other days. */
function daysWarning(strategies: readonly Strategy[], found: readonly FullCell[]): Warning {
  const known = found.filter(({ days }) => days.length > 0)
  const firsts = known.map(({ days }) => days[0]!)
  const lasts = known.map(({ days }) => days.at(-1)!)
  const from = Math.min(...firsts)
  const to = Math.max(...firsts)
  const end = Math.min(...lasts)
  const last = Math.max(...lasts)
  // Where dates end the signals, each run continues until its own trades are closed.
  const isCut = strategies.some(({ entry }) => entry.before !== null)
  const begins = from < to ? [`begin between ${formatDay(from)} and ${formatDay(to)}`] : []
  const ends = !isCut && last - end > WEEK_DAYS ? [`end between ${formatDay(end)} and ${formatDay(last)}`] : []
  const what = [...begins, ...ends].join(' and ')
  return ['partial', what && `the combinations ${what}: each is measured over its own days, not over the same ones`]
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
  const blind = parts.filter(({ chosen }) => chosen === null).length
  const which = parts.length === 1 ? 'the part to choose on' : `${blind} of ${parts.length} parts to choose on`
  const none = `on ${which} no combination has a ${statistic.replaceAll('_', ' ')}: the first is traded after it, and all tests leave that out`
  return [['few', blind > 0 && none], ...choiceWarnings(validation, run)]
}

/** The data of a grid. Cells that need the same data of their tickers share a list. */
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

/** A cell over all its days, or over one part of the common calendar. */
export interface CellTask {
  cell: number
  part: CalendarPart | null
}

/** A cell over all its days. */
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
  whole: FullCell | null
}

/** Runs cells one after the other; shared data are computed once. */
export function cellRunner({ lists, cells, statistic, reps, calendar }: GridData): (task: CellTask) => CellResult {
  const calendars = lists.map((): Int32Array | null => null)
  return ({ cell, part }) => {
    const { strategy, list } = cells[cell]!
    const ready = { strategy, members: lists[list]! }
    if (part === null) calendars[list] ??= portfolioCalendar(ready.members)
    const measureOf = ({ statistics, trade_statistics }: Figures, { trades }: Pick<Simulation, 'trades'>) =>
      statistic === 't' ? tradesT(trades) : { ...statistics, ...trade_statistics }[statistic]
    const values: (number | null)[] = []
    const simulation = simulate(ready, part === null ? calendars[list]! : calendar, part ?? undefined, {
      draws: COMBINATION_DRAWS,
      each: (run, draw) => {
        if (part !== null) values[draw] = measureOf(figuresOf(run), run)
      },
    })
    const figures = figuresOf(simulation)
    const value = measureOf(figures, simulation)
    if (part !== null) return { value, values, whole: null }
    const { days, sharpe } = strategyTrial(simulation)
    const returns = returnsOf(curveOf(simulation, figures.barsAYear))
    const { p } = randomEntry(strategy, simulation.trades, reps)
    return { value, values, whole: { ...figures, days, returns, draws: drawsOf(simulation.draws), sharpe, p } }
  }
}

/** Bars of tickers that take a cell about a millisecond. */
const BARS_A_MS = 20_000

/** The results of the tasks, in their order, here or in threads. */
export async function runCells(
  data: GridData,
  tasks: readonly CellTask[],
  workers: Workers,
  step: Step = () => {},
): Promise<CellResult[]> {
  const bars = data.lists[0]?.reduce((sum, { bars }) => sum + bars.days.length, 0) ?? 0
  const runCell = cellRunner(data)
  const ms = (tasks.length * bars) / BARS_A_MS
  const work = { job: 'grid' as const, data: () => data, tasks, ms, here: runCell }
  const found: CellResult[] = []
  for await (const one of inOrder(work, workers)) {
    found.push(one)
    step(() => `combination ${formatInteger(found.length)} of ${formatInteger(tasks.length)}`)
  }
  return found
}
