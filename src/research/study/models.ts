import type { Series } from '../../model/series.js'
import type { DatedEvent } from '../../statistics/event-correlation.js'
import {
  type AbnormalEvent,
  abnormalEvent,
  abnormalReturns,
  marketModel,
  meanAdjusted,
  type ReturnModel,
} from '../../statistics/market-model.js'
import { barReturns, benchmarkReturns } from './benchmark.js'
import type { Abnormal } from './result.js'
import type { Subject } from './subject.js'

/** Bars before the event on which a model is estimated: from the first to the last, both included (MacKinlay 1997). */
export const ESTIMATION = { first: 130, last: 11, bars: 120 }

/** An event with the model of what its ticker would have earned without it. */
export interface ModelledEvent {
  ticker: string
  bar: number
  days: Int32Array
  /** By bar of the ticker; NaN where unknown. */
  returns: Float64Array
  /** The benchmark's; absent of the mean-adjusted model. */
  market?: Float64Array
  model: ReturnModel | null
  /** Why there is no model. */
  lost: 'too_early' | 'no_benchmark' | null
}

/** @param benchmark bars of the benchmark; the market model needs it */
export function modelledEvents(
  subjects: readonly Subject[],
  abnormal: Exclude<Abnormal, 'none'>,
  benchmark: Series | null,
): ModelledEvent[] {
  return subjects.flatMap(({ ticker, prices, signals }) => {
    const { days, close } = prices.series
    const returns = barReturns(close)
    const usesMarket = abnormal === 'market' && benchmark !== null
    const market = usesMarket ? { market: benchmarkReturns(benchmark, days) } : {}
    return Array.from(signals.bars, bar => {
      const event = { ticker, bar, days, returns, ...market }
      return { ...event, ...estimated(event) }
    })
  })
}

/** The event over the bars 1..h; null while they have not all elapsed, and where the benchmark lacks one. */
export function eventOver({ bar, days, returns, market, model }: ModelledEvent, horizon: number): DatedEvent | null {
  if (model === null || bar + horizon >= days.length) return null
  const window = (column: Float64Array | Int32Array) => column.subarray(bar + 1, bar + horizon + 1)
  const held = market === undefined ? undefined : (window(market) as Float64Array)
  if (held !== undefined && hasGap(held)) return null
  const event: AbnormalEvent = abnormalEvent(model, window(returns) as Float64Array, held)
  return {
    ...event,
    estimationDays: days.subarray(bar - ESTIMATION.first, bar - ESTIMATION.last + 1),
    eventDays: window(days) as Int32Array,
  }
}

/** Cumulative abnormal return at each bar of the path, counted from the event; NaN where it is not known. */
export function abnormalPath(
  { bar, returns, market, model }: ModelledEvent,
  before: number,
  after: number,
): Float64Array {
  const path = new Float64Array(before + after + 1).fill(Number.NaN)
  if (model === null) return path
  const from = Math.max(0, bar - before)
  const to = Math.min(returns.length, bar + after + 1)
  const abnormal = abnormalReturns(model, returns.subarray(from, to), market?.subarray(from, to))
  path[before] = 0
  for (let t = bar + 1; t < to; t++) path[before + t - bar] = path[before + t - bar - 1]! + abnormal[t - from]!
  for (let t = bar; t > from; t--) path[before + t - bar - 1] = path[before + t - bar]! - abnormal[t - from]!
  return path
}

function estimated({
  bar,
  returns,
  market,
}: Omit<ModelledEvent, 'model' | 'lost'>): Pick<ModelledEvent, 'model' | 'lost'> {
  const from = bar - ESTIMATION.first
  // The first bar of a ticker has no return.
  if (from < 1) return { model: null, lost: 'too_early' }
  const own = returns.subarray(from, from + ESTIMATION.bars)
  if (market === undefined) return withModel(meanAdjusted(own))
  const theirs = market.subarray(from, from + ESTIMATION.bars)
  return hasGap(theirs) ? { model: null, lost: 'no_benchmark' } : withModel(marketModel(own, theirs))
}

function withModel(model: ReturnModel | null): Pick<ModelledEvent, 'model' | 'lost'> {
  return { model, lost: model === null ? 'too_early' : null }
}

function hasGap(values: Float64Array): boolean {
  return values.some(Number.isNaN)
}
