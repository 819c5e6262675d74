import { remedy, StorageError } from '../../errors.js'
import type { Database, Queries } from './connection.js'

/**
 * The schema, step by numbered step; `schema` in meta says how many a database has taken. A step is never edited once it
 * has been released: the next one mends it. The tables are those of a SQLite file, but that a ticker has no number: it
 * stands in every key, so that tables can be cut into partitions by it, on one server or on several. For the same reason
 * nothing refers to another table by itself.
 *
 * Columns lie as they are (EXTERNAL): packed numbers hardly get smaller, and what is not compressed can be read in part.
 * Names are compared by their bytes ("C"), as everywhere else in bands.
 */
export const STEPS: readonly string[] = [
  `
  -- schema; version: another one after each write; definitions, unsettled, pull: as in a SQLite file
  CREATE TABLE meta (
    key text COLLATE "C" PRIMARY KEY,
    value text NOT NULL
  );
  INSERT INTO meta VALUES ('bands', 'data'), ('version', gen_random_uuid());

  -- Who has the writing place, and in which session; it counts while that holds the lock
  CREATE TABLE writer (
    place integer PRIMARY KEY CHECK (place = 1),
    session integer NOT NULL,
    pid integer NOT NULL,
    host text NOT NULL,
    started text NOT NULL
  );

  CREATE TABLE tickers (
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
  CREATE INDEX tickers_by_last_date ON tickers (last_date);

  CREATE TABLE series (
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

  CREATE TABLE chunks (
    ticker text COLLATE "C" NOT NULL,
    timeframe text COLLATE "C" NOT NULL CHECK (timeframe IN ('daily', 'weekly')),
    part text COLLATE "C" NOT NULL CHECK (part IN ('prices', 'unadjusted', 'calendar', 'outcomes', 'events')),
    chunk integer NOT NULL,
    columns bytea NOT NULL,
    PRIMARY KEY (ticker, timeframe, part, chunk)
  );
  ALTER TABLE chunks ALTER COLUMN columns SET STORAGE EXTERNAL;

  CREATE TABLE facts (
    ticker text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    records integer NOT NULL,
    hash text NOT NULL,
    sheet text NOT NULL,
    PRIMARY KEY (ticker, kind)
  );
  CREATE INDEX facts_by_kind ON facts (kind);

  CREATE TABLE pulled (
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
  ALTER TABLE pulled ALTER COLUMN pages SET STORAGE EXTERNAL;
  CREATE INDEX pulled_by_known ON pulled (url, known);

  -- All that was written of tickers: bars, a kind of facts, or pulled events of a series
  CREATE TABLE listed (
    ticker text COLLATE "C" NOT NULL,
    what text COLLATE "C" NOT NULL,
    PRIMARY KEY (ticker, what)
  );
  `,
]

/** The tables that have rows of tickers, and all that take room. */
export const OF_TICKERS = ['tickers', 'series', 'chunks', 'facts', 'pulled', 'listed'] as const
const TABLES = ['meta', 'writer', ...OF_TICKERS]

/** Locks of bands in a database have this number; beside it that of a table, so that each schema in it has its own. */
export const LOCKS = 0x62616e64

/** Makes the tables, or takes the steps that they lack; one at a time. Throws StorageError. */
export async function makeCurrent(database: Database): Promise<void> {
  if ((await schemaOf(database, database)) === STEPS.length) return
  await database.transaction(async session => {
    await session.query('SELECT pg_advisory_xact_lock($1)', [LOCKS])
    const taken = await schemaOf(database, session)
    for (const step of STEPS.slice(taken)) await session.query(step)
    await session.query(
      "INSERT INTO meta VALUES ('schema', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
      [String(STEPS.length)],
    )
  })
}

/** Throws StorageError where there is nothing that could be asked. */
export async function checkCurrent(database: Database): Promise<void> {
  const { location } = database
  const schema = await schemaOf(database, database)
  if (schema === STEPS.length) return
  if (schema > 0) {
    const steps = `(schema ${schema}, this one needs ${STEPS.length})`
    throw new StorageError(`${location} was made by an older bands ${steps}; a rebuild brings it up to date`, {
      remedy: remedy('rebuild'),
    })
  }
  throw new StorageError(`${location} holds no data yet; an import makes the tables`, {
    remedy: remedy('import', ['FILE']),
  })
}

/** How many steps its tables have taken. Throws StorageError for those of other programs and of a later version. */
async function schemaOf({ location }: Database, session: Queries): Promise<number> {
  const [found] = await session.query<{ tables: string[] | null; encoding: string }>(
    `SELECT (SELECT array_agg(name) FROM unnest($1::text[]) name WHERE to_regclass(name) IS NOT NULL) AS tables,
       current_setting('server_encoding') AS encoding`,
    [TABLES],
  )
  const { tables, encoding } = found!
  if (encoding !== 'UTF8')
    throw new StorageError(`${location} is encoded as ${encoding}; bands needs a database in UTF8`)
  if (tables === null) return 0
  const marks = tables.includes('meta') ? await marksOf(session) : new Map<string, string>()
  if (marks.get('bands') !== 'data') {
    throw new StorageError(
      `${location} has tables of another program (${tables.join(', ')}); choose another database, or another schema by search_path`,
    )
  }
  const schema = Number(marks.get('schema'))
  if (schema <= STEPS.length) return schema
  throw new StorageError(
    `${location} was made by a newer bands (schema ${schema}, this one knows ${STEPS.length}); update bands`,
  )
}

/** A table of this name that another program made has other columns: then there are none. */
async function marksOf(session: Queries): Promise<Map<string, string>> {
  const [like] = await session.query<{ columns: string }>(
    `SELECT string_agg(attname, ' ' ORDER BY attnum) AS columns FROM pg_attribute
      WHERE attrelid = 'meta'::regclass AND attnum > 0 AND NOT attisdropped`,
  )
  if (like?.columns !== 'key value') return new Map()
  const rows = await session.query<{ key: string; value: string }>(
    "SELECT key, value::text FROM meta WHERE key IN ('bands', 'schema')",
  )
  return new Map(rows.map(({ key, value }) => [key, value]))
}

/** In bytes, indexes and what lies beside the tables with them. */
export async function sizeOf(session: Queries): Promise<number> {
  const [size] = await session.query<{ bytes: number }>(
    'SELECT sum(pg_total_relation_size(name::regclass))::bigint AS bytes FROM unnest($1::text[]) name',
    [TABLES],
  )
  return size!.bytes
}
