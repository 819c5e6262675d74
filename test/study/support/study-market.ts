import { entries, transitions, weekly } from '../../../src/engine/record.js'
import { FIELDS, fieldNamed } from '../../../src/fields/index.js'
import { Panel } from '../../../src/fields/panel.js'
import { head, type Series, UNDEFINED } from '../../../src/model/series.js'
import { TIMEFRAMES, type Timeframe } from '../../../src/model/terms.js'
import type { MarketBars, PricedSource, States } from '../../../src/source.js'
import { statesOf as madeOf, sourceOf } from '../../support/source.js'

/** A ticker of a market that lies in memory. */
export interface Listing extends Partial<Omit<MarketBars, 'ticker' | 'series'>> {
  ticker: string
  /** Daily bars. */
  series: Series
  /** Bands of the field `made` by bar, 0..2 or UNDEFINED; other fields are classified by the engine. */
  codes?: Uint8Array
}

/** Bands of the field `made`. */
export const MADE_BANDS = ['low', 'middle', 'high']

/** The market of these tickers; as of the newest bar. Made by the engine from bars, without a store. */
export function marketOf(listings: readonly Listing[]): PricedSource {
  const found = (ticker: string): Listing => listings.find(listing => listing.ticker === ticker)!
  return sourceOf({
    ...madeOf(
      (ticker, timeframe) => barsOf(found(ticker), timeframe),
      (ticker, field, timeframe) => statesOf(found(ticker), field, timeframe),
    ),
    fields: async () => [{ name: 'made', tier: 'free', needs: 'bars', bands: MADE_BANDS, summary: '' }, ...FIELDS],
    withBars: async () => listings.map(({ ticker }) => ticker).sort(),
    asOfDay: async () => Math.max(...listings.map(({ series }) => series.days.at(-1)!)),
  })
}

/** The same ticker with its first bars alone. */
export function cut({ series, codes, ...rest }: Listing, bars: number): Listing {
  return { ...rest, series: head(series, bars), ...(codes === undefined ? {} : { codes: codes.slice(0, bars) }) }
}

function barsOf({ series, codes, ...rest }: Listing, timeframe: Timeframe): MarketBars {
  return {
    assetClass: 'stock',
    adjustment: 'adjusted',
    barsAYear: timeframe === 'daily' ? 252 : 52,
    delisting: null,
    ...rest,
    series: timeframe === 'daily' ? series : weekly(series),
  }
}

function statesOf(listing: Listing, field: string, timeframe: Timeframe): States {
  const { series } = barsOf(listing, timeframe)
  const made = field === 'made' ? null : fieldNamed(field)!
  const codes = made === null ? listing.codes! : made.classify(new Panel(series))
  const changes = transitions(codes)
  const { stability, flips } = entries(changes, TIMEFRAMES[timeframe].flipsLookback)
  const { bars, bands: entered, initialBand } = changes
  return {
    ticker: listing.ticker,
    field,
    timeframe,
    bands: made?.bands ?? MADE_BANDS,
    codes,
    from: 0,
    to: series.days.length,
    bars,
    entered,
    left: Uint8Array.from(bars, (_, i) => (i === 0 ? initialBand : entered[i - 1]!)),
    stability,
    flips,
  }
}

/** Codes of `made` that enter `high` on some bars, for one bar each, and are `middle` otherwise; none before `from`. */
export function codesWith(bars: number, events: readonly number[], from = 0): Uint8Array {
  const codes = new Uint8Array(bars).fill(1)
  codes.fill(UNDEFINED, 0, from)
  for (const bar of events) codes[bar] = 2
  return codes
}
