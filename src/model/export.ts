import type { BandEvent } from './event.js'
import type { Timeframe } from './timeframe.js'

/** One event as `bands export events` writes it: the resource of the specification, placed, with its exact figures. */
export interface ExportedEvent extends BandEvent {
  ticker: string
  field: string
  timeframe: Timeframe
  /** Window → close-to-close return, a fraction; null until it exists. */
  returns: Record<string, number | null>
  /** Window → percentile, 0..100, of that return; null where the aftermath is. */
  percentiles: Record<string, number | null>
}

/** One bar with its indicators and bands by name, null where undefined, in the order of `seriesColumns`. */
export type ExportedSeriesBar = Readonly<Record<string, string | number | null>>

/** One daily bar, as it can be imported again. */
export interface ExportedBar {
  ticker: string
  date: string
  open: number
  high: number
  low: number
  close: number
  /** null where unknown */
  volume: number | null
}

/** A column of a table made of rows: its name, what it holds, and how to take its value out of a row. */
export interface Column<Row> {
  name: string
  kind: 'text' | 'date' | 'integer' | 'number'
  of(row: Row): string | number | null
}
