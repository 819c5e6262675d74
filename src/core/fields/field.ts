import { byteColumn } from '../indicators/columns.js'
import { compare, percentile, type Ranks, TOLERANCE, zoneOfRank } from '../indicators/rank.js'
import { type Expression, printExpression, termReadings, valuesOf, warmUpOf } from '../language/expression.js'
import { UNDEFINED } from '../model/series.js'
import type { BandName, FieldName, Tier } from '../model/terms.js'
import type { Fundamentals } from './fundamentals.js'
import type { Panel } from './panel.js'

/** One input of a band's decision, for `bands explain`. */
export interface Reading {
  name: string
  /** null where undefined */
  value: number | null
  note?: string
}

/** The rule that turns a ticker's bars and facts into one category per bar. */
export interface Field<Band extends string = BandName> {
  /** As in the specification. */
  name: FieldName
  tier: Tier
  /** Its inputs: only bars, also dated facts, or also the other tickers of the sector. */
  needs: 'bars' | 'facts' | 'sector'
  /** Whether it has no band where the volume is unknown. */
  usesVolume?: true
  /** The vocabulary, in order of severity where there is one. */
  bands: readonly Band[]
  /** The meaning of the field, in one line. */
  summary: string
  /** The rule in words: formula, seed, cuts. */
  rule: string
  /** Hash of the definition of a user's own field; such a field is never recorded. */
  readonly hash?: string
  /** First bar on which the bars allow a band, from 0. @internal */
  warmUp(panel: Panel): number
  /** A code per bar, from it, earlier bars, and facts usable on its date; arbitrary before the first bar. @internal */
  classify(panel: Panel): Uint8Array
  /** The inputs that decided bar t. @internal */
  readings(panel: Panel, t: number): Reading[]
}

/** The code that a rule gives each bar from bar `from` on; UNDEFINED before, and where the rule returns it. */
export function codesByBar(length: number, from: number, rule: (t: number) => number): Uint8Array {
  const out = byteColumn(length).fill(UNDEFINED, 0, from)
  for (let t = from; t < length; t++) out[t] = rule(t)
  return out
}

/** The code that a rule gives the item of each bar. Items rarely change: the rule runs only at changes. */
export function codesOf<Item>(items: readonly Item[], rule: (item: Item) => number): Uint8Array {
  const out = byteColumn(items.length)
  for (let t = 0; t < out.length; t++) out[t] = t > 0 && items[t] === items[t - 1] ? out[t - 1]! : rule(items[t]!)
  return out
}

/**
 * The zone of each value from bar `from` on: the number of ascending cuts that it reaches. UNDEFINED before, and for
 * NaN.
 * @param scaleOf the size of a cut, or of all cuts: the tolerance for rounding errors grows with it
 */
export function zonesByBar(
  values: Float64Array,
  cuts: readonly number[],
  scaleOf: number | ((cut: number) => number),
  from = 0,
): Uint8Array {
  const out = byteColumn(values.length).fill(UNDEFINED)
  const tolerances = cuts.map(cut => TOLERANCE * (typeof scaleOf === 'number' ? scaleOf : scaleOf(cut)))
  for (let t = from; t < out.length; t++) {
    const value = values[t]!
    if (Number.isNaN(value)) continue
    // As zoneOf, with arithmetic in place of unpredictable branches.
    let zone = 0
    for (let i = 0; i < cuts.length; i++) zone += Number(value - cuts[i]! >= -tolerances[i]!)
    out[t] = zone
  }
  return out
}

/** Number of ascending cuts that a defined value reaches, within a tolerance that grows with `scale`. */
export function zoneOf(value: number, cuts: readonly number[], scale = 1): number {
  let zone = 0
  while (zone < cuts.length && compare(value, cuts[zone]!, scale) >= 0) zone++
  return zone
}

/** The zone of a value among cuts on both sides of 0. An edge is in the outer zone, values near 0 in the middle. */
export function zoneBothWays(value: number, cuts: readonly number[]): number {
  return cuts.length + zoneOf(value, cuts) - zoneOf(-value, cuts)
}

/** The zone of each rolling percentile among cuts from bar `from` on; UNDEFINED before, and without a rank (-1). */
export function rankZones({ rank, size }: Ranks, cuts: readonly number[], from = 0): Uint8Array {
  const out = byteColumn(rank.length).fill(UNDEFINED)
  for (let t = from; t < out.length; t++) if (rank[t]! >= 0) out[t] = zoneOfRank(rank[t]!, size[t]!, cuts)
  return out
}

/** A field whose rule reads dated facts. A ticker without any has no band on any bar, and the reading says so. */
export function factField(
  field: Omit<Field, 'needs' | 'warmUp' | 'classify' | 'readings'> & {
    /** Default `facts`. */
    needs?: 'sector'
    /** Default none. */
    warmUp?: Field['warmUp']
    classify(company: Fundamentals): Uint8Array
    readings(company: Fundamentals, t: number): Reading[]
  },
): Field {
  const noFacts = [reading('facts', undefined, 'none that count are known of this ticker')]
  return {
    needs: 'facts',
    warmUp: () => 0,
    ...field,
    classify: ({ series, fundamentals }) =>
      fundamentals === null ? new Uint8Array(series.days.length).fill(UNDEFINED) : field.classify(fundamentals),
    readings: ({ fundamentals }, t) => (fundamentals === null ? noFacts : field.readings(fundamentals, t)),
  }
}

/** A user's own field from an expression and cuts. */
export interface OwnExpression {
  name: string
  of: Expression
  /** Ascending, one fewer than the bands. */
  cuts: readonly number[]
  bands: readonly string[]
  hash: string
}

/** A user's own expression as a field: the cuts divide its values into bands. Bars without a value have no band. */
export function expressionField({ name, of, cuts, bands, hash }: OwnExpression): Field {
  const text = printExpression(of)
  const warmUp = warmUpOf(of)
  return {
    name,
    tier: 'free',
    needs: 'bars',
    bands,
    summary: `your own: ${text}`,
    rule: `${text}; ${cutsInWords(bands, cuts)}`,
    hash,
    warmUp: () => warmUp,
    // A band begins at its cut, within a tolerance that grows with the cut.
    classify: ({ series }) => zonesByBar(valuesOf(of, series), cuts, cut => Math.max(1, Math.abs(cut))),
    readings: ({ series }, t) => {
      const terms = Array.from(termReadings(of, series, t), ([name, value]) => reading(name, value))
      const isOneTerm = of.is === 'call' || of.is === 'price'
      return isOneTerm ? terms : [...terms, reading(text, valuesOf(of, series)[t])]
    },
  }
}

/** A reading; its value is null for undefined and NaN. */
export function reading(name: string, value: number | undefined, note?: string): Reading {
  const definedValue = value === undefined || Number.isNaN(value) ? null : value
  return note === undefined ? { name, value: definedValue } : { name, value: definedValue, note }
}

/** A rolling percentile with the size of its sample. */
export function rankReading(name: string, { rank, size }: Ranks, t: number): Reading {
  return reading(name, percentile(rank[t]!, size[t]!), `among ${size[t]} defined bars`)
}

/** Cuts in words: `oversold < 30 ≤ neutral_low < 40 …`. */
export function cutsInWords(bands: readonly string[], cuts: readonly number[]): string {
  return bands.map((band, i) => (i === 0 ? band : `< ${cuts[i - 1]} ≤ ${band}`)).join(' ')
}
