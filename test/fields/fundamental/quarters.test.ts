import { describe, expect, it } from 'vitest'
import { Quarters } from '../../../src/fields/quarters.js'
import { formatDay } from '../../../src/model/day.js'
import type { Report } from '../../../src/model/facts.js'
import type { Series } from '../../../src/model/series.js'
import { barsOn, everyDay, facts, on, quarters, report } from '../made-facts.js'

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
