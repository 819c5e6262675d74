import { type FieldRecord, type Outcomes, type Series, UNDEFINED } from '../model/series.js'
import type { Calendar } from './store.js'

/**
 * Columns as blobs: the typed arrays one after another, little-endian, widest numbers first so that each stays aligned.
 * The number of rows follows from the blob's length, so a blob cannot disagree with a count beside it.
 */

export function encodeBars(series: Series): Buffer {
  return joined([series.open, series.high, series.low, series.close, series.volume, series.days])
}

/** null where the closes themselves are unadjusted. */
export function encodeUnadjusted({ unadjustedClose }: Series): Buffer | null {
  return unadjustedClose === undefined ? null : joined([unadjustedClose])
}

export function decodeBars(blob: Buffer, unadjusted: Buffer | null): Series {
  const bytes = aligned(blob)
  const rows = blob.length / (5 * 8 + 4)
  const column = (i: number): Float64Array => new Float64Array(bytes, i * rows * 8, rows)
  const days = new Int32Array(bytes, 5 * rows * 8, rows)
  return {
    timeframe: 'daily',
    days,
    known: days,
    open: column(0),
    high: column(1),
    low: column(2),
    close: column(3),
    volume: column(4),
    ...(unadjusted === null ? {} : { unadjustedClose: new Float64Array(aligned(unadjusted)) }),
  }
}

export function encodeCalendar({ days, known }: Calendar): Buffer {
  return joined([days, known])
}

export function decodeCalendar(blob: Buffer): Calendar {
  const bytes = aligned(blob)
  const rows = blob.length / 8
  return { days: new Int32Array(bytes, 0, rows), known: new Int32Array(bytes, rows * 4, rows) }
}

export function encodeOutcomes({ returns, ranks }: Outcomes): Buffer {
  return joined([...returns, ...ranks])
}

export function decodeOutcomes(blob: Buffer, windows: number): Outcomes {
  const bytes = aligned(blob)
  const rows = blob.length / (windows * 12)
  const each = Array.from({ length: windows }, (_, i) => i)
  return {
    returns: each.map(i => new Float64Array(bytes, i * rows * 8, rows)),
    ranks: each.map(i => new Int32Array(bytes, windows * rows * 8 + i * rows * 4, rows)),
  }
}

export function encodeRecord(record: FieldRecord): Buffer {
  const head = Int32Array.of(record.initialBar, record.initialBand)
  return joined([head, record.bars, record.bands, record.flips, record.stability])
}

export function decodeRecord(blob: Buffer): FieldRecord {
  const bytes = aligned(blob)
  const events = (blob.length - 8) / 7
  const [initialBar = -1, initialBand = UNDEFINED] = new Int32Array(bytes, 0, 2)
  const column = (i: number): Uint8Array => new Uint8Array(bytes, 8 + 4 * events + i * events, events)
  return {
    initialBar,
    initialBand,
    bars: new Int32Array(bytes, 8, events),
    bands: column(0),
    flips: column(1),
    stability: column(2),
  }
}

function joined(columns: readonly (Float64Array | Int32Array | Uint8Array)[]): Buffer {
  return Buffer.concat(columns.map(column => Buffer.from(column.buffer, column.byteOffset, column.byteLength)))
}

/** Typed arrays need their offset to be a multiple of their width; a small blob may lie anywhere in a shared pool. */
function aligned(blob: Buffer): ArrayBuffer {
  return blob.buffer.slice(blob.byteOffset, blob.byteOffset + blob.byteLength) as ArrayBuffer
}

/** Each part is preceded by its length, so that no two lists of parts read the same. */
export function digest(parts: Iterable<Buffer | string>): string {
  // Not imported above: a question that loads the schema hashes nothing, and node:crypto costs it a millisecond or two.
  const hash = process.getBuiltinModule('node:crypto').createHash('sha256')
  for (const part of parts) {
    hash.update(`${part.length}:`)
    hash.update(part)
  }
  return hash.digest('hex').slice(0, 32)
}
