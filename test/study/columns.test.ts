import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { daysAt, indicesIn } from '../../src/core/model/calendar.js'
import { Random } from '../../src/core/statistics/random.js'
import { shareColumns } from '../../src/data/threads.js'
import { cellOf, indicesAmong, memberBars } from '../../src/research/study/cell.js'
import { MarketColumns } from '../../src/research/study/signals.js'
import { randomEntry } from '../../src/research/study/tests.js'
import { notInQuick } from '../support/full.js'

const ascending = fc
  .uniqueArray(fc.integer({ min: -5, max: 60 }), { maxLength: 40 })
  .map(values => Int32Array.from(values).sort())
const run = fc
  .record({ from: fc.integer({ min: 0, max: 50 }), length: fc.integer({ min: 0, max: 40 }) })
  .map(({ from, length }) => Int32Array.from({ length }, (_, i) => from + i))
const column = fc.oneof(ascending, run)

describe('columns of a market', () => {
  it('are kept as they are, those that are alike once, where threads reach them', () => {
    fc.assert(
      fc.property(fc.array(column, { maxLength: 12 }), columns => {
        const market = new MarketColumns()
        const kept = columns.map(one => market.ascending(one))
        expect(kept).toEqual(columns)
        for (const [i, one] of kept.entries()) {
          expect(one.buffer).toBeInstanceOf(SharedArrayBuffer)
          const again = market.ascending(columns[i]!.slice())
          expect([again.buffer, again.byteOffset]).toEqual([one.buffer, one.byteOffset])
          expect(shareColumns({ one }).one).toBe(one)
        }
      }),
    )
  })

  notInQuick('are copies, of more than one piece of memory', () => {
    const market = new MarketColumns()
    const columns = Array.from({ length: 9 }, (_, i) => Float64Array.from({ length: 40_000 }, (_, t) => i * t))
    const kept = columns.map(one => market.copy(one))
    expect(new Set(kept.map(({ buffer }) => buffer)).size).toBeGreaterThan(1)
    expect(kept).toEqual(columns)
    columns[3]!.fill(0)
    expect(kept[3]![2]).toBe(6)
  })
})

it('places of bars among others, and their days, are the same of bars in a row as of any', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        run,
        ascending.map(some => some.filter(bar => bar >= 0)),
      ),
      ascending,
      (bars, some) => {
        expect(indicesAmong(bars, some)).toEqual(indicesIn(bars, some).filter(place => place >= 0))
        const days = Int32Array.from({ length: 100 }, (_, i) => 15_000 + 2 * i)
        expect(daysAt(days, bars)).toEqual(Int32Array.from(bars, bar => days[bar]!))
      },
    ),
  )
})

it('random entries are the same whether the returns of all tickers lie in one piece of memory or each in its own', () => {
  const random = new Random(3)
  for (let round = 0; round < 10; round++) {
    const tickers = Array.from({ length: 2 + random.below(5) }, (_, ticker) => {
      const days = Int32Array.from({ length: 300 }, (_, i) => 15_000 + i)
      const lacks = random.uniform() < 0.5
      const forward = Float64Array.from(days, () => (lacks && random.uniform() < 0.1 ? Number.NaN : random.normal()))
      const signals = Int32Array.from(days.keys()).filter(() => random.uniform() < 0.05)
      return { name: `T${ticker}`, days, forward, signals }
    })
    const room = new Float64Array(300 * tickers.length)
    const entriesOf = (roomFor: (i: number) => Float64Array) => {
      const members = tickers.map(({ name, days, forward, signals }, i) =>
        memberBars(name, days, forward, Int32Array.from(days.keys()), signals, roomFor(i)),
      )
      return randomEntry(cellOf(members, 3), 49, new Random(round))
    }
    const apart = entriesOf(() => new Float64Array(300))
    expect(apart).toHaveProperty('draws', 49)
    expect(entriesOf(i => room.subarray(300 * i, 300 * (i + 1)))).toEqual(apart)
  }
})
