import type { Field, TechnicalField } from './field.js'
import { FUNDAMENTAL_FIELDS } from './fundamental.js'
import { accumulationState } from './technical/accumulation-state.js'
import { maAlignment } from './technical/ma-alignment.js'
import { macdState } from './technical/macd-state.js'
import { resistanceStatus } from './technical/resistance-status.js'
import { rsiZone } from './technical/rsi-zone.js'
import { supportStatus } from './technical/support-status.js'
import { trendDirection } from './technical/trend-direction.js'
import { volatilityRegime } from './technical/volatility-regime.js'
import { volumeRatioBand } from './technical/volume-ratio-band.js'

/** The fields that are computed from bars, in the order of the specification. */
export const TECHNICAL_FIELDS: readonly TechnicalField[] = [
  rsiZone,
  trendDirection,
  maAlignment,
  volumeRatioBand,
  accumulationState,
  volatilityRegime,
  macdState,
  supportStatus,
  resistanceStatus,
]

/** All 21 fields, in the order of the specification. */
export const FIELDS: readonly Field[] = [...TECHNICAL_FIELDS, ...FUNDAMENTAL_FIELDS]

export const FIELD_NAMES: readonly string[] = FIELDS.map(field => field.name)

export function fieldNamed(name: string): Field | undefined {
  return FIELDS.find(field => field.name === name)
}

export function isTechnical(field: Field): field is TechnicalField {
  return field.needs === 'bars'
}
export type { Field, TechnicalField } from './field.js'
