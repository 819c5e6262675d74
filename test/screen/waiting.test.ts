import { expect, it, onTestFinished } from 'vitest'
import { BandsClient } from '../../src/client.js'
import { Busy } from '../../src/errors.js'
import { BUILT_IN, FIELDS } from '../../src/fields/index.js'
import { Local } from '../../src/local/local.js'
import { DEFINITIONS_VERSION } from '../../src/model/definitions.js'
import type { Tier } from '../../src/model/terms.js'
import { parseChanges } from '../../src/params/questions.js'
import { changes } from '../../src/screen/screen.js'
import { simulatedTickers } from '../../src/simulate/simulate.js'
import type { Lists, Mark } from '../../src/source.js'
import { openSqliteLists } from '../../src/store/sqlite/lists.js'
import type { Store } from '../../src/store/store.js'
import { loadedStore, temporaryFolder } from '../support/store.js'

const END = 20_000
const BEGIN = END - 60
const TICKERS = [...simulatedTickers({ count: 5, bars: 700, seed: 11, end: END })]
const NAMES = TICKERS.map(({ ticker }) => ticker)
const { fields: _all, ...QUERY } = parseChanges({ since: 'last' }, BUILT_IN)
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
  const marks = await lists.seen('')
  const local = new Local(store, tier ?? null, day)
  const { found, marks: next } = await changes(local, { ...QUERY, tickers, since: day - 1, marks })
  await lists.see('', next)
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
  const begun = await lists.seen('')
  expect(first).not.toHaveProperty('omitted')
  await waits('ticker SIM0001', SINCE)
  const during = []
  for (const day of [BEGIN + 20, BEGIN + 40]) during.push(await last(store, lists, { day }))
  const why = 'waits for an import to be finished since 2024-01-02T03:04:05.000Z'
  for (const { omitted } of during) expect(omitted).toEqual(ON_FACTS.map(field => ({ field, why })))
  await waits()
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
  const marks = await lists.seen('')
  expect(marks.filter(({ field }) => field !== undefined)).toEqual([])
  const names = found.flatMap(({ changes }) => changes.map(nameOf))
  expect(new Set(names).size).toBe(names.length)
  const begin = marks.map(mark => ({ ...mark, day: BEGIN + 7 }))
  const missing = (await all(store, begin)).filter(name => !names.includes(name))
  expect(missing).toEqual([])
})

it('the library answers now without the fields that wait, and refuses one that is named', async () => {
  const { store, waits } = await loaded()
  await waits('ticker SIM0001')
  const local = new Local(store, null, null)
  const client = new BandsClient({ local, bands: local as never }, {})
  const found = await client.now({ tickers: NAMES })
  expect(found.omitted?.map(({ field }) => field)).toEqual(ON_FACTS)
  expect(new Set(found.states.map(({ field }) => field)).size).toBe(FIELDS.length - ON_FACTS.length)
  await expect(client.now({ tickers: ['SIM0001'], fields: [ON_FACTS[0]!] })).rejects.toThrow(Busy)
  await waits()
  expect(await client.now({ tickers: NAMES })).not.toHaveProperty('omitted')
})
