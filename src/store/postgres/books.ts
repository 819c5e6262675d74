import { DAY_MS, DAYS_KEPT, HOUR_MS, REPEAT_MS } from '../../accounts/accounts.js'
import { remedy } from '../../errors.js'
import type { SchemaKind } from './steps.js'

/**
 * Writes a batch of charges down, all or none; what became of each, numbered as they came. Accounts are locked in the order
 * of their names, so that two batches never wait for each other. Statements after the lock see all that was committed
 * before it was had. What is granted is written in one statement a table.
 *
 * The caller adds up what of its charges is all of one hour and account, under the same limits, and no name twice: such an
 * account is plain where its sum is within the limits and nobody used its names before. All of it is granted at once, and
 * one row tells what it had used before. The others are taken one after the other: within one of them the charges are
 * looked at in their order, with the sums of what went before.
 *
 * again: this batch was sent before, and how that ended is not known; what was written then counts as charged now.
 */
const CHARGE = `
CREATE FUNCTION bands_accounts.charge(
  accounts text[], keys text[], requests text[], names bytea[], questions bytea[], answers bytea[], endpoints text[],
  costs bigint[], day_limits bigint[], hour_limits bigint[], moments bigint[], again boolean,
  s_accounts text[], s_costs bigint[], s_requests bigint[], s_hours bigint[], s_day_limits bigint[], s_hour_limits bigint[]
) RETURNS TABLE (place bigint, owner text, outcome text, day bigint, hour bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
-- A plan that was made while a table was small is used when it is large.
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
  one record;
  same record;
  book text;
  day_now bigint;
  hour_now bigint;
  found_books bigint;
  -- What is granted, column by column, and from which place on it is of this account
  g_account text[] := '{}'; g_key text[] := '{}'; g_request text[] := '{}'; g_name bytea[] := '{}';
  g_question bytea[] := '{}'; g_answer bytea[] := '{}'; g_endpoint text[] := '{}';
  g_cost bigint[] := '{}'; g_at bigint[] := '{}';
  granted int := 0;
  own_from int := 1;
  used text[];
  -- Accounts that are plain, what they had used, and the sums of what is granted to them
  p_account text[]; p_day bigint[]; p_hour bigint[]; p_start bigint[]; p_cost bigint[]; p_requests bigint[];
  plain_charges bigint;
BEGIN
  PERFORM set_config('lock_timeout', '5s', true);
  -- What is acknowledged is on the disk, whatever the server's default is.
  IF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;

  SELECT count(*) INTO found_books FROM (
    SELECT b.account FROM bands_accounts.books b WHERE b.account = ANY (accounts) ORDER BY b.account FOR UPDATE
  ) AS locked;
  IF found_books <> (SELECT count(DISTINCT a) FROM unnest(accounts) AS a) THEN
    RAISE EXCEPTION 'an account is not there' USING ERRCODE = 'foreign_key_violation';
  END IF;

  IF NOT again THEN
    SELECT array_agg(DISTINCT n.account) INTO used
    FROM unnest(accounts, names) AS c(account, name)
    JOIN bands_accounts.named n ON n.account = c.account AND n.name = c.name;

    SELECT array_agg(s.account), array_agg(s.day_credits), array_agg(s.hour_credits), array_agg(s.hour),
      array_agg(s.cost), array_agg(s.requests), sum(s.requests)
    INTO p_account, p_day, p_hour, p_start, p_cost, p_requests, plain_charges
    FROM (
      SELECT s.*, coalesce(d.credits, 0) AS day_credits, coalesce(h.credits, 0) AS hour_credits
      FROM unnest(s_accounts, s_costs, s_requests, s_hours, s_day_limits, s_hour_limits)
        AS s(account, cost, requests, hour, day_limit, hour_limit)
      LEFT JOIN bands_accounts.counters d
        ON d.account = s.account AND d.period = 'day' AND d.start = s.hour - s.hour % ${DAY_MS}
      LEFT JOIN bands_accounts.counters h ON h.account = s.account AND h.period = 'hour' AND h.start = s.hour
    ) AS s
    WHERE s.day_credits + s.cost <= s.day_limit AND s.hour_credits + s.cost <= s.hour_limit
      AND (used IS NULL OR s.account <> ALL (used));
  END IF;

  IF p_account IS NOT NULL THEN
    RETURN QUERY SELECT NULL::bigint, p.account, 'charged', p.day, p.hour
      FROM unnest(p_account, p_day, p_hour) AS p(account, day, hour);
    IF plain_charges = cardinality(accounts) THEN
      g_account := accounts; g_key := keys; g_request := requests; g_name := names;
      g_question := questions; g_answer := answers; g_endpoint := endpoints; g_cost := costs; g_at := moments;
    ELSE
      SELECT array_agg(c.account), array_agg(c.key), array_agg(c.request), array_agg(c.name), array_agg(c.question),
        array_agg(c.answer), array_agg(c.endpoint), array_agg(c.cost), array_agg(c.at)
      INTO g_account, g_key, g_request, g_name, g_question, g_answer, g_endpoint, g_cost, g_at
      FROM unnest(accounts, keys, requests, names, questions, answers, endpoints, costs, moments)
        AS c(account, key, request, name, question, answer, endpoint, cost, at)
      WHERE c.account = ANY (p_account);
    END IF;
    granted := plain_charges;

    INSERT INTO bands_accounts.counters AS c (account, period, start, credits, requests)
    SELECT s.account, p.period, s.hour - s.hour % p.length, s.cost, s.requests
    FROM unnest(p_account, p_start, p_cost, p_requests) AS s(account, hour, cost, requests),
      (VALUES ('day', ${DAY_MS}), ('hour', ${HOUR_MS})) AS p(period, length)
    ON CONFLICT (account, period, start)
      DO UPDATE SET credits = c.credits + excluded.credits, requests = c.requests + excluded.requests;
  END IF;
  plain_charges := granted;

  FOR one IN
    SELECT c.*, c.at - c.at % ${DAY_MS} AS day_start, c.at - c.at % ${HOUR_MS} AS hour_start,
      coalesce(d.credits, 0) AS day_credits, coalesce(h.credits, 0) AS hour_credits,
      n.question AS same_question, n.answer AS same_answer, before.request IS NOT NULL AS is_written,
      c.name IS NOT NULL AND count(*) OVER (PARTITION BY c.account, c.name) > 1 AS is_shared
    FROM unnest(accounts, keys, requests, names, questions, answers, endpoints, costs, day_limits, hour_limits, moments)
      WITH ORDINALITY AS c(account, key, request, name, question, answer, endpoint, cost, day_limit, hour_limit, at, place)
    LEFT JOIN bands_accounts.counters d
      ON d.account = c.account AND d.period = 'day' AND d.start = c.at - c.at % ${DAY_MS}
    LEFT JOIN bands_accounts.counters h
      ON h.account = c.account AND h.period = 'hour' AND h.start = c.at - c.at % ${HOUR_MS}
    LEFT JOIN bands_accounts.named n
      ON n.account = c.account AND n.name = c.name AND n.at > c.at - ${REPEAT_MS}
    LEFT JOIN LATERAL (
      SELECT l.request FROM bands_accounts.ledger l WHERE again AND l.account = c.account AND l.request = c.request
    ) AS before ON true
    WHERE plain_charges < cardinality(accounts) AND (p_account IS NULL OR c.account <> ALL (p_account))
    ORDER BY c.account, c.place
  LOOP
    IF book IS DISTINCT FROM one.account THEN
      book := one.account;
      day_now := NULL;
      own_from := granted + 1;
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

    place := one.place;
    owner := one.account;
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
      g_key := g_key || one.key;
      g_request := g_request || one.request;
      g_name := array_append(g_name, one.name);
      g_question := array_append(g_question, one.question);
      g_answer := array_append(g_answer, one.answer);
      g_endpoint := g_endpoint || one.endpoint;
      g_cost := g_cost || one.cost;
      g_at := g_at || one.at;
    END IF;
    RETURN NEXT;
  END LOOP;
  IF granted = 0 THEN RETURN; END IF;

  INSERT INTO bands_accounts.ledger (account, request, key, endpoint, credits, at)
  SELECT * FROM unnest(g_account, g_request, g_key, g_endpoint, g_cost, g_at);

  IF granted > plain_charges THEN
    own_from := plain_charges + 1;
    INSERT INTO bands_accounts.counters AS c (account, period, start, credits, requests)
    SELECT g.account, p.period, g.at - g.at % p.length, sum(g.cost), count(*)
    FROM unnest(g_account[own_from:], g_cost[own_from:], g_at[own_from:]) AS g(account, cost, at),
      (VALUES ('day', ${DAY_MS}), ('hour', ${HOUR_MS})) AS p(period, length)
    GROUP BY 1, 2, 3
    ON CONFLICT (account, period, start)
      DO UPDATE SET credits = c.credits + excluded.credits, requests = c.requests + excluded.requests;
  END IF;

  INSERT INTO bands_accounts.named (account, name, question, answer, at)
  SELECT DISTINCT ON (g.account, g.name) g.account, g.name, g.question, g.answer, g.at
  FROM unnest(g_account, g_name, g_question, g_answer, g_at)
    WITH ORDINALITY AS g(account, name, question, answer, at, place)
  WHERE g.name IS NOT NULL ORDER BY g.account, g.name, g.place DESC
  ON CONFLICT (account, name)
    DO UPDATE SET question = excluded.question, answer = excluded.answer, at = excluded.at;

  -- Writing each use of a key would double what is written; a minute is near enough.
  UPDATE bands_accounts.keys k SET last_used = t.minute
  FROM (SELECT g.key, max(g.at - g.at % 60000) AS minute FROM unnest(g_key, g_at) AS g(key, at) GROUP BY 1) AS t
  WHERE k.identity = t.key AND coalesce(k.last_used, 0) < t.minute;

  -- A few names at a time, and more than come in; what another batch has in hand is left to a later one.
  DELETE FROM bands_accounts.named n USING (
    SELECT e.account, e.name FROM bands_accounts.named e
    WHERE e.at <= (SELECT max(a) FROM unnest(g_at) AS a) - ${REPEAT_MS}
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
SET enable_hashjoin = off SET enable_mergejoin = off
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
      DELETE FROM bands_accounts.ledger l WHERE l.at >= oldest AND l.at < oldest + ${DAY_MS}
      RETURNING l.account, l.credits
    ), kept AS (
      INSERT INTO bands_accounts.days AS d (account, start, credits, requests)
      SELECT g.account, oldest, sum(g.credits), count(*) FROM gone g GROUP BY 1
      ON CONFLICT (account, start)
        DO UPDATE SET credits = d.credits + excluded.credits, requests = d.requests + excluded.requests
    )
    SELECT count(*) INTO rows FROM gone;
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
  IF found > 0 THEN DELETE FROM bands_accounts.ledger l WHERE l.at < days_from; END IF;
  RETURN NEXT;
END
$$;
`

/**
 * Accounts, keys and what they used, in a schema of their own. An account is known by its name, folded, which never
 * changes: `account` stands in every key, so that what is written at every request can be spread over partitions or
 * shards by it, and be moved to another database as it is. Its number is an attribute for programs, good in one database.
 *
 * accounts, keys, changes and secrets are few rows that are read everywhere; books, ledger, counters and named are the
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
      ${CHARGE}
      ${ROLL_UP}
      REVOKE ALL ON ALL FUNCTIONS IN SCHEMA bands_accounts FROM PUBLIC;
      `,
    ],
  }
}
