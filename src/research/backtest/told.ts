import { formatDay } from '../../model/day.js'
import { barsHeld, excursion } from './path.js'
import type { Simulation } from './portfolio.js'
import type { Backtest, Trade } from './result.js'
import type { Strategy } from './strategy.js'
import { type Taken, worthOf } from './trade.js'

/** Trades as they are told, in the order of their entries, those of one day by ticker. */
export function toldTrades(strategy: Strategy, trades: readonly Taken[]): Trade[] {
  const days = ({ member, entryBar }: Taken): number => member.bars.days[entryBar]!
  const byTicker = (a: Taken, b: Taken): number =>
    a.member.ticker < b.member.ticker ? -1 : Number(a.member.ticker > b.member.ticker)
  return trades
    .toSorted((a, b) => days(a) - days(b) || byTicker(a, b) || a.signal - b.signal)
    .map(taken => toldTrade(strategy, taken))
}

export function toldSkipped({ skipped }: Simulation): Backtest['skipped'] {
  return skipped
    .map(({ member, signal, reason }) => ({
      ticker: member.ticker,
      date: formatDay(member.bars.days[signal]!),
      reason,
    }))
    .sort((a, b) => (a.date !== b.date ? (a.date < b.date ? -1 : 1) : a.ticker < b.ticker ? -1 : 1))
}

/** What became of each signal; all of them together are the total. */
export function countsOf(simulation: Simulation): Backtest['signals'] {
  const { trades, skipped, extended, pending, purged } = simulation
  const open = trades.filter(({ left }) => left.why === 'open').length
  const reasons: Record<string, number> = {}
  for (const { reason } of skipped) reasons[reason] = (reasons[reason] ?? 0) + 1
  return {
    total: trades.length + skipped.length + extended + pending + purged,
    closed: trades.length - open,
    open,
    pending,
    skipped: Object.fromEntries(Object.entries(reasons).sort(([a], [b]) => (a < b ? -1 : 1))),
    extended,
  }
}

function toldTrade(strategy: Strategy, taken: Taken): Trade {
  const { member, index, signal, left, invested, net } = taken
  const { bars, states, signals } = member
  return {
    ticker: member.ticker,
    side: strategy.side,
    signal_date: formatDay(bars.days[signal]!),
    band: states.bands[signals.entered[index]!]!,
    prev_band: states.bands[signals.left[index]!]!,
    context_band: signals.contextBands?.[index] ?? null,
    entry_date: formatDay(bars.days[taken.entryBar]!),
    entry_price: taken.entryPrice,
    exit_date: formatDay(left.day),
    exit_price: left.price,
    exit: left.why,
    bars: barsHeld(strategy.fill, signal, left, bars.days.length),
    shares: taken.shares,
    invested,
    gross: taken.gross,
    net,
    pnl: left.why === 'open' ? worthOf(strategy, taken, left.price, left.day) - invested : invested * net,
    ...excursion(bars, strategy, signal, left),
  }
}
