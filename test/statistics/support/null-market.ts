import { countUpTo } from '../../../src/model/day.js'
import type { Random } from '../../../src/statistics/random.js'
import type { ShiftMember } from '../../../src/statistics/shift.js'

/** Bars of a window. */
export const HORIZON = 20

/** What is made: random walks with GARCH volatility, half of each day's news common to all tickers. */
export interface Making {
  tickers: number
  bars: number
}

/** Events and what followed them less what follows any bar, in the shapes that the tests take. */
export interface MadeMarket {
  members: ShiftMember[]
  /** By day: the summed excess of its events, and how many they are. */
  num: Float64Array
  den: Float64Array
  /** Each event's excess. */
  excess: number[]
  /** Events whose windows share no bar, added up over the tickers. */
  independent: number
  /** Category of what follows each bar, by ticker: in which fifth of its windows. */
  fifths: Uint8Array[]
  /** On days with open positions: their mean return, and that of all tickers. */
  held: { portfolio: Float64Array; benchmark: Float64Array }
}

const WARM_UP = 60

/** Events are entries into an RSI of 14 below 30: clustered, and after falls. */
export function madeMarket(random: Random, { tickers, bars }: Making): MadeMarket {
  const length = WARM_UP + bars + HORIZON
  const walks = walksOf(random, tickers, length)
  const made = { members: [], num: new Float64Array(bars), den: new Float64Array(bars), excess: [] as number[] }
  const market: MadeMarket = { ...made, independent: 0, fifths: [], held: held(walks, bars) }
  for (const { prices, events } of walks) {
    const places = Int32Array.from({ length: bars }, (_, i) => i)
    const returns = Float64Array.from(places, i => prices[i + WARM_UP + HORIZON]! - prices[i + WARM_UP]!)
    const base = returns.reduce((sum, value) => sum + value, 0) / bars
    const excess = returns.map(value => value - base)
    market.members.push({ places, excess, events })
    let free = -1
    for (const event of events) {
      market.num[event]! += excess[event]!
      market.den[event]!++
      market.excess.push(excess[event]!)
      if (event < free) continue
      market.independent++
      free = event + HORIZON
    }
    market.fifths.push(fifthsOf(returns))
  }
  return market
}

interface Walk {
  prices: Float64Array
  events: Int32Array
}

function walksOf(random: Random, tickers: number, length: number): Walk[] {
  const news = Array.from({ length: tickers }, () => new Float64Array(length))
  for (let t = 1; t < length; t++) {
    const common = random.normal()
    for (const own of news) own[t] = tickers === 1 ? common : Math.SQRT1_2 * (common + random.normal())
  }
  return news.map(walkOf)
}

function walkOf(news: Float64Array): Walk {
  const prices = new Float64Array(news.length)
  const events: number[] = []
  let [variance, up, down, below] = [1, 0, 0, false]
  for (let t = 1; t < news.length; t++) {
    const shock = Math.sqrt(variance) * news[t]!
    variance = 0.05 + 0.1 * shock * shock + 0.85 * variance
    const change = shock / 100
    prices[t] = prices[t - 1]! + change
    up += (Math.max(change, 0) - up) / 14
    down += (Math.max(-change, 0) - down) / 14
    const isBelow = up < 0.3 * (up + down)
    if (t >= WARM_UP && t < news.length - HORIZON && isBelow && !below) events.push(t - WARM_UP)
    below = isBelow
  }
  return { prices, events: Int32Array.from(events) }
}

function fifthsOf(returns: Float64Array): Uint8Array {
  const ascending = returns.toSorted()
  const cuts = Float64Array.from([1, 2, 3, 4], fifth => ascending[Math.floor((fifth * ascending.length) / 5)]!)
  return Uint8Array.from(returns, value => countUpTo(cuts, value))
}

function held(walks: readonly Walk[], bars: number): MadeMarket['held'] {
  const [sum, open, all] = [new Float64Array(bars), new Float64Array(bars), new Float64Array(bars)]
  for (const { prices, events } of walks) {
    const isOpen = new Uint8Array(bars + HORIZON)
    for (const event of events) isOpen.fill(1, event + 1, event + HORIZON + 1)
    for (let i = 1; i < bars; i++) {
      const earned = prices[i + WARM_UP]! - prices[i + WARM_UP - 1]!
      all[i]! += earned / walks.length
      if (isOpen[i] === 0) continue
      sum[i]! += earned
      open[i]!++
    }
  }
  const days = Int32Array.from(open.keys()).filter(day => open[day]! > 0)
  const portfolio = Float64Array.from(days, day => sum[day]! / open[day]!)
  return { portfolio, benchmark: Float64Array.from(days, day => all[day]!) }
}
