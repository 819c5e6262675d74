import type { Field } from '../fields/field.js'
import type { Panel } from '../fields/panel.js'
import { percentile, type Ranks } from '../indicators/rank.js'
import { formatDay } from '../model/day.js'
import type { ExportedSeriesBar } from '../model/export.js'
import { UNDEFINED } from '../model/record.js'
import { entitleExport } from '../policy/entitle.js'
import type { Cache } from './cache.js'
import { chosenFields, chosenTickers, chosenTimeframes, type ExportFilter } from './export.js'
import { Sectors } from './sectors.js'

/**
 * A row a bar: prices, every indicator, and the band of every field on that very bar (null where undefined; not the
 * band in force), by ticker, timeframe and date. `fields` chooses among the bands. Throws as `exportEvents` does.
 */
export async function* exportSeries(cache: Cache, filter: ExportFilter = {}): AsyncGenerator<ExportedSeriesBar> {
  entitleExport(cache.tier)
  const fields = chosenFields(filter)
  await cache.checkFinished(fields)
  const sectors = new Sectors(cache.store)
  for (const ticker of await chosenTickers(cache, filter)) {
    for (const timeframe of chosenTimeframes(filter)) {
      const { days } = await cache.series(ticker, timeframe)
      yield* rowsOf(ticker, await cache.panel(ticker, timeframe, fields, sectors), days.length, fields)
    }
  }
}

/** The indicators' names and where each comes from, in the order in which they are written. */
export const INDICATORS: readonly (readonly [name: string, column: (panel: Panel) => Float64Array])[] = [
  ['rsi', panel => panel.rsi],
  ['atr', panel => panel.atr],
  ['natr', panel => panel.natr],
  ['natr_pct', panel => percentiles(panel.natrRanks)],
  ['macd', panel => panel.macd.macd],
  ['signal', panel => panel.macd.signal],
  ['sma20', panel => panel.smaShort],
  ['sma50', panel => panel.smaMiddle],
  ['sma200', panel => panel.smaLong],
  ['slope20', panel => panel.slope],
  ['volume_ratio', panel => panel.volumeRatio],
  ['adl_slope', panel => panel.accumulation],
  ['adl_pct', panel => percentiles(panel.accumulationRanks)],
  ['support_level', panel => panel.support.level],
  ['resistance_level', panel => panel.resistance.level],
]

export const PRICES = ['open', 'high', 'low', 'close', 'volume'] as const

function* rowsOf(ticker: string, panel: Panel, bars: number, fields: readonly Field[]): Generator<ExportedSeriesBar> {
  const { series } = panel
  const numbers = [
    ...PRICES.map(name => [name, series[name]] as const),
    ...INDICATORS.map(([name, column]) => [name, column(panel)] as const),
  ]
  const bands = fields.map(field => ({ field, codes: field.classify(panel) }))
  for (let t = 0; t < bars; t++) {
    const row: Record<string, string | number | null> = {
      ticker,
      timeframe: series.timeframe,
      date: formatDay(series.days[t]!),
    }
    for (const [name, values] of numbers) row[name] = Number.isNaN(values[t]!) ? null : values[t]!
    for (const { field, codes } of bands) {
      const code = codes[t]!
      row[field.name] = code === UNDEFINED ? null : field.bands[code]!
    }
    yield row
  }
}

function percentiles({ rank, size }: Ranks): Float64Array {
  return Float64Array.from(rank, (at, t) => percentile(at, size[t]!))
}
