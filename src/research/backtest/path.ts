import type { MarketBars } from '../../market.js'
import type { Distance, Exit, Fill, Side, Strategy } from './strategy.js'

export type ExitKind = 'hold' | 'leave' | 'on' | 'stop' | 'target' | 'trailing' | 'delisted' | 'open'

/** What a trade lives on: the bars of a ticker, how they ended, and its average true range where a rule stands on it. */
export interface PathBars extends Pick<MarketBars, 'delisting'> {
  days: Int32Array
  open: Float64Array
  high: Float64Array
  low: Float64Array
  close: Float64Array
  /** ATR of each bar; null where no rule asks. */
  atr: Float64Array | null
}

/** The rules of a strategy that decide when one trade ends. */
export interface PathRules {
  side: Side
  fill: Fill
  exit: Exit
}

/** The event that ends a trade (leave, on): the bar on which it happened, and which rule. -1: there is none. */
export interface ExitEvent {
  bar: number
  why: 'leave' | 'on'
}

/** How a trade ended. */
export interface Ending {
  why: ExitKind
  /** Bar of the exit; of a delisting after the last bar the number of bars, of an open trade the last bar. */
  bar: number
  day: number
  price: number
  /** Left at the open, so that nothing else of the bar was lived. */
  atOpen: boolean
  /** Left within the bar, at a price that had been set: what the bar reached beyond these does not count. */
  stop: number
  target: number
}

/** Bar of the entry after a signal; it may not be there yet. */
export function entryBar(fill: Fill, signal: number): number {
  return fill === 'close' ? signal : signal + 1
}

export function entryPrice(bars: PathBars, fill: Fill, signal: number): number {
  return fill === 'next-open' ? bars.open[signal + 1]! : bars.close[entryBar(fill, signal)]!
}

/** Whether the distances of a strategy, or its sizing, need the ATR. */
export function needsAtr({ exit, portfolio }: Pick<Strategy, 'exit' | 'portfolio'>): boolean {
  return exitNeedsAtr(exit) || portfolio.sizing.method === 'vol-target'
}

export function exitNeedsAtr({ stop, target, trailing }: Exit): boolean {
  return [stop, target, trailing].some(distance => distance !== null && 'atr' in distance)
}

/**
 * Follows one trade from its entry to whatever ends it first. On each bar in this order: (1) at the open, unless the trade
 * was opened there: stop, then target, filled at the open; (2) a leave or on that is due at this open; (3) the stop, also
 * where the target was reached on the same bar; (4) the target; (5) at the close hold, then leave or on. Shorts mirrored.
 * A trailing stop stands at the distance from the best price of the bars lived before, the entry's price included; of it
 * and the stop the nearer one counts.
 *
 * @param clock bar that the hold counts from: the signal's, or that of a newer one that put the exit off
 */
export function follow(bars: PathBars, rules: PathRules, signal: number, event: ExitEvent, clock = signal): Ending {
  const { exit, fill } = rules
  const count = bars.days.length
  const held = exit.hold === null ? Number.POSITIVE_INFINITY : clock + exit.hold
  const due = event.bar < 0 ? Number.POSITIVE_INFINITY : fill === 'close' ? event.bar : event.bar + 1
  const dueAtOpen = fill === 'next-open'
  if (exit.stop !== null || exit.target !== null || exit.trailing !== null) {
    const early = reached(bars, rules, signal, Math.min(held, due, count - 1), dueAtOpen ? due : -1)
    if (early !== null) return early
  }
  if (dueAtOpen && due <= held && due < count) return ending(event.why, bars, due, bars.open[due]!, true)
  if (held <= due && held < count) return ending('hold', bars, held, bars.close[held]!)
  if (due < count) return ending(event.why, bars, due, bars.close[due]!)
  const { delisting } = bars
  if (delisting === null) return ending('open', bars, count - 1, bars.close[count - 1]!)
  const bar = delisting.day === bars.days[count - 1] ? count - 1 : count
  return { ...ending('delisted', bars, count - 1, delisting.price), bar, day: delisting.day }
}

/** Greatest gain and loss that a trade stood at, as fractions of the entry price: at least 0, at most 0. */
export interface Excursion {
  mfe: number
  mae: number
}

/**
 * Maximum favourable and adverse excursion (Sweeney, "Maximum adverse excursion", 1997) over the bars lived: from the entry
 * bar (from the next after a fill at a close) to that of the exit, of which only the open counts where the trade was left
 * there; a stop or target that was hit caps what its bar shows.
 */
export function excursion(bars: PathBars, { side, fill }: PathRules, signal: number, left: Ending): Excursion {
  const entry = entryPrice(bars, fill, signal)
  const first = entryBar(fill, signal) + (fill === 'next-open' ? 0 : 1)
  const last = Math.min(left.bar, bars.days.length - 1)
  let high = Math.max(entry, left.price)
  let low = Math.min(entry, left.price)
  const whole = left.atOpen || isWithin(left) ? last - 1 : last
  for (let t = first; t <= whole; t++) {
    if (bars.high[t]! > high) high = bars.high[t]!
    if (bars.low[t]! < low) low = bars.low[t]!
  }
  if (isWithin(left)) {
    const [lowest, highest] = side === 'long' ? [left.stop, left.target] : [left.target, left.stop]
    high = Math.max(high, Math.min(bars.high[last]!, highest))
    low = Math.min(low, Math.max(bars.low[last]!, lowest))
  }
  const [best, worst] = side === 'long' ? [high / entry - 1, low / entry - 1] : [1 - low / entry, 1 - high / entry]
  return { mfe: Math.max(0, best), mae: Math.min(0, worst) }
}

/** Bars lived: of an entry at a close the next is the first, and a bar left at its open does not count. */
export function barsHeld(fill: Fill, signal: number, { bar, atOpen, why }: Ending, count: number): number {
  const last = why === 'delisted' ? Math.min(bar, count - 1) : bar
  return last - entryBar(fill, signal) + (fill === 'next-open' ? 1 : 0) - (atOpen ? 1 : 0)
}

function isWithin({ why, atOpen }: Ending): boolean {
  return !atOpen && (why === 'stop' || why === 'target' || why === 'trailing')
}

/** The first bar up to `last` on which a stop or target is hit; null where none is. `dueOpen` ends the search at its open. */
function reached(bars: PathBars, rules: PathRules, signal: number, last: number, dueOpen: number): Ending | null {
  const { exit, fill, side } = rules
  // Prices of a short are compared with their signs turned.
  const s = side === 'long' ? 1 : -1
  const better = side === 'long' ? bars.high : bars.low
  const worse = side === 'long' ? bars.low : bars.high
  const entry = entryPrice(bars, fill, signal)
  const from = entryBar(fill, signal)
  const atr = bars.atr === null ? Number.NaN : bars.atr[signal]!
  const stop = exit.stop === null ? -s * Number.POSITIVE_INFINITY : beyond(entry, -s, exit.stop, atr)
  const target = exit.target === null ? s * Number.POSITIVE_INFINITY : beyond(entry, s, exit.target, atr)
  let best = entry
  for (let t = fill === 'next-open' ? from : from + 1; t <= last; t++) {
    const trail = exit.trailing === null ? stop : beyond(best, -s, exit.trailing, atr)
    const isTrailing = exit.trailing !== null && s * trail > s * stop
    const level = isTrailing ? trail : stop
    const why = isTrailing ? 'trailing' : 'stop'
    if (t > from) {
      const open = bars.open[t]!
      if (s * open <= s * level) return ending(why, bars, t, open, true)
      if (s * open >= s * target) return ending('target', bars, t, open, true)
    }
    if (t === dueOpen) return null
    if (s * worse[t]! <= s * level) return { ...ending(why, bars, t, level), stop: level, target }
    if (s * better[t]! >= s * target) return { ...ending('target', bars, t, target), stop: level, target }
    if (s * better[t]! > s * best) best = better[t]!
  }
  return null
}

function beyond(price: number, direction: number, distance: Distance, atr: number): number {
  return 'fraction' in distance ? price * (1 + direction * distance.fraction) : price + direction * distance.atr * atr
}

function ending(why: ExitKind, bars: PathBars, bar: number, price: number, atOpen = false): Ending {
  return { why, bar, day: bars.days[bar]!, price, atOpen, stop: Number.NaN, target: Number.NaN }
}
