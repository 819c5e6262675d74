import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { beforeAll, describe, expect, test } from 'vitest'
import type { ExportedEvent } from '../../src/core/model/event.js'
import { bundledBars, expectRefusal, scratch } from './support/run.js'

/** `bands export … --partition-by ticker`: a folder of Parquet files that is brought up to date. */

const { ask, folder } = bundledBars()
const at = (...path: string[]): string => join(folder.path, ...path)
const write = (table: string, out = at('parquet'), more = '') =>
  ask(`export ${table} --partition-by ticker --write ${out} ${more}`)

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
    const [first] = await lines('export events --ticker AAPL --field rsi_zone --timeframe daily --band oversold')
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
    expect((await write('bars', out)).err).toContain('1 of removed tickers are gone')
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
    expectRefusal(await write('bars', path), 2, 'is there, and no folder of such files; name another.')
    expect(readdirSync(path)).toEqual(['mine.txt'])
    rmSync(path, { recursive: true })
    expectRefusal(await ask('export bars --partition-by ticker'), 2, 'name it with --write')
    expectRefusal(await write('bars', at('x'), '--csv'), 2, 'files of tickers are Parquet')
    expectRefusal(await write('facts', at('x')), 2, '--partition-by')
    expectRefusal(await ask(`export bars --partition-by year --write ${at('x')}`), 2, '"year"')
    mkdirSync(at('damaged'))
    writeFileSync(at('damaged', 'manifest.json'), '{')
    expectRefusal(await write('bars', at('damaged')), 5, 'it is not as bands writes it')
    expect(existsSync(at('x'))).toBe(false)
  })
})
