import type { Field } from '../fields/field.js'
import { FIELDS } from '../fields/index.js'
import { Panel } from '../fields/panel.js'
import type { SectorView } from '../fields/sector.js'
import type { Facts } from '../model/facts.js'
import type { FieldRecord, SeriesRecord } from '../model/record.js'
import type { AssetClass, Series } from '../model/series.js'
import { TIMEFRAMES } from '../model/timeframe.js'
import { outcomes } from './outcomes.js'
import { entries } from './stability.js'
import { transitions } from './transitions.js'
import { weekly } from './weekly.js'

/**
 * One ticker's daily bars and facts → all that is recorded of it, daily and weekly.
 *  1. make weekly bars            weekly.ts
 *  2. classify every bar          fields/
 *  3. keep where the band changes transitions.ts
 *  4. label each entry            stability.ts
 *  5. look ahead from every bar   outcomes.ts
 *
 * Fields that compare a ticker with its sector see no other ticker here: `recordSeries` takes a sector, too.
 */
export function record(
  daily: Series,
  assetClass?: AssetClass,
  facts: Facts | null = null,
): { daily: SeriesRecord; weekly: SeriesRecord } {
  return { daily: recordSeries(daily, facts), weekly: recordSeries(weekly(daily, assetClass), facts) }
}

export function recordSeries(
  series: Series,
  facts: Facts | null = null,
  sector: SectorView | null = null,
): SeriesRecord {
  return { series, outcomes: outcomes(series), fields: recordFields(new Panel(series, facts, sector), FIELDS) }
}

/** The record of each field that has a band on some bar; of the others there is none. */
export function recordFields(panel: Panel, fields: readonly Field[]): Map<string, FieldRecord> {
  const found = new Map<string, FieldRecord>()
  for (const field of fields) {
    const changes = transitions(field.classify(panel))
    if (changes.initialBar < 0) continue
    found.set(field.name, { ...changes, ...entries(changes, TIMEFRAMES[panel.series.timeframe].flipsLookback) })
  }
  return found
}
