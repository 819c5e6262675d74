import { describe, expect, it } from 'vitest'
import { wilson } from '../../src/core/statistics/counts.js'
import { Random } from '../../src/core/statistics/random.js'
import { CalendarShare, type ShareInterval } from '../../src/core/statistics/shares.js'
import { draws, provenInFull } from '../support/full.js'

describe('the interval of a share', () => {
  it('is Wilson’s on s (1 - s) / E², with the Newey-West error E by its definition', () => {
    const random = new Random(3)
    for (let round = 0; round < 20; round++) {
      const days = 60 + random.below(60)
      const window = 1 + random.below(12)
      const pool = Array.from({ length: 1 + random.below(4) }, () => member(random, days))
      const events = Array.from({ length: days }, (_, day) => count(pool, day, () => 1))
      const excess = Array.from({ length: days }, (_, day) => count(pool, day, (holds, base) => holds - base))
      const n = sum(events)
      const left = excess.map((value, day) => value - (sum(excess) / n) * events[day]!)
      let variance = 0
      for (let i = 0; i < days; i++)
        for (let j = 0; j < days; j++) variance += Math.max(0, 1 - Math.abs(i - j) / window) * left[i]! * left[j]!
      const share = sum(pool.flatMap(({ holds }) => [...(holds as number[])])) / n
      const effective = Math.min(n, (share * (1 - share) * n * n) / variance)
      const found = shareInterval(pool, days, window)
      expect(found.share).toBeCloseTo(share, 12)
      if (effective < 1 || variance < 1e-9) continue
      const { low, high } = wilson(share * effective, effective)!
      expect(found).toMatchObject({ independent: Math.round(effective) })
      expect(found.low).toBeCloseTo(low, 9)
      expect(found.high).toBeCloseTo(high, 9)
    }
  })

  it('counts dates whose windows share no day where all events end alike', () => {
    const all = { indices: [0, 1, 2, 10, 30], holds: [1, 1, 1, 1, 1], base: 0.5 }
    expect(shareInterval([all, all], 40, 5)).toEqual({ share: 1, ...wilson(3, 3), independent: 3 })
  })

  it('counts events of many tickers on one day as one case', () => {
    const one = { indices: [0, 40, 80, 120, 160, 200], holds: [1, 0, 1, 1, 0, 1], base: 0.5 }
    const alone = shareInterval([one], 240, 5)
    const many = shareInterval(
      Array.from({ length: 50 }, () => one),
      240,
      5,
    )
    expect(many).toEqual({ ...alone, low: expect.closeTo(alone.low!, 9), high: expect.closeTo(alone.high!, 9) })
  })

  it('takes only the counted days of a longer calendar', () => {
    const random = new Random(11)
    for (let round = 0; round < 20; round++) {
      const pool = [member(random, 80), member(random, 80)]
      const isCounted = Uint8Array.from({ length: 200 }, () => 0)
      const place = new Int32Array(80)
      for (let day = 0, at = 0; day < 80; day++) {
        at += random.below(2)
        isCounted[at] = 1
        place[day] = at++
      }
      const longer = new CalendarShare(isCounted.length)
      for (const { indices, holds, base } of pool)
        for (let i = 0; i < indices.length; i++) longer.add(place[indices[i]!]!, holds[i]!, base)
      expect(longer.interval(7, isCounted)).toEqual(shareInterval(pool, 80, 7))
    }
  })

  it('is none without events', () => {
    expect(shareInterval([{ indices: [], holds: [], base: 0.5 }], 9, 5)).toEqual({
      share: null,
      low: null,
      high: null,
      independent: 0,
    })
  })

  provenInFull('of a pool that moves together misses the truth in at most one of ten, plain Wilson in far more', () => {
    const random = new Random(20261127)
    const days = 1000
    const tickers = 20
    const window = 20
    let missed = 0
    let plain = 0
    const runs = draws(400)
    for (let run = 0; run < runs; run++) {
      const common = walk(random, days + window)
      const dates = Array.from({ length: days }, (_, t) => t).filter(() => random.uniform() < 0.04)
      const pool = Array.from({ length: tickers }, () => {
        const own = walk(random, days + window)
        const rose = (t: number): number => Number(common[t + window]! - common[t]! + own[t + window]! - own[t]! > 0)
        const indices = dates.filter(() => random.uniform() < 0.5)
        return { indices, holds: indices.map(rose), base: mean(Array.from({ length: days }, (_, t) => rose(t))) }
      })
      const truth = mean(pool.flatMap(({ indices, base }) => indices.map(() => base)))
      const { low, high, share } = shareInterval(pool, days, window)
      const n = sum(pool.map(({ indices }) => indices.length))
      const naive = wilson(share! * n, n)!
      missed += Number(low! > truth || high! < truth)
      plain += Number(naive.low > truth || naive.high < truth)
    }
    expect(missed / runs).toBeLessThan(0.1)
    expect(plain / runs).toBeGreaterThan(0.15)
  })
})

/** One ticker's events of a share: calendar index and whether it counts, by event, and the share after any bar. */
interface ShareMember {
  indices: ArrayLike<number>
  holds: ArrayLike<number>
  base: number
}

function shareInterval(members: readonly ShareMember[], days: number, window: number): ShareInterval {
  const share = new CalendarShare(days)
  for (const { indices, holds, base } of members)
    for (let i = 0; i < indices.length; i++) share.add(indices[i]!, holds[i]!, base)
  return share.interval(window)
}

function member(random: Random, days: number): ShareMember {
  const indices = Array.from({ length: days }, (_, day) => day).filter(() => random.uniform() < 0.3)
  return { indices, holds: indices.map(() => Number(random.uniform() < 0.5)), base: random.uniform() }
}

function count(pool: readonly ShareMember[], day: number, of: (holds: number, base: number) => number): number {
  return sum(
    pool.flatMap(({ indices, holds, base }) =>
      Array.from(indices, (place, i) => (place === day ? of(holds[i]!, base) : 0)),
    ),
  )
}

function mean(values: readonly number[]): number {
  return sum(values) / values.length
}

function walk(random: Random, length: number): number[] {
  let price = 0
  return Array.from({ length }, () => (price += random.normal()))
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
