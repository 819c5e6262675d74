import { describe, expect, it } from 'vitest'
import { weekly } from '../../../src/engine/record.js'
import { fieldNamed } from '../../../src/fields/index.js'
import { Panel } from '../../../src/fields/panel.js'
import { earningsYield } from '../../../src/fields/quarters.js'
import { Sector, type SectorMember } from '../../../src/fields/sector.js'
import { barsKnownBy, head } from '../../../src/model/series.js'
import { Random } from '../../../src/statistics/random.js'
import { randomBars } from '../../support/bars.js'
import { seriesOf } from '../../support/convert.js'
import { randomFacts } from '../../support/random-facts.js'
import { barsOn, facts, on, quarters, report } from '../made-facts.js'

const FORM = { price: 100, basis: 'bars', round: false, losses: 0.1 } as const

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

describe.each(['daily', 'weekly'] as const)('an answer on %s bars', timeframe => {
  it.each([1, 2, 3])('is what a store cut at the day had answered, seed %d', seed => {
    const members = Array.from({ length: 9 }, (_, i): SectorMember => {
      const daily = seriesOf(randomBars(seed * 50 + i, { length: 400, volatility: 0.03, gap: 0.02, holiday: 0.15 }))
      return {
        ticker: `SIM${i}`,
        series: timeframe === 'daily' ? daily : weekly(daily),
        facts: randomFacts(new Random(i), daily.days[0]!, daily.days.at(-1)!, FORM),
      }
    })
    const own = members[0]!
    const field = fieldNamed('pe_vs_sector')!
    const whole = field.classify(new Panel(own.series, own.facts, new Sector(members).seenFrom('SIM0')))
    for (let t = 5; t < own.series.days.length; t += 41) {
      const day = own.series.known[t]!
      const cut = members.map(one => ({ ...one, series: head(one.series, barsKnownBy(one.series, day)) }))
      const then = field.classify(new Panel(cut[0]!.series, own.facts, new Sector(cut).seenFrom('SIM0')))
      expect(then, `bar ${t}`).toEqual(whole.slice(0, t + 1))
    }
  })
})
