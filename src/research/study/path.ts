import type { MarketBars } from '../../market.js'
import { mean } from '../../statistics/moments.js'
import { quantile } from '../../statistics/quantile.js'
import { expandedTail } from '../../statistics/resampling.js'
import { placesIn, unionCalendar } from '../calendar.js'
import { equalUnits, independentUnits, LEAST_UNITS, ratioOf, type Unit } from '../cell/series.js'
import { streamOf } from '../cell/streams.js'
import { abnormalPath, type ModelledEvent } from './models.js'
import type { StudyQuery } from './query.js'
import type { PathPoint } from './result.js'
import type { Subject } from './subject.js'

/** An event on the common calendar of those that have any. */
interface Placed {
  prices: MarketBars
  bar: number
  place: number
}

/** The average price from so many bars before the events to so many after, against any bar of the same tickers. */
export function pathOf(
  subjects: readonly Subject[],
  modelled: readonly ModelledEvent[],
  query: Pick<StudyQuery, 'path' | 'resamples' | 'seed'>,
): PathPoint[] {
  const { before, after } = query.path
  const counting = subjects.filter(({ signals }) => signals.bars.length > 0)
  const calendar = unionCalendar(counting.map(({ prices }) => prices.series.days))
  const events = counting.flatMap(({ prices, signals }) => {
    const places = placesIn(calendar, prices.series.days)
    return Array.from(signals.bars, bar => ({ prices, bar, place: places[bar]! }))
  })
  const abnormal = modelled.map(event => abnormalPath(event, before, after))
  return Array.from({ length: before + after + 1 }, (_, i) => {
    const bar = i - before
    const point = pointOf(events, calendar.length, bar, query)
    const known = abnormal.map(path => path[i]!).filter(value => !Number.isNaN(value))
    return { ...point, base: basePoint(counting, bar), abnormal: mean(known) }
  })
}

function pointOf(
  events: readonly Placed[],
  days: number,
  bar: number,
  { resamples, seed }: Pick<StudyQuery, 'resamples' | 'seed'>,
): Omit<PathPoint, 'base' | 'abnormal'> {
  const series = { events: new Float64Array(days), excess: new Float64Array(days) }
  const values: number[] = []
  for (const event of events) {
    const moved = movedTo(event.prices, event.bar, bar)
    if (Number.isNaN(moved)) continue
    values.push(moved)
    series.events[event.place]! += 1
    series.excess[event.place]! += moved
  }
  const ascending = Float64Array.from(values).sort()
  const units = independentUnits(series, Math.max(1, Math.abs(bar)))
  return {
    bar,
    n: values.length,
    mean: mean(ascending),
    median: quantile(ascending, 0.5),
    p25: quantile(ascending, 0.25),
    p75: quantile(ascending, 0.75),
    ...ribbon(units, resamples, seed, bar),
  }
}

/** Streams of the path's bars: none below 0. */
const FIRST_BAR = -1000

/** 95 % of the mean: units of events whose windows up to the bar share no day, drawn with replacement. */
function ribbon(units: readonly Unit[], resamples: number, seed: number, bar: number): Pick<PathPoint, 'low' | 'high'> {
  if (units.length < LEAST_UNITS) return { low: null, high: null }
  const random = streamOf(seed, 'path', bar - FIRST_BAR)
  const drawn = new Int32Array(units.length)
  const means = new Float64Array(resamples)
  for (let draw = 0; draw < resamples; draw++) {
    for (let i = 0; i < drawn.length; i++) drawn[i] = random.below(units.length)
    means[draw] = ratioOf(units, drawn)
  }
  means.sort()
  const tail = expandedTail(equalUnits(units))
  return { low: quantile(means, tail), high: quantile(means, 1 - tail) }
}

/** Any bar of the tickers with events that reach so far, each ticker counting by these. */
function basePoint(subjects: readonly Subject[], bar: number): number | null {
  let sum = 0
  let weights = 0
  for (const { prices, eligible, signals } of subjects) {
    const weight = signals.bars.reduce((n, event) => n + (Number.isNaN(movedTo(prices, event, bar)) ? 0 : 1), 0)
    if (weight === 0) continue
    sum += weight * meanMove(prices, eligible, bar)
    weights += weight
  }
  return weights === 0 ? null : sum / weights
}

/** The same as the mean of `movedTo`, in the one loop of a study that passes every bar a hundred times. */
function meanMove({ series: { close }, delisting }: MarketBars, bars: Int32Array, by: number): number {
  const final = delisting?.price ?? Number.NaN
  let sum = 0
  let n = 0
  for (let i = 0; i < bars.length; i++) {
    const from = bars[i]!
    const to = from + by
    if (to < 0) continue
    const price = to < close.length ? close[to]! : final
    if (Number.isNaN(price)) break
    sum += price / close[from]! - 1
    n++
  }
  return sum / n
}

/** Close `by` bars later (or earlier) against that of a bar; beyond a known delisting its final price, NaN beyond the bars. */
function movedTo({ series: { close }, delisting }: MarketBars, bar: number, by: number): number {
  const to = bar + by
  if (to < 0) return Number.NaN
  return (to < close.length ? close[to]! : (delisting?.price ?? Number.NaN)) / close[bar]! - 1
}
