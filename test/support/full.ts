import { test } from 'vitest'

/**
 * How much is proven. `npm test` sets BANDS_FULL to 0: the quick run, which touches each room, each command and each door,
 * and is over in ninety seconds. `npm run test:full` sets it to 1: everything. A greater number draws that many times as much,
 * for a night (BANDS_FULL=10). Without it, which is how a file is run by its name, no file and no test is left out, and
 * proofs make the draws of a smoke.
 */
const TIMES = Number(process.env.BANDS_FULL ?? 0)

/** Whether everything is proven, and not a smoke of it. */
export const FULL = TIMES >= 1

/** Whether more is drawn than a proof needs, so that a table of what was found is worth printing. */
export const NIGHT = TIMES > 1

/** Whether this is the quick run. */
export const QUICK = process.env.BANDS_FULL === '0'

/** How many of so many draws are made: all of them, a twentieth in a smoke, and a sixtieth in the quick run. */
export function draws(all: number): number {
  return FULL ? Math.round(all * TIMES) : Math.ceil(all / (QUICK ? 60 : 20))
}

/** A test that a smoke of the draws would say nothing about: a rate, a share, a count of what is rare. */
export const provenInFull = test.runIf(FULL)

/** A test that the quick run leaves out: one of many alike, of which another stays, or one that takes seconds. */
export const notInQuick = test.skipIf(QUICK)

/** Rows of a table of tests that are alike: the quick run makes the first so many. */
export function firstInQuick<const Row>(rows: readonly Row[], count = 1): readonly Row[] {
  return QUICK ? rows.slice(0, count) : rows
}

/**
 * The proofs of which the quick run makes a smoke, because nothing else there would notice so soon: what is answered is
 * what was worked out in another way, and nothing looks ahead. Of other proofs it makes none.
 */
export const SMOKES = [
  'backtest/lookahead',
  'backtest/oracle',
  'backtest/properties',
  'canary',
  'cli/slips',
  'engine/as-of',
  'engine/chain',
  'engine/facts-laws',
  'engine/laws',
  'engine/oracle',
  'fields/contract',
  'language/arithmetic',
  'language/truth',
  'load/update',
  'report/browser',
  'report/command-line',
  'screen/screen',
  'study/properties',
  'tally/oracle',
  'wrong-calls',
].map(name => `test/${name}.proof.test.ts`)

/** What else the quick run leaves out, and what notices there when it breaks. */
export const LEFT_OUT: Readonly<Record<string, readonly string[]>> = {
  // Servers of databases that are started, killed, held up and compared. Newcomers belong here, too.
  'test/store/postgres/**': ['test/server/postgres.test.ts'],
  // Whole stores, compared after every step.
  'test/workers/same.test.ts': ['test/workers/threads.test.ts'],
  // Clusters of PostgreSQL and Ray as a page sets them up.
  'test/scale-out.test.ts': ['test/server/postgres.test.ts', 'test/workers/threads.test.ts'],
  // A cluster of Ray that is started, and killed in parts.
  'test/workers/cluster.test.ts': ['test/workers/threads.test.ts'],
  // Works that are stopped, disks that are full, processes that meet.
  'test/load/stopped.test.ts': ['test/load/import.test.ts'],
  'test/store/backup.test.ts': ['test/cli/backup.test.ts'],
  'test/store/making.test.ts': ['test/store/sqlite.test.ts'],
  'test/store/writer-lock.test.ts': ['test/store/sqlite.test.ts'],
  // Files that are made to hurt, or are larger than memory may be.
  'test/feeds/hostile.test.ts': ['test/feeds/dialects.test.ts'],
  'test/feeds/spill.test.ts': ['test/feeds/dialects.test.ts'],
  // Slow callers and long waits.
  'test/remote/waits.test.ts': ['test/remote/faults.test.ts'],
  // What is delivered, and how fast it is.
  'test/package.test.ts': ['test/library.test.ts'],
  'test/recipes.test.ts': ['test/cli/sql.test.ts'],
  'test/site.test.ts': ['test/docs.test.ts'],
  'test/release.test.ts': ['test/walls.test.ts'],
  'test/container.test.ts': ['test/cli/serve.test.ts'],
  'test/bench.test.ts': ['test/cli/contract.test.ts'],
}

/** The test files of this run. */
export const TEST_FILES = QUICK ? ['test/**/!(*.proof).test.ts', ...SMOKES] : ['test/**/*.test.ts']
/** Files that match and are no part of it. */
export const NO_TEST_FILES = QUICK ? Object.keys(LEFT_OUT) : []
