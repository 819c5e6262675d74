import { bca } from '../../statistics/bca.js'
import { stationaryRatioInterval } from '../../statistics/bootstrap.js'
import { politisWhite } from '../../statistics/politis-white.js'
import { expandedTail, type Resampling } from '../../statistics/resampling.js'
import { effectiveBlocks } from '../../statistics/robust.js'
import type { Interval } from '../study/result.js'
import type { Cell } from './cell.js'
import { equalUnits, fewUnits, independentUnits, LEAST_UNITS, ratioOf } from './series.js'

/**
 * 95 % of the difference by the stationary bootstrap of the calendar (Politis & Romano 1994). The mean block is the
 * horizon, or longer where Politis and White's choice for what each day adds to the estimate, excess - diff · events, is.
 * Its ends lie further out the fewer blocks of the horizon the events amount to: plain percentiles miss 0 in a tenth of
 * random walks.
 */
export function stationaryInterval({ horizon, series, diff }: Cell, resampling: Resampling): Interval {
  const { events, excess } = series
  const blocks = effectiveBlocks(events, horizon)
  if (blocks < FEWEST_BLOCKS) return noInterval('stationary bootstrap', 'one stretch of time has most of the events')
  const influence = excess.map((sum, day) => sum - diff * events[day]!)
  const block = Math.max(horizon, politisWhite(influence).stationary)
  const found = stationaryRatioInterval(excess, events, { ...resampling, block, tail: expandedTail(blocks) })
  if (found === null) return noInterval('stationary bootstrap', 'all events lie on one day')
  return { method: 'stationary bootstrap', level: 0.95, low: found.low, high: found.high, block, reason: null }
}

/** Fewer say nothing about how much they vary. */
const FEWEST_BLOCKS = 2

/**
 * 95 % of the difference by the BCa bootstrap (Efron 1987) of independent units: neither events whose windows overlap nor
 * tickers that move together are independent, so what is drawn are units of events that share no day with others. Its
 * ends are moved out as those above. Of units of very uneven size that is not enough: it still misses 0 in up to a tenth
 * of random walks. To leave it out there would be worse, because how events crowd together depends on what follows them.
 */
export function unitInterval({ horizon, series }: Cell, resampling: Resampling): Interval {
  const units = independentUnits(series, horizon)
  if (units.length < LEAST_UNITS) return noInterval('bca', fewUnits(units.length))
  const values = Float64Array.from(units.keys())
  const tail = expandedTail(equalUnits(units))
  const found = bca(values, drawn => ratioOf(units, drawn), { ...resampling, tail })
  if (found === null) return noInterval('bca', 'no resample differs from another')
  return { method: 'bca', level: 0.95, ...found, block: null, reason: null }
}

export function noInterval(method: Interval['method'], reason: string): Interval {
  return { method, level: 0.95, low: null, high: null, block: null, reason }
}
