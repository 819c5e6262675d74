import { bandsByBar, UNDEFINED } from '../../core/model/series.js'
import type { Timeframe } from '../../core/model/terms.js'
import { quantile } from '../../core/statistics/moments.js'
import type { Cache } from './cache.js'

/** How often each band of some fields occurred. */
export interface BandCounts {
  schema: 'bands.fields-check/1'
  timeframe: Timeframe
  tickers: number
  fields: FieldCounts[]
}

export interface FieldCounts {
  field: string
  /** The hash of its definition; null for a specified field. */
  hash: string | null
  /** Final bars of all tickers, and those without a band: warm-up, or undefined. */
  bars: number
  undefined: number
  /** In the order of the vocabulary. */
  bands: BandCount[]
}

export interface BandCount {
  band: string
  bars: number
  /** Of the bars that have a band; null if there are none. */
  share: number | null
  /** The share by ticker: the least, the median, the most; null without a ticker that has a band. */
  by_ticker: { least: number | null; median: number | null; most: number | null }
  events: number
}

/**
 * Counts how often each band of some fields occurred. Throws NotFound for an unknown ticker, TierRestricted for a field
 * above the tier.
 */
export async function bandCounts(
  cache: Cache,
  query: { fields: readonly string[]; tickers: readonly string[]; timeframe: Timeframe },
  step?: (text: () => string) => void,
): Promise<BandCounts> {
  const { fields, tickers, timeframe } = query
  const sums = fields.map(name => new CountSums(cache.field(name).bands.length))
  let done = 0
  for await (const viewOfField of cache.views({ tickers, timeframe, fields, outcomes: false })) {
    step?.(() => `fields check  ${tickers[done]}  ${done + 1} of ${tickers.length}`)
    for (const [fieldIndex, name] of fields.entries()) {
      const { record, bars, events } = await viewOfField(name)
      sums[fieldIndex]!.add(record === null ? new Uint8Array(bars).fill(UNDEFINED) : bandsByBar(record, bars))
      for (let i = 0; i < events; i++) sums[fieldIndex]!.events[record!.bands[i]!]!++
    }
    done++
  }
  const counts = fields.map((name, fieldIndex): FieldCounts => {
    const field = cache.field(name)
    return { field: name, hash: field.hash ?? null, ...sums[fieldIndex]!.counts(field.bands) }
  })
  return { schema: 'bands.fields-check/1', timeframe, tickers: tickers.length, fields: counts }
}

/** Adds up how often each band of one field occurred on some tickers. */
class CountSums {
  readonly events: Int32Array
  readonly #counts: Int32Array
  readonly #shares: number[][]
  #bars = 0
  #undefined = 0

  constructor(bands: number) {
    this.events = new Int32Array(bands)
    this.#counts = new Int32Array(bands)
    this.#shares = Array.from({ length: bands }, () => [])
  }

  /** Adds the bars of one ticker. @param codes the code of the band on each bar */
  add(codes: Uint8Array): void {
    const counts = new Int32Array(this.#counts.length)
    let defined = 0
    for (const code of codes) {
      if (code === UNDEFINED) continue
      defined++
      counts[code]!++
    }
    this.#bars += codes.length
    this.#undefined += codes.length - defined
    for (const [code, count] of counts.entries()) {
      this.#counts[code]! += count
      if (defined > 0) this.#shares[code]!.push(count / defined)
    }
  }

  /**
   * The counts of all added tickers. A ticker's share is of its bars with any band; `by_ticker` has nulls if no ticker
   * has such a bar.
   * @param bands the vocabulary of the field
   */
  counts(bands: readonly string[]): Pick<FieldCounts, 'bars' | 'undefined' | 'bands'> {
    const defined = this.#bars - this.#undefined
    return {
      bars: this.#bars,
      undefined: this.#undefined,
      bands: bands.map((band, code) => {
        const shares = Float64Array.from(this.#shares[code]!).sort()
        return {
          band,
          bars: this.#counts[code]!,
          share: defined === 0 ? null : this.#counts[code]! / defined,
          by_ticker: { least: quantile(shares, 0), median: quantile(shares, 0.5), most: quantile(shares, 1) },
          events: this.events[code]!,
        }
      }),
    }
  }
}
