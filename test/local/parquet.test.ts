import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import fc from 'fast-check'
import { parquetMetadata, parquetReadObjects } from 'hyparquet'
import { expect, it } from 'vitest'
import { ParquetFile, RowGroup } from '../../src/data/local/parquet.js'
import { compressInto, maxCompressedSize } from '../../src/data/local/snappy.js'
import { draws } from '../support/full.js'
import { temporaryFolder } from '../support/store.js'

/** The encoder of Parquet. Two readers that are not ours read its files: hyparquet and DuckDB. */

const COLUMNS = [
  { name: 'text', kind: 'text' },
  { name: 'day', kind: 'date' },
  { name: 'count', kind: 'integer' },
  { name: 'value', kind: 'number' },
] as const

interface Row {
  text: string | null
  day: number | null
  count: number | null
  value: number | null
}

function groupOf(rows: readonly Row[]): RowGroup {
  const group = new RowGroup(COLUMNS)
  for (const row of rows) {
    const at = group.addNulls(1)
    for (const { name } of COLUMNS) {
      const column = group.column(name)
      const value = row[name]
      if (value !== null) column.values[at] = typeof value === 'string' ? column.code(value) : value
    }
  }
  return group
}

function fileOf(groups: readonly (readonly Row[])[]): ArrayBuffer {
  const file = new ParquetFile(COLUMNS)
  const bytes = Buffer.concat([...groups.map(rows => file.add(groupOf(rows).encode())), file.end()])
  return new Uint8Array(bytes).buffer
}

function asRead(rows: readonly Row[]) {
  return rows.map(row => ({ ...row, day: row.day === null ? null : new Date(row.day * 86_400_000) }))
}

/** Runs of equal values as well as values that change with each row, and few or many different ones. */
function column<T>(values: fc.Arbitrary<T>): fc.Arbitrary<(T | null)[]> {
  const run = fc.tuple(fc.option(values, { freq: 4 }), fc.integer({ min: 1, max: 30 }))
  return fc.oneof(
    fc.array(run, { maxLength: 20 }).map(runs => runs.flatMap(([value, times]) => Array<T | null>(times).fill(value))),
    fc.array(fc.option(values, { freq: 20 }), { maxLength: 300 }),
    fc.array(values, { maxLength: 300 }),
  )
}

const rows = fc
  .record({
    text: column(fc.oneof(fc.constantFrom('up', 'down', 'é'), fc.string({ unit: 'binary', maxLength: 9 }))),
    day: column(fc.integer({ min: -800, max: 20_000 })),
    count: column(fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 1 - 2 ** 31, max: 2 ** 31 - 1 }))),
    value: column(fc.double({ noNaN: true })),
  })
  .map(({ text, day, count, value }) =>
    Array.from({ length: Math.max(text.length, count.length) }, (_, i) => ({
      text: text[i] ?? null,
      day: day[i] ?? null,
      count: count[i] ?? null,
      value: value[i] ?? null,
    })),
  )

it('reads back as it was written, by hyparquet', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(rows, { maxLength: 3 }), async groups => {
      expect(await parquetReadObjects({ file: fileOf(groups) })).toEqual(groups.flatMap(asRead))
    }),
    { numRuns: draws(2000) },
  )
})

it('reads back as it was written, by DuckDB, which skips groups by their bounds', async () => {
  const groups = Array.from({ length: 3 }, (_, g) =>
    Array.from(
      { length: 3000 },
      (_, i): Row => ({
        text: i % 7 === 0 ? null : `w${i % (40 + g)}`,
        day: 10_000 * g + (i >> 3),
        count: i % 5 === 0 ? null : g * 1000 + (i % 900),
        value: i % 3 === 0 ? null : Math.sin(i) - g,
      }),
    ),
  )
  const path = join(temporaryFolder(), 'x.parquet')
  writeFileSync(path, Buffer.from(fileOf(groups)))
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  const ask = async (sql: string) => (await connection.runAndReadAll(sql)).getRowObjectsJson()
  const all = groups.flat()
  expect(await ask(`SELECT text, day - DATE '1970-01-01' AS day, count, value FROM '${path}'`)).toEqual(
    all.map(row => ({ ...row, day: String(row.day) })),
  )
  expect(await ask(`SELECT count(*) AS n FROM '${path}' WHERE count >= 2000 AND text = 'w41'`)).toEqual([
    { n: String(all.filter(({ count, text }) => (count ?? 0) >= 2000 && text === 'w41').length) },
  ])
  const bounds = await ask(
    `SELECT path_in_schema AS name, stats_min_value AS min, stats_max_value AS max, stats_null_count AS nulls
     FROM parquet_metadata('${path}') WHERE row_group_id = 1 ORDER BY column_id`,
  )
  const present = (name: 'count' | 'value') => groups[1]!.flatMap(row => row[name] ?? [])
  const of = (name: 'count' | 'value') => [Math.min(...present(name)), Math.max(...present(name))].map(String)
  const nulls = (name: keyof Row): string => String(groups[1]!.filter(row => row[name] === null).length)
  expect(bounds).toMatchObject([
    { name: 'text', min: 'w0', max: 'w9', nulls: nulls('text') },
    { name: 'day', min: '1997-05-19', max: '1998-05-28', nulls: '0' },
    { name: 'count', min: of('count')[0], max: of('count')[1], nulls: nulls('count') },
    { name: 'value', nulls: nulls('value') },
  ])
  connection.closeSync()
  instance.closeSync()
})

it('writes words that come again by their number, and others as they are', () => {
  const encodings = (texts: readonly string[]) =>
    parquetMetadata(fileOf([texts.map(text => ({ text, day: 1, count: 1, value: 1 }))])).row_groups[0]!.columns[0]!
      .meta_data!.encodings
  expect(encodings(['a', 'b', 'a', 'b', 'a'])).toContain('RLE_DICTIONARY')
  expect(encodings(['a', 'b', 'c', 'd', 'e'])).not.toContain('RLE_DICTIONARY')
})

it('compresses long repeats, and noise hardly grows', async () => {
  let noise = 1
  const next = (): number => (noise = (noise * 48_271) % (2 ** 31 - 1))
  const long = Array.from(
    { length: 60_000 },
    (_, i): Row => ({
      text: null,
      day: null,
      count: null,
      value: i < 20_000 ? 1.5 : i < 40_000 ? next() / 3 : (i % 9000) / 3,
    }),
  )
  expect(await parquetReadObjects({ file: fileOf([long]) })).toEqual(asRead(long))
  const zeros = new Uint8Array(1 << 20)
  const packed = new Uint8Array(maxCompressedSize(zeros.length))
  expect(compressInto(zeros, zeros.length, packed)).toBeLessThan(zeros.length / 20)
  const random = Uint8Array.from(zeros, () => next() & 0xff)
  expect(compressInto(random, random.length, packed)).toBeLessThanOrEqual(maxCompressedSize(random.length))
})
