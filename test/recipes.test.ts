import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { scratch, typed } from './cli/support/run.js'

/**
 * The recipes of docs/sql.md print what the page shows, and count what `bands tally` counts. test/docs.test.ts runs those of
 * `bands sql`. Those in Python need pandas, pyarrow, polars and duckdb (test/support/python); `PYTHON` names an
 * interpreter that has them.
 */
const PYTHON = process.env.PYTHON ?? 'python3'
const REQUIRED = process.env.BANDS_PYTHON === 'required'
const page = readFileSync('docs/sql.md', 'utf8')
const recipes = [...page.matchAll(/^```python\n(.*?)^```\n\n```text\n(.*?)^```/gms)].map(([, program, printed]) => {
  const [, name] = /^import (duckdb|pandas|polars)/m.exec(program!)!
  return [name!, program!, printed!] as const
})
const missing = spawnSync(PYTHON, ['-c', 'import duckdb, pandas, polars, pyarrow'], { encoding: 'utf8' })
const hasPython = missing.status === 0
const why = hasPython ? '' : ` (${PYTHON}: ${missing.stderr?.trim().split('\n').at(-1) || 'there is none'})`
const folder = scratch()
const env = { HOME: folder.path }

/** The events of the sample in a band. */
async function events(words: string): Promise<number> {
  const { out } = await typed(`tally rsi_zone --all --json ${words}`, { env })
  return (JSON.parse(out) as { events: number }).events
}

/** Pairs of a band and a count, as a recipe prints them. */
function counts(printed: string, pattern: RegExp): Record<string, number> {
  return Object.fromEntries([...printed.matchAll(pattern)].map(([, band, n]) => [band!, Number(n)]))
}

beforeAll(async () => {
  for (const table of ['events', 'series', 'bars'])
    await typed(`export ${table} --partition-by ticker --write ${folder.file('parquet')}`, { env })
  return folder.remove
})

describe('a recipe of docs/sql.md', () => {
  it('is one of six, three of them in Python', () => {
    expect(page.match(/^\$ bands sql "/gm)).toHaveLength(3)
    expect(recipes.map(([name]) => name)).toEqual(['duckdb', 'pandas', 'polars'])
    expect(hasPython || !REQUIRED, why).toBe(true)
  })

  it.skipIf(!hasPython).each(recipes)(`prints in %s what the page shows${why}`, (_, program, printed) => {
    const { stdout, stderr } = spawnSync(PYTHON, ['-'], { cwd: folder.path, input: program, encoding: 'utf8' })
    expect(stdout, stderr).toBe(printed)
  })

  it('counts what a tally counts, by band', async () => {
    const [duckdb, pandas] = [
      counts(recipes[0]![2], /\('(\w+)', (\d+)\)/g),
      counts(recipes[1]![2], /^(\w+) +(\d+) +-?[\d.]+$/gm),
    ]
    const inSql = counts(page.slice(0, page.indexOf('In which trend')), /^(\w+) +(\d+) +-?[\d.]+$/gm)
    expect(Object.keys(duckdb)).toHaveLength(7)
    expect(pandas).toEqual(duckdb)
    expect(inSql).toEqual(duckdb)
    for (const [band, n] of Object.entries(duckdb)) expect(await events(`--band ${band}`), band).toBe(n)
  })

  it('counts what a tally counts, by the trend of the day', async () => {
    const polars = counts(recipes[2]![2], /'(\w+)', 'n': (\d+)/g)
    expect(counts(page, /^(strong_downtrend|downtrend|neutral) +(\d+) +-?[\d.]+$/gm)).toMatchObject({
      strong_downtrend: polars.strong_downtrend,
      downtrend: polars.downtrend,
    })
    for (const [band, n] of Object.entries(polars))
      expect(await events(`--band oversold --when trend_direction=${band}`), band).toBe(n)
  })
})
