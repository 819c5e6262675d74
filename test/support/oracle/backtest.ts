import { formatDay } from '../../../src/core/model/day.js'
import type { Distance } from '../../../src/core/params/figures.js'
import type { Strategy } from '../../../src/core/params/strategy.js'

/**
 * A second backtest, written from spec/backtest.md (sections 3 and 4) alone: it walks through the calendar day by day and
 * knows no trade before it happens, where the engine follows each trade to its end. Slow, plain, and for tests only.
 */
export interface OracleTicker {
  ticker: string
  days: readonly number[]
  open: readonly number[]
  high: readonly number[]
  low: readonly number[]
  close: readonly number[]
  /** Wilder ATR(14), NaN where there is none. */
  atr: readonly number[]
  /** Bars of the signals, ascending. */
  signals: readonly number[]
  /** Bars of every event of the entry's field, and of the events that `on` and `when` wait for. */
  events: readonly number[]
  on: readonly number[]
  when?: readonly number[]
  /** By bar: what a signal on it is ranked by, the greatest first; null where that is not known. */
  rank?: readonly (number | null)[]
}

export interface OracleTrade {
  ticker: string
  signal: number
  entryBar: number
  entryDay: number
  entryPrice: number
  exitBar: number
  exitDay: number
  exitPrice: number
  exit: string
  shares: number
  invested: number
  gross: number
  net: number
  mfe: number
  mae: number
}

export interface OracleRun {
  /** Closed ones, then those still open, each in the order in which they were entered. */
  trades: OracleTrade[]
  skipped: { ticker: string; signal: number; reason: string }[]
  extended: number
  pending: number
  equity: { day: number; equity: number; positions: number }[]
}

interface Position extends OracleTrade {
  of: OracleTicker
  /** The newest signal that its clock counts from. */
  clock: number
  best: number
  worst: number
  open: boolean
}

/** @param barsAYear of the traded calendar, for volatility size */
export function oracleBacktest(
  tickers: readonly OracleTicker[],
  strategy: Strategy,
  { start, barsAYear }: { start: number; barsAYear: number },
): OracleRun {
  return new Simulation(tickers, strategy, barsAYear).run(start)
}

class Simulation {
  readonly tickers: readonly OracleTicker[]
  readonly strategy: Strategy
  readonly barsAYear: number
  readonly taken: Position[] = []
  readonly skipped: OracleRun['skipped'] = []
  readonly equity: OracleRun['equity'] = []
  readonly extendedSignals = new Set<string>()
  cash: number
  before: number

  constructor(tickers: readonly OracleTicker[], strategy: Strategy, barsAYear: number) {
    this.tickers = [...tickers].sort((a, b) => (a.ticker < b.ticker ? -1 : 1))
    this.strategy = strategy
    this.barsAYear = barsAYear
    this.cash = strategy.portfolio.capital
    this.before = strategy.portfolio.capital
  }

  run(start: number): OracleRun {
    const calendar = [...new Set(this.tickers.flatMap(({ days }) => days))]
      .filter(day => day >= start)
      .sort((a, b) => a - b)
    for (const [i, day] of calendar.entries()) {
      if (i > 0 && this.isOver(day)) break
      this.day(day, i === 0 ? day : calendar[i - 1]!)
    }
    const pending = this.tickers.reduce((sum, of) => sum + this.pending(of), 0)
    const trades = [...this.taken.filter(p => !p.open), ...this.taken.filter(p => p.open).map(p => this.marked(p))]
    return { trades, skipped: this.skipped, extended: this.extendedSignals.size, pending, equity: this.equity }
  }

  /** The range asked for has ended, its last trade is closed, and no signal of it waits for a later day to be filled on. */
  isOver(day: number): boolean {
    const { before } = this.strategy.entry
    if (before === null || formatDay(day) < before) return false
    const waits = ({ days, signals }: OracleTicker): boolean =>
      signals.some(signal => (days[this.entryBar(signal)] ?? -1) >= day)
    return !this.taken.some(p => p.open) && !this.tickers.some(waits)
  }

  day(day: number, previous: number): void {
    if (this.cash > 0) this.cash *= 1 + (this.strategy.portfolio.cash_rate * (day - previous)) / 365
    const here = this.tickers.map(of => ({ of, bar: of.days.indexOf(day) })).filter(({ bar }) => bar >= 0)
    const barOf = new Map(here.map(({ of, bar }) => [of, bar]))
    const held = (): Position[] => this.taken.filter(p => p.open && barOf.has(p.of))
    for (const p of held()) this.atOpen(p, barOf.get(p.of)!)
    if (this.isOpenFill()) for (const { of, bar } of this.bestFirst(here)) this.enter(of, bar, day)
    for (const p of held()) this.within(p, barOf.get(p.of)!)
    for (const p of held()) this.atClose(p, barOf.get(p.of)!)
    const signals = here.filter(({ of, bar }) => of.signals.includes(bar))
    // A signal is known at its close, when what is bought at the next close is bought; one that buys now comes after.
    if (this.strategy.fill === 'close') for (const { of, bar } of signals) this.extend(of, bar)
    if (!this.isOpenFill()) for (const { of, bar } of this.bestFirst(here)) this.enter(of, bar, day)
    // Bought at the last close of a ticker whose bars end: left at that price.
    for (const p of held())
      if (this.hasEnded(p.of, barOf.get(p.of)!)) this.leave(p, p.entryBar, p.entryPrice, 'data_end', 'open')
    if (this.strategy.fill !== 'close') for (const { of, bar } of signals) this.extend(of, bar)
    for (const p of held()) if (p.entryBar < barOf.get(p.of)! || this.isOpenFill()) this.live(p, barOf.get(p.of)!)
    const open = this.taken.filter(p => p.open)
    const equity = this.cash + open.reduce((sum, p) => sum + this.value(p, day), 0)
    this.equity.push({ day, equity, positions: open.length })
    this.before = equity
  }

  /** Signals without a bar to be filled on; one that came while its ticker was in a trade would not have been. */
  pending(of: OracleTicker): number {
    const late = of.signals.filter(t => this.entryBar(t) >= of.days.length)
    const waiting = late.filter(t => !this.extendedSignals.has(`${of.ticker} ${t}`))
    const taken = waiting.filter(t => this.strategy.overlap !== 'allow' && this.isInTrade(of, t))
    for (const signal of taken) this.skipped.push({ ticker: of.ticker, signal, reason: 'in_trade' })
    return waiting.length - taken.length
  }

  entryBar(signal: number): number {
    return this.strategy.fill === 'close' ? signal : signal + 1
  }

  isOpenFill(): boolean {
    return this.strategy.fill === 'next-open'
  }

  // (1) a gap beyond the stop or the target, then (2) a band exit that is due at this open.
  atOpen(p: Position, bar: number): void {
    if (bar <= p.entryBar) return
    const open = p.of.open[bar]!
    const stop = this.stopOf(p, bar)
    const target = this.targetOf(p)
    if (stop !== null && this.adverse(open, stop.level)) {
      this.leave(p, bar, open, stop.why, 'open')
      return
    }
    if (target !== null && this.favourable(open, target)) {
      this.leave(p, bar, open, 'target', 'open')
      return
    }
    const why = this.isOpenFill() ? this.bandExit(p, bar - 1) : null
    if (why !== null) this.leave(p, bar, open, why, 'open')
  }

  // (3) the stop, also when the target was touched too, then (4) the target.
  within(p: Position, bar: number): void {
    if (bar < p.entryBar || (bar === p.entryBar && !this.isOpenFill())) return
    const long = this.strategy.side === 'long'
    const [worst, best] = long ? [p.of.low[bar]!, p.of.high[bar]!] : [p.of.high[bar]!, p.of.low[bar]!]
    const stop = this.stopOf(p, bar)
    const target = this.targetOf(p)
    if (stop !== null && this.adverse(worst, stop.level)) {
      this.leave(p, bar, stop.level, stop.why, 'within')
      return
    }
    if (target !== null && this.favourable(best, target)) this.leave(p, bar, target, 'target', 'within')
  }

  // (5) the horizon, then a band exit at the close.
  atClose(p: Position, bar: number): void {
    if (bar <= p.entryBar && !(this.isOpenFill() && bar === p.entryBar)) return
    const { hold } = this.strategy.exit
    if (hold !== null && bar >= p.clock + hold) {
      this.leave(p, bar, p.of.close[bar]!, 'hold', 'close')
      return
    }
    const why = this.isOpenFill() ? null : this.bandExit(p, this.strategy.fill === 'close' ? bar : bar - 1)
    if (why !== null) this.leave(p, bar, p.of.close[bar]!, why, 'close')
    else if (this.hasEnded(p.of, bar)) this.leave(p, bar, p.of.close[bar]!, 'data_end', 'close')
  }

  /** The last bar of a ticker whose bars end more than 7 days before the calendar does; here no ticker has a delisting. */
  hasEnded(of: OracleTicker, bar: number): boolean {
    const end = Math.max(...this.tickers.map(({ days }) => days.at(-1)!))
    return bar === of.days.length - 1 && end - of.days[bar]! > 7
  }

  /** The first later event at or before bar u decides; here every day is looked at, so it is at u. */
  bandExit(p: Position, u: number): string | null {
    if (u <= p.signal) return null
    if (this.strategy.exit.leave && p.of.events.includes(u)) return 'leave'
    if (this.strategy.exit.on !== null && p.of.on.includes(u)) return 'on'
    return p.of.when?.includes(u) ? 'when' : null
  }

  stopOf(p: Position, bar: number): { level: number; why: string } | null {
    const { stop, trailing } = this.strategy.exit
    const long = this.strategy.side === 'long'
    const levels: { level: number; why: string }[] = []
    if (stop !== null) levels.push({ level: this.away(p, p.entryPrice, stop, long ? -1 : 1), why: 'stop' })
    if (trailing !== null) {
      let extreme = p.entryPrice
      const first = this.isOpenFill() ? p.entryBar : p.entryBar + 1
      for (let b = first; b < bar; b++)
        extreme = long ? Math.max(extreme, p.of.high[b]!) : Math.min(extreme, p.of.low[b]!)
      levels.push({ level: this.away(p, extreme, trailing, long ? -1 : 1), why: 'trailing' })
    }
    const [first, second] = levels
    if (first === undefined || second === undefined) return first ?? null
    // The nearer to the price is touched first; of equal ones the plain stop.
    return (long ? second.level > first.level : second.level < first.level) ? second : first
  }

  targetOf(p: Position): number | null {
    const { target } = this.strategy.exit
    return target === null ? null : this.away(p, p.entryPrice, target, this.strategy.side === 'long' ? 1 : -1)
  }

  away(p: Position, from: number, distance: Distance, sign: 1 | -1): number {
    if (typeof distance === 'number') return from * (1 + sign * distance)
    return from + sign * distance.atr * p.of.atr[p.signal]!
  }

  adverse(price: number, level: number): boolean {
    return this.strategy.side === 'long' ? price <= level : price >= level
  }

  favourable(price: number, level: number): boolean {
    return this.strategy.side === 'long' ? price >= level : price <= level
  }

  /**
   * Of what a day may buy the best by its rank on the bar of its signal, again and again; where nothing is greater than
   * another, and where nothing is known, the first by name.
   */
  bestFirst(here: readonly { of: OracleTicker; bar: number }[]): { of: OracleTicker; bar: number }[] {
    const left = [...here]
    const ordered: { of: OracleTicker; bar: number }[] = []
    while (left.length > 0) {
      let best = 0
      for (let i = 1; i < left.length; i++) {
        const mine = this.rankAt(left[i]!)
        const yours = this.rankAt(left[best]!)
        if (mine !== null && (yours === null || mine > yours)) best = i
      }
      ordered.push(...left.splice(best, 1))
    }
    return ordered
  }

  rankAt({ of, bar }: { of: OracleTicker; bar: number }): number | null {
    return of.rank?.[this.strategy.fill === 'close' ? bar : bar - 1] ?? null
  }

  enter(of: OracleTicker, bar: number, day: number): void {
    const signal = this.strategy.fill === 'close' ? bar : bar - 1
    if (!of.signals.includes(signal) || this.extendedSignals.has(`${of.ticker} ${signal}`)) return
    const { portfolio, overlap, costs, side } = this.strategy
    const skip = (reason: string): void => void this.skipped.push({ ticker: of.ticker, signal, reason })
    if (overlap !== 'allow' && this.isInTrade(of, signal)) {
      skip('in_trade')
      return
    }
    if (this.taken.filter(p => p.open).length >= portfolio.max_positions) {
      skip('no_place')
      return
    }
    const price = this.isOpenFill() ? of.open[bar]! : of.close[bar]!
    const fraction = this.fraction(of, signal)
    if (fraction === null || this.lacksAtr(of, signal)) {
      skip('no_size')
      return
    }
    const budget = Math.min(fraction * this.before, this.cash)
    // Less is what rounding leaves of cash that was spent.
    if (!(budget > 1e-9 * this.before)) {
      skip('no_cash')
      return
    }
    const c = (costs.bps + costs.slippage_bps) / 10_000
    let shares = side === 'long' ? (budget - costs.fixed) / (price * (1 + c) + costs.per_share) : budget / price
    if (portfolio.whole_shares) shares = Math.floor(shares)
    if (!(shares > 0)) {
      skip('no_size')
      return
    }
    const invested = side === 'long' ? shares * (price * (1 + c) + costs.per_share) + costs.fixed : shares * price
    this.cash -= invested
    this.taken.push({
      of,
      ticker: of.ticker,
      signal,
      clock: signal,
      entryBar: bar,
      entryDay: day,
      entryPrice: price,
      exitBar: -1,
      exitDay: -1,
      exitPrice: Number.NaN,
      exit: 'open',
      shares,
      invested,
      gross: Number.NaN,
      net: Number.NaN,
      mfe: 0,
      mae: 0,
      best: price,
      worst: price,
      open: true,
    })
  }

  isInTrade(of: OracleTicker, signal: number): boolean {
    return this.taken.some(p => p.of === of && p.signal < signal && (p.open || p.exitBar > signal))
  }

  extend(of: OracleTicker, signal: number): void {
    if (this.strategy.overlap !== 'extend') return
    const on = this.taken.filter(p => p.of === of && p.open && p.signal < signal)
    if (on.length === 0) return
    for (const p of on) p.clock = signal
    this.extendedSignals.add(`${of.ticker} ${signal}`)
  }

  fraction(of: OracleTicker, signal: number): number | null {
    const { size, max_positions } = this.strategy.portfolio
    if (size.method === 'equal') return 1 / max_positions
    if (size.method === 'fixed-fraction') return size.fraction
    const natr = of.atr[signal]! / of.close[signal]!
    if (!(natr > 0)) return null
    return Math.min(size.cap, size.target / (natr * Math.sqrt(this.barsAYear)))
  }

  lacksAtr(of: OracleTicker, signal: number): boolean {
    const { stop, target, trailing } = this.strategy.exit
    return [stop, target, trailing].some(d => typeof d === 'object' && d !== null) && Number.isNaN(of.atr[signal]!)
  }

  /** A bar that was lived through to its close. */
  live(p: Position, bar: number): void {
    const long = this.strategy.side === 'long'
    p.best = long ? Math.max(p.best, p.of.high[bar]!) : Math.min(p.best, p.of.low[bar]!)
    p.worst = long ? Math.min(p.worst, p.of.low[bar]!) : Math.max(p.worst, p.of.high[bar]!)
  }

  leave(p: Position, bar: number, price: number, why: string, when: 'open' | 'within' | 'close'): void {
    const long = this.strategy.side === 'long'
    const better = (a: number, b: number): number => (long ? Math.max(a, b) : Math.min(a, b))
    const worse = (a: number, b: number): number => (long ? Math.min(a, b) : Math.max(a, b))
    if (when === 'open') {
      p.best = better(p.best, price)
      p.worst = worse(p.worst, price)
    } else if (when === 'close') this.live(p, bar)
    else {
      const [bad, good] = long ? [p.of.low[bar]!, p.of.high[bar]!] : [p.of.high[bar]!, p.of.low[bar]!]
      const target = this.targetOf(p)
      const isTarget = why === 'target'
      // What left by the stop may have gained before, at most up to the target; what left by the target fell no lower.
      p.best = better(p.best, isTarget ? price : target === null ? good : worse(good, target))
      p.worst = worse(p.worst, isTarget ? bad : price)
    }
    Object.assign(p, { exitBar: bar, exitDay: p.of.days[bar]!, exitPrice: price, exit: why, open: false })
    this.figures(p)
    this.cash += p.invested * (1 + p.net)
  }

  marked(p: Position): Position {
    const last = p.of.days.length - 1
    Object.assign(p, { exitBar: last, exitDay: p.of.days[last]!, exitPrice: p.of.close[last]! })
    this.figures(p)
    return p
  }

  figures(p: Position): void {
    const { costs, side } = this.strategy
    const c = (costs.bps + costs.slippage_bps) / 10_000
    const fixed = costs.fixed / p.shares
    const entry = p.entryPrice
    const exit = p.exitPrice
    if (side === 'long') {
      p.gross = exit / entry - 1
      p.net = (exit * (1 - c) - costs.per_share - fixed) / (entry * (1 + c) + costs.per_share + fixed) - 1
      p.mfe = Math.max(0, p.best / entry - 1)
      p.mae = Math.min(0, p.worst / entry - 1)
      return
    }
    p.gross = 1 - exit / entry
    const borrow = (costs.borrow * (p.exitDay - p.entryDay)) / 365
    p.net = (entry * (1 - c) - exit * (1 + c) - 2 * (costs.per_share + fixed)) / entry - borrow
    p.mfe = Math.max(0, 1 - p.best / entry)
    p.mae = Math.min(0, 1 - p.worst / entry)
  }

  value(p: Position, day: number): number {
    const { costs, side } = this.strategy
    const c = (costs.bps + costs.slippage_bps) / 10_000
    const bar = p.of.days.filter(d => d <= day).length - 1
    const close = p.of.close[bar]!
    if (side === 'long') return p.shares * close
    const borrow = (p.invested * costs.borrow * (day - p.entryDay)) / 365
    return p.invested + p.shares * (p.entryPrice * (1 - c) - costs.per_share - close) - costs.fixed - borrow
  }
}
