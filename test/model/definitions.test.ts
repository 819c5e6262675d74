import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { DEFINITIONS, DEFINITIONS_VERSION } from '../../src/model/definitions.js'
import { TIMEFRAMES } from '../../src/model/terms.js'
import { SETTINGS, WINDOWS } from '../support/oracle/bars.js'

it('carries its own digest in its version', () => {
  const digest = createHash('sha256').update(JSON.stringify(DEFINITIONS)).digest('hex').slice(0, 8)
  const [number, letters] = DEFINITIONS_VERSION.split('-')
  const due = `${number}-${digest}`
  expect(letters, `definitions changed: write DEFINITIONS_VERSION = '${due}' in src/model/definitions.ts`).toBe(digest)
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
