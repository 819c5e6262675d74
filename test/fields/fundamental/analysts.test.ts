import { describe, expect, it } from 'vitest'
import { currentCounts } from '../../../src/core/fields/dated-facts.js'
import { type Grade, opinionOf, type RatingCounts } from '../../../src/core/model/facts.js'
import { bandsOf, barsOn, counts, everyDay, facts, grade, lastBand, on } from '../made-facts.js'

const BAR = barsOn(['2018-03-01'])
type Counts = Parameters<typeof counts>[1]

describe('analyst_consensus', () => {
  const consensus = (...of: Counts) =>
    lastBand('analyst_consensus', BAR, facts({ ratings: [counts('2018-03-01', of)] }))

  // Half of the analysts on each side of a cut have that mean; one more below it puts it under the cut.
  it.each([
    [[2, 2, 0, 0, 0], 'strong_buy'],
    [[2, 3, 0, 0, 0], 'buy'],
    [[0, 2, 2, 0, 0], 'buy'],
    [[0, 2, 3, 0, 0], 'hold'],
    [[0, 0, 2, 2, 0], 'hold'],
    [[0, 0, 2, 3, 0], 'sell'],
    [[0, 0, 0, 2, 2], 'sell'],
    [[0, 0, 0, 2, 3], 'strong_sell'],
    [[9, 0, 0, 0, 0], 'strong_buy'],
    [[0, 0, 0, 0, 9], 'strong_sell'],
    // (5 + 1 + 3) / 3 = 3.
    [[1, 0, 1, 0, 1], 'hold'],
  ] as [Counts, string][])('counts %j: %s', (of, band) => {
    expect(consensus(...of)).toBe(band)
  })

  it('has a tolerance of 1e-10 at its cuts', () => {
    // n analysts of each, one changed over: 4.5 − 1 / 2n, that is 0.5e-10 and 2e-10 under the cut.
    expect(consensus(1e10 - 1, 1e10 + 1, 0, 0, 0)).toBe('strong_buy')
    expect(consensus(2.5e9 - 1, 2.5e9 + 1, 0, 0, 0)).toBe('buy')
  })

  it('passes over counts of fewer than three analysts', () => {
    expect(consensus(2, 0, 0, 0, 0)).toBeNull()
    expect(consensus(3, 0, 0, 0, 0)).toBe('strong_buy')
    const ratings = [counts('2018-02-01', [0, 0, 3, 0, 0]), counts('2018-03-01', [2, 0, 0, 0, 0])]
    expect(lastBand('analyst_consensus', BAR, facts({ ratings }))).toBe('hold')
  })

  it('is of any age', () => {
    expect(lastBand('analyst_consensus', BAR, facts({ ratings: [counts('1998-03-01', [0, 9, 0, 0, 0])] }))).toBe('buy')
  })

  it('takes the latest usable counts, of equals those given last', () => {
    const buy = counts('2018-03-01', [0, 9, 0, 0, 0])
    const hold = counts('2018-03-01', [0, 0, 9, 0, 0])
    const bands = (...ratings: RatingCounts[]) =>
      bandsOf('analyst_consensus', everyDay('2018-03-01', 2), facts({ ratings }))
    expect(bands(buy, hold)).toEqual(['hold', 'hold'])
    expect(bands(hold, buy)).toEqual(['buy', 'buy'])
    expect(bands({ ...hold, session: null }, buy)).toEqual(['buy', 'hold'])
    expect(bands({ ...hold, session: 'post' })).toEqual([null, 'hold'])
  })
})

describe('analyst_consensus_direction', () => {
  const direction = (before: Counts, now: Counts) =>
    lastBand(
      'analyst_consensus_direction',
      BAR,
      facts({ ratings: [counts('2017-01-01', before), counts('2018-03-01', now)] }),
    )

  it.each([
    // From a mean of 4: ten analysts, one of whom moves by one step, move it by 0.1; of eleven by 0.0909.
    [[0, 10, 0, 0, 0], [1, 9, 0, 0, 0], 'upgrading'],
    [[0, 11, 0, 0, 0], [1, 10, 0, 0, 0], 'stable'],
    [[0, 10, 0, 0, 0], [0, 10, 0, 0, 0], 'stable'],
    [[0, 11, 0, 0, 0], [0, 10, 1, 0, 0], 'stable'],
    [[0, 10, 0, 0, 0], [0, 9, 1, 0, 0], 'downgrading'],
  ] as [Counts, Counts, string][])('from %j to %j: %s', (before, now, band) => {
    expect(direction(before, now)).toBe(band)
  })

  it('compares with what was in force on the calendar date 90 days earlier', () => {
    // 2018-01-01 + 90 days = 2018-04-01: undefined until then. The change of 2018-02-01 shows until 2018-05-01.
    const ratings = [counts('2018-01-01', [0, 9, 0, 0, 0]), counts('2018-02-01', [9, 0, 0, 0, 0])]
    const bands = bandsOf('analyst_consensus_direction', everyDay('2018-03-31', 34), facts({ ratings }))
    expect(bands.slice(0, 2)).toEqual([null, 'upgrading'])
    expect(bands.slice(30, 33)).toEqual(['upgrading', 'upgrading', 'stable'])
  })

  it('reckons from the date on which counts became usable', () => {
    const after = { ...counts('2018-01-01', [0, 9, 0, 0, 0]), session: null }
    const bands = bandsOf('analyst_consensus_direction', everyDay('2018-04-01', 2), facts({ ratings: [after] }))
    expect(bands).toEqual([null, 'stable'])
  })

  it('passes over counts of fewer than three analysts on both days', () => {
    const small = counts('2018-02-01', [2, 0, 0, 0, 0])
    const ratings = [counts('2017-01-01', [0, 9, 0, 0, 0]), small]
    expect(lastBand('analyst_consensus_direction', BAR, facts({ ratings }))).toBe('stable')
    expect(lastBand('analyst_consensus_direction', BAR, facts({ ratings: [small] }))).toBeNull()
  })
})

describe('single grades', () => {
  const made = (...grades: Grade[]) =>
    currentCounts(grades).map(({ known, strong_buy, buy, hold, sell, strong_sell }) => [
      known,
      [strong_buy, buy, hold, sell, strong_sell],
    ])

  it.each([
    ['strong_buy', 'strong buy, conviction buy, top pick, long-term buy'],
    [
      'buy',
      'buy, outperform, overweight, market outperform, sector outperform, positive, accumulate, add, outperformer',
    ],
    [
      'hold',
      'hold, neutral, equal-weight, equal weight, market perform, sector perform, sector weight, peer perform, perform, in-line, fair value, mixed',
    ],
    ['sell', 'sell, underperform, underweight, reduce, negative, sector underperform'],
    ['strong_sell', 'strong sell'],
  ])('of %s are %s, case aside', (opinion, words) => {
    for (const word of words.split(', ')) {
      expect(opinionOf(word), word).toBe(opinion)
      expect(opinionOf(word.toUpperCase()), word).toBe(opinion)
    }
  })

  it.each(['', 'Not Rated', 'buys', 'strong-buy', 'speculative buy', 'constructor'])('%j does not count', word => {
    expect(opinionOf(word)).toBeNull()
  })

  it('make one record on each date that brings a grade that counts', () => {
    const found = made(
      grade('2018-01-01', 'Alpha', 'Buy'),
      grade('2018-01-05', 'Beta', 'Hold'),
      grade('2018-01-05', 'Gamma', 'Sell'),
      grade('2018-01-09', 'Delta', 'Not Rated'),
    )
    expect(found).toEqual([
      [on('2018-01-01'), [0, 1, 0, 0, 0]],
      [on('2018-01-05'), [0, 1, 1, 1, 0]],
    ])
  })

  it('of one firm follow each other, case aside; words that do not count leave the one before', () => {
    const found = made(
      grade('2018-01-01', 'Alpha & Co', 'Buy'),
      grade('2018-01-03', 'ALPHA & co', 'Suspended'),
      grade('2018-01-05', 'Beta', 'Hold'),
      grade('2018-01-07', 'alpha & CO', 'Sell'),
    )
    expect(found.map(([, of]) => of)).toEqual([
      [0, 1, 0, 0, 0],
      [0, 1, 1, 0, 0],
      [0, 0, 1, 1, 0],
    ])
  })

  it('of one firm and date count as the one given last', () => {
    expect(made(grade('2018-01-01', 'A', 'Buy'), grade('2018-01-01', 'A', 'Hold'))[0]![1]).toEqual([0, 0, 1, 0, 0])
    expect(made(grade('2018-01-01', 'A', 'Hold'), grade('2018-01-01', 'A', 'Buy'))[0]![1]).toEqual([0, 1, 0, 0, 0])
  })

  it('live 365 days, the day itself counted', () => {
    // 2017-01-01 + 364 days = 2017-12-31 is the last date that still has it.
    const old = grade('2017-01-01', 'Alpha', 'Buy')
    expect(made(old, grade('2017-12-31', 'Beta', 'Hold')).at(-1)![1]).toEqual([0, 1, 1, 0, 0])
    expect(made(old, grade('2018-01-01', 'Beta', 'Hold')).at(-1)![1]).toEqual([0, 0, 1, 0, 0])
  })

  it('are in order of their dates, whatever order they are given in', () => {
    const first = grade('2018-01-01', 'A', 'Buy')
    const second = grade('2018-01-05', 'A', 'Sell')
    expect(made(second, first)).toEqual(made(first, second))
  })

  it('from before a session stand without those from after it', () => {
    const early: Grade = { ...grade('2018-01-01', 'A', 'Buy'), session: 'pre' }
    const found = currentCounts([grade('2018-01-01', 'B', 'Sell'), early])
    expect(found.map(({ session, buy, sell }) => [session, buy, sell])).toEqual([
      ['pre', 1, 0],
      [null, 1, 1],
    ])
  })

  it('make a consensus from the day after the third firm on', () => {
    const grades = [
      grade('2018-03-01', 'Alpha', 'Buy'),
      grade('2018-03-02', 'Beta', 'Buy'),
      grade('2018-03-03', 'Gamma', 'Buy'),
    ]
    const bands = bandsOf('analyst_consensus', everyDay('2018-03-02', 3), facts({ grades }))
    expect(bands).toEqual([null, null, 'buy'])
  })

  it('stand beside counts: the latest of both, on one date the counts', () => {
    const grades = ['Alpha', 'Beta', 'Gamma'].map(firm => grade('2018-03-02', firm, 'Buy'))
    const held = { ...counts('2018-03-02', [0, 0, 3, 0, 0]), session: null }
    const bands = (rating: RatingCounts) =>
      bandsOf('analyst_consensus', everyDay('2018-03-02', 3), facts({ grades, ratings: [rating] }))
    expect(bands({ ...held, known: on('2018-03-01') })).toEqual(['hold', 'buy', 'buy'])
    expect(bands(held)).toEqual([null, 'hold', 'hold'])
    expect(bands({ ...held, known: on('2018-03-03') })).toEqual([null, 'buy', 'hold'])
  })
})
