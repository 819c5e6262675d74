import { describe, expect, it } from 'vitest'
import { weekly } from '../../../src/engine/weekly.js'
import { FUNDAMENTAL_FIELDS } from '../../../src/fields/index.js'
import { Panel } from '../../../src/fields/panel.js'
import { Sector } from '../../../src/fields/sector.js'
import type { Facts } from '../../../src/model/facts.js'
import { UNDEFINED } from '../../../src/model/record.js'
import { randomBars } from '../../support/bars.js'
import { seriesOf } from '../../support/convert.js'
import { type Company, LITERAL } from '../literal.js'
import { randomFacts } from '../random-facts.js'

/** A company and its sector: bars of other sessions, some with holes of more than a week. */
function sector(seed: number, timeframe: 'daily' | 'weekly', length: number): Company[] {
  return Array.from({ length: 8 }, (_, i) => {
    const holes = i % 3 === 2 ? { gap: 0.02, holiday: 0.2 } : { holiday: 0.05 }
    const daily = seriesOf(randomBars(seed * 8 + i, { length: length - 9 * i, volatility: 0.03, ...holes }))
    return {
      series: timeframe === 'daily' ? daily : weekly(daily),
      facts: randomFacts(seed * 8 + i, daily.days),
    }
  })
}

const cases = [
  ...[1, 2, 3, 4, 5, 6, 7, 8].map(seed => ['daily', seed, 330] as const),
  ...[11, 12, 13, 14, 15, 16, 17, 18].map(seed => ['weekly', seed, 650] as const),
]

/** Every band that came up, so that the comparison is known to reach it. */
const seen = new Map(FUNDAMENTAL_FIELDS.map(field => [field.name, new Set<string | null>()]))

describe.each(cases)('%s bars and facts of seed %d', (timeframe, seed, length) => {
  const companies = sector(seed, timeframe, length)
  const view = new Sector(companies.map((company, i) => ({ ticker: `SIM${i}`, ...company }))).seenFrom('SIM0')
  const own = companies[0]!
  const panel = new Panel(own.series, own.facts, view)

  it.each(FUNDAMENTAL_FIELDS.map(field => [field.name, field] as const))('%s follows its words', (name, field) => {
    const found = Array.from(field.classify(panel), code => (code === UNDEFINED ? null : field.bands[code]))
    const expected = found.map((_, t) => LITERAL[name]!(own, t, companies.slice(1)))
    expect(found).toEqual(expected)
    for (const band of expected) seen.get(name)!.add(band)
  })
})

it('gives the same bands for records in another order, ties aside', () => {
  for (let seed = 1; seed <= 8; seed++) {
    const { series } = sector(seed, 'daily', 330)[0]!
    const facts = withoutTies(randomFacts(seed, series.days))
    const reversed = Object.fromEntries(Object.entries(facts).map(([kind, records]) => [kind, records.toReversed()]))
    const [given, turned] = [new Panel(series, facts), new Panel(series, { ...facts, ...reversed })]
    for (const field of FUNDAMENTAL_FIELDS)
      expect(field.classify(turned), `${field.name}, seed ${seed}`).toEqual(field.classify(given))
  }
})

it('reaches every band of every field, and bars without one', () => {
  for (const { name, bands } of FUNDAMENTAL_FIELDS)
    expect([...seen.get(name)!].sort(), name).toEqual([...bands, null].sort())
})

/** One record of each kind (of each period and of each firm, too) for a day. */
function withoutTies(facts: Facts): Facts {
  const one = <R>(records: readonly R[], key: (record: R) => unknown): R[] => [
    ...new Map(records.map(record => [String(key(record)), record])).values(),
  ]
  return {
    ...facts,
    reports: one(facts.reports, ({ period_end, known }) => [period_end, known]),
    earnings: one(facts.earnings, ({ report_date }) => report_date),
    ratings: one(facts.ratings, ({ known }) => known),
    grades: one(facts.grades, ({ firm, known }) => [firm.toLowerCase(), known]),
  }
}
