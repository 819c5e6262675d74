import { beforeAll, describe, expect, it } from 'vitest'
import { bca } from '../../src/core/statistics/bootstrap.js'
import { twoSidedT } from '../../src/core/statistics/distributions.js'
import { mean } from '../../src/core/statistics/moments.js'
import { Random } from '../../src/core/statistics/random.js'
import { neweyWest } from '../../src/core/statistics/robust.js'
import { type SuperiorAbility, superiorAbility } from '../../src/core/statistics/selection.js'
import { jointShift, type ShiftMember } from '../../src/core/statistics/shift.js'
import { draws, provenInFull } from '../support/full.js'
import { fairRejections } from '../support/null-markets.js'

const RUNS = draws(400)

describe('of independent values', () => {
  provenInFull('the BCa interval of a mean covers it about nineteen times of twenty, skewed ones, too', () => {
    const random = new Random(404)
    const covered = Array.from({ length: RUNS }, () => {
      const x = Float64Array.from({ length: 60 }, () => random.normal() ** 2)
      const { low, high } = bca(x, sample => mean(sample)!, { reps: 499, random })!
      return low <= 1 && 1 <= high
    }).filter(Boolean).length
    expect(covered / RUNS).toBeGreaterThan(0.9)
    expect(covered / RUNS).toBeLessThan(0.98)
  })
})

describe(`of ${RUNS} families of ten candidates none of which is better`, () => {
  const families: SuperiorAbility[] = []
  beforeAll(() => {
    const random = new Random(505)
    for (let run = 0; run < RUNS; run++) {
      families.push(superiorAbility(candidates(random, 10, 600), 600, { block: 10 })!(199, random))
    }
  })

  it('each has a p', () => {
    expect(families.length).toBe(RUNS)
    for (const { consistent } of families) expect(consistent).toBeGreaterThan(0)
  })

  provenInFull.each(['realityCheck', 'consistent', 'upper'] as const)(
    '%s takes the best for real in a twentieth',
    test => {
      const { rejected, least, most } = rejections(families.map(family => family[test]))
      expect(rejected).toBeGreaterThanOrEqual(least)
      expect(rejected).toBeLessThanOrEqual(most)
    },
  )
})

/** How many of p are below 5 %, and between which numbers 99 % of fair tests stay (normal approximation). */
function rejections(p: readonly number[]): { rejected: number; least: number; most: number } {
  const spread = 2.58 * Math.sqrt(p.length * 0.05 * 0.95)
  const rejected = p.filter(value => value < 0.05).length
  return { rejected, least: 0.05 * p.length - spread, most: 0.05 * p.length + spread }
}

/** Columns with memory and something in common. */
function candidates(random: Random, many: number, n: number) {
  const indices = Int32Array.from({ length: n }, (_, day) => day)
  const shared = Float64Array.from(indices, () => random.normal())
  return Array.from({ length: many }, (_, k) => {
    let last = 0
    return {
      indices,
      values: Float64Array.from(indices, day => {
        last = 0.2 * last + random.normal()
        return (1 + k) * (last + shared[day]!)
      }),
    }
  })
}

/*
 * Times that are calm and times that are volatile, all returns of either sign with equal probability, and events in the
 * volatile ones alone: nothing follows from an event but that its own days vary more. Of 2,000 such runs (BANDS_FULL=14)
 * the plain shift finds something in 25 to 27 of 100. The Newey-West t must stay at one in twenty.
 */
const VOLATILE_RUNS = draws(150)

interface Form {
  tickers: number
  bars: number
  horizon: number
  /** Deviation of a volatile day, that of a calm one being 1; the share of such days, and how many follow each other. */
  ratio: number
  share: number
  spell: number
  chance: number
}

describe.each<[string, Form]>([
  ['one ticker', { tickers: 1, bars: 2500, horizon: 20, ratio: 3, share: 0.15, spell: 60, chance: 0.1 }],
  ['short windows', { tickers: 1, bars: 2500, horizon: 5, ratio: 3, share: 0.15, spell: 40, chance: 0.1 }],
  [
    'tickers that move together',
    { tickers: 5, bars: 1500, horizon: 20, ratio: 3, share: 0.2, spell: 60, chance: 0.05 },
  ],
])('events in volatile times that nothing follows, %s:', (_, form) => {
  const found = { n: 0, shift: 0, t: 0 }
  const random = new Random(20261121)
  for (let run = 0; run < VOLATILE_RUNS; run++) {
    const members = made(random, form)
    if (members.reduce((sum, { events }) => sum + events.length, 0) < 20) continue
    const plain = jointShift(members, form.bars, form.horizon, { reps: 199, random: new Random(run) })
    const t = neweyWestOf(members, form)
    if ('reason' in plain || t === null) continue
    found.n++
    found.shift += Number(plain.p < 0.05)
    found.t += Number(twoSidedT(t.t, t.df) < 0.05)
  }

  it('are found in most of the runs', () => {
    expect(found.n).toBeGreaterThan(0.8 * VOLATILE_RUNS)
  })

  provenInFull('the plain shift finds something far too often', () => {
    expect(found.shift).toBeGreaterThan(0.12 * found.n)
  })

  provenInFull('the Newey-West t in no more than one of twenty', () => {
    expect(found.t).toBeLessThanOrEqual(fairRejections(found.n).most)
  })
})

provenInFull('an edge that is three times its error is found by the Newey-West t in more than half of all runs', () => {
  const random = new Random(7)
  const form = { tickers: 1, bars: 2500, horizon: 20, ratio: 2, share: 0.2, spell: 60, chance: 0.1 }
  let n = 0
  let found = 0
  for (let run = 0; run < draws(60); run++) {
    const [member] = made(random, form)
    const error = neweyWestOf([member!], form)?.se
    if (error === undefined || member!.events.length < 20) continue
    const returns = member!.returns.slice()
    for (const event of member!.events) returns[event]! += 3 * error
    const t = neweyWestOf([{ ...member!, returns }], form)
    n++
    found += Number(t !== null && twoSidedT(t.t, t.df) < 0.05)
  }
  expect(found).toBeGreaterThan(n / 2)
})

function neweyWestOf(members: readonly ShiftMember[], { bars, horizon }: Form): ReturnType<typeof neweyWest> {
  const num = new Float64Array(bars)
  const den = new Float64Array(bars)
  for (const { indices, returns, base, events } of members) {
    for (const event of events) {
      num[indices[event]!]! += returns[event]! - base
      den[indices[event]!]! += 1
    }
  }
  return neweyWest(num, den, horizon - 1)
}

function made(random: Random, { tickers, bars, horizon, ratio, share, spell, chance }: Form): ShiftMember[] {
  const length = bars + horizon
  const volatile = new Uint8Array(length)
  let now = random.uniform() < share
  for (let t = 0; t < length; t++) {
    if (random.uniform() < (now ? 1 / spell : share / (1 - share) / spell)) now = !now
    volatile[t] = Number(now)
  }
  const common = Float64Array.from(volatile, () => random.normal())
  return Array.from({ length: tickers }, () => {
    const prices = new Float64Array(length + 1)
    for (let t = 0; t < length; t++) {
      const news = tickers === 1 ? common[t]! : Math.SQRT1_2 * (common[t]! + random.normal())
      prices[t + 1] = prices[t]! + (volatile[t] === 1 ? ratio : 1) * news
    }
    const returns = Float64Array.from({ length: bars }, (_, t) => prices[t + horizon]! - prices[t]!)
    const base = returns.reduce((sum, value) => sum + value, 0) / bars
    const events: number[] = []
    for (let t = 0; t < bars; t++) {
      // One event makes the next day's likelier, as bands do.
      const likely = events.at(-1) === t - 1 ? 0.3 : chance
      if (volatile[t] === 1 && random.uniform() < likely) events.push(t)
    }
    return {
      indices: Int32Array.from(returns.keys()),
      returns,
      base,
      events: Int32Array.from(events),
    }
  })
}
