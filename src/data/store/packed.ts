import { formatDay } from '../../core/model/day.js'
import {
  type FieldRecord,
  type FieldTail,
  marksOf,
  type Series,
  type SeriesRecord,
  type SeriesTail,
} from '../../core/model/series.js'
import type { Timeframe } from '../../core/model/terms.js'
import { type ChunkRow, recordsOf, type StoreLocation } from './checked.js'
import {
  chunkEnds,
  chunkOf,
  encodeCalendar,
  encodeEvents,
  encodeOutcomes,
  encodePrices,
  encodeUnadjusted,
  HASH,
  storedEnds,
} from './codec.js'
import { chunkHash, hashesIn, hashesOf, marksText, type Part, type SeriesName, type SeriesRow } from './content.js'
import {
  type Amendment,
  originsOf,
  type PackedEnd,
  type PackedTail,
  type TickerEntry,
  type TickerRecord,
} from './store.js'

/** A record as it is written. */
interface PackedRecord extends Pick<TickerRecord, 'entry'> {
  /** Whether earlier chunks are already stored and left out here. */
  isTail: boolean
  bars: PackedPart[]
  daily: PackedSeries
  weekly: PackedSeries
}

interface PackedSeries {
  timeframe: Timeframe
  /** The columns of its row, except the hashes of its chunks. */
  summary: { bars: number; final: string; events: number; eventsOnLast: number; fields: string; marks: string | null }
  parts: PackedPart[]
}

/** Chunks of a part, from the one with number `first` on. */
export interface PackedPart {
  part: Part
  first: number
  chunks: readonly Buffer[]
  /** The hashes of these chunks and of all earlier ones. */
  hashes: string
  /** Whether there are stored chunks after these, which will be deleted. */
  isShorter?: boolean
}

export function pack({ entry, daily, weekly, stored }: TickerRecord): PackedRecord {
  const { ticker } = entry
  const before = (timeframe: Timeframe): Before => {
    return stored === undefined ? NOTHING : { since: stored.since[timeframe], end: stored[timeframe] }
  }
  return {
    entry,
    isTail: stored !== undefined,
    bars: barParts(ticker, daily.series, stored),
    daily: packedSeries(ticker, daily, before('daily'), marksTextOf(entry, daily.series)),
    weekly: packedSeries(ticker, weekly, before('weekly')),
  }
}

/** The stored data of a series before a bar; null: none. */
interface Before {
  since: number
  end: PackedEnd | null
}

const NOTHING: Before = { since: 0, end: null }

function barParts(ticker: string, series: Series, stored: PackedTail | undefined): PackedPart[] {
  const name = { ticker, timeframe: 'daily' } as const
  const bars = series.days.length
  const hashes = hashesIn({ chunks: stored?.hashes ?? '{}' })
  const firstOf = (part: Part): number =>
    stored === undefined ? 0 : unchangedChunks(bars, stored.since.daily, stored.daily.bars, hashes[part])
  const prices = firstOf('prices')
  const paid = firstOf('unadjusted')
  const unadjusted = encodeUnadjusted(series, paid)
  return [
    packedPart(name, 'prices', prices, encodePrices(series, prices), hashes),
    ...(unadjusted === null ? [] : [packedPart(name, 'unadjusted', paid, unadjusted, hashes)]),
  ]
}

/**
 * The number of stored chunks that stay as they are, all before a bar: a new bar may join the last ones.
 * @param stored how many bars are stored
 * @param hashes of the chunks of a part; a series that has unadjusted prices from now on stores them for all bars
 */
function unchangedChunks(bars: number, since: number, stored: number, hashes = ''): number {
  const before = storedEnds(stored, hashes.length / HASH)
  const now = chunkEnds(bars)
  let same = 0
  while (hashes.length > same * HASH && now[same]! <= since && now[same] === before[same]) same++
  return same
}

function marksTextOf(entry: TickerEntry, series: Series): string {
  const { days } = series
  const stretches = originsOf(entry).map(({ from, bars }) => [days[from]!, days[from + bars - 1]!] as const)
  return marksText({ marks: marksOf(series), stretches })
}

function packedSeries(
  ticker: string,
  { series, outcomes, fields }: SeriesRecord | SeriesTail,
  { since, end }: Before,
  marks: string | null = null,
): PackedSeries {
  const { timeframe, days, known } = series
  const name = { ticker, timeframe }
  const hashes = hashesIn({ chunks: end?.hashes ?? '{}' })
  const firstOf = (part: Part): number =>
    end === null ? 0 : unchangedChunks(days.length, since, end.bars, hashes[part])
  const dates = firstOf('calendar')
  const returns = firstOf('outcomes')
  const changes = firstOf('events')
  const stored = end === null ? undefined : { chunks: end.outcomes.slice(returns - chunkOf(since)), since }
  const events = encodeEvents(fields, days.length, changes)
  // On most bars no band changes.
  let same = 0
  while (end !== null && same < events.length && isSame(end.events[changes + same - end.first], events[same]!)) same++
  return {
    timeframe,
    summary: { bars: days.length, final: formatDay(known.at(-1)!), ...countsOf(fields, days.length), marks },
    parts: [
      packedPart(name, 'calendar', dates, encodeCalendar(series, timeframe, dates), hashes),
      packedPart(name, 'outcomes', returns, encodeOutcomes(series, outcomes, timeframe, returns, stored), hashes),
      packedPart(name, 'events', changes + same, events.slice(same), hashes),
    ],
  }
}

/**
 * New chunks of a part, and the hashes of all its chunks: those before `first` as they are stored.
 * @param stored the hashes of each part
 */
function packedPart(
  name: SeriesName,
  part: Part,
  first: number,
  chunks: readonly Buffer[],
  stored: Partial<Record<Part, string>> = {},
): PackedPart {
  const before = (stored[part] ?? '').slice(0, first * HASH)
  if (before.length < first * HASH)
    throw new RangeError(`${part}: the hashes of the chunks before ${first} are missing`)
  const hashes = before + chunks.map((columns, i) => chunkHash(name, part, first + i, columns)).join('')
  return { part, first, chunks, hashes, isShorter: (stored[part] ?? '').length > hashes.length }
}

/** A series with some fields replaced: its row and its events. */
export function amended(
  at: StoreLocation,
  { ticker, timeframe, fields }: Amendment,
  series: SeriesRow,
  rows: () => readonly ChunkRow[],
): { row: SeriesRow; part: PackedPart } {
  const name = { ticker, timeframe }
  const records = recordsOf(at, name, series, rows, field => !fields.has(field))
  for (const [field, record] of fields) if (record !== null) records.set(field, record)
  const part = packedPart(name, 'events', 0, encodeEvents(records, series.bars))
  const row = { ...series, ...countsOf(records, series.bars), chunks: hashesOf([part], hashesIn(series)) }
  return { row, part }
}

/** The number of events, and the fields that have any. */
function countsOf(
  records: ReadonlyMap<string, FieldRecord | FieldTail>,
  bars: number,
): Pick<SeriesRow, 'events' | 'eventsOnLast' | 'fields'> {
  const heads: Record<string, [initialBar: number, initialBand: number, events: number]> = {}
  let events = 0
  let eventsOnLast = 0
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
