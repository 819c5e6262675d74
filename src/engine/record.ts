import type { TechnicalField } from '../fields/field.js'
import { TECHNICAL_FIELDS } from '../fields/index.js'
import { Panel } from '../fields/panel.js'
import type { FieldRecord, SeriesRecord } from '../model/record.js'
import type { AssetClass, Series } from '../model/series.js'
import { TIMEFRAMES } from '../model/timeframe.js'
import { outcomes } from './outcomes.js'
import { entries } from './stability.js'
import { transitions } from './transitions.js'
import { weekly } from './weekly.js'

/**
 * One ticker's daily bars → all that is recorded of it, daily and weekly.
 *  1. make weekly bars            weekly.ts
 *  2. classify every bar          fields/
 *  3. keep where the band changes transitions.ts
 *  4. label each entry            stability.ts
 *  5. look ahead from every bar   outcomes.ts
 */
export function record(daily: Series, assetClass?: AssetClass): { daily: SeriesRecord; weekly: SeriesRecord } {
  return { daily: recordSeries(daily), weekly: recordSeries(weekly(daily, assetClass)) }
}

export function recordSeries(series: Series): SeriesRecord {
  const panel = new Panel(series)
  const fields = new Map(TECHNICAL_FIELDS.map(field => [field.name, recordField(panel, field)] as const))
  return { series, outcomes: outcomes(series), fields }
}

function recordField(panel: Panel, field: TechnicalField): FieldRecord {
  const changes = transitions(field.classify(panel))
  return { ...changes, ...entries(changes, TIMEFRAMES[panel.series.timeframe].flipsLookback) }
}
