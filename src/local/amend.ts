import { recordFields } from '../engine/record.js'
import { weekly } from '../engine/weekly.js'
import type { Field } from '../fields/field.js'
import { FIELDS } from '../fields/index.js'
import { Panel } from '../fields/panel.js'
import type { Facts } from '../model/facts.js'
import type { AssetClass, Series } from '../model/series.js'
import { TIMEFRAME_NAMES, type Timeframe } from '../model/timeframe.js'
import type { Amendment, Store } from '../store/store.js'
import { Sectors } from './sectors.js'

/** What new facts about a ticker change; bars and technical fields stay as they are. */
export function amendedByFacts(
  ticker: string,
  daily: Series,
  assetClass: AssetClass | null,
  facts: Facts | null,
): Amendment[] {
  const fields = FIELDS.filter(field => field.needs !== 'bars')
  const series = { daily, weekly: weekly(daily, assetClass ?? undefined) }
  return TIMEFRAME_NAMES.map(timeframe => amendment(ticker, new Panel(series[timeframe], facts), fields))
}

/** What a sector's tickers are to each other, once all of them are in place. */
export async function amendedBySector(store: Store, key: string): Promise<Amendment[]> {
  const fields = FIELDS.filter(field => field.needs === 'sector')
  const sectors = new Sectors(store)
  const members = await sectors.members(key)
  const found: Amendment[] = []
  for (const timeframe of TIMEFRAME_NAMES) {
    const sector = await sectors.of(key, timeframe)
    for (const { entry, daily, facts } of members) {
      const series = timeframe === 'daily' ? daily : weekly(daily, entry.assetClass ?? undefined)
      const panel = new Panel(series, facts, sector.seenFrom(entry.ticker))
      found.push(amendment(entry.ticker, panel, fields))
    }
  }
  return found
}

function amendment(ticker: string, panel: Panel, fields: readonly Field[]): Amendment {
  const recorded = recordFields(panel, fields)
  const timeframe: Timeframe = panel.series.timeframe
  return { ticker, timeframe, fields: new Map(fields.map(({ name }) => [name, recorded.get(name) ?? null])) }
}
