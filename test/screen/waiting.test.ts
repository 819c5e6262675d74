import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { BandsClient } from '../../src/app/client.js'
import { Busy, wordsAsText } from '../../src/core/errors.js'
import { BUILT_IN_FIELDS, FIELDS } from '../../src/core/fields/index.js'
import { DEFINITIONS_VERSION } from '../../src/core/model/definitions.js'
import type { Tier } from '../../src/core/model/terms.js'
import { parseChanges } from '../../src/core/params/questions.js'
import type { Lists, Mark } from '../../src/core/source.js'
import type { Importer } from '../../src/data/load/import.js'
import { databaseChecks } from '../../src/data/local/doctor.js'
import { Local } from '../../src/data/local/local.js'
import { status } from '../../src/data/local/status.js'
import { simulatedTickers } from '../../src/data/simulate/simulate.js'
import { openSqlite } from '../../src/data/store/sqlite/data.js'
import { openSqliteLists } from '../../src/data/store/sqlite/lists.js'
import type { Store } from '../../src/data/store/store.js'
import { changes } from '../../src/research/screen/screen.js'
import { emptyImporter, importerOf, loadedStore, sourced, temporaryFolder } from '../support/store.js'

const END = 20_000
const BEGIN = END - 60
const TICKERS = [...simulatedTickers({ count: 5, bars: 700, seed: 11, end: END })]
const NAMES = TICKERS.map(({ ticker }) => ticker)
const { fields: _all, ...QUERY } = parseChanges({ since: 'last' }, BUILT_IN_FIELDS)
const ON_FACTS = FIELDS.filter(({ needs }) => needs !== 'bars').map(({ name }) => name)
const BY_SECTOR = FIELDS.filter(({ needs }) => needs === 'sector').map(({ name }) => name)

const nameOf = (one: { date: string; ticker: string; timeframe: string; field: string }): string =>
  `${one.date} ${one.ticker} ${one.timeframe} ${one.field}`

interface Night {
  day: number
  tickers?: readonly string[]
  tier?: Tier
}

/** What an answer of `--since last` reports on a day. */
async function last(store: Store, lists: Lists, { day, tickers = NAMES, tier }: Night) {
  const marks = await lists.readMarks('')
  const local = new Local(store, tier ?? null, day)
  const { found, marks: next } = await changes(local, { ...QUERY, tickers, since: day - 1, marks })
  await lists.saveMarks('', next)
  return found
}

/** All changes on bars after some marks. */
async function all(store: Store, marks: readonly Mark[]): Promise<string[]> {
  const { found } = await changes(new Local(store, null, END), { ...QUERY, tickers: NAMES, since: END, marks })
  return found.changes.map(nameOf).sort()
}

async function loaded(): Promise<{ store: Store; lists: Lists; waits: (...keys: string[]) => Promise<void> }> {
  const store = await loadedStore(TICKERS)
  const lists = openSqliteLists(`${temporaryFolder()}/bands.lists.db`)
  onTestFinished(async () => {
    await lists.close()
    await store.close()
  })
  return { store, lists, waits: (...keys) => store.write({ unsettled: keys }, DEFINITIONS_VERSION) }
}

const SINCE = 'since 2024-01-02T03:04:05.000Z'

it('an answer of --since last leaves out fields that wait, names them, and reports their changes the next time', async () => {
  const { store, lists, waits } = await loaded()
  const first = await last(store, lists, { day: BEGIN })
  const begun = await lists.readMarks('')
  expect(first).not.toHaveProperty('omitted')
  await waits('ticker SIM0001', SINCE)
  const during = []
  for (const day of [BEGIN + 20, BEGIN + 40]) during.push(await last(store, lists, { day }))
  const why = 'waits for an import to be finished since 2024-01-02T03:04:05.000Z'
  for (const { omitted } of during) expect(omitted).toEqual(ON_FACTS.map(field => ({ field, why })))
  const since = SINCE.slice('since '.length)
  expect((await status(new Local(store, null, null))).unfinished_since).toBe(since)
  const imports = databaseChecks(store.location).find(({ name }) => name === 'imports')!
  expect([imports.outcome, wordsAsText(imports.detail)]).toEqual(['warn', expect.stringContaining(`since ${since}`)])
  await waits()
  expect(await status(new Local(store, null, null))).not.toHaveProperty('unfinished_since')
  const after = await last(store, lists, { day: END })
  expect(after).not.toHaveProperty('omitted')
  const found = [...during, after].flatMap(({ changes }) => changes.map(nameOf))
  const expected = await all(store, begun)
  expect(expected.filter(name => ON_FACTS.some(field => name.endsWith(` ${field}`))).length).toBeGreaterThan(20)
  expect(found.toSorted()).toEqual(expected)
  expect((await last(store, lists, { day: END })).changes).toEqual([])
})

it('the first answer, one to a tier, and a ticker that is new lose no change of a field that is left out', async () => {
  const { store, lists, waits } = await loaded()
  await waits('sector Technology')
  const [begun, ...late] = NAMES as [string, ...string[]]
  const found = [await last(store, lists, { day: BEGIN, tickers: [begun] })]
  expect(found[0]!.omitted!.map(({ field }) => field)).toEqual(BY_SECTOR)
  found.push(await last(store, lists, { day: BEGIN + 10, tier: 'free' }))
  expect(found[1]).not.toHaveProperty('omitted')
  await waits('ticker SIM0001')
  found.push(await last(store, lists, { day: BEGIN + 30, tickers: late }))
  await waits()
  found.push(await last(store, lists, { day: END }))
  const marks = await lists.readMarks('')
  expect(marks.filter(({ field }) => field !== undefined)).toEqual([])
  const names = found.flatMap(({ changes }) => changes.map(nameOf))
  expect(new Set(names).size).toBe(names.length)
  const begin = marks.map(mark => ({ ...mark, day: BEGIN + 7 }))
  const missing = (await all(store, begin)).filter(name => !names.includes(name))
  expect(missing).toEqual([])
})

const WRITERS: readonly ((importer: Importer) => Promise<unknown>)[] = [
  importer => importer.remove('NOTHING'),
  async () => {},
  importer => importer.removeAfter('NOTHING', BEGIN),
  importer => importer.rebuild(),
  importer => importer.rename('NOTHING', 'ELSE'),
]

it('an import of facts that dies at any write is finished by the next writer, and no change is lost', async () => {
  const folder = temporaryFolder()
  const before = await emptyImporter(folder)
  await before.put(TICKERS.map(sourced))
  const begun = openSqliteLists(join(folder, 'bands.lists.db'))
  await last(before.store, begun, { day: BEGIN })
  await begun.close()
  await before.close()
  let left = 0
  for (let dies = 1; ; dies++) {
    const here = temporaryFolder()
    for (const name of ['bands.db', 'bands.lists.db']) copyFileSync(join(folder, name), join(here, name))
    const lists = openSqliteLists(join(here, 'bands.lists.db'))
    const marks = await lists.readMarks('')
    const died = await importDying(here, dies)
    const waited = dies > 1
    const store = openSqlite(join(here, 'bands.db'), { readonly: false })
    const told = [await last(store, lists, { day: END })]
    const importer = await importerOf(store)
    if (died) await WRITERS[dies % WRITERS.length]!(importer)
    await importer.close()
    expect(importer.finished !== null, `at write ${dies}`).toBe(died && waited)
    const after = openSqlite(join(here, 'bands.db'), { readonly: true })
    told.push(await last(after, lists, { day: END }))
    expect(told.map(({ omitted }) => omitted !== undefined)).toEqual([died && waited, false])
    const names = told.flatMap(({ changes }) => changes.map(nameOf))
    expect(names.sort(), `at write ${dies}`).toEqual(await all(after, marks))
    await after.close()
    await lists.close()
    left += told[1]!.changes.length
    if (!died) break
    expect(dies).toBeLessThan(100)
  }
  expect(left).toBeGreaterThan(50)
})

/** Imports facts, and dies at a write, counted from 1; false where there are not as many. */
async function importDying(folder: string, dies: number): Promise<boolean> {
  const store = openSqlite(join(folder, 'bands.db'), { readonly: false })
  let writes = 0
  const write: Store['write'] = async (batch, definitions) => {
    if (++writes >= dies) throw new Error('killed')
    await store.write(batch, definitions)
  }
  const importer = await importerOf(Object.assign(Object.create(store) as Store, { write }))
  const facts = TICKERS.flatMap(ticker => ticker.facts)
  const died = await importer.putFacts(facts, { file: 'facts', format: 'simulated' }).then(
    () => false,
    () => true,
  )
  await importer.close()
  return died
}

it('the library answers now without the fields that wait, and refuses one that is named', async () => {
  const { store, waits } = await loaded()
  await waits('ticker SIM0001')
  const local = new Local(store, null, null)
  const client = new BandsClient({ local, bands: local as never }, {})
  const found = await client.now({ tickers: NAMES })
  expect(found.omitted?.map(({ field }) => field)).toEqual(ON_FACTS)
  expect(new Set(found.states.map(({ field }) => field)).size).toBe(FIELDS.length - ON_FACTS.length)
  await expect(client.now({ tickers: ['SIM0001'], field: [ON_FACTS[0]!] })).rejects.toThrow(Busy)
  await waits()
  expect(await client.now({ tickers: NAMES })).not.toHaveProperty('omitted')
})
