import { formatDay } from '../model/day.js'
import {
  type FieldRecord,
  type FieldTail,
  marksOf,
  type Series,
  type SeriesRecord,
  type SeriesTail,
} from '../model/series.js'
import type { Timeframe } from '../model/terms.js'
import { type ChunkRow, type Place, recordsOf } from './checked.js'
import {
  CHUNK,
  chunkOf,
  encodeCalendar,
  encodeEvents,
  encodeOutcomes,
  encodePrices,
  encodeUnadjusted,
  HASH,
  keepRanks,
} from './codec.js'
import { chunkHash, hashesIn, hashesOf, marksText, type Part, type SeriesName, type SeriesRow } from './content.js'
import {
  type Amendment,
  originsOf,
  type PackedEnd,
  type PackedPart,
  type PackedRecord,
  type PackedSeries,
  type PackedTail,
  type TickerEntry,
  type TickerRecord,
} from './store.js'

/** A record as it is written: most of the work of writing, which needs no database. */
export function pack({ entry, daily, weekly, stored }: TickerRecord): PackedRecord {
  const { ticker } = entry
  const chunks: Buffer[] = []
  const bars = barParts(ticker, daily.series, stored, chunks)
  const before = (timeframe: Timeframe): Before => {
    return stored === undefined ? NOTHING : { since: stored.since[timeframe], end: stored[timeframe] }
  }
  const series = {
    daily: packedSeries(ticker, daily, before('daily'), chunks, marksBeside(entry, daily.series)),
    weekly: packedSeries(ticker, weekly, before('weekly'), chunks),
  }
  const bytes = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return { entry, isTail: stored !== undefined, bars, ...series, bytes }
}

/** What is stored of a series before a bar; null: nothing. */
interface Before {
  since: number
  end: PackedEnd | null
}

const NOTHING: Before = { since: 0, end: null }

function barParts(ticker: string, series: Series, stored: PackedTail | undefined, into: Buffer[]): PackedPart[] {
  const name = { ticker, timeframe: 'daily' } as const
  const hashes = hashesIn({ chunks: stored?.hashes ?? '{}' })
  // Where a series tells what was paid from now on, it does of all bars.
  const firstOf = (part: Part): number => (hashes[part] === undefined ? 0 : chunkOf(stored!.since.daily))
  const prices = firstOf('prices')
  const paid = firstOf('unadjusted')
  const unadjusted = encodeUnadjusted(series, paid)
  return [
    packedPart(name, 'prices', prices, encodePrices(series, prices), into, hashes),
    ...(unadjusted === null ? [] : [packedPart(name, 'unadjusted', paid, unadjusted, into, hashes)]),
  ]
}

function marksBeside(entry: TickerEntry, series: Series): string {
  const { days } = series
  const stretches = originsOf(entry).map(({ from, bars }) => [days[from]!, days[from + bars - 1]!] as const)
  return marksText({ marks: marksOf(series), stretches })
}

function packedSeries(
  ticker: string,
  { series, outcomes, fields }: SeriesRecord | SeriesTail,
  { since, end }: Before,
  into: Buffer[],
  marks: string | null = null,
): PackedSeries {
  const { timeframe, days, known } = series
  const name = { ticker, timeframe }
  const first = chunkOf(since)
  const hashes = hashesIn({ chunks: end?.hashes ?? '{}' })
  const followed = encodeOutcomes(series, outcomes, timeframe, first)
  if (end !== null && end.outcomes !== null) keepRanks(followed[0]!, end.outcomes, since % CHUNK, timeframe)
  const events = encodeEvents(fields, days.length, first)
  // On most bars no band changes.
  const same = end !== null && isSame(end.events[first - end.first], events[0]!) ? 1 : 0
  return {
    timeframe,
    summary: { bars: days.length, final: formatDay(known.at(-1)!), ...countsOf(fields, days.length), marks },
    parts: [
      packedPart(name, 'calendar', first, encodeCalendar(series, timeframe, first), into, hashes),
      packedPart(name, 'outcomes', first, followed, into, hashes),
      packedPart(name, 'events', first + same, events.slice(same), into, hashes),
    ],
  }
}

function packedPart(
  name: SeriesName,
  part: Part,
  first: number,
  chunks: readonly Buffer[],
  into: Buffer[],
  stored: Partial<Record<Part, string>> = {},
): PackedPart {
  into.push(...chunks)
  const before = (stored[part] ?? '').slice(0, first * HASH)
  if (before.length < first * HASH)
    throw new RangeError(`${part}: chunks before ${first} are to stay, and are not there`)
  const hashes = before + chunks.map((columns, i) => chunkHash(name, part, first + i, columns)).join('')
  return { part, first, sizes: chunks.map(({ length }) => length), hashes }
}

/** Takes the chunks of its parts out of a packed record, in their order. */
export function unpacking({ bytes }: Pick<PackedRecord, 'bytes'>): (part: PackedPart) => Buffer[] {
  let at = bytes.byteOffset
  return ({ sizes }) =>
    sizes.map(size => {
      at += size
      return Buffer.from(bytes.buffer, at - size, size)
    })
}

/** A series with some of its fields in place of what they were: its row, and the chunks of its events. */
export function amended(
  at: Place,
  { ticker, timeframe, fields }: Amendment,
  series: SeriesRow,
  rows: () => readonly ChunkRow[],
): { row: SeriesRow; part: PackedPart; chunks: Buffer[] } {
  const name = { ticker, timeframe }
  const records = recordsOf(at, name, series, rows, field => !fields.has(field))
  for (const [field, record] of fields) if (record !== null) records.set(field, record)
  const chunks: Buffer[] = []
  const part = packedPart(name, 'events', 0, encodeEvents(records, series.bars), chunks)
  const row = { ...series, ...countsOf(records, series.bars), chunks: hashesOf([part], hashesIn(series)) }
  return { row, part, chunks }
}

/** How many events there are, and of which fields. */
function countsOf(
  records: ReadonlyMap<string, FieldRecord | FieldTail>,
  bars: number,
): Pick<SeriesRow, 'events' | 'eventsOnLast' | 'fields'> {
  const heads: Record<string, [initialBar: number, initialBand: number, events: number]> = {}
  let [events, eventsOnLast] = [0, 0]
  for (const name of [...records.keys()].sort()) {
    const record = records.get(name)!
    const own = eventsOf(record)
    heads[name] = [record.initialBar, record.initialBand, own]
    events += own
    if (record.bars[record.bars.length - 1] === bars - 1) eventsOnLast++
  }
  return { events, eventsOnLast, fields: JSON.stringify(heads) }
}

function eventsOf(record: FieldRecord | FieldTail): number {
  return record.bars.length + ('earlier' in record ? record.earlier : 0)
}

function isSame(stored: Uint8Array | undefined, now: Buffer): boolean {
  return stored !== undefined && now.equals(stored)
}
