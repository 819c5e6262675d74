import { describe, expect, it } from 'vitest'
import type { TechnicalField } from '../../src/fields/field.js'
import { Panel } from '../../src/fields/panel.js'
import { UNDEFINED } from '../../src/model/record.js'
import { head, type Series } from '../../src/model/series.js'
import { assortedBars, randomBars, randomNumbers } from '../support/bars.js'
import { seriesOf } from '../support/convert.js'

/** What every technical field keeps to; to be called once for each. */
export function fieldContract(field: TechnicalField): void {
  describe(`${field.name} keeps the contract of fields`, () => {
    it('has a vocabulary without repeats, a summary and a rule in words', () => {
      expect(new Set(field.bands).size).toBe(field.bands.length)
      expect(field.bands.length).toBeGreaterThan(1)
      for (const band of field.bands) expect(band).toMatch(/^[a-z]+(_[a-z]+)*$/)
      expect(field.summary).not.toBe('')
      expect(field.rule).not.toBe('')
    })

    it('gives each bar one code of its vocabulary or none', () => {
      for (const { series, seed } of samples(40, 900)) {
        const codes = field.classify(new Panel(series))
        expect(codes.length, `seed ${seed}`).toBe(series.close.length)
        expect(
          codes.filter(code => code !== UNDEFINED && code >= field.bands.length),
          `seed ${seed}`,
        ).toEqual(new Uint8Array())
      }
    })

    it('decides a bar by that bar and earlier ones', () => {
      for (const { series, seed } of samples(25, 900)) {
        const whole = field.classify(new Panel(series))
        const random = randomNumbers(seed)
        for (let i = 0; i < 4; i++) {
          const length = Math.floor(random() * (series.close.length + 1))
          const part = field.classify(new Panel(head(series, length)))
          expect(part, `seed ${seed}, first ${length} bars`).toEqual(whole.slice(0, length))
        }
      }
    })

    it.each(['daily', 'weekly'] as const)(
      'is never defined before its warm-up ends and can be on that bar, %s',
      timeframe => {
        let earliest = Number.POSITIVE_INFINITY
        let warmUp = 0
        for (let seed = 1; seed <= 60; seed++) {
          const series = { ...seriesOf(randomBars(seed, { length: 420, volatility: 0.02 })), timeframe }
          const panel = new Panel(series)
          warmUp = field.warmUp(panel)
          const first = field.classify(panel).findIndex(code => code !== UNDEFINED)
          if (first >= 0) earliest = Math.min(earliest, first)
        }
        expect(earliest).toBe(warmUp)
      },
    )

    it('has no band on no bars and on one bar', () => {
      const one = seriesOf(randomBars(1, { length: 1 }))
      expect([...field.classify(new Panel(one))]).toEqual([UNDEFINED])
      expect(field.classify(new Panel(head(one, 0))).length).toBe(0)
    })

    it('tells the figures of any bar, null where there are none', () => {
      const panel = new Panel(seriesOf(randomBars(3, { length: 420, unknownVolume: 0.01 })))
      for (const t of [0, 1, field.warmUp(panel), 419]) {
        const readings = field.readings(panel, t)
        expect(readings.length).toBeGreaterThan(1)
        for (const { value } of readings) expect(value === null || Number.isFinite(value)).toBe(true)
      }
      const decided = field.classify(panel).lastIndexOf(0)
      if (decided >= 0) expect(field.readings(panel, decided).map(({ value }) => value)).not.toContain(null)
    })
  })
}

function samples(count: number, longest: number): { seed: number; series: Series }[] {
  return Array.from({ length: count }, (_, i) => ({ seed: i + 1, series: seriesOf(assortedBars(i + 1, longest)) }))
}
