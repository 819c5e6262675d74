import { TOLERANCE } from '../indicators/rank.js'
import { type Expression, printExpression, termReadings, valuesOf, warmUpOf } from '../language/expression.js'
import { UNDEFINED } from '../model/series.js'
import { cutsInWords, type Field } from './field.js'

/** A field of a user's own that is made of an expression: its bands begin at cuts. */
export interface OwnExpression {
  name: string
  of: Expression
  /** Ascending, one fewer than the bands. */
  cuts: readonly number[]
  bands: readonly string[]
  hash: string
}

/** It has no band before its expression can have a value. */
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
    classify: ({ series }) => zonesOf(valuesOf(of, series), cuts),
    readings: ({ series }, t) => [
      ...termReadings(of, series, t).map(({ term, value }) => ({ name: term, value })),
      ...(of.is === 'call' || of.is === 'price' ? [] : [{ name: text, value: known(valuesOf(of, series)[t]!) }]),
    ],
  }
}

function known(value: number): number | null {
  return Number.isNaN(value) ? null : value
}

/** A band begins at its cut, within a tolerance that grows with the cut itself. */
function zonesOf(values: Float64Array, cuts: readonly number[]): Uint8Array {
  const begins = cuts.map(cut => cut - TOLERANCE * Math.max(1, Math.abs(cut)))
  const codes = new Uint8Array(values.length).fill(UNDEFINED)
  for (let t = 0; t < codes.length; t++) {
    const value = values[t]!
    if (!Number.isFinite(value)) continue
    let zone = 0
    for (const begin of begins) zone += Number(value >= begin)
    codes[t] = zone
  }
  return codes
}
