import { type Remedy, remedy } from '../../../core/errors.js'
import { DAY_MS, HOUR_MS, REPEAT_MS, RETENTION_DAYS } from '../accounts.js'
import { BATCH_BYTES, chargeFunctionSql } from './charging.js'
import type { SchemaKind } from './steps.js'

/**
 * Rolls up the oldest day that is due: one row per account replaces its ledger rows and hourly counters. If none is
 * due, it deletes days beyond the retention. Only one server does this at a time. Deletion cannot be undone, so the
 * database's own clock limits it, too.
 */
const ROLL_UP = `
CREATE FUNCTION bands_accounts.roll_up(single_from bigint, days_from bigint)
RETURNS TABLE (rows bigint, days bigint, is_over boolean)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
AS $$
DECLARE
  now_day bigint := (extract(epoch FROM clock_timestamp()) * 1000)::bigint / ${DAY_MS} * ${DAY_MS};
  oldest bigint;
  found bigint;
BEGIN
  rows := 0; days := 0; is_over := true;
  IF NOT pg_try_advisory_xact_lock(hashtextextended('bands_accounts.roll_up', 0)) THEN RETURN NEXT; RETURN; END IF;
  IF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  single_from := least(single_from, now_day - ${REPEAT_MS});
  days_from := least(days_from, now_day - ${RETENTION_DAYS * DAY_MS});

  -- Whose hours are still counted has not been rolled up.
  SELECT min(o.start - o.start % ${DAY_MS}) INTO oldest FROM bands_accounts.accounts a, LATERAL (
    SELECT c.start FROM bands_accounts.counters c
    WHERE c.account = a.account AND c.period = 'hour' AND c.start < single_from ORDER BY c.start LIMIT 1
  ) AS o;
  IF oldest IS NOT NULL THEN
    WITH gone AS (
      DELETE FROM bands_accounts.batches b WHERE b.hour >= oldest AND b.hour < oldest + ${DAY_MS}
      RETURNING b.account, b.lines
    ), single AS (
      SELECT g.account, split_part(line, E'\\t', 4)::bigint AS credits FROM gone g, string_to_table(g.lines, E'\\n') AS line
    ), kept AS (
      INSERT INTO bands_accounts.days AS d (account, start, credits, requests)
      SELECT s.account, oldest, sum(s.credits), count(*) FROM single s GROUP BY 1
      ON CONFLICT (account, start)
        DO UPDATE SET credits = d.credits + excluded.credits, requests = d.requests + excluded.requests
    )
    SELECT count(*) INTO rows FROM single;
    DELETE FROM bands_accounts.counters c USING bands_accounts.accounts a
    WHERE c.account = a.account AND c.period = 'hour' AND c.start >= oldest AND c.start < oldest + ${DAY_MS};
    is_over := false;
    RETURN NEXT;
    RETURN;
  END IF;

  DELETE FROM bands_accounts.days d USING bands_accounts.accounts a WHERE d.account = a.account AND d.start < days_from;
  GET DIAGNOSTICS days = ROW_COUNT;
  DELETE FROM bands_accounts.counters c USING bands_accounts.accounts a
  WHERE c.account = a.account AND c.period = 'day' AND c.start < days_from;
  GET DIAGNOSTICS found = ROW_COUNT;
  -- Of a server whose clock was years behind, after its day had been rolled up.
  IF found > 0 THEN DELETE FROM bands_accounts.batches b WHERE b.hour < days_from; END IF;
  RETURN NEXT;
END
$$;
`

/** SQLSTATE for a watch list that would get too long. */
export const WATCH_LIST_TOO_LONG = 'BA001'

/** Changes the watch list of an account, one call at a time, and returns it. */
const WATCH = `
CREATE FUNCTION bands_accounts.watch(of_account text, added text[], removed text[], most int) RETURNS text[]
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  last bigint;
BEGIN
  PERFORM 1 FROM bands_accounts.books b WHERE b.account = of_account FOR UPDATE;
  DELETE FROM bands_accounts.watched w WHERE w.account = of_account AND w.ticker = ANY (removed);
  SELECT coalesce(max(w.place), 0) INTO last FROM bands_accounts.watched w WHERE w.account = of_account;
  INSERT INTO bands_accounts.watched (account, place, ticker)
  SELECT of_account, last + min(a.n), a.ticker FROM unnest(added) WITH ORDINALITY AS a(ticker, n)
  WHERE a.ticker <> ALL (removed) GROUP BY a.ticker
  ON CONFLICT (account, ticker) DO NOTHING;
  IF (SELECT count(*) FROM bands_accounts.watched w WHERE w.account = of_account) > most THEN
    RAISE EXCEPTION 'too long' USING ERRCODE = '${WATCH_LIST_TOO_LONG}';
  END IF;
  RETURN coalesce((SELECT array_agg(w.ticker ORDER BY w.place) FROM bands_accounts.watched w
    WHERE w.account = of_account), '{}');
END
$$;
`

/** SQL that stores ledger rows; those of one account and hour become one row. @param from SQL of the rows, named `l` */
export function insertBatchesSql(from: string): string {
  const line = "concat_ws(E'\\t', l.request, l.key, l.endpoint, l.credits, l.at)"
  return `INSERT INTO bands_accounts.batches (account, hour, batch, lines)
    SELECT l.account, l.at - l.at % ${HOUR_MS}, substring(sha256(convert_to(min(l.request), 'UTF8')) FOR ${BATCH_BYTES}), string_agg(${line}, E'\\n' ORDER BY l.request)
    FROM ${from} GROUP BY 1, 2`
}

const DEFAULT_CREATE_COMMAND = remedy('accounts create', ['NAME'], { tier: 'free' })

/**
 * The schema of accounts, keys and their usage. The folded name identifies an account, and never changes. It is part of
 * every primary key, as `account`. So the growing tables can be partitioned or sharded by it, and rows can move to
 * another database unchanged. The id of an account is valid in one database only.
 *
 * accounts, keys, changes and secrets are small and read everywhere; books, batches, counters and named are large. No
 * foreign key connects the two groups, because it could not reach across shards.
 *
 * Charging needs no right to write any table: the functions do it as their owner. All times are milliseconds since
 * 1970.
 *
 * @param partitions of the growing tables, by account; 1: whole tables
 * @param createCommand the command that creates the accounts, for messages
 */
export function accountsSchema(partitions = 1, createCommand: Remedy = DEFAULT_CREATE_COMMAND): SchemaKind {
  const createTable = (table: string, columns: string, options = ''): string => {
    const name = `bands_accounts.${table}`
    if (partitions === 1) return `CREATE TABLE ${name} (${columns})${options};`
    const statements = [`CREATE TABLE ${name} (${columns}) PARTITION BY HASH (account);`]
    for (let i = 0; i < partitions; i++) {
      const values = `WITH (MODULUS ${partitions}, REMAINDER ${i})`
      statements.push(`CREATE TABLE ${name}_${i} PARTITION OF ${name} FOR VALUES ${values}${options};`)
    }
    return statements.join('\n')
  }
  // Leaves room on each page: a row that is updated in place needs no new index entry.
  const halfFullPages = ' WITH (fillfactor = 50)'
  return {
    schema: 'bands_accounts',
    missingMessage: location => `there are no accounts in ${location}.`,
    createCommand,
    steps: [
      {
        since: 1,
        expand: 'accounts, keys, the ledger and its counters',
        sql: `
      CREATE TABLE bands_accounts.accounts (
        account text COLLATE "C" PRIMARY KEY,
        id bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
        name text NOT NULL,
        tier text NOT NULL CHECK (tier IN ('free', 'plus', 'pro')),
        created bigint NOT NULL
      );

      -- hash: SHA-256 of the whole key, which itself is nowhere; made: their order
      CREATE TABLE bands_accounts.keys (
        identity text COLLATE "C" PRIMARY KEY,
        made bigint GENERATED ALWAYS AS IDENTITY,
        hash text NOT NULL CHECK (length(hash) = 64),
        account text COLLATE "C" NOT NULL REFERENCES bands_accounts.accounts,
        name text NOT NULL,
        created bigint NOT NULL,
        expires bigint,
        last_used bigint,
        revoked bigint
      )${halfFullPages};
      CREATE INDEX keys_by_account ON bands_accounts.keys (account);

      -- One row: how often accounts and keys were changed
      CREATE TABLE bands_accounts.changes (count bigint NOT NULL)${halfFullPages};
      INSERT INTO bands_accounts.changes VALUES (0);

      -- What tags of answers are keyed with: 244 bits of the server's own strong generator
      CREATE TABLE bands_accounts.secrets (use text PRIMARY KEY, secret bytea NOT NULL);
      INSERT INTO bands_accounts.secrets
        VALUES ('tags', sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')));

      -- One row an account: who charges it locks this first
      ${createTable('books', 'account text COLLATE "C" PRIMARY KEY', halfFullPages)}

      -- One row an answer that was charged, until its day is rolled up; request: the server's own number of it, later ones higher
      ${createTable(
        'ledger',
        `account text COLLATE "C" NOT NULL,
        request text COLLATE "C" NOT NULL,
        key text NOT NULL,
        endpoint text NOT NULL,
        credits bigint NOT NULL CHECK (credits > 0),
        at bigint NOT NULL CHECK (at >= 0),
        PRIMARY KEY (account, request)`,
      )}

      -- The sums of the ledger by day and by hour, kept with it in one transaction
      ${createTable(
        'counters',
        `account text COLLATE "C" NOT NULL,
        period text COLLATE "C" NOT NULL CHECK (period IN ('day', 'hour')),
        start bigint NOT NULL,
        credits bigint NOT NULL,
        requests bigint NOT NULL,
        PRIMARY KEY (account, period, start)`,
        halfFullPages,
      )}

      -- Requests that their callers named. All three hashes are SHA-256.
      ${createTable(
        'named',
        `account text COLLATE "C" NOT NULL,
        name bytea NOT NULL,
        question bytea NOT NULL,
        answer bytea NOT NULL,
        at bigint NOT NULL,
        PRIMARY KEY (account, name)`,
      )}
      CREATE INDEX named_by_age ON bands_accounts.named (at);

      CREATE FUNCTION bands_accounts.try_writing() RETURNS void
      LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
      AS 'UPDATE bands_accounts.changes SET count = count';

      `,
      },
      {
        since: 2,
        expand: 'days, which the ledger is rolled up into',
        contract: 'the charging function of schema 1',
        sql: `
      -- One row an account and a day whose rows of the ledger were added up and removed
      ${createTable(
        'days',
        `account text COLLATE "C" NOT NULL,
        start bigint NOT NULL,
        credits bigint NOT NULL,
        requests bigint NOT NULL,
        PRIMARY KEY (account, start)`,
      )}
      -- Rows lie in the order of their time, or nearly so: such an index costs next to nothing
      CREATE INDEX ledger_by_time ON bands_accounts.ledger USING brin (at) WITH (autosummarize = on);

      DROP FUNCTION IF EXISTS bands_accounts.charge(
        text[], text[], text[], bytea[], bytea[], bytea[], text[], bigint[], bigint[], bigint[], bigint[], boolean);
      `,
      },
      {
        since: 3,
        expand: 'batches, with one row for the charges of an account, and charge',
        contract: 'the table ledger, whose rows go into batches, and the charging function of schema 2',
        sql: `
      -- One row a batch of charges, an account and an hour, until its day is rolled up. batch: the first bytes of the SHA-256
      -- of its first request; lines: one an answer, of request, key, endpoint, credits and time, with tabs between
      ${createTable(
        'batches',
        `account text COLLATE "C" NOT NULL,
        hour bigint NOT NULL,
        batch bytea NOT NULL,
        lines text NOT NULL,
        PRIMARY KEY (account, hour, batch)`,
      )}
      -- Rows lie in the order of their time, or nearly so: such an index costs next to nothing
      CREATE INDEX batches_by_time ON bands_accounts.batches USING brin (hour) WITH (autosummarize = on);
      ${insertBatchesSql('(SELECT * FROM bands_accounts.ledger) AS l')};
      DROP TABLE bands_accounts.ledger;

      -- One row an answer that was charged; request: the server's own number of it, later ones higher
      CREATE VIEW bands_accounts.ledger AS
      SELECT b.account, b.hour, b.batch, l.place, split_part(l.line, E'\\t', 1) COLLATE "C" AS request,
        split_part(l.line, E'\\t', 2) AS key, split_part(l.line, E'\\t', 3) AS endpoint,
        split_part(l.line, E'\\t', 4)::bigint AS credits, split_part(l.line, E'\\t', 5)::bigint AS at
      FROM bands_accounts.batches b, string_to_table(b.lines, E'\\n') WITH ORDINALITY AS l(line, place);

      DROP FUNCTION IF EXISTS bands_accounts.charge(
        text[], text[], text[], bytea[], bytea[], bytea[], text[], bigint[], bigint[], bigint[], bigint[], boolean,
        text[], bigint[], bigint[], bigint[], bigint[], bigint[]);
      DROP FUNCTION IF EXISTS bands_accounts.roll_up(bigint, bigint);
      ${chargeFunctionSql('charge', 'latest')}
      ${ROLL_UP}
      REVOKE ALL ON ALL FUNCTIONS IN SCHEMA bands_accounts FROM PUBLIC;
      `,
      },
      {
        since: 3,
        expand: 'charge_v2, next to charge: the age of request names counts by the clock of the database',
        sql: chargeFunctionSql('charge_v2', 'least(latest, (extract(epoch FROM now()) * 1000)::bigint)'),
      },
      {
        since: 3,
        expand: 'watched, the watch list of each account, and watch, which changes it',
        sql: `
      -- In the order of place
      ${createTable(
        'watched',
        `account text COLLATE "C" NOT NULL,
        place bigint NOT NULL,
        ticker text NOT NULL,
        PRIMARY KEY (account, place),
        UNIQUE (account, ticker)`,
      )}
      ${WATCH}
      REVOKE ALL ON FUNCTION bands_accounts.watch FROM PUBLIC;
      `,
      },
    ],
  }
}
