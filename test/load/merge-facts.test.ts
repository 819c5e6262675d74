import { describe, expect, it, test } from 'vitest'
import {
  FACT_KINDS,
  type FactKind,
  type FactRecord,
  type FactRecords,
  type FactSheet,
  type Facts,
  type InsiderTrade,
  type Report,
} from '../../src/core/model/facts.js'
import { Random } from '../../src/core/statistics/random.js'
import { mergeSheet } from '../../src/data/load/facts.js'
import { simulatedTicker } from '../../src/data/simulate/simulate.js'
import { randomFacts, shuffled } from '../support/random-facts.js'

const DATED = FACT_KINDS.filter((kind): kind is keyof Facts => kind !== 'securities')
const DAY = 17_000
const REPORT: Report = {
  period_end: DAY - 30,
  known: DAY,
  session: null,
  eps: 1,
  revenue: 100,
  book_value_ps: 10,
  basis: 'bars',
}
const TRADE: InsiderTrade = { known: DAY, session: 'post', insider: 'A', side: 'buy', shares: 5, value: null }
const NOTHING_TOLD = { name: null, sector: null, asset_class: null, market_cap: null }

describe.each(DATED)('%s', kind => {
  const untidy = untidyRecords(kind)
  const tidy = tidyRecords(kind)

  it('given twice are unchanged, every one, whatever is said twice in them', () => {
    for (const records of [tidy, untidy]) {
      const once = merged(kind, undefined, records, 'one.csv')
      expect(once).toMatchObject({ added: records.length, replaced: 0, unchanged: 0 })
      const twice = merged(kind, once.sheet, records, 'two.csv')
      expect(twice).toMatchObject({ added: 0, replaced: 0, unchanged: records.length })
      expect(twice.sheet).toEqual(once.sheet)
    }
  })

  it('are the same records however they are parted, in whatever order the parts come', () => {
    const whole = texts(merged(kind, undefined, tidy, 'whole.csv').sheet)
    expect(whole).toHaveLength(tidy.length)
    for (let seed = 1; seed <= 5; seed++) {
      const random = new Random(seed)
      let sheet: FactSheet | undefined
      for (let rest = shuffled(random, tidy); rest.length > 0; ) {
        const part = rest.splice(0, 1 + random.below(9))
        const result = merged(kind, sheet, part, `part${rest.length}.csv`)
        expect(result).toMatchObject({ added: part.length, replaced: 0, unchanged: 0 })
        sheet = result.sheet
      }
      expect(texts(sheet!)).toEqual(whole)
    }
  })

  it('are in the order of their dates, from first to last', () => {
    const { sheet } = merged(kind, undefined, shuffled(new Random(9), tidy), 'one.csv')
    const dates = sheet.rows.map(({ record }) => dateOf(record))
    expect(dates).toEqual(dates.toSorted((a, b) => a - b))
  })

  it('name the file that each of them came from, and no other file', () => {
    const half = Math.ceil(tidy.length / 2)
    const first = merged(kind, undefined, tidy.slice(0, half), 'first.csv').sheet
    const { sheet } = merged(kind, first, tidy, 'all.csv')
    const givenFirst = new Set(tidy.slice(0, half).map(text))
    for (const { source, record } of sheet.rows)
      expect(sheet.sources[source]!.file).toBe(givenFirst.has(text(record)) ? 'first.csv' : 'all.csv')
    expect(sheet.sources.map(({ file }) => file)).toEqual(['first.csv', 'all.csv'])
  })
})

describe('what is said again', () => {
  it('about the same thing comes last, and counts; the older one stays', () => {
    const first = merged('reports', undefined, [REPORT, { ...REPORT, period_end: DAY - 121 }], 'first.csv').sheet
    const second = merged('reports', first, [{ ...REPORT, eps: 2 }], 'second.csv')
    expect(second).toMatchObject({ added: 1, replaced: 0, unchanged: 0 })
    expect(epsOf(second.sheet)).toEqual([1, 2])
    const again = merged('reports', second.sheet, [REPORT], 'third.csv')
    expect(again).toMatchObject({ added: 0, replaced: 1, unchanged: 0 })
    expect(epsOf(again.sheet)).toEqual([2, 1])
    expect(again.sheet.sources.map(({ file }) => file)).toEqual(['first.csv', 'second.csv'])
  })

  it('on another day, or before instead of after the session, is stored as well', () => {
    const first = merged('reports', undefined, [REPORT], 'first.csv').sheet
    const later = { ...REPORT, known: DAY + 40, eps: 2 }
    const early = { ...REPORT, session: 'pre', eps: 3 } as const
    const result = merged('reports', first, [later, early], 'second.csv')
    expect(result).toMatchObject({ added: 2, replaced: 0, unchanged: 0 })
    expect(result.sheet.rows).toHaveLength(3)
  })

  test.each([
    ['ratings', { known: DAY, session: null, strong_buy: 1, buy: 1, hold: 1, sell: 1, strong_sell: 1 }, { buy: 2 }],
    ['grades', { known: DAY, session: null, firm: 'Bank', grade: 'Buy' }, { firm: 'BANK', grade: 'Sell' }],
    ['splits', { ex_date: DAY, ratio: 4 }, { ratio: 2 }],
    ['schedule', { expected_date: DAY + 9, known: DAY }, { expected_date: DAY + 8 }],
  ] as const)('of %s stands last', (kind, record, change) => {
    const first = merged(kind, undefined, [record as FactRecord], 'first.csv').sheet
    const result = merged(kind, first, [{ ...record, ...change } as FactRecord], 'second.csv')
    expect(result).toMatchObject({ added: 1, replaced: 0, unchanged: 0 })
    expect(result.sheet.rows.map(row => row.record)).toEqual([record, { ...record, ...change }])
  })

  it('of a result takes its place, so that four results make a year, and its source goes', () => {
    const result = { report_date: DAY, session: null, eps_estimate: 1, eps_actual: 2 }
    const first = merged('earnings', undefined, [result], 'first.csv').sheet
    const second = merged('earnings', first, [{ ...result, session: 'pre', eps_actual: 3 }], 'second.csv')
    expect(second).toMatchObject({ added: 0, replaced: 1, unchanged: 0 })
    expect(second.sheet.rows).toEqual([{ source: 0, record: { ...result, session: 'pre', eps_actual: 3 } }])
    expect(second.sheet.sources.map(({ file }) => file)).toEqual(['second.csv'])
  })

  test.each(DATED.filter(kind => kind !== 'earnings'))('of %s is the same records in every order of files', kind => {
    const records = untidyRecords(kind)
    const files = [records.slice(0, 20), records.slice(10, 40), records.slice(30), records]
    const whole = texts(merged(kind, undefined, records, 'whole.csv').sheet)
    for (let seed = 1; seed <= 4; seed++) {
      let sheet: FactSheet | undefined
      for (const part of shuffled(new Random(seed), files)) sheet = merged(kind, sheet, part, 'part.csv').sheet
      expect(texts(sheet!)).toEqual(whole)
    }
  })

  test.each(DATED)('of %s is counted so that what was there and what is added make up what is there', kind => {
    const tidy = tidyRecords(kind)
    const before = merged(kind, undefined, tidy.slice(0, 6), 'first.csv').sheet
    const { sheet, added, replaced, unchanged } = merged(kind, before, tidy.slice(3, 9), 'second.csv')
    expect({ added, replaced, unchanged }).toEqual({ added: 3, replaced: 0, unchanged: 3 })
    expect(sheet.rows).toHaveLength(before.rows.length + added)
  })
})

describe('equal trades', () => {
  it('are as many as the file that has most of them, in whatever order the files come', () => {
    const files = [[TRADE], [TRADE, TRADE, TRADE], [TRADE, TRADE], [{ ...TRADE, shares: 6 }, TRADE]]
    for (let seed = 1; seed <= 6; seed++) {
      let sheet: FactSheet | undefined
      for (const records of shuffled(new Random(seed), files))
        sheet = merged('insiders', sheet, records, 'trades.csv').sheet
      expect(texts(sheet!)).toEqual([TRADE, TRADE, TRADE, { ...TRADE, shares: 6 }].map(text).sort())
    }
  })

  it('are counted as added or as the same, never as replaced', () => {
    const { sheet } = merged('insiders', undefined, [TRADE], 'first.csv')
    expect(merged('insiders', sheet, [TRADE, TRADE, TRADE], 'second.csv')).toMatchObject({
      added: 2,
      replaced: 0,
      unchanged: 1,
    })
  })

  it('differ when the value is known in one alone', () => {
    const { sheet } = merged('insiders', undefined, [TRADE], 'first.csv')
    expect(merged('insiders', sheet, [{ ...TRADE, value: 0 }], 'second.csv')).toMatchObject({ added: 1, replaced: 0 })
  })
})

describe('securities', () => {
  it('keep values that a later source lacks', () => {
    const first = merged('securities', undefined, [{ ...NOTHING_TOLD, sector: 'Energy', name: 'Abc' }], 'first.csv')
    const second = merged('securities', first.sheet, [{ ...NOTHING_TOLD, name: 'ABC Inc' }], 'second.csv')
    expect(second).toMatchObject({ added: 0, replaced: 1, unchanged: 0 })
    expect(second.sheet.rows.map(({ record }) => record)).toEqual([
      { ...NOTHING_TOLD, sector: 'Energy', name: 'ABC Inc' },
    ])
    const third = merged('securities', second.sheet, [NOTHING_TOLD], 'third.csv')
    expect(third).toMatchObject({ added: 0, replaced: 0, unchanged: 1 })
    expect(third.sheet).toEqual(second.sheet)
  })

  it('are one record, and bear no date', () => {
    const lines = [
      { ...NOTHING_TOLD, sector: 'Energy' },
      { ...NOTHING_TOLD, market_cap: 5e9 },
    ]
    const { sheet, ...counts } = merged('securities', undefined, lines, 'first.csv')
    expect(sheet.rows.map(({ record }) => record)).toEqual([{ ...NOTHING_TOLD, sector: 'Energy', market_cap: 5e9 }])
    expect(counts.added + counts.unchanged).toBe(2)
    expect(merged('securities', sheet, lines, 'second.csv')).toMatchObject({ added: 0, replaced: 0, unchanged: 2 })
  })
})

function merged(kind: FactKind, present: FactSheet | undefined, records: readonly FactRecord[], file: string) {
  return mergeSheet(kind, present, records, { file, format: `${kind} csv`, imported_at: '2026-01-01T00:00:00.000Z' })
}

/** Records as real files hold them at their worst: twice, in no order, contradicting each other. */
function untidyRecords(kind: keyof Facts): readonly FactRecord[] {
  const facts = randomFacts(new Random(5), DAY, DAY + 900, { price: 50, basis: 'mixed', round: true, losses: 0.2 })
  return facts[kind]
}

/** Records of which each speaks about something else. */
function tidyRecords(kind: keyof Facts): readonly FactRecord[] {
  if (kind === 'grades')
    return Array.from({ length: 40 }, (_, i): FactRecords['grades'] => ({
      known: DAY + (i >> 2),
      session: null,
      firm: `Firm ${i % 4}`,
      grade: 'Hold',
    }))
  if (kind === 'splits')
    return Array.from({ length: 9 }, (_, i): FactRecords['splits'] => ({ ex_date: DAY + i, ratio: i + 2 }))
  const { facts } = simulatedTicker(1, { count: 1, bars: 700, seed: 3, end: DAY, sevenDays: false })
  return facts.find(part => part.kind === kind)!.records
}

function epsOf(sheet: FactSheet): (number | null)[] {
  const records = sheet.rows.map(({ record }) => record as Report)
  return records.filter(({ period_end }) => period_end === REPORT.period_end).map(({ eps }) => eps)
}

function dateOf(record: FactRecord): number {
  const { known, report_date, ex_date } = record as { known?: number; report_date?: number; ex_date?: number }
  return (known ?? report_date ?? ex_date)!
}

function texts(sheet: FactSheet): string[] {
  return sheet.rows.map(({ record }) => text(record)).sort()
}

function text(record: object): string {
  return JSON.stringify(Object.entries(record).sort())
}
