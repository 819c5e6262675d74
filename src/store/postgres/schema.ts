import { remedy, StorageError } from '../../errors.js'
import type { Database, Queries } from './connection.js'
import { prepareSchema, type SchemaKind, stepsTaken } from './steps.js'

/**
 * The schema, step by numbered step. A step is never edited once it has been released: the next one mends it. The tables
 * are those of a SQLite file, but that a ticker has no number: it
 * stands in every key, so that tables can be cut into partitions by it, on one server or on several. For the same reason
 * nothing refers to another table by itself.
 *
 * Columns lie as they are (EXTERNAL): packed numbers hardly get smaller, and what is not compressed can be read in part.
 * Names are compared by their bytes ("C"), as everywhere else in bands.
 */
export const STEPS: readonly string[] = [
  `
  -- version: another one after each write; definitions, unsettled, pull: as in a SQLite file
  CREATE TABLE bands_data.meta (
    key text COLLATE "C" PRIMARY KEY,
    value text NOT NULL
  );
  INSERT INTO bands_data.meta VALUES ('version', gen_random_uuid());

  -- Who has the writing place, and in which session; it counts while that holds the lock
  CREATE TABLE bands_data.writer (
    place integer PRIMARY KEY CHECK (place = 1),
    session integer NOT NULL,
    pid integer NOT NULL,
    host text NOT NULL,
    started text NOT NULL
  );

  CREATE TABLE bands_data.tickers (
    ticker text COLLATE "C" PRIMARY KEY,
    asset_class text CHECK (asset_class IN ('stock', 'crypto', 'etf')),
    prices text NOT NULL CHECK (prices IN ('raw', 'adjusted')),
    bars integer NOT NULL CHECK (bars > 0),
    first_date text NOT NULL,
    last_date text COLLATE "C" NOT NULL,
    source text NOT NULL,
    format text NOT NULL,
    imported_at text NOT NULL,
    origins text,
    chunks text NOT NULL,
    hash text NOT NULL
  );
  CREATE INDEX tickers_by_last_date ON bands_data.tickers (last_date);

  CREATE TABLE bands_data.series (
    ticker text COLLATE "C" NOT NULL,
    timeframe text COLLATE "C" NOT NULL CHECK (timeframe IN ('daily', 'weekly')),
    bars integer NOT NULL,
    final_date text NOT NULL,
    events integer NOT NULL,
    events_on_last integer NOT NULL,
    fields text NOT NULL,
    marks text,
    chunks text NOT NULL,
    hash text NOT NULL,
    PRIMARY KEY (ticker, timeframe)
  );

  CREATE TABLE bands_data.chunks (
    ticker text COLLATE "C" NOT NULL,
    timeframe text COLLATE "C" NOT NULL CHECK (timeframe IN ('daily', 'weekly')),
    part text COLLATE "C" NOT NULL CHECK (part IN ('prices', 'unadjusted', 'calendar', 'outcomes', 'events')),
    chunk integer NOT NULL,
    columns bytea NOT NULL,
    PRIMARY KEY (ticker, timeframe, part, chunk)
  );
  ALTER TABLE bands_data.chunks ALTER COLUMN columns SET STORAGE EXTERNAL;

  CREATE TABLE bands_data.facts (
    ticker text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    records integer NOT NULL,
    hash text NOT NULL,
    sheet text NOT NULL,
    PRIMARY KEY (ticker, kind)
  );
  CREATE INDEX facts_by_kind ON bands_data.facts (kind);

  CREATE TABLE bands_data.pulled (
    ticker text COLLATE "C" NOT NULL,
    timeframe text COLLATE "C" NOT NULL CHECK (timeframe IN ('daily', 'weekly')),
    field text COLLATE "C" NOT NULL,
    url text NOT NULL,
    pulled_at text NOT NULL,
    as_of text,
    known text COLLATE "C" NOT NULL,
    state text NOT NULL CHECK (state IN ('complete', 'partial', 'mixed')),
    query_range text NOT NULL,
    total_occurrences bigint NOT NULL,
    events integer NOT NULL,
    hash text NOT NULL,
    pages bytea NOT NULL,
    PRIMARY KEY (ticker, timeframe, field)
  );
  ALTER TABLE bands_data.pulled ALTER COLUMN pages SET STORAGE EXTERNAL;
  CREATE INDEX pulled_by_known ON bands_data.pulled (url, known);

  -- All that was written of tickers: bars, a kind of facts, or pulled events of a series
  CREATE TABLE bands_data.listed (
    ticker text COLLATE "C" NOT NULL,
    what text COLLATE "C" NOT NULL,
    PRIMARY KEY (ticker, what)
  );
  `,
  // What a question asks of all tickers: where these lie on other servers, it is a table beside them (shards.ts).
  'CREATE VIEW bands_data.days AS SELECT * FROM bands_data.tickers',
  // Every question looks for the newest bar, and nearly all tickers end on one day: without their names all are sorted.
  `DROP INDEX IF EXISTS bands_data.tickers_by_last_date;
  CREATE INDEX tickers_by_last_date ON bands_data.tickers (last_date, ticker)`,
]

/** The tables that have rows of tickers. */
export const OF_TICKERS = ['tickers', 'series', 'chunks', 'facts', 'pulled', 'listed'] as const

/** Bars, facts and events. */
const DATA: SchemaKind = {
  schema: 'bands_data',
  none: location => `there is no database of bands at ${location}.`,
  made: remedy('import', ['FILE']),
  steps: STEPS,
}

/** Throws NotFound where there are no tables and none are to be made, and StorageError for those of a newer bands. */
export async function prepareData(
  database: Database,
  { make, laidOut }: { make: boolean; laidOut?: SchemaKind['laidOut'] },
): Promise<void> {
  if (make) await checkEncoding(database)
  await prepareSchema(database, { ...DATA, ...(laidOut && { laidOut }) }, { make })
}

/** How many steps its tables have taken; null: there are none. */
export function dataSchema(database: Queries): Promise<number | null> {
  return stepsTaken(database, DATA)
}

/** A name of a file may have any letter. */
async function checkEncoding({ location, query }: Database): Promise<void> {
  const [found] = await query<{ encoding: string }>("SELECT current_setting('server_encoding') AS encoding")
  if (found!.encoding === 'UTF8') return
  throw new StorageError(
    `${location} is encoded as ${found!.encoding}, and bands needs a database in UTF8; createdb makes one of template0`,
  )
}

/** In bytes, indexes and what lies beside the tables with them. */
export async function sizeOf(session: Queries): Promise<number> {
  const [size] = await session.query<{ bytes: number }>(
    `SELECT sum(pg_total_relation_size(oid))::bigint AS bytes FROM pg_class
      WHERE relnamespace = 'bands_data'::regnamespace AND relkind = 'r'`,
  )
  return size!.bytes
}
