import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Busy, describeValue, wordsAsText } from '../../src/core/errors.js'
import { FIELDS } from '../../src/core/fields/index.js'
import { type Day, formatDay } from '../../src/core/model/day.js'
import { DEFINITIONS_VERSION } from '../../src/core/model/definitions.js'
import type { FactKind, FactRecords, Security } from '../../src/core/model/facts.js'
import { firstBars } from '../../src/core/model/series.js'
import { parseEvents } from '../../src/core/params/questions.js'
import { Random } from '../../src/core/statistics/random.js'
import type { TickerFacts } from '../../src/data/feeds/feed.js'
import type { Importer } from '../../src/data/load/import.js'
import { Cache } from '../../src/data/local/cache.js'
import { databaseChecks } from '../../src/data/local/doctor.js'
import { exportEvents, exportSeries } from '../../src/data/local/export.js'
import { Local } from '../../src/data/local/local.js'
import { status } from '../../src/data/local/status.js'
import { verify } from '../../src/data/local/verify.js'
import { type SimulatedTicker, simulatedTickers } from '../../src/data/simulate/simulate.js'
import type { Store } from '../../src/data/store/store.js'
import { draws, provenInFull } from '../support/full.js'
import { emptyImporter, loadedStore, sourced, temporaryFolder } from '../support/store.js'

const TICKERS = [...simulatedTickers({ count: 7, bars: 700, seed: 11, end: 20_000 })]
const SOURCE = { file: 'facts.csv', format: 'simulated' }

describe('the same store comes of', () => {
  provenInFull('facts before bars, bars before facts, and both a ticker at a time in any order', async () => {
    const whole = await eventsOf(await loadedStore(TICKERS))
    expect(new Set(whole.map(event => event.field)).size).toBe(21)
    const before = await emptyImporter()
    await before.putFacts(allFacts(), SOURCE)
    await before.put(TICKERS.map(sourced))
    expect(await eventsOf(before.store)).toEqual(whole)
    const single = await emptyImporter()
    const steps = TICKERS.flatMap(ticker => [
      () => single.put([sourced(ticker)]),
      ...ticker.facts.map(facts => () => single.putFacts([facts], SOURCE)),
    ])
    for (const step of shuffled(steps, new Random(3))) await step()
    expect(await eventsOf(single.store)).toEqual(whole)
    expect(await verify(single, { deep: true })).toEqual([])
  })

  it('removing a ticker, and never having had it', async () => {
    const six = await eventsOf(await loadedStore(TICKERS.slice(1)))
    const importer = await emptyImporter()
    await importer.put(TICKERS.map(sourced))
    await importer.putFacts(allFacts(), SOURCE)
    expect(await importer.remove(TICKERS[0]!.ticker)).toBe(true)
    expect(await eventsOf(importer.store)).toEqual(six)
  })

  provenInFull('a rebuild', async () => {
    const importer = await emptyImporter()
    await importer.put(TICKERS.map(sourced))
    await importer.putFacts(allFacts(), SOURCE)
    const whole = await eventsOf(importer.store)
    await importer.rebuild()
    expect(await eventsOf(importer.store)).toEqual(whole)
    expect(await importer.store.unsettled()).toEqual([])
  })
})

describe('as of a day', () => {
  it('is the run on bars and facts cut at it, for every field', async () => {
    const store = await loadedStore(TICKERS)
    for (const back of [1, 37, 120, 300].slice(0, draws(4))) {
      const asOf = TICKERS[0]!.bars.days.at(-1 - back)!
      const cut = TICKERS.map(ticker => ({
        ...ticker,
        bars: firstBars(ticker.bars, ticker.bars.days.length - back),
        facts: [],
      }))
      const importer = await emptyImporter()
      await importer.putFacts(
        allFacts().map(facts => knownBy(facts, asOf)),
        SOURCE,
      )
      await importer.put(cut.map(sourced))
      expect(await eventsOf(store, asOf), formatDay(asOf)).toEqual(await eventsOf(importer.store, asOf))
    }
  })
})

describe('crypto and funds', () => {
  it.each(['crypto', 'etf'] as const)(
    'of class %s have no fundamentals, whatever is loaded',
    async asset_class => {
      const importer = await emptyImporter()
      await importer.put(TICKERS.map(sourced))
      const others = allFacts().filter(({ ticker, kind }) => ticker !== TICKERS[0]!.ticker || kind !== 'securities')
      await importer.putFacts([...others, security(TICKERS[0]!, { asset_class })], SOURCE)
      const local = new Local(importer.store, 'pro', null)
      for (const { name, needs } of FIELDS) {
        const page = await local.events(parseEvents({ ticker: TICKERS[0]!.ticker, field: name }))
        if (needs === 'bars') expect(page.total_occurrences, name).toBeGreaterThan(0)
        else expect(page.total_occurrences, name).toBe(0)
      }
      expect(await verify(importer, { deep: true })).toEqual([])
      const stock = [security(TICKERS[0]!, { asset_class: 'stock' })]
      await expect(importer.putFacts(stock, SOURCE)).rejects.toThrow(
        `is of class ${asset_class} by ${SOURCE.file}, and of class stock by this file`,
      )
      await importer.putFacts(stock, SOURCE, { replace: true })
      expect(await eventsOf(importer.store)).toEqual(await eventsOf(await loadedStore(TICKERS)))
    },
    60_000,
  )

  it('that become crypto get weeks that end on Sunday', async () => {
    const importer = await emptyImporter()
    await importer.put([sourced(TICKERS[0]!)])
    const week = async () => (await importer.store.recorded(TICKERS[0]!.ticker, 'weekly', 'rsi_zone'))!.calendar
    const stock = await week()
    await importer.putFacts([security(TICKERS[0]!, { asset_class: 'crypto' })], SOURCE)
    expect((await importer.store.ticker(TICKERS[0]!.ticker))?.assetClass).toBe('crypto')
    expect((await week()).known).not.toEqual(stock.known)
  })

  it('a ticker without an asset class counts as a stock when it has facts', async () => {
    const importer = await emptyImporter()
    await importer.put([sourced(TICKERS[0]!)])
    await importer.putFacts(
      TICKERS[0]!.facts.filter(({ kind }) => kind === 'earnings'),
      SOURCE,
    )
    const local = new Local(importer.store, 'pro', null)
    const page = await local.events(parseEvents({ ticker: TICKERS[0]!.ticker, field: 'earnings_surprise' }))
    expect(page.total_occurrences).toBeGreaterThan(0)
  })
})

describe('a run that was stopped before its sectors were compared', () => {
  it('answers no field that compares with them, and every other', async () => {
    const store = await loadedStore(TICKERS)
    await store.write({ unsettled: [`sector ${securityOf(TICKERS[0]!).sector!.toLowerCase()}`] }, DEFINITIONS_VERSION)
    const local = new Local(store, 'pro', null)
    const { ticker } = TICKERS[0]!
    for (const { name, needs } of FIELDS) {
      const answer = local.events(parseEvents({ ticker, field: name }))
      if (needs !== 'sector') expect((await answer).total_occurrences, name).toBeGreaterThan(0)
      else {
        await expect(answer).rejects.toThrow(Busy)
        await expect(answer).rejects.toThrow(/a rebuild finishes it/)
      }
    }
  })

  it('answers no fundamental field of a ticker whose facts are new', async () => {
    const store = await loadedStore(TICKERS)
    await store.write({ unsettled: [`ticker ${TICKERS[0]!.ticker}`] }, DEFINITIONS_VERSION)
    const local = new Local(store, 'pro', null)
    for (const { name, needs } of FIELDS) {
      const answer = local.events(parseEvents({ ticker: TICKERS[0]!.ticker, field: name }))
      if (needs === 'bars') expect((await answer).total_occurrences, name).toBeGreaterThan(0)
      else await expect(answer, name).rejects.toThrow(Busy)
    }
    const other = await local.events(parseEvents({ ticker: TICKERS[1]!.ticker, field: 'earnings_surprise' }))
    expect(other.total_occurrences).toBeGreaterThan(0)
  })

  it('refuses an export before its first row, and is reported by status, verify and doctor', async () => {
    const store = await loadedStore(TICKERS)
    const cache = new Cache(store, 'pro', null)
    await store.write({ unsettled: ['ticker SIM0007'] }, DEFINITIONS_VERSION)
    await expect(exportEvents(cache).next()).rejects.toThrow(Busy)
    await expect(exportSeries(cache).next()).rejects.toThrow(Busy)
    expect((await exportEvents(cache, { fields: ['rsi_zone'] }).next()).done).toBe(false)
    expect((await status(cache)).unfinished).toBe(1)
    expect(await verify({ store }, { deep: true })).toMatchObject([
      { what: expect.stringContaining('a rebuild finishes it') },
    ])
    const told = databaseChecks(store.location).find(check => check.name === 'imports')
    expect(told).toMatchObject({
      outcome: 'warn',
      remedy: expect.arrayContaining([{ command: 'rebuild', words: [], params: {} }]),
    })
  })

  it('is made good by the next import', async () => {
    const importer = await emptyImporter()
    await importer.putFacts(allFacts(), SOURCE)
    await importer.put(TICKERS.map(sourced))
    const whole = await eventsOf(importer.store)
    await importer.store.write(
      { unsettled: [`sector ${securityOf(TICKERS[0]!).sector!.toLowerCase()}`] },
      DEFINITIONS_VERSION,
    )
    await importer.put([sourced(TICKERS[0]!)])
    expect(await importer.store.unsettled()).toEqual([])
    expect(await eventsOf(importer.store)).toEqual(whole)
  })
})

describe('records that are given again', () => {
  it('in another order of their values, or with the other zero, are the same records', async () => {
    const importer = await emptyImporter()
    const trade = { known: 19_000, session: null, insider: 'A', side: 'buy', shares: 10, value: -0 } as const
    const turned = Object.fromEntries(Object.entries(trade).reverse()) as unknown as typeof trade
    await give(importer, 'insiders', [trade])
    expect(await give(importer, 'insiders', [turned])).toMatchObject([{ added: 0, unchanged: 1, records: 1 }])
    await give(importer, 'reports', [report({ eps: -0 })])
    expect(await give(importer, 'reports', [report({ eps: -0 })])).toMatchObject([{ added: 0, unchanged: 1 }])
  })

  it.each([
    ['eps', Number.NaN, 'a finite number'],
    ['known', 1.5, 'a day, counted from 1970-01-01'],
    ['period_end', null, 'a value, which every record needs'],
    ['basis', 'files', 'bars or filed'],
  ])('by a program are refused where %s is %s', async (name, value, allowed) => {
    const importer = await emptyImporter()
    const wrong = { ...report({}), [name]: value } as unknown as FactRecords['reports']
    await expect(give(importer, 'reports', [wrong])).rejects.toThrow(
      `reports of ABC: ${name} ${describeValue(value)} is not ${allowed}.`,
    )
    expect(await importer.store.factTickers()).toEqual([])
  })

  it('over two files of one run with replace begin again once', async () => {
    const importer = await emptyImporter()
    const trade = { known: 19_000, session: null, insider: 'A', side: 'buy', shares: 10, value: null } as const
    await give(importer, 'insiders', [{ ...trade, shares: 1 }])
    const folder = temporaryFolder()
    const inputs = [2, 3].map(shares => {
      const path = join(folder, `${shares}.csv`)
      writeFileSync(path, `ticker,known,insider,side,shares\nABC,2022-01-08,A,buy,${shares}\n`)
      return { name: path, path, bytes: null }
    })
    for await (const file of importer.import(inputs, { replace: true })) expect(file.holds).toBe('facts')
    const kept = (await importer.store.sheets('ABC')).insiders?.rows.map(row => row.record.shares)
    expect(kept).toEqual([2, 3])
  })

  it('of a split under two dates close by are doubted', async () => {
    const importer = await emptyImporter()
    const path = join(temporaryFolder(), 'splits.csv')
    writeFileSync(path, 'ticker,ex_date,ratio\nABC,2020-08-31,4\nABC,2020-08-28,4\nABC,2014-06-09,7\n')
    for await (const file of importer.import([{ name: 'splits.csv', path, bytes: null }]))
      expect('doubts' in file ? file.doubts.map(doubt => wordsAsText(doubt)) : []).toEqual([
        'ABC has two splits of ratio 4 on 2020-08-28 and 2020-08-31, and both count; replace starts its splits again',
      ])
  })

  it('with replace start their kind again and leave the other kinds alone', async () => {
    const importer = await emptyImporter()
    await give(importer, 'reports', [report({ known: 19_000, eps: 1 })])
    await give(importer, 'splits', [{ ex_date: 18_000, ratio: 2 }])
    const facts = [{ ticker: 'ABC', kind: 'reports' as const, records: [report({ known: 19_001, eps: 3 })] }]
    await importer.putFacts(facts, SOURCE, { replace: true })
    const { reports, splits } = await importer.store.sheets('ABC')
    expect(reports?.rows.map(row => row.record)).toEqual(facts[0]!.records)
    expect(splits?.rows).toHaveLength(1)
  })
})

type Events = { ticker: string; field: string }[]

async function eventsOf(store: Store, asOf: Day | null = null): Promise<Events> {
  const events: Events = []
  for await (const event of exportEvents(new Cache(store, 'pro', asOf))) events.push(event)
  return events
}

function allFacts(): TickerFacts[] {
  return TICKERS.flatMap(({ facts }) => facts)
}

function securityOf({ facts }: SimulatedTicker): Security {
  return facts.find(({ kind }) => kind === 'securities')!.records[0] as Security
}

function security(of: SimulatedTicker, change: Partial<Security>): TickerFacts<'securities'> {
  return { ticker: of.ticker, kind: 'securities', records: [{ ...securityOf(of), ...change }] }
}

function knownBy(facts: TickerFacts, day: Day): TickerFacts {
  const dateOf = (record: object): Day => {
    const { known, report_date, ex_date } = record as { known?: Day; report_date?: Day; ex_date?: Day }
    return known ?? report_date ?? ex_date ?? day
  }
  return { ...facts, records: facts.records.filter(record => dateOf(record) <= day) } as TickerFacts
}

function report(given: Partial<FactRecords['reports']>): FactRecords['reports'] {
  return {
    period_end: 18_950,
    known: 19_000,
    session: null,
    eps: null,
    revenue: null,
    book_value_ps: null,
    basis: 'bars',
    ...given,
  }
}

async function give<Kind extends FactKind>(importer: Importer, kind: Kind, records: FactRecords[Kind][]) {
  return importer.putFacts([{ ticker: 'ABC', kind, records } as TickerFacts], SOURCE)
}

function shuffled<T>(items: readonly T[], random: Random): T[] {
  const left = [...items]
  return Array.from(items, () => left.splice(random.below(left.length), 1)[0]!)
}
