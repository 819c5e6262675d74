import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { transitions } from '../../src/core/engine/record.js'
import { Sector } from '../../src/core/fields/fundamentals.js'
import { FUNDAMENTAL_FIELDS } from '../../src/core/fields/index.js'
import { Panel } from '../../src/core/fields/panel.js'
import { type Day, formatDay, parseDay, weekdayOf } from '../../src/core/model/day.js'
import { type FactKind, type FactRecords, type Facts, firstUsableDay, NO_FACTS } from '../../src/core/model/facts.js'
import { UNDEFINED } from '../../src/core/model/series.js'
import { readFile } from '../../src/data/feeds/read.js'
import {
  barsToCsv,
  factHeader,
  factRows,
  type SimulatedTicker,
  type SimulateOptions,
  simulatedTicker,
  simulatedTickers,
} from '../../src/data/simulate/simulate.js'
import { written } from '../feeds/files.js'

const END = parseDay('2025-12-31')!

const optionsOf = (changes: Partial<SimulateOptions> = {}): SimulateOptions => ({
  count: 3,
  bars: 300,
  seed: 1,
  end: END,
  ...changes,
})

function recordsOf<Kind extends FactKind>({ facts }: SimulatedTicker, kind: Kind): readonly FactRecords[Kind][] {
  return (facts.find(part => part.kind === kind)?.records ?? []) as readonly FactRecords[Kind][]
}

const MARKET = [...simulatedTickers(optionsOf({ count: 88, bars: 1260 }))]

describe('the facts of a simulated ticker', () => {
  it('leave the bars of a seed as they are, to the byte', () => {
    const digest = createHash('sha256')
    for (const chunk of barsToCsv(MARKET.slice(0, 12))) digest.update(chunk)
    expect(digest.digest('hex')).toBe('097512fb797c21f5663cde6635e7c088a56e4b5e3ee2071a402182fda314159c')
  })

  it('are the same for the same seed, regardless of the count', () => {
    const { facts } = simulatedTicker(7, optionsOf())
    expect(simulatedTicker(7, optionsOf({ count: 500 })).facts).toEqual(facts)
    expect(simulatedTicker(7, optionsOf({ seed: 2 })).facts).not.toEqual(facts)
  })

  it('share no report, rating or trade with another ticker or a neighbouring seed', () => {
    const all = [1, 2, 3].flatMap(seed => [...simulatedTickers(optionsOf({ seed, count: 20 }))])
    for (const kind of ['reports', 'ratings', 'insiders'] as const)
      expect(new Set(all.map(ticker => JSON.stringify(recordsOf(ticker, kind)))).size, kind).toBe(60)
  })

  it('are by the end of a shorter run what the longer run knew by that day', () => {
    const long = simulatedTicker(4, optionsOf({ bars: 600 }))
    for (const bars of [1, 2, 40, 137, 300, 481, 599]) {
      const last = long.bars.days[bars - 1]!
      const short = simulatedTicker(4, optionsOf({ bars, end: last }))
      expect(short.bars.days[0]).toBe(long.bars.days[0])
      for (const kind of dated(short)) expect(recordsOf(short, kind), kind).toEqual(knownBy(last, long, kind))
    }
  })

  it('come in the order in which they became known, none after the last bar', () => {
    for (const ticker of MARKET) {
      for (const kind of dated(ticker)) {
        const known = recordsOf(ticker, kind).map(knownOf)
        expect(known, `${ticker.ticker} ${kind}`).toEqual(known.toSorted((a, b) => a - b))
        expect(known.at(-1)).toBeLessThanOrEqual(ticker.bars.days.at(-1)!)
      }
    }
  })

  it('fall on weekdays', () => {
    const days = MARKET.flatMap(ticker => dated(ticker).flatMap(kind => recordsOf(ticker, kind).map(knownOf)))
    expect(days.every(day => Number.isInteger(day) && weekdayOf(day) < 5)).toBe(true)
  })

  it('are one record of a security, with 8 companies a sector and all 11 sectors in 88', () => {
    const securities = MARKET.map(ticker => recordsOf(ticker, 'securities'))
    expect(securities.every(records => records.length === 1)).toBe(true)
    expect(securities[0]![0]).toMatchObject({ name: 'Simulated Company 1', asset_class: 'stock' })
    const sectors = securities.map(([security]) => security!.sector)
    expect(new Set(sectors.slice(0, 8)).size).toBe(1)
    expect(new Set(sectors).size).toBe(11)
    const caps = securities.map(([security]) => security!.market_cap!)
    expect(quantile(caps, 0.5)).toBeGreaterThan(1e9)
    expect(quantile(caps, 0.5)).toBeLessThan(1e11)
  })

  it('are those of a coin, its kind alone, when it trades on seven days', () => {
    const { ticker, facts } = simulatedTicker(12, optionsOf({ sevenDays: true }))
    const coin = { name: 'Simulated Coin 12', sector: null, asset_class: 'crypto', market_cap: null }
    expect(facts).toEqual([{ ticker, kind: 'securities', records: [coin] }])
  })
})

describe('simulated reports', () => {
  it('start eight quarters and more before the first bar, one every quarter, three to six weeks after its end', () => {
    for (const ticker of MARKET) {
      const reports = firstVersions(ticker)
      expect(reports.filter(report => report.known < ticker.bars.days[0]!).length).toBeGreaterThanOrEqual(8)
      for (const [i, { period_end, known, session }] of reports.entries()) {
        expect(formatDay(period_end + 1)).toMatch(/-01$/)
        expect(known - period_end).toBeGreaterThanOrEqual(20)
        expect(known - period_end).toBeLessThanOrEqual(43)
        expect(['pre', 'post']).toContain(session)
        if (i > 0) expect(Math.abs(period_end - reports[i - 1]!.period_end - 91)).toBeLessThanOrEqual(2)
      }
    }
  })

  it('are restated now and then, later and with other figures', () => {
    const versions = MARKET.flatMap(ticker => {
      const first = new Map(firstVersions(ticker).map(report => [report.period_end, report]))
      return recordsOf(ticker, 'reports').flatMap(report => {
        const before = first.get(report.period_end)!
        return before === report ? [] : [{ before, report }]
      })
    })
    expect(versions.length).toBeGreaterThan(20)
    for (const { before, report } of versions) {
      expect(report.known).toBeGreaterThan(before.known)
      expect(report.revenue).not.toBe(before.revenue)
    }
  })
})

describe('simulated earnings', () => {
  it('are known with the report', () => {
    for (const ticker of MARKET) {
      const reported = firstVersions(ticker).map(({ known, session }) => ({ report_date: known, session }))
      const own = recordsOf(ticker, 'earnings').map(({ report_date, session }) => ({ report_date, session }))
      expect(own).toEqual(reported)
    }
  })

  it('say nothing about later prices', () => {
    const pairs = MARKET.flatMap(ticker => {
      const { days, close } = ticker.bars
      return recordsOf(ticker, 'earnings').flatMap(result => {
        const bar = days.findIndex(day => day >= firstUsableDay({ known: result.report_date, session: result.session }))
        if (bar < 0 || bar + 10 >= days.length || result.report_date < days[0]!) return []
        return [[Math.sign(surpriseOf(result)), Math.log(close[bar + 10]! / close[bar]!)] as const]
      })
    })
    expect(pairs.length).toBeGreaterThan(1500)
    expect(Math.abs(correlation(pairs))).toBeLessThan(0.08)
  })
})

describe('the simulated schedule', () => {
  it('announces every report weeks ahead, and moves some', () => {
    let moved = 0
    for (const ticker of MARKET) {
      const schedule = recordsOf(ticker, 'schedule')
      for (const { known } of firstVersions(ticker)) {
        const announced = schedule.filter(record => record.known < known && Math.abs(record.expected_date - known) < 20)
        expect(announced.at(-1)?.expected_date, `${ticker.ticker} ${formatDay(known)}`).toBe(known)
        expect(known - announced[0]!.known).toBeGreaterThanOrEqual(30)
        expect(announced.every(record => record.expected_date > record.known)).toBe(true)
        if (announced.length > 1) moved++
      }
    }
    expect(moved).toBeGreaterThan(100)
    expect(moved).toBeLessThan(MARKET.length * 10)
  })

  it('knows of reports after the last bar', () => {
    const ahead = MARKET.filter(ticker => recordsOf(ticker, 'schedule').some(record => record.expected_date > END))
    expect(ahead.length).toBeGreaterThan(0.5 * MARKET.length)
  })
})

describe('simulated ratings', () => {
  it('are whole counts of a few analysts that change every few weeks, from well before the first bar', () => {
    for (const ticker of MARKET) {
      const ratings = recordsOf(ticker, 'ratings')
      expect(ratings[0]!.known).toBeLessThan(ticker.bars.days[0]! - 90)
      expect(ratings.length).toBeGreaterThan(15)
      expect(new Set(ratings.map(({ known }) => known)).size).toBe(ratings.length)
      for (const { strong_buy, buy, hold, sell, strong_sell } of ratings) {
        const counts = [strong_buy, buy, hold, sell, strong_sell]
        expect(counts.every(count => Number.isInteger(count) && count >= 0)).toBe(true)
        expect(sum(counts)).toBeLessThanOrEqual(40)
      }
    }
  })
})

describe('the fundamental fields of eight simulated tickers', () => {
  const members = MARKET.slice(0, 8).map(ticker => ({
    ticker: ticker.ticker,
    series: ticker.bars,
    facts: factsOf(ticker),
  }))
  const sector = new Sector(members)
  const panels = members.map(({ ticker, series, facts }) => new Panel(series, facts, sector.seenFrom(ticker)))

  for (const field of FUNDAMENTAL_FIELDS) {
    it(`have events of ${field.name} on most of them, and most of its bands`, () => {
      const codes = panels.map(panel => field.classify(panel))
      const events = codes.map(column => transitions(column).bars.length)
      expect(events.filter(count => count > 0).length, events.join(' ')).toBeGreaterThanOrEqual(6)
      expect(sum(events)).toBeGreaterThanOrEqual(24)
      const shares = bandShares(codes, field.bands.length)
      // The ends of the analysts' scale are as rare as they are in life.
      const seen = shares.filter(share => share > 0).length
      expect(seen, shares.join(' ')).toBeGreaterThanOrEqual(field.name === 'analyst_consensus' ? 3 : field.bands.length)
      expect(Math.max(...shares)).toBeLessThan(0.8)
    })
  }

  it('are defined on nearly every bar, those with a rolling percentile from its least history on', () => {
    for (const field of FUNDAMENTAL_FIELDS) {
      for (const panel of panels) {
        const column = field.classify(panel)
        const undefinedBars = column.filter((code, t) => code === UNDEFINED && t >= field.warmUp(panel)).length
        expect(undefinedBars, field.name).toBeLessThan(30)
      }
    }
  })
})

describe('the text of simulated facts', () => {
  it('is read by the project as the same records, in the same order', async () => {
    const facts = MARKET.slice(0, 3).flatMap(ticker => ticker.facts)
    for (const kind of new Set(facts.map(part => part.kind))) {
      const given = facts.filter(part => part.kind === kind)
      const result = await readFile(written(`${kind}.csv`, factHeader(kind) + given.map(factRows).join('')))
      expect(result.holds === 'facts' && result.facts, kind).toEqual(given)
    }
  })

  it('leaves an unknown value empty', () => {
    const records = [{ name: 'A', sector: null, asset_class: null, market_cap: 5 }]
    expect(factRows({ ticker: 'X', kind: 'securities', records })).toBe('X,,,5,A\n')
  })
})

function dated({ facts }: SimulatedTicker): Exclude<FactKind, 'securities'>[] {
  return facts.flatMap(({ kind }) => (kind === 'securities' ? [] : [kind]))
}

function knownOf(record: FactRecords[Exclude<FactKind, 'securities'>]): Day {
  if ('known' in record) return record.known
  return 'report_date' in record ? record.report_date : record.ex_date
}

function knownBy(day: Day, ticker: SimulatedTicker, kind: Exclude<FactKind, 'securities'>): unknown[] {
  return recordsOf(ticker, kind).filter(record => knownOf(record) <= day)
}

function firstVersions(ticker: SimulatedTicker): FactRecords['reports'][] {
  const seen = new Set<Day>()
  return recordsOf(ticker, 'reports').filter(({ period_end }) => !seen.has(period_end) && seen.add(period_end))
}

function factsOf({ facts }: SimulatedTicker): Facts {
  const kinds = facts.filter(({ kind }) => kind !== 'securities').map(({ kind, records }) => [kind, records])
  return { ...NO_FACTS, ...Object.fromEntries(kinds) }
}

/** Of all defined bars, the share in each band. */
function bandShares(columns: readonly Uint8Array[], bands: number): number[] {
  const counts = Array.from({ length: bands }, (_, band) =>
    sum(columns.map(codes => codes.filter(code => code === band).length)),
  )
  return counts.map(count => count / sum(counts))
}

function surpriseOf({ eps_estimate, eps_actual }: FactRecords['earnings']): number {
  return (eps_actual! - eps_estimate!) / Math.max(Math.abs(eps_estimate!), 0.01)
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function quantile(values: readonly number[], p: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * p)]!
}

function correlation(pairs: readonly (readonly [number, number])[]): number {
  const [mx, my] = [0, 1].map(side => sum(pairs.map(pair => pair[side]!)) / pairs.length) as [number, number]
  const moment = (of: (dx: number, dy: number) => number): number => sum(pairs.map(([x, y]) => of(x - mx, y - my)))
  return moment((dx, dy) => dx * dy) / Math.sqrt(moment(dx => dx * dx) * moment((_, dy) => dy * dy))
}
