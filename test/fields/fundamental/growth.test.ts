import { describe, expect, it } from 'vitest'
import { DEFINITIONS } from '../../../src/core/model/definitions.js'
import { barsOn, facts, lastBand, quarters } from '../made-facts.js'

/** All quarters are known on this bar; the newest ended 30 days before. */
const BAR = barsOn(['2018-03-02'])

const withRevenues = (newestFirst: readonly (number | null)[]) =>
  facts({ reports: quarters('2018-01-31', 'revenue', newestFirst) })
const withEps = (newestFirst: readonly (number | null)[]) =>
  facts({ reports: quarters('2018-01-31', 'eps', newestFirst) })

describe('growth_zone', () => {
  const zone = (...revenues: (number | null)[]) => lastBand('growth_zone', BAR, withRevenues(revenues))
  // The four quarters before have 400 in all; the newest quarter carries the growth of the last four.
  const grown = (rate: number) => zone(100 + 400 * rate, 100, 100, 100, 100, 100, 100, 100)
  const bands = ['shrinking', 'slowing', 'stable', 'moderate_growth', 'high_growth']

  it.each(DEFINITIONS.growth.cuts.map((cut, i) => [cut, i] as const))('cut %d, tolerance 1e-10', (cut, i) => {
    expect(grown(cut - 0.001)).toBe(bands[i])
    expect(grown(cut - 1.1e-10)).toBe(bands[i])
    expect(grown(cut - 0.9e-10)).toBe(bands[i + 1])
    expect(grown(cut)).toBe(bands[i + 1])
  })

  it('adds four quarters up, whichever of them grew', () => {
    // 120 + 90 + 110 + 120 = 440 against 400.
    expect(zone(120, 90, 110, 120, 100, 100, 100, 100)).toBe('moderate_growth')
  })

  it('is undefined without eight quarters in a chain, or when one of them lacks revenue', () => {
    expect(zone(100, 100, 100, 100, 100, 100, 100)).toBeNull()
    for (let lacking = 0; lacking < 8; lacking++)
      expect(zone(...Array.from({ length: 8 }, (_, i) => (i === lacking ? null : 100)))).toBeNull()
  })

  it('needs a positive year before, exactly', () => {
    expect(zone(1, 1, 1, 1, 100, -100, 0, 0)).toBeNull()
    expect(zone(1, 1, 1, 1, -1, 0, 0, 0)).toBeNull()
    expect(zone(1, 1, 1, 1, 1e-12, 0, 0, 0)).toBe('high_growth')
    // A loss of revenue itself is growth like any other.
    expect(zone(-1, 0, 0, 0, 1, 1, 1, 1)).toBe('shrinking')
  })
})

describe('revenue_growth_direction', () => {
  const direction = (...revenues: (number | null)[]) =>
    lastBand('revenue_growth_direction', BAR, withRevenues(revenues))
  // g and h against 100 of four quarters earlier; quarters 3 and 4 of the chain only have to be there.
  const rates = (g: number, h: number) => direction(100 + 100 * g, 100 + 100 * h, null, null, 100, 100)

  it.each([
    // g − h = 0.02 is accelerating, −0.02 no longer steady; tolerance 1e-10.
    [0.12, 0.1, 'accelerating'],
    [0.12 - 0.9e-10, 0.1, 'accelerating'],
    [0.12 - 1.1e-10, 0.1, 'steady'],
    [0.1, 0.1, 'steady'],
    [0.08 + 1.1e-10, 0.1, 'steady'],
    [0.08 + 0.9e-10, 0.1, 'decelerating'],
    [0.08, 0.1, 'decelerating'],
    [0.01, 0.1, 'decelerating'],
    // Whether g is negative is exact.
    [0, 0.1, 'decelerating'],
    [-1e-12, 0.1, 'deteriorating'],
    [-0.5, 0.1, 'deteriorating'],
    // A shrinking company that shrinks less accelerates, one that shrinks alike is steady.
    [-0.1, -0.2, 'accelerating'],
    [-0.2, -0.2, 'steady'],
  ])('g %d, h %d: %s', (g, h, band) => {
    expect(rates(g, h)).toBe(band)
  })

  it('needs six quarters in a chain, revenue in four of them, and positive ones to compare with', () => {
    expect(direction(100, 100, 100, 100, 100)).toBeNull()
    expect(direction(null, 100, 100, 100, 100, 100)).toBeNull()
    expect(direction(100, null, 100, 100, 100, 100)).toBeNull()
    expect(direction(100, 100, 100, 100, null, 100)).toBeNull()
    expect(direction(100, 100, 100, 100, 100, null)).toBeNull()
    expect(direction(100, 100, 100, 100, 0, 100)).toBeNull()
    expect(direction(100, 100, 100, 100, 100, 0)).toBeNull()
    expect(direction(100, 100, 100, 100, 100, -100)).toBeNull()
    expect(direction(-100, 100, null, null, 100, 100)).toBe('deteriorating')
  })
})

describe('eps_growth_direction', () => {
  const direction = (...eps: (number | null)[]) => lastBand('eps_growth_direction', BAR, withEps(eps))
  const rates = (g: number, h: number) => direction(1 + g, 1 + h, null, null, 1, 1)

  it.each([
    [0.15, 0.1, 'accelerating'],
    [0.15 - 0.9e-10, 0.1, 'accelerating'],
    [0.15 - 1.1e-10, 0.1, 'steady'],
    [0.05 + 1.1e-10, 0.1, 'steady'],
    [0.05 + 0.9e-10, 0.1, 'decelerating'],
    [0, 0.1, 'decelerating'],
    [-1e-12, 0.1, 'deteriorating'],
  ])('g %d, h %d: %s', (g, h, band) => {
    expect(rates(g, h)).toBe(band)
  })

  it('divides by the size of the earlier figure, so that a smaller loss is growth', () => {
    // g = (−0.5 − −1)/1 = 0.5; h = (1 − 1)/1 = 0.
    expect(direction(-0.5, 1, null, null, -1, 1)).toBe('accelerating')
    // g = (−2 − −1)/1 = −1.
    expect(direction(-2, 1, null, null, -1, 1)).toBe('deteriorating')
  })

  it.each([
    [0.01, true],
    [0.01 - 0.9e-10, true],
    [0.01 - 1.1e-10, false],
    [0, false],
    [-0.01, true],
    [-0.009, false],
  ])('an earlier EPS of %d can be compared with: %s', (earlier, can) => {
    expect(direction(1, 1, 1, 1, earlier, 1) !== null).toBe(can)
    expect(direction(1, 1, 1, 1, 1, earlier) !== null).toBe(can)
  })

  it('needs six quarters in a chain and EPS in four of them', () => {
    expect(direction(1, 1, 1, 1, 1)).toBeNull()
    for (const lacking of [0, 1, 4, 5])
      expect(direction(...Array.from({ length: 6 }, (_, i) => (i === lacking ? null : 1)))).toBeNull()
  })
})
