import { emptySeries, type FieldRecord, forwardReturns, type Outcomes, type Series } from '../model/series.js'
import { TIMEFRAMES, type Timeframe } from '../model/terms.js'
import type { Calendar } from './store.js'

/**
 * Columns as blobs, a chunk of bars at a time: the typed arrays of its bars one after another, little-endian, widest
 * numbers first. The number of bars follows from the blob's length, so a blob cannot disagree with a count beside it.
 * Nothing before the last chunk changes when bars are added: what followed a bar is kept where it ended.
 */

/** Bars in a chunk. */
export const CHUNK = 256

export function chunkCount(bars: number): number {
  return Math.ceil(bars / CHUNK)
}

type Column = Float64Array | Int32Array | Uint8Array

/** The chunks of columns of one length, from one of them on. */
function cut(columns: readonly Column[], bars: number, first: number): Buffer[] {
  const chunks: Buffer[] = []
  for (let from = first * CHUNK; from < bars; from += CHUNK)
    chunks.push(joined(columns.map(column => column.subarray(from, from + CHUNK))))
  return chunks
}

/** How many bars there are in chunks, of so many bytes a bar. */
function barsIn(chunks: readonly Buffer[], width: number): number {
  return chunks.reduce((sum, { length }) => sum + length, 0) / width
}

/** Fills columns of one length from their chunks. */
function fill<Columns extends readonly Column[]>(columns: Columns, chunks: readonly Buffer[]): Columns {
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

export function encodePrices({ open, high, low, close, volume, days }: Series, first = 0): Buffer[] {
  return cut([open, high, low, close, volume, days], days.length, first)
}

/** null where the closes themselves are unadjusted. */
export function encodeUnadjusted({ unadjustedClose, days }: Series, first = 0): Buffer[] | null {
  return unadjustedClose === undefined ? null : cut([unadjustedClose], days.length, first)
}

export function decodePrices(prices: readonly Buffer[], unadjusted: readonly Buffer[] | null): Series {
  const bars = barsIn(prices, 5 * 8 + 4)
  const series = emptySeries('daily', bars)
  fill([series.open, series.high, series.low, series.close, series.volume, series.days], prices)
  series.known = series.days
  if (unadjusted !== null) [series.unadjustedClose] = fill([new Float64Array(bars)] as const, unadjusted)
  return series
}

/** A day is final on its own date, which is not written twice. */
export function encodeCalendar({ days, known }: Calendar, timeframe: Timeframe, first = 0): Buffer[] {
  return cut(timeframe === 'daily' ? [days] : [days, known], days.length, first)
}

export function decodeCalendar(timeframe: Timeframe, chunks: readonly Buffer[]): Calendar {
  const bars = barsIn(chunks, timeframe === 'daily' ? 4 : 8)
  const days = new Int32Array(bars)
  const known = timeframe === 'daily' ? days : new Int32Array(bars)
  fill(timeframe === 'daily' ? [days] : [days, known], chunks)
  return { days, known }
}

/** The close of each bar, and the rank of the return over each window that ended on it. */
export function encodeOutcomes({ close }: Series, { ranks }: Outcomes, timeframe: Timeframe, first = 0): Buffer[] {
  const ended = TIMEFRAMES[timeframe].windows.map((window, w) => {
    const column = new Int32Array(close.length).fill(-1)
    if (close.length > window) column.set(ranks[w]!.subarray(0, close.length - window), window)
    return column
  })
  return cut([close, ...ended], close.length, first)
}

/** Gives the first bars of a chunk the ranks that they have in another one, of the same place. */
export function keepRanks(chunk: Buffer, stored: Buffer, keep: number, timeframe: Timeframe): void {
  const { windows } = TIMEFRAMES[timeframe]
  const width = 8 + 4 * windows.length
  const [bars, before] = [chunk.length / width, stored.length / width]
  for (let w = 0; w < windows.length; w++) {
    const from = 8 * before + 4 * before * w
    stored.copy(chunk, 8 * bars + 4 * bars * w, from, from + 4 * keep)
  }
}

export function decodeOutcomes(timeframe: Timeframe, chunks: readonly Buffer[]): Outcomes {
  const { windows } = TIMEFRAMES[timeframe]
  const bars = barsIn(chunks, 8 + 4 * windows.length)
  const close = new Float64Array(bars)
  // Behind each stand those that have not ended: from its window on it is what followed each bar.
  const ended = windows.map(window => new Int32Array(bars + window).fill(-1, bars))
  fill([close, ...ended.map(column => column.subarray(0, bars))], chunks)
  return {
    returns: windows.map(window => forwardReturns(close, window)),
    ranks: windows.map((window, w) => ended[w]!.subarray(window)),
  }
}

/**
 * The events of all fields of a series: how many fields, then of each the numbers of its events and its runs without a
 * band; bar of each event, first bar and end of each run (int32); band, flips, stability of each event (uint8); the names
 * of the fields, apart by spaces. A run that goes on in the next chunk is cut there.
 */
export function encodeEvents(fields: ReadonlyMap<string, FieldRecord>, bars: number, first = 0): Buffer[] {
  const named = [...fields].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, record]) => ({ name, record }))
  const chunks: Buffer[] = []
  const places = named.map(({ record }) => ({ event: 0, gap: 0, record }))
  for (let from = first * CHUNK; from < bars; from += CHUNK) {
    const to = Math.min(from + CHUNK, bars)
    const parts = places.map(place => partOf(place, from, to))
    const there = parts.flatMap((part, i) =>
      part.bars.length + part.gaps.length > 0 ? [{ ...part, name: named[i]!.name }] : [],
    )
    const counts = there.flatMap(({ bars, gaps }) => [bars.length, gaps.length / 2])
    chunks.push(
      joined([
        Int32Array.of(there.length, ...counts),
        ...there.map(part => part.bars),
        ...there.map(part => part.gaps),
        ...(['bands', 'flips', 'stability'] as const).flatMap(column => there.map(part => part[column])),
        Buffer.from(there.map(({ name }) => name).join(' ')),
      ]),
    )
  }
  return chunks
}

/** What of a record lies on some bars; `event` and `gap` go on to the first that comes after them. */
function partOf(
  place: { event: number; gap: number; record: FieldRecord },
  from: number,
  to: number,
): Omit<FieldRecord, 'initialBar' | 'initialBand'> {
  const { bars, gaps, bands, flips, stability } = place.record
  while (place.event < bars.length && bars[place.event]! < from) place.event++
  const begin = place.event
  while (place.event < bars.length && bars[place.event]! < to) place.event++
  const runs: number[] = []
  for (; place.gap < gaps.length && gaps[place.gap]! < to; place.gap += 2) {
    const end = gaps[place.gap + 1]!
    if (end > from) runs.push(Math.max(gaps[place.gap]!, from), Math.min(end, to))
    if (end > to) break
  }
  const own = <C extends Column>(column: C): C => column.subarray(begin, place.event) as C
  return {
    bars: own(bars),
    gaps: Int32Array.from(runs),
    bands: own(bands),
    flips: own(flips),
    stability: own(stability),
  }
}

/** What is said of a field's events beside them: its first bar and band, and how many there are. */
export interface FieldHead {
  initialBar: number
  initialBand: number
  events: number
}

/**
 * null where there are more or fewer events of a field than is said of it.
 * @param heads of the fields that are wanted; of another there may be rests of before it went
 */
export function decodeEvents(
  heads: ReadonlyMap<string, FieldHead>,
  chunks: readonly Buffer[],
): Map<string, FieldRecord> | null {
  let events = 0
  for (const head of heads.values()) events += head.events
  // One for all fields: of a whole market there are ten thousands of columns.
  const bytes = Buffer.from(new ArrayBuffer(7 * events))
  const found = new Map<string, Decoding>()
  let before = 0
  for (const [name, head] of heads) {
    found.set(name, new Decoding(head, bytes, events, before))
    before += head.events
  }
  for (const chunk of chunks) readEvents(chunk, found)
  for (const decoding of found.values()) if (!decoding.isWhole) return null
  return new Map(Array.from(found, ([name, decoding]) => [name, decoding.record()]))
}

/** A record that is filled chunk by chunk, in the room of a buffer that it shares with others. */
class Decoding {
  readonly #head: FieldHead
  readonly #bytes: Buffer
  /** Events of all records of the buffer, and of those before this one. */
  readonly #all: number
  readonly #before: number
  #gaps: number[] | null = null
  #events = 0

  constructor(head: FieldHead, bytes: Buffer, all: number, before: number) {
    this.#head = head
    this.#bytes = bytes
    this.#all = all
    this.#before = before
  }

  /** @param at where in the chunk its bars, its gaps and its three columns of bytes begin */
  add(chunk: Buffer, events: number, gaps: number, at: { bars: number; gaps: number; bytes: number[] }): void {
    const place = this.#before + this.#events
    this.#events += events
    // The room behind is another field's.
    if (this.#events > this.#head.events) return
    chunk.copy(this.#bytes, 4 * place, at.bars, at.bars + 4 * events)
    for (let c = 0; c < 3; c++)
      chunk.copy(this.#bytes, (4 + c) * this.#all + place, at.bytes[c]!, at.bytes[c]! + events)
    if (gaps > 0) this.#gaps ??= []
    for (let g = 0; g < gaps; g++) {
      const from = chunk.readInt32LE(at.gaps + 8 * g)
      const to = chunk.readInt32LE(at.gaps + 8 * g + 4)
      // One that was cut between two chunks.
      if (this.#gaps!.at(-1) === from) this.#gaps!.pop()
      else this.#gaps!.push(from)
      this.#gaps!.push(to)
    }
  }

  /** Whether as many events were found as there are to be. */
  get isWhole(): boolean {
    return this.#events === this.#head.events
  }

  record(): FieldRecord {
    const { initialBar, initialBand, events } = this.#head
    const { buffer } = this.#bytes
    const column = (c: number): Uint8Array => new Uint8Array(buffer, (4 + c) * this.#all + this.#before, events)
    return {
      ...{ initialBar, initialBand, bars: new Int32Array(buffer, 4 * this.#before, events) },
      ...{ bands: column(0), flips: column(1), stability: column(2) },
      gaps: this.#gaps === null ? NO_GAPS : Int32Array.from(this.#gaps),
    }
  }
}

const NO_GAPS = new Int32Array()

function readEvents(chunk: Buffer, wanted: ReadonlyMap<string, Decoding>): void {
  const fields = chunk.readInt32LE(0)
  const counts = Array.from({ length: 2 * fields }, (_, i) => chunk.readInt32LE(4 + 4 * i))
  let events = 0
  let gaps = 0
  for (let f = 0; f < fields; f++) {
    events += counts[2 * f]!
    gaps += counts[2 * f + 1]!
  }
  const at = { bars: 4 + 8 * fields, gaps: 4 + 8 * fields + 4 * events, bytes: [0, 0, 0] }
  const bytes = at.gaps + 8 * gaps
  at.bytes = [bytes, bytes + events, bytes + 2 * events]
  const names = chunk.toString('latin1', bytes + 3 * events).split(' ')
  for (let f = 0; f < fields; f++) {
    const [own, runs] = [counts[2 * f]!, counts[2 * f + 1]!]
    wanted.get(names[f]!)?.add(chunk, own, runs, at)
    at.bars += 4 * own
    at.gaps += 8 * runs
    for (let c = 0; c < 3; c++) at.bytes[c]! += own
  }
}

function joined(columns: readonly Column[]): Buffer {
  return Buffer.concat(columns.map(bytesOf))
}

function bytesOf(column: Column): Uint8Array {
  return new Uint8Array(column.buffer, column.byteOffset, column.byteLength)
}

/** Each part is preceded by its length, so that no two lists of parts read the same. */
export function digest(parts: Iterable<Buffer | string>): string {
  // Not imported above: a question that loads the schema hashes nothing, and node:crypto costs it a millisecond or two.
  const crypto = process.getBuiltinModule('node:crypto')
  const length = Array.isArray(parts) ? framedLength(parts) : Number.POSITIVE_INFINITY
  if (length > room.length) {
    const hash = crypto.createHash('sha256')
    for (const part of framed(parts)) hash.update(part)
    return hash.digest('hex').slice(0, HASH)
  }
  // In one call: to feed a hash part by part takes several times as long as what most of them are.
  let at = 0
  for (const part of framed(parts)) at += typeof part === 'string' ? room.write(part, at) : part.copy(room, at)
  return crypto.hash('sha256', room.subarray(0, at), 'hex').slice(0, HASH)
}

/** For all parts of most that is hashed, one after another. */
const room = Buffer.allocUnsafeSlow(2 ** 16)

/** In bytes at most. */
function framedLength(parts: readonly (Buffer | string)[]): number {
  return parts.reduce((sum, part) => sum + 8 + (typeof part === 'string' ? 3 : 1) * part.length, 0)
}

function* framed(parts: Iterable<Buffer | string>): Generator<Buffer | string> {
  for (const part of parts) {
    yield `${part.length}:`
    yield part
  }
}

/** Hexadecimal digits of a hash. */
export const HASH = 32
