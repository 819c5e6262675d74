import { describe, expect, it } from 'vitest'
import { Random } from '../../src/statistics/random.js'
import { drawdowns } from '../../src/statistics/sharpe.js'

describe('drawdowns', () => {
  it('are told by their spells, the last of which may not be over', () => {
    const found = drawdowns(Float64Array.of(1, 1.2, 1.2, 0.9, 0.6, 1.2, 1.5, 1.2, 1.35))
    expect([...found.series]).toEqual([0, 0, 0, 0.9 / 1.2 - 1, 0.6 / 1.2 - 1, 0, 0, 1.2 / 1.5 - 1, 1.35 / 1.5 - 1])
    expect(found.spells).toEqual([
      { from: 2, low: 4, to: 5, depth: 0.6 / 1.2 - 1 },
      { from: 6, low: 7, to: null, depth: 1.2 / 1.5 - 1 },
    ])
    expect(found.maximum).toBe(-0.5)
    expect(found.average).toBeCloseTo((-0.5 - 0.2) / 2, 14)
    expect(found.longest).toBe(3)
    expect(found.ulcer).toBeCloseTo(Math.sqrt((0.25 ** 2 + 0.5 ** 2 + 0.2 ** 2 + 0.1 ** 2) / 9), 14)
  })

  it('are none where the curve never falls, and null of nothing', () => {
    expect(drawdowns(Float64Array.of(1, 1, 2))).toMatchObject({
      maximum: 0,
      average: null,
      longest: 0,
      ulcer: 0,
      spells: [],
    })
    expect(drawdowns(new Float64Array())).toMatchObject({ maximum: null, average: null, longest: 0, ulcer: null })
  })

  it('agree with a slow look back from every bar', () => {
    const random = new Random(11)
    for (let run = 0; run < 50; run++) {
      let value = 1
      const equity = Float64Array.from({ length: 120 }, () => (value *= 1 + Math.round(random.normal() * 4) / 100))
      const found = drawdowns(equity)
      const slow = [...equity].map((x, bar) => x / Math.max(...equity.subarray(0, bar + 1)) - 1)
      expect([...found.series]).toEqual(slow)
      expect(found.maximum).toBe(Math.min(...slow))
      for (const { from, low, to, depth } of found.spells) {
        const bars = slow.slice(from, to ?? slow.length)
        expect(slow[from]).toBe(0)
        expect(to === null || slow[to] === 0).toBe(true)
        expect(bars.slice(1).every(fall => fall < 0)).toBe(true)
        expect(Math.min(...bars)).toBe(depth)
        expect(slow[low]).toBe(depth)
      }
      const inSpells = found.spells.reduce((sum, { from, to }) => sum + (to ?? slow.length) - from - 1, 0)
      expect(inSpells).toBe(slow.filter(fall => fall < 0).length)
    }
  })
})
