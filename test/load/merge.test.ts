import { expect, it } from 'vitest'
import { emptySeries, type Series } from '../../src/core/model/series.js'
import { Random } from '../../src/core/statistics/random.js'
import { limitOrigins, mergeSeries, originsAfter } from '../../src/data/load/merge.js'
import type { IndexedOrigin, Origin } from '../../src/data/store/store.js'

/** A series of some days, and the place of each of its days in it. */
function drawn(random: Random, from: number, most: number): Series {
  const days = Int32Array.from(Array.from({ length: most }, (_, t) => from + t).filter(() => random.below(3) > 0))
  const prices = (): Float64Array => Float64Array.from(days, () => 100 + random.below(2))
  const volume = Float64Array.from(days, () => (random.below(2) === 0 ? Number.NaN : 1))
  const series = { timeframe: 'daily' as const, days, known: days, open: prices(), high: prices(), low: prices() }
  const bars = { ...series, close: prices(), volume }
  if (random.below(2) === 0) return bars
  return { ...bars, unadjustedClose: Float64Array.from(days, () => (random.below(4) === 0 ? Number.NaN : 200)) }
}

const COLUMNS = ['open', 'high', 'low', 'close', 'volume'] as const

function rowsOf(series: Series): Map<number, { t: number; values: number[]; paid: number }> {
  return new Map(
    [...series.days].map((day, t) => [
      day,
      { t, values: COLUMNS.map(name => series[name][t]!), paid: series.unadjustedClose?.[t] ?? Number.NaN },
    ]),
  )
}

/** A copy of the bars with others, all zero, after them. */
function withRoom(bars: Series, room: number): Series {
  const copy = emptySeries('daily', bars.days.length + room)
  for (const name of ['days', ...COLUMNS] as const) copy[name].set(bars[name])
  const { unadjustedClose } = bars
  return { ...copy, known: copy.days, ...(unadjustedClose && { unadjustedClose }) }
}

it('merging is what it is day by day: the bar that comes in wins, what was paid stays, and each bar has its origin', () => {
  const random = new Random(7)
  for (let draw = 0; draw < 300; draw++) {
    const present = drawn(random, 100, random.below(30))
    const incoming = drawn(random, 90 + random.below(45), 12)
    const mine = rowsOf(present)
    const theirs = rowsOf(incoming)
    const days = [...new Set([...mine.keys(), ...theirs.keys()])].sort((a, b) => a - b)
    const counts = { added: 0, replaced: 0, unchanged: 0 }
    const kept = days.map(day => {
      const own = mine.get(day)
      const given = theirs.get(day)
      if (given === undefined) return { from: own!, paid: own!.paid, place: own!.t }
      const paid = Number.isNaN(given.paid) && own !== undefined ? own.paid : given.paid
      const same =
        own?.values.every((value, i) => Object.is(value, given.values[i])) === true &&
        (incoming.unadjustedClose === undefined || own.paid === given.paid)
      counts[own === undefined ? 'added' : same ? 'unchanged' : 'replaced']++
      return { from: same ? own : given, paid, place: same ? own.t : -1 }
    })
    const merged = mergeSeries(present, incoming)
    expect(mergeSeries(present, incoming, withRoom(present, incoming.days.length))).toEqual(merged)
    expect([...merged.series.days]).toEqual(days)
    expect(days.map((_, t) => COLUMNS.map(name => merged.series[name][t]))).toEqual(kept.map(({ from }) => from.values))
    const isTold = kept.some(({ paid }) => !Number.isNaN(paid))
    expect(merged.series.unadjustedClose).toEqual(isTold ? Float64Array.from(kept, ({ paid }) => paid) : undefined)
    expect(merged).toMatchObject(counts)
    const places = merged.ranges.flatMap(({ index: place, bars }) =>
      Array.from({ length: bars }, (_, t) => (place === null ? -1 : place + t)),
    )
    expect(places).toEqual(kept.map(({ place }) => place))

    const half = Math.ceil(present.days.length / 2)
    const earlier: IndexedOrigin[] = [
      { source: 'a', format: 'csv', importedAt: 'then', from: 0, bars: half },
      { source: 'b', format: 'csv', importedAt: 'then', from: half, bars: present.days.length - half },
    ]
    const own = { source: 'new', format: 'csv', importedAt: 'now' }
    const jumps = new Map(days.flatMap((_, t): [number, number][] => (t > 0 && random.below(9) === 0 ? [[t, 2]] : [])))
    const each = places.map((place, t) => ({
      ...(place < 0 ? own : earlier.findLast(({ from }) => from <= place)!),
      jump: jumps.get(t),
    }))
    const expected: Origin[] = []
    for (const [t, { source, format, importedAt, jump }] of each.entries()) {
      if (jump !== undefined || each[t - 1]?.source !== source)
        expected.push({ source, format, importedAt, bars: 0, ...(jump === undefined ? {} : { jump }) })
      expected.at(-1)!.bars++
    }
    expect(originsAfter(earlier, merged.ranges, jumps, own)).toEqual(expected)
  }
})

/** When the import of a day was. */
function timeOf(day: number): string {
  return new Date(Date.UTC(2025, 0, 1 + day)).toISOString()
}

it('many ranges are merged with neighbours, with first and last import; a history, jumps and the newest stay', () => {
  const random = new Random(11)
  for (let draw = 0; draw < 100; draw++) {
    const jumps = draw % 3
    // As a year of updates makes them, each after those that are kept of the ones before.
    let kept: Origin[] = [{ source: '0', format: 'csv', importedAt: timeOf(0), bars: 1000 }]
    const brought = [1000]
    const jumped = new Set<number>()
    for (let day = 1; day <= 250; day++) {
      const jump = random.below(60) < jumps ? { jump: 2 } : {}
      if ('jump' in jump) jumped.add(day)
      brought.push(1 + random.below(2))
      kept = limitOrigins([
        ...kept,
        { source: `${day}`, format: 'csv', importedAt: timeOf(day), bars: brought[day]!, ...jump },
      ])
    }
    let day = 0
    for (const [i, { source, importedAt, bars, begun, jump }] of kept.entries()) {
      const last = Number(source)
      expect(begun).toEqual(last === day ? undefined : { source: `${day}`, format: 'csv', importedAt: timeOf(day) })
      expect(importedAt).toBe(timeOf(last))
      expect(bars).toBe(brought.slice(day, last + 1).reduce((sum, own) => sum + own, 0))
      expect(jump !== undefined).toBe(jumped.has(day))
      if ((i === 0 && jumped.size === 0) || i >= kept.length - 4) expect(last).toBe(day)
      day = last + 1
    }
    expect(day).toBe(251)
    // Between jumps there is nothing to join.
    expect(kept.length).toBeLessThanOrEqual(Math.max(16, jumped.size + 5))
  }
})

it('a range of several imports has the first and last in time, regardless of corrected old bars', () => {
  const brought = (day: number, bars = 1): Origin => ({
    source: `${day}`,
    format: 'csv',
    importedAt: timeOf(day),
    bars,
  })
  const CORRECTION = 40
  const DAYS = 30
  // The whole history and the newest four are not joined, and of the others those of the fewest bars are.
  const others = (): Origin[] => Array.from({ length: DAYS }, (_, day) => brought(1 + day, day < 9 ? 1 : 100))
  const corrected = (places: readonly number[]): Origin[] => {
    const days = others()
    places.forEach((place, i) => {
      days[place] = brought(CORRECTION + i)
    })
    return limitOrigins([brought(0, 1000), ...days])
  }
  const tell = ({ importedAt, begun }: Origin): [string, string] => [begun?.importedAt ?? importedAt, importedAt]
  for (const places of [[], [0], [4], [8], [0, 8], [8, 0], [0, 4, 8]]) {
    // Bar by bar as each was brought.
    const each = others().map((_, place) => {
      const nth = places.indexOf(place)
      return nth < 0 ? 1 + place : CORRECTION + nth
    })
    const days = [0, ...each].flatMap((day, at) =>
      Array.from({ length: at === 0 ? 1000 : at <= 9 ? 1 : 100 }, () => day),
    )
    const kept = corrected(places)
    expect(kept).toHaveLength(16)
    let from = 0
    let joined = 0
    for (const origin of kept) {
      const own = days.slice(from, from + origin.bars)
      const first = Math.min(...own)
      const last = Math.max(...own)
      expect(tell(origin), `corrected at ${places.join()}`).toEqual([timeOf(first), timeOf(last)])
      expect([origin.begun?.source ?? origin.source, origin.source]).toEqual([`${first}`, `${last}`])
      if (origin.begun !== undefined) joined++
      from += origin.bars
    }
    expect(from).toBe(days.length)
    expect(joined).toBeGreaterThan(0)
    const newest = places.length === 0 ? DAYS : CORRECTION + places.length - 1
    expect(kept.map(({ importedAt }) => importedAt)).toContain(timeOf(newest))
  }
})
