import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, join, relative } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { beforeAll, describe, expect, test } from 'vitest'
import { namedFolder, type Tables, withLockedFolder } from '../../src/app/cli/manifest.js'
import { version } from '../../src/core/built.js'
import { DEFINITIONS_VERSION } from '../../src/core/model/definitions.js'
import type { ExportedEvent } from '../../src/core/model/event.js'
import { bundledBars, expectRefusal, scratch } from './support/run.js'

/** `bands export … --partition-by`: a folder of Parquet files that is brought up to date. */

const { ask, folder } = bundledBars()
const at = (...path: string[]): string => join(folder.path, ...path)
const write = (table: string, out = at('parquet'), more = '', by = 'ticker') =>
  ask(`export ${table} --partition-by ${by} --write ${out} ${more}`)

/** The rows of a question in SQL, with the views of the folder. */
async function sql(question: string, out = at('parquet')): Promise<Record<string, unknown>[]> {
  const instance = await DuckDBInstance.create()
  const connection = await instance.connect()
  await connection.run(`SET file_search_path = '${out}'`)
  for (const view of readFileSync(join(out, 'views.sql'), 'utf8')
    .replace(/^--.*$/m, '')
    .split(';\n'))
    if (view.trim() !== '') await connection.run(view)
  const rows = (await connection.runAndReadAll(question)).getRowObjectsJson()
  connection.closeSync()
  instance.closeSync()
  return rows
}

async function lines(question: string): Promise<Record<string, unknown>[]> {
  const { out } = await ask(question)
  return out
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
}

const filesIn = (table: string, out = at('parquet')): string[] => readdirSync(join(out, table)).sort()
const timesIn = (out: string): Record<string, number> =>
  Object.fromEntries(pathsIn(out).map(path => [path, statSync(join(out, path)).mtimeMs]))

/** The files of a folder, hidden ones too. */
function pathsIn(out: string): string[] {
  const entries = readdirSync(out, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  return entries.map(({ parentPath, name }) => relative(out, join(parentPath, name))).sort()
}

function manifestOf(out: string): { schema: string; tables: Tables } {
  return JSON.parse(readFileSync(join(out, 'manifest.json'), 'utf8'))
}

/** Compares the list of a folder with its files. */
function expectListed(out: string): void {
  const { tables } = manifestOf(out)
  const files = Object.values(tables).flatMap(table => Object.entries(table.files))
  expect(pathsIn(out)).toEqual(
    ['manifest.json', 'manifest.json-writer', 'views.sql', ...files.map(([path]) => path)].sort(),
  )
  for (const [path, { bytes, sha256 }] of files) {
    const content = readFileSync(join(out, path))
    expect([path, content.length, createHash('sha256').update(content).digest('hex')]).toEqual([path, bytes, sha256])
  }
}

beforeAll(async () => {
  for (const table of ['events', 'series', 'bars']) expect((await write(table)).code).toBe(0)
})

describe('bands export --partition-by ticker', () => {
  test('writes a file for each ticker, with the rows of the export', async () => {
    const tickers = [...new Set((await lines('export bars')).map(({ ticker }) => ticker))]
    expect(filesIn('events')).toEqual(tickers.map(ticker => `ticker=${ticker}.parquet`).sort())
    for (const table of ['events', 'series', 'bars']) {
      const [counted] = await sql(`SELECT count(*) AS n FROM ${table}`)
      expect(Number(counted!.n), table).toBe((await lines(`export ${table}`)).length)
    }
  })

  test('has views with the names of JSON', async () => {
    const [first] = await lines('export events --tickers AAPL --field rsi_zone --timeframe daily --band oversold')
    const [row] = await sql(
      `SELECT date, band, prev_band, returns['5d'] AS after, percentiles['5d'] AS percentile,
         aftermath['5d'].performance AS performance FROM events
       WHERE ticker = 'AAPL' AND field = 'rsi_zone' AND timeframe = 'daily' AND band = 'oversold' ORDER BY date LIMIT 1`,
    )
    const { date, band, prev_band, returns, percentiles, aftermath } = first as unknown as ExportedEvent
    const after = { after: returns['5d'], percentile: percentiles['5d'] ?? null }
    const performance = aftermath?.['5d']?.performance ?? null
    expect(row).toMatchObject({ date, band, prev_band, ...after, performance })
  })

  test('writes nothing again where nothing has changed, and one file where one ticker has', async () => {
    const out = at('again')
    await write('bars', out)
    const before = filesIn('bars', out).map(name => statSync(join(out, 'bars', name)).mtimeMs)
    expect((await write('bars', out)).err).toContain(`wrote 0 files with 0 rows to ${out}; 2 had not changed`)
    expect(filesIn('bars', out).map(name => statSync(join(out, 'bars', name)).mtimeMs)).toEqual(before)
    writeFileSync(at('AAPL.csv'), 'date,open,high,low,close,volume\n2018-05-14,189,190,187,188.15,20778800\n')
    expect((await ask(`import ${at('AAPL.csv')} --prices adjusted`)).code).toBe(0)
    expect((await write('bars', out)).err).toContain('wrote 1 file with 1,261 rows')
    expect((await write('events', at('parquet'))).err).toMatch(/wrote \d files? with/)
  })

  test('writes a lost and a cut file again, and takes away that of a removed ticker', async () => {
    const out = at('lost')
    await ask('simulate 1 --bars 100 --load')
    await write('bars', out)
    const [first, second] = filesIn('bars', out)
    rmSync(join(out, 'bars', first!))
    writeFileSync(join(out, 'bars', second!), 'PAR1')
    expect((await write('bars', out)).err).toContain('wrote 2 files')
    await ask('remove SIM0001')
    expect((await write('bars', out)).err).toContain('removed 1 file')
    expect(filesIn('bars', out)).not.toContain('ticker=SIM0001.parquet')
  })

  test('keeps the files of other tickers where some are named', async () => {
    const out = at('named')
    await write('bars', out)
    await write('bars', out, '--tickers AAPL')
    expect(filesIn('bars', out)).toHaveLength(2)
  })

  test('writes every file again for another question', async () => {
    const out = at('asked')
    await write('events', out, '--field rsi_zone')
    expect((await write('events', out, '--field macd_state')).err).toContain('wrote 2 files')
    expect(await sql('SELECT DISTINCT field FROM events', out)).toEqual([{ field: 'macd_state' }])
  })

  test('refuses what it cannot write', async () => {
    const { path } = scratch()
    writeFileSync(join(path, 'mine.txt'), 'x')
    expectRefusal(await write('bars', path), 2, 'is there, and is no folder of such files; name another folder.')
    expect(readdirSync(path)).toEqual(['mine.txt'])
    rmSync(path, { recursive: true })
    expectRefusal(await ask('export bars --partition-by ticker'), 2, 'name it with --write')
    expectRefusal(await write('bars', at('x'), '--csv'), 2, 'files of partitions are Parquet')
    expectRefusal(await write('facts', at('x')), 2, '--partition-by')
    expectRefusal(await write('bars', at('x'), '', 'month'), 2, '"month"')
    expectRefusal(
      await write('bars', at('x'), '--partitions 4', 'year'),
      2,
      'each year is one file; leave --partitions out',
    )
    expectRefusal(await write('bars', at('x'), '--partitions 0'), 2, 'an integer from 1 to 1000')
    expectRefusal(await ask(`export bars --partitions 4 --write ${at('x')}`), 2, 'needs --partition-by ticker')
    expectRefusal(await ask(`export facts --partitions 4 --write ${at('x')}`), 2, 'leave --partitions out')
    expectRefusal(
      await write('bars', at('parquet'), '', 'year'),
      2,
      'has bars by ticker, not by year; name another folder',
    )
    expectRefusal(await write('bars', at('parquet'), '--partitions 4'), 2, 'not by ticker in 4 partitions')
    mkdirSync(at('damaged'))
    writeFileSync(at('damaged', 'manifest.json'), '{')
    expectRefusal(await write('bars', at('damaged')), 5, 'it is not as bands writes it')
    expect(existsSync(at('x'))).toBe(false)
    await write('bars', at('strange'))
    writeFileSync(at('strange', 'bars', 'mine.parquet'), 'x')
    expectRefusal(await write('bars', at('strange')), 2, 'has bars/mine.parquet, which is no file of this export')
    expect(readFileSync(at('strange', 'bars', 'mine.parquet'), 'utf8')).toBe('x')
  })
})

describe('bands export --partition-by year', () => {
  test('puts each row into the year of its date', async () => {
    const out = at('years')
    for (const table of ['events', 'series', 'bars']) {
      expect((await write(table, out, '', 'year')).code).toBe(0)
      const byYear = await sql(
        `SELECT year, count(*) AS n, count(*) FILTER (year(date) <> year) AS others FROM ${table} GROUP BY year ORDER BY year`,
        out,
      )
      const years = Map.groupBy(await lines(`export ${table}`), ({ date }) => String(date).slice(0, 4))
      const expected = [...years].sort().map(([year, own]) => ({ year, n: String(own.length), others: '0' }))
      expect(byYear, table).toEqual(expected)
      expect(filesIn(table, out)).toEqual([...years.keys()].sort().map(year => `year=${year}`))
    }
    expectListed(out)
  })

  test('writes the years again whose rows changed', async () => {
    const out = at('new-year')
    await write('bars', out, '', 'year')
    const before = timesIn(out)
    expect((await write('bars', out, '', 'year')).err).toContain('wrote 0 files with 0 rows')
    expect(timesIn(out)).toEqual(before)
    writeFileSync(at('AAPL.csv'), 'date,open,high,low,close,volume\n2018-05-15,187,188,185,186.44,23695200\n')
    expect((await ask(`import ${at('AAPL.csv')} --prices adjusted`)).code).toBe(0)
    expect((await write('bars', out, '', 'year')).err).toMatch(/wrote 1 file with .*; 10 had not changed/)
    const after = timesIn(out)
    expect(Object.keys(after).filter(path => after[path] !== before[path])).toEqual([
      'bars/year=2018/part.parquet',
      'manifest.json',
    ])
    expect(manifestOf(out).tables.bars).toMatchObject({ as_of: '2018-05-15', partition_by: 'year', partitions: null })
    expect((await write('bars', out, '--before 2015-01-01', 'year')).err).toContain('removed 4 files')
    expect(filesIn('bars', out).at(-1)).toBe('year=2014')
    expectListed(out)
  })
})

describe('bands export --partitions', () => {
  test('puts a ticker into the file of its hash, and changes no other file', async () => {
    const out = at('parts')
    const lent = { env: { BANDS_DB: at('many.db') } }
    await ask('simulate 32 --bars 60 --load', lent)
    const write = () => ask(`export bars --partition-by ticker --partitions 7 --write ${out}`, lent)
    await write()
    const rows = await sql(
      "SELECT DISTINCT ticker, filename AS path FROM read_parquet('bars/*.parquet', filename = true)",
      out,
    )
    expect(rows).toHaveLength(32)
    for (const { ticker, path } of rows) {
      const hash = createHash('sha256').update(String(ticker)).digest().readUInt32BE()
      expect(basename(String(path)), String(ticker)).toBe(`part-${hash % 7}-of-7.parquet`)
    }
    const before = timesIn(out)
    await ask('remove SIM0003', lent)
    expect((await write()).err).toMatch(/wrote 1 file with .*; 6 had not changed/)
    expect(
      Object.entries(timesIn(out)).filter(([path, time]) => time !== before[path] && path.startsWith('bars')),
    ).toHaveLength(1)
    expect(await sql("SELECT count(*) AS n FROM bars WHERE ticker = 'SIM0003'", out)).toEqual([{ n: '0' }])
    expectListed(out)
  })
})

describe('the list of a folder', () => {
  test('describes each table, and the data that its files are made from', async () => {
    const out = at('described')
    for (const table of ['events', 'bars']) await write(table, out)
    const { schema, tables } = manifestOf(out)
    expect([schema, Object.keys(tables)]).toEqual(['bands.parquet/2', ['events', 'bars']])
    expect(tables.events).toMatchObject({ version: version(), definitions: DEFINITIONS_VERSION, as_of: '2018-05-15' })
    expect(tables.events!.data).toMatch(/^[0-9a-f]{32}$/)
    expect(tables.bars!.data).toBe(tables.events!.data)
    for (const [table, { rows, files }] of Object.entries(tables)) {
      expect(Object.values(files).reduce((sum, file) => sum + file.rows, 0)).toBe(rows)
      expect(await sql(`SELECT count(*) AS n FROM ${table}`, out)).toEqual([{ n: String(rows) }])
    }
    expectListed(out)
  })

  test('of an older version is taken over: every file is written again', async () => {
    const out = at('older')
    await write('bars', out)
    const tickers = { AAPL: { content: 'x', rows: 1, bytes: 1 } }
    const { columns } = manifestOf(out).tables.bars!
    const older = { schema: 'bands.parquet/1', version: '0', tables: { bars: { columns, tickers } } }
    writeFileSync(join(out, 'manifest.json'), JSON.stringify(older))
    expect((await write('bars', out)).err).toContain('wrote 2 files')
    expectListed(out)
  })
})

describe('a folder that an export is writing', () => {
  test('takes no second export until the first has ended', async () => {
    const out = at('two')
    await withLockedFolder(namedFolder(out, 'write'), async () => {
      expectRefusal(await write('bars', out), 8, `another export is writing ${out}; try again when it has ended`)
      expect(existsSync(join(out, 'bars'))).toBe(false)
    })
    expect((await write('bars', out)).code).toBe(0)
    expectListed(out)
  })

  test('has the files of both, where two with different tickers begin at once', async () => {
    const out = at('both')
    const lines = ['--tickers AAPL', '--tickers GSPC']
    for (const { code } of await Promise.all(lines.map(line => write('series', out, line))))
      expect([0, 8]).toContain(code)
    for (const line of lines) expect((await write('series', out, line)).code).toBe(0)
    expect(filesIn('series', out)).toEqual(['ticker=AAPL.parquet', 'ticker=GSPC.parquet'])
    expectListed(out)
  })
})

describe('an export that is killed', () => {
  test('before its files take their places leaves the old ones, and the next run removes the rest', async () => {
    const out = at('killed')
    await write('bars', out)
    const ended = spawnSync('true').pid
    writeFileSync(join(out, 'bars', `.ticker=AAPL.parquet.${ended}.tmp`), 'PAR1')
    expect(await sql('SELECT count(DISTINCT ticker) AS n FROM bars', out)).toEqual([{ n: '2' }])
    expect((await write('bars', out)).err).toContain('wrote 0 files')
    expectListed(out)
  })

  test('while they do has no list, and the next run finishes it', async () => {
    const out = at('half')
    const whole = at('half-whole')
    for (const folder of [out, whole]) await write('bars', folder)
    for (const folder of [out, whole]) await write('bars', folder, '--before 2016-01-01')
    await write('bars', whole, '--tickers AAPL --before 2015-01-01')
    // One file has its place, another waits, and one is to be removed.
    const pid = spawnSync('true').pid
    const first = 'bars/ticker=AAPL.parquet'
    const second = 'bars/ticker=GSPC.parquet'
    copyFileSync(join(whole, first), join(out, first))
    copyFileSync(join(whole, second), join(out, `bars/.ticker=GSPC.parquet.${pid}.tmp`))
    writeFileSync(join(out, 'bars/ticker=GONE.parquet'), 'PAR1')
    const staged = [first, second].map(path => [`${path.replace('bars/', 'bars/.')}.${pid}.tmp`, path])
    const next = { tables: manifestOf(whole).tables, staged, removed: ['bars/ticker=GONE.parquet'] }
    writeFileSync(join(out, 'manifest.next.json'), JSON.stringify(next))
    rmSync(join(out, 'manifest.json'))
    expect((await write('series', out)).code).toBe(0)
    expect(filesIn('bars', out)).toEqual(filesIn('bars', whole))
    expect(manifestOf(out).tables.bars).toEqual(manifestOf(whole).tables.bars)
    expectListed(out)
  })
})
