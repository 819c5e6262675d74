// A question from a cold start: whole processes beside a bare node, and what is left of one once node is up.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { FOLDER } from './folder.mjs'
import { measured } from './measure.mjs'
import { duckdbPeer } from './peers.mjs'
import { BARE_NODE, eventsOf } from './users.mjs'
import { databaseOf, universe } from './worlds.mjs'

const AFTER_BOOT = fileURLToPath(new URL('./after-boot.cjs', import.meta.url))
const LEAST = fileURLToPath(new URL('./least-question.cjs', import.meta.url))
const QUESTION = ['events', 'AAPL', 'rsi_zone', '--band', 'oversold']

export const cold = [
  row('C1', 'events … --json', [{ ratio: 1.2 }, 1.12], asked(...QUESTION, '--json')),
  row('C1-memory', 'its peak memory', [{}], asked(...QUESTION, '--json'), { of: 'peak', samplesOf: 'C1' }),
  row('C2-table', 'events … as a table', [{ ratio: 1.25 }, 1.1], asked(...QUESTION)),
  row('C2-help', '--help', [{ ratio: 1.02 }, 1.01], said('--help')),
  row('C2-version', '--version', [{ ratio: 1.02 }, 1.01], said('--version')),
  row('C2-completion', 'completion bash', [{ ratio: 1.12 }, 1.1], said('completion', 'bash')),
  row('C4', 'events … --json', [{}], asked(...QUESTION, '--json'), {
    floor: { name: 'the same rows in a DuckDB file', sampler: inDuckDb },
  }),
  {
    ...row('C3', 'milliseconds of events … --json after boot', [{}], afterBoot),
    of: 'ms',
    floor: { name: 'SQLite opened, one row read and printed', sampler: leastQuestion },
  },
]

function row(name, what, [target, hope], sampler, more = {}) {
  return { name, group: 'cold', what, target, hope, of: 'wall', floor: BARE_NODE, sampler, ...more }
}

/** Of whatever is loaded nothing is needed. */
function said(...words) {
  return build => () => measured(build.bands(...words))
}

function asked(...words) {
  return build => {
    const db = databaseOf(build, universe())
    return () => measured(build.bands(...words, '--db', db))
  }
}

function inDuckDb(build) {
  const file = join(FOLDER, 'events.duckdb')
  rmSync(file, { force: true })
  measured(duckdbPeer(file, eventsOf(build)))
  return () => measured(duckdbPeer(file, 'AAPL'))
}

function afterBoot(build) {
  const db = databaseOf(build, universe())
  return () => timed(build.bands(...QUESTION, '--json', '--db', db))
}

function leastQuestion(build) {
  const db = databaseOf(build, universe())
  return () => timed([process.execPath, LEAST, build.root, db])
}

/** The last line that such a process prints is its time. */
function timed([node, ...words]) {
  const { text, ...cost } = measured([node, '--require', AFTER_BOOT, ...words], { capture: true })
  return { ...cost, ms: Number(text.trimEnd().split('\n').at(-1)) }
}
