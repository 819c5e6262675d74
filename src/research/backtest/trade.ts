import type { Distance } from '../../core/params/figures.js'
import type { Costs, Fill, Side, Strategy } from '../../core/params/strategy.js'
import { type ExitEvent, firstExitEvent, type Member, type PathBars } from './members.js'

type ExitKind = 'hold' | ExitEvent['why'] | 'stop' | 'target' | 'trailing' | 'delisted' | 'data_end' | 'open'

/** The rules of a strategy that decide the end of one trade. */
type PathRules = Pick<Strategy, 'side' | 'fill' | 'exit'>

interface TradeEnd {
  why: ExitKind
  /** Bar of the exit; the number of bars for a delisting after the last bar; the last bar for an open trade. */
  bar: number
  day: number
  price: number
  /** Closed at the open, so that the rest of the bar does not count. */
  atOpen: boolean
  /** The preset prices of a trade that was closed within the bar: prices beyond them do not count. Otherwise NaN. */
  stop: number
  target: number
}

/** Bar of the entry after a signal; it may be in the future. */
export function entryBar(fill: Fill, signal: number): number {
  return fill === 'close' ? signal : signal + 1
}

/** The price at which a signal is filled, before costs. @param signal its bar */
export function entryPrice(bars: PathBars, fill: Fill, signal: number): number {
  return fill === 'next-open' ? bars.open[signal + 1]! : bars.close[entryBar(fill, signal)]!
}

/**
 * Follows one trade from its entry to the first exit. Order of each bar: (1) at the open, unless the trade was opened
 * there: stop, then target, filled at the open; (2) the exit event, if it fills at this open; (3) the stop, also where
 * the bar reached the target; (4) the target; (5) at the close the hold, then the exit event. Shorts are mirrored.
 * A trailing stop has a distance from the best earlier price, the entry price included. The nearer one of it and the
 * stop counts.
 *
 * @param signal bar of the signal
 * @param event the first event after the signal that ends the trade, by the exit's rule `leave`, `on` or `when`
 * @param holdFrom bar from which the hold counts: that of the signal, or of a later one that postponed the exit
 */
export function followTrade(
  bars: PathBars,
  rules: PathRules,
  signal: number,
  event: ExitEvent,
  holdFrom = signal,
): TradeEnd {
  const { exit, fill } = rules
  const count = bars.days.length
  const holdBar = exit.hold === null ? Number.POSITIVE_INFINITY : holdFrom + exit.hold
  const exitAtOpen = fill === 'next-open'
  // The bar on which the exit by the event is filled.
  let eventBar = Number.POSITIVE_INFINITY
  if (event.bar >= 0) eventBar = fill === 'close' ? event.bar : event.bar + 1
  if (exit.stop !== null || exit.target !== null || exit.trailing !== null) {
    const lastBar = Math.min(holdBar, eventBar, count - 1)
    const hit = firstHit(bars, rules, signal, lastBar, exitAtOpen ? eventBar : null)
    if (hit !== null) return hit
  }
  if (exitAtOpen && eventBar <= holdBar && eventBar < count)
    return endAt(event.why, bars, eventBar, bars.open[eventBar]!, { atOpen: true })
  if (holdBar <= eventBar && holdBar < count) return endAt('hold', bars, holdBar, bars.close[holdBar]!)
  if (eventBar < count) return endAt(event.why, bars, eventBar, bars.close[eventBar]!)
  return endOfBars(bars)
}

/** The end of a trade that no rule closes: by a delisting, by the end of the data, or still open. */
function endOfBars(bars: PathBars): TradeEnd {
  const { delisting, days, close } = bars
  const last = days.length - 1
  if (delisting === null) return endAt(bars.hasEnded ? 'data_end' : 'open', bars, last, close[last]!)
  const bar = delisting.day === days[last] ? last : days.length
  return { ...endAt('delisted', bars, last, delisting.price), bar, day: delisting.day }
}

/** The result of a trade: its bars, and its greatest gain and loss on the way, as fractions of the entry price. */
export interface TradeResult {
  taken: TakenTrade
  bars: number
  /** At least 0, at most 0. */
  mfe: number
  mae: number
}

/**
 * Maximum favourable and adverse excursion (Sweeney, "Maximum adverse excursion", 1997). It covers the bars from the
 * entry (the next bar after a fill at a close) to the exit. Only the open counts on a bar that was left at its open; a
 * hit stop or target limits its bar.
 */
export function tradeResult(fill: Fill, taken: TakenTrade): TradeResult {
  const { side, entry, end, member } = taken
  const { bars } = member
  const first = taken.entryBar + (fill === 'next-open' ? 0 : 1)
  const last = Math.min(end.bar, bars.days.length - 1)
  let high = Math.max(entry, end.price)
  let low = Math.min(entry, end.price)
  const lastFullBar = end.atOpen || isWithinBar(end) ? last - 1 : last
  for (let bar = first; bar <= lastFullBar; bar++) {
    if (bars.high[bar]! > high) high = bars.high[bar]!
    if (bars.low[bar]! < low) low = bars.low[bar]!
  }
  if (isWithinBar(end)) {
    // On the bar of a stop or a target, prices beyond the two do not count.
    const [lowest, highest] = side === 'long' ? [end.stop, end.target] : [end.target, end.stop]
    high = Math.max(high, Math.min(bars.high[last]!, highest))
    low = Math.min(low, Math.max(bars.low[last]!, lowest))
  }
  const [best, worst] = side === 'long' ? [high / entry - 1, low / entry - 1] : [1 - low / entry, 1 - high / entry]
  // A bar left at its open does not count.
  return { taken, bars: last - first + (end.atOpen ? 0 : 1), mfe: Math.max(0, best), mae: Math.min(0, worst) }
}

/** Whether a trade ended at a preset price within a bar, not at its open or close. */
function isWithinBar({ why, atOpen }: TradeEnd): boolean {
  return !atOpen && (why === 'stop' || why === 'target' || why === 'trailing')
}

/**
 * The end of a trade at the first stop or target that a bar hits; null without one.
 * @param signal bar of the signal
 * @param last the search ends with this bar
 * @param openExitBar another rule closes the trade at the open of this bar, after a stop or target at that open
 */
function firstHit(
  bars: PathBars,
  rules: PathRules,
  signal: number,
  last: number,
  openExitBar: number | null,
): TradeEnd | null {
  const { exit, fill, side } = rules
  // Multiplied by the sign, a greater price is the better one, also for a short.
  const sign = side === 'long' ? 1 : -1
  const favourablePrices = side === 'long' ? bars.high : bars.low
  const adversePrices = side === 'long' ? bars.low : bars.high
  const entry = entryPrice(bars, fill, signal)
  const from = entryBar(fill, signal)
  const atr = bars.atr === null ? Number.NaN : bars.atr[signal]!
  // Without a stop or a target: prices that no bar reaches.
  const stop = exit.stop === null ? -sign * Number.POSITIVE_INFINITY : priceAtDistance(entry, -sign, exit.stop, atr)
  const target = exit.target === null ? sign * Number.POSITIVE_INFINITY : priceAtDistance(entry, sign, exit.target, atr)
  let best = entry
  for (let bar = fill === 'next-open' ? from : from + 1; bar <= last; bar++) {
    const trail = exit.trailing === null ? stop : priceAtDistance(best, -sign, exit.trailing, atr)
    const isTrailing = exit.trailing !== null && sign * trail > sign * stop
    const level = isTrailing ? trail : stop
    const why = isTrailing ? 'trailing' : 'stop'
    if (bar > from) {
      const open = bars.open[bar]!
      if (sign * open <= sign * level) return endAt(why, bars, bar, open, { atOpen: true })
      if (sign * open >= sign * target) return endAt('target', bars, bar, open, { atOpen: true })
    }
    if (bar === openExitBar) return null
    // Highs and lows of this bar beyond the preset prices do not count: see tradeResult.
    if (sign * adversePrices[bar]! <= sign * level) return { ...endAt(why, bars, bar, level), stop: level, target }
    if (sign * favourablePrices[bar]! >= sign * target)
      return { ...endAt('target', bars, bar, target), stop: level, target }
    if (sign * favourablePrices[bar]! > sign * best) best = favourablePrices[bar]!
  }
  return null
}

/** The price at a distance from another one. @param direction 1: above it, -1: below it */
function priceAtDistance(price: number, direction: number, distance: Distance, atr: number): number {
  return typeof distance === 'number' ? price * (1 + direction * distance) : price + direction * distance.atr * atr
}

/** The end of a trade on a bar, not at a preset price. */
function endAt(why: ExitKind, bars: PathBars, bar: number, price: number, { atOpen } = { atOpen: false }): TradeEnd {
  return { why, bar, day: bars.days[bar]!, price, atOpen, stop: Number.NaN, target: Number.NaN }
}

export interface TakenTrade extends Fills {
  member: Member
  /** Index of its signal among the member's signals. */
  index: number
  signal: number
  entryBar: number
  invested: number
  end: TradeEnd
  gross: number
  /** After all costs; for an open trade as if it were closed at its last close. */
  net: number
}

/** The trade after a signal, and the later signals that fall into it. */
export interface TradePath {
  end: TradeEnd
  /** Index of the first signal after the trade. */
  next: number
}

/**
 * Follows the trade of a signal. Later signals fall into it while its exit lies after their bar. With `extend`, each of
 * them restarts the hold.
 * @param signalsEnd index after the last signal that counts
 */
export function tradePath(
  member: Member,
  strategy: Strategy,
  index: number,
  signalsEnd = member.signals.bars.length,
): TradePath {
  const { bars: signals } = member.signals
  const signal = signals[index]!
  const event = firstExitEvent(member, signal)
  let end = followTrade(member.bars, strategy, signal, event)
  let next = index + 1
  for (; next < signalsEnd && fallsInto(end, signals[next]!); next++)
    if (strategy.overlap === 'extend') end = followTrade(member.bars, strategy, signal, event, signals[next]!)
  return { end, next }
}

/** Value of an open position at a price. A short one has the invested money, profit, and borrow paid up to the day. */
export function openValue(strategy: Strategy, taken: TakenTrade, price: number, day: number): number {
  const { shares, invested, entry } = taken
  if (strategy.side === 'long') return shares * price
  const { costs } = strategy
  const proceeds = entry * (1 - costShare(costs)) - costs.per_share
  const days = day - taken.member.bars.days[taken.entryBar]!
  return invested + shares * (proceeds - price) - costs.fixed - (shares * entry * costs.borrow * days) / 365
}

/**
 * A trade with its returns.
 * @param index of its signal among the member's signals
 * @param bought shares and money of the entry
 */
export function takenTrade(
  member: Member,
  strategy: Strategy,
  index: number,
  end: TradeEnd,
  bought: { shares: number; invested: number },
): TakenTrade {
  const signal = member.signals.bars[index]!
  const fills = fillsOf(member, strategy, signal, end, bought.shares)
  const net = netReturn(strategy.costs, fills)
  const { side, entry, exit, shares, days } = fills
  const gross = side === 'long' ? exit / entry - 1 : 1 - exit / entry
  const { invested } = bought
  // Property by property, because a spread takes most of the time of a run.
  const bar = entryBar(strategy.fill, signal)
  return { side, entry, exit, shares, days, member, index, signal, entryBar: bar, invested, end, gross, net }
}

/** The fills of a trade of some shares, from the bar of a signal to its end. */
export function fillsOf(
  { bars }: Member,
  { side, fill }: Pick<Strategy, 'side' | 'fill'>,
  signal: number,
  end: TradeEnd,
  shares: number,
): Fills {
  const days = end.day - bars.days[entryBar(fill, signal)]!
  return { side, entry: entryPrice(bars, fill, signal), exit: end.price, shares, days }
}

/** Whether a later signal comes before the end of a trade. @param signal its bar */
function fallsInto({ why, bar }: TradeEnd, signal: number): boolean {
  return why === 'open' || bar > signal
}

/** One trade for the computation of its costs. */
export interface Fills {
  side: Side
  /** Prices of entry and exit before costs. */
  entry: number
  exit: number
  /** Above 0; fixed costs are spread over these. */
  shares: number
  /** Calendar days from entry to exit; a short pays borrow for them. */
  days: number
}

/** The part of the price that a fill costs: the c of the formulas below. */
export function costShare({ bps, slippage_bps }: Pick<Costs, 'bps' | 'slippage_bps'>): number {
  return (bps + slippage_bps) / 10_000
}

/**
 * Return on the invested money. Costs are c of the price a side, money a share and money a fill:
 * long (P_x (1 - c) - a) / (P_e (1 + c) + a) - 1, short ((P_e (1 - c) - a) - (P_x (1 + c) + a)) / P_e less borrow for
 * the calendar days / 365, where a = per share + fixed / shares.
 */
export function netReturn(costs: Costs, fills: Fills): number {
  return netReturnAtCost(costShare(costs), costs, fills)
}

/** Cost a side, a fraction, at which the mean net return is 0. Null where even without cost it is not above 0. */
export function breakEvenCost(costs: Costs, trades: readonly Fills[]): number | null {
  const totalAtCost = (share: number): number =>
    trades.reduce((sum, fills) => sum + netReturnAtCost(share, costs, fills), 0)
  if (!(totalAtCost(0) > 0)) return null
  // The total falls as the cost rises: halve the interval in which it crosses 0.
  let low = 0
  let high = 1
  for (let i = 0; i < HALVINGS; i++) {
    const middle = (low + high) / 2
    if (totalAtCost(middle) > 0) low = middle
    else high = middle
  }
  return (low + high) / 2
}

/** Halvings until the interval, 1 at first, is below the rounding error. */
const HALVINGS = 54

/** The net return by the formulas of netReturn(). @param costShare cost of a fill, as a share of its price */
function netReturnAtCost(
  costShare: number,
  { per_share, fixed, borrow }: Costs,
  { side, entry, exit, shares, days }: Fills,
): number {
  const perShare = per_share + fixed / shares
  if (side === 'long') return (exit * (1 - costShare) - perShare) / (entry * (1 + costShare) + perShare) - 1
  const gain = entry * (1 - costShare) - perShare - exit * (1 + costShare) - perShare
  return gain / entry - (borrow * days) / 365
}
