import { describe, expect, it } from 'vitest'
import { weekly } from '../../../src/core/engine/record.js'
import { Sector, type SectorMember } from '../../../src/core/fields/fundamentals.js'
import { earningsYield, Quarters } from '../../../src/core/fields/quarters.js'
import { formatDay } from '../../../src/core/model/day.js'
import type { Report, Split } from '../../../src/core/model/facts.js'
import type { Series } from '../../../src/core/model/series.js'
import { bandsOf, barsOn, everyDay, facts, on, quarters, report } from '../made-facts.js'

/** Period ends of the chain at each bar, newest first. */
function chains(series: Series, reports: readonly Report[]): string[][] {
  const known = new Quarters(series, facts({ reports }))
  return Array.from(series.days, (_, t) => known.at(t).map(quarter => formatDay(quarter.report.period_end)))
}

/** EPS of the newest quarter at each bar; null without one. */
function newestEps(series: Series, reports: readonly Report[]): (number | null)[] {
  const known = new Quarters(series, facts({ reports }))
  return Array.from(series.days, (_, t) => known.at(t)[0]?.eps ?? null)
}

describe('a report counts', () => {
  const days = ['2018-02-01', '2018-02-02', '2018-02-05']
  const known = on('2018-02-01')

  it.each([
    ['pre', [1, 1, 1]],
    ['post', [null, 1, 1]],
    [null, [null, 1, 1]],
  ] as const)('of session %s on these daily bars', (session, expected) => {
    expect(newestEps(barsOn(days), [report('2017-12-31', { known, session, eps: 1 })])).toEqual(expected)
  })

  it('known on a Saturday before the session on the Monday after', () => {
    const saturday = report('2017-12-31', { known: on('2018-02-03'), session: 'pre', eps: 1 })
    expect(newestEps(barsOn(days), [saturday])).toEqual([null, null, 1])
  })

  // Weekly bars of the Fridays 2 and 9 February: what is known on the Friday itself is in time only before the session.
  it.each([
    ['2018-02-01', null, [1, 1]],
    ['2018-02-02', 'pre', [1, 1]],
    ['2018-02-02', 'post', [null, 1]],
    ['2018-02-02', null, [null, 1]],
    ['2018-02-03', 'pre', [null, 1]],
  ] as const)('known on %s, session %s, on these weekly bars', (date, session, expected) => {
    const weeks = barsOn(['2018-02-02', '2018-02-09'], 10, 'weekly')
    expect(newestEps(weeks, [report('2017-12-31', { known: on(date), session, eps: 1 })])).toEqual(expected)
  })
})

describe('of several versions of a period', () => {
  const days = barsOn(['2018-02-01', '2018-02-02', '2018-02-03', '2018-02-04'])
  const version = (date: string, session: Report['session'], eps: number | null, more: Partial<Report> = {}): Report =>
    report('2017-12-31', { known: on(date), session, eps, ...more })

  it('the latest usable one counts, in whatever order they are given', () => {
    const versions = [version('2018-02-01', 'pre', 1), version('2018-02-03', 'pre', 2)]
    expect(newestEps(days, versions)).toEqual([1, 1, 2, 2])
    expect(newestEps(days, versions.toReversed())).toEqual([1, 1, 2, 2])
  })

  it('the later known counts when both become usable on one date', () => {
    // Known after the session of the 1st and before that of the 2nd: both are usable from the 2nd.
    const versions = [version('2018-02-02', 'pre', 2), version('2018-02-01', 'post', 1)]
    expect(newestEps(days, versions)).toEqual([null, 2, 2, 2])
  })

  it('the one usable later counts even when both became known on one date', () => {
    const versions = [version('2018-02-01', 'post', 2), version('2018-02-01', 'pre', 1)]
    expect(newestEps(days, versions)).toEqual([1, 2, 2, 2])
  })

  it('the one given last counts when their dates are alike', () => {
    expect(newestEps(days, [version('2018-02-01', 'pre', 1), version('2018-02-01', 'pre', 2)])).toEqual([2, 2, 2, 2])
    expect(newestEps(days, [version('2018-02-01', 'post', 1), version('2018-02-01', null, 2)])).toEqual([null, 2, 2, 2])
  })

  it('it counts whole: a figure it lacks is unknown, whatever older versions say', () => {
    const versions = [
      version('2018-02-01', 'pre', 1, { revenue: 7 }),
      version('2018-02-02', 'pre', null, { revenue: 8 }),
    ]
    const known = new Quarters(days, facts({ reports: versions }))
    expect(known.at(0)[0]).toMatchObject({ eps: 1, revenue: 7 })
    expect(known.at(1)[0]).toMatchObject({ eps: Number.NaN, revenue: 8 })
  })

  it('a restated old quarter leaves the newest where it is', () => {
    const newest = report('2018-01-31', { known: on('2018-02-01'), eps: 5 })
    const old = report('2017-10-31', { known: on('2018-02-03'), eps: 9 })
    expect(newestEps(days, [newest, old])).toEqual([5, 5, 5, 5])
  })
})

describe('the chain', () => {
  it('holds the newest eight quarters, newest first', () => {
    const reports = quarters('2018-01-31', 'eps', [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    const known = new Quarters(barsOn(['2018-03-02']), facts({ reports }))
    expect(known.at(0).map(quarter => quarter.eps)).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  })

  // The older period ends so many days before the newer.
  it.each([
    [69, 1],
    [70, 2],
    [91, 2],
    [110, 2],
    [111, 1],
  ])('with period ends %d days apart has %d quarters', (apart, length) => {
    const end = on('2018-01-31')
    const reports = [report(end, { known: end + 30 }), report(end - apart, { known: end + 30 })]
    expect(chains(barsOn(['2018-03-02']), reports)[0]!.length).toBe(length)
  })

  it('ends at the first gap and goes on when the missing quarter becomes known', () => {
    const [newest, missing, ...rest] = quarters('2018-01-31', 'eps', [1, 2, 3, 4])
    const late = { ...missing!, known: on('2018-03-05') }
    const found = chains(everyDay('2018-03-02', 4), [newest!, late, ...rest])
    expect(found.map(ends => ends.length)).toEqual([1, 1, 1, 4])
  })

  it('counts up to 200 days after the newest period end', () => {
    // 2018-01-31 + 200 days = 2018-08-19.
    const found = chains(everyDay('2018-08-17', 5), quarters('2018-01-31', 'eps', [1, 2]))
    expect(found.map(ends => ends.length)).toEqual([2, 2, 2, 0, 0])
  })

  it('is empty while the newest is too old, and there again once a newer one is known', () => {
    const old = report('2018-01-31')
    const next = report('2018-05-02', { known: on('2018-08-21') })
    const found = chains(everyDay('2018-08-19', 3), [old, next])
    expect(found).toEqual([['2018-01-31'], [], ['2018-05-02', '2018-01-31']])
  })

  it('is empty before any report is known', () => {
    expect(chains(everyDay('2018-03-01', 2), quarters('2018-01-31', 'eps', [1]))).toEqual([[], ['2018-01-31']])
    expect(chains(everyDay('2018-03-01', 2), [])).toEqual([[], []])
  })
})

/** A ticker with four quarters of 1 and a close on the given dates, so that E = 4 / close. */
function member(ticker: string, dates: readonly string[], close: number): SectorMember {
  return {
    ticker,
    series: barsOn(dates, close),
    facts: facts({ reports: quarters('2018-01-31', 'eps', [1, 1, 1, 1]) }),
  }
}

const DAYS = ['2018-03-05', '2018-03-06', '2018-03-07']

describe('a sector seen from one of its tickers', () => {
  const seen = (own: string, members: SectorMember[], t = 0): number[] => [
    ...new Sector(members).seenFrom(own).yieldsOfOthers(t),
  ]

  it('has the yields of the others, ascending, and not the own', () => {
    const members = [member('A', DAYS, 40), member('B', DAYS, 10), member('C', DAYS, 20), member('D', DAYS, 80)]
    expect(seen('A', members)).toEqual([0.05, 0.2, 0.4])
    expect(seen('B', members)).toEqual([0.05, 0.1, 0.2])
    expect(seen('D', members)).toEqual([0.1, 0.2, 0.4])
  })

  it('keeps others with the own yield', () => {
    expect(seen('A', [member('A', DAYS, 40), member('B', DAYS, 40), member('C', DAYS, 40)])).toEqual([0.1, 0.1])
  })

  it('leaves out who has no facts, no four quarters, or no bar yet', () => {
    const poor = { ...member('P', DAYS, 40), facts: facts({ reports: [report('2018-01-31', { eps: 1 })] }) }
    const members = [
      member('A', DAYS, 40),
      { ...member('N', DAYS, 40), facts: null },
      poor,
      member('L', ['2018-03-06'], 8),
    ]
    expect(seen('A', members, 0)).toEqual([])
    expect(seen('A', members, 1)).toEqual([0.5])
  })

  it('sees none from a ticker that has no facts or is no member', () => {
    const members = [{ ...member('N', DAYS, 40), facts: null }, member('B', DAYS, 40)]
    expect(seen('N', members)).toEqual([])
    expect(seen('X', members)).toEqual([])
  })

  it('takes the last bar on or before the date, at most seven days old', () => {
    const own = member('A', ['2018-03-12', '2018-03-13'], 40)
    // 5 March is 7 days before the 12th and 8 before the 13th.
    expect(seen('A', [own, member('B', ['2018-03-05', '2018-03-14'], 20)], 0)).toEqual([0.2])
    expect(seen('A', [own, member('B', ['2018-03-05', '2018-03-14'], 20)], 1)).toEqual([])
  })

  it('looks at the last bar only: one without earnings is not passed over', () => {
    // The newest quarter counts to 2018-08-19, 200 days after its end.
    const own = {
      ...member('A', ['2018-08-20'], 40),
      facts: facts({ reports: quarters('2018-05-02', 'eps', [1, 1, 1, 1]) }),
    }
    expect(seen('A', [own, member('B', ['2018-08-19'], 20)])).toEqual([0.2])
    expect(seen('A', [own, member('B', ['2018-08-19', '2018-08-20'], 20)])).toEqual([])
  })
})

describe('weekly', () => {
  // The week of 5 to 9 March 2018. B has no session on the Friday, so that its week is final only on the Saturday.
  const before = ['2018-02-26', '2018-02-27', '2018-02-28', '2018-03-01', '2018-03-02']
  const upTo = (last: string) => [...before, '2018-03-05', last]
  const inWeeks = (one: SectorMember): SectorMember => ({ ...one, series: weekly(one.series) })

  it('counts the peer’s week when it was final by the day on which the own is', () => {
    const own = inWeeks(member('A', upTo('2018-03-09'), 40))
    const peer = inWeeks({
      ...member('B', upTo('2018-03-08'), 10),
      series: barsOn(upTo('2018-03-08'), [20, 20, 20, 20, 20, 10, 10]),
    })
    expect([...own.series.known]).toEqual([on('2018-03-02'), on('2018-03-09')])
    expect([...peer.series.known]).toEqual([on('2018-03-02'), on('2018-03-10')])
    // Seen from A, on Friday, B still has the close of the week before: 4/20. B itself is final a day later: 4/40.
    const sector = new Sector([own, peer])
    expect([...sector.seenFrom('A').yieldsOfOthers(1)]).toEqual([0.2])
    expect([...sector.seenFrom('B').yieldsOfOthers(1)]).toEqual([0.1])
  })

  it('leaves out a peer’s week that is dated after the own, though final earlier', () => {
    // Own week of Thursday 8 March, known on the 10th; the peer's of Friday 9 March is known on the 9th, but later.
    const own = inWeeks(member('A', upTo('2018-03-08'), 40))
    const peer = inWeeks({
      ...member('B', upTo('2018-03-09'), 10),
      series: barsOn(upTo('2018-03-09'), [20, 20, 20, 20, 20, 10, 10]),
    })
    expect([...new Sector([own, peer]).seenFrom('A').yieldsOfOthers(1)]).toEqual([0.2])
  })
})

it('gives the earnings yield of a series, undefined without four quarters', () => {
  const { series, facts: known } = member('A', ['2018-03-01', '2018-03-02'], 40)
  expect([...earningsYield(series, known!)]).toEqual([Number.NaN, 0.1])
})

/** A split of seven for one on 2014-06-09, a Monday; the quarter before was filed in April, the one after in July. */
const SPLIT: Split = { ex_date: on('2014-06-09'), ratio: 7 }
const APRIL = report('2014-03-29', {
  known: on('2014-04-24'),
  eps: 11.62,
  book_value_ps: 140,
  revenue: 45_646,
  basis: 'filed',
})
const JULY = report('2014-06-28', {
  known: on('2014-07-23'),
  eps: 1.28,
  book_value_ps: 20,
  revenue: 37_432,
  basis: 'filed',
})
const DATES = ['2014-05-01', '2014-06-06', '2014-06-09', '2014-08-01']

/** The newest quarter at each bar. */
function newest(series: Series, reports: readonly Report[], splits: readonly Split[]) {
  const known = new Quarters(series, facts({ reports, splits }))
  return Array.from(series.days, (_, t) => known.at(t)[0]!)
}

const epsOf = (series: Series, reports: readonly Report[], splits: readonly Split[]) =>
  newest(series, reports, splits).map(quarter => quarter.eps)

describe('prices adjusted for the split', () => {
  const adjusted = barsOn(DATES, [84, 92, 93, 96])

  it('take figures filed before it divided by the ratio on every bar, and later ones as they are', () => {
    expect(epsOf(adjusted, [APRIL, JULY], [SPLIT])).toEqual([11.62 / 7, 11.62 / 7, 11.62 / 7, 1.28])
    expect(newest(adjusted, [APRIL, JULY], [SPLIT]).map(quarter => quarter.bookValue)).toEqual([20, 20, 20, 20])
  })

  it('leave revenue alone', () => {
    const revenues = newest(adjusted, [APRIL, JULY], [SPLIT]).map(quarter => quarter.revenue)
    expect(revenues).toEqual([45_646, 45_646, 45_646, 37_432])
  })

  it('leave figures alone that are on the basis of the bars', () => {
    expect(epsOf(adjusted, [{ ...APRIL, basis: 'bars' }], [SPLIT])).toEqual([11.62, 11.62, 11.62, 11.62])
  })

  it('count a split that is told twice once, with the ratio given last', () => {
    expect(epsOf(adjusted, [APRIL], [SPLIT, SPLIT])[0]).toBe(11.62 / 7)
    expect(epsOf(adjusted, [APRIL], [{ ...SPLIT, ratio: 5 }, SPLIT])[0]).toBe(11.62 / 7)
  })

  it('do not divide what became known on the day of the split, or later', () => {
    const onTheDay = { ...APRIL, known: SPLIT.ex_date }
    const before = { ...APRIL, known: SPLIT.ex_date - 1 }
    const august = barsOn(['2014-05-01', '2014-06-09', '2014-08-01'], [84, 93, 96])
    const last = (one: Report) => new Quarters(august, facts({ reports: [one], splits: [SPLIT] })).at(2)[0]!.eps
    expect(last(onTheDay)).toBe(11.62)
    expect(last(before)).toBe(11.62 / 7)
  })

  it('take an older period filed anew after the split as it is', () => {
    const restated = { ...APRIL, known: on('2014-07-30'), eps: 1.66 }
    expect(epsOf(adjusted, [APRIL, restated], [SPLIT])).toEqual([11.62 / 7, 11.62 / 7, 11.62 / 7, 1.66])
  })

  it('do not know a split after their last bar', () => {
    const later = { ex_date: on('2014-08-02'), ratio: 4 }
    expect(epsOf(adjusted, [APRIL], [SPLIT, later])[3]).toBe(11.62 / 7)
    expect(epsOf(adjusted, [APRIL], [SPLIT, { ...later, ex_date: on('2014-08-01') }])[3]).toBe(11.62 / 28)
  })

  it('divide by every split since the filing, and multiply for a reverse split', () => {
    const reverse = { ex_date: on('2014-07-01'), ratio: 0.1 }
    expect(epsOf(adjusted, [APRIL], [SPLIT, reverse])[3]).toBeCloseTo(11.62 / 0.7, 12)
  })

  it('are those of a series that begins after the split', () => {
    expect(epsOf(barsOn(['2014-06-10'], 93), [APRIL], [SPLIT])).toEqual([11.62 / 7])
  })
})

describe('prices that show the jump themselves', () => {
  const unadjusted = barsOn(DATES, [591, 645, 93, 96])

  it('take figures filed before the split divided from its day on', () => {
    expect(epsOf(unadjusted, [APRIL, JULY], [SPLIT])).toEqual([11.62, 11.62, 11.62 / 7, 1.28])
  })

  it('jump when their ratio is nearer to that of the split than to 1, in logarithms', () => {
    // √7 = 2.6458 lies half way.
    const falling = (by: number) => epsOf(barsOn(DATES, [100, 100, 100 / by, 100]), [APRIL], [SPLIT])[0]
    expect(falling(2.64)).toBe(11.62 / 7)
    expect(falling(2.65)).toBe(11.62)
    expect(falling(7)).toBe(11.62)
    expect(falling(0.2)).toBe(11.62 / 7)
  })

  it('jump upwards at a reverse split', () => {
    // 1 for 20: prices rise twentyfold.
    const reverse = { ex_date: on('2014-06-09'), ratio: 0.05 }
    expect(epsOf(barsOn(DATES, [1, 1, 20, 20]), [APRIL], [reverse])).toEqual([11.62, 11.62, 11.62 * 20, 11.62 * 20])
    expect(epsOf(barsOn(DATES, [20, 20, 20, 20]), [APRIL], [reverse])[0]).toBe(11.62 * 20)
  })

  it('are judged split by split', () => {
    // Adjusted for the second split, not for the first.
    const second = { ex_date: on('2014-08-01'), ratio: 4 }
    const found = epsOf(barsOn(DATES, [591, 645, 93, 96]), [APRIL], [SPLIT, second])
    expect(found).toEqual([11.62 / 4, 11.62 / 4, 11.62 / 28, 11.62 / 28])
  })

  it('are judged by the close that was paid', () => {
    const paid = barsOn(DATES, [591, 645, 93, 96]).close
    expect(epsOf({ ...barsOn(DATES, [84, 92, 93, 96]), unadjustedClose: paid }, [APRIL], [SPLIT])[0]).toBe(11.62)
  })
})

it('a split moves no band of earnings that did not change', () => {
  // Four quarters of 7 filed before a split of seven, then 1 each; E stays the same share of an adjusted price.
  const split = { ex_date: on('2018-06-01'), ratio: 7 }
  const before = quarters('2018-03-31', 'eps', [7, 7, 7, 7, 7, 7], { basis: 'filed' })
  const after = report('2018-06-30', { known: on('2018-07-30'), eps: 1, basis: 'filed' })
  const bars = barsOn(['2018-05-30', '2018-05-31', '2018-06-01', '2018-08-01'], 100)
  const known = facts({ reports: [...before, after], splits: [split] })
  expect(bandsOf('eps_growth_direction', bars, known)).toEqual(['steady', 'steady', 'steady', 'steady'])
  expect(bandsOf('eps_growth_direction', bars, { ...known, splits: [] }).at(-1)).toBe('deteriorating')
})
