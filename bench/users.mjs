// What a user waits for: whole processes over 505 tickers, each beside a bare node in the same round. A target, and the best
// that is hoped for, are seconds on two idle cores unless named otherwise.
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { FOLDER } from './folder.mjs'
import { measured, printed } from './measure.mjs'
import { python } from './peers.mjs'
import { copyOf, databaseOf, emptyPlace, importing, nextDay, simulated, universe } from './worlds.mjs'

const FIRST = fileURLToPath(new URL('./peers/first.py', import.meta.url))
const SEARCHES = fileURLToPath(new URL('./searches.mjs', import.meta.url))

export const BARE_NODE = { name: 'node -e 0', sampler: () => () => measured([process.execPath, '-e', '0']) }
const OVERSOLD = ['rsi_zone', '--band', 'oversold']
const QUESTION = ['AAPL', ...OVERSOLD]
const MARKET = (build, count) => simulated(build, count, 1250)

/** Rows by name; `sampler` prepares what a build needs, and gives what takes one sample. */
export const users = [
  row('U1', 'one more bar of each ticker', [{ seconds: 0.45 }, 0.25], oneMoreBar(universe)),
  large('U2', 'one more bar of each of 12,000', [{ cpu: 8 }, 4], oneMoreBar(thousands)),
  row('U3', 'import', [{ seconds: 1.1 }, 0.7], wholeImport(universe)),
  large('U4', 'import of 12,000', [{}], wholeImport(thousands)),
  row('U5', 'now', [{ seconds: 0.2 }, 0.12], asked('now', '--json')),
  row('U6-tally', 'tally --all', [{ seconds: 0.35 }, 0.15], asked('tally', 'rsi_zone', '--all', '--json')),
  row('U6-transitions', 'transitions --all', [{}], asked('transitions', 'rsi_zone', '--all', '--json')),
  row('U7', 'status', [{}], asked('status', '--json')),
  large('U7-market', 'status of 12,000', [{}], askedOf(thousands, 'status', '--json')),
  row('U8', 'export events as NDJSON', [{ seconds: 2.5 }, 1.2], asked('export', 'events')),
  row(
    'U9',
    'study --all',
    [{ seconds: 0.8 }, 0.5],
    asked('study', 'rsi_zone', '--all', '--band', 'oversold', '--json'),
  ),
  row('U10', 'sweep --all', [{ seconds: 3 }, 1.5], asked('sweep', '--all', '--json')),
  row('U11', 'scan oversold', [{}], asked('scan', 'oversold', '--json')),
  row('U12-now', 'now AAPL', [{ ratio: 1.35 }, 1.2], asked('now', 'AAPL')),
  row('U12-tally', 'tally AAPL', [{ ratio: 1.5 }, 1.2], asked('tally', ...QUESTION)),
  searches('U13', 'searches a second in a program', [{ rate: 60_000 }, 200_000], 'plain'),
  searches('U13-context', 'the same with context', [{ rate: 60_000 }, 200_000], 'context'),
  {
    ...large('U14', 'npm ci && npm run demo in a clone', [{ seconds: 30 }, 15], build => fromClone(build, true)),
    floor: { name: 'npm ci, no script', sampler: build => fromClone(build, false) },
  },
  {
    ...row('U16', 'the first answer from a raw file: import, tally --all', [{ seconds: 1.5 }, 0.9], firstAnswer),
    floor: { name: 'pandas, that answer alone', sampler: firstInPandas },
  },
  packed('U15', 'files of the package', [{}], 'files'),
  packed('U15-bytes', 'bytes of the package, unpacked', [{}], 'bytes'),
]

function row(name, what, [target, hope], sampler) {
  return { name, group: 'users', what, target, hope, of: 'wall', floor: BARE_NODE, sampler }
}

/** Measured only when it is named: it takes minutes and gigabytes of disk, or the registry. */
function large(name, what, targets, sampler) {
  return { ...row(name, what, targets, sampler), isLarge: true }
}

function thousands(build) {
  return MARKET(build, 12_000)
}

export function asked(...words) {
  return askedOf(universe, ...words)
}

export function askedOf(worldOf, ...words) {
  return build => {
    const db = databaseOf(build, worldOf(build))
    return () => measured(build.bands(...words, '--db', db))
  }
}

export function wholeImport(worldOf, words = []) {
  return build => {
    const world = worldOf(build)
    return () => measured(build.bands(...importing(world, emptyPlace()), ...words))
  }
}

function firstAnswer(build) {
  const world = universe()
  return () => {
    const db = emptyPlace()
    const load = build.bands(...importing(world, db))
    const ask = build.bands('tally', ...OVERSOLD, '--all', '--json', '--db', db)
    return measured(['sh', '-c', `${shellWords(load)} && ${shellWords(ask)}`])
  }
}

function shellWords(words) {
  return words.map(word => `'${word}'`).join(' ')
}

function firstInPandas() {
  const { file } = universe()
  const program = python('pandas')
  return () => measured([program, FIRST, file])
}

export function oneMoreBar(worldOf) {
  return async build => {
    const world = worldOf(build)
    const db = databaseOf(build, world)
    const next = await nextDay(world)
    return () => {
      const copy = copyOf(db)
      return measured(build.bands(...importing(next, copy)))
    }
  }
}

/** In one process, whose figure counts; its peer looks the same pages up in a table of rows. */
function searches(name, what, targets, kind) {
  const of = (build, ...words) => {
    const db = databaseOf(build, universe())
    return () => figured([process.execPath, SEARCHES, build.root, db, ...words])
  }
  return {
    ...row(name, what, targets, build => of(build, kind)),
    of: 'rate',
    floor: { name: 'rows by better-sqlite3', sampler: build => of(build, 'peer', eventsOf(build)) },
  }
}

/** A process that prints a figure of its own as JSON. */
export function figured(command) {
  const { text, ...cost } = measured(command, { capture: true })
  return { ...cost, ...JSON.parse(text) }
}

/** The daily events of one field as rows, in a database for others. */
export function eventsOf(build) {
  const file = join(FOLDER, 'events.csv')
  const db = databaseOf(build, universe())
  const words = ['export', 'events', '--field', 'rsi_zone', '--timeframe', 'daily', '--csv', '--db', db]
  measured(build.bands(...words), { out: file })
  return file
}

/** What a newcomer does first, and the same without compiling, building and the tour. */
function fromClone(build, isWhole) {
  const place = join(FOLDER, 'clone')
  const words = isWhole ? 'npm ci && npm run demo' : 'npm ci --ignore-scripts'
  return () => {
    rmSync(place, { recursive: true, force: true })
    mkdirSync(place)
    printed(['sh', '-c', `git -C "$0" archive HEAD | tar -x -C "$1"`, build.root, place])
    return measured(['sh', '-c', words], { cwd: place })
  }
}

/** What npm would publish; a count, which is the same each time. */
function packed(name, what, targets, key) {
  const sampler = build => () => {
    const [{ entryCount, unpackedSize }] = JSON.parse(
      printed(['npm', 'pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: build.root }),
    )
    return { files: entryCount, bytes: unpackedSize }
  }
  return { ...row(name, what, targets, sampler), of: key, floor: null, rounds: 1 }
}
