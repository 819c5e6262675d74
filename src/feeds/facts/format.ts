import type { Columns, FactRow } from './row.js'
import type { FactsSink } from './sink.js'

/** A layout of tables of facts: how it is told, what is read of it, and what its rows become. */
export interface FactsFormat<Reads extends Columns = Columns> {
  /** In words for people. */
  name: string
  /** The columns by which it is told, all of them; `ticker` is no matter. */
  told: readonly string[]
  reads: Reads
  begin(out: FactsSink): Taking<Reads>
}

/** What becomes of one file. */
export interface Taking<Reads extends Columns = Columns> {
  /** Takes one row; throws BadCell when it is bad. Nothing may be added or remarked before all of it is read. */
  row(row: FactRow<Reads>): void
  /** After the last row. */
  end?(): void
}

/** A layout that is known and not loaded, and why. */
export interface RefusedFormat {
  told: readonly string[]
  /** A sentence that starts after `file:line: `, with what to do instead. */
  refusal: string
}

/** A format as one of many; what its columns hold is checked here, where they are all known. */
export function factsFormat<const Reads extends Columns>(format: FactsFormat<Reads>): FactsFormat {
  return format as unknown as FactsFormat
}
