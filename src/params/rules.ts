import { InvalidParameter } from '../errors.js'
import { parseDay } from '../model/day.js'
import { type Distance, percent } from './figures.js'
import type { Fill, Strategy } from './strategy.js'

/** What parts of a strategy ask of each other, apart from their own shape. Throws InvalidParameter for the first fault. */
export function checkRules(strategy: Strategy): void {
  const { exit, fill, side, entry, costs } = strategy
  const ends = [exit.hold, exit.on, exit.stop, exit.target, exit.trailing].some(rule => rule !== null) || exit.leave
  if (!ends) fault('exit', 'nothing ends a trade; give one of hold, leave, on, stop, target, trailing')
  if (exit.hold !== null && !(Number.isInteger(exit.hold) && exit.hold >= LEAST_HOLD[fill]))
    fault('exit.hold', `${exit.hold} is not a whole number from ${LEAST_HOLD[fill]}, which entry at ${fill} needs`)
  if (strategy.tickers.length === 0) fault('tickers', 'there is none; name at least one')
  if (costs.bps + costs.slippage_bps >= 10_000)
    fault(
      'costs',
      `${costs.bps + costs.slippage_bps} basis points a side are the whole price; they must be below 10000`,
    )
  checkDistance('exit.stop', exit.stop, side === 'long')
  checkDistance('exit.target', exit.target, side === 'short')
  checkDistance('exit.trailing', exit.trailing, side === 'long')
  const [after, before] = [parseDay(entry.after ?? ''), parseDay(entry.before ?? '')]
  if (after !== null && before !== null && after >= before - 1)
    fault('entry.after', 'leaves no day before entry.before; both are exclusive')
}

/** @param below whether the price is left downwards, where nothing lies below 0 */
function checkDistance(name: string, distance: Distance | null, below: boolean): void {
  if (distance === null) return
  const size = typeof distance === 'number' ? distance : distance.atr
  if (!(size > 0 && Number.isFinite(size))) fault(name, `${size} is not above 0`)
  if (below && typeof distance === 'number' && distance >= 1)
    throw new InvalidParameter(
      `${name} is ${percent(distance)} of the entry price, which leaves no price; it must be below 100 %.`,
      { param: name, value: distance },
    )
}

function fault(param: string, what: string): never {
  throw new InvalidParameter(`${param}: ${what}.`, { param })
}

/** The bars after the signal at which a hold can end at the earliest: after the entry, at a close. */
const LEAST_HOLD: Record<Fill, number> = { 'next-open': 1, 'next-close': 2, close: 1 }
