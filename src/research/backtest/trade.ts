import { atr } from '../../core/indicators/averages.js'
import { TRUE, TRUTHS } from '../../core/language/as-field.js'
import { rankValues, readRank } from '../../core/language/rank.js'
import { rangeOf } from '../../core/model/calendar.js'
import { countUpTo } from '../../core/model/day.js'
import type { Series } from '../../core/model/series.js'
import type { Distance } from '../../core/params/figures.js'
import {
  type Costs,
  conditionsOf,
  type Exit,
  eventsFilter,
  type Fill,
  type Side,
  type Strategy,
} from '../../core/params/strategy.js'
import type { BarStates, MarketBars, PricedSource, States, Step } from '../../core/source.js'
import {
  allowedCodes,
  type ContextBands,
  contextBandsOf,
  eligibleBars,
  type Signals,
  signalsIn,
} from '../study/signals.js'

type ExitKind = 'hold' | ExitEvent['why'] | 'stop' | 'target' | 'trailing' | 'delisted' | 'data_end' | 'open'

/** The bars that a trade needs: those of the ticker, its delisting, and its ATR where a rule needs it. */
interface PathBars extends Series, Pick<MarketBars, 'delisting'> {
  /** Its bars end long before those of other tickers, and no delisting explains it. */
  hasEnded: boolean
  /** ATR of each bar; null where no rule needs it. */
  atr: Float64Array | null
}

/** The rules of a strategy that decide the end of one trade. */
type PathRules = Pick<Strategy, 'side' | 'fill' | 'exit'>

/** The bar of an event that ends a trade (leave, on, when), and its rule. -1: there is none. */
export interface ExitEvent {
  bar: number
  why: 'leave' | 'on' | 'when'
}

/** How a trade ended. */
interface TradeEnd {
  why: ExitKind
  /** Bar of the exit; the number of bars for a delisting after the last bar; the last bar for an open trade. */
  bar: number
  day: number
  price: number
  /** Closed at the open, so that the rest of the bar does not count. */
  atOpen: boolean
  /** Closed within the bar at a preset price; prices beyond it do not count. */
  stop: number
  target: number
}

/** Bar of the entry after a signal; it may be in the future. */
export function entryBar(fill: Fill, signal: number): number {
  return fill === 'close' ? signal : signal + 1
}

export function entryPrice(bars: PathBars, fill: Fill, signal: number): number {
  return fill === 'next-open' ? bars.open[signal + 1]! : bars.close[entryBar(fill, signal)]!
}

/** Whether the exits of a strategy, or its size, need the ATR. */
function needsAtr({ exit, portfolio }: Pick<Strategy, 'exit' | 'portfolio'>): boolean {
  return exitNeedsAtr(exit) || portfolio.size.method === 'vol-target'
}

function exitNeedsAtr({ stop, target, trailing }: Exit): boolean {
  return [stop, target, trailing].some(distance => typeof distance === 'object' && distance !== null)
}

/**
 * Follows one trade from its entry to the first exit. Order of each bar: (1) at the open, unless the trade was opened
 * there: stop, then target, filled at the open; (2) a leave, on or when that fills at this open; (3) the stop, also
 * where the bar reached the target; (4) the target; (5) at the close hold, then leave, on or when. Shorts are mirrored.
 * A trailing stop has a distance from the best earlier price, the entry price included. The nearer one of it and the
 * stop counts.
 *
 * @param clock bar from which the hold counts: that of the signal, or of a later one that postponed the exit
 */
export function follow(bars: PathBars, rules: PathRules, signal: number, event: ExitEvent, clock = signal): TradeEnd {
  const { exit, fill } = rules
  const count = bars.days.length
  const held = exit.hold === null ? Number.POSITIVE_INFINITY : clock + exit.hold
  const due = event.bar < 0 ? Number.POSITIVE_INFINITY : fill === 'close' ? event.bar : event.bar + 1
  const dueAtOpen = fill === 'next-open'
  if (exit.stop !== null || exit.target !== null || exit.trailing !== null) {
    const early = firstHit(bars, rules, signal, Math.min(held, due, count - 1), dueAtOpen ? due : -1)
    if (early !== null) return early
  }
  if (dueAtOpen && due <= held && due < count) return tradeEnd(event.why, bars, due, bars.open[due]!, true)
  if (held <= due && held < count) return tradeEnd('hold', bars, held, bars.close[held]!)
  if (due < count) return tradeEnd(event.why, bars, due, bars.close[due]!)
  const { delisting } = bars
  if (delisting === null) return tradeEnd(bars.hasEnded ? 'data_end' : 'open', bars, count - 1, bars.close[count - 1]!)
  const bar = delisting.day === bars.days[count - 1] ? count - 1 : count
  return { ...tradeEnd('delisted', bars, count - 1, delisting.price), bar, day: delisting.day }
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
  const { side, entry, left, member } = taken
  const { bars } = member
  const first = taken.entryBar + (fill === 'next-open' ? 0 : 1)
  const last = Math.min(left.bar, bars.days.length - 1)
  let high = Math.max(entry, left.price)
  let low = Math.min(entry, left.price)
  const whole = left.atOpen || isWithinBar(left) ? last - 1 : last
  for (let t = first; t <= whole; t++) {
    if (bars.high[t]! > high) high = bars.high[t]!
    if (bars.low[t]! < low) low = bars.low[t]!
  }
  if (isWithinBar(left)) {
    const [lowest, highest] = side === 'long' ? [left.stop, left.target] : [left.target, left.stop]
    high = Math.max(high, Math.min(bars.high[last]!, highest))
    low = Math.min(low, Math.max(bars.low[last]!, lowest))
  }
  const [best, worst] = side === 'long' ? [high / entry - 1, low / entry - 1] : [1 - low / entry, 1 - high / entry]
  // A bar left at its open does not count.
  return { taken, bars: last - first + (left.atOpen ? 0 : 1), mfe: Math.max(0, best), mae: Math.min(0, worst) }
}

function isWithinBar({ why, atOpen }: TradeEnd): boolean {
  return !atOpen && (why === 'stop' || why === 'target' || why === 'trailing')
}

/**
 * The first bar up to `last` that hits a stop or target; null without one. The search ends at the open of `dueOpen`.
 */
function firstHit(bars: PathBars, rules: PathRules, signal: number, last: number, dueOpen: number): TradeEnd | null {
  const { exit, fill, side } = rules
  // Prices of a short are compared with reversed signs.
  const s = side === 'long' ? 1 : -1
  const better = side === 'long' ? bars.high : bars.low
  const worse = side === 'long' ? bars.low : bars.high
  const entry = entryPrice(bars, fill, signal)
  const from = entryBar(fill, signal)
  const atr = bars.atr === null ? Number.NaN : bars.atr[signal]!
  const stop = exit.stop === null ? -s * Number.POSITIVE_INFINITY : priceAtDistance(entry, -s, exit.stop, atr)
  const target = exit.target === null ? s * Number.POSITIVE_INFINITY : priceAtDistance(entry, s, exit.target, atr)
  let best = entry
  for (let t = fill === 'next-open' ? from : from + 1; t <= last; t++) {
    const trail = exit.trailing === null ? stop : priceAtDistance(best, -s, exit.trailing, atr)
    const isTrailing = exit.trailing !== null && s * trail > s * stop
    const level = isTrailing ? trail : stop
    const why = isTrailing ? 'trailing' : 'stop'
    if (t > from) {
      const open = bars.open[t]!
      if (s * open <= s * level) return tradeEnd(why, bars, t, open, true)
      if (s * open >= s * target) return tradeEnd('target', bars, t, open, true)
    }
    if (t === dueOpen) return null
    if (s * worse[t]! <= s * level) return { ...tradeEnd(why, bars, t, level), stop: level, target }
    if (s * better[t]! >= s * target) return { ...tradeEnd('target', bars, t, target), stop: level, target }
    if (s * better[t]! > s * best) best = better[t]!
  }
  return null
}

function priceAtDistance(price: number, direction: number, distance: Distance, atr: number): number {
  return typeof distance === 'number' ? price * (1 + direction * distance) : price + direction * distance.atr * atr
}

function tradeEnd(why: ExitKind, bars: PathBars, bar: number, price: number, atOpen = false): TradeEnd {
  return { why, bar, day: bars.days[bar]!, price, atOpen, stop: Number.NaN, target: Number.NaN }
}

/** A trade that was taken. */
export interface TakenTrade extends Fills {
  member: Member
  /** Index of its signal among the member's signals. */
  index: number
  signal: number
  entryBar: number
  invested: number
  left: TradeEnd
  gross: number
  /** After all costs; for an open trade as if it were closed at its last close. */
  net: number
}

/** The trade after a signal, and the later signals that fall into it. */
export interface TradePath {
  left: TradeEnd
  /** Index of the first signal after the trade. */
  next: number
}

/**
 * Follows the trade of a signal. Later signals fall into it while its exit lies after their bar. With `extend`, each of
 * them restarts the hold.
 * @param end index after the last signal that counts
 */
export function tradePath(
  member: Member,
  strategy: Strategy,
  index: number,
  end = member.signals.bars.length,
): TradePath {
  const { bars: signals } = member.signals
  const signal = signals[index]!
  const event = exitEventAfter(member, signal)
  let left = follow(member.bars, strategy, signal, event)
  let next = index + 1
  for (; next < end && fallsInto(left, signals[next]!); next++)
    if (strategy.overlap === 'extend') left = follow(member.bars, strategy, signal, event, signals[next]!)
  return { left, next }
}

/** Value of an open position at a price; borrow has accrued up to the day. */
export function openValue(strategy: Strategy, taken: TakenTrade, price: number, day: number): number {
  const { shares, invested, entry } = taken
  if (strategy.side === 'long') return shares * price
  const { costs } = strategy
  const kept = entry * (1 - costShare(costs)) - costs.per_share
  const days = day - taken.member.bars.days[taken.entryBar]!
  return invested + shares * (kept - price) - costs.fixed - (shares * entry * costs.borrow * days) / 365
}

/** @param bought shares and money of the entry */
export function takenTrade(
  member: Member,
  strategy: Strategy,
  index: number,
  left: TradeEnd,
  bought: { shares: number; invested: number },
): TakenTrade {
  const signal = member.signals.bars[index]!
  const fills = fillsOf(member, strategy, signal, left, bought.shares)
  const gross = grossReturn(fills)
  const net = netReturn(strategy.costs, fills)
  const { side, entry, exit, shares, days } = fills
  const { invested } = bought
  // Property by property, because a spread takes most of the time of a run.
  const bar = entryBar(strategy.fill, signal)
  return { side, entry, exit, shares, days, member, index, signal, entryBar: bar, invested, left, gross, net }
}

/** The fills of a trade of some shares, from the bar of a signal to its end. */
export function fillsOf(
  { bars }: Member,
  { side, fill }: Pick<Strategy, 'side' | 'fill'>,
  signal: number,
  left: TradeEnd,
  shares: number,
): Fills {
  const days = left.day - bars.days[entryBar(fill, signal)]!
  return { side, entry: entryPrice(bars, fill, signal), exit: left.price, shares, days }
}

function fallsInto({ why, bar }: TradeEnd, signal: number): boolean {
  return why === 'open' || bar > signal
}

/** One trade for the computation of its costs. */
export interface Fills {
  side: Side
  /** Prices of entry and exit before costs. */
  entry: number
  exit: number
  /** Fixed costs are spread over these. */
  shares: number
  /** Calendar days from entry to exit; a short pays borrow for them. */
  days: number
}

/** The part of the price that a fill costs: the c of the formulas below. */
export function costShare({ bps, slippage_bps }: Pick<Costs, 'bps' | 'slippage_bps'>): number {
  return (bps + slippage_bps) / 10_000
}

/** Return before costs. Long and short of the same trade add up to 0. */
function grossReturn({ side, entry, exit }: Fills): number {
  return side === 'long' ? exit / entry - 1 : 1 - exit / entry
}

/**
 * Return on the invested money. Costs are c of the price a side, money a share and money a fill:
 * long (P_x (1 - c) - a) / (P_e (1 + c) + a) - 1, short ((P_e (1 - c) - a) - (P_x (1 + c) + a)) / P_e less borrow for
 * the calendar days / 365, where a = per share + fixed / shares.
 */
export function netReturn(costs: Costs, fills: Fills): number {
  return netAt(costShare(costs), costs, fills)
}

/**
 * Cost a side, a fraction, at which the mean net return of the trades would be 0, all else unchanged. Null where even
 * without cost it is not above 0.
 */
export function breakEvenCost(costs: Costs, trades: readonly Fills[]): number | null {
  const total = (c: number): number => trades.reduce((sum, fills) => sum + netAt(c, costs, fills), 0)
  if (!(total(0) > 0)) return null
  let low = 0
  let high = 1
  for (let i = 0; i < HALVINGS; i++) {
    const middle = (low + high) / 2
    if (total(middle) > 0) low = middle
    else high = middle
  }
  return (low + high) / 2
}

/** Halvings until the interval is below the rounding error. */
const HALVINGS = 54

function netAt(c: number, { per_share, fixed, borrow }: Costs, { side, entry, exit, shares, days }: Fills): number {
  const added = per_share === 0 && fixed === 0 ? 0 : per_share + fixed / shares
  if (side === 'long') return (exit * (1 - c) - added) / (entry * (1 + c) + added) - 1
  return (entry * (1 - c) - added - exit * (1 + c) - added) / entry - (borrow * days) / 365
}

/** Wilder's length, as in all definitions. */
const ATR_LENGTH = 14

/** The data of one ticker for a strategy. */
export interface Member {
  ticker: string
  prices: MarketBars
  bars: PathBars
  states: States
  signals: Signals
  /** Possible bars of signals: those in the filter's dates on which the field has a band. */
  eligible: Int32Array
  /** Bars of each event rule that ends a trade, ascending. On the same bar the first rule counts. */
  ends: readonly { why: ExitEvent['why']; bars: Int32Array }[]
  /** The rank of each signal, NaN without a value; null without a rank. */
  ranks: Float64Array | null
  /** The bands that a rank indexes; null where the rank is a number. */
  rankBands: readonly string[] | null
}

/** A strategy with its tickers loaded. */
export interface Ready {
  strategy: Strategy
  members: readonly Member[]
}

/**
 * Loads strategies with the same tickers; each ticker is read once. Strategies that need the same data of a ticker
 * share a list. Throws NotFound, TierRestricted and Busy as the source does.
 */
export async function loadStrategies(
  source: PricedSource,
  strategies: readonly Strategy[],
  step: Step = () => {},
): Promise<Ready[]> {
  const { tickers, timeframe } = strategies[0]!
  const needs = strategies.map(dataKey)
  const apart = [...new Map(needs.map((need, i) => [need, strategies[i]!]))].map(([need, strategy]) => {
    return { need, strategy, members: [] as Member[], context: null as ContextBands | null }
  })
  let n = 0
  for await (const found of statesByLag(source, strategies)) {
    step(() => `${tickers[n]}  ${n + 1}/${tickers.length}`)
    for (const one of apart) {
      const { context } = one.strategy.entry
      // Read late, so that an error of the ticker itself is reported first.
      one.context ??= context && (await contextBandsOf(source, context, timeframe))
      one.members.push(memberOf(found.get(one.strategy.lag)!, one.strategy, one.context))
    }
    n++
  }
  const ended = new Map(apart.map(({ need, members }) => [need, markEndedTickers(members)]))
  return strategies.map((strategy, i) => ({ strategy, members: ended.get(needs[i]!)! }))
}

/** The states of each ticker that the strategies need, by their lag for conditions on other tickers. */
async function* statesByLag(
  source: PricedSource,
  strategies: readonly Strategy[],
): AsyncGenerator<Map<number | undefined, BarStates>> {
  const { tickers, timeframe } = strategies[0]!
  const lags = [...new Set(strategies.map(strategy => strategy.lag))]
  const reads = lags.map(lag => {
    const fields = [...new Set(strategies.filter(strategy => strategy.lag === lag).flatMap(fieldsOf))]
    return source.states({ tickers, fields, timeframe, lag })[Symbol.asyncIterator]()
  })
  try {
    for (const _ of tickers) {
      const found = new Map<number | undefined, BarStates>()
      for (const [i, lag] of lags.entries()) found.set(lag, (await reads[i]!.next()).value)
      yield found
    }
  } finally {
    for (const read of reads) await read.return?.()
  }
}

/** The key of a strategy's data: everything that decides its signals and events, without holds and prices. */
function dataKey(strategy: Strategy): string {
  const { entry, exit, rank, lag } = strategy
  const rules = { ...exit, hold: null, stop: null, target: null, trailing: null }
  return JSON.stringify([entry, rules, rank, lag, needsAtr(strategy)])
}

/**
 * From a market's close on a Thursday over a weekend and holidays to another market's close. A longer gap is another
 * end.
 */
const LONGEST_LAG = 7

/** Marks the tickers whose bars end before those of others without a known reason. */
function markEndedTickers(members: readonly Member[]): Member[] {
  const { last } = rangeOf(members.map(({ bars }) => bars.days))
  const hasEnded = ({ delisting, days }: PathBars): boolean =>
    delisting === null && last !== null && days.length > 0 && last - days.at(-1)! > LONGEST_LAG
  return members.map(member => ({ ...member, bars: { ...member.bars, hasEnded: hasEnded(member.bars) } }))
}

/** The fields and conditions of the tickers themselves that a strategy needs, each once. */
export function fieldsOf({ entry, exit, rank }: Pick<Strategy, 'entry' | 'exit' | 'rank'>): string[] {
  const all = [...conditionsOf({ entry, exit }), rankFieldOf(rank)]
  return [...new Set(all.filter(name => name !== undefined))]
}

/** undefined: there is no rank, or it is no field. */
function rankFieldOf(rank: Strategy['rank']): string | undefined {
  const of = rank === undefined ? null : readRank(rank).of
  return of?.is === 'field' ? of.field : undefined
}

/** The first event after a bar that ends a trade; on the same bar in the order leave, on, when. */
export function exitEventAfter({ ends }: Pick<Member, 'ends'>, bar: number): ExitEvent {
  let found: ExitEvent = { bar: -1, why: 'leave' }
  for (const { why, bars } of ends) {
    const next = bars[countUpTo(bars, bar)]
    if (next !== undefined && (found.bar < 0 || next < found.bar)) found = { bar: next, why }
  }
  return found
}

/** Whether the rules of a strategy have a value at a signal: the ATR has none on the first bars of a ticker. */
export function hasDistances({ bars }: Member, exit: Exit, signal: number): boolean {
  return !exitNeedsAtr(exit) || !Number.isNaN(bars.atr![signal]!)
}

function memberOf({ prices, states: read }: BarStates, strategy: Strategy, context: ContextBands | null): Member {
  const { entry, exit } = strategy
  const of = (field: string): States => read.find(states => states.field === field)!
  const states = of(entry.field)
  const { high, low, close } = prices.series
  const range = needsAtr(strategy) ? atr(high, low, close, ATR_LENGTH) : null
  const truths = entry.when === undefined ? null : of(entry.when).codes
  const signals = signalsIn(prices, states, eventsFilter(strategy), context, truths)
  return {
    ticker: prices.ticker,
    prices,
    bars: { ...prices.series, atr: range, delisting: prices.delisting, hasEnded: false },
    states,
    signals,
    ...ranksOf(strategy, prices, of, signals),
    eligible: eligibleBars(prices, states, entry),
    ends: [
      ...(exit.leave ? [{ why: 'leave' as const, bars: states.bars }] : []),
      ...(exit.on === null ? [] : [{ why: 'on' as const, bars: entriesInto(of(exit.on.field), exit.on.bands) }]),
      ...(exit.when === undefined ? [] : [{ why: 'when' as const, bars: entriesInto(of(exit.when), [TRUTHS[TRUE]!]) }]),
    ],
  }
}

/** The rank of each signal on its own bar. */
function ranksOf(
  { rank }: Strategy,
  { series }: MarketBars,
  of: (field: string) => States,
  { bars }: Signals,
): Pick<Member, 'ranks' | 'rankBands'> {
  if (rank === undefined) return { ranks: null, rankBands: null }
  const field = rankFieldOf(rank)
  const states = field === undefined ? null : of(field)
  const values = rankValues(readRank(rank), series, states?.codes ?? null)
  return { ranks: Float64Array.from(bars, bar => values[bar]!), rankBands: states?.bands ?? null }
}

/** Bars on which a field of the ticker enters one of some bands. */
function entriesInto({ bars, entered, bands }: States, some: readonly string[]): Int32Array {
  const wanted = allowedCodes(bands, some)
  return bars.filter((_, i) => wanted[entered[i]!] === 1)
}
