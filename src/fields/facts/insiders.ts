import { compare } from '../../indicators/compare.js'
import { DEFINITIONS } from '../../model/definitions.js'
import type { InsiderTrade } from '../../model/facts.js'
import { Timeline } from './timeline.js'

/** The open-market trades that became usable in the last 90 days, added up. */
export interface Dealings {
  trades: number
  /** Insiders who bought more shares than they sold, and those who sold more than they bought. */
  buyers: number
  sellers: number
  /** Money paid and received, where it is known. */
  bought: number
  sold: number
}

/** The dealings in force at each bar; null until the first trade ever is usable. */
export function dealings(days: Int32Array, given: readonly InsiderTrade[]): (Dealings | null)[] {
  const timeline = new Timeline(given, trade => trade)
  const out = new Array<Dealings | null>(days.length).fill(null)
  const known = timeline.counts(days)
  const past = timeline.counts(days, DEFINITIONS.insiders.lookback)
  for (let t = 0; t < days.length; t++) {
    if (known[t] === 0) continue
    const same = t > 0 && known[t] === known[t - 1] && past[t] === past[t - 1]
    out[t] = same ? out[t - 1]! : addedUp(timeline.records.slice(past[t], known[t]))
  }
  return out
}

function addedUp(trades: readonly InsiderTrade[]): Dealings {
  const shares = new Map<string, { buy: number; sell: number }>()
  const money = { buy: 0, sell: 0 }
  for (const { insider, side, shares: count, value } of trades) {
    const own = shares.get(insider) ?? { buy: 0, sell: 0 }
    own[side] += count
    money[side] += value ?? 0
    shares.set(insider, own)
  }
  // Parts of shares add up with rounding, and the order of records must not make a buyer of who is none.
  const nets = Array.from(shares.values(), ({ buy, sell }) => compare(buy, sell))
  return {
    trades: trades.length,
    buyers: nets.filter(sign => sign > 0).length,
    sellers: nets.filter(sign => sign < 0).length,
    bought: money.buy,
    sold: money.sell,
  }
}
