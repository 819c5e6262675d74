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
import { type ChunkRow, decodeRecords, type StoreLocation } from './checked.js'
import { CHECKSUM_LENGTH } from './checksum.js'
import {
  chunkEnds,
  encodeCalendar,
  encodeEvents,
  encodeOutcomes,
  encodePrices,
  encodeUnadjusted,
  fullChunksBefore,
  storedEnds,
} from './codec.js'
import {
  chunkHash,
  decodeChunkHashes,
  encodeChunkHashes,
  encodeMarks,
  type SeriesName,
  type SeriesRow,
} from './content.js'
import {
  type Amendment,
  originsOf,
  type PackedEnd,
  type PackedPart,
  type PackedRecord,
  type PackedSeries,
  type PackedTail,
  type Part,
  type TickerEntry,
  type TickerRecord,
} from './store.js'

/** Packs a ticker's bars and derived data into chunks with their hashes. */
export function pack({ entry, daily, weekly, stored }: TickerRecord): PackedRecord {
  const { ticker } = entry
  const storedBefore = (timeframe: Timeframe): StoredBefore =>
    stored === undefined ? NOTHING_STORED : { since: stored.since[timeframe], end: stored[timeframe] }
  return {
    entry,
    isTail: stored !== undefined,
    bars: packBars(ticker, daily.series, stored),
    daily: packSeries(ticker, daily, storedBefore('daily'), marksJson(entry, daily.series)),
    weekly: packSeries(ticker, weekly, storedBefore('weekly')),
  }
}

/** The stored data of a series before the bar `since`; `end` is null if there are none. */
interface StoredBefore {
  since: number
  end: PackedEnd | null
}

const NOTHING_STORED: StoredBefore = { since: 0, end: null }

/**
 * The chunks of a ticker's bars that have to be written. @param series all its bars
 * @param stored data, whose bars from `since` on may differ from those of `series`; undefined: none
 */
function packBars(ticker: string, series: Series, stored: PackedTail | undefined): PackedPart[] {
  const name = { ticker, timeframe: 'daily' } as const
  const bars = series.days.length
  const hashes = decodeChunkHashes({ chunks: stored?.hashes ?? '{}' })
  const firstNewChunk = (part: Part): number =>
    stored === undefined ? 0 : countUnchangedChunks(bars, stored.since.daily, stored.daily.bars, hashes[part])
  const firstPrices = firstNewChunk('prices')
  const parts = [packPart(name, 'prices', firstPrices, encodePrices(series, firstPrices), hashes)]
  const firstUnadjusted = firstNewChunk('unadjusted')
  const unadjusted = encodeUnadjusted(series, firstUnadjusted)
  if (unadjusted !== null) parts.push(packPart(name, 'unadjusted', firstUnadjusted, unadjusted, hashes))
  return parts
}

/**
 * The number of a part's stored chunks that stay. They end by the first changed bar, where chunks of the new bars end,
 * too. @param bars the number of bars of the new series @param since the first changed bar
 * @param hashes the hashes of the part's stored chunks; empty if the part is new
 */
function countUnchangedChunks(bars: number, since: number, storedBars: number, hashes = ''): number {
  const storedCount = hashes.length / CHECKSUM_LENGTH
  const endsBefore = storedEnds(storedBars, storedCount).slice(0, storedCount)
  const endsNow = chunkEnds(bars)
  const firstChanged = endsBefore.findIndex((end, chunk) => end > since || end !== endsNow[chunk])
  return firstChanged < 0 ? endsBefore.length : firstChanged
}

function marksJson(entry: TickerEntry, series: Series): string {
  const { days } = series
  const originDays = originsOf(entry).map(({ from, bars }) => [days[from]!, days[from + bars - 1]!] as const)
  return encodeMarks({ marks: marksOf(series), originDays })
}

/**
 * The row of a series without its hashes, and the chunks that have to be written: not those before bar `since`.
 * @param marks JSON of its gaps and of its bars that open or close outside high and low; null for a weekly series
 */
function packSeries(
  ticker: string,
  { series, outcomes, fields }: SeriesRecord | SeriesTail,
  { since, end: storedEnd }: StoredBefore,
  marks: string | null = null,
): PackedSeries {
  const { timeframe, days, known } = series
  const name = { ticker, timeframe }
  const hashes = decodeChunkHashes({ chunks: storedEnd?.hashes ?? '{}' })
  const firstNewChunk = (part: Part): number =>
    storedEnd === null ? 0 : countUnchangedChunks(days.length, since, storedEnd.bars, hashes[part])
  const firstCalendar = firstNewChunk('calendar')
  const firstOutcomes = firstNewChunk('outcomes')
  const firstEvents = firstNewChunk('events')
  // The stored outcomes begin with the chunk of bar `since`.
  const stored =
    storedEnd === null
      ? undefined
      : { chunks: storedEnd.outcomes.slice(firstOutcomes - fullChunksBefore(since)), since }
  const outcomeChunks = encodeOutcomes(series, outcomes, timeframe, firstOutcomes, stored)
  const events = encodeEvents(fields, days.length, firstEvents)
  let unchanged = 0
  if (storedEnd !== null) unchanged = countEqualChunks(events, storedEnd.events, firstEvents - storedEnd.first)
  return {
    timeframe,
    summary: { bars: days.length, final: formatDay(known.at(-1)!), ...eventSummary(fields, days.length), marks },
    parts: [
      packPart(name, 'calendar', firstCalendar, encodeCalendar(series, timeframe, firstCalendar), hashes),
      packPart(name, 'outcomes', firstOutcomes, outcomeChunks, hashes),
      packPart(name, 'events', firstEvents + unchanged, events.slice(unchanged), hashes),
    ],
  }
}

/**
 * How many of the first chunks equal the stored ones: often some, because on most bars no band changes.
 * @param offset the index in `stored` of the chunk that has the number of the first of `chunks`
 */
function countEqualChunks(chunks: readonly Buffer[], stored: readonly Uint8Array[], offset: number): number {
  const firstDifferent = chunks.findIndex((chunk, i) => {
    const storedChunk = stored[offset + i]
    return storedChunk === undefined || !chunk.equals(storedChunk)
  })
  return firstDifferent < 0 ? chunks.length : firstDifferent
}

/**
 * New chunks of a part from number `first` on, and the hashes of all its chunks.
 * @param storedHashes the hashes of each part's stored chunks, which are taken for the chunks before `first`
 */
function packPart(
  name: SeriesName,
  part: Part,
  first: number,
  chunks: readonly Buffer[],
  storedHashes: Partial<Record<Part, string>> = {},
): PackedPart {
  const stored = storedHashes[part] ?? ''
  const hashesBefore = stored.slice(0, first * CHECKSUM_LENGTH)
  if (hashesBefore.length < first * CHECKSUM_LENGTH)
    throw new RangeError(`${part}: the hashes of the chunks before ${first} are missing`)
  const hashes = hashesBefore + chunks.map((columns, i) => chunkHash(name, part, first + i, columns)).join('')
  return { part, first, chunks, hashes, endsBeforeStored: stored.length > hashes.length }
}

/** A series with some fields replaced: its row, and all chunks of its events. @param readRows its stored events */
export function amendSeries(
  store: StoreLocation,
  { ticker, timeframe, fields }: Amendment,
  series: SeriesRow,
  readRows: () => readonly ChunkRow[],
): { row: SeriesRow; part: PackedPart } {
  const name = { ticker, timeframe }
  const records = decodeRecords(store, name, series, readRows, field => !fields.has(field))
  for (const [field, record] of fields) if (record !== null) records.set(field, record)
  const part = packPart(name, 'events', 0, encodeEvents(records, series.bars))
  const row = {
    ...series,
    ...eventSummary(records, series.bars),
    chunks: encodeChunkHashes([part], decodeChunkHashes(series)),
  }
  return { row, part }
}

/** The columns of a series' row that its events determine: their number, and the head of each field as JSON. */
function eventSummary(
  records: ReadonlyMap<string, FieldRecord | FieldTail>,
  bars: number,
): Pick<SeriesRow, 'events' | 'eventsOnLast' | 'fields'> {
  const heads: Record<string, [initialBar: number, initialBand: number, events: number]> = {}
  let events = 0
  let eventsOnLast = 0
  for (const name of [...records.keys()].sort()) {
    const record = records.get(name)!
    const eventCount = record.bars.length + ('earlier' in record ? record.earlier : 0)
    heads[name] = [record.initialBar, record.initialBand, eventCount]
    events += eventCount
    if (record.bars[record.bars.length - 1] === bars - 1) eventsOnLast++
  }
  return { events, eventsOnLast, fields: JSON.stringify(heads) }
}
