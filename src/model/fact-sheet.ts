import type { FactKind, FactRecords, Facts, Security } from './facts.js'

/** Where records came from. */
export interface FactSource {
  file: string
  format: string
  /** ISO time, UTC. */
  imported_at: string
}

/** All records of one kind of one ticker, in the order in which they were given, and the source of each. */
export interface FactSheet<Kind extends FactKind = FactKind> {
  sources: readonly FactSource[]
  rows: readonly { source: number; record: FactRecords[Kind] }[]
}

/** Everything kept about a ticker beside its bars. */
export type FactSheets = { readonly [Kind in FactKind]?: FactSheet<Kind> }

/** The records without their sources. */
export function factsOf(sheets: FactSheets): Facts {
  const records = <Kind extends FactKind>(kind: Kind): FactRecords[Kind][] =>
    ((sheets[kind] as FactSheet<Kind> | undefined)?.rows ?? []).map(row => row.record)
  return {
    reports: records('reports'),
    earnings: records('earnings'),
    schedule: records('schedule'),
    ratings: records('ratings'),
    grades: records('grades'),
    insiders: records('insiders'),
    splits: records('splits'),
  }
}

export function securityOf(sheets: FactSheets): Security | null {
  return sheets.securities?.rows.at(-1)?.record ?? null
}
