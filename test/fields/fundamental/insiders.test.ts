import { describe, expect, it } from 'vitest'
import type { InsiderTrade } from '../../../src/core/model/facts.js'
import { bandsOf, barsOn, everyDay, facts, lastBand, trade } from '../made-facts.js'

const BAR = barsOn(['2018-03-01'])
const DAY = '2018-03-01'

/** So many who bought a share for 10, and so many who sold one. */
function crowd(buyers: number, sellers: number): InsiderTrade[] {
  return [
    ...Array.from({ length: buyers }, (_, i) => trade(DAY, `buyer ${i}`, 1, 10)),
    ...Array.from({ length: sellers }, (_, i) => trade(DAY, `seller ${i}`, -1, 10)),
  ]
}

describe('net_direction', () => {
  const direction = (...insiders: InsiderTrade[]) => lastBand('net_direction', BAR, facts({ insiders }))

  // 0.1 + 0.2 + 0.3 - 0.6 is 1.1e-16 or 0 in doubles, as the order wants it.
  it.each([[[0.1, 0.2, 0.3, -0.6]], [[-0.6, 0.3, 0.2, 0.1]], [[0.3, -0.6, 0.1, 0.2]]])(
    'takes parts of shares that add up to nothing for nothing: %j',
    parts => {
      expect(direction(...parts.map(shares => trade(DAY, 'A', shares)))).toBe('neutral')
    },
  )

  // (b − s) / (b + s): 4 to 1 is 0.6, 3 to 2 is 0.2, and the mirror images.
  it.each([
    [4, 1, 'strong_buying'],
    [39, 10, 'buying'],
    [3, 2, 'buying'],
    [29, 20, 'neutral'],
    [1, 1, 'neutral'],
    [20, 29, 'neutral'],
    [2, 3, 'selling'],
    [10, 39, 'selling'],
    [1, 4, 'strong_selling'],
    [1, 0, 'strong_buying'],
    [0, 1, 'strong_selling'],
  ])('%d net buyers, %d net sellers: %s', (buyers, sellers, band) => {
    expect(direction(...crowd(buyers, sellers))).toBe(band)
  })

  it('nets the shares of each insider, and one of 0 is neither', () => {
    // A sells more than bought, B is even, C bought.
    const trades = [
      trade(DAY, 'A', 5),
      trade(DAY, 'A', -6),
      trade(DAY, 'B', 5),
      trade(DAY, 'B', -5),
      trade(DAY, 'C', 1),
    ]
    expect(direction(...trades)).toBe('neutral')
    expect(direction(...trades, trade(DAY, 'D', 1), trade(DAY, 'B', 1))).toBe('buying')
    expect(direction(trade(DAY, 'B', 5), trade(DAY, 'B', -5))).toBe('neutral')
  })
})

describe('insider_activity_zone', () => {
  const zone = (...insiders: InsiderTrade[]) => lastBand('insider_activity_zone', BAR, facts({ insiders }))
  /** Three buyers of so much money together, three sellers of so much. */
  const paid = (bought: number, sold: number, heads: number = 3) =>
    zone(
      ...Array.from({ length: heads }, (_, i) => trade(DAY, `buyer ${i}`, 1, bought / heads)),
      ...Array.from({ length: heads }, (_, i) => trade(DAY, `seller ${i}`, -1, sold / heads)),
    )

  it.each([
    // r = (bought − sold) / (bought + sold).
    [80, 20, 'heavy_buying'],
    [79.9, 20.1, 'moderate_buying'],
    [60, 40, 'moderate_buying'],
    [59.9, 40.1, 'neutral'],
    [50, 50, 'neutral'],
    [40.1, 59.9, 'neutral'],
    [40, 60, 'moderate_selling'],
    [20.1, 79.9, 'moderate_selling'],
    [20, 80, 'heavy_selling'],
    // Tolerance 1e-10: r = 0.6 − 8e-11, and 0.6 − 1.2e-10.
    [80 - 4e-9, 20 + 4e-9, 'heavy_buying'],
    [80 - 6e-9, 20 + 6e-9, 'moderate_buying'],
  ])('bought for %d, sold for %d: %s', (bought, sold, band) => {
    expect(paid(bought, sold)).toBe(band)
  })

  it('is heavy with at least three insiders on its side', () => {
    expect(paid(100, 0, 3)).toBe('heavy_buying')
    expect(paid(100, 0, 2)).toBe('moderate_buying')
    expect(paid(0, 100, 2)).toBe('moderate_selling')
    // Three who bought, one of whom sold more shares: two net buyers, one net seller.
    const netted = ['A', 'B', 'C'].map(who => trade(DAY, who, 1, 100))
    expect(zone(...netted, trade(DAY, 'C', -2, 1))).toBe('moderate_buying')
    // Sellers do not help buyers.
    expect(zone(trade(DAY, 'A', 1, 100), trade(DAY, 'B', -1), trade(DAY, 'C', -1), trade(DAY, 'D', -1))).toBe(
      'moderate_buying',
    )
  })

  it('takes a missing value for 0, and is undefined when nothing is left', () => {
    expect(zone(trade(DAY, 'A', 1, 10), trade(DAY, 'B', -1))).toBe('moderate_buying')
    expect(zone(trade(DAY, 'A', 1), trade(DAY, 'B', -1))).toBeNull()
    expect(zone(trade(DAY, 'A', 1, 0))).toBeNull()
    expect(lastBand('net_direction', BAR, facts({ insiders: [trade(DAY, 'A', 1)] }))).toBe('strong_buying')
  })
})

describe('the window of insider trades', () => {
  const both = (insiders: InsiderTrade[], from: string, count: number) =>
    ['net_direction', 'insider_activity_zone'].map(name => bandsOf(name, everyDay(from, count), facts({ insiders })))

  it('begins with the first trade ever and stays defined', () => {
    expect(both([trade('2018-03-02', 'A', 1, 10)], '2018-03-01', 3)).toEqual([
      [null, 'strong_buying', 'strong_buying'],
      [null, 'moderate_buying', 'moderate_buying'],
    ])
    expect(both([], '2018-03-01', 2)).toEqual([
      [null, null],
      [null, null],
    ])
  })

  it('holds a trade for 90 dates from the one on which it counts', () => {
    // 2018-01-01 + 89 days = 2018-03-31.
    expect(both([trade('2018-01-01', 'A', 1, 10)], '2018-03-30', 3)).toEqual([
      ['strong_buying', 'strong_buying', 'neutral'],
      ['moderate_buying', 'moderate_buying', 'no_activity'],
    ])
  })

  it('reckons from the date on which a trade is usable, not from that on which it became known', () => {
    const after: InsiderTrade = { ...trade('2018-01-01', 'A', 1, 10), session: null }
    // Usable on 2018-01-02, so up to 2018-04-01.
    expect(both([after], '2018-04-01', 2)[0]).toEqual(['strong_buying', 'neutral'])
    expect(both([after], '2018-01-01', 2)[0]).toEqual([null, 'strong_buying'])
  })

  it('moves with every trade that comes and goes', () => {
    const insiders = [
      trade('2018-01-01', 'A', 1, 10),
      trade('2018-01-02', 'B', -1, 10),
      trade('2018-01-02', 'C', -1, 10),
    ]
    expect(both(insiders, '2018-01-01', 2)[0]).toEqual(['strong_buying', 'selling'])
    expect(both(insiders, '2018-03-31', 3)).toEqual([
      ['selling', 'strong_selling', 'neutral'],
      ['moderate_selling', 'moderate_selling', 'no_activity'],
    ])
  })

  it('is reckoned in calendar days on weekly bars', () => {
    const weeks = barsOn(['2018-01-05', '2018-03-30', '2018-04-06'], 10, 'weekly')
    expect(bandsOf('insider_activity_zone', weeks, facts({ insiders: [trade('2018-01-01', 'A', 1, 10)] }))).toEqual([
      'moderate_buying',
      'moderate_buying',
      'no_activity',
    ])
  })
})
