import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { namedFolder, withLockedFolder } from '../../src/app/cli/manifest.js'
import { firstInQuick } from '../support/full.js'
import { bundledBars, expectRefusal } from './support/run.js'

/** `bands sql`: DuckDB over the Parquet files of the database. test/package.test.ts asks it without DuckDB. */

const { ask, json, table, told, folder } = bundledBars()
const at = (...path: string[]): string => join(folder.path, ...path)

/** The rows of a query. */
async function rows(query: string, more = ''): Promise<Record<string, unknown>[]> {
  return (await json<{ rows: Record<string, unknown>[] }>(`sql "${query}" ${more}`)).rows
}

/** Queries that would write, or read something else; {} is the folder of the database. */
const FORBIDDEN = [
  `COPY (SELECT 1) TO '{}/x.csv'`,
  `COPY (SELECT 1) TO '{}/bands.parquet/bars/ticker=AAPL.parquet'`,
  `EXPLAIN ANALYZE COPY (SELECT 1) TO '{}/bands.parquet/bars/ticker=AAPL.parquet'`,
  `PREPARE x AS COPY (SELECT 1) TO '{}/bands.parquet/bars/ticker=AAPL.parquet'`,
  `SELECT * FROM read_text('{}/secret.txt')`,
  `SELECT * FROM '{}/secret.csv'`,
  `SELECT * FROM glob('{}/*')`,
  `SELECT * FROM 'https://bands.invalid/x.parquet'`,
  `ATTACH '{}/other.db'`,
  `EXPORT DATABASE '{}/exported'`,
  'INSTALL httpfs',
  'LOAD httpfs',
  'SET enable_external_access = true',
  `CREATE PERSISTENT SECRET s (TYPE http)`,
  'SELECT 1; SELECT 2',
  'DROP VIEW bars',
]

describe('bands sql', () => {
  test('has the names of JSON next to those of the files', async () => {
    const [row] = await rows(
      "SELECT returns['5d'] - returns_5d AS zero, date FROM events WHERE returns_5d IS NOT NULL LIMIT 1",
    )
    expect(row).toEqual({ zero: 0, date: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) })
  })

  test('joins the bars of other fields', async () => {
    const [row] = await rows(
      `SELECT count(*) AS n FROM events JOIN series USING (ticker, timeframe, date)
       WHERE field = 'rsi_zone' AND events.band = 'oversold' AND timeframe = 'daily' AND trend_direction = 'downtrend'`,
    )
    const { events: n } = await json<{ events: number }>(
      "tally rsi_zone --all --band oversold --when 'trend_direction = downtrend'",
    )
    expect(row).toEqual({ n })
  })

  test('lists the views with the columns that a query finds', async () => {
    const listed = (await json<{ rows: { view: string; column: string; type: string }[] }>('sql')).rows
    for (const view of ['events', 'series', 'bars']) {
      const described = await rows(`DESCRIBE ${view}`)
      const own = listed.filter(row => row.view === view)
      expect(own.map(({ column }) => column)).toEqual(described.map(({ column_name: name }) => name))
      expect(own.map(({ type }) => type)).toEqual(described.map(({ column_type: type }) => String(type).split('(')[0]))
    }
    expect(await table('sql')).toMatch(/^bars +one row per daily bar$/m)
  })

  test('brings only the files up to date that a query reads and that changed', async () => {
    const out = at('own')
    expect(await told(`sql "SELECT 1 AS one FROM bars LIMIT 1" --folder ${out}`)).toContain(`wrote 2 files to ${out}`)
    expect(readdirSync(out).sort()).toEqual(['bars', 'manifest.json', 'manifest.json-writer', 'views.sql'])
    const before = statSync(join(out, 'manifest.json')).mtimeMs
    expect(await told(`sql "SELECT 1 AS one FROM bars LIMIT 1" --folder ${out}`)).toBe('')
    expect(statSync(join(out, 'manifest.json')).mtimeMs).toBe(before)
  })

  test('waits for an export that is writing the files', async () => {
    const out = at('both')
    let isWritten = false
    const written = withLockedFolder(namedFolder(out, 'write'), async () => {
      await sleep(500)
      isWritten = true
    })
    expect(await told(`sql "SELECT count(*) AS n FROM series" --folder ${out}`)).toContain('wrote 2 files')
    expect(isWritten).toBe(true)
    await written
  })

  test('keeps the files of an as-of day apart', async () => {
    const newest = await rows('SELECT max(date) AS day FROM bars', '--as-of 2017-03-01')
    expect(newest).toEqual([{ day: '2017-03-01' }])
    expect(existsSync(at('bands.2017-03-01.parquet'))).toBe(true)
    expect(await rows('SELECT max(date) AS day FROM bars')).toEqual([{ day: '2018-05-11' }])
  })

  test('writes values as JSON has them', async () => {
    const [row] = await rows(
      "SELECT 1.5 AS d, [1, 2] AS l, {'a': DATE '2018-01-02'} AS s, 'nan'::DOUBLE AS n, 9007199254740993 AS big, true AS b",
    )
    expect(row).toEqual({ d: 1.5, l: [1, 2], s: { a: '2018-01-02' }, n: null, big: '9007199254740993', b: true })
    const { out } = await ask(`sql "SELECT [1, 2] AS l, {'a': 1} AS s" --csv`)
    expect(out).toBe('l,s\n"[1,2]","{""a"":1}"\n')
  })

  test('shows the first rows on a terminal, and writes each one elsewhere', async () => {
    const query = 'sql "FROM bars"'
    expect((await table(`${query} --limit 3`)).trim().split('\n')).toHaveLength(4)
    expect(await told(`${query} --limit 3`)).toContain('rows left out: --limit all shows them')
    const { out } = await ask(`${query} --limit 3 --csv`)
    const [{ n } = {}] = await rows('SELECT count(*) AS n FROM bars')
    expect(out.trim().split('\n')).toHaveLength(Number(n) + 1)
  })

  test('pivots', async () => {
    const [row] = await rows("PIVOT (FROM events WHERE field = 'rsi_zone') ON ticker USING count(*) GROUP BY timeframe")
    expect(Object.keys(row!)).toEqual(['timeframe', 'AAPL', 'GSPC'])
  })

  test('names the place of an error, and the line that works', async () => {
    expectRefusal(await ask('sql "SELECT bnad FROM events"'), 2, 'line 1, column 8: Referenced column "bnad" not found')
    expect((await ask('sql "SELECT bnad FROM events"')).err).toContain("try:   bands sql 'SELECT band FROM events'")
    expectRefusal(
      await ask('sql "SELECT \'é\',\n  x FROM evnts"'),
      2,
      'line 2, column 10: Table with name evnts does not',
    )
    expectRefusal(await ask('sql "SELECT ("'), 2, 'line 1, column 9: syntax error at end of input')
    expectRefusal(await ask(`sql "SELECT regexp_matches(ticker, '(') FROM bars"`), 2, 'query: missing )')
    expectRefusal(await ask('sql " ;"'), 2, 'query is empty')
    expect((await ask('sql "SELECT bnad FROM events" --json')).err).toContain('"line":1,"column":8')
  })

  test.each(firstInQuick(FORBIDDEN, 5))('refuses %s', async query => {
    await rows('SELECT 1 FROM bars LIMIT 1')
    writeFileSync(at('secret.txt'), 'secret')
    writeFileSync(at('secret.csv'), 'secret\n')
    const before = readdirSync(folder.path)
    const size = statSync(at('bands.parquet/bars/ticker=AAPL.parquet')).size
    const ran = await ask(`sql "SELECT 1 FROM bars; ${query}"`)
    expect([ran.code, ran.out]).toEqual([2, ''])
    expectRefusal(await ask(`sql "${query.replaceAll('{}', folder.path)}"`), 2, 'query')
    expect(readdirSync(folder.path)).toEqual(before)
    expect(statSync(at('bands.parquet/bars/ticker=AAPL.parquet')).size).toBe(size)
  })

  test('is for Pro where a tier is named, also with files that are there', async () => {
    expectRefusal(await ask('sql "SELECT 1 AS one FROM bars" --tier plus'), 4, 'needs the Pro tier')
    expect((await ask('sql "SELECT 1 AS one FROM bars LIMIT 1" --tier pro')).code).toBe(0)
  })
})
