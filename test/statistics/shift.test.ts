import { describe, expect, it } from 'vitest'
import { gTestShift } from '../../src/core/statistics/counts.js'
import { mean } from '../../src/core/statistics/moments.js'
import { Random } from '../../src/core/statistics/random.js'
import { jointShift, type ShiftMember, type ShiftOptions, shiftsOf } from '../../src/core/statistics/shift.js'

describe('the joint circular shift', () => {
  it('is what its definition says, ticker by ticker and shift by shift', () => {
    const random = new Random(5)
    for (let round = 0; round < 20; round++) {
      const calendar = 40 + random.below(60)
      const horizon = 1 + random.below(15)
      const pool = Array.from({ length: 1 + random.below(4) }, () => member(random, calendar, random.uniform()))
      const diffs: number[] = []
      for (let k = horizon; k <= calendar - horizon; k++) {
        const landed = shifted(pool, calendar, k)
        if (landed.length > 0) diffs.push(mean(landed)!)
      }
      const actual = mean(shifted(pool, calendar, 0))
      const found = jointShift(pool, calendar, horizon, options('all'))
      if (actual === null) {
        expect(found).toEqual({ reason: 'no events' })
        continue
      }
      const exceeding = diffs.filter(diff => Math.abs(diff) >= Math.abs(actual) - 1e-13).length
      expect(found).toMatchObject({ shifts: diffs.length, exceeding, p: (1 + exceeding) / (1 + diffs.length) })
      expect(found).toHaveProperty('diff', expect.closeTo(actual, 12))
    }
  })

  it('does not depend on the order of the tickers, nor on the unit', () => {
    const pool = [1, 2, 3, 4, 5].map(seed => member(new Random(seed), 400, 0.9))
    const found = withoutDiff(jointShift(pool, 400, 5, options('all')))
    expect(withoutDiff(jointShift(pool.toReversed(), 400, 5, options('all')))).toEqual(found)
    const scaled = pool.map(one => ({ ...one, returns: one.returns.map(value => 3e-9 * value), base: 3e-9 * one.base }))
    expect(withoutDiff(jointShift(scaled, 400, 5, options('all')))).toEqual(found)
  })

  it('looks at every shift up to 2,000 and at different drawn ones beyond', () => {
    const of = (calendar: number, horizon: number, reps: number | 'all', seed = 1): number[] => [
      ...shiftsOf(calendar, horizon, { reps, random: new Random(seed) }),
    ]
    expect(of(30, 10, 5)).toEqual([10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20])
    expect(of(2039, 20, 999)).toHaveLength(2000)
    expect(of(2040, 20, 'all')).toHaveLength(2001)
    expect(of(2040, 20, 5000)).toHaveLength(2001)
    const drawn = of(2040, 20, 999)
    expect(new Set(drawn).size).toBe(999)
    expect(Math.min(...drawn)).toBeGreaterThanOrEqual(20)
    expect(Math.max(...drawn)).toBeLessThanOrEqual(2020)
    expect(of(2040, 20, 999)).toEqual(drawn)
    expect(of(2040, 20, 999, 2)).not.toEqual(drawn)
    expect(of(19, 10, 999)).toEqual([])
  })

  it('finds nothing where every bar is an event or nothing varies', () => {
    const one = member(new Random(3), 200, 1)
    const centred = one.returns.map(value => value - mean(one.returns)!)
    const every = { ...one, returns: centred, base: 0, events: Int32Array.from(one.indices.keys()) }
    expect(jointShift([every], 200, 5, options('all'))).toMatchObject({ p: 1 })
    expect(jointShift([{ ...one, returns: new Float64Array(200), base: 0 }], 200, 5, options('all'))).toMatchObject({
      p: 1,
    })
  })

  it('says why there is no answer', () => {
    const one = member(new Random(3), 30, 1)
    const none = { ...one, events: new Int32Array(0) }
    expect(jointShift([none], 30, 5, options('all'))).toEqual({ reason: 'no events' })
    expect(jointShift([one], 30, 20, options('all'))).toEqual({
      reason: '30 bars are too few to shift windows of 20 against each other',
    })
    const lonely = { indices: Int32Array.of(4), returns: Float64Array.of(1), base: 0, events: Int32Array.of(0) }
    expect(jointShift([lonely], 30, 5, options('all'))).toEqual({
      reason: 'no shift leaves an event where its ticker has a return',
    })
  })
})

describe('the G-test of what followed', () => {
  const codes = Uint8Array.from({ length: 240 }, (_, i) => (i % 12 < 3 ? 0 : i % 12 < 8 ? 1 : 2))
  const indices = Int32Array.from(codes.keys())

  it.each([
    { categories: 3, every: 17 },
    // More events than the counts of so many categories hold beside each other.
    { categories: 7, every: 2 },
    { categories: 10, every: 3 },
  ])(
    'compares $categories bands with the own bars of each ticker, and shifts as the difference of means does',
    ({ categories, every }) => {
      const bands = [...Array(categories).keys()]
      const own = Math.ceil(240 / every)
      const random = new Random(2)
      const pool = [0, 1].map(() => ({
        indices,
        // One of them on most bars.
        codes: codes.map(() => (random.below(4) > 0 ? 0 : random.below(categories))),
        events: indices.filter(place => place % every === 0),
      }))
      const found = gTestShift(pool, 240, 6, categories, options('all'))
      if ('reason' in found) throw new Error(found.reason)
      const share = (code: number): number =>
        pool.reduce((sum, one) => sum + (own * one.codes.filter(other => other === code).length) / 240, 0)
      const g = (k: number): number => {
        const landed = pool.flatMap(one => [...one.events].map(event => one.codes[(event + k) % 240]!))
        const terms = bands.map(code => {
          const count = landed.filter(other => other === code).length
          return count === 0 ? 0 : 2 * count * Math.log(count / share(code))
        })
        return terms.reduce((sum, term) => sum + term, 0)
      }
      const exceeding = Array.from({ length: 229 }, (_, i) => g(6 + i)).filter(other => other >= g(0) - 1e-8).length
      expect(found.g).toBeCloseTo(g(0), 9)
      expect(found).toMatchObject({ shifts: 229, exceeding, p: (1 + exceeding) / 230 })
      expect(found.observed.reduce((sum, count) => sum + count, 0)).toBe(2 * own)
      expect(found.expected.map((count, code) => count - share(code))).toEqual(bands.map(() => expect.closeTo(0, 9)))
    },
  )

  it('is 0 of all bars, and says why there is no answer', () => {
    expect(gTestShift([{ indices, codes, events: indices }], 240, 5, 3, options('all'))).toMatchObject({ g: 0, p: 1 })
    const none = { indices, codes, events: new Int32Array(0) }
    expect(gTestShift([none], 240, 5, 3, options('all'))).toEqual({ reason: 'no events' })
    expect(gTestShift([{ indices, codes, events: indices }], 240, 200, 3, options('all'))).toHaveProperty('reason')
  })
})

function options(reps: number | 'all'): ShiftOptions {
  return { reps, random: new Random(1) }
}

/** A ticker that has a value on a share of the days, with clustered events. */
function member(random: Random, calendar: number, share: number): ShiftMember {
  const days = Int32Array.from({ length: calendar }, (_, day) => day).filter(() => random.uniform() < share)
  return {
    indices: days,
    returns: Float64Array.from(days, () => random.normal()),
    base: random.normal() / 10,
    events: Int32Array.from(days.keys()).filter(i => i % 20 < 6 && random.uniform() < 0.4),
  }
}

function shifted(pool: readonly ShiftMember[], calendar: number, k: number): number[] {
  return pool.flatMap(({ indices, returns, base, events }) =>
    [...events].flatMap(event => {
      const landing = indices.indexOf((indices[event]! + k) % calendar)
      return landing === -1 ? [] : [returns[landing]! - base]
    }),
  )
}

/** The mean depends on what is added first, in its last digit. */
function withoutDiff(found: ReturnType<typeof jointShift>): object {
  return { ...found, diff: null }
}
