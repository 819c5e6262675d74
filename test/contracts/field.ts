import { describe, expect, it } from 'vitest'
import type { Field } from '../../src/core/fields/field.js'
import { Sector, type SectorView } from '../../src/core/fields/fundamentals.js'
import { Panel } from '../../src/core/fields/panel.js'
import type { Day } from '../../src/core/model/day.js'
import { type Facts, firstUsableDay, NO_FACTS } from '../../src/core/model/facts.js'
import { firstBars, type Series, UNDEFINED } from '../../src/core/model/series.js'
import { Random } from '../../src/core/statistics/random.js'
import { assortedBars, randomBars, randomNumbers } from '../support/bars.js'
import { seriesOf } from '../support/convert.js'
import { FULL } from '../support/full.js'
import { randomFacts } from '../support/random-facts.js'

/** What every field keeps to; to be called once for each. */
export function fieldContract(field: Field): void {
  describe(`${field.name} keeps the contract of fields`, () => {
    it('has a vocabulary without repeats, a summary and a rule in words', () => {
      expect(new Set(field.bands).size).toBe(field.bands.length)
      expect(field.bands.length).toBeGreaterThan(1)
      for (const band of field.bands) expect(band).toMatch(/^[a-z]+(_[a-z]+)*$/)
      expect(field.summary).not.toBe('')
      expect(field.rule).not.toBe('')
    })

    it('gives each bar one code of its vocabulary or none', () => {
      for (const { series, panel, seed } of samples(40, 900)) {
        const codes = field.classify(panel)
        expect(codes.length, `seed ${seed}`).toBe(series.close.length)
        expect(
          codes.filter(code => code !== UNDEFINED && code >= field.bands.length),
          `seed ${seed}`,
        ).toEqual(new Uint8Array())
      }
    })

    it('decides a bar by that bar and earlier ones', () => {
      for (const { series, facts, sector, panel, seed } of samples(25, 900)) {
        const whole = field.classify(panel)
        const random = randomNumbers(seed)
        for (let i = 0; i < 4; i++) {
          const length = Math.floor(random() * (series.close.length + 1))
          const part = field.classify(new Panel(firstBars(series, length), facts, sector))
          expect(part, `seed ${seed}, first ${length} bars`).toEqual(whole.slice(0, length))
        }
      }
    })

    it.each(['daily', 'weekly'] as const)(
      'is never defined before its warm-up ends and can be on that bar, %s',
      timeframe => {
        let earliest = Number.POSITIVE_INFINITY
        let warmUp = 0
        for (let seed = 1; seed <= (FULL ? 60 : 12); seed++) {
          const { panel } = kept(`${seed}, ${timeframe}`, () => {
            return sampleOf({ ...seriesOf(randomBars(seed, { length: 420, volatility: 0.02 })), timeframe }, seed)
          })
          warmUp = field.warmUp(panel)
          const first = field.classify(panel).findIndex(code => code !== UNDEFINED)
          if (first >= 0) earliest = Math.min(earliest, first)
        }
        if (FULL) expect(earliest).toBe(warmUp)
        else expect(earliest).toBeGreaterThanOrEqual(warmUp)
      },
    )

    it('has no code on no bars', () => {
      const none = firstBars(seriesOf(randomBars(1, { length: 1 })), 0)
      for (const facts of [null, NO_FACTS]) expect(field.classify(new Panel(none, facts)).length).toBe(0)
    })

    if (field.needs === 'bars') technicalContract(field)
    else fundamentalContract(field)
  })
}

function technicalContract(field: Field): void {
  it('has no band on one bar', () => {
    expect([...field.classify(new Panel(seriesOf(randomBars(1, { length: 1 }))))]).toEqual([UNDEFINED])
  })

  it('is the same with facts and without', () => {
    for (const { series, panel, seed } of samples(10, 900))
      expect(field.classify(panel), `seed ${seed}`).toEqual(field.classify(new Panel(series)))
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
}

function fundamentalContract(field: Field): void {
  it('has no band on any bar without facts, and says so', () => {
    const series = seriesOf(randomBars(1, { length: 420 }))
    for (const facts of [null, NO_FACTS]) {
      const panel = new Panel(series, facts)
      expect(field.classify(panel)).toEqual(new Uint8Array(420).fill(UNDEFINED))
      expect(field.readings(panel, 419).some(({ value, note }) => value === null && note !== undefined)).toBe(true)
    }
  })

  it('knows nothing of facts that become usable later', () => {
    for (const { series, facts, sector, panel, seed } of samples(25, 900)) {
      const whole = field.classify(panel)
      const random = randomNumbers(seed)
      for (let i = 0; i < 4; i++) {
        const t = Math.floor(random() * series.days.length)
        const then = field.classify(new Panel(series, usableOn(facts, series.days[t]!), sector))
        expect(then.slice(0, t + 1), `seed ${seed}, bar ${t}`).toEqual(whole.slice(0, t + 1))
      }
    }
  })

  it('tells finite figures of every bar; one that is null says why, and is there where the band is undefined', () => {
    for (const { series, panel, seed } of samples(25, 900)) {
      const codes = field.classify(panel)
      for (let t = 0; t < series.days.length; t += 1 + (t >> 3)) {
        const readings = field.readings(panel, t)
        const at = `seed ${seed}, bar ${t}`
        expect(readings.length, at).toBeGreaterThan(0)
        const lacking = readings.filter(({ value }) => value === null)
        for (const { value } of readings) expect(value === null || Number.isFinite(value), at).toBe(true)
        for (const { name, note } of lacking) expect(note, `${at}, ${name}`).toMatch(/\w/)
        if (codes[t] === UNDEFINED) expect(lacking.length, at).toBeGreaterThan(0)
        expect(new Set(readings.map(({ name }) => name)).size, at).toBe(readings.length)
      }
    }
  })
}

interface Sample {
  seed: number
  series: Series
  facts: Facts
  sector: SectorView
  panel: Panel
}

/** Made once for all fields. */
const SAMPLES = new Map<string, Sample>()

function samples(count: number, longest: number): Sample[] {
  return Array.from({ length: FULL ? count : 4 }, (_, i) =>
    kept(`${i + 1}, up to ${longest}`, () => sampleOf(seriesOf(assortedBars(i + 1, longest)), i + 1)),
  )
}

function kept(name: string, make: () => Sample): Sample {
  const sample = SAMPLES.get(name) ?? make()
  SAMPLES.set(name, sample)
  return sample
}

const FORM = { price: 100, basis: 'bars', round: false, losses: 0.1 } as const

/** A series with facts and seven peers at other prices. */
function sampleOf(series: Series, seed: number): Sample {
  const factsOf = (i: number): Facts =>
    randomFacts(new Random(seed * 8 + i), series.days[0] ?? 0, series.days.at(-1) ?? 0, FORM)
  const facts = factsOf(0)
  const members = Array.from({ length: 8 }, (_, i) => {
    const close = series.close.map(price => price * (1 + i / 4))
    return {
      ticker: `SIM${i}`,
      series: { ...series, close },
      facts: i === 0 ? facts : factsOf(i),
    }
  })
  const sector = new Sector(members).seenFrom('SIM0')
  return { seed, series, facts, sector, panel: new Panel(series, facts, sector) }
}

/** The facts that are usable on a day; splits are no news, but the basis of the bars. */
function usableOn(facts: Facts, day: Day): Facts {
  return {
    reports: facts.reports.filter(record => firstUsableDay(record) <= day),
    earnings: facts.earnings.filter(
      ({ report_date, session }) => firstUsableDay({ known: report_date, session }) <= day,
    ),
    schedule: facts.schedule.filter(record => firstUsableDay({ known: record.known }) <= day),
    ratings: facts.ratings.filter(record => firstUsableDay(record) <= day),
    grades: facts.grades.filter(record => firstUsableDay(record) <= day),
    insiders: facts.insiders.filter(record => firstUsableDay(record) <= day),
    splits: facts.splits,
  }
}
