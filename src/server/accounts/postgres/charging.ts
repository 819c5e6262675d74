import { createHash } from 'node:crypto'
import { StorageError } from '../../../core/errors.js'
import {
  type Charge,
  type ChargeResult,
  DAY_MS,
  HOUR_MS,
  hourStart,
  MINUTE_MS,
  REPEAT_MS,
  type UsedCredits,
} from '../accounts.js'
import { type Database, keepPrepared } from './connection.js'

/**
 * Writes a batch of charges in one call; returns the result of each, in order. The database gets them as runs: charges
 * of one account and hour. Throws StorageError if two charges have the same request number.
 * @param accountNames the stored name of the account of each charge
 * @param wasSent whether the batch was sent before, with unknown result
 */
export async function chargeBatch(
  db: Pick<Database, 'query'>,
  charges: readonly Charge[],
  accountNames: readonly string[],
  { wasSent, timeoutMs }: { wasSent: boolean; timeoutMs: number },
): Promise<ChargeResult[]> {
  const runs = splitIntoRuns(charges, accountNames)
  const rows = await db.query<ChargedRow>(CHARGE, chargeArguments(charges, runs, wasSent), timeoutMs)
  return resultsInOrder(rows, runs, charges.length)
}

/** Charges of one account and hour, under the same limits, and with no request name twice. */
interface ChargeRun {
  account: string
  hour: number
  limits: Charge['limits']
  /** In order, each with its index in the batch. */
  charges: { index: number; charge: Charge }[]
  requestNames: Set<string>
}

/**
 * Splits charges into runs: charges of one account and hour, under the same limits, with no request name twice. In
 * their order, each charge joins the latest run of its account, or begins a new one if it does not fit.
 * @param accountNames the stored name of the account of each charge
 */
function splitIntoRuns(charges: readonly Charge[], accountNames: readonly string[]): ChargeRun[] {
  if (new Set(charges.map(({ requestId }) => requestId)).size < charges.length)
    throw new StorageError('two charges of one batch have the same number')
  const runs: ChargeRun[] = []
  const latestRuns = new Map<string, ChargeRun>()
  for (const [index, charge] of charges.entries()) {
    const account = accountNames[index]!
    const hour = hourStart(charge.at)
    const { limits } = charge
    const requestName = charge.idempotency?.toString('latin1')
    let run = latestRuns.get(account)
    const hasSameHourAndLimits = run?.hour === hour && run.limits.day === limits.day && run.limits.hour === limits.hour
    const isNameTaken = requestName !== undefined && run?.requestNames.has(requestName) === true
    if (run === undefined || !hasSameHourAndLimits || isNameTaken) {
      run = { account, hour, limits, charges: [], requestNames: new Set() }
      runs.push(run)
      latestRuns.set(account, run)
    }
    run.charges.push({ index, charge })
    if (requestName !== undefined) run.requestNames.add(requestName)
  }
  return runs
}

/**
 * The result of one charge: `line` is its position in its run, and `run` the position of that; both count from 1. If
 * `line` is null, all charges of the run were written, and the credits are those used before the run.
 */
interface ChargedRow extends UsedCredits {
  run: number
  line: number | null
  outcome: ChargeResult['outcome']
}

/**
 * The result of each charge, in the order of the batch.
 * @param rows the results of the database; a row is that of one charge, or of a run whose charges were all written
 * @param count the number of charges
 */
function resultsInOrder(rows: readonly ChargedRow[], runs: readonly ChargeRun[], count: number): ChargeResult[] {
  const results = new Array<ChargeResult>(count)
  for (const { run, line, outcome, day, hour } of rows) {
    const { charges } = runs[run - 1]!
    const isOneCharge = line !== null
    if (isOneCharge) {
      const { index } = charges[line - 1]!
      results[index] = { outcome, usedCredits: { day, hour } }
      continue
    }
    // The whole run was written, and the row has the credits used before it.
    const used = { day, hour }
    for (const { index, charge } of charges) {
      used.day += charge.credits
      used.hour += charge.credits
      results[index] = { outcome, usedCredits: { ...used } }
    }
  }
  return results
}

function ledgerLine({ requestId, key, endpoint, credits, at }: Charge): string {
  return `${requestId}\t${key}\t${endpoint}\t${credits}\t${at}`
}

/**
 * The arguments of the charging function in the order of its parameters. A run is sent as text with a line for each
 * charge; the runs, and the lines of each, are numbered from 1.
 * @param wasSent whether the batch was sent before, with unknown result
 */
function chargeArguments(charges: readonly Charge[], runs: readonly ChargeRun[], wasSent: boolean): unknown[] {
  const runCounts = new Map<string, number>()
  /** The minute of the last charge of each key, in milliseconds since 1970. */
  const lastUses = new Map<string, { account: string; key: string; minute: number }>()
  for (const run of runs) {
    const { account } = run
    runCounts.set(account, (runCounts.get(account) ?? 0) + 1)
    for (const { charge } of run.charges) {
      const { key, at } = charge
      const minute = Math.max(at - (at % MINUTE_MS), lastUses.get(key)?.minute ?? 0)
      lastUses.set(key, { account, key, minute })
    }
  }
  const keyUses = [...lastUses.values()]
  const namedCharges: { run: number; line: number; charge: Charge }[] = []
  for (const [runIndex, run] of runs.entries())
    for (const [lineIndex, { charge }] of run.charges.entries())
      if (charge.idempotency !== null) namedCharges.push({ run: runIndex + 1, line: lineIndex + 1, charge })
  return [
    batchId(charges[0]!.requestId), // batch
    wasSent, // again
    Math.max(...charges.map(({ at }) => at)), // latest
    runs.map(({ account }) => account), // accounts
    runs.map(run => run.charges.map(({ charge }) => ledgerLine(charge)).join('\n')), // lines
    runs.map(run => run.charges.reduce((sum, { charge }) => sum + charge.credits, 0)), // costs
    runs.map(run => run.charges.length), // counts
    runs.map(({ hour }) => hour), // hours
    runs.map(({ limits }) => limits.day), // day_limits
    runs.map(({ limits }) => limits.hour), // hour_limits
    runs.map(({ account }) => runCounts.get(account) === 1), // alone: the only run of its account
    namedCharges.map(({ run }) => run), // n_run
    namedCharges.map(({ line }) => line), // n_line
    namedCharges.map(({ charge }) => charge.idempotency), // n_name
    namedCharges.map(({ charge }) => charge.question), // n_question
    namedCharges.map(({ charge }) => charge.answer), // n_answer
    namedCharges.map(({ charge }) => charge.at), // n_at
    keyUses.map(({ account }) => account), // k_account
    keyUses.map(({ key }) => key), // k_key
    keyUses.map(({ minute }) => minute), // k_minute
  ]
}

/**
 * The charging function that this build calls. A change of its parameters or its effect gets the next version, in a
 * schema step of its own. That step keeps the version before, because servers of the release before call it.
 */
export const CHARGE_FUNCTION = 'charge_v2'

const CHARGE = keepPrepared(`SELECT run, line, outcome, day, hour FROM bands_accounts.${CHARGE_FUNCTION}(
  $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)`)

/** Bytes of the hash that identifies a batch; a request id would be a third of its row. */
export const BATCH_BYTES = 12

/** Identifies a batch. @param request the number of its first request */
function batchId(request: string): Buffer {
  return createHash('sha256').update(request).digest().subarray(0, BATCH_BYTES)
}

/**
 * Writes a batch of charges, all or none, and returns the result of each. Charges come as runs. A run belongs to one
 * account and one hour, under the same limits, with no name twice; it has one line per charge, as stored. Accounts are
 * locked in the order of their names, so two batches never deadlock. Statements after the lock see everything
 * committed before it. Granted charges are written with one statement per table. Two versions charge at the same time
 * during an update, so each version locks the same rows and keeps the same tables.
 *
 * An account is plain if it has one run, the sum is within the limits, and its names are new. Such a run is granted at
 * once: its lines are written before its account is locked. One result row, without a line, shows the usage before it.
 * Charges of other accounts are checked one by one, in order, with running sums.
 *
 * - batch: identifies the batch, none was before
 * - again: this batch was sent before with unknown result; charges written then count as charged now
 * - alone: the run is the only one of its account
 * - n_…: charges that their callers named, with run and line
 * - k_…: keys whose last use is updated, by account
 *
 * @param name of the function, with its version
 * @param latest SQL of the time from which the age of request names counts; not volatile, or no index would be used
 */
export function chargeFunctionSql(name: string, latest: string): string {
  return `
CREATE FUNCTION bands_accounts.${name}(
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
  rows bigint;
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

  -- Before others have to wait: what turns out not to be granted at once is taken out again.
  IF NOT again THEN
    INSERT INTO bands_accounts.batches (account, hour, batch, lines)
    SELECT r.account, r.hour, ${name}.batch, r.lines
    FROM unnest(accounts, hours, lines, alone) AS r(account, hour, lines, alone) WHERE r.alone;
  END IF;

  PERFORM FROM bands_accounts.books b WHERE b.account = ANY (accounts) ORDER BY b.account FOR UPDATE;
  GET DIAGNOSTICS rows = ROW_COUNT;
  IF rows <> (SELECT count(DISTINCT a) FROM unnest(accounts) AS a) THEN
    RAISE EXCEPTION 'an account is not there' USING ERRCODE = 'foreign_key_violation';
  END IF;

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

    -- Nearly all are there: to find that out by an insert that fails costs half as much again.
    UPDATE bands_accounts.counters c SET credits = c.credits + r.cost, requests = c.requests + r.count
    FROM unnest(accounts, hours, costs, counts) WITH ORDINALITY AS r(account, hour, cost, count, run),
      (VALUES ('day', ${DAY_MS}), ('hour', ${HOUR_MS})) AS p(period, length)
    WHERE r.run = ANY (p_run) AND c.account = r.account AND c.period = p.period AND c.start = r.hour - r.hour % p.length;
    GET DIAGNOSTICS rows = ROW_COUNT;
    IF rows < 2 * cardinality(p_run) THEN
      INSERT INTO bands_accounts.counters (account, period, start, credits, requests)
      SELECT r.account, p.period, r.hour - r.hour % p.length, r.cost, r.count
      FROM unnest(accounts, hours, costs, counts) WITH ORDINALITY AS r(account, hour, cost, count, run),
        (VALUES ('day', ${DAY_MS}), ('hour', ${HOUR_MS})) AS p(period, length)
      WHERE r.run = ANY (p_run) AND NOT EXISTS (
        SELECT FROM bands_accounts.counters c
        WHERE c.account = r.account AND c.period = p.period AND c.start = r.hour - r.hour % p.length);
    END IF;

    IF cardinality(n_run) > 0 THEN
      INSERT INTO bands_accounts.named (account, name, question, answer, at)
      SELECT accounts[n.run], n.name, n.question, n.answer, n.at
      FROM unnest(n_run, n_name, n_question, n_answer, n_at) AS n(run, name, question, answer, at)
      WHERE n.run = ANY (p_run);
    END IF;
  END IF;

  IF cardinality(p_run) < cardinality(accounts) THEN
    IF NOT again THEN
      DELETE FROM bands_accounts.batches b USING unnest(accounts, hours, alone) WITH ORDINALITY AS r(account, hour, alone, run)
      WHERE r.alone AND r.run <> ALL (p_run) AND b.account = r.account AND b.hour = r.hour AND b.batch = ${name}.batch;
    END IF;
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
        WHERE again AND l.account = c.account AND l.hour = c.at - c.at % ${HOUR_MS} AND l.batch = ${name}.batch
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
    SELECT g.account, g.at - g.at % ${HOUR_MS}, ${name}.batch, string_agg(g.line, E'\\n' ORDER BY g.place)
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
        UNION ALL SELECT key, at - at % ${MINUTE_MS} FROM unnest(g_key, g_at) AS g(key, at)
      ) AS u GROUP BY 1
    ) AS t
    WHERE k.identity = t.key AND coalesce(k.last_used, 0) < t.minute;
  END IF;

  -- A few names at a time, and more than come in; what another batch has in hand is left to a later one.
  DELETE FROM bands_accounts.named n USING (
    SELECT e.account, e.name FROM bands_accounts.named e
    WHERE e.at <= ${latest} - ${REPEAT_MS}
    ORDER BY e.at LIMIT 2 * granted FOR UPDATE SKIP LOCKED
  ) AS expired
  WHERE n.account = expired.account AND n.name = expired.name;
END
$$;
`
}
