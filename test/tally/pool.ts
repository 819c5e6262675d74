import { onTestFinished } from 'vitest'
import type { Tier, Timeframe } from '../../src/core/model/terms.js'
import type { Local } from '../../src/data/local/local.js'
import { simulatedTickers } from '../../src/data/simulate/simulate.js'
import { barsOf } from '../support/convert.js'
import {
  type Bar,
  bands,
  type Event,
  events,
  type FieldName,
  rangeStart,
  recorded,
  weeklyBars,
} from '../support/oracle/index.js'
import { cacheOf } from '../support/store.js'

const TICKERS = [...simulatedTickers({ count: 3, bars: 900, seed: 5, end: 17_000 })]
export const NAMES = TICKERS.map(({ ticker }) => ticker)

/** Three simulated tickers in a store of their own, as a caller of a tier sees them; closed when the test is done. */
export async function local(tier: Tier = 'pro'): Promise<Local> {
  const bands = await cacheOf(
    TICKERS.map(({ ticker, bars }) => ({ ticker, series: bars })),
    { tier },
  )
  onTestFinished(() => bands.close())
  return bands
}

/** What the oracle finds in the pool: every event in range, and what followed every bar in range on which the field is defined. */
export interface Found {
  ticker: string
  events: Event[]
  everyBar: Event[]
}

export function oracleFinds(field: FieldName, timeframe: Timeframe, tier: 'plus' | 'pro' = 'pro'): Found[] {
  return TICKERS.map(({ ticker, bars }) => {
    const daily = barsOf(bars)
    const start = rangeStart(daily.at(-1)!.date, tier)
    const rows = timeframe === 'weekly' ? weeklyBars(daily) : daily
    const inRange = (event: Event): boolean => event.date > start
    return {
      ticker,
      events: events(daily, timeframe, field).filter(inRange),
      everyBar: everyBar(rows, timeframe, field).filter(inRange),
    }
  })
}

/** The oracle's band of a field on every bar, ticker by ticker, oldest first. */
export function oracleBands(field: FieldName, timeframe: Timeframe): { date: string; band: string | null }[][] {
  return TICKERS.map(({ bars }) => {
    const daily = barsOf(bars)
    const rows = timeframe === 'weekly' ? weeklyBars(daily) : daily
    const own = bands(rows, timeframe, field)
    return rows.map(({ date }, t) => ({ date, band: own[t]! }))
  })
}

/** A field that changes on every bar makes an event of each but the first, on which no field is defined yet. */
function everyBar(rows: Bar[], timeframe: Timeframe, field: FieldName): Event[] {
  const own = bands(rows, timeframe, field)
  const defined = new Set(rows.filter((_, t) => own[t] !== null).map(row => row.date))
  return recorded(
    rows,
    rows.map((_, t) => (t % 2 === 0 ? 'even' : 'odd')),
    timeframe,
  ).filter(event => defined.has(event.date))
}

/** Mean, hit rate and quantiles by their definitions, slowly. */
export function figuresOf(returns: number[]) {
  const sorted = [...returns].sort((a, b) => a - b)
  const n = sorted.length
  const at = (p: number): number | null => {
    if (n === 0) return null
    const place = (n - 1) * p
    const low = sorted[Math.floor(place)]!
    const high = sorted[Math.ceil(place)]!
    return low * (1 - (place % 1)) + high * (place % 1)
  }
  return {
    n,
    hit_rate: n === 0 ? null : sorted.filter(r => r > 0).length / n,
    mean: n === 0 ? null : sorted.reduce((sum, r) => sum + r, 0) / n,
    median: at(0.5),
    p10: at(0.1),
    p90: at(0.9),
  }
}
