import { describe, expect, it, onTestFinished } from 'vitest'
import { readFile } from '../../src/data/feeds/read.js'
import { Importer } from '../../src/data/load/import.js'
import { Local } from '../../src/data/local/local.js'
import { simulatedTickers } from '../../src/data/simulate/simulate.js'
import { type Damage, Damaged, type Store, type Writer } from '../../src/data/store/store.js'
import { now } from '../../src/research/tally/now.js'
import { FULL } from '../support/full.js'
import { sourced } from '../support/store.js'

export const KEY = { ticker: 'SIM0001', timeframe: 'daily', field: 'rsi_zone', limit: 10 } as const
const PULLED = { ticker: 'AAPL', timeframe: 'daily', field: 'rsi_zone' } as const

const DAILY = "timeframe = 'daily'"

/** A database whose rows can be edited behind the back of its store. */
export interface Edited {
  /** What finds the rows of SIM0001 among the chunks and the series. */
  ofFirst: string
  /** What names the ticker of a row of chunks. */
  key: string
  /** The fields of a series with some change: a path to a value, or to nothing. */
  withField(path: readonly string[], value: string | null): string
  /** In the quick run, one of so many edits is tried. */
  every: number
  /** One with bars and facts of two tickers and pulled events of a third, to which something is done; edited(bytes) changes one. */
  edit(sql: string): Promise<string>
  open(address: string, readonly: boolean): Promise<Store>
}

export const WORLD = [...simulatedTickers({ count: 2, bars: 300, seed: 3, end: 17_000 })]
const SOURCE = { file: 'simulate', format: 'simulated' }

type Question = (store: Store) => Promise<unknown>

const ask: Question = store => new Local(store, 'pro', null).events(KEY)
const whatFollowed: Question = store => store.recorded('SIM0001', 'daily', 'rsi_zone')
const bars: Question = store => store.bars('SIM0001')
const facts: Question = store => store.sheets('SIM0001')
const securities: Question = store => store.securities()
const pulled: Question = store => store.pages.series(PULLED)

type Edit = readonly [what: string, sql: string, found: string, question: Question]

/** One byte of each chunk of a part of the first ticker. */
function editOfPart(ofFirst: string, part: string): string {
  return `UPDATE chunks SET columns = edited(columns) WHERE ${ofFirst} AND ${DAILY} AND part = '${part}'`
}

/** What is done to a database, what is found then, and which question comes upon it. */
function editsOf({ ofFirst, key }: Edited): readonly Edit[] {
  /** Those of the other ticker. */
  const othersBars = `UPDATE chunks SET columns = (SELECT columns FROM chunks other WHERE other.part = 'prices'
    AND other.chunk = chunks.chunk AND other.${key} <> chunks.${key}) WHERE ${ofFirst} AND part = 'prices'`
  /** The last chunk of a part, as it was when its ticker had fewer bars. */
  const cutShort = (part: string): string => {
    const of = `${ofFirst} AND ${DAILY} AND part = '${part}'`
    return `DELETE FROM chunks WHERE ${of} AND chunk = (SELECT max(chunk) FROM chunks WHERE ${of})`
  }
  const ofPart = (part: string): string => editOfPart(ofFirst, part)
  return [
    ['a ticker that is gone', "DELETE FROM tickers WHERE ticker = 'SIM0001'", 'SIM0001: its bars are missing', ask],
    [
      'a ticker under another name',
      "UPDATE tickers SET ticker = 'SIM0009' WHERE ticker = 'SIM0001'",
      'SIM0001: its bars are missing',
      ask,
    ],
    [
      'another last day',
      "UPDATE tickers SET last_date = '2031-01-01' WHERE ticker = 'SIM0001'",
      'SIM0001: what is said of it (dates, prices, source) is not what was written',
      ask,
    ],
    [
      'another source',
      "UPDATE tickers SET source = 'x.csv' WHERE ticker = 'SIM0001'",
      'SIM0001: what is said of it (dates, prices, source) is not what was written',
      ask,
    ],
    [
      'no list of its chunks',
      "UPDATE tickers SET chunks = 'null' WHERE ticker = 'SIM0001'",
      'SIM0001: what is said of it (dates, prices, source) is not what was written',
      ask,
    ],
    ['bars of another ticker', othersBars, 'SIM0001: its bars are not what was written', bars],
    ['a close that is doubled', ofPart('prices'), 'SIM0001: its bars are not what was written', bars],
    ['bars that are gone', `DELETE FROM chunks WHERE ${ofFirst}`, 'SIM0001: its bars are missing', bars],
    ['a chunk of bars that is gone', cutShort('prices'), 'SIM0001: its bars are missing', bars],
    [
      'bars that are counted from another one on',
      `UPDATE chunks SET chunk = 7 WHERE ${ofFirst} AND part = 'prices' AND chunk = 1`,
      'SIM0001: its bars are not what was written',
      bars,
    ],
    ['other dates of a series', ofPart('calendar'), 'SIM0001: its daily series is not what was written', ask],
    ['a rank of a return', ofPart('outcomes'), 'SIM0001: its daily series is not what was written', whatFollowed],
    ['dates of a series that are gone', cutShort('calendar'), 'SIM0001: its daily series is missing', ask],
    [
      'another number of bars of a series',
      `UPDATE series SET bars = bars + 1 WHERE ${ofFirst} AND ${DAILY}`,
      'SIM0001: its daily series is not what was written',
      ask,
    ],
    [
      'a series that is gone',
      `DELETE FROM series WHERE ${ofFirst} AND timeframe = 'daily'`,
      'SIM0001: its daily series is missing',
      ask,
    ],
    ['a date of an event', ofPart('events'), 'SIM0001: its daily events are not what was written', ask],
    ['events that are gone', cutShort('events'), 'SIM0001: its daily events are missing', ask],
    [
      'events of another field',
      `UPDATE series SET fields = replace(fields, 'macd_state', 'rsi_zone') WHERE ${ofFirst} AND ${DAILY}`,
      'SIM0001: its daily series is not what was written',
      ask,
    ],
    [
      'facts that are gone',
      "DELETE FROM facts WHERE ticker = 'SIM0001' AND kind = 'reports'",
      'SIM0001: its reports are missing',
      facts,
    ],
    [
      'facts of another ticker',
      "UPDATE facts SET ticker = 'SIM0009' WHERE ticker = 'SIM0001' AND kind = 'reports'",
      'SIM0001: its reports are missing',
      facts,
    ],
    [
      'all facts of another ticker',
      "UPDATE facts SET ticker = 'SIM0009' WHERE ticker = 'SIM0001'",
      'SIM0001: its earnings are missing',
      facts,
    ],
    [
      'another sector',
      "UPDATE facts SET sheet = replace(sheet, 'stock', 'crypto') WHERE ticker = 'SIM0001' AND kind = 'securities'",
      'SIM0001: its securities are not what was written',
      securities,
    ],
    [
      'pulled events that are gone',
      "DELETE FROM pulled WHERE ticker = 'AAPL'",
      'AAPL: its pulled daily rsi_zone events are missing',
      pulled,
    ],
    [
      'pulled events of another ticker',
      "UPDATE pulled SET ticker = 'KO' WHERE ticker = 'AAPL'",
      'AAPL: its pulled daily rsi_zone events are missing',
      pulled,
    ],
  ]
}

/** What is damaged is found, told and mended, in whatever database. */
export function damageContract(name: string, database: Edited): void {
  const { edit, withField } = database
  const opened = async (address: string): Promise<Store> => {
    const store = await database.open(address, true)
    onTestFinished(() => store.close())
    return store
  }
  let sound: Promise<unknown> | undefined
  const soundEvents = async (): Promise<unknown> => {
    const store = await opened(await edit(''))
    return (await new Local(store, 'pro', null).events(KEY)).events
  }
  const EDITS = editsOf(database).filter((_edit, i) => FULL || i % database.every === 0)
  describe(`${name}: a row that is not what was written`, () => {
    // To make the database is most of the work: each edit is proven on one, which is mended at the end.
    it.each(EDITS)('is found, answers no question and is mended: %s', async (_what, sql, found, question) => {
      const address = await edit(sql)
      await expectFound(await opened(address), found, question)
      if (question === ask) {
        await expectFoundAmongMany(await opened(address), found)
        await expectToldInItsTurn(await opened(address), found)
      }
      const importer = await Importer.begin(await database.open(address, false), readFile, writer())
      onTestFinished(() => importer.close())
      await expectMended(importer)
      if (sql.includes('pulled')) return
      sound ??= soundEvents()
      expect((await new Local(importer.store, 'pro', null).events(KEY)).events).toEqual(await sound)
    })

    it.each([
      [
        'a number of events',
        `UPDATE series SET events = events + 1 WHERE ${DAILY}`,
        'daily series is not what was written',
      ],
      [
        'a number of events of a field',
        `UPDATE series SET fields = ${withField(['rsi_zone', '2'], '7')} WHERE ${DAILY}`,
        'daily series is not what was written',
      ],
      [
        'a field that is gone',
        `UPDATE series SET fields = ${withField(['rsi_zone'], null)} WHERE ${DAILY}`,
        'daily series is not what was written',
      ],
      [
        'a field too many',
        `UPDATE series SET fields = ${withField(['x'], '[0,0,0]')} WHERE ${DAILY}`,
        'daily series is not what was written',
      ],
      ['a series that is gone', "DELETE FROM series WHERE timeframe = 'daily'", 'daily series is missing'],
    ])('is found where its events are counted: %s', async (_what, sql, found) => {
      const store = await opened(await edit(sql))
      await expect(store.summaries()).rejects.toThrow(found)
    })

    it('is no reason to refuse what does not stand on it', async () => {
      const store = await opened(await edit(editOfPart(database.ofFirst, 'prices')))
      const local = new Local(store, 'pro', null)
      for (const key of [KEY, { ...KEY, ticker: 'SIM0002' }]) expect((await local.events(key)).events).not.toEqual([])
      await expect(store.bars('SIM0002')).resolves.not.toBeNull()
    })

    it('of one ticker changes nothing about the others, nor about which day it is', async () => {
      const sound = await opened(await edit(''))
      for (const day of ['2031-01-01', '2001-01-01']) {
        const store = await opened(await edit(`UPDATE tickers SET last_date = '${day}' WHERE ticker = 'SIM0001'`))
        expect(await store.newestDay()).toBe(await sound.newestDay())
        const key = { ...KEY, ticker: 'SIM0002' }
        const told = new Local(store, 'pro', null)
        const expected = new Local(sound, 'pro', null)
        expect(await told.events(key)).toEqual(await expected.events(key))
        await expect(store.tickers()).rejects.toThrow(Damaged)
        expect(await told.tickers()).toEqual(await expected.tickers())
      }
      const lacking = await opened(await edit("DELETE FROM tickers WHERE ticker = 'SIM0001'"))
      await expect(lacking.tickers()).rejects.toThrow('SIM0001: its bars are missing')
    })
  })
}

/** By a verification, and by the question that comes upon it, which is told what mends it. */
async function expectFound(store: Store, found: string, question: Question): Promise<void> {
  expect((await store.verify()).map(({ ticker, what }) => `${ticker}: ${what}`)).toContain(found)
  const error = await question(store).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(Damaged)
  expect((error as Damaged).message).toContain(
    `${store.location} is damaged: ${found}; mend that, or put a backup in its place`,
  )
  expect((error as Damaged).remedy).not.toBeNull()
}

/** By a question of many series at once, of whose outcomes nothing is asked. */
async function expectFoundAmongMany(store: Store, found: string): Promise<void> {
  const tickers = WORLD.map(({ ticker }) => ticker).sort()
  const query = { tickers, fields: ['rsi_zone', 'macd_state'], timeframe: 'daily' } as const
  await expect(now(new Local(store, 'pro', null), query)).rejects.toThrow(found)
}

/** Where many tickers are read in turn: after those before it. */
async function expectToldInItsTurn(store: Store, found: string): Promise<void> {
  const tickers = ['SIM0002', 'SIM0002', 'SIM0001', 'SIM0002']
  const read: string[] = []
  const reading = async (): Promise<void> => {
    const query = { tickers, timeframe: 'daily', fields: ['rsi_zone'], outcomes: true } as const
    for await (const series of store.series(query)) read.push(series!.entry.ticker)
  }
  await expect(reading()).rejects.toThrow(found)
  expect(read).toEqual(tickers.slice(0, 2))
}

/** By what its message names, until a verification finds nothing. */
async function expectMended(importer: Importer): Promise<void> {
  const { store } = importer
  for (let left = 4, found = await store.verify(); found.length > 0; found = await store.verify()) {
    await mended(importer, found[0]!).catch(ofAnother)
    expect(left--, JSON.stringify(found)).toBeGreaterThan(0)
  }
}

/** Does what is said to mend a damage. */
async function mended(importer: Importer, { ticker, mend }: Damage): Promise<unknown> {
  const [one, two] = WORLD
  const facts = [one!, two!].flatMap(of => of.facts).filter(of => of.ticker === ticker)
  if (mend?.command === 'remove') return importer.remove(mend.words![0]!)
  if (mend?.command === 'rebuild') return importer.rebuild()
  if (mend?.words?.[0] === 'FACTS.csv') return importer.putFacts(facts, SOURCE, { replace: true })
  return importer.put([sourced(one!)], { replace: true })
}

/** What was mended is written; what stands on it waits until everything else is. */
function ofAnother(error: unknown): void {
  expect(error).toBeInstanceOf(Damaged)
}

export function writer(): Writer {
  return { pid: process.pid, host: 'here', started: new Date().toISOString() }
}
