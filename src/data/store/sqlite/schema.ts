import { remedy } from '../../../core/errors.js'
import { parseDay } from '../../../core/model/day.js'
import { CHECKSUM_LENGTH, digest } from '../checksum.js'
import { chunkEnds, decodePrices, encodePrices, encodeUnadjusted } from '../codec.js'
import {
  chunkHash,
  ENTRY_COLUMNS,
  type EntryRow,
  entryHash,
  type Hashed,
  presentRowsSql,
  rowChecksum,
  sheetHash,
} from '../content.js'
import { type BarPart, type SheetRow, UNDERIVED } from '../store.js'
import { CREATE_ABOUT, putAbout } from './about.js'
import { putMeta } from './meta.js'
import type { Connection, DatabaseKind, Step } from './migrations.js'
import { convertOldPulled } from './pages.js'

/**
 * The schema, step by numbered step; `PRAGMA user_version` counts the steps taken. A released step is never edited: the
 * next one corrects it.
 *
 * Columns are packed in chunks of bars (codec.ts), about seven times faster to store than rows. A new bar changes only
 * the last chunk. Events refer to bars by number. The returns after a bar are stored once per bar, regardless of the
 * number of fields that changed on it.
 */
export const MIGRATIONS: readonly Step[] = [
  `
  CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE writer (
    place INTEGER PRIMARY KEY CHECK (place = 1),
    pid INTEGER NOT NULL,
    host TEXT NOT NULL,
    started TEXT NOT NULL
  ) STRICT;

  CREATE TABLE tickers (
    id INTEGER PRIMARY KEY,
    ticker TEXT NOT NULL UNIQUE,
    asset_class TEXT CHECK (asset_class IN ('stock', 'crypto', 'etf')),
    prices TEXT NOT NULL CHECK (prices IN ('raw', 'adjusted')),
    bars INTEGER NOT NULL CHECK (bars > 0),
    first_date TEXT NOT NULL,
    last_date TEXT NOT NULL,
    source TEXT NOT NULL,
    format TEXT NOT NULL,
    imported_at TEXT NOT NULL
  ) STRICT;
  CREATE INDEX tickers_by_last_date ON tickers (last_date);

  -- open, high, low, close, volume as doubles, then days since 1970-01-01 as int32
  CREATE TABLE bars (
    ticker_id INTEGER PRIMARY KEY REFERENCES tickers (id) ON DELETE CASCADE,
    hash TEXT NOT NULL,
    columns BLOB NOT NULL
  ) STRICT;

  -- calendar: date of each bar, day on which it is final (int32); outcomes: per window the return (double), then per window the rank (int32)
  CREATE TABLE series (
    ticker_id INTEGER NOT NULL REFERENCES tickers (id) ON DELETE CASCADE,
    timeframe TEXT NOT NULL CHECK (timeframe IN ('daily', 'weekly')),
    hash TEXT NOT NULL,
    calendar BLOB NOT NULL,
    outcomes BLOB NOT NULL,
    PRIMARY KEY (ticker_id, timeframe)
  ) STRICT;

  -- initial bar, initial band, bar of each event (int32); then band, flips and stability of each event (uint8)
  CREATE TABLE events (
    ticker_id INTEGER NOT NULL REFERENCES tickers (id) ON DELETE CASCADE,
    timeframe TEXT NOT NULL CHECK (timeframe IN ('daily', 'weekly')),
    field TEXT NOT NULL,
    events INTEGER NOT NULL,
    columns BLOB NOT NULL,
    PRIMARY KEY (ticker_id, timeframe, field)
  ) STRICT;
  `,
  `
  -- closes before dividend adjustment, as doubles; NULL where the closes themselves are that
  ALTER TABLE bars ADD COLUMN unadjusted BLOB;

  -- One row a ticker and kind, with or without bars. sheet: JSON, {sources, columns, rows: [[source, ...values]]}
  CREATE TABLE facts (
    ticker TEXT NOT NULL,
    kind TEXT NOT NULL,
    records INTEGER NOT NULL,
    hash TEXT NOT NULL,
    sheet TEXT NOT NULL,
    PRIMARY KEY (ticker, kind)
  ) STRICT;
  CREATE INDEX facts_by_kind ON facts (kind);
  `,
  `
  -- Events as a server told them. known: as_of, or the day of the pull. told, under_way: JSON, oldest event first
  CREATE TABLE pulled (
    ticker TEXT NOT NULL,
    timeframe TEXT NOT NULL CHECK (timeframe IN ('daily', 'weekly')),
    field TEXT NOT NULL,
    url TEXT NOT NULL,
    pulled_at TEXT NOT NULL,
    as_of TEXT,
    known TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('complete', 'partial', 'mixed')),
    query_range TEXT NOT NULL,
    total_occurrences INTEGER NOT NULL,
    events INTEGER NOT NULL,
    etag TEXT,
    hash TEXT NOT NULL,
    told TEXT NOT NULL,
    under_way TEXT,
    PRIMARY KEY (ticker, timeframe, field)
  ) STRICT;
  CREATE INDEX pulled_by_known ON pulled (url, known);

  -- A ticker has bars or pulled events, never both: an answer would not tell which it stands on
  CREATE TRIGGER pulled_without_bars BEFORE INSERT ON pulled
  WHEN EXISTS (SELECT 1 FROM tickers WHERE ticker = NEW.ticker)
  BEGIN SELECT RAISE(ABORT, 'a ticker with bars takes no pulled events'); END;
  CREATE TRIGGER bars_without_pulled BEFORE INSERT ON tickers
  WHEN EXISTS (SELECT 1 FROM pulled WHERE ticker = NEW.ticker)
  BEGIN SELECT RAISE(ABORT, 'a ticker with pulled events takes no bars'); END;
  `,
  {
    repack(db) {
      // Pages as sent by a server, newest first: compressed JSON
      db.exec("ALTER TABLE pulled ADD COLUMN pages BLOB NOT NULL DEFAULT x''")
      convertOldPulled(db)
      for (const column of ['etag', 'told', 'under_way']) db.exec(`ALTER TABLE pulled DROP COLUMN ${column}`)
    },
  },
  `
  -- Which file brought which bars, in their order: JSON, [{source, format, importedAt, bars, jump?}]; NULL where all are of source
  ALTER TABLE tickers ADD COLUMN origins TEXT;
  `,
  // `hash` is over the content of its row (content.ts). `what` is `bars`, the kind of the facts, or
  // `pulled TIMEFRAME FIELD` (presentRowsSql).
  {
    add(db) {
      db.exec(`
        ALTER TABLE tickers ADD COLUMN hash TEXT NOT NULL DEFAULT '';
        -- Names of those with events, in order, apart by spaces
        ALTER TABLE series ADD COLUMN fields TEXT NOT NULL DEFAULT '';
        ALTER TABLE events ADD COLUMN hash TEXT NOT NULL DEFAULT '';
        -- All that was written of tickers: bars, a kind of facts, or pulled events of a series
        CREATE TABLE listed (
          ticker TEXT NOT NULL,
          what TEXT NOT NULL,
          PRIMARY KEY (ticker, what)
        ) STRICT, WITHOUT ROWID;
      `)
      addMissingHashes(db)
    },
  },
  {
    repack(db) {
      db.exec(`
        DROP TABLE events;
        DROP TABLE series;
        -- JSON: by part of its bars (prices, unadjusted), the hashes of its chunks one after another
        ALTER TABLE tickers ADD COLUMN chunks TEXT NOT NULL DEFAULT '{}';
        -- final_date: the day on which the last bar is final. events: of all fields. fields: JSON, by name [initial bar,
        -- initial band, events]. marks: JSON, of daily series: pairs of days with a gap between, days of bars that open or
        -- close outside their range, first and last day of what each file brought. chunks: as of tickers
        CREATE TABLE series (
          ticker_id INTEGER NOT NULL REFERENCES tickers (id) ON DELETE CASCADE,
          timeframe TEXT NOT NULL CHECK (timeframe IN ('daily', 'weekly')),
          bars INTEGER NOT NULL,
          final_date TEXT NOT NULL,
          events INTEGER NOT NULL,
          events_on_last INTEGER NOT NULL,
          fields TEXT NOT NULL,
          marks TEXT,
          chunks TEXT NOT NULL,
          hash TEXT NOT NULL,
          PRIMARY KEY (ticker_id, timeframe)
        ) STRICT;
        -- Columns of 256 bars, oldest first; the events of all fields lie in one chunk.
        -- prices: open, high, low, close, volume (double), day since 1970-01-01 (int32)
        -- unadjusted: close before dividend adjustment (double)
        -- calendar: day, and of weeks the day on which they are final (int32)
        -- outcomes: close (double), and for each window the rank of the return that ended on the bar (int32)
        -- events (int32): the number of fields; for each field its numbers of events and of runs without a band; the bars
        -- of the events; the first bar and the end of each run
        -- events, after these: bands, flips and stability (uint8), the names of the fields
        CREATE TABLE chunks (
          ticker_id INTEGER NOT NULL REFERENCES tickers (id) ON DELETE CASCADE,
          timeframe TEXT NOT NULL CHECK (timeframe IN ('daily', 'weekly')),
          part TEXT NOT NULL CHECK (part IN ('prices', 'unadjusted', 'calendar', 'outcomes', 'events')),
          chunk INTEGER NOT NULL,
          columns BLOB NOT NULL,
          PRIMARY KEY (ticker_id, timeframe, part, chunk)
        ) STRICT;
      `)
      moveBarsToChunks(db)
      db.exec('DROP TABLE bars')
    },
  },
  {
    add(db) {
      // Over key and value
      db.exec("ALTER TABLE meta ADD COLUMN hash TEXT NOT NULL DEFAULT ''; DELETE FROM writer")
      addHashesOfMeta(db)
    },
  },
  {
    add(db) {
      // What each table has, for a person
      db.exec(CREATE_ABOUT)
      describeTables(db)
    },
  },
  {
    add(db) {
      // The bars after the chunks of 256 are in smaller ones (codec.ts). Stored chunks stay until a bar is added to
      // them.
      describeTables(db)
    },
  },
  {
    add(db) {
      // Rows and chunks get checksums (checksum.ts) when they are written; stored digests stay until then.
      describeTables(db)
    },
  },
]

function describeTables(db: Connection): void {
  const run = (sql: string, ...values: string[]) => db.prepare(sql).run(...values)
  putAbout({ run, all: <Row>(sql: string) => db.prepare(sql).all() as Row[] })
}

/** The oldest schema that questions can read: later steps changed nothing for them. */
export const OLDEST_READABLE_SCHEMA = 8

/** Bars, facts and events. */
export const DATA: DatabaseKind = {
  migrations: MIGRATIONS,
  table: 'tickers',
  createCommand: remedy('import', ['FILE']),
  option: 'db',
  mend: 'import the files again into a new database',
  mode: 0o644,
}

export const SELECT_TICKERS = `SELECT id, hash, chunks, ${ENTRY_COLUMNS} FROM tickers`

export interface TickerRow extends EntryRow {
  id: number
  hash: string
}

/**
 * Steps that read rows of older versions. A row that fails its old hash gets no new one, so that it is reported as
 * damaged afterwards.
 */

/** Fills `listed`, and adds missing hashes, except to tables that the next step removes. */
function addMissingHashes(db: Connection): void {
  db.exec(`INSERT INTO listed (ticker, what) ${presentRowsSql()}`)
  // One by one: a whole market does not fit into memory.
  for (const id of db.prepare('SELECT id FROM tickers').pluck().all() as number[]) addHashesOfTicker(db, id)
  const selectSheet = db.prepare('SELECT ticker, kind, records, sheet, hash FROM facts WHERE rowid = ?')
  const updateHash = db.prepare('UPDATE facts SET hash = ? WHERE rowid = ?')
  for (const id of db.prepare('SELECT rowid FROM facts').pluck().all() as number[]) {
    const row = selectSheet.get(id) as Hashed<SheetRow>
    const oldHash = digest([Buffer.from(row.sheet)])
    updateHash.run(row.hash === oldHash ? sheetHash(row) : NO_HASH, id)
  }
}

/** The hash of a damaged row, which no content has. */
const NO_HASH = ''

/** A ticker's row before it had a list of chunks. */
type OldEntry = Omit<EntryRow, 'chunks'>

interface BarsRow {
  columns: Buffer
  unadjusted: Buffer | null
}

function barsHash(ticker: string, { columns, unadjusted }: BarsRow, stored?: string): string {
  return rowChecksum({ ticker, columns, unadjusted }, stored)
}

/** Gives the rows of one ticker their hashes, except damaged ones. */
function addHashesOfTicker(db: Connection, id: number): void {
  const entry = db.prepare(`SELECT ${ENTRY_COLUMNS} FROM tickers WHERE id = ?`).get(id) as OldEntry
  const bars = db.prepare('SELECT hash, columns, unadjusted FROM bars WHERE ticker_id = ?').get(id)
  const isSound = bars !== undefined && areBarsAsWritten(bars as Hashed<BarsRow>)
  if (isSound) {
    const hash = barsHash(entry.ticker, bars as BarsRow)
    db.prepare('UPDATE bars SET hash = ? WHERE ticker_id = ?').run(hash, id)
  }
  const isConsistent = isSound && matchesTickerRow(entry, bars as BarsRow)
  db.prepare('UPDATE tickers SET hash = ? WHERE id = ?').run(isConsistent ? entryHash(entry) : NO_HASH, id)
}

/** Whether the columns of a ticker's bars match their hash of that schema. */
function areBarsAsWritten({ hash, columns, unadjusted }: Hashed<BarsRow>): boolean {
  return hash === digest(unadjusted === null ? [columns] : [columns, unadjusted])
}

/** Whether bars have the number, the first and the last date that the ticker's row says. */
function matchesTickerRow({ bars, first, last }: OldEntry, { columns }: BarsRow): boolean {
  const { days } = decodePrices([columns], null)
  return days.length === bars && days[0] === parseDay(first) && days.at(-1) === parseDay(last)
}

/**
 * Adds the missing hashes to the rows of `meta`, except to damaged JSON. Deletes the writer's row: the next writer
 * adds it in its new form.
 */
function addHashesOfMeta(db: Connection): void {
  const put = { run: (sql: string, ...values: string[]) => db.prepare(sql).run(...values).changes }
  db.exec("DELETE FROM meta WHERE key = 'writer'")
  const rows = db.prepare('SELECT key, value FROM meta').all() as { key: string; value: string }[]
  for (const { key, value } of rows) if (key === 'definitions' || isJson(value)) putMeta(put, key, value)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Moves bars into chunks. Derived data are deleted and must be derived again. */
function moveBarsToChunks(db: Connection): void {
  const ids = db.prepare('SELECT id FROM tickers ORDER BY id').pluck().all() as number[]
  const take = db.prepare('DELETE FROM bars WHERE ticker_id = ? RETURNING hash, columns, unadjusted')
  // One by one: each ticker reuses the space of the one before.
  for (const id of ids) moveTickerToChunks(db, id, take.get(id) as Hashed<BarsRow> | undefined)
  if (ids.length > 0) db.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('definitions', ?)").run(UNDERIVED)
}

/**
 * Writes a ticker's bars as chunks, and the hashes of the chunks into its row. Damaged bars get hashes of no content,
 * so that they stay damaged.
 * @param row undefined if its bars are lost
 */
function moveTickerToChunks(db: Connection, id: number, row: Hashed<BarsRow> | undefined): void {
  const { hash, ...entry } = db
    .prepare(`SELECT hash, ${ENTRY_COLUMNS} FROM tickers WHERE id = ?`)
    .get(id) as Hashed<OldEntry>
  const name = { ticker: entry.ticker, timeframe: 'daily' } as const
  const insert = db.prepare(
    "INSERT INTO chunks (ticker_id, timeframe, part, chunk, columns) VALUES (?, 'daily', ?, ?, ?)",
  )
  const isSound = row !== undefined && row.hash === barsHash(entry.ticker, row, row.hash)
  const insertChunks = (part: BarPart, chunks: readonly Buffer[]): string => {
    const hashes = chunks.map((columns, i) => {
      insert.run(id, part, i, columns)
      return isSound ? chunkHash(name, part, i, columns) : UNKNOWN_HASH
    })
    return hashes.join('')
  }
  const hashes: Partial<Record<BarPart, string>> = {}
  if (row === undefined) hashes.prices = UNKNOWN_HASH.repeat(chunkEnds(entry.bars).length)
  else {
    const series = decodePrices([row.columns], row.unadjusted === null ? null : [row.unadjusted])
    const unadjusted = encodeUnadjusted(series)
    hashes.prices = insertChunks('prices', encodePrices(series))
    if (unadjusted !== null) hashes.unadjusted = insertChunks('unadjusted', unadjusted)
  }
  const chunks = JSON.stringify(hashes)
  const newHash = hash === entryHash(entry, hash) ? entryHash({ ...entry, chunks }) : NO_HASH
  db.prepare('UPDATE tickers SET chunks = ?, hash = ? WHERE id = ?').run(chunks, newHash, id)
}

/** The hash of a chunk whose original content is unknown. */
const UNKNOWN_HASH = '0'.repeat(CHECKSUM_LENGTH)
