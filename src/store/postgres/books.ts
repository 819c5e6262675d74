import { createHash } from 'node:crypto'
import { DAY_MS, DAYS_KEPT, HOUR_MS, REPEAT_MS } from '../../accounts/accounts.js'
import { remedy } from '../../errors.js'
import type { SchemaKind } from './steps.js'

/**
 * Writes a batch of charges down, all or none; what became of each. Charges come as runs: those of one account and one hour,
 * under the same limits and with no name twice, in their order, a line each, as they are kept. Accounts are locked in the
 * order of their names, so that two batches never wait for each other. Statements after the lock see all that was committed
 * before it was had. What is granted is written in one statement a table.
 *
 * An account is plain where it has one run, whose sum is within the limits, and nobody used its names before. All of it is
 * granted at once: its lines are kept as they came, and one row, without a line, tells what the account had used before. The
 * charges of the others are looked at one after the other, in their order, with the sums of what went before.
 *
 * batch: what it is known by, and none was before
 * again: this batch was sent before, and how that ended is not known; what was written then counts as charged now.
 * alone: the run is the only one of its account
 * n_…: of charges that their callers named, with the run and the line
 * k_…: keys whose last use is to be told, by account
 */
const CHARGE = `
CREATE FUNCTION bands_accounts.charge(
  batch bytea, again boolean, latest bigint,
  accounts text[], lines text[], costs bigint[], counts bigint[], hours bigint[],
  day_limits bigint[], hour_limits bigint[], alone boolean[],
  n_run bigint[], n_line bigint[], n_name bytea[], n_question bytea[], n_answer bytea[], n_at bigint[],
  k_account text[], k_key text[], k_minute bigint[]
) RETURNS TABLE (run bigint, line bigint, outcome text, day bigint, hour bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
-- A plan that was made while a table was small is used when it is large. How many lines a row has is not known: many are
-- guessed, for which code would be compiled, a hundred times as long as the lines that there are take.
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
AS $$
#variable_conflict use_column
DECLARE
  one record;
  same record;
  book text;
  day_now bigint;
  hour_now bigint;
  granted bigint := 0;
  used text[];
  -- Runs of accounts that are plain, and what those had used
  p_run bigint[] := '{}'; p_account text[] := '{}'; p_day bigint[]; p_hour bigint[];
  -- What is granted to others, column by column, and from which place on it is of this account
  g_account text[] := '{}'; g_line text[] := '{}'; g_key text[] := '{}'; g_cost bigint[] := '{}'; g_at bigint[] := '{}';
  g_name bytea[] := '{}'; g_question bytea[] := '{}'; g_answer bytea[] := '{}';
  own_from int := 1;
BEGIN
  PERFORM set_config('lock_timeout', '5s', true);
  -- What is acknowledged is on the disk, whatever the server's default is.
  IF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;

  PERFORM FROM bands_accounts.books b WHERE b.account = ANY (accounts) ORDER BY b.account FOR UPDATE;
  GET DIAGNOSTICS granted = ROW_COUNT;
  IF granted <> (SELECT count(DISTINCT a) FROM unnest(accounts) AS a) THEN
    RAISE EXCEPTION 'an account is not there' USING ERRCODE = 'foreign_key_violation';
  END IF;
  granted := 0;

  IF NOT again THEN
    IF cardinality(n_run) > 0 THEN
      SELECT array_agg(n.account) INTO used
      FROM unnest(n_run, n_name) AS c(run, name)
      JOIN bands_accounts.named n ON n.account = accounts[c.run] AND n.name = c.name;
    END IF;
    SELECT coalesce(array_agg(r.run), '{}'), coalesce(array_agg(r.account), '{}'),
      array_agg(r.day_credits), array_agg(r.hour_credits), coalesce(sum(r.count), 0)
    INTO p_run, p_account, p_day, p_hour, granted
    FROM (
      SELECT r.*, coalesce(d.credits, 0) AS day_credits, coalesce(h.credits, 0) AS hour_credits
      FROM unnest(accounts, costs, counts, hours, day_limits, hour_limits, alone)
        WITH ORDINALITY AS r(account, cost, count, hour, day_limit, hour_limit, alone, run)
      LEFT JOIN bands_accounts.counters d
        ON d.account = r.account AND d.period = 'day' AND d.start = r.hour - r.hour % ${DAY_MS}
      LEFT JOIN bands_accounts.counters h ON h.account = r.account AND h.period = 'hour' AND h.start = r.hour
    ) AS r
    WHERE r.alone AND r.day_credits + r.cost <= r.day_limit AND r.hour_credits + r.cost <= r.hour_limit
      AND (used IS NULL OR r.account <> ALL (used));
  END IF;

  IF granted > 0 THEN
    RETURN QUERY SELECT p.run, NULL::bigint, 'charged', p.day, p.hour FROM unnest(p_run, p_day, p_hour) AS p(run, day, hour);

    INSERT INTO bands_accounts.batches (account, hour, batch, lines)
    SELECT r.account, r.hour, charge.batch, r.lines
    FROM unnest(accounts, hours, lines) WITH ORDINALITY AS r(account, hour, lines, run) WHERE r.run = ANY (p_run);

    INSERT INTO bands_accounts.counters AS c (account, period, start, credits, requests)
    SELECT r.account, p.period, r.hour - r.hour % p.length, r.cost, r.count
    FROM unnest(accounts, hours, costs, counts) WITH ORDINALITY AS r(account, hour, cost, count, run),
      (VALUES ('day', ${DAY_MS}), ('hour', ${HOUR_MS})) AS p(period, length)
    WHERE r.run = ANY (p_run)
    ON CONFLICT (account, period, start)
      DO UPDATE SET credits = c.credits + excluded.credits, requests = c.requests + excluded.requests;

    IF cardinality(n_run) > 0 THEN
      INSERT INTO bands_accounts.named (account, name, question, answer, at)
      SELECT accounts[n.run], n.name, n.question, n.answer, n.at
      FROM unnest(n_run, n_name, n_question, n_answer, n_at) AS n(run, name, question, answer, at)
      WHERE n.run = ANY (p_run);
    END IF;
  END IF;

  IF cardinality(p_run) < cardinality(accounts) THEN
    FOR one IN
      SELECT c.*, c.at - c.at % ${DAY_MS} AS day_start, c.at - c.at % ${HOUR_MS} AS hour_start,
        coalesce(d.credits, 0) AS day_credits, coalesce(h.credits, 0) AS hour_credits,
        n.question AS same_question, n.answer AS same_answer, before.request IS NOT NULL AS is_written,
        c.name IS NOT NULL AND count(*) OVER (PARTITION BY c.account, c.name) > 1 AS is_shared
      FROM (
        SELECT r.account, r.run, r.day_limit, r.hour_limit, e.line, e.place, split_part(e.line, E'\\t', 1) AS request,
          split_part(e.line, E'\\t', 2) AS key, split_part(e.line, E'\\t', 4)::bigint AS cost,
          split_part(e.line, E'\\t', 5)::bigint AS at, g.name, g.question, g.answer
        FROM unnest(accounts, lines, day_limits, hour_limits)
          WITH ORDINALITY AS r(account, lines, day_limit, hour_limit, run)
        CROSS JOIN string_to_table(r.lines, E'\\n') WITH ORDINALITY AS e(line, place)
        LEFT JOIN unnest(n_run, n_line, n_name, n_question, n_answer) AS g(run, place, name, question, answer)
          ON g.run = r.run AND g.place = e.place
        WHERE r.account <> ALL (p_account)
      ) AS c
      LEFT JOIN bands_accounts.counters d
        ON d.account = c.account AND d.period = 'day' AND d.start = c.at - c.at % ${DAY_MS}
      LEFT JOIN bands_accounts.counters h
        ON h.account = c.account AND h.period = 'hour' AND h.start = c.at - c.at % ${HOUR_MS}
      LEFT JOIN bands_accounts.named n
        ON n.account = c.account AND n.name = c.name AND n.at > c.at - ${REPEAT_MS}
      LEFT JOIN LATERAL (
        SELECT l.request FROM bands_accounts.ledger l
        WHERE again AND l.account = c.account AND l.hour = c.at - c.at % ${HOUR_MS} AND l.batch = charge.batch
          AND l.request = c.request
      ) AS before ON true
      ORDER BY c.account, c.run, c.place
    LOOP
      IF book IS DISTINCT FROM one.account THEN
        book := one.account;
        day_now := NULL;
        own_from := cardinality(g_at) + 1;
      END IF;
      IF day_now IS DISTINCT FROM one.day_start OR hour_now IS DISTINCT FROM one.hour_start THEN
        -- Another day or hour than the charge before: with what this batch has added to it.
        day_now := one.day_start;
        hour_now := one.hour_start;
        SELECT one.day_credits + coalesce(sum(g.cost) FILTER (WHERE g.at - g.at % ${DAY_MS} = day_now), 0),
          one.hour_credits + coalesce(sum(g.cost) FILTER (WHERE g.at - g.at % ${HOUR_MS} = hour_now), 0)
        INTO day, hour
        FROM unnest(g_cost[own_from:], g_at[own_from:]) AS g(cost, at);
      END IF;

      IF one.is_shared THEN
        -- Two of this batch have one name: the last that was granted counts, before what is in the table.
        SELECT g.question, g.answer INTO same
        FROM unnest(g_name[own_from:], g_question[own_from:], g_answer[own_from:], g_at[own_from:])
          WITH ORDINALITY AS g(name, question, answer, at, place)
        WHERE g.name = one.name AND g.at > one.at - ${REPEAT_MS} ORDER BY g.place DESC LIMIT 1;
        IF FOUND THEN
          one.same_question := same.question;
          one.same_answer := same.answer;
        END IF;
      END IF;

      run := one.run;
      line := one.place;
      IF one.is_written THEN
        outcome := 'charged';
      ELSIF one.same_question <> one.question THEN
        outcome := 'conflict';
      ELSIF one.same_answer = one.answer THEN
        outcome := 'repeated';
      ELSIF day + one.cost > one.day_limit OR hour + one.cost > one.hour_limit THEN
        outcome := 'limited';
      ELSE
        outcome := 'charged';
        day := day + one.cost;
        hour := hour + one.cost;
        granted := granted + 1;
        g_account := g_account || one.account;
        g_line := g_line || one.line;
        g_key := g_key || one.key;
        g_cost := g_cost || one.cost;
        g_at := g_at || one.at;
        g_name := array_append(g_name, one.name);
        g_question := array_append(g_question, one.question);
        g_answer := array_append(g_answer, one.answer);
      END IF;
      RETURN NEXT;
    END LOOP;
  END IF;
  IF granted = 0 THEN RETURN; END IF;

  IF cardinality(g_at) > 0 THEN
    -- What is there already stays, where that was sent before; where it was not, nothing may be there, nor in its place.
    INSERT INTO bands_accounts.batches AS b (account, hour, batch, lines)
    SELECT g.account, g.at - g.at % ${HOUR_MS}, charge.batch, string_agg(g.line, E'\\n' ORDER BY g.place)
    FROM unnest(g_account, g_at, g_line) WITH ORDINALITY AS g(account, at, line, place) GROUP BY 1, 2
    ON CONFLICT (account, hour, batch)
      DO UPDATE SET lines = CASE WHEN again THEN b.lines || E'\\n' || excluded.lines END;

    INSERT INTO bands_accounts.counters AS c (account, period, start, credits, requests)
    SELECT g.account, p.period, g.at - g.at % p.length, sum(g.cost), count(*)
    FROM unnest(g_account, g_cost, g_at) AS g(account, cost, at),
      (VALUES ('day', ${DAY_MS}), ('hour', ${HOUR_MS})) AS p(period, length)
    GROUP BY 1, 2, 3
    ON CONFLICT (account, period, start)
      DO UPDATE SET credits = c.credits + excluded.credits, requests = c.requests + excluded.requests;

    INSERT INTO bands_accounts.named (account, name, question, answer, at)
    SELECT DISTINCT ON (g.account, g.name) g.account, g.name, g.question, g.answer, g.at
    FROM unnest(g_account, g_name, g_question, g_answer, g_at)
      WITH ORDINALITY AS g(account, name, question, answer, at, place)
    WHERE g.name IS NOT NULL ORDER BY g.account, g.name, g.place DESC
    ON CONFLICT (account, name)
      DO UPDATE SET question = excluded.question, answer = excluded.answer, at = excluded.at;
  END IF;

  IF cardinality(k_key) > 0 THEN
    UPDATE bands_accounts.keys k SET last_used = t.minute
    FROM (
      SELECT u.key, max(u.minute) AS minute FROM (
        SELECT key, minute FROM unnest(k_account, k_key, k_minute) AS p(account, key, minute) WHERE account = ANY (p_account)
        UNION ALL SELECT key, at - at % 60000 FROM unnest(g_key, g_at) AS g(key, at)
      ) AS u GROUP BY 1
    ) AS t
    WHERE k.identity = t.key AND coalesce(k.last_used, 0) < t.minute;
  END IF;

  -- A few names at a time, and more than come in; what another batch has in hand is left to a later one.
  DELETE FROM bands_accounts.named n USING (
    SELECT e.account, e.name FROM bands_accounts.named e
    WHERE e.at <= latest - ${REPEAT_MS}
    ORDER BY e.at LIMIT 2 * granted FOR UPDATE SKIP LOCKED
  ) AS expired
  WHERE n.account = expired.account AND n.name = expired.name;
END
$$;
`

/**
 * Rolls up the oldest day that is to be, in one call: its rows become one row an account, and its hours are counted no
 * more. Where there is none left, what is older than what is kept goes. One at a time: another one that is at it has no
 * less to do. Both bounds are held against the database's own clock, since what goes is gone.
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
  days_from := least(days_from, now_day - ${DAYS_KEPT * DAY_MS});

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

/** By so many bytes of a hash a batch is known: a whole number of a request would be a third of its row. */
const BATCH_BYTES = 12

/** What a batch is known by. @param request the number of its first */
export function batchName(request: string): Buffer {
  return createHash('sha256').update(request).digest().subarray(0, BATCH_BYTES)
}

/** Puts rows of a ledger, `l`, where they are kept: some of one account and hour in one. */
export function putBatches(from: string): string {
  const line = "concat_ws(E'\\t', l.request, l.key, l.endpoint, l.credits, l.at)"
  return `INSERT INTO bands_accounts.batches (account, hour, batch, lines)
    SELECT l.account, l.at - l.at % ${HOUR_MS}, substring(sha256(convert_to(min(l.request), 'UTF8')) FOR ${BATCH_BYTES}), string_agg(${line}, E'\\n' ORDER BY l.request)
    FROM ${from} GROUP BY 1, 2`
}

/**
 * Accounts, keys and what they used, in a schema of their own. An account is known by its name, folded, which never
 * changes: `account` stands in every key, so that what is written at every request can be spread over partitions or
 * shards by it, and be moved to another database as it is. Its number is an attribute for programs, good in one database.
 *
 * accounts, keys, changes and secrets are few rows that are read everywhere; books, batches, counters and named are the
 * many. Nothing of one of them refers to the other by a foreign key, which would not reach over shards.
 *
 * Whoever charges needs no right to write any of it: the functions do that as their owner. All times are milliseconds
 * since 1970.
 *
 * @param partitions of the tables that grow, by account; whole tables where it is 0
 */
export function booksIn(partitions: number): SchemaKind {
  const spread = (table: string, columns: string, options = ''): string => {
    const name = `bands_accounts.${table}`
    if (partitions === 0) return `CREATE TABLE ${name} (${columns})${options};`
    const parts = Array.from(
      { length: partitions },
      (_, i) =>
        `CREATE TABLE ${name}_${i} PARTITION OF ${name} FOR VALUES WITH (MODULUS ${partitions}, REMAINDER ${i})${options};`,
    )
    return [`CREATE TABLE ${name} (${columns}) PARTITION BY HASH (account);`, ...parts].join('\n')
  }
  // What changes in place finds room on its page, so that its index stays as it is.
  const roomy = ' WITH (fillfactor = 50)'
  return {
    schema: 'bands_accounts',
    none: location => `there are no accounts in ${location}.`,
    made: remedy('accounts create', ['NAME'], { tier: 'free' }),
    steps: [
      `
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
      )${roomy};
      CREATE INDEX keys_by_account ON bands_accounts.keys (account);

      -- One row: how often accounts and keys were changed
      CREATE TABLE bands_accounts.changes (count bigint NOT NULL)${roomy};
      INSERT INTO bands_accounts.changes VALUES (0);

      -- What tags of answers are keyed with: 244 bits of the server's own strong generator
      CREATE TABLE bands_accounts.secrets (use text PRIMARY KEY, secret bytea NOT NULL);
      INSERT INTO bands_accounts.secrets
        VALUES ('tags', sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')));

      -- One row an account: who charges it locks this first
      ${spread('books', 'account text COLLATE "C" PRIMARY KEY', roomy)}

      -- One row an answer that was charged, until its day is rolled up; request: the server's own number of it, later ones higher
      ${spread(
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
      ${spread(
        'counters',
        `account text COLLATE "C" NOT NULL,
        period text COLLATE "C" NOT NULL CHECK (period IN ('day', 'hour')),
        start bigint NOT NULL,
        credits bigint NOT NULL,
        requests bigint NOT NULL,
        PRIMARY KEY (account, period, start)`,
        roomy,
      )}

      -- Requests that their callers named. All three hashes are SHA-256.
      ${spread(
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
      `
      -- One row an account and a day whose rows of the ledger were added up and removed
      ${spread(
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
      `
      -- One row a batch of charges, an account and an hour, until its day is rolled up. batch: the first bytes of the SHA-256
      -- of its first request; lines: one an answer, of request, key, endpoint, credits and time, with tabs between
      ${spread(
        'batches',
        `account text COLLATE "C" NOT NULL,
        hour bigint NOT NULL,
        batch bytea NOT NULL,
        lines text NOT NULL,
        PRIMARY KEY (account, hour, batch)`,
      )}
      -- Rows lie in the order of their time, or nearly so: such an index costs next to nothing
      CREATE INDEX batches_by_time ON bands_accounts.batches USING brin (hour) WITH (autosummarize = on);
      ${putBatches('(SELECT * FROM bands_accounts.ledger) AS l')};
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
      ${CHARGE}
      ${ROLL_UP}
      REVOKE ALL ON ALL FUNCTIONS IN SCHEMA bands_accounts FROM PUBLIC;
      `,
    ],
  }
}
