import { describe, expect, it } from 'vitest'
import { Quarters } from '../../../src/fields/quarters.js'
import type { Report, Split } from '../../../src/model/facts.js'
import type { Series } from '../../../src/model/series.js'
import { bandsOf, barsOn, facts, on, quarters, report } from '../made-facts.js'

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
