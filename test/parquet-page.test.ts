import { mkdirSync, readFileSync } from 'node:fs'
import { DuckDBInstance } from '@duckdb/node-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { scratch, typed } from './cli/support/run.js'

/**
 * The questions of docs/parquet.md, asked by DuckDB over a folder of the sample, count what the command above each of them
 * counts. So does the one of docs/scale-out.md.
 */

type Row = Record<string, string | number | null>
interface Group {
  group: string | null
  events: number
  windows: { window: string; counts: Record<string, number>; returns: { n: number; mean: number; hit_rate: number } }[]
}
interface Answer {
  events: number
  groups: Group[]
  matrix: { from: string; counts: Record<string, number | null> }[]
  states: { ticker: string; band: string }[]
}

const window20 = ({ windows }: Group) => windows.find(({ window }) => window === '20d')!
const meanOf = (group: Group) => window20(group).returns.mean ?? null

/** The rows that an answer of the command line means, by the number of the question. */
const ANSWERS: ((answer: Answer) => Row[])[] = [
  ({ groups }) => groups.map(({ group, events }) => ({ band: group, n: events })),
  ({ groups }) =>
    groups.map(group => {
      const { n, mean, hit_rate } = window20(group).returns
      return { band: group.group, n, mean, rose: Math.round(hit_rate * n) }
    }),
  ({ groups }) => Object.entries(window20(groups[0]!).counts).map(([performance, n]) => ({ performance, n })),
  ({ groups }) => groups.map(({ group, events }) => ({ in_year: Number(group), n: events })),
  ({ groups }) => groups.map(group => ({ ticker: group.group, n: group.events, mean: meanOf(group) })),
  ({ groups }) => groups.map(({ group, events }) => ({ ticker: group, n: events })),
  ({ groups }) => groups.map(({ group, events }) => ({ band: group, n: events })),
  ({ matrix }) =>
    matrix.flatMap(({ from, counts }) =>
      Object.entries(counts).flatMap(([band, n]) => (n === null || n === 0 ? [] : [{ prev_band: from, band, n }])),
    ),
  ({ events }) => [{ n: events }],
  ({ states }) => states.map(({ ticker, band }) => ({ ticker, band })),
]

const page = readFileSync('docs/parquet.md', 'utf8')
const questions = [...page.matchAll(/^### (\d+)\. (.*?)\n\n```sh\n(.*?)\n```\n\n```sql\n(.*?)```$/gms)].map(
  ([, number, question, line, sql]) => ({ number: Number(number), question: question!, line: line!, sql: sql! }),
)
const folder = scratch()
const env = { HOME: folder.path }
const LAYOUTS = {
  year: '--partition-by year',
  ticker: '--partition-by ticker',
  parts: '--partition-by ticker --partitions 3',
}
const opened: { layout: string; ask(sql: string): Promise<Row[]>; close(): void }[] = []

async function answer(line: string): Promise<Answer> {
  const { code, out, err } = await typed(`${line.replace(/^bands /, '')} --json`, { env })
  expect(code, err).toBe(0)
  return JSON.parse(out)
}

/** Each row as text, sorted; the last digits of a mean depend on the order of its sum. */
function comparable(rows: readonly Row[]): string[] {
  const rounded = (value: Row[string]) => (typeof value === 'number' ? Number(value.toPrecision(12)) : value)
  return rows.map(row => JSON.stringify(Object.entries(row).map(([name, value]) => [name, rounded(value)]))).sort()
}

/** A connection whose views are made by the lines of the page. */
async function opening(out: string) {
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  const ask = async (sql: string): Promise<Row[]> => {
    const rows = (await connection.runAndReadAll(sql)).getRowObjectsJson() as Row[]
    // DuckDB counts in 64 bits, which JSON has as text.
    const value = (found: Row[string]) => (typeof found === 'string' && /^\d+$/.test(found) ? Number(found) : found)
    return rows.map(row => Object.fromEntries(Object.entries(row).map(([name, found]) => [name, value(found)])))
  }
  const [, views] = /^In DuckDB:\n\n```sql\n(.*?)```$/ms.exec(page)!
  for (const view of views!.trim().split('\n')) await ask(view.replace("'parquet/", `'${out}/`))
  const close = (): void => {
    connection.closeSync()
    instance.closeSync()
  }
  return { ask, close }
}

async function exportAll(line: string, out: string, tables = ['events', 'series', 'bars']): Promise<void> {
  for (const table of tables) {
    const { code, err } = await typed(`${line.replace('$table', table)} --write ${out}`, { env })
    expect(code, err).toBe(0)
  }
}

beforeAll(async () => {
  for (const [layout, words] of Object.entries(LAYOUTS)) {
    const out = folder.file(layout)
    await exportAll(`export $table ${words}`, out, ['events', 'series'])
    opened.push({ layout, ...(await opening(out)) })
  }
})

afterAll(() => {
  for (const { close } of opened) close()
  folder.remove()
})

describe('docs/parquet.md', () => {
  it('has ten questions', () => {
    expect(questions.map(({ number }) => number)).toEqual(ANSWERS.map((_, i) => i + 1))
  })

  it.each(questions)('counts by SQL what the command counts: $number. $question', async ({ number, line, sql }) => {
    const expected = comparable(ANSWERS[number - 1]!(await answer(line)))
    expect(expected.length).toBeGreaterThan(0)
    for (const { layout, ask } of opened) expect(comparable(await ask(sql)), layout).toEqual(expected)
  })

  it('shows the keys that the list of a folder has', () => {
    const manifest = JSON.parse(readFileSync(`${folder.file('year')}/manifest.json`, 'utf8'))
    const [, shown] = /^```jsonc\n(.*?)```$/ms.exec(page)!
    const keys = (text: string): string[] => [...text.matchAll(/"(\w+)":/g)].map(([, key]) => key!)
    const { events } = manifest.tables
    const [path, first] = Object.entries(events.files)[0]!
    const own = { schema: manifest.schema, tables: { events: { ...events, files: { [path]: first } } } }
    expect(keys(shown!)).toEqual(keys(JSON.stringify(own)))
    expect(shown).toContain(`"rows": ${events.rows},`)
    expect(shown).toContain(`"${path}": { "rows": ${(first as Row).rows}`)
  })
})

describe('docs/scale-out.md', () => {
  it('has a question about a folder that its lines write', async () => {
    const [, section] = /^## For the data team\n(.*)/ms.exec(readFileSync('docs/scale-out.md', 'utf8'))!
    const [, tables, line] =
      /```sh\nfor table in (.*?); do\n {2}bands (.*?) --write \/srv\/bands\/parquet\ndone\n```/s.exec(section!)!
    const [, sql] = /```sql\n(.*?)```/s.exec(section!)!
    const out = folder.file('srv')
    mkdirSync(out)
    await exportAll(line!, out, tables!.split(' '))
    const rows = await opened[0]!.ask(sql!.replace('/srv/bands/parquet', out))
    const { events } = await answer('bands tally rsi_zone --all --band oversold --after 2016-12-31')
    expect(rows).toHaveLength(events)
  })
})
