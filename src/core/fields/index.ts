// For: the 21 band fields, each declared once, and those of a user.
// In: indicators and dated facts of one ticker.
// Out: a band, or none, for each bar.

import { isRuled, type RuledField, rulesInWords } from '../language/as-field.js'
import type { NamedConditions } from '../language/condition.js'
import {
  earningsProximity,
  earningsSurprise,
  epsGrowthDirection,
  growthZone,
  revenueGrowthDirection,
} from './earnings.js'
import type { Field } from './field.js'
import { analystConsensus, analystConsensusDirection, insiderActivityZone, netDirection } from './people.js'
import {
  accumulationState,
  maAlignment,
  macdState,
  resistanceStatus,
  rsiZone,
  supportStatus,
  trendDirection,
  volatilityRegime,
  volumeRatioBand,
} from './technical.js'
import { peVsHistorical, peVsSector, valuationZone } from './valuation.js'

/** The fields from bars, in the order of the specification. */
export const TECHNICAL_FIELDS: readonly Field[] = [
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

/** The fields that also need dated facts, in the order of the specification. */
export const FUNDAMENTAL_FIELDS: readonly Field[] = [
  valuationZone,
  growthZone,
  earningsProximity,
  analystConsensus,
  peVsHistorical,
  peVsSector,
  revenueGrowthDirection,
  epsGrowthDirection,
  earningsSurprise,
  analystConsensusDirection,
  insiderActivityZone,
  netDirection,
]

/** All 21 fields, in the order of the specification. */
export const FIELDS: readonly Field[] = [...TECHNICAL_FIELDS, ...FUNDAMENTAL_FIELDS]

/** The fields that compare a ticker with its sector. */
export const BY_SECTOR: readonly Field[] = FIELDS.filter(field => field.needs === 'sector')

/** The fields that need no other ticker. */
export const WITHOUT_SECTOR: readonly Field[] = FIELDS.filter(field => field.needs !== 'sector')

/** The available fields; every source has a set, and the parser of a query uses it. */
export interface FieldSet<Known extends AnyField = AnyField> {
  /** In the order of the specification, then the user's own fields. */
  readonly all: readonly Known[]
  readonly names: readonly string[]
  named(name: string): Known | undefined
  /** The conditions that the user has named; absent at a server. */
  readonly conditions?: NamedConditions
}

/** A field from bars and facts, or from the bands of other fields. */
export type AnyField = Field | RuledField

/** Whether every store has its events: not for a field that the user made, by rules or as an expression (`hash`). */
export function isRecorded(field: AnyField): field is Field {
  return !isRuled(field) && field.hash === undefined
}

export function ruleInWords(field: AnyField): string {
  return isRuled(field) ? rulesInWords(field) : field.rule
}

export function fieldSet<Known extends AnyField>(all: readonly Known[]): FieldSet<Known> {
  const byName = new Map(all.map(field => [field.name, field]))
  return { all, names: all.map(field => field.name), named: name => byName.get(name) }
}

/** Only the specified fields: the recorded ones, and all that a server knows. */
export const BUILT_IN_FIELDS = fieldSet(FIELDS)

export type { Field } from './field.js'
