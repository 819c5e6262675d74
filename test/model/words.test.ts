import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { DEFINITIONS, DEFINITIONS_VERSION } from '../../src/core/model/definitions.js'
import { barsKnownBy, firstBars } from '../../src/core/model/series.js'
import { includesTier, parseTicker, TIER_NAMES, TIMEFRAMES, windowNames } from '../../src/core/model/terms.js'
import { series } from '../support/bars.js'
import { seriesOf } from '../support/convert.js'
import { SETTINGS, WINDOWS } from '../support/oracle/bars.js'

describe('a ticker', () => {
  it('is in upper case, of a few characters', () => {
    for (const text of ['aapl', 'Brk.b', '^gspc', 'eurusd=x', 'BTC-USD', '0123456789ABCDEF'])
      expect(parseTicker(text)).toBe(text.toUpperCase())
  })

  it('is nothing else', () => {
    // A long s, a dotless i and a Kelvin sign turn into ASCII letters where case is folded carelessly.
    const folded = ['MſFT', 'ıBM', '\u212aO']
    const others = ['', ' ', 'A B', 'A\0B', '0123456789ABCDEFG', 'A/B', 'ÄÖ', '🚀', 'A\n', 'A,B', '../x']
    for (const text of [...folded, ...others]) expect(parseTicker(text), text).toBeNull()
  })
})

it('a tier reaches itself and those below', () => {
  const reached = TIER_NAMES.map(tier => TIER_NAMES.filter(required => includesTier(tier, required)))
  expect(reached).toEqual([['free'], ['free', 'plus'], ['free', 'plus', 'pro']])
})

it('windows are named by their bars', () => {
  expect(windowNames('daily')).toEqual(['5d', '10d', '20d', '50d', '100d'])
  expect(windowNames('weekly')).toEqual(['2w', '4w', '8w', '12w', '16w'])
})

describe('a series', () => {
  const five = seriesOf(series([1, 2, 3, 4, 5]))

  it('counts the bars that are final on a day', () => {
    const first = five.days[0]!
    expect([-1, 0, 1, 4, 900].map(later => barsKnownBy(five, first + later))).toEqual([0, 1, 2, 5, 5])
  })

  it('has heads that are views on it', () => {
    const two = firstBars(five, 2)
    expect([...two.close]).toEqual([1, 2])
    expect(two.close.buffer).toBe(five.close.buffer)
    expect(firstBars(five, 0).days.length).toBe(0)
  })
})

it('carries its own digest in its version', () => {
  const digest = createHash('sha256').update(JSON.stringify(DEFINITIONS)).digest('hex').slice(0, 8)
  const [number, letters] = DEFINITIONS_VERSION.split('-')
  const due = `${number}-${digest}`
  expect(letters, `definitions changed: write DEFINITIONS_VERSION = '${due}' in src/core/model/definitions.ts`).toBe(
    digest,
  )
  expect(number).toMatch(/^[1-9]\d*$/)
})

it('has the lengths of both timeframes from the definitions page', () => {
  for (const timeframe of ['daily', 'weekly'] as const) {
    const own = TIMEFRAMES[timeframe]
    const { hist, minHist, pivotK, pivotLookback, flipBars, flipsLookback, minRef } = SETTINGS[timeframe]
    expect(own).toMatchObject({
      history: hist,
      minHistory: minHist,
      pivotReach: pivotK,
      pivotLookback,
      flipsLookback: flipBars,
      minReference: minRef,
      windows: WINDOWS[timeframe].map(([, bars]) => bars),
    })
    expect(`${own.flipsLookback}${own.unit}`).toBe(flipsLookback)
  }
})
