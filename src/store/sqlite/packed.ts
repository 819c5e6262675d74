import { formatDay } from '../../model/day.js'
import { marksOf } from '../../model/neighbours.js'
import type { FieldRecord, Series, SeriesRecord } from '../../model/series.js'
import { CHUNK, encodeCalendar, encodeEvents, encodeOutcomes, encodePrices, encodeUnadjusted } from '../codec.js'
import {
  originsOf,
  type PackedPart,
  type PackedRecord,
  type PackedSeries,
  type TickerEntry,
  type TickerRecord,
} from '../store.js'
import { chunkHash, marksText, type Part, type SeriesName, type SeriesRow } from './content.js'

/** The number of the chunk that a bar is in. */
export function chunkOf(bar = 0): number {
  return Math.floor(bar / CHUNK)
}

/** A record as it is written: most of the work of writing, which needs no database. */
export function pack({ entry, daily, weekly, since }: TickerRecord): PackedRecord {
  const { ticker } = entry
  const chunks: Buffer[] = []
  const bars = barParts(ticker, daily.series, chunkOf(since?.daily), chunks)
  const series = {
    daily: packedSeries(ticker, daily, chunkOf(since?.daily), chunks, marksBeside(entry, daily.series)),
    weekly: packedSeries(ticker, weekly, chunkOf(since?.weekly), chunks),
  }
  const bytes = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return { entry, since, bars, ...series, bytes }
}

function barParts(ticker: string, series: Series, first: number, into: Buffer[]): PackedPart[] {
  const name = { ticker, timeframe: 'daily' } as const
  // All of them: where a series tells them from now on, it does of all bars.
  const unadjusted = encodeUnadjusted(series)
  return [
    packedPart(name, 'prices', first, encodePrices(series, first), into),
    ...(unadjusted === null ? [] : [packedPart(name, 'unadjusted', 0, unadjusted, into)]),
  ]
}

function marksBeside(entry: TickerEntry, series: Series): string {
  const { days } = series
  const stretches = originsOf(entry).map(({ from, bars }) => [days[from]!, days[from + bars - 1]!] as const)
  return marksText({ marks: marksOf(series), stretches })
}

function packedSeries(
  ticker: string,
  { series, outcomes, fields }: SeriesRecord,
  first: number,
  into: Buffer[],
  marks: string | null = null,
): PackedSeries {
  const { timeframe, days, known } = series
  const name = { ticker, timeframe }
  return {
    timeframe,
    summary: { bars: days.length, final: formatDay(known.at(-1)!), ...countsOf(fields, days.length), marks },
    parts: [
      packedPart(name, 'calendar', first, encodeCalendar(series, timeframe, first), into),
      packedPart(name, 'outcomes', first, encodeOutcomes(series, outcomes, timeframe, first), into),
      packedPart(name, 'events', first, encodeEvents(fields, days.length, first), into),
    ],
  }
}

export function packedPart(
  name: SeriesName,
  part: Part,
  first: number,
  chunks: readonly Buffer[],
  into: Buffer[],
): PackedPart {
  into.push(...chunks)
  const hashes = chunks.map((columns, i) => chunkHash(name, part, first + i, columns)).join('')
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

/** How many events there are, and of which fields. */
export function countsOf(
  records: ReadonlyMap<string, FieldRecord>,
  bars: number,
): Pick<SeriesRow, 'events' | 'eventsOnLast' | 'fields'> {
  const named = [...records].sort(([a], [b]) => (a < b ? -1 : 1))
  const count = (of: (record: FieldRecord) => number): number => named.reduce((sum, [, record]) => sum + of(record), 0)
  const heads = named.map(([name, { initialBar, initialBand, bars }]) => [name, [initialBar, initialBand, bars.length]])
  return {
    events: count(record => record.bars.length),
    eventsOnLast: count(record => (record.bars.at(-1) === bars - 1 ? 1 : 0)),
    fields: JSON.stringify(Object.fromEntries(heads)),
  }
}
