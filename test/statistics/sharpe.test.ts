import { describe, expect, it } from 'vitest'
import { Random } from '../../src/core/statistics/random.js'
import {
  deflatedSharpe,
  drawdowns,
  expectedMaximumSharpe,
  minTrackRecord,
  probabilisticSharpe,
  sharpe,
  sortino,
} from '../../src/core/statistics/sharpe.js'

const RETURNS = [0.01, -0.02, 0.015, 0.003, 0, -0.007, 0.022, -0.001]

describe('Sharpe and Sortino ratios', () => {
  // NumPy 1.24.2: mean / std(ddof=1) * sqrt(252); less 1.03 ** (1 / 252) - 1; mean / sqrt(mean(minimum(r, 0) ** 2)) * sqrt(252).
  it('are those of NumPy', () => {
    expect(sharpe(RETURNS, 252)).toBeCloseTo(3.32382702422321, 12)
    expect(sharpe(RETURNS, 252, 0.03)).toBeCloseTo(3.182046204556051, 12)
    expect(sortino(RETURNS, 252)).toBeCloseTo(5.820652884342099, 12)
  })

  // Worked by hand: of +3 %, 0 and -1 % with f = 1 % a bar the excess is 2, -1 and -2 %, its mean -1/3 %, √((1 + 4) / 3) %.
  it('ask for the same risk-free rate', () => {
    const free = 1.01 ** 4 - 1
    const excess = -1 / 3 / Math.sqrt(5 / 3)
    expect(sortino([0.03, 0, -0.01], 4, free)).toBeCloseTo(excess * 2, 12)
    expect(sortino([0.03, 0.02, 0.01], 4, 0)).toBeNull()
    expect(sortino([0.03, 0.02, 0.005], 4, free)).toBeGreaterThan(0)
  })

  it('are null without two different returns, or without a loss', () => {
    expect(sharpe([], 252)).toBeNull()
    expect(sharpe([0.1], 252)).toBeNull()
    expect(sharpe([0.1, 0.1, 0.1], 252)).toBeNull()
    expect(sortino([], 252)).toBeNull()
    expect(sortino([0.1, 0, 0.2], 252)).toBeNull()
  })
})

describe('the deflated Sharpe ratio', () => {
  // Bailey & López de Prado 2014, the numerical example: 2.5 a year of 250 days, 1250 days; further digits from SciPy 1.10.1.
  const paper = { sharpe: 2.5 / Math.sqrt(250), n: 1250, skewness: -3, kurtosis: 10, variance: 0.5 / 250 }

  it('is that of the paper', () => {
    expect(expectedMaximumSharpe(100, paper.variance)).toBeCloseTo(0.1132, 4)
    expect(expectedMaximumSharpe(100, paper.variance)).toBeCloseTo(0.11317200186513214, 12)
    expect(deflatedSharpe({ ...paper, trials: 100 })).toBeCloseTo(0.9004, 4)
    expect(deflatedSharpe({ ...paper, trials: 100 })).toBeCloseTo(0.9003968344493903, 10)
    expect(deflatedSharpe({ ...paper, trials: 46 })).toBeCloseTo(0.9505, 4)
    expect(deflatedSharpe({ ...paper, trials: 46 })).toBeCloseTo(0.9505017068755787, 10)
  })

  it('is the probabilistic one where nothing was chosen or all trials are alike, and falls with every trial', () => {
    const plain = probabilisticSharpe(paper)!
    expect(deflatedSharpe({ ...paper, trials: 1 })).toBe(plain)
    expect(deflatedSharpe({ ...paper, trials: 50, variance: 0 })).toBe(plain)
    const chances = [1, 2, 3, 10, 100, 1000].map(trials => deflatedSharpe({ ...paper, trials })!)
    expect(chances).toEqual(chances.toSorted((a, b) => b - a))
    expect(deflatedSharpe({ ...paper, trials: 0 })).toBeNull()
  })
})

describe('the probabilistic Sharpe ratio', () => {
  it('is that of the paper for 24 months of a fund', () => {
    const fund = { sharpe: 0.458, n: 24, skewness: -2.448, kurtosis: 10.164 }
    // Bailey & López de Prado 2012; further digits from SciPy 1.10.1.
    expect(probabilisticSharpe(fund)).toBeCloseTo(0.9134, 4)
    expect(probabilisticSharpe(fund)).toBeCloseTo(0.913361083860933, 10)
    expect(minTrackRecord(fund)).toBeCloseTo(34.55750593485622, 8)
  })

  it('reaches the level just where the track record is long enough', () => {
    const sample = { sharpe: 0.08, skewness: -0.5, kurtosis: 6, benchmark: 0.02 }
    for (const level of [0.9, 0.95, 0.99]) {
      expect(probabilisticSharpe({ ...sample, n: minTrackRecord(sample, level)! })).toBeCloseTo(level, 12)
    }
    expect(minTrackRecord({ ...sample, sharpe: 0.02 })).toBeNull()
    expect(probabilisticSharpe({ ...sample, n: 1 })).toBeNull()
  })
})

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
