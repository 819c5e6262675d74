import { countUpTo } from '../../core/model/day.js'
import {
  emptySeries,
  type FieldColumns,
  type FieldRecord,
  type FieldTail,
  type Outcomes,
  type Series,
} from '../../core/model/series.js'
import { TIMEFRAMES, type Timeframe } from '../../core/model/terms.js'
import type { Calendar, FieldHead, PackedEnd } from './store.js'

/**
 * Columns as blobs, one chunk of bars at a time. A chunk holds the typed arrays of its bars, one after another:
 * little-endian, widest numbers first. The number of bars follows from the blob's length, so no separate count can
 * disagree. A return is stored in the chunk where its window ends, so that new bars change only the last chunks.
 */

/** The number of bars in a chunk, except the last two. */
export const BARS_PER_CHUNK = 256

/** The most bars in the last chunk: a new bar changes only that one, until it is full. */
const MAX_BARS_IN_LAST = 32

/** The number of the chunk of 256 bars that a bar is in. */
export function chunkOf(bar: number): number {
  return Math.floor(bar / BARS_PER_CHUNK)
}

/** The bars at which chunks end: multiples of 256, then of 32, then after the last 1 to 32. 340 → 256, 320, 340 */
export function chunkEnds(bars: number): number[] {
  const ends: number[] = []
  for (let end = BARS_PER_CHUNK; end <= bars; end += BARS_PER_CHUNK) ends.push(end)
  const remainder = bars % BARS_PER_CHUNK
  const barsInLast = ((remainder - 1) % MAX_BARS_IN_LAST) + 1
  if (remainder > MAX_BARS_IN_LAST) ends.push(bars - barsInLast)
  if (remainder > 0) ends.push(bars)
  return ends
}

/** The bars at which stored chunks end. Up to schema 9 all bars after the chunks of 256 were in one. */
export function storedEnds(bars: number, chunks: number): number[] {
  const ends = chunkEnds(bars)
  return chunks === ends.length ? ends : [...ends.filter(end => end % BARS_PER_CHUNK === 0), bars]
}

type Column = Float64Array | Int32Array | Uint8Array

/** The bars `from` up to `to`, not included, of each chunk from number `first` on. @param bars the number of all bars */
function chunkBounds(bars: number, first: number): [from: number, to: number][] {
  const ends = chunkEnds(bars)
  return ends.slice(first).map((end, i) => [ends[first + i - 1] ?? 0, end])
}

/**
 * Cuts columns into the chunks from number `first` on.
 * @param bars the number of all bars
 * @param firstBar the bar with which the columns begin
 */
function cutIntoChunks(columns: readonly Column[], bars: number, first: number, firstBar = 0): Buffer[] {
  return chunkBounds(bars, first).map(([from, to]) =>
    Buffer.concat(columns.map(column => bytesOf(column.subarray(from - firstBar, to - firstBar)))),
  )
}

/** The number of bars in some chunks. @param width the bytes of a bar */
function countBars(chunks: readonly Buffer[], width: number): number {
  return chunks.reduce((sum, { length }) => sum + length, 0) / width
}

/** Fills columns of one length from their chunks, and returns them. */
function fillColumns<Columns extends readonly Column[]>(columns: Columns, chunks: readonly Buffer[]): Columns {
  const bytes = columns.map(bytesOf)
  const width = columns.reduce((sum, column) => sum + column.BYTES_PER_ELEMENT, 0)
  let bar = 0
  for (const chunk of chunks) {
    const bars = chunk.length / width
    let at = 0
    for (let c = 0; c < columns.length; c++) {
      const size = columns[c]!.BYTES_PER_ELEMENT
      chunk.copy(bytes[c]!, bar * size, at, at + bars * size)
      at += bars * size
    }
    bar += bars
  }
  return columns
}

/** The chunks of prices, volume and dates of daily bars, from number `first` on. */
export function encodePrices({ open, high, low, close, volume, days }: Series, first = 0): Buffer[] {
  return cutIntoChunks([open, high, low, close, volume, days], days.length, first)
}

/** The chunks of the unadjusted closes, from number `first` on; null if the closes themselves are unadjusted. */
export function encodeUnadjusted({ unadjustedClose, days }: Series, first = 0): Buffer[] | null {
  return unadjustedClose === undefined ? null : cutIntoChunks([unadjustedClose], days.length, first)
}

/**
 * Daily bars from their chunks.
 * @param unadjusted the chunks of unadjusted closes, if there are any
 * @param room number of bars, all zero, after the stored ones
 */
export function decodePrices(prices: readonly Buffer[], unadjusted: readonly Buffer[] | null, room = 0): Series {
  const bars = countBars(prices, 5 * 8 + 4) + room
  const series = emptySeries('daily', bars)
  fillColumns([series.open, series.high, series.low, series.close, series.volume, series.days], prices)
  series.known = series.days
  if (unadjusted !== null) [series.unadjustedClose] = fillColumns([new Float64Array(bars)] as const, unadjusted)
  return series
}

/** The chunks of the dates of bars. A daily bar is final on its own date, which is not written twice. */
export function encodeCalendar({ days, known }: Calendar, timeframe: Timeframe, first = 0): Buffer[] {
  return cutIntoChunks(timeframe === 'daily' ? [days] : [days, known], days.length, first)
}

/** The dates of bars from their chunks; a daily bar is final on its own date. */
export function decodeCalendar(timeframe: Timeframe, chunks: readonly Buffer[]): Calendar {
  const bars = countBars(chunks, timeframe === 'daily' ? 4 : 8)
  const days = new Int32Array(bars)
  const known = timeframe === 'daily' ? days : new Int32Array(bars)
  fillColumns(timeframe === 'daily' ? [days] : [days, known], chunks)
  return { days, known }
}

/**
 * The chunks, from number `first` on, of the close of each bar and the rank of the return over each window that ended
 * on it.
 * @param stored the stored chunks from the same bar on, whose ranks before bar `since` stay
 */
export function encodeOutcomes(
  { close }: Series,
  { ranks }: Pick<Outcomes, 'ranks'>,
  timeframe: Timeframe,
  first = 0,
  stored?: { chunks: readonly Uint8Array[]; since: number },
): Buffer[] {
  const from = chunkEnds(close.length)[first - 1] ?? 0
  const storedRanks = stored && decodeRanksByEnd(timeframe, stored.chunks.map(asBuffer))
  const ranksByEnd = TIMEFRAMES[timeframe].windows.map((window, w) => {
    const column = new Int32Array(Math.max(0, close.length - from)).fill(-1)
    const begin = Math.max(from, window)
    if (close.length > begin) column.set(ranks[w]!.subarray(begin - window, close.length - window), begin - from)
    if (storedRanks !== undefined) column.set(storedRanks[w]!.subarray(0, stored!.since - from))
    return column
  })
  return cutIntoChunks([close.subarray(from), ...ranksByEnd], close.length, first, from)
}

/** The ranks of the returns that ended on each bar, by window. */
function decodeRanksByEnd(timeframe: Timeframe, chunks: readonly Buffer[]): Int32Array[] {
  const { windows } = TIMEFRAMES[timeframe]
  const bars = countBars(chunks, 8 + 4 * windows.length)
  const ranksByEnd = windows.map(() => new Int32Array(bars))
  fillColumns([new Float64Array(bars), ...ranksByEnd], chunks)
  return ranksByEnd
}

/** Closes and ranks from their chunks. A rank moves to the bar on which its window begins; -1 if it is not complete. */
export function decodeOutcomes(timeframe: Timeframe, chunks: readonly Buffer[]): Outcomes {
  const { windows } = TIMEFRAMES[timeframe]
  const bars = countBars(chunks, 8 + 4 * windows.length)
  const close = new Float64Array(bars)
  // Each array ends with the windows that are not complete yet.
  const ranksByEnd = windows.map(window => new Int32Array(bars + window).fill(-1, bars))
  fillColumns([close, ...ranksByEnd.map(column => column.subarray(0, bars))], chunks)
  return { close, ranks: windows.map((window, w) => ranksByEnd[w]!.subarray(window)) }
}

/**
 * The events of all fields of a series. Layout of a chunk:
 * - the number of fields; per field the number of events, and of gaps: runs of bars without a band
 * - the bar of each event, first bar and end of each gap (int32)
 * - band, flips and stability of each event (uint8)
 * - the names of the fields, separated by spaces
 * A gap that continues in the next chunk is cut at the boundary.
 */
export function encodeEvents(fields: ReadonlyMap<string, FieldRecord>, bars: number, first = 0): Buffer[] {
  const names = [...fields.keys()].sort()
  const records = names.map(name => fields.get(name)!)
  const chunks: Buffer[] = []
  // Per field: the index of its next event and of its next gap.
  const next = { event: new Int32Array(names.length), gap: new Int32Array(names.length) }
  for (const [from, to] of chunkBounds(bars, first))
    chunks.push(encodeEventChunk(fieldPartsOnBars(names, records, next, from, to), from, to))
  return chunks
}

/** The events and gaps of one field that are in a chunk, as positions in its record. */
interface FieldPart {
  name: string
  record: FieldRecord
  /** The first event and the number of events. */
  firstEvent: number
  events: number
  /** The index in `record.gaps` of the first gap, and the number of gaps: two numbers each, first bar and end. */
  firstGapIndex: number
  gaps: number
}

/**
 * The parts of the fields that have events or gaps on the bars from `from` up to `to`. A gap across a limit is a part of
 * both chunks.
 * @param next per field, the index of the event and of the gap from which to search; moved on for the next chunk
 */
function fieldPartsOnBars(
  names: readonly string[],
  records: readonly FieldRecord[],
  next: { event: Int32Array; gap: Int32Array },
  from: number,
  to: number,
): FieldPart[] {
  const parts: FieldPart[] = []
  for (let f = 0; f < records.length; f++) {
    const record = records[f]!
    const event = countUpTo(record.bars, from - 1, next.event[f])
    let endOfEvents = event
    while (endOfEvents < record.bars.length && record.bars[endOfEvents]! < to) endOfEvents++
    next.event[f] = endOfEvents
    let gap = next.gap[f]!
    while (gap < record.gaps.length && record.gaps[gap + 1]! <= from) gap += 2
    let endOfGaps = gap
    while (endOfGaps < record.gaps.length && record.gaps[endOfGaps]! < to) endOfGaps += 2
    // The last gap may continue in the next chunk.
    next.gap[f] = Math.max(gap, endOfGaps - 2)
    const events = endOfEvents - event
    const gaps = (endOfGaps - gap) / 2
    if (events + gaps > 0) parts.push({ name: names[f]!, record, firstEvent: event, events, firstGapIndex: gap, gaps })
  }
  return parts
}

/**
 * One chunk of events, for the bars from `from` up to `to`. It is written number by number, because cutting out and
 * copying a column for each field costs several times as much. `encodeEvents` describes the layout.
 */
function encodeEventChunk(parts: readonly FieldPart[], from: number, to: number): Buffer {
  const fieldNames = parts.map(({ name }) => name).join(' ')
  const allEvents = parts.reduce((sum, { events }) => sum + events, 0)
  const allGaps = parts.reduce((sum, { gaps }) => sum + gaps, 0)
  // Offsets: of the bars and gaps among the numbers, of the bands among the bytes.
  let bar = 1 + 2 * parts.length
  let limit = bar + allEvents
  let byte = 4 * (limit + 2 * allGaps)
  const namesAt = byte + 3 * allEvents
  const chunk = Buffer.from(new ArrayBuffer(namesAt + Buffer.byteLength(fieldNames)))
  const numbers = new Int32Array(chunk.buffer, 0, byte >> 2)
  numbers[0] = parts.length
  for (let i = 0; i < parts.length; i++) {
    const { record, firstEvent: event, events, firstGapIndex, gaps } = parts[i]!
    numbers[1 + 2 * i] = events
    numbers[2 + 2 * i] = gaps
    for (let e = event; e < event + events; e++, byte++) {
      numbers[bar++] = record.bars[e]!
      chunk[byte] = record.bands[e]!
      chunk[byte + allEvents] = record.flips[e]!
      chunk[byte + 2 * allEvents] = record.stability[e]!
    }
    for (let g = firstGapIndex; g < firstGapIndex + 2 * gaps; g += 2) {
      numbers[limit++] = Math.max(record.gaps[g]!, from)
      numbers[limit++] = Math.min(record.gaps[g + 1]!, to)
    }
  }
  chunk.write(fieldNames, namesAt)
  return chunk
}

/**
 * The events of some fields; null if the number of a field's events differs from its head.
 * @param heads the heads of the wanted fields; other fields may have left events of deleted data
 */
export function decodeEvents(heads: ReadonlyMap<string, FieldHead>, chunks: readonly Buffer[]): FieldColumns | null {
  const decoding = new EventDecoder(heads)
  for (const chunk of chunks) if (!decoding.addChunk(chunk)) return null
  return decoding.columns()
}

/** The heads of some fields of a series, by name, from the text of its row. */
export function decodeHeads(fields: string, isWanted: (field: string) => boolean = () => true): Map<string, FieldHead> {
  const listed = JSON.parse(fields) as Record<string, [number, number, number]>
  const heads = new Map<string, FieldHead>()
  for (const name of Object.keys(listed).filter(isWanted)) {
    const [initialBar, initialBand, events] = listed[name]!
    heads.set(name, { initialBar, initialBand, events })
  }
  return heads
}

/**
 * The events of the last chunks, with the number of earlier events of each field; null if a field has more than its
 * head says.
 */
export function decodeTail({ fields, events }: PackedEnd): Map<string, FieldTail> | null {
  const decoding = new EventDecoder(decodeHeads(fields))
  for (const chunk of events) if (!decoding.addChunk(asBuffer(chunk))) return null
  return decoding.tails()
}

/** A Buffer of the same bytes: a chunk from another thread is only a Uint8Array. */
function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

/** The index of a field that is not wanted, as indexOf() gives it. */
const NOT_WANTED = -1

/** Decodes events into columns, chunk by chunk. */
class EventDecoder {
  readonly #columns: Omit<FieldColumns, 'gaps'>
  readonly #gaps: (number[] | undefined)[]
  /** By field, the row of its next event. */
  readonly #next: Int32Array
  /** The field names of a chunk, and the index of each among the wanted fields. */
  #lastNames = { text: '', indexes: [NOT_WANTED] }

  /** Makes columns for all events of the fields, to be filled chunk by chunk. */
  constructor(heads: ReadonlyMap<string, FieldHead>) {
    const names = [...heads.keys()]
    const allHeads = [...heads.values()]
    const first = new Int32Array(allHeads.length + 1)
    for (let f = 0; f < allHeads.length; f++) first[f + 1] = first[f]! + allHeads[f]!.events
    const events = first[allHeads.length]!
    // One buffer for all columns: four bytes for the bar of an event, then one each for band, flips and stability.
    const buffer = new ArrayBuffer(7 * events)
    const byteColumn = (column: number): Uint8Array => new Uint8Array(buffer, (4 + column) * events, events)
    this.#columns = {
      names,
      initialBar: Int32Array.from(allHeads, head => head.initialBar),
      initialBand: Uint8Array.from(allHeads, head => head.initialBand),
      first,
      bars: new Int32Array(buffer, 0, events),
      bands: byteColumn(0),
      flips: byteColumn(1),
      stability: byteColumn(2),
    }
    this.#gaps = new Array(allHeads.length)
    this.#next = first.slice(0, allHeads.length)
  }

  /** Adds the wanted events of a chunk, whose layout is that of `encodeEvents`; false if a field has more than its head. */
  addChunk(chunk: Buffer): boolean {
    const numbers = leadingNumbers(chunk)
    const fields = numbers[0]!
    let events = 0
    let runs = 0
    for (let f = 0; f < fields; f++) {
      events += numbers[1 + 2 * f]!
      runs += numbers[2 + 2 * f]!
    }
    // Offsets of the next field: bars and runs among the numbers, the others among the bytes.
    const at = { bar: 1 + 2 * fields, run: 1 + 2 * fields + events, byte: 4 * (1 + 2 * fields + events + 2 * runs) }
    const fieldIndexes = this.#fieldIndexes(chunk.toString('latin1', at.byte + 3 * events))
    for (let f = 0; f < fields; f++) {
      const fieldEvents = numbers[1 + 2 * f]!
      const gaps = numbers[2 + 2 * f]!
      const field = fieldIndexes[f]!
      if (field !== NOT_WANTED) {
        if (this.#next[field]! + fieldEvents > this.#columns.first[field + 1]!) return false
        this.#copyEvents(field, fieldEvents, numbers, at.bar, chunk, at.byte, events)
        if (gaps > 0) this.#addGaps(field, numbers.subarray(at.run, at.run + 2 * gaps))
      }
      at.bar += fieldEvents
      at.run += 2 * gaps
      at.byte += fieldEvents
    }
    return true
  }

  /**
   * Copies a field's events from a chunk to the columns, number by number: a call that copies costs more for so few.
   * @param field its index among the wanted fields
   * @param rows the number of its events
   * @param bar the index of its first event in `numbers`, the bars of events
   * @param byte the offset of its first event in `chunk`
   */
  #copyEvents(
    field: number,
    rows: number,
    numbers: Int32Array,
    bar: number,
    chunk: Buffer,
    byte: number,
    eventsInChunk: number,
  ): void {
    const { bars, bands, flips, stability } = this.#columns
    const to = this.#next[field]!
    for (let i = 0; i < rows; i++) {
      bars[to + i] = numbers[bar + i]!
      bands[to + i] = chunk[byte + i]!
      flips[to + i] = chunk[byte + eventsInChunk + i]!
      stability[to + i] = chunk[byte + 2 * eventsInChunk + i]!
    }
    this.#next[field] = to + rows
  }

  /** Adds runs of bars without a band: pairs of the first bar and the end. */
  #addGaps(field: number, runs: Int32Array): void {
    this.#gaps[field] ??= []
    const gaps = this.#gaps[field]
    for (let i = 0; i < runs.length; i += 2) {
      // A run that continues from the chunk before becomes one again.
      if (gaps.at(-1) === runs[i]) gaps.pop()
      else gaps.push(runs[i]!)
      gaps.push(runs[i + 1]!)
    }
  }

  /**
   * The index of each field of a chunk among the wanted ones. Neighbouring chunks nearly always have the same fields.
   */
  #fieldIndexes(text: string): readonly number[] {
    if (this.#lastNames.text !== text) {
      const { names } = this.#columns
      this.#lastNames = { text, indexes: text.split(' ').map(name => names.indexOf(name)) }
    }
    return this.#lastNames.indexes
  }

  /** The decoded columns; null if a field has fewer events than its head says. */
  columns(): FieldColumns | null {
    const { first } = this.#columns
    for (let f = 0; f < this.#next.length; f++) if (this.#next[f] !== first[f + 1]) return null
    const gaps = Array.from(this.#gaps, runs => (runs === undefined ? NO_GAPS : Int32Array.from(runs)))
    return { ...this.#columns, gaps }
  }

  /** Each field with its decoded last events. */
  tails(): Map<string, FieldTail> {
    const { names, first, initialBar, initialBand, bars, bands, flips, stability } = this.#columns
    const tails = new Map<string, FieldTail>()
    for (let f = 0; f < names.length; f++) {
      const from = first[f]!
      const to = this.#next[f]!
      const gaps = this.#gaps[f]
      tails.set(names[f]!, {
        initialBar: initialBar[f]!,
        initialBand: initialBand[f]!,
        gaps: gaps ? Int32Array.from(gaps) : NO_GAPS,
        bars: bars.subarray(from, to),
        bands: bands.subarray(from, to),
        flips: flips.subarray(from, to),
        stability: stability.subarray(from, to),
        earlier: first[f + 1]! - to,
      })
    }
    return tails
  }
}

const NO_GAPS = new Int32Array()

/** The numbers at the beginning of a chunk; without a copy if they are aligned. */
function leadingNumbers(chunk: Buffer): Int32Array {
  const isAligned = chunk.byteOffset % Int32Array.BYTES_PER_ELEMENT === 0
  const { buffer, byteOffset } = isAligned ? chunk : new Uint8Array(chunk)
  return new Int32Array(buffer, byteOffset, chunk.length >> 2)
}

function bytesOf(column: Column): Uint8Array {
  return new Uint8Array(column.buffer, column.byteOffset, column.byteLength)
}
