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
import type { Calendar, FieldHead, PackedEnd, SeriesAllocation } from './store.js'

/**
 * Columns as blobs, one chunk of bars at a time. A chunk holds the typed arrays of its bars, one after another:
 * little-endian, widest numbers first. The number of bars follows from the blob's length, so no separate count can
 * disagree. A return is stored in the chunk where its window ends, so that new bars change only the last chunks.
 */

/** The number of bars in a chunk, except the last two. */
export const BARS_PER_CHUNK = 256

/** The most bars in the last chunk: a new bar changes only that one, until it is full. */
const MAX_BARS_IN_LAST = 32

/** The number of full chunks of 256 bars before a bar. Smaller chunks may follow them, before or with the bar. */
export function fullChunksBefore(bar: number): number {
  return Math.floor(bar / BARS_PER_CHUNK)
}

/** The bars at which chunks end: each multiple of 256, the last multiple of 32, and the end. 400 → 256, 384, 400 */
export function chunkEnds(bars: number): number[] {
  const ends: number[] = []
  for (let end = BARS_PER_CHUNK; end <= bars; end += BARS_PER_CHUNK) ends.push(end)
  const remainder = bars % BARS_PER_CHUNK
  const barsInLast = ((remainder - 1) % MAX_BARS_IN_LAST) + 1
  if (remainder > MAX_BARS_IN_LAST) ends.push(bars - barsInLast)
  if (remainder > 0) ends.push(bars)
  return ends
}

/**
 * The bars at which stored chunks end. Up to schema 9 all bars after the full chunks were in one.
 * @param chunkCount the number of stored chunks, which shows which of the two they are
 */
export function storedEnds(bars: number, chunkCount: number): number[] {
  const ends = chunkEnds(bars)
  if (chunkCount === ends.length) return ends
  const fullEnds = ends.filter(end => end % BARS_PER_CHUNK === 0)
  return [...fullEnds, bars]
}

type Column = Float64Array | Int32Array | Uint8Array

/** The bars `from` up to (not including) `to` of each chunk from number `firstChunk` on. @param bars their number */
function chunkBounds(bars: number, firstChunk: number): [from: number, to: number][] {
  const ends = chunkEnds(bars)
  return ends.slice(firstChunk).map((end, i) => [ends[firstChunk + i - 1] ?? 0, end])
}

/**
 * Cuts columns into the chunks from number `firstChunk` on.
 * @param bars the number of all bars @param firstBar the bar with which the columns begin
 */
function cutIntoChunks(columns: readonly Column[], bars: number, firstChunk: number, firstBar = 0): Buffer[] {
  return chunkBounds(bars, firstChunk).map(([from, to]) =>
    Buffer.concat(columns.map(column => bytesOf(column.subarray(from - firstBar, to - firstBar)))),
  )
}

function countBars(chunks: readonly Buffer[], bytesPerBar: number): number {
  return chunks.reduce((sum, { length }) => sum + length, 0) / bytesPerBar
}

/** Fills columns from their chunks, and returns them. A chunk has the values of its bars column by column. */
function fillColumns<Columns extends readonly Column[]>(columns: Columns, chunks: readonly Buffer[]): Columns {
  const columnBytes = columns.map(bytesOf)
  const bytesPerBar = columns.reduce((sum, column) => sum + column.BYTES_PER_ELEMENT, 0)
  let bar = 0
  for (const chunk of chunks) {
    const bars = chunk.length / bytesPerBar
    let offset = 0
    for (let c = 0; c < columns.length; c++) {
      const valueBytes = columns[c]!.BYTES_PER_ELEMENT
      chunk.copy(columnBytes[c]!, bar * valueBytes, offset, offset + bars * valueBytes)
      offset += bars * valueBytes
    }
    bar += bars
  }
  return columns
}

/** The chunks of prices, volume and dates of daily bars, from number `firstChunk` on. */
export function encodePrices({ open, high, low, close, volume, days }: Series, firstChunk = 0): Buffer[] {
  return cutIntoChunks([open, high, low, close, volume, days], days.length, firstChunk)
}

/** The chunks of the unadjusted closes, from number `firstChunk` on; null if the closes themselves are unadjusted. */
export function encodeUnadjusted({ unadjustedClose, days }: Series, firstChunk = 0): Buffer[] | null {
  return unadjustedClose === undefined ? null : cutIntoChunks([unadjustedClose], days.length, firstChunk)
}

/**
 * Daily bars from their chunks.
 * @param unadjusted the chunks of unadjusted closes, if there are any
 * @param extraBars number of bars after the stored ones, for the caller to fill
 * @param memory is reused for the series (default: new memory)
 */
export function decodePrices(
  prices: readonly Buffer[],
  unadjusted: readonly Buffer[] | null,
  { extraBars = 0, memory }: SeriesAllocation = {},
): Series {
  // Five doubles (prices and volume) and the day.
  const bars = countBars(prices, 5 * 8 + 4) + extraBars
  const series = emptySeries('daily', bars, memory)
  fillColumns([series.open, series.high, series.low, series.close, series.volume, series.days], prices)
  // A daily bar is known on its own day.
  series.known = series.days
  if (unadjusted !== null) [series.unadjustedClose] = fillColumns([new Float64Array(bars)] as const, unadjusted)
  return series
}

/** The chunks of the dates of bars: of weeks also the day on which each is final, which for a daily bar is its date. */
export function encodeCalendar({ days, known }: Calendar, timeframe: Timeframe, firstChunk = 0): Buffer[] {
  return cutIntoChunks(timeframe === 'daily' ? [days] : [days, known], days.length, firstChunk)
}

/** The dates of bars from their chunks; a daily bar is final on its own date. */
export function decodeCalendar(timeframe: Timeframe, chunks: readonly Buffer[]): Calendar {
  const bars = countBars(chunks, timeframe === 'daily' ? 4 : 8)
  const days = new Int32Array(bars)
  const known = timeframe === 'daily' ? days : new Int32Array(bars)
  fillColumns(timeframe === 'daily' ? [days] : [days, known], chunks)
  return { days, known }
}

/** The rank of a return whose window is not complete, or has too few earlier returns. */
const NO_RANK = -1

/**
 * The chunks of the outcomes of bars: each bar's close, and by window the rank of the return that ended on the bar.
 * @param ranks by window, the rank of the return that begins on each bar
 * @param stored the stored chunks from number `firstChunk` on: ranks that ended before bar `since` are taken from them
 */
export function encodeOutcomes(
  { close }: Series,
  { ranks }: Pick<Outcomes, 'ranks'>,
  timeframe: Timeframe,
  firstChunk = 0,
  stored?: { chunks: readonly Uint8Array[]; since: number },
): Buffer[] {
  const firstBar = chunkEnds(close.length)[firstChunk - 1] ?? 0
  const storedRanks = stored && decodeRanksByEnd(timeframe, stored.chunks.map(asBuffer))
  const ranksByEnd = TIMEFRAMES[timeframe].windows.map((window, w) => {
    const column = new Int32Array(Math.max(0, close.length - firstBar)).fill(NO_RANK)
    // A rank moves from the bar on which its window begins to the bar on which it ends. No window ends before `window`.
    const firstEnd = Math.max(firstBar, window)
    if (close.length > firstEnd) {
      const endedRanks = ranks[w]!.subarray(firstEnd - window, close.length - window)
      column.set(endedRanks, firstEnd - firstBar)
    }
    if (storedRanks !== undefined) column.set(storedRanks[w]!.subarray(0, stored!.since - firstBar))
    return column
  })
  return cutIntoChunks([close.subarray(firstBar), ...ranksByEnd], close.length, firstChunk, firstBar)
}

/** The ranks of the returns that ended on each bar, by window. */
function decodeRanksByEnd(timeframe: Timeframe, chunks: readonly Buffer[]): Int32Array[] {
  const { windows } = TIMEFRAMES[timeframe]
  const bars = countBars(chunks, 8 + 4 * windows.length)
  const ranksByEnd = windows.map(() => new Int32Array(bars))
  fillColumns([new Float64Array(bars), ...ranksByEnd], chunks)
  return ranksByEnd
}

/** Closes and ranks from their chunks. A rank is stored at the last bar of its window, and returned at its first. */
export function decodeOutcomes(timeframe: Timeframe, chunks: readonly Buffer[]): Outcomes {
  const { windows } = TIMEFRAMES[timeframe]
  const bars = countBars(chunks, 8 + 4 * windows.length)
  const close = new Float64Array(bars)
  // Each array has the stored ranks, by the last bar of their window, and then NO_RANK for windows that are not
  // complete yet. Without its first `window` values, it has the ranks by the first bar.
  const ranksByEnd = windows.map(window => new Int32Array(bars + window).fill(NO_RANK, bars))
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
export function encodeEvents(fields: ReadonlyMap<string, FieldRecord>, bars: number, firstChunk = 0): Buffer[] {
  const names = [...fields.keys()].sort()
  const records = names.map(name => fields.get(name)!)
  const chunks: Buffer[] = []
  // Per field: the index of its next event and of its next gap.
  const next = { event: new Int32Array(names.length), gap: new Int32Array(names.length) }
  for (const [from, to] of chunkBounds(bars, firstChunk))
    chunks.push(encodeEventChunk(fieldPartsOnBars(names, records, next, from, to), from, to))
  return chunks
}

/** The events and gaps of one field that are in a chunk, as positions in its record. */
interface FieldPart {
  name: string
  record: FieldRecord
  firstEvent: number
  eventCount: number
  /** Index in `record.gaps`, which has two numbers for each gap: its first bar and its end. */
  firstGapIndex: number
  gapCount: number
}

/**
 * The fields that have events or gaps on a chunk's bars (`from` up to `to`), each with the part of its record on them.
 * A gap that reaches into the next chunk is in both.
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
    const firstEvent = countUpTo(record.bars, from - 1, next.event[f])
    let endOfEvents = firstEvent
    while (endOfEvents < record.bars.length && record.bars[endOfEvents]! < to) endOfEvents++
    next.event[f] = endOfEvents
    let firstGapIndex = next.gap[f]!
    while (firstGapIndex < record.gaps.length && record.gaps[firstGapIndex + 1]! <= from) firstGapIndex += 2
    let endOfGaps = firstGapIndex
    while (endOfGaps < record.gaps.length && record.gaps[endOfGaps]! < to) endOfGaps += 2
    // The last gap may continue in the next chunk.
    next.gap[f] = Math.max(firstGapIndex, endOfGaps - 2)
    const eventCount = endOfEvents - firstEvent
    const gapCount = (endOfGaps - firstGapIndex) / 2
    if (eventCount + gapCount > 0)
      parts.push({ name: names[f]!, record, firstEvent, eventCount, firstGapIndex, gapCount })
  }
  return parts
}

/**
 * One chunk of events, for the bars from `from` up to `to`. It is written number by number, because cutting out and
 * copying a column for each field costs several times as much. `encodeEvents` describes the layout.
 */
function encodeEventChunk(parts: readonly FieldPart[], from: number, to: number): Buffer {
  const fieldNames = parts.map(({ name }) => name).join(' ')
  const eventsInChunk = parts.reduce((sum, { eventCount }) => sum + eventCount, 0)
  const gapsInChunk = parts.reduce((sum, { gapCount }) => sum + gapCount, 0)
  // Where to write next: the bar of an event and a gap as indices in `numbers`, a band as an offset in `chunk`. Each of
  // the numbers takes four bytes.
  let nextBar = 1 + 2 * parts.length
  let nextGap = nextBar + eventsInChunk
  const countOfNumbers = nextGap + 2 * gapsInChunk
  let nextBand = 4 * countOfNumbers
  const namesAt = nextBand + 3 * eventsInChunk
  const chunk = Buffer.from(new ArrayBuffer(namesAt + Buffer.byteLength(fieldNames)))
  const numbers = new Int32Array(chunk.buffer, 0, countOfNumbers)
  numbers[0] = parts.length
  for (let i = 0; i < parts.length; i++) {
    const { record, firstEvent, eventCount, firstGapIndex, gapCount } = parts[i]!
    numbers[1 + 2 * i] = eventCount
    numbers[2 + 2 * i] = gapCount
    for (let e = firstEvent; e < firstEvent + eventCount; e++, nextBand++) {
      numbers[nextBar++] = record.bars[e]!
      chunk[nextBand] = record.bands[e]!
      chunk[nextBand + eventsInChunk] = record.flips[e]!
      chunk[nextBand + 2 * eventsInChunk] = record.stability[e]!
    }
    for (let g = firstGapIndex; g < firstGapIndex + 2 * gapCount; g += 2) {
      numbers[nextGap++] = Math.max(record.gaps[g]!, from)
      numbers[nextGap++] = Math.min(record.gaps[g + 1]!, to)
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

/** The heads of some fields of a series, by name. @param fields the JSON in the row of the series */
export function decodeHeads(fields: string, isWanted: (field: string) => boolean = () => true): Map<string, FieldHead> {
  const listed = JSON.parse(fields) as Record<string, [initialBar: number, initialBand: number, events: number]>
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
  /** For each field, where its next event goes in the columns. */
  readonly #nextRows: Int32Array
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
    this.#nextRows = first.slice(0, allHeads.length)
  }

  /** Adds a chunk's events of the wanted fields; false if a field has more than its head. Layout: `encodeEvents`. */
  addChunk(chunk: Buffer): boolean {
    const numbers = leadingNumbers(chunk)
    const fields = numbers[0]!
    let eventsInChunk = 0
    let gapsInChunk = 0
    for (let f = 0; f < fields; f++) {
      eventsInChunk += numbers[1 + 2 * f]!
      gapsInChunk += numbers[2 + 2 * f]!
    }
    // Where the next field begins: its bars and gaps as indices in `numbers`, its bands as an offset in `chunk`.
    let bar = 1 + 2 * fields
    let gap = bar + eventsInChunk
    let band = 4 * (gap + 2 * gapsInChunk)
    const wantedIndexes = this.#wantedIndexes(chunk.toString('latin1', band + 3 * eventsInChunk))
    for (let f = 0; f < fields; f++) {
      const eventCount = numbers[1 + 2 * f]!
      const gapCount = numbers[2 + 2 * f]!
      const field = wantedIndexes[f]!
      if (field !== NOT_WANTED) {
        if (this.#nextRows[field]! + eventCount > this.#columns.first[field + 1]!) return false
        this.#copyEvents(field, eventCount, numbers, bar, chunk, band, eventsInChunk)
        if (gapCount > 0) this.#addGaps(field, numbers.subarray(gap, gap + 2 * gapCount))
      }
      bar += eventCount
      gap += 2 * gapCount
      band += eventCount
    }
    return true
  }

  /**
   * Copies a field's events from a chunk to the columns, number by number: a call that copies costs more for so few.
   * @param field its index among the wanted fields
   * @param bar the index of its first event in `numbers`, the bars of events
   * @param band the offset of its first event in `chunk`
   */
  #copyEvents(
    field: number,
    eventCount: number,
    numbers: Int32Array,
    bar: number,
    chunk: Buffer,
    band: number,
    eventsInChunk: number,
  ): void {
    const { bars, bands, flips, stability } = this.#columns
    const row = this.#nextRows[field]!
    for (let i = 0; i < eventCount; i++) {
      bars[row + i] = numbers[bar + i]!
      bands[row + i] = chunk[band + i]!
      flips[row + i] = chunk[band + eventsInChunk + i]!
      stability[row + i] = chunk[band + 2 * eventsInChunk + i]!
    }
    this.#nextRows[field] = row + eventCount
  }

  /** Adds gaps to those of a field. @param limits the first bar and the end of each gap */
  #addGaps(field: number, limits: Int32Array): void {
    this.#gaps[field] ??= []
    const gaps = this.#gaps[field]
    for (let i = 0; i < limits.length; i += 2) {
      // A gap that was cut at the end of the chunk before becomes one again.
      if (gaps.at(-1) === limits[i]) gaps.pop()
      else gaps.push(limits[i]!)
      gaps.push(limits[i + 1]!)
    }
  }

  /** For each field of a chunk its index among the wanted fields. @param text the names of the chunk's fields */
  #wantedIndexes(text: string): readonly number[] {
    // Neighbouring chunks nearly always have the same fields.
    if (this.#lastNames.text !== text) {
      const { names } = this.#columns
      this.#lastNames = { text, indexes: text.split(' ').map(name => names.indexOf(name)) }
    }
    return this.#lastNames.indexes
  }

  /** The decoded columns; null if a field has fewer events than its head says. */
  columns(): FieldColumns | null {
    const { first } = this.#columns
    for (let f = 0; f < this.#nextRows.length; f++) if (this.#nextRows[f] !== first[f + 1]) return null
    const gaps = Array.from(this.#gaps, limits => (limits === undefined ? NO_GAPS : Int32Array.from(limits)))
    return { ...this.#columns, gaps }
  }

  /** Each field with the events that were decoded, its last ones. */
  tails(): Map<string, FieldTail> {
    const { names, first, initialBar, initialBand, bars, bands, flips, stability } = this.#columns
    const tails = new Map<string, FieldTail>()
    for (let f = 0; f < names.length; f++) {
      const from = first[f]!
      const to = this.#nextRows[f]!
      const gaps = this.#gaps[f]
      tails.set(names[f]!, {
        initialBar: initialBar[f]!,
        initialBand: initialBand[f]!,
        gaps: gaps ? Int32Array.from(gaps) : NO_GAPS,
        bars: bars.subarray(from, to),
        bands: bands.subarray(from, to),
        flips: flips.subarray(from, to),
        stability: stability.subarray(from, to),
        // The columns have room for all events of a field; events of earlier chunks left theirs empty.
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
