import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { rankOutcomes } from '../../src/core/engine/outcomes.js'
import { labelEntries, transitions } from '../../src/core/engine/record.js'
import {
  bandsByBar,
  emptySeries,
  type FieldRecord,
  recordsIn,
  type Series,
  UNDEFINED,
} from '../../src/core/model/series.js'
import { TIMEFRAME_NAMES, type Timeframe } from '../../src/core/model/terms.js'
import * as codec from '../../src/data/store/codec.js'
import { notInQuick } from '../support/full.js'

/** Some hundred bars of a timeframe, and the bands of some fields on each of them. */
interface World {
  timeframe: Timeframe
  series: Series
  codes: ReadonlyMap<string, Uint8Array>
}

const LENGTHS = fc.oneof(
  fc.integer({ min: 1, max: 1_100 }),
  fc.constantFrom(codec.BARS_PER_CHUNK - 1, codec.BARS_PER_CHUNK, codec.BARS_PER_CHUNK + 1, 3 * codec.BARS_PER_CHUNK),
)

const worlds: fc.Arbitrary<World> = fc
  .record({
    bars: LENGTHS,
    timeframe: fc.constantFrom(...TIMEFRAME_NAMES),
    close: fc.infiniteStream(fc.double({ min: 0.5, max: 2, noNaN: true })),
    // Mostly the band of the bar before, or none for a while.
    turns: fc.infiniteStream(fc.oneof({ weight: 9, arbitrary: fc.constant(-1) }, fc.constantFrom(0, 1, 2, UNDEFINED))),
    names: fc.uniqueArray(fc.constantFrom('rsi_zone', 'macd_state', 'ma_alignment', 'a', 'z'), { maxLength: 5 }),
  })
  .map(({ bars, timeframe, close, turns, names }) => {
    const series = emptySeries(timeframe, bars)
    for (let t = 0; t < bars; t++) {
      series.close[t] = close.next().value!
      series.days[t] = 17_000 + (timeframe === 'daily' ? t : 7 * t)
      series.known[t] = series.days[t]! + (timeframe === 'daily' ? 0 : 3)
      for (const column of ['open', 'high', 'low', 'volume'] as const) series[column][t] = series.close[t]! * (t + 1)
    }
    if (timeframe === 'daily') series.known = series.days
    const codesOf = (): Uint8Array => {
      let code = UNDEFINED
      return Uint8Array.from({ length: bars }, () => {
        const turn = turns.next().value!
        code = turn === -1 ? code : turn
        return code
      })
    }
    return { timeframe, series, codes: new Map(names.map(name => [name, codesOf()])) }
  })

function recordsOf(codes: World['codes'], bars: number): Map<string, FieldRecord> {
  const records = Array.from(codes, ([name, all]) => {
    const changes = transitions(all.subarray(0, bars))
    return [name, { ...changes, ...labelEntries(changes, 30) }] as const
  })
  return new Map(records.filter(([, { initialBar }]) => initialBar >= 0))
}

function headsOf(records: ReadonlyMap<string, FieldRecord>) {
  return new Map(Array.from(records, ([name, { bars, ...record }]) => [name, { ...record, events: bars.length }]))
}

/** Each field by itself. */
function decoded(...asked: Parameters<typeof codec.decodeEvents>): Map<string, FieldRecord> {
  return recordsIn(codec.decodeEvents(...asked)!)
}

/** All chunks of a world's first bars, from one of them on. */
function chunksOf({ timeframe, series, codes }: World, bars: number, first = 0): Record<string, Buffer[]> {
  const part = Object.fromEntries(
    Object.entries(series).map(([name, column]) => [name, column instanceof Object ? column.slice(0, bars) : column]),
  ) as unknown as Series
  return {
    prices: codec.encodePrices(part, first),
    calendar: codec.encodeCalendar(part, timeframe, first),
    outcomes: codec.encodeOutcomes(part, rankOutcomes(part), timeframe, first),
    events: codec.encodeEvents(recordsOf(codes, bars), bars, first),
  }
}

describe('chunks', () => {
  notInQuick('give back what was cut into them', () => {
    fc.assert(
      fc.property(worlds, ({ timeframe, series, codes }) => {
        const { length } = series.days
        const chunks = chunksOf({ timeframe, series, codes }, length)
        for (const part of Object.values(chunks)) expect(part).toHaveLength(codec.chunkEnds(length).length)
        const { days, known } = series
        expect(codec.decodeCalendar(timeframe, chunks.calendar!)).toEqual({ days, known })
        expect(codec.decodeOutcomes(timeframe, chunks.outcomes!)).toEqual(rankOutcomes(series))
        const records = recordsOf(codes, length)
        expect(decoded(headsOf(records), chunks.events!)).toEqual(records)
        for (const [name, record] of records) {
          const heads = new Map([[name, headsOf(records).get(name)!]])
          expect(decoded(heads, chunks.events!)).toEqual(new Map([[name, record]]))
          expect(bandsByBar(record, length)).toEqual(codes.get(name))
        }
        if (timeframe === 'daily') expect(codec.decodePrices(chunks.prices!, null)).toEqual(series)
      }),
      { numRuns: 25 },
    )
  })

  it('with more or fewer events of a field than is said of it give no events at all', () => {
    fc.assert(
      fc.property(worlds, fc.nat(), fc.constantFrom(-1, 1), ({ series, codes }, at, off) => {
        const { length } = series.days
        const heads = headsOf(recordsOf(codes, length))
        fc.pre(heads.size > 0)
        const [name, head] = [...heads][at % heads.size]!
        fc.pre(head.events + off >= 0)
        heads.set(name, { ...head, events: head.events + off })
        expect(codec.decodeEvents(heads, codec.encodeEvents(recordsOf(codes, length), length))).toBeNull()
      }),
      { numRuns: 25 },
    )
  })

  it('before the last stay as they are when bars are added, and are cut alike from one of them on', () => {
    const asked = fc.record({ world: worlds, share: fc.double({ min: 0, max: 1, noNaN: true }), from: fc.nat(4) })
    fc.assert(
      fc.property(asked, ({ world, share, from }) => {
        const { length } = world.series.days
        const some = Math.max(1, Math.floor(length * share))
        const before = chunksOf(world, some)
        const after = chunksOf(world, length)
        const whole = Math.floor(some / codec.BARS_PER_CHUNK)
        for (const part of Object.keys(after)) {
          // A field that had no band until then has no record until then.
          expect(after[part]!.slice(0, whole)).toEqual(before[part]!.slice(0, whole))
          expect(chunksOf(world, length, from)[part]).toEqual(after[part]!.slice(from))
        }
      }),
      { numRuns: 15 },
    )
  })
})
