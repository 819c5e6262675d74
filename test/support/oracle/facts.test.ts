import { describe, expect, it } from 'vitest'
import {
  type Facts,
  type Grade,
  type InsiderTrade,
  NO_FACTS,
  type RatingCounts,
  type Report,
} from '../../../src/model/facts.js'
import { type Company, type FundamentalName, oracleFundamentals } from './facts.js'
import { quartersAt, trailing } from './facts-quarters.js'
import { countsOf, latest, onBasisOfBars, usableDate } from './facts-records.js'

/** One bar a day from day 0, at a close of 100 unless closes are given. */
function company(facts: Partial<Facts>, closes: readonly number[] | number = 400): Company {
  const prices = typeof closes === 'number' ? Array.from({ length: closes }, () => 100) : closes
  const days = prices.map((_, t) => t)
  return { ticker: 'OWN', days, known: days, closes: prices, facts: { ...NO_FACTS, ...facts } }
}

function report(period_end: number, known: number, figures: Partial<Report> = {}): Report {
  const plain = { session: null, eps: 1, revenue: 100, book_value_ps: 50, basis: 'bars' } as const
  return { period_end, known, ...plain, ...figures }
}

/** Quarters 90 days apart, the last of them ending on day 0, all known on day 10 after the session; oldest first. */
function quarters(eps: readonly number[], revenue: readonly number[] = eps.map(() => 100)): Report[] {
  return eps.map((value, i) => report(-90 * (eps.length - 1 - i), 10, { eps: value, revenue: revenue[i]! }))
}

function counts(known: number, five: readonly [number, number, number, number, number]): RatingCounts {
  const [strong_buy, buy, hold, sell, strong_sell] = five
  return { known, session: 'pre', strong_buy, buy, hold, sell, strong_sell }
}

function trade(
  known: number,
  insider: string,
  side: 'buy' | 'sell',
  shares: number,
  value: number | null,
): InsiderTrade {
  return { known, session: 'pre', insider, side, shares, value }
}

function bandsOf(field: FundamentalName, own: Company, peers: readonly Company[] = []): (string | null)[] {
  return oracleFundamentals(own, 'daily', peers)[field]
}

/** Bar → band where it changes, undefined bars included. */
function changes(bands: readonly (string | null)[]): [number, string | null][] {
  return [...bands.entries()].filter(([t, band]) => t === 0 || band !== bands[t - 1])
}

describe('records', () => {
  it('count on their own day when known before the session, otherwise from the next on', () => {
    expect(usableDate({ known: 7, session: 'pre' })).toBe(7)
    expect(usableDate({ known: 7, session: 'post' })).toBe(8)
    expect(usableDate({ known: 7, session: null })).toBe(8)
    expect(usableDate({ known: 7 })).toBe(8)
  })

  it('are the latest by usable date, then known date, then place', () => {
    const post = { known: 7, session: 'post', id: 1 } as const
    const pre = { known: 8, session: 'pre', id: 2 } as const
    expect(latest([pre, post])).toBe(pre)
    const again = { ...post, id: 3 }
    expect(latest([post, again])).toBe(again)
    expect(latest([again, post])).toBe(post)
    expect(latest([])).toBeNull()
  })
})

describe('quarters', () => {
  it('are those known, newest first, up to the first gap', () => {
    const reports = [report(-401, 0), report(-290, 0), report(-180, 0), report(-110, 0), report(0, 5)]
    const own = company({ reports })
    expect(quartersAt(own, 0)).toEqual([])
    expect(quartersAt(own, 1).map(quarter => quarter.period_end)).toEqual([-110, -180, -290])
    expect(quartersAt(own, 6).map(quarter => quarter.period_end)).toEqual([0, -110, -180, -290])
    expect(quartersAt(own, 200).length).toBe(4)
    expect(quartersAt(own, 201)).toEqual([])
  })

  it('are each the latest version, whole: a figure that it lacks is unknown', () => {
    const own = company({ reports: [...quarters([1, 2, 3, 4]), report(-90, 30, { eps: null })] })
    expect(trailing(quartersAt(own, 30), 'eps')).toBe(10)
    expect(trailing(quartersAt(own, 31), 'eps')).toBeNull()
    expect(trailing(quartersAt(own, 31), 'revenue')).toBe(400)
  })
})

describe('figures as filed', () => {
  const filed = report(0, 5, { eps: 4, book_value_ps: 8, basis: 'filed' })
  const splits = [{ ex_date: 10, ratio: 2 }]

  it('are divided at every bar by later splits that the bars are adjusted for', () => {
    const own = company({ splits }, 20)
    expect(onBasisOfBars(filed, own, 0)).toMatchObject({ eps: 2, book_value_ps: 4, revenue: 100 })
    expect(onBasisOfBars(filed, own, 19)).toMatchObject({ eps: 2, book_value_ps: 4 })
    expect(onBasisOfBars({ ...filed, basis: 'bars' }, own, 19).eps).toBe(4)
    expect(onBasisOfBars({ ...filed, known: 10 }, own, 19).eps).toBe(4)
  })

  it('are divided from the split on where the bars jump there themselves', () => {
    const jumping = Array.from({ length: 20 }, (_, t) => (t < 10 ? 200 : 100))
    const own = company({ splits }, jumping)
    expect([9, 10].map(t => onBasisOfBars(filed, own, t).eps)).toEqual([4, 2])
    // 2 is nearer to 1 than to 7.
    const smaller = company({ splits: [{ ex_date: 10, ratio: 7 }] }, jumping)
    expect(onBasisOfBars(filed, smaller, 9).eps).toBe(4 / 7)
  })

  it('stand apart from splits after the last bar, and know one split a date, the last given', () => {
    expect(onBasisOfBars(filed, company({ splits }, 10), 9).eps).toBe(4)
    expect(onBasisOfBars(filed, company({ splits }, 11), 9).eps).toBe(2)
    expect(onBasisOfBars(filed, company({ splits: [...splits, { ex_date: 10, ratio: 8 }] }, 20), 9).eps).toBe(0.5)
    expect(onBasisOfBars(filed, company({ splits: [...splits, { ex_date: 15, ratio: 4 }] }, 20), 9).eps).toBe(0.5)
  })
})

describe('single grades', () => {
  const grade = (known: number, firm: string, word: string): Grade => ({ known, session: null, firm, grade: word })

  it("count each firm's latest once, case aside, for 365 days; unknown words leave what stands", () => {
    const made = countsOf([
      grade(0, 'Alpha', 'Buy'),
      grade(0, 'Beta', 'EQUAL-WEIGHT'),
      grade(5, 'ALPHA', 'conviction buy'),
      grade(6, 'Beta', 'no opinion'),
      grade(364, 'Gamma', 'Underweight'),
      grade(365, 'Gamma', 'Strong Sell'),
    ])
    expect(made.map(({ known, session: _, ...five }) => [known, Object.values(five)])).toEqual([
      [0, [0, 1, 1, 0, 0]],
      [5, [1, 0, 1, 0, 0]],
      [364, [1, 0, 1, 1, 0]],
      [365, [1, 0, 0, 0, 1]],
    ])
  })

  it('of one day before and after the session make two records', () => {
    const made = countsOf([{ ...grade(3, 'Alpha', 'Buy'), session: 'pre' }, grade(3, 'Beta', 'Sell')])
    expect(made.map(({ known, session, buy, sell }) => [usableDate({ known, session }), buy, sell])).toEqual([
      [3, 1, 0],
      [4, 1, 1],
    ])
  })
})

describe('growth', () => {
  it('cuts trailing revenue over that of a year before, with tolerance', () => {
    const zone = (last: number): string | null =>
      bandsOf('growth_zone', company({ reports: quarters([1, 1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1, last]) }))[11]!
    expect(zone(1.8)).toBe('high_growth')
    expect(zone(1.8 - 3e-10)).toBe('high_growth')
    expect(zone(1.8 - 5e-10)).toBe('moderate_growth')
    expect(zone(1.2)).toBe('stable')
    expect(zone(1)).toBe('slowing')
    expect(zone(0.9)).toBe('shrinking')
  })

  it('is undefined before, without eight quarters, and without revenue to compare with', () => {
    const eight = company({ reports: quarters([1, 1, 1, 1, 1, 1, 1, 1]) })
    expect(changes(bandsOf('growth_zone', eight))).toEqual([
      [0, null],
      [11, 'slowing'],
      [201, null],
    ])
    const seven = company({ reports: quarters([1, 1, 1, 1, 1, 1, 1]) })
    expect(bandsOf('growth_zone', seven)[11]).toBeNull()
    const from0 = company({ reports: quarters([1, 1, 1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1, 1, 1]) })
    expect(bandsOf('growth_zone', from0)[11]).toBeNull()
  })

  it('compares its last two rates, and falling ones are deteriorating when the newest is negative', () => {
    const direction = (revenue: readonly number[]): string | null =>
      bandsOf('revenue_growth_direction', company({ reports: quarters([1, 1, 1, 1, 1, 1], revenue) }))[11]!
    expect(direction([100, 100, 9, 9, 110, 112])).toBe('accelerating')
    expect(direction([100, 100, 9, 9, 110, 111])).toBe('steady')
    expect(direction([100, 100, 9, 9, 110, 108])).toBe('decelerating')
    expect(direction([100, 100, 9, 9, 110, 99])).toBe('deteriorating')
    expect(direction([0, 100, 9, 9, 110, 99])).toBeNull()
  })

  it('of earnings is on the absolute value of at least a cent', () => {
    const direction = (eps: readonly number[]): string | null =>
      bandsOf('eps_growth_direction', company({ reports: quarters(eps) }))[11]!
    expect(direction([-1, -1, 9, 9, -1, -0.95])).toBe('accelerating')
    expect(direction([-1, -1, 9, 9, -1, -0.96])).toBe('steady')
    expect(direction([1, 1, 9, 9, 1, 0.95])).toBe('deteriorating')
    expect(direction([0.01, 0.01, 9, 9, 0.02, 0.02])).toBe('steady')
    expect(direction([0.009, 0.01, 9, 9, 0.02, 0.02])).toBeNull()
  })
})

describe('valuation', () => {
  it('ranks the negated yield in its own history', () => {
    // E is 4 / close: a rising close is ever dearer. 252 of them, from bar 11 on, must be defined.
    const rising = company({ reports: [...quarters([1, 1, 1, 1]), report(90, 95), report(180, 190)] }, 360)
    const own = { ...rising, closes: rising.days.map(t => 100 + t) }
    expect(changes(bandsOf('pe_vs_historical', own))).toEqual([
      [0, null],
      [262, 'deeply_overvalued'],
    ])
    // Book value is as dear as earnings, there are no peers, and growth is undefined.
    expect(changes(bandsOf('valuation_zone', own))).toEqual([
      [0, null],
      [262, 'deeply_overvalued'],
    ])
  })

  it('compares with the median yield of at least five peers', () => {
    const peers = [2, 1, 1, 1, -3].map((eps, i) => ({
      ...company({ reports: quarters([eps, eps, eps, eps]) }),
      ticker: `P${i}`,
    }))
    const against = (eps: number, others = peers): string | null =>
      bandsOf('pe_vs_sector', company({ reports: quarters([eps, eps, eps, eps]) }), others)[11]!
    expect([0.5, 0.8, 1.25, 2, 2.01].map(eps => against(eps))).toEqual([
      'deeply_overvalued',
      'overvalued',
      'fair_value',
      'undervalued',
      'deep_value',
    ])
    expect(against(0)).toBe('deeply_overvalued')
    expect(against(1, peers.slice(1))).toBeNull()
    expect(against(1, [...peers, ...peers.slice(4), ...peers.slice(4), ...peers.slice(4)])).toBeNull()
  })

  it("takes a peer's last bar that is final by then and at most seven days old", () => {
    const peer = company({ reports: quarters([1, 1, 1, 1]) }, 30)
    const band = (last: number, final = last): string | null => {
      const stopped = { ...peer, days: [0, last], known: [0, final], closes: [100, 100] }
      return bandsOf('pe_vs_sector', company({ reports: quarters([1, 1, 1, 1]) }, 30), Array(5).fill(stopped))[20]!
    }
    expect(band(13)).toBe('fair_value')
    expect(band(12)).toBeNull()
    expect(band(20)).toBe('fair_value')
    expect(band(20, 21)).toBeNull()
    expect(band(21)).toBeNull()
  })
})

describe('earnings', () => {
  const result = (report_date: number, eps_estimate: number | null, eps_actual: number | null) =>
    ({ report_date, session: 'pre', eps_estimate, eps_actual }) as const

  it('surprise by the share of the estimate, of at least a cent', () => {
    const surprise = (estimate: number | null, actual: number | null): string | null =>
      bandsOf('earnings_surprise', company({ earnings: [result(5, estimate, actual)] }))[5]!
    expect(surprise(1, 1.15)).toBe('big_beat')
    expect(surprise(1, 1.02)).toBe('beat')
    expect(surprise(-1, -1.01)).toBe('met')
    expect(surprise(1, 0.98)).toBe('missed')
    expect(surprise(0, -0.0015)).toBe('big_miss')
    expect(surprise(1, null)).toBeNull()
  })

  it('surprise for 200 days, and the latest alone counts', () => {
    const own = company({ earnings: [result(5, 1, 2), result(50, 1, null), result(60, 1, 1)] })
    expect(changes(bandsOf('earnings_surprise', own))).toEqual([
      [0, null],
      [5, 'big_beat'],
      [50, null],
      [60, 'met'],
      [261, null],
    ])
  })

  it('are near by the latest announcement that has not passed', () => {
    const schedule = [
      { known: 0, expected_date: 100 },
      { known: 40, expected_date: 90 },
      { known: 40, expected_date: 70 },
    ]
    expect(changes(bandsOf('earnings_proximity', company({ schedule }, 120)))).toEqual([
      [0, null],
      [1, 'not_soon'],
      [40, 'next_month'],
      [41, 'this_month'],
      [63, 'this_week'],
      [67, 'within_days'],
      [71, 'this_month'],
      [83, 'this_week'],
      [87, 'within_days'],
      [91, 'this_month'],
      [93, 'this_week'],
      [97, 'within_days'],
      [101, null],
    ])
  })

  it('are near, without announcement, 364 days after the fourth latest, up to 14 days late', () => {
    const earnings = [-280, -190, -100, -10].map(day => result(day, null, null))
    expect(changes(bandsOf('earnings_proximity', company({ earnings }, 120)))).toEqual([
      [0, 'not_soon'],
      [24, 'next_month'],
      [54, 'this_month'],
      [77, 'this_week'],
      [81, 'within_days'],
      [99, null],
    ])
    expect(bandsOf('earnings_proximity', company({ earnings: earnings.slice(1) }))[0]).toBeNull()
    const late = [-280, -190, -100, 90].map(day => result(day, null, null))
    expect(bandsOf('earnings_proximity', company({ earnings: late }))[90]).toBeNull()
  })
})

describe('analysts', () => {
  it('agree by the mean of the latest three or more', () => {
    const own = company({
      ratings: [counts(5, [2, 2, 0, 0, 0]), counts(9, [0, 0, 0, 0, 2]), counts(20, [0, 0, 3, 0, 0])],
    })
    expect(changes(bandsOf('analyst_consensus', own))).toEqual([
      [0, null],
      [5, 'strong_buy'],
      [20, 'hold'],
    ])
  })

  it('move against what was in force 90 days earlier', () => {
    const own = company({ ratings: [counts(5, [0, 10, 0, 0, 0]), counts(9, [1, 9, 0, 0, 0])] })
    expect(changes(bandsOf('analyst_consensus_direction', own))).toEqual([
      [0, null],
      [95, 'upgrading'],
      [99, 'stable'],
    ])
  })
})

describe('insiders', () => {
  const insiders = [
    trade(5, 'A', 'buy', 100, 8_000),
    trade(6, 'B', 'buy', 100, null),
    trade(7, 'C', 'buy', 100, null),
    trade(8, 'D', 'sell', 10, 2_000),
    trade(20, 'A', 'sell', 100, null),
  ]

  it('are netted each, in the 90 days up to the date', () => {
    // A to C against D; from day 20 A has bought and sold as much; from day 95 the buying of A has passed, then of B and C.
    expect(changes(bandsOf('net_direction', company({ insiders })))).toEqual([
      [0, null],
      [5, 'strong_buying'],
      [8, 'buying'],
      [95, 'neutral'],
      [96, 'selling'],
      [97, 'strong_selling'],
      [110, 'neutral'],
    ])
  })

  it('are active by the value of both sides, heavily with three on one side', () => {
    expect(changes(bandsOf('insider_activity_zone', company({ insiders })))).toEqual([
      [0, null],
      [5, 'moderate_buying'],
      [7, 'heavy_buying'],
      [20, 'moderate_buying'],
      [95, 'moderate_selling'],
      [98, null],
      [110, 'no_activity'],
    ])
  })
})

it('leaves all twelve undefined without facts', () => {
  const bands = oracleFundamentals({ ...company({}, 3), facts: null }, 'daily')
  expect(Object.keys(bands).length).toBe(12)
  expect(new Set(Object.values(bands).flat())).toEqual(new Set([null]))
})
