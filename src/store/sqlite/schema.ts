import { remedy } from '../../errors.js'
import { ENTRY_COLUMNS, type EntryRow } from '../content.js'
import type { DatabaseKind, Step } from './migrations.js'
import { chunkBars, hashContent } from './older.js'
import { takeOverPulled } from './pages.js'

/**
 * The schema, step by numbered step; `PRAGMA user_version` says how many steps a file has taken. A step is never edited
 * once it has been released: the next one mends it.
 *
 * Columns are packed in chunks of bars (codec.ts), which are about seven times faster to store than rows; a new bar changes
 * the last chunk alone. Events refer to bars by number, and what followed a bar is kept once a bar, whatever the number of
 * fields that changed on it.
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
      // Pages as a server told them, newest first: compressed JSON
      db.exec("ALTER TABLE pulled ADD COLUMN pages BLOB NOT NULL DEFAULT x''")
      takeOverPulled(db)
      for (const column of ['etag', 'told', 'under_way']) db.exec(`ALTER TABLE pulled DROP COLUMN ${column}`)
    },
  },
  `
  -- Which file brought which bars, in their order: JSON, [{source, format, importedAt, bars, jump?}]; NULL where all are of source
  ALTER TABLE tickers ADD COLUMN origins TEXT;
  `,
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
      hashContent(db)
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
        -- Columns of 256 bars, oldest first. prices: open, high, low, close, volume (double), day since 1970-01-01 (int32);
        -- unadjusted: close before dividend adjustment (double); calendar: day, of weeks also the day on which it is final
        -- (int32); outcomes: close (double), by window the rank of the return that ended on the bar (int32); events: of all
        -- fields together, how many fields, of each its events and its runs without a band, bars of events, first bar and
        -- end of runs (int32), bands, flips, stability (uint8), names of the fields
        CREATE TABLE chunks (
          ticker_id INTEGER NOT NULL REFERENCES tickers (id) ON DELETE CASCADE,
          timeframe TEXT NOT NULL CHECK (timeframe IN ('daily', 'weekly')),
          part TEXT NOT NULL CHECK (part IN ('prices', 'unadjusted', 'calendar', 'outcomes', 'events')),
          chunk INTEGER NOT NULL,
          columns BLOB NOT NULL,
          PRIMARY KEY (ticker_id, timeframe, part, chunk)
        ) STRICT;
      `)
      chunkBars(db)
      db.exec('DROP TABLE bars')
    },
  },
]

/** Bars, facts and events. */
export const DATA: DatabaseKind = {
  migrations: MIGRATIONS,
  table: 'tickers',
  made: remedy('import', ['FILE']),
  mend: 'import the files again into a new database',
  mode: 0o644,
}

/** What is said of tickers, to be read as rows of this kind. */
export const TICKERS = `SELECT id, hash, chunks, ${ENTRY_COLUMNS} FROM tickers`

export interface TickerRow extends EntryRow {
  id: number
  hash: string
}
