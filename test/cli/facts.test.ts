import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { FIELDS } from '../../src/core/fields/index.js'
import { DEFINITIONS_VERSION } from '../../src/core/model/definitions.js'
import { FACT_COLUMNS, FACT_KINDS, type FactKind } from '../../src/core/model/facts.js'
import { openSqlite } from '../../src/data/store/sqlite/data.js'
import { firstInQuick, notInQuick } from '../support/full.js'
import { BARS, expectEnd, importBundledBars, type Lent, type Ran, scratch, typed, unpainted } from './support/run.js'

const folder = scratch()
const SIMULATED = 'simulate 6 --bars 420 --end 2018-05-11'
const FUNDAMENTAL = FIELDS.filter(field => field.needs !== 'bars').map(field => field.name)

/** Two records of each kind, in the project's own form, dated before the newest bar of AAPL in the bundled data. */
const ROWS: Readonly<Record<FactKind, readonly [string, string]>> = {
  reports: ['2017-09-30,2017-11-02,post,2.07,52579000000,26.15,bars', '2017-12-30,2018-02-01,,3.89,88293000000,27.6,'],
  earnings: ['2017-11-02,post,1.87,2.07', '2018-02-01,pre,3.86,3.89'],
  schedule: ['2018-02-01,2018-01-02', '2018-05-01,2018-04-03'],
  ratings: ['2018-01-10,pre,10,15,8,1,0', '2018-02-05,,9,14,10,1,0'],
  grades: ['2018-01-11,pre,Some Bank,Buy', '2018-01-12,,Other Bank,Hold'],
  insiders: ['2018-02-07,post,A Director,sell,1000,160000', '2018-02-08,,B Director,buy,10,'],
  splits: ['2014-06-09,7', '2005-02-28,2'],
  securities: ['Technology,stock,790000000000,Apple Inc.,,,', ',,800000000000,,,,'],
}

let database = 0
beforeEach(() => {
  database++
})
afterAll(folder.remove)

const ask = (line: string, lent: Lent = {}): Promise<Ran> =>
  typed(line, { ...lent, env: { BANDS_DB: folder.file(`${database}.db`), ...lent.env } })
const document = async (line: string, lent: Lent = {}) => JSON.parse((await ask(`${line} --json`, lent)).out)
const write = (name: string, text: string | Buffer): string => {
  writeFileSync(folder.file(name), text)
  return folder.file(name)
}

function tableOf(kind: FactKind, ticker = 'AAPL', rows: readonly string[] = ROWS[kind]): string {
  const names = ['ticker', ...FACT_COLUMNS[kind].map(({ name }) => name)].join(',')
  return [names, ...rows.map(row => `${ticker},${row}`)].map(line => `${line}\n`).join('')
}

function recordFolder(name: string, ticker = 'AAPL'): string {
  mkdirSync(folder.file(name), { recursive: true })
  for (const kind of FACT_KINDS) write(`${name}/${kind}.csv`, tableOf(kind, ticker))
  return folder.file(name)
}

const csvRows = (text: string): Record<string, string>[] => {
  const [names = [], ...lines] = text
    .trimEnd()
    .split('\n')
    .map(line => line.split(','))
  return lines.map(values => Object.fromEntries(values.map((value, i) => [names[i]!, value])))
}

describe('bands import of facts', () => {
  test.each(firstInQuick(FACT_KINDS, 3))('takes a file of %s, and changes nothing the second time', async kind => {
    const file = write(`${kind}.csv`, tableOf(kind))
    const sheet = async () => (await document(`import ${file}`)).files[0].facts[0]
    const first = await sheet()
    expect(first).toMatchObject({ ticker: 'AAPL', kind, replaced: 0 })
    expect(first.records).toBe(kind === 'securities' ? 1 : 2)
    expect(await sheet()).toEqual({ ...first, added: 0, unchanged: 2 })
    expect((await document('facts AAPL')).kinds).toMatchObject([{ kind, records: first.records, files: [file] }])
  })

  test('takes a folder, compressed files and standard input', async () => {
    const { files } = await document(`import ${recordFolder('whole')}`)
    expect(files.map(({ facts }: { facts: { kind: string }[] }) => facts[0]!.kind).sort()).toEqual(
      [...FACT_KINDS].sort(),
    )
    const packed = write('packed.csv.gz', gzipSync(tableOf('earnings', 'ZIP')))
    expect((await ask(`import ${packed}`)).code).toBe(0)
    expect((await ask('import -', { stdin: tableOf('earnings', 'PIPE') })).code).toBe(0)
    expect((await document('facts ZIP')).records).toHaveLength(2)
    expect((await document('facts PIPE')).kinds[0].files).toEqual(['-'])
  })

  test('takes the ticker and the day missing in a file from --ticker and --layout', async () => {
    const file = write('counts.csv', 'strong_buy,buy,hold,sell,strong_sell\n1,2,3,4,5\n')
    expect((await ask(`import ${file}`)).code).toBe(5)
    expect((await ask(`import ${file} --ticker abc`)).code).toBe(5)
    expect((await ask(`import ${file} --ticker abc --layout "known 2018-02-30"`)).code).toBe(2)
    expect((await ask(`import ${file} --ticker abc --layout "known 2018-02-28"`)).code).toBe(0)
    expect((await document('facts ABC')).records).toMatchObject([{ known: '2018-02-28', usable_from: '2018-03-01' }])
  })
})

describe('bands facts', () => {
  let loaded: Buffer
  beforeAll(async () => {
    const db = folder.file('asked.db')
    await importBundledBars(db)
    await ask(`import ${recordFolder('asked')} --db ${db}`)
    loaded = readFileSync(db)
  })
  beforeEach(() => writeFileSync(folder.file(`${database}.db`), loaded))

  test('lists the kinds at a glance, and hints at the records', async () => {
    const { out, err } = await ask('facts aapl', { terminal: 120 })
    const text = unpainted(out)
    expect(text).toContain('Apple Inc.')
    for (const kind of FACT_KINDS)
      expect(text).toMatch(new RegExp(`^${kind} +${kind === 'securities' ? 1 : 2}\\b`, 'm'))
    expect(unpainted(err)).toContain('next: bands facts AAPL --kind reports')
  })

  test.each(firstInQuick(FACT_KINDS, 3))('shows the %s in a table, JSON, NDJSON and CSV alike', async kind => {
    const { records } = await document(`facts AAPL --kind ${kind}`)
    expect(records).toHaveLength(kind === 'securities' ? 1 : 2)
    const ndjson = (await ask(`facts AAPL --kind ${kind} --ndjson`)).out.trimEnd().split('\n')
    expect(ndjson.map(line => JSON.parse(line))).toEqual(
      records.map((record: object) => ({ ticker: 'AAPL', ...record })),
    )
    const text = unpainted((await ask(`facts AAPL --kind ${kind}`, { terminal: 200 })).out)
    const [first] = csvRows((await ask(`facts AAPL --kind ${kind} --csv`)).out)
    for (const { name, holds } of FACT_COLUMNS[kind]) {
      expect(first![name], name).toBe(String(records[0][name] ?? ''))
      expect(text, name).toContain(name.replaceAll('_', ' ').toUpperCase())
      const shown = records[0][name] ?? '-'
      if (holds === 'date' || holds === 'text') expect(text, name).toContain(String(shown))
    }
  })

  test('shows the newest first, as many as --limit, and counts the older', async () => {
    const text = unpainted((await ask('facts AAPL --kind ratings --limit 1', { terminal: 120 })).out)
    expect(text).toContain('2018-02-05')
    expect(text).not.toContain('2018-01-10')
    expect(text).toContain('1 older record: --limit 2')
    expect((await ask('facts AAPL --kind ratings --limit 0')).code).toBe(2)
  })

  test('knows no word that is no kind, and no ticker that has neither bars nor facts', async () => {
    expect(await ask('facts AAPL --kind report')).toMatchObject({
      code: 2,
      err: expect.stringContaining('Did you mean "reports"?'),
    })
    const unknown = await ask('facts AAPLE')
    expect(unknown.code).toBe(3)
    expect(unknown.err).toContain('no bars and no facts for "AAPLE". Did you mean "AAPL"?')
    expect(unknown.err).toContain('bands facts AAPL')
  })

  test('says of a ticker with bars alone that no facts are known', async () => {
    const { code, err } = await ask('facts GSPC')
    expect(code).toBe(0)
    expect(err).toContain('no facts of GSPC are known; bands import FILE loads facts.')
    expect(await document('facts GSPC')).toMatchObject({ security: null, counted: false, kinds: [], records: [] })
  })

  test('refuses a ticker of another asset class than the one that is stored, unless it is to start again', async () => {
    const first = write('first.csv', 'ticker,sector,asset_class\nNEW,Energy,stock\nOLD,Energy,\n')
    expect((await ask(`import ${first}`)).code).toBe(0)
    const other = write('other.csv', 'ticker,asset_class\nOLD,etf\nNEW,etf\n')
    const what = `NEW is of class stock by ${first}, and of class etf by this file`
    expectEnd(await ask(`import ${other}`), 5, `${what}; --replace starts its securities again from this file`)
    expect(await document('facts OLD')).toMatchObject({ security: { asset_class: null } })
    // What the file leaves open contradicts nothing.
    expect((await ask(`import ${write('open.csv', 'ticker,asset_class,name\nNEW,,New\n')}`)).code).toBe(0)
    expect(await document('facts NEW')).toMatchObject({ security: { asset_class: 'stock', name: 'New' } })
    expect((await ask(`import ${other} --replace`)).code).toBe(0)
    expect(await document('facts NEW')).toMatchObject({ security: { asset_class: 'etf' } })
  })

  test('shows a figure as filed, and explain divides it by the split', async () => {
    const quarters = [
      '2013-03-30,2013-04-24',
      '2013-06-29,2013-07-24',
      '2013-09-28,2013-10-30',
      '2013-12-28,2014-01-28',
    ]
    const rows = quarters.map(dates => `${dates},,14,40000000000,,filed`)
    expect((await ask(`import ${write('filed.csv', tableOf('reports', 'AAPL', rows))}`)).code).toBe(0)
    const { records } = await document('facts AAPL --kind reports')
    expect(records[0]).toMatchObject({ eps: 14, basis: 'filed' })
    const { readings } = await document('explain AAPL pe_vs_historical 2014-03-03')
    const quarter = readings.find(({ name }: { name: string }) => name === 'eps_q1')
    expect(quarter.value).toBe(2)
    expect(quarter.note).toMatch(/quarter ended 2013-12-28, known on 2014-01-28.*divided by 7: split of 2014-06-09/)
  })

  test('are gone with their ticker', async () => {
    expect((await ask('remove AAPL')).code).toBe(0)
    expect((await ask('facts AAPL')).code).toBe(3)
    await ask(`import ${BARS}/AAPL.csv`)
    expect((await document('facts AAPL')).records).toEqual([])
  })

  test('are taken out of a ticker that has no bars, too', async () => {
    await ask(`import ${write('bare.csv', tableOf('earnings', 'BARE'))}`)
    expect((await document('facts BARE')).records).toHaveLength(2)
    expect((await ask('remove BARE')).code).toBe(0)
    expect((await ask('facts BARE')).code).toBe(3)
  })
})

test('a tally of the sample has a group for each sector, and one without', async () => {
  const asked = async (line: string) => JSON.parse((await typed(`${line} --json`)).out)
  const line = 'tally rsi_zone --all --band oversold'
  type Groups = { group: string | null; events: number }[]
  const groups = async (by: string): Promise<Groups> => (await asked(`${line} --by ${by}`)).groups
  const { tickers } = await asked('status')
  const sectors = Map.groupBy(tickers as { ticker: string; sector: string | null }[], ({ sector }) => sector)
  expect(sectors.size).toBe(2)
  const byTicker = await groups('ticker')
  for (const { group, events } of await groups('sector')) {
    const own = sectors.get(group)!.map(({ ticker }) => ticker)
    const counted = byTicker.filter(({ group }) => own.includes(group!))
    expect(events).toBe(counted.reduce((sum, { events }) => sum + events, 0))
  }
})

describe('a simulated sector', () => {
  const dbs = { loaded: folder.file('loaded.db'), imported: folder.file('imported.db') }
  const world = (line: string, which: keyof typeof dbs = 'loaded', lent: Lent = {}): Promise<Ran> =>
    typed(line, { ...lent, env: { BANDS_DB: dbs[which] } })
  const told = async (line: string, which: keyof typeof dbs = 'loaded') =>
    JSON.parse((await world(`${line} --json`, which)).out)
  const facts = folder.file('simulated')

  beforeAll(async () => {
    expect((await world(`${SIMULATED} --load`)).code).toBe(0)
    const { out, code } = await world(`${SIMULATED} --facts ${facts}`)
    expect(code).toBe(0)
    write('simulated.csv', out)
    expect((await world(`import ${folder.file('simulated.csv')} ${facts}`, 'imported')).code).toBe(0)
  })

  notInQuick('answers the same from its files as loaded at once', async () => {
    expect(readdirSync(facts)).toContain('reports.csv')
    for (const line of ['export events --csv', 'now SIM0001 --csv', 'tally pe_vs_sector --all --csv'])
      expect((await world(line, 'imported')).out, line).toBe((await world(line)).out)
    const records = async (which: keyof typeof dbs) =>
      (await told('facts SIM0003', which)).records.map(
        ({ file, format, imported_at, ...record }: object & Source) => record,
      )
    expect(await records('imported')).toEqual(await records('loaded'))
  })

  test.each(['loaded', 'imported'] as const)('is verified to the last event, when %s', async which => {
    // Questions asked before may have made a trial log.
    expect((await world('verify --deep', which)).out).toMatch(
      /^6 tickers(, the trial log \(\d+ rows\))? checked, every event derived again: all as it was written\n$/,
    )
  })

  test('has every fundamental field in now, export events and export series', async () => {
    const { states } = await told('now SIM0001')
    for (const name of FUNDAMENTAL) {
      const state = states.find(({ field }: { field: string }) => field === name)
      expect(FIELDS.find(field => field.name === name)!.bands, name).toContain(state.band)
    }
    const fields = new Set(csvRows((await world('export events --csv')).out).map(row => row.field))
    for (const name of FUNDAMENTAL) expect(fields, name).toContain(name)
    const bars = csvRows((await world('export series --tickers SIM0001 --timeframe daily --csv')).out)
    expect(bars).toHaveLength(420)
    for (const name of FUNDAMENTAL) {
      const state = states.find(({ field }: { field: string }) => field === name)
      expect(bars.findLast(bar => bar[name] !== '')?.[name], name).toBe(state.band)
    }
  })

  test('is explained by its reports, its peers and the rule', async () => {
    const [event] = (await told('events SIM0001 pe_vs_sector --limit 1')).events
    const found = await told(`explain SIM0001 pe_vs_sector ${event.date}`)
    expect(found).toMatchObject({ band: event.band, event: { prev_band: event.prev_band } })
    const noted = Object.fromEntries(
      found.readings.map(({ name, note }: { name: string; note: string | null }) => [name, note]),
    )
    for (const name of ['eps_q1', 'eps_q2', 'eps_q3', 'eps_q4'])
      expect(noted[name]).toMatch(
        /^quarter ended \d{4}-\d\d-\d\d, known on \d{4}-\d\d-\d\d, counted from \d{4}-\d\d-\d\d/,
      )
    expect(found.readings).toContainEqual(expect.objectContaining({ name: 'peers', value: 5 }))
    const text = unpainted((await world(`explain SIM0001 pe_vs_sector ${event.date}`, 'loaded', { terminal: 80 })).out)
    expect(text).toContain(noted.eps_q1.slice(0, 24))
  })

  test('leaves fundamental fields out of now while an import of facts is not finished', async () => {
    await ask(`${SIMULATED} --load`)
    const store = openSqlite(folder.file(`${database}.db`), { readonly: false })
    await store.write({ unsettled: ['ticker SIM0001'] }, DEFINITIONS_VERSION)
    await store.close()
    const { states, omitted } = await document('now SIM0001')
    expect(states).toHaveLength(9)
    expect(omitted).toHaveLength(12)
    const line = 'each waits for an import to be finished (bands status)'
    expect((await ask('now SIM0001')).out).toContain(line)
    expect((await ask('changes')).out).toContain(line)
    expect((await ask('changes --csv -q')).err).toContain(line)
    const field = 'growth_zone'
    const named = ['events', 'tally', 'transitions', 'explain', 'show', 'study'].map(name => `${name} SIM0001 ${field}`)
    const doors = [
      ...named,
      `backtest SIM0001 --when "${field} = stable" --hold 5`,
      `sweep SIM0001 --field ${field}`,
      `screen "${field} = stable"`,
      `changes --field ${field}`,
      `changes --when "${field} = stable" --since 2010-01-01`,
      `now SIM0001 --field ${field}`,
      ...['events', 'series'].flatMap(what => [`export ${what}`, `export ${what} --field ${field}`]),
      `check lookahead SIM0001 --field ${field}`,
    ]
    for (const line of doors) expectEnd(await ask(line), 8, 'waits for an import to be finished')
    expect((await ask('status')).out).toContain('bands rebuild finishes it')
    expectEnd(await ask('remove NOTHING'), 3, 'finished what a killed import had left: derived the fields of 1 ticker')
    expect((await document('now SIM0001')).states).toHaveLength(21)
    expect((await ask('remove NOTHING')).err).not.toContain('finished')
  })

  test('refuses --facts with --load', async () => {
    expect(await world(`${SIMULATED} --load --facts ${folder.file('no')}`)).toMatchObject({ code: 2 })
  })
})

interface Source {
  file: string
  format: string
  imported_at: string
}
