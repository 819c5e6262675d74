import { isRuled, type RuledField, rulesInWords } from '../language/as-field.js'
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

/** The fields that are computed from bars, in the order of the specification. */
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

/** The fields that stand on dated facts too, in the order of the specification. */
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

/** Those that compare a ticker with its sector. */
export const BY_SECTOR: readonly Field[] = FIELDS.filter(field => field.needs === 'sector')

/** Those for which no other ticker is looked at. */
export const ALONE: readonly Field[] = FIELDS.filter(field => field.needs !== 'sector')

/** What can be asked for: who answers has one, and whoever reads a question is lent it. */
export interface FieldSet<Known extends AnyField = AnyField> {
  /** In the order of the specification, a user's own after them. */
  readonly all: readonly Known[]
  readonly names: readonly string[]
  named(name: string): Known | undefined
}

/** One that is made of bars and facts, or of the bands of others. */
export type AnyField = Field | RuledField

/** Whether events of it are in every store. */
export function isRecorded(field: AnyField): field is Field {
  return !isRuled(field) && field.hash === undefined
}

/** The rule in words, whatever it is made of. */
export function ruleInWords(field: AnyField): string {
  return isRuled(field) ? rulesInWords(field) : field.rule
}

export function fieldSet<Known extends AnyField>(all: readonly Known[]): FieldSet<Known> {
  const byName = new Map(all.map(field => [field.name, field]))
  return { all, names: all.map(field => field.name), named: name => byName.get(name) }
}

/** The specified ones alone: what is recorded, and all that a server knows. */
export const BUILT_IN = fieldSet(FIELDS)

export type { Field } from './field.js'
