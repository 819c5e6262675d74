import { digest } from '../../src/data/store/checksum.js'
import {
  chunkHash,
  contentHash,
  decodeChunkHashes,
  ENTRY_COLUMNS,
  type EntryRow,
  encodeChunkHashes,
  entryHash,
  rowChecksum,
  SERIES_COLUMNS,
  type SeriesName,
  type SeriesRow,
  seriesHash,
  sheetHash,
} from '../../src/data/store/content.js'
import { MIGRATIONS } from '../../src/data/store/sqlite/schema.js'
import type { Part, SheetRow } from '../../src/data/store/store.js'
import type { Database } from './database.js'

type Row = Record<string, Buffer | string | number | null>

/**
 * Makes of a database the file that an older version would have: bars whole, each row with a hash, of what was derived the
 * dates alone. Of schema 5 hashes do not know what they are about, and nothing lists what there is.
 */
export function toSchema(db: Database, schema: 5 | 6): void {
  const rows = (sql: string, ...of: unknown[]) => db.prepare(sql).all(...of) as Row[]
  const chunks = (id: unknown, part: string): Buffer[] =>
    rows(
      "SELECT columns FROM chunks WHERE ticker_id = ? AND timeframe = 'daily' AND part = ? ORDER BY chunk",
      id,
      part,
    ).map(row => row.columns as Buffer)
  const [first] = MIGRATIONS
  const tables = String(first).match(/CREATE TABLE (bars|series|events)[^;]*;/g)!
  const bars = rows('SELECT id, ticker FROM tickers').map(({ id, ticker }) => {
    const columns = whole(chunks(id, 'prices'), [8, 8, 8, 8, 8, 4])
    const unadjusted = chunks(id, 'unadjusted')
    return { id, ticker, columns, unadjusted: unadjusted.length === 0 ? null : Buffer.concat(unadjusted) }
  })
  db.exec(`DROP TABLE about; DROP TABLE chunks; DROP TABLE series; ALTER TABLE tickers DROP COLUMN chunks; ALTER TABLE meta DROP COLUMN hash; ${tables.join('')}
    ALTER TABLE bars ADD COLUMN unadjusted BLOB; ALTER TABLE series ADD COLUMN fields TEXT NOT NULL DEFAULT '';
    ALTER TABLE events ADD COLUMN hash TEXT NOT NULL DEFAULT ''`)
  const none = Buffer.alloc(0)
  const outcomes = Buffer.alloc(0)
  for (const { id, ticker, columns, unadjusted } of bars) {
    const hash = schema === 5 ? digest(unadjusted === null ? [columns] : [columns, unadjusted]) : null
    const named = { ticker: ticker as string, columns, unadjusted }
    const insert = db.prepare('INSERT INTO bars (ticker_id, hash, columns, unadjusted) VALUES (?, ?, ?, ?)')
    insert.run(id, hash ?? contentHash(named), columns, unadjusted)
    for (const timeframe of ['daily', 'weekly']) {
      const seriesHash = schema === 5 ? digest([none, outcomes]) : 'not looked at'
      const series = 'INSERT INTO series (ticker_id, timeframe, hash, calendar, outcomes) VALUES (?, ?, ?, ?, ?)'
      db.prepare(series).run(id, timeframe, seriesHash, none, outcomes)
    }
    const entry = db.prepare(`SELECT ${ENTRY_COLUMNS} FROM tickers WHERE id = ?`).get(id) as EntryRow
    db.prepare('UPDATE tickers SET hash = ? WHERE id = ?').run(entryHash(entry), id)
  }
  db.exec(`PRAGMA user_version = ${schema}`)
  if (schema === 6) return
  for (const { ticker, kind, sheet } of rows('SELECT * FROM facts')) {
    const hash = digest([Buffer.from(sheet as string)])
    db.prepare('UPDATE facts SET hash = ? WHERE ticker = ? AND kind = ?').run(hash, ticker, kind)
  }
  db.exec(`DROP TABLE listed; ALTER TABLE tickers DROP COLUMN hash; ALTER TABLE series DROP COLUMN fields;
    ALTER TABLE events DROP COLUMN hash`)
}

/** The columns of chunks, each as one. @param widths of their columns in bytes a bar */
function whole(chunks: readonly Buffer[], widths: readonly number[]): Buffer {
  const all = widths.reduce((sum, width) => sum + width, 0)
  const parts = widths.map((width, c) => {
    const before = widths.slice(0, c).reduce((sum, other) => sum + other, 0)
    return chunks.map(chunk => {
      const bars = chunk.length / all
      return chunk.subarray(before * bars, (before + width) * bars)
    })
  })
  return Buffer.concat(parts.flat())
}

/** Stored instead of a checksum, it asks for the SHA-256 digest that versions before schema 11 wrote. */
const DIGEST = ''

/**
 * Makes of a database the file of schema 10: all rows have SHA-256 digests, and all chunks but the last of several, as
 * after a new bar.
 */
export function toDigests(db: Database): void {
  const rows = (sql: string, ...of: unknown[]) => db.prepare(sql).all(...of) as Row[]
  const chunksOf = (id: unknown, name: SeriesName, parts: readonly string[]): string =>
    encodeChunkHashes(
      parts.map(part => {
        const columns = rows(
          'SELECT columns FROM chunks WHERE ticker_id = ? AND timeframe = ? AND part = ? ORDER BY chunk',
          ...[id, name.timeframe, part],
        )
        const digests = columns.map((row, i) => {
          const isLast = i > 0 && i === columns.length - 1
          return chunkHash(name, part as Part, i, row.columns as Buffer, isLast ? undefined : DIGEST)
        })
        return { part: part as Part, hashes: digests.join('') }
      }),
    )
  const update = (sql: string, ...values: unknown[]) => db.prepare(sql).run(...values)
  for (const { id, ...row } of rows(`SELECT id, chunks, ${ENTRY_COLUMNS} FROM tickers`)) {
    const entry = row as unknown as EntryRow
    const name = { ticker: entry.ticker, timeframe: 'daily' } as const
    entry.chunks = chunksOf(id, name, Object.keys(decodeChunkHashes(entry)))
    update('UPDATE tickers SET chunks = ?, hash = ? WHERE id = ?', entry.chunks, entryHash(entry, DIGEST), id)
    for (const timeframe of ['daily', 'weekly'] as const) {
      const select = `SELECT ${SERIES_COLUMNS} FROM series WHERE ticker_id = ? AND timeframe = ?`
      const [series] = rows(select, id, timeframe) as unknown as [SeriesRow]
      series.chunks = chunksOf(id, { ...name, timeframe }, Object.keys(decodeChunkHashes(series)))
      const hash = seriesHash({ ...name, timeframe }, series, DIGEST)
      const set = 'UPDATE series SET chunks = ?, hash = ? WHERE ticker_id = ? AND timeframe = ?'
      update(set, series.chunks, hash, id, timeframe)
    }
  }
  for (const row of rows('SELECT ticker, kind, records, sheet FROM facts')) {
    const hash = sheetHash(row as unknown as SheetRow, DIGEST)
    update('UPDATE facts SET hash = ? WHERE ticker = ? AND kind = ?', hash, row.ticker, row.kind)
  }
  for (const { key, value } of rows('SELECT key, value FROM meta')) {
    const hash = rowChecksum({ key: key as string, value: value as string }, DIGEST)
    update('UPDATE meta SET hash = ? WHERE key = ?', hash, key)
  }
  db.exec('PRAGMA user_version = 10')
}
