import { NotFound } from '../../../src/core/errors.js'
import { FIELDS } from '../../../src/core/fields/index.js'
import { weekdaysAfter } from '../../../src/core/model/day.js'
import type { Series } from '../../../src/core/model/series.js'
import type { PricedSource } from '../../../src/core/source.js'
import { Random } from '../../../src/core/statistics/random.js'
import type { SweepQuery } from '../../../src/research/sweep/sweep.js'
import { fieldStates, marketFrom, pricesFrom } from '../../support/source.js'

export interface MadeMarket {
  seed: number
  tickers: number
  bars: number
  /** Share of the variance of a day that all tickers have in common. */
  common?: number
  /** Drift of the log price on each of the bars after the event, where bands are made and not computed. */
  planted?: { field: string; band: number; bars: number; drift: number }
  /** Fields whose bands are a random chain of their own, without regard to prices; others are computed of the bars. */
  chained?: readonly string[]
  /** The first tickers begin so many bars later than the one before. */
  staggered?: number
  /** Probability that a band is left on a bar. */
  leaving?: number
}

/** Random walks with daily bars, and bands that are computed of them or drawn beside them. */
export function madeMarket(form: MadeMarket): PricedSource {
  const { seed, tickers, bars, common = 0, chained = [], staggered = 0 } = form
  const names = Array.from({ length: tickers }, (_, i) => `T${String(i + 1).padStart(2, '0')}`)
  const shared = normals(new Random(seed), bars)
  const made = new Map(
    names.map((ticker, i) => {
      const random = Random.stream(new Random(seed).word(), i + 1)
      const codes = new Map(chained.map(field => [field, chain(random, field, bars, form.leaving ?? 0.1)]))
      const own = normals(random, bars)
      const steps = own.map((x, t) => 0.015 * (Math.sqrt(common) * shared[t]! + Math.sqrt(1 - common) * x))
      plant(steps, codes, form)
      const from = Math.min(i, 3) * staggered
      const series = seriesOf(steps.subarray(from), random, from)
      return [ticker, { series, codes: new Map([...codes].map(([field, all]) => [field, all.subarray(from)])) }]
    }),
  )
  const of = (ticker: string) => {
    const found = made.get(ticker)
    if (found === undefined) throw new NotFound(`there is no ${ticker}`)
    return found
  }
  return marketFrom(
    names,
    ticker => pricesFrom(ticker, of(ticker).series),
    (ticker, field) => fieldStates(ticker, field, of(ticker).series, of(ticker).codes.get(field)),
  )
}

function normals(random: Random, count: number): Float64Array {
  return Float64Array.from({ length: count }, () => random.normal())
}

function chain(random: Random, field: string, bars: number, leaving: number): Uint8Array {
  const bands = FIELDS.find(({ name }) => name === field)!.bands.length
  const codes = new Uint8Array(bars)
  codes[0] = random.below(bands)
  for (let t = 1; t < bars; t++) {
    const stays = random.uniform() >= leaving
    codes[t] = stays ? codes[t - 1]! : (codes[t - 1]! + 1 + random.below(bands - 1)) % bands
  }
  return codes
}

function plant(steps: Float64Array, codes: ReadonlyMap<string, Uint8Array>, { planted }: MadeMarket): void {
  if (planted === undefined) return
  const own = codes.get(planted.field)!
  for (let t = 1; t < own.length; t++) {
    if (own[t] !== planted.band || own[t - 1] === planted.band) continue
    for (let k = t + 1; k <= Math.min(t + planted.bars, steps.length - 1); k++) steps[k]! += planted.drift
  }
}

function seriesOf(steps: Float64Array, random: Random, from: number): Series {
  const days = new Int32Array(steps.length)
  let day = weekdaysAfter(16_000, from)
  for (let t = 0; t < days.length; t++) {
    day = weekdaysAfter(day, 1)
    days[t] = day
  }
  let log = Math.log(100)
  const close = steps.map(step => {
    log += step
    return Math.exp(log)
  })
  const open = close.map((price, t) => (t === 0 ? price : close[t - 1]!))
  const high = close.map((price, t) => Math.max(price, open[t]!) * 1.002)
  const low = close.map((price, t) => Math.min(price, open[t]!) * 0.998)
  const volume = close.map(() => 1000 + random.below(1000))
  return { timeframe: 'daily', days, known: days, open, high, low, close, volume }
}

/** A complete question of made tickers; what a test is about is named by the test. */
export function asked(query: Partial<SweepQuery> & Pick<SweepQuery, 'tickers'>): SweepQuery {
  return {
    timeframe: 'daily',
    fields: ['rsi_zone'],
    horizons: [5, 20],
    contexts: [],
    by: 'pool',
    prev_band: false,
    after: null,
    before: null,
    min_events: 20,
    resamples: 99,
    adjust: 'bh',
    family: 'run',
    split: null,
    walk_forward: null,
    cv: null,
    cpcv: null,
    pbo_blocks: 8,
    seed: 1,
    ...query,
  }
}
