import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FACT_KINDS, type FactRecord, type Facts } from '../../src/core/model/facts.js'
import { Random } from '../../src/core/statistics/random.js'
import { readFile } from '../../src/data/feeds/read.js'
import { Importer } from '../../src/data/load/import.js'
import { openSqlite } from '../../src/data/store/sqlite/data.js'
import { draws } from '../support/full.js'
import { randomFacts } from '../support/random-facts.js'
import { expectRefusal, scratch, typed } from './support/run.js'

const folder = scratch()
const TICKERS = ['AAPL', 'BRK.B', 'X^Y', '=F']

test('exported facts of every kind are imported again as the same records in the same order', async () => {
  for (let seed = 1; seed <= draws(20); seed++) {
    const from = folder.file(`from-${seed}.db`)
    const to = folder.file(`to-${seed}.db`)
    // Twice, so that figures are restated.
    for (const round of [0, 1]) await put(from, seed, round)
    const out = folder.file(`facts-${seed}`)
    const exported = await typed(`export facts --write ${out} --db ${from}`)
    expect(exported.code, exported.err).toBe(0)
    const imported = await typed(`import ${out} --db ${to}`)
    expect(imported.code, `${seed}: ${imported.err}`).toBe(0)
    expect(await recordsIn(to), `${seed}`).toEqual(await recordsIn(from))
  }
})

test('no text of exported facts is a formula to a spreadsheet, and each is imported as it was', async () => {
  const names = ['=1+1', '+cmd', '-1 A', '@B', "'=2+2", "''@", "'plain", '-1.5', "'", '=HYPERLINK("http://x","a")']
  const rows = names.map((name, i) => ({ ticker: `T${i}`, asset_class: 'stock', sector: null, market_cap: null, name }))
  const file = folder.file('named.json')
  const from = folder.file('named.db')
  const store = openSqlite(from, { readonly: false })
  const importer = await Importer.begin(store, readFile, { pid: process.pid, host: 'here', started: '0' })
  for (const { ticker, ...security } of rows)
    await importer.putFacts(
      [{ ticker, kind: 'securities', records: [security as FactRecord] }],
      { file, format: 'x' },
      {},
    )
  await importer.close()
  for (const words of ['', '--csv-raw']) {
    const out = folder.file(`named${words}`)
    const to = folder.file(`named${words}-to.db`)
    await typed(`export facts --write ${out} --db ${from} ${words}`)
    const text = readFileSync(join(out, 'securities.csv'), 'utf8')
    expect(/(^|,)"?[=+@]/m.test(text)).toBe(words !== '')
    if (words !== '') continue
    expect((await typed(`import ${out} --db ${to}`)).code).toBe(0)
    expect(await recordsIn(to)).toEqual(await recordsIn(from))
  }
})

test('a folder of exported facts is whole or not there, and never mixed with another', async () => {
  const db = folder.file('one.db')
  await typed(`simulate 2 --bars 300 --load --db ${db}`)
  const out = folder.file('whole')
  mkdirSync(out)
  const ran = await typed(`export facts --tickers SIM0002 --write ${out} --db ${db}`)
  expect([ran.code, ran.out]).toEqual([0, ''])
  expect(ran.err).toMatch(/^wrote [\d,]+ records in \d files to /)
  expect(readdirSync(out)).toContain('reports.csv')
  expect(readFileSync(join(out, 'reports.csv'), 'utf8')).not.toContain('SIM0001')
  expectRefusal(await typed(`export facts --write ${out} --db ${db}`), 2, 'is there and not empty')
  expectRefusal(await typed(`export facts --db ${db}`), 2, 'name a folder with --write')
  expectRefusal(
    await typed(`export facts --write ${folder.file('x')} --field rsi_zone --db ${db}`),
    2,
    'facts are written whole',
  )
  expectRefusal(await typed(`export facts --write ${folder.file('x')} --json --db ${db}`), 2, 'are written as CSV')
  expectRefusal(
    await typed(`export facts --write ${folder.file('x')} --tickers NONE --db ${db}`),
    3,
    'no facts for "NONE"',
  )
  expect(existsSync(folder.file('x'))).toBe(false)
  expect(readdirSync(folder.path).filter(name => name.includes('partial'))).toEqual([])
})

async function put(db: string, seed: number, round: number): Promise<void> {
  const random = new Random(seed)
  const store = openSqlite(db, { readonly: false })
  const importer = await Importer.begin(store, readFile, { pid: process.pid, host: 'here', started: `${round}` })
  for (const ticker of TICKERS) {
    const facts = randomFacts(random, 15_000, 17_000, {
      price: 100,
      basis: 'mixed',
      round: seed % 2 === 0,
      losses: 0.2,
    })
    const restated = round === 0 ? facts : { ...facts, reports: facts.reports.map(report => ({ ...report, eps: 1.5 })) }
    const given = FACT_KINDS.flatMap(kind =>
      kind === 'securities' ? [] : [{ ticker, kind, records: possible(restated, kind) as FactRecord[] }],
    )
    const security = { name: `"${ticker}", Inc.`, sector: 'Oil, Gas & more', asset_class: 'stock', market_cap: 1.5e12 }
    await importer.putFacts(
      [...given, { ticker, kind: 'securities', records: [security as FactRecord] }],
      { file: `round ${round}`, format: 'random' },
      {},
    )
  }
  await importer.close()
}

/** What one file may say: a report that was known after its quarter and once, and of one day one result. */
function possible({ reports, earnings, ...others }: Facts, kind: keyof Facts): readonly FactRecord[] {
  if (kind === 'reports') {
    const known = reports.filter(({ known, period_end }) => known >= period_end)
    return [...new Map(known.map(of => [`${of.period_end} ${of.known} ${of.session}`, of])).values()]
  }
  if (kind === 'earnings') return [...new Map(earnings.map(result => [result.report_date, result])).values()]
  return others[kind]
}

async function recordsIn(db: string): Promise<unknown> {
  const store = openSqlite(db, { readonly: true })
  const found: Record<string, unknown> = {}
  for (const ticker of await store.factTickers())
    for (const [kind, sheet] of Object.entries(await store.sheets(ticker)))
      found[`${ticker} ${kind}`] = sheet.rows.map(({ record }) => record)
  await store.close()
  return found
}
