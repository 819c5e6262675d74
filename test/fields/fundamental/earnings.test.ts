import { describe, expect, it } from 'vitest'
import type { EarningsResult, ScheduledReport } from '../../../src/core/model/facts.js'
import { bandsOf, barsOn, earned, everyDay, facts, lastBand, on } from '../made-facts.js'

describe('earnings_surprise', () => {
  const surprise = (estimate: number | null, actual: number | null) =>
    lastBand('earnings_surprise', barsOn(['2018-02-01']), facts({ earnings: [earned('2018-02-01', estimate, actual)] }))

  // Over an estimate of 1 the surprise is the difference. Edges belong to the outer band, tolerance 1e-10.
  it.each([
    [1.5, 'big_beat'],
    [1.15, 'big_beat'],
    [1.15 - 0.9e-10, 'big_beat'],
    [1.15 - 1.1e-10, 'beat'],
    [1.02, 'beat'],
    [1.02 - 0.9e-10, 'beat'],
    [1.02 - 1.1e-10, 'met'],
    [1, 'met'],
    [0.98 + 1.1e-10, 'met'],
    [0.98 + 0.9e-10, 'missed'],
    [0.98, 'missed'],
    [0.85 + 1.1e-10, 'missed'],
    [0.85 + 0.9e-10, 'big_miss'],
    [0.85, 'big_miss'],
    [-1, 'big_miss'],
  ])('actual %d of an estimated 1: %s', (actual, band) => {
    expect(surprise(1, actual)).toBe(band)
  })

  it('divides by the size of the estimate, at least by 0.01', () => {
    // (−1.02 − −1) / 1 = −0.02; (−0.85 − −1) / 1 = 0.15.
    expect(surprise(-1, -1.02)).toBe('missed')
    expect(surprise(-1, -0.85)).toBe('big_beat')
    // 0.0014 / 0.01 = 0.14, though the estimate is 0.001; 0.0015 / 0.01 = 0.15.
    expect(surprise(0.001, 0.0024)).toBe('beat')
    expect(surprise(0.001, 0.0025)).toBe('big_beat')
    expect(surprise(0, 0)).toBe('met')
  })

  it('is undefined when the latest report lacks a figure, though an older one has both', () => {
    const older = earned('2017-11-01', 1, 2)
    for (const latest of [earned('2018-02-01', null, 1), earned('2018-02-01', 1, null)])
      expect(lastBand('earnings_surprise', barsOn(['2018-02-01']), facts({ earnings: [latest, older] }))).toBeNull()
  })

  it('counts for 200 days after the report', () => {
    // 2018-01-01 + 200 days = 2018-07-20.
    const bands = bandsOf(
      'earnings_surprise',
      everyDay('2018-07-19', 3),
      facts({ earnings: [earned('2018-01-01', 1, 1)] }),
    )
    expect(bands).toEqual(['met', 'met', null])
  })

  it('takes the latest by the date from which it counts, then by its own, then the one given last', () => {
    const beat = (date: string, session: EarningsResult['session']) => ({ ...earned(date, 1, 2), session })
    const miss = (date: string, session: EarningsResult['session']) => ({ ...earned(date, 2, 1), session })
    const bands = (...earnings: EarningsResult[]) =>
      bandsOf('earnings_surprise', everyDay('2018-02-01', 3), facts({ earnings }))
    expect(bands(miss('2018-02-02', 'pre'), beat('2018-02-01', 'post'))).toEqual([null, 'big_miss', 'big_miss'])
    expect(bands(miss('2018-02-01', null), beat('2018-02-01', 'pre'))).toEqual(['big_beat', 'big_miss', 'big_miss'])
    expect(bands(beat('2018-02-01', 'pre'), miss('2018-02-01', 'pre'))).toEqual(['big_miss', 'big_miss', 'big_miss'])
    expect(bands(miss('2018-02-01', 'pre'), beat('2018-02-01', 'pre'))).toEqual(['big_beat', 'big_beat', 'big_beat'])
  })

  it('counts a report of a weekend from the Monday on, and one from after Friday’s session on the next weekly bar', () => {
    const saturday = facts({ earnings: [{ ...earned('2018-02-03', 1, 1), session: 'post' as const }] })
    expect(bandsOf('earnings_surprise', barsOn(['2018-02-02', '2018-02-05']), saturday)).toEqual([null, 'met'])
    const friday = facts({ earnings: [{ ...earned('2018-02-02', 1, 1), session: 'post' as const }] })
    const weeks = barsOn(['2018-02-02', '2018-02-09'], 10, 'weekly')
    expect(bandsOf('earnings_surprise', weeks, friday)).toEqual([null, 'met'])
  })
})

const expected = (date: string, known: string): ScheduledReport => ({ expected_date: on(date), known: on(known) })

describe('earnings_proximity by the schedule', () => {
  const bands = (from: string, count: number, ...schedule: ScheduledReport[]) =>
    bandsOf('earnings_proximity', everyDay(from, count), facts({ schedule }))

  it('tells the days until the expected date, which itself is 0 days away', () => {
    const found = bands('2018-03-01', 63, expected('2018-05-01', '2018-01-01'))
    // 61 days lie between 1 March and 1 May.
    const at = (days: number) => found[61 - days]
    expect([61, 60, 31, 30, 8, 7, 4, 3, 0].map(at)).toEqual([
      'not_soon',
      'next_month',
      'next_month',
      'this_month',
      'this_month',
      'this_week',
      'this_week',
      'within_days',
      'within_days',
    ])
    expect(found[62]).toBeNull()
  })

  it('counts from the day after it was announced', () => {
    expect(bands('2018-03-01', 2, expected('2018-03-02', '2018-03-01'))).toEqual([null, 'within_days'])
  })

  it('takes the date announced last', () => {
    const moved = [expected('2018-03-05', '2018-01-01'), expected('2018-04-25', '2018-03-01')]
    expect(bands('2018-03-01', 2, ...moved)).toEqual(['this_week', 'next_month'])
    expect(bands('2018-03-01', 2, ...moved.toReversed())).toEqual(['this_week', 'next_month'])
  })

  it('takes the earlier of two dates announced on one day', () => {
    const two = [expected('2018-03-04', '2018-01-01'), expected('2018-06-04', '2018-01-01')]
    for (const given of [two, two.toReversed()])
      expect(bands('2018-03-03', 3, ...given)).toEqual(['within_days', 'within_days', 'not_soon'])
  })

  it('goes back to an older announcement when the date of the newer has passed', () => {
    const found = bands('2018-03-03', 3, expected('2018-03-20', '2018-01-01'), expected('2018-03-04', '2018-02-01'))
    expect(found).toEqual(['within_days', 'within_days', 'this_month'])
  })

  it('passes over a date that had passed when it was announced', () => {
    expect(bands('2018-03-03', 2, expected('2018-03-01', '2018-03-02'))).toEqual([null, null])
  })
})

describe('earnings_proximity without a date announced', () => {
  // A year (364 days) after the fourth latest report, 2017-02-01, is 2018-01-31.
  const year = ['2017-02-01', '2017-05-03', '2017-08-02', '2017-11-01'].map(date => earned(date, null, null))
  const bands = (from: string, count: number, earnings: EarningsResult[], ...schedule: ScheduledReport[]) =>
    bandsOf('earnings_proximity', everyDay(from, count), facts({ earnings, schedule }))

  it('is guessed from the fourth latest report, figures or not', () => {
    const found = bands('2017-10-31', 108, year)
    // Bar 0 has three reports. Bar 92 is 2018-01-31; up to 14 days later the report is due on the bar’s own date.
    expect(found[0]).toBeNull()
    const at = (days: number) => found[92 - days]
    expect([91, 61, 60, 31, 30, 8, 7, 4, 3, 0, -14].map(at)).toEqual([
      'not_soon',
      'not_soon',
      'next_month',
      'next_month',
      'this_month',
      'this_month',
      'this_week',
      'this_week',
      'within_days',
      'within_days',
      'within_days',
    ])
    expect(found[107]).toBeNull()
  })

  it('is guessed anew from the next report on', () => {
    // The fourth latest is now 2017-05-03: 2018-05-02, 90 days after 2018-02-01.
    const found = bands('2018-01-31', 2, [...year, earned('2018-02-01', 1, 1)])
    expect(found).toEqual(['within_days', 'not_soon'])
  })

  it('gives way to an announced date, and comes back when that has passed', () => {
    const found = bands('2018-01-27', 3, year, expected('2018-01-28', '2018-01-01'))
    expect(found).toEqual(['within_days', 'within_days', 'within_days'])
    expect(bands('2018-01-10', 3, year, expected('2018-01-11', '2018-01-01'))).toEqual([
      'within_days',
      'within_days',
      'this_month',
    ])
  })

  it('needs a guess after the latest report', () => {
    // 2017-01-31 + 364 days = 2018-01-30: the latest report lies on that very day, or the day before.
    const three = ['2017-01-31', '2017-05-03', '2017-08-02']
    const reports = (latest: string) => [...three, latest].map(date => earned(date, null, null))
    expect(bands('2018-01-30', 1, reports('2018-01-30'))).toEqual([null])
    expect(bands('2018-01-30', 1, reports('2018-01-29'))).toEqual(['within_days'])
  })

  it('counts records: one given twice is two', () => {
    expect(bands('2017-11-01', 1, year.slice(1))).toEqual([null])
    // Fourth latest of 05-03, 05-03, 08-02, 11-01 is 2017-05-03: 2018-05-02, 182 days off.
    expect(bands('2017-11-01', 1, [year[1]!, ...year.slice(1)])).toEqual(['not_soon'])
    // Of 02-01, 05-03, 08-02, 11-01, 11-01 the same; a guess from four different reports is 91 days off.
    expect(bands('2018-01-01', 1, [...year, year[3]!])).toEqual(['not_soon'])
    expect(bands('2018-01-01', 1, year)).toEqual(['this_month'])
  })

  it('works on weekly bars with their dates', () => {
    const weeks = barsOn(['2018-01-19', '2018-01-26', '2018-02-02', '2018-02-09', '2018-02-16'], 10, 'weekly')
    const found = bandsOf('earnings_proximity', weeks, facts({ earnings: year }))
    expect(found).toEqual(['this_month', 'this_week', 'within_days', 'within_days', null])
  })
})
