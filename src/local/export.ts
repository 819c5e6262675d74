import { FIELDS, type Field } from '../fields/index.js'
import { formatDay } from '../model/day.js'
import type { ExportedBar, ExportedEvent } from '../model/export.js'
import { TIMEFRAME_NAMES, type Timeframe } from '../model/timeframe.js'
import { entitleExport } from '../policy/entitle.js'
import { fieldValue, tickerValue, timeframeValue } from '../query/values.js'
import type { Cache } from './cache.js'
import { historicEvent } from './describe.js'
import type { View } from './view.js'

/** What to export; a list that is not given or empty means all. */
export interface ExportFilter {
  tickers?: readonly string[]
  fields?: readonly string[]
  timeframes?: readonly Timeframe[]
}

/**
 * Every event of the store, by ticker, timeframe (daily, weekly), field (in the order of the specification) and date.
 * The whole history, whatever the tier's range: an export is for the owner of the store, and a comparison needs all of
 * it. The as-of day holds. Throws TierRestricted below Pro, InvalidParameter for an unknown field or timeframe,
 * NotFound for an unknown ticker, Busy while
 * an import of facts is not finished; all before the first row.
 */
export async function* exportEvents(cache: Cache, filter: ExportFilter = {}): AsyncGenerator<ExportedEvent> {
  entitleExport(cache.tier)
  const fields = chosenFields(filter)
  await cache.checkFinished(fields)
  for (const ticker of await chosenTickers(cache, filter)) {
    for (const timeframe of chosenTimeframes(filter)) {
      for (const field of fields) {
        const view = await cache.view(ticker, timeframe, field.name)
        for (let i = 0; i < view.events; i++) yield exported(view, field.name, i)
      }
    }
  }
}

/** The daily bars as they are kept, by ticker and date. Throws as `exportEvents` does. */
export async function* exportBars(
  cache: Cache,
  filter: Pick<ExportFilter, 'tickers'> = {},
): AsyncGenerator<ExportedBar> {
  entitleExport(cache.tier)
  for (const ticker of await chosenTickers(cache, filter)) {
    const { days, open, high, low, close, volume } = await cache.series(ticker, 'daily')
    for (let t = 0; t < days.length; t++) {
      yield {
        ticker,
        date: formatDay(days[t]!),
        open: open[t]!,
        high: high[t]!,
        low: low[t]!,
        close: close[t]!,
        volume: Number.isNaN(volume[t]!) ? null : volume[t]!,
      }
    }
  }
}

/** Ascending, each once. Throws NotFound with the nearest tickers. */
export async function chosenTickers(cache: Cache, { tickers = [] }: ExportFilter): Promise<string[]> {
  if (tickers.length === 0) return (await cache.store.tickers()).map(entry => entry.ticker)
  const asked = [...new Set(tickers.map(text => tickerValue('ticker', text)))].sort()
  for (const ticker of asked) await cache.entry(ticker)
  return asked
}

/** In the order of the specification. Throws InvalidParameter. */
export function chosenFields({ fields = [] }: ExportFilter): readonly Field[] {
  if (fields.length === 0) return FIELDS
  const asked = new Set(fields.map(name => fieldValue('field', name)))
  return FIELDS.filter(field => asked.has(field))
}

/** Daily before weekly. Throws InvalidParameter. */
export function chosenTimeframes({ timeframes = [] }: ExportFilter): readonly Timeframe[] {
  if (timeframes.length === 0) return TIMEFRAME_NAMES
  const asked = new Set(timeframes.map(name => timeframeValue('timeframe', name)))
  return TIMEFRAME_NAMES.filter(name => asked.has(name))
}

function exported(view: View, field: string, i: number): ExportedEvent {
  const { returns, percentiles, missing: _missing, ...event } = historicEvent(view, i)
  return {
    ticker: view.ticker,
    field,
    timeframe: view.timeframe,
    ...event,
    returns: returns!,
    percentiles: percentiles!,
  }
}
