import { describe, expect, it } from 'vitest'
import type { Reading } from '../../src/core/fields/field.js'
import type { SectorView } from '../../src/core/fields/fundamentals.js'
import { BUILT_IN_FIELDS } from '../../src/core/fields/index.js'
import { Panel } from '../../src/core/fields/panel.js'
import type { Facts } from '../../src/core/model/facts.js'
import type { Series } from '../../src/core/model/series.js'
import { barsOn, counts, earned, everyDay, facts, grade, on, quarters, report, sectorOf, trade } from './made-facts.js'

const BAR = barsOn(['2018-03-02'], 40)

/** What a field tells of the last bar. */
function told(name: string, known: Facts | null, series: Series = BAR, sector?: SectorView): Reading[] {
  return BUILT_IN_FIELDS.named(name)!.readings(new Panel(series, known, sector ?? null), series.days.length - 1)
}

/** The notes of what is null: why there is no band. */
function lacks(name: string, known: Facts | null, series: Series = BAR, sector?: SectorView): string[] {
  const lacking = told(name, known, series, sector).filter(({ value }) => value === null)
  return lacking.map(({ name, note }) => `${name}: ${note}`)
}

describe('readings tell', () => {
  it('the quarters behind a figure, when they became known, and by which split they were divided', () => {
    const filed = report('2014-03-29', { known: on('2014-04-24'), session: null, eps: 11.62, basis: 'filed' })
    const split = { ex_date: on('2014-06-09'), ratio: 7 }
    const known = facts({ reports: [filed, report('2013-12-28', { eps: 2 })], splits: [split] })
    expect(told('pe_vs_historical', known, barsOn(['2014-06-09', '2014-06-10'], 94)).slice(0, 3)).toEqual([
      { name: 'close', value: 94 },
      {
        name: 'eps_q1',
        value: 11.62 / 7,
        note: 'quarter ended 2014-03-29, known on 2014-04-24, counted from 2014-04-25; as filed, divided by 7: split of 2014-06-09',
      },
      { name: 'eps_q2', value: 2, note: 'quarter ended 2013-12-28, known on 2014-01-27, counted from 2014-01-27' },
    ])
  })

  it('several splits', () => {
    const filed = report('2018-01-31', { known: on('2018-03-01'), book_value_ps: 8, eps: 8, basis: 'filed' })
    const splits = [
      { ex_date: on('2018-03-02'), ratio: 2 },
      { ex_date: on('2018-03-03'), ratio: 4 },
    ]
    const eps = told('pe_vs_sector', facts({ reports: [filed], splits }), barsOn(['2018-03-03']))[1]!
    expect(eps).toMatchObject({ name: 'eps_q1', value: 1 })
    expect(eps.note).toMatch(/divided by 2 and 4: splits of 2018-03-02 and 2018-03-03$/)
  })

  it('how many peers there are and where their middle is', () => {
    const known = facts({ reports: quarters('2018-01-31', 'eps', [1, 1, 1, 1]) })
    const readings = told('pe_vs_sector', known, BAR, sectorOf(0.1, 0.1, 0.2, 0.3, 0.4))
    expect(readings.slice(5)).toEqual([
      { name: 'eps_ttm', value: 4, note: 'a share, of the four quarters' },
      { name: 'earnings_yield', value: 0.1 },
      { name: 'peers', value: 5 },
      { name: 'peers_median', value: 0.2 },
      { name: 'median_to_own', value: 2 },
    ])
  })

  it('the close before dividends when there is one', () => {
    const series = { ...BAR, unadjustedClose: Float64Array.of(50) }
    expect(told('pe_vs_historical', facts({ reports: [] }), series)[0]).toEqual({
      name: 'close',
      value: 50,
      note: 'not adjusted for dividends',
    })
  })

  it('where a consensus comes from', () => {
    const grades = ['A', 'B', 'C'].map(firm => grade('2018-03-01', firm, 'Buy'))
    const ratings = [counts('2018-03-02', [3, 0, 0, 0, 0])]
    expect(told('analyst_consensus', facts({ grades })).at(-1)).toEqual({
      name: 'consensus_mean',
      value: 4,
      note: 'of 3 analysts, their latest grades of 365 days, known on 2018-03-01, counted from 2018-03-02',
    })
    expect(told('analyst_consensus', facts({ ratings })).at(-1)!.note).toMatch(/^of 3 analysts, given as counts, known/)
  })

  it('whether the next report is announced or guessed', () => {
    const year = ['2017-03-10', '2017-06-01', '2017-09-01', '2017-12-01'].map(date => earned(date, 1, 1))
    const schedule = [{ expected_date: on('2018-03-20'), known: on('2018-02-01') }]
    expect(told('earnings_proximity', facts({ earnings: year, schedule }))).toEqual([
      { name: 'reports_known', value: 4 },
      { name: 'days_until', value: 18, note: 'expected on 2018-03-20, known on 2018-02-01, counted from 2018-02-02' },
    ])
    expect(told('earnings_proximity', facts({ earnings: year }))[1]).toEqual({
      name: 'days_until',
      value: 7,
      note: 'none is announced; 364 days after the report of 2017-03-10: 2018-03-09',
    })
  })

  it('that a report is due on the day itself when the guess has passed', () => {
    // 2017-03-01 + 364 days = 2018-02-28, two days before.
    const late = ['2017-03-01', '2017-06-01', '2017-09-01', '2017-12-01'].map(date => earned(date, 1, 1))
    expect(told('earnings_proximity', facts({ earnings: late }))[1]).toEqual({
      name: 'days_until',
      value: 0,
      note: 'none is announced; 364 days after the report of 2017-03-01: 2018-02-28',
    })
  })

  it('a surprise and the age of its report', () => {
    expect(told('earnings_surprise', facts({ earnings: [earned('2018-02-01', 1, 1.5)] }))).toEqual([
      { name: 'report_age', value: 29, note: 'days since the report of 2018-02-01' },
      { name: 'eps_estimate', value: 1 },
      { name: 'eps_actual', value: 1.5 },
      { name: 'surprise', value: 0.5 },
    ])
  })

  it('the window of insider trades', () => {
    const known = facts({ insiders: [trade('2018-02-01', 'A', 5, 50), trade('2018-02-01', 'B', -1, 10)] })
    expect(told('insider_activity_zone', known)[0]).toEqual({
      name: 'trades',
      value: 2,
      note: 'counted for the first time from 2017-12-03 to 2018-03-02',
    })
    expect(told('net_direction', known).map(({ name, value }) => [name, value])).toEqual([
      ['trades', 2],
      ['net_buyers', 1],
      ['net_sellers', 1],
      ['direction', 0],
    ])
  })

  it('both growth rates and their difference', () => {
    const known = facts({ reports: quarters('2018-01-31', 'revenue', [150, 125, 100, 100, 100, 100]) })
    expect(told('revenue_growth_direction', known).slice(4)).toEqual([
      { name: 'g', value: 0.5 },
      { name: 'h', value: 0.25 },
      { name: 'g_minus_h', value: 0.25 },
    ])
  })
})

describe('a reading that is null says why', () => {
  it.each([
    'pe_vs_historical',
    'pe_vs_sector',
    'valuation_zone',
    'growth_zone',
    'revenue_growth_direction',
    'eps_growth_direction',
  ])('%s: no facts, no quarter, too old a quarter', name => {
    expect(lacks(name, null)).toEqual(['facts: none that count are known of this ticker'])
    expect(lacks(name, facts({}))[0]).toMatch(/_q1: no quarter is known yet$/)
    const old = facts({ reports: [report('2017-08-13', { eps: 1, revenue: 1 })] })
    expect(lacks(name, old)[0]).toMatch(/_q1: the newest known quarter ended on 2017-08-13, 201 days before: over 200$/)
  })

  it('too short a chain, an unknown figure', () => {
    const short = facts({ reports: quarters('2018-01-31', 'eps', [1, 1]) })
    expect(lacks('pe_vs_historical', short)).toEqual([
      'eps_q3: none is known that ended 70 to 110 days before 2017-11-01',
    ])
    const unknown = facts({ reports: quarters('2018-01-31', 'eps', [1, 1, null, 1]) })
    expect(lacks('pe_vs_historical', unknown)).toEqual([
      'eps_q3: unknown in the latest version of the quarter ended 2017-08-02, known on 2018-03-02, counted from 2018-03-02',
    ])
  })

  it('too short a history', () => {
    const known = facts({ reports: quarters('2018-01-31', 'eps', [1, 1, 1, 1]) })
    const why = 'history_pct: defined on 1 of the last 1260 bars, at least 252 are needed'
    expect(lacks('pe_vs_historical', known)).toEqual([why])
    expect(lacks('valuation_zone', known)).toEqual([why])
  })

  it('a sector that is too small, lacking, or losing', () => {
    const known = facts({ reports: quarters('2018-01-31', 'eps', [1, 1, 1, 1]) })
    expect(lacks('pe_vs_sector', known)).toEqual(['peers_median: it has no sector'])
    expect(lacks('pe_vs_sector', known, BAR, sectorOf(1, 2))).toEqual([
      'peers_median: of 2 peers, at least 5 are needed',
    ])
    expect(lacks('pe_vs_sector', known, BAR, sectorOf(-1, -1, -1, -1, -1))).toEqual([
      'median_to_own: peers_median must be above 0',
    ])
  })

  it('figures that nothing can be compared with', () => {
    const revenue = (...of: number[]) => facts({ reports: quarters('2018-01-31', 'revenue', of) })
    expect(lacks('growth_zone', revenue(1, 1, 1, 1, 0, 0, 0, 0))).toEqual([
      'growth: revenue_ttm_before must be above 0',
    ])
    expect(lacks('revenue_growth_direction', revenue(1, 1, 1, 1, 0, 0))).toEqual([
      'g: revenue_q5 must be above 0',
      'h: revenue_q6 must be above 0',
    ])
    const eps = facts({ reports: quarters('2018-01-31', 'eps', [1, 1, 1, 1, 1, 0.001]) })
    expect(lacks('eps_growth_direction', eps)).toEqual(['h: eps_q6 must be at least 0.01 away from 0'])
  })

  it('earnings', () => {
    expect(lacks('earnings_surprise', facts({}))).toEqual(['report_age: no earnings report is known yet'])
    const old = facts({ earnings: [earned('2017-08-13', 1, 1)] })
    expect(lacks('earnings_surprise', old)).toEqual([
      'report_age: the latest, the report of 2017-08-13, is 201 days old: over 200',
    ])
    const half = facts({ earnings: [earned('2018-02-13', null, 1)] })
    expect(lacks('earnings_surprise', half)).toEqual(['eps_estimate: the report of 2018-02-13 lacks it'])
  })

  it('the next report', () => {
    expect(lacks('earnings_proximity', facts({}))).toEqual([
      'days_until: no report is announced, and to guess from 4 past reports must be known',
    ])
    const reports = (...dates: string[]) => facts({ earnings: dates.map(date => earned(date, 1, 1)) })
    expect(lacks('earnings_proximity', reports('2017-02-01', '2017-05-01', '2017-08-01', '2017-11-01'))).toEqual([
      'days_until: none is announced; 364 days after the report of 2017-02-01: 2018-01-31 is more than 14 days past',
    ])
    expect(lacks('earnings_proximity', reports('2017-02-01', '2017-05-01', '2017-08-01', '2018-02-01'))).toEqual([
      'days_until: none is announced; 364 days after the report of 2017-02-01: 2018-01-31 is not after the report of 2018-02-01',
    ])
  })

  it('analysts and insiders', () => {
    expect(lacks('analyst_consensus', facts({ ratings: [counts('2018-03-01', [2, 0, 0, 0, 0])] }))).toEqual([
      'consensus_mean: no counts of at least 3 analysts are known yet',
    ])
    expect(lacks('analyst_consensus_direction', facts({ ratings: [counts('2018-03-01', [3, 0, 0, 0, 0])] }))).toEqual([
      'consensus_mean_before: no counts of at least 3 analysts are known by 2017-12-02',
    ])
    expect(lacks('net_direction', facts({}))).toEqual(['trades: no trade of an insider has been known yet'])
    expect(lacks('insider_activity_zone', facts({ insiders: [trade('2018-03-01', 'A', 1)] }))).toEqual([
      'value_ratio: the money of none of these trades is known',
    ])
  })
})

describe('the measures of valuation_zone', () => {
  const START = on('2018-01-31')
  /** Quarters of an EPS of 1 that are known without a break while the bars last. */
  const known = facts({ reports: Array.from({ length: 14 }, (_, i) => report(START - 758 + 91 * i, { eps: 1 })) })
  const flat = everyDay('2018-01-31', 300)
  /** By name, on the last of 300 bars. */
  const measures = (facts: Facts, series = flat, sector?: SectorView) =>
    Object.fromEntries(told('valuation_zone', facts, series, sector).map(({ name, value }) => [name, value]))

  // Own E = 4/10, and the own history is flat: 50. Of 10 in all `dearer` have a higher E and `same` the same:
  // percentile = 50 · (2 · dearer + same + 1) / 10.
  it.each([
    [1, 1, 20, 35],
    [1, 0, 15, 32.5],
    [7, 1, 80, 65],
  ])(
    'are the percentile among %d cheaper and %d equal of nine peers, and the mean',
    (dearer, same, sector_pct, score) => {
      const yields = [...Array(dearer).fill(0.9), ...Array(same).fill(0.4), ...Array(9 - dearer - same).fill(-0.3)]
      expect(measures(known, flat, sectorOf(...yields))).toMatchObject({ history_pct: 50, sector_pct, score })
    },
  )

  it('call peers equal whose yield differs by 1e-10 at most, and pass over fewer than five', () => {
    const among = (...yields: number[]) => measures(known, flat, sectorOf(...yields)).sector_pct
    expect(among(...Array(5).fill(0.4 + 0.9e-10))).toBe(50)
    expect(among(...Array(5).fill(0.4 + 1.1e-10))).toBeCloseTo(550 / 6, 9)
    expect(among(9, 9, 9, 9)).toBeNull()
  })

  it('have the percentile of the book yield', () => {
    // E falls bar by bar, and a book value that is raised a hundredfold on the last bar ranks lowest: the mean is 50.
    const rising = everyDay(
      '2018-01-31',
      300,
      Array.from({ length: 300 }, (_, t) => 100 + t),
    )
    const reports = known.reports.map(one => ({ ...one, book_value_ps: 1 }))
    const newest = reports.filter(one => one.known <= START + 290).at(-1)!
    const restated = { ...newest, known: START + 299, book_value_ps: 100 }
    expect(measures(facts({ reports: [...reports, restated] }), rising).score).toBeCloseTo(50, 9)
  })

  // Revenue of the year before is 400; a version of the newest quarter, known on the last bar, brings the growth.
  it.each([
    [0.2, -10],
    [0.1, -5],
    [0.03, 0],
    [0, 5],
    [-0.01, 10],
  ])('are moved by growth of %d by %d points', (rate, growth_points) => {
    const reports = known.reports.map(one => ({ ...one, revenue: 100 }))
    const newest = reports.filter(one => one.known <= START + 299).at(-1)!
    const growing = facts({ reports: [...reports, { ...newest, known: START + 299, revenue: 100 + 400 * rate }] })
    expect(measures(growing)).toMatchObject({ growth_points, score: 50 + growth_points })
  })
})
