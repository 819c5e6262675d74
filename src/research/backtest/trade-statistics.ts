import { deviation, mean, median, sum } from '../../statistics/moments.js'
import { wilson } from '../../statistics/wilson.js'
import { breakEvenCost, type Fills } from './costs.js'
import { barsHeld, excursion } from './path.js'
import type { TradeStatistics } from './result.js'
import type { Costs, Strategy } from './strategy.js'
import type { Taken } from './trade.js'

/** A closed trade as its statistics see it. */
export interface Closed extends Fills {
  gross: number
  net: number
  bars: number
  mfe: number
  mae: number
}

/** Those that ended before the bars did, in the order in which they ended, those of one day by ticker. */
export function closedOf(strategy: Strategy, trades: readonly Taken[]): Closed[] {
  const order = (a: Taken, b: Taken): number =>
    a.left.day - b.left.day || (a.member.ticker < b.member.ticker ? -1 : Number(a.member.ticker > b.member.ticker))
  return trades
    .filter(({ left }) => left.why !== 'open')
    .toSorted((a, b) => order(a, b) || a.signal - b.signal)
    .map(({ member: { bars }, ...trade }) => ({
      side: strategy.side,
      entry: trade.entryPrice,
      exit: trade.left.price,
      shares: trade.shares,
      days: trade.left.day - bars.days[trade.entryBar]!,
      gross: trade.gross,
      net: trade.net,
      bars: barsHeld(strategy.fill, trade.signal, trade.left, bars.days.length),
      ...excursion(bars, strategy, trade.signal, trade.left),
    }))
}

/** Statistics of closed trades, of returns net of costs unless their name says otherwise; each null has its reason. */
export function tradeStatistics(costs: Costs, trades: readonly Closed[]): TradeStatistics {
  const net = trades.map(trade => trade.net)
  const n = net.length
  const gains = net.filter(value => value > 0)
  const losses = net.filter(value => value < 0)
  const hit = wilson(gains.length, n)
  const [average, spread] = [mean(net), deviation(net)]
  const statistics = {
    n,
    wins: gains.length,
    hit_rate: n === 0 ? null : gains.length / n,
    hit_low: hit?.low ?? null,
    hit_high: hit?.high ?? null,
    mean: average,
    mean_gross: mean(trades.map(trade => trade.gross)),
    median: median(net),
    best: n === 0 ? null : net.reduce((most, value) => Math.max(most, value)),
    worst: n === 0 ? null : net.reduce((least, value) => Math.min(least, value)),
    deviation: spread,
    profit_factor: losses.length === 0 ? null : sum(gains) / -sum(losses),
    // Share of gains times their mean, less the share of losses times theirs.
    expectancy: n === 0 ? null : (sum(gains) + sum(losses)) / n,
    // Tharp, "Super trader" (2009), with returns for multiples of the risk.
    sqn: average === null || !spread ? null : (Math.sqrt(n) * average) / spread,
    longest_losing_run: n === 0 ? null : longestRun(net),
    average_bars: mean(trades.map(trade => trade.bars)),
    mean_mfe: mean(trades.map(trade => trade.mfe)),
    mean_mae: mean(trades.map(trade => trade.mae)),
    break_even_cost: n === 0 ? null : breakEvenCost(costs, trades),
  }
  return { ...statistics, reasons: reasonsOf(statistics) }
}

function reasonsOf(statistics: Omit<TradeStatistics, 'reasons'>): Record<string, string> {
  const reasons: Record<string, string> = {}
  for (const [name, value] of Object.entries(statistics)) {
    if (value !== null) continue
    const few = statistics.n === 0 ? 'there is no closed trade' : name === 'sqn' && statistics.n === 1 ? ONE : null
    reasons[name] = few ?? REASONS[name] ?? 'it is not defined'
  }
  return reasons
}

const ONE = 'there is one trade only'

const REASONS: Readonly<Record<string, string>> = {
  deviation: ONE,
  sqn: 'the returns do not vary',
  profit_factor: 'no trade lost',
  break_even_cost: 'the mean net return is not above 0 even at no cost',
}

function longestRun(net: readonly number[]): number {
  let [longest, run] = [0, 0]
  for (const value of net) {
    run = value < 0 ? run + 1 : 0
    if (run > longest) longest = run
  }
  return longest
}
