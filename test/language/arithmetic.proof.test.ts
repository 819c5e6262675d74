import { describe, expect, it } from 'vitest'
import { weekly } from '../../src/core/engine/record.js'
import { Panel } from '../../src/core/fields/panel.js'
import { percentile } from '../../src/core/indicators/rank.js'
import {
  parseExpression,
  printExpression,
  termReadings,
  valuesOf,
  warmUpOf,
} from '../../src/core/language/expression.js'
import { firstBars, type Series } from '../../src/core/model/series.js'
import { Random } from '../../src/core/statistics/random.js'
import { randomBars, SHAPES } from '../support/bars.js'
import { barsOf, seriesOf } from '../support/convert.js'
import { draws } from '../support/full.js'
import { column, type Formula } from '../support/oracle/expressions.js'
import { chance, pick } from '../support/random-facts.js'
import { CALLED, PRICES, randomCall, randomFormula, spelledOut } from '../support/random-formulas.js'

/** Shapes without spells of one price, whose differences would be noise of rounding. */
const MOVING = ['plain', 'jumpy', 'unknownVolume', 'zeroVolume', 'gappy', 'sevenDays']

/** Volume is unknown at times, and the logarithm of a difference more often: runs of all lengths are missing. */
const HOLEY: readonly Formula[] = [
  'volume',
  { call: 'ln', of: [{ left: 'close', sign: '-', right: 'open' }], n: [] },
  { left: 'close', sign: '/', right: { call: 'max', of: [{ left: 'volume', sign: '-', right: 600_000 }, 0], n: [] } },
]

function randomSeries(random: Random, longest: number, shapes: readonly string[]): Series {
  const length = 1 + random.below(longest)
  const series = seriesOf(randomBars(random.word(), { ...SHAPES[pick(random, shapes)]!, length }))
  return chance(random, 0.25) ? weekly(series) : series
}

function expectOracle(formula: Formula, series: Series, random: Random, what: string): Float64Array {
  const text = spelledOut(formula, random)
  const ours = valuesOf(parseExpression(text), series)
  const theirs = column(formula, barsOf(series))
  expect(ours.length).toBe(theirs.length)
  theirs.forEach((value, t) => {
    const own = ours[t]!
    const near =
      value === null
        ? Number.isNaN(own)
        : Math.abs(own - value) <= 1e-8 * Math.max(Math.abs(own), Math.abs(value), 1e-6)
    if (!near) expect.fail(`${what}, ${text}, bar ${t} of ${theirs.length}: ${own} and ${value}`)
  })
  return ours
}

describe('every call equals its definition, written literally', () => {
  it.each(CALLED)('%s, of prices and of columns with holes, with all lengths', call => {
    let defined = 0
    for (let seed = 1; seed <= draws(300); seed++) {
      const random = new Random(new Random(seed).word())
      const series = randomSeries(random, 120, Object.keys(SHAPES))
      const of = (): Formula => pick(random, [...PRICES, ...HOLEY])
      const values = expectOracle(randomCall(random, call, 40, of), series, random, `seed ${seed}`)
      for (const value of values) defined += Number(!Number.isNaN(value))
    }
    expect(defined).toBeGreaterThan(draws(300) * 5)
  })
})

describe('any expression', () => {
  it('equals its definition', () => {
    for (let seed = 1; seed <= draws(1_500); seed++) {
      const random = new Random(new Random(seed).word())
      expectOracle(randomFormula(random, 2, 20), randomSeries(random, 90, MOVING), random, `seed ${seed}`)
    }
  })

  it('Q6: has the same values before, to the last bit, when bars are appended', () => {
    for (let seed = 1; seed <= draws(2_000); seed++) {
      const random = new Random(new Random(seed).word())
      const series = randomSeries(random, 150, Object.keys(SHAPES))
      const expression = parseExpression(spelledOut(randomFormula(random, 3, 40), random))
      const whole = valuesOf(expression, series)
      for (const bars of [1, 1 + random.below(whole.length), whole.length - 1])
        expect(valuesOf(expression, firstBars(series, bars)), `seed ${seed}: ${printExpression(expression)}`).toEqual(
          whole.slice(0, bars),
        )
    }
  })

  it('has no value before its warm-up, and one then where nothing is missing', () => {
    for (let seed = 1; seed <= draws(1_000); seed++) {
      const random = new Random(new Random(seed).word())
      const series = randomSeries(random, 150, ['plain'])
      const formula = randomFormula(random, 3, 20)
      const expression = parseExpression(spelledOut(formula, random))
      const values = valuesOf(expression, series)
      const first = values.findIndex(value => !Number.isNaN(value))
      expect(first < 0 || first >= warmUpOf(expression), `seed ${seed}: ${printExpression(expression)}`).toBe(true)
    }
    const series = seriesOf(randomBars(1, { length: 700 }))
    for (const text of [
      'sma(close, 20)',
      'rsi(sma(close, 5), 14)',
      'macd(close, 12, 26) - ema(macd(close, 12, 26), 9)',
      'percentile(natr(14), 252)',
      'percentile(natr(14), 252, 252)',
      'stochastic(14, 3)',
      'volume_ratio(50)',
      'ago(slope(ln(close), 20), 5)',
      'highest(high, 1)',
      'atr(1)',
      '1',
    ]) {
      const expression = parseExpression(text)
      expect(
        valuesOf(expression, series).findIndex(value => !Number.isNaN(value)),
        text,
      ).toBe(warmUpOf(expression))
    }
    expect(warmUpOf(parseExpression('slope(close, 1)'))).toBe(Number.POSITIVE_INFINITY)
    expect(valuesOf(parseExpression('slope(close, 1)'), series).every(Number.isNaN)).toBe(true)
  })

  it('leaves the bars as they were', () => {
    for (let seed = 1; seed <= draws(200); seed++) {
      const random = new Random(new Random(seed).word())
      const series = randomSeries(random, 60, MOVING)
      const before = structuredClone(series)
      valuesOf(parseExpression(spelledOut(randomFormula(random, 3, 20), random)), series)
      expect(series).toEqual(before)
    }
  })
})

describe('with the lengths of the definitions', () => {
  const BUILT_IN_FIELDS: readonly (readonly [string, (panel: Panel) => Float64Array])[] = [
    ['rsi(close, 14)', panel => panel.rsi()],
    ['sma(close, 200)', panel => panel.smaLong()],
    ['slope(ln(close), 20)', panel => panel.slope()],
    ['macd(close, 12, 26)', panel => panel.macd().macd],
    ['ema(macd(close, 12, 26), 9)', panel => panel.macd().signal],
    ['atr(14)', panel => panel.atr()],
    ['natr(14)', panel => panel.natr()],
    ['atr(14) / close', panel => panel.natr()],
    ['volume_ratio(50)', panel => panel.volumeRatio()],
    [
      'percentile(natr(14), 1260)',
      panel => Float64Array.from(panel.natrRanks().rank, (of, t) => percentile(of, panel.natrRanks().size[t]!)),
    ],
  ]

  it.each(BUILT_IN_FIELDS)('%s is the indicator of the built-in fields, to the last bit', (text, of) => {
    for (const shape of Object.values(SHAPES)) {
      const series = seriesOf(randomBars(3, { ...shape, length: 700 }))
      expect(valuesOf(parseExpression(text), series)).toEqual(of(new Panel(series)))
    }
  })
})

describe('the values of terms on a bar', () => {
  const series = seriesOf(randomBars(7, { length: 60 }))

  it('are told each once, in the order of the text, with NaN where undefined', () => {
    const expression = parseExpression('(close - sma(close, 20)) / atr(14) + close * ln(-close)')
    const sma = valuesOf(parseExpression('sma(close, 20)'), series)
    expect([...termReadings(expression, series, 40)]).toEqual([
      ['close', series.close[40]],
      ['sma(close, 20)', sma[40]],
      ['atr(14)', valuesOf(parseExpression('atr(14)'), series)[40]],
      ['ln(-close)', Number.NaN],
    ])
    expect(termReadings(expression, series, 5).get('sma(close, 20)')).toBe(Number.NaN)
    expect([...termReadings(parseExpression('rsi(ago(close, 1), 2)'), series, 5).keys()]).toEqual([
      'rsi(ago(close, 1), 2)',
      'ago(close, 1)',
      'close',
    ])
    expect([...termReadings(parseExpression('1 + 2'), series, 5)]).toEqual([])
  })
})

describe('edges of the page', () => {
  const bars = [10, 11, 12, 11, 10, 10].map((close, t) => ({
    date: `2018-01-0${t + 1}`,
    open: close,
    high: close,
    low: close,
    close,
    volume: t === 2 ? null : 100 * t,
  }))
  const of = (text: string): (number | null)[] =>
    Array.from(valuesOf(parseExpression(text), seriesOf(bars)), value => (Number.isNaN(value) ? null : value))

  it.each([
    ['1 / (volume - 100)', [-0.01, null, null, 1 / 200, 1 / 300, 1 / 400]],
    ['1 / (1 / (volume - volume))', [null, null, null, null, null, null]],
    ['sma(volume, 2)', [null, 50, null, null, 350, 450]],
    ['ema(volume, 1)', [0, 100, null, 300, 400, 500]],
    ['ema(volume, 3)', [null, null, null, 400 / 3, 800 / 3, 1150 / 3]],
    ['rsi(volume, 1)', [null, 100, null, null, 100, 100]],
    ['rsi(close - close, 1)', [null, 50, 50, 50, 50, 50]],
    ['highest(volume, 2)', [null, 100, null, null, 400, 500]],
    ['stochastic(1, 1)', [50, 50, 50, 50, 50, 50]],
    ['stochastic(3, 2)', [null, null, null, 50, 0, 0]],
    ['volume_ratio(1)', [null, null, null, null, 400 / 300, 500 / 400]],
    ['volume_ratio(2)', [null, null, null, null, null, 500 / 350]],
    ['ago(volume, 3)', [null, null, null, 0, 100, null]],
    ['percentile(close, 3, 2)', [null, 75, 250 / 3, 100 / 3, 50 / 3, 100 / 3]],
    ['percentile(volume, 6)', [null, 75, null, (100 * 2.5) / 3, 87.5, 90]],
    ['ln(close - 11)', [null, null, 0, null, null, null]],
    ['max(volume, 200) - min(close, 1)', [199, 199, null, 299, 399, 499]],
    ['-close + 2 * 3 - 4 / 2 / 2', [-5, -6, -7, -6, -5, -5]],
    ['-1', [-1, -1, -1, -1, -1, -1]],
  ])('%s', (text, expected) => {
    const values = of(text)
    expect(values.map(value => value === null)).toEqual(expected.map(value => value === null))
    for (const [t, value] of values.entries()) expect(value ?? 0).toBeCloseTo(expected[t] ?? 0, 9)
  })

  it('a sum that is too great for a number spoils no window after it', () => {
    expect(of('sma(close * 1e307 * (close - 9), 1)').map(value => value === null)).toEqual([
      false,
      true,
      true,
      true,
      false,
      false,
    ])
    expect(of('sma(close * 1e307, 2)').map(value => value === null)).toEqual([true, true, true, true, true, true])
    expect(of('sma(ln(close) * 4e307 * (close - 10), 2)').map(value => value === null)).toEqual([
      true,
      false,
      true,
      true,
      false,
      false,
    ])
  })
})
