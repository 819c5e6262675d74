import { whole } from '../errors.js'
import type { GridStatistic } from '../params/grid.js'
import type { Strategy } from '../params/strategy.js'
import { sharpe } from '../statistics/sharpe.js'
import { inOrder, shared } from '../threads.js'
import { curveOf } from './equity.js'
import { type Part, portfolioCalendar, type Simulation, simulate } from './portfolio.js'
import type { EquityStatistics, TradeStatistics } from './result.js'
import { barsAYearOf, closedOf, equityStatistics, returnsOf, tradeStatistics } from './statistics.js'
import { lived, type Member } from './trade.js'

/** What the cells of a grid are made of. Cells that need the same of their tickers have one list of these. */
export interface GridData {
  lists: readonly (readonly Member[])[]
  cells: readonly { strategy: Strategy; list: number }[]
  statistic: GridStatistic
  /** The days of all cells, of which the parts are. */
  calendar: Int32Array
}

/** A cell over all its days, or over a part of those of all cells. */
export interface CellTask {
  cell: number
  part: Part | null
}

/** A cell over all its days. */
export interface WholeCell {
  statistics: EquityStatistics
  trade_statistics: TradeStatistics
  barsAYear: number
  days: Int32Array
  returns: Float64Array
  /** A bar, at a risk-free rate of 0; null where the strategy was ruined. */
  sharpe: number | null
}

export interface CellResult {
  /** Of the statistic that cells are compared by. */
  value: number | null
  /** null of a part, of which nothing else is told. */
  whole: WholeCell | null
}

/** Looks at cells, one after the other; what cells have in common is made once. */
export function cellLooker({ lists, cells, statistic, calendar }: GridData): (task: CellTask) => CellResult {
  const calendars = lists.map((): Int32Array | null => null)
  return ({ cell, part }) => {
    const { strategy, list } = cells[cell]!
    const members = lists[list]!
    if (part !== null) {
      const { statistics, trade_statistics } = toldOf(members, strategy, simulate(members, strategy, calendar, part))
      return { value: valueIn(statistic, statistics, trade_statistics), whole: null }
    }
    calendars[list] ??= portfolioCalendar(members)
    const own = calendars[list]
    const simulation = simulate(members, strategy, own)
    const told = toldOf(members, strategy, simulation)
    const returns = returnsOf({ equity: simulation.equity, start: strategy.portfolio.capital })
    const isSound = simulation.equity.every(value => value > 0)
    return {
      value: valueIn(statistic, told.statistics, told.trade_statistics),
      whole: { ...told, days: simulation.days, returns, sharpe: isSound ? sharpe(returns, 1) : null },
    }
  }
}

function toldOf(members: readonly Member[], strategy: Strategy, simulation: Simulation) {
  const barsAYear = barsAYearOf(members, simulation.days)
  const closed = closedOf(simulation.trades.map(trade => lived(strategy.fill, trade)))
  return {
    barsAYear,
    statistics: equityStatistics(curveOf(simulation, strategy, barsAYear)),
    trade_statistics: tradeStatistics(strategy.costs, closed),
  }
}

function valueIn(by: GridStatistic, equity: EquityStatistics, trades: TradeStatistics): number | null {
  return by in trades
    ? trades[by as keyof typeof trades & GridStatistic]
    : equity[by as keyof typeof equity & GridStatistic]
}

/** So many bars of tickers take a cell about a millisecond. */
const BARS_A_MS = 20_000

/** What each task gives, in their order, here or in threads. */
export async function lookedAt(
  data: GridData,
  tasks: readonly CellTask[],
  threads: number | undefined,
  step: (text: () => string) => void = () => {},
): Promise<CellResult[]> {
  const bars = data.lists[0]?.reduce((sum, { bars }) => sum + bars.days.length, 0) ?? 0
  const look = cellLooker(data)
  const ms = (tasks.length * bars) / BARS_A_MS
  const work = { job: 'grid' as const, data: () => shared(data), tasks, ms, here: look }
  const found: CellResult[] = []
  for await (const one of inOrder(work, threads)) {
    found.push(one)
    step(() => `combination ${whole(found.length)} of ${whole(tasks.length)}`)
  }
  return found
}
