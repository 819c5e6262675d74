// Data in PostgreSQL beside data in a file, by the same words; and one question beside the least that its driver can do, in
// one process over one connection. BENCH_POSTGRES names a database whose data may be replaced.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { bundled, onPostgres } from './charges.mjs'
import { measured } from './measure.mjs'
import { databaseOf, emptyPlace, importing, tickersOf, universe } from './worlds.mjs'

const QUESTIONS = 500
const FIELDS = ['rsi_zone', 'trend_direction', 'macd_state', 'volume_ratio_band']

export const postgres = [
  question('P2-point', 'ms, a question of one ticker, nothing kept from the last', { cacheBytes: 0 }),
  question('P2-kept', 'ms, the same from a program that keeps what it has read, as programs and servers do', {}),
  {
    ...common('P3-tally', 'tally --all', { ratio: 4 }, build => tally(build, filled(build))),
    floor: { name: 'SQLite', sampler: build => tally(build, databaseOf(build, universe())) },
  },
  {
    ...common('P4-import', 'import', { ratio: 2 }, importIntoPostgres),
    floor: {
      name: 'SQLite',
      sampler: build => () => measured(build.bands(...importing(universe(), emptyPlace()))),
    },
  },
]

function common(name, what, target, sampler) {
  return { name, group: 'postgres', what, target, of: 'wall', rounds: 5, sampler }
}

/** @param ways how the database is opened */
function question(name, what, ways) {
  return {
    ...common(name, what, { ratio: 2.5 }, build => pointQuestions(build, ways)),
    of: 'took',
    floor: { name: "the driver's prepared SELECT 1", sampler: roundTrips },
  }
}

const made = new Map()

/** The database with the universe in it, and nothing else of bands' data. */
async function filled(build) {
  const url = onPostgres()
  if (!made.has(build.root))
    made.set(
      build.root,
      emptied(build).then(() => measured(build.bands(...importing(universe(), url)))),
    )
  await made.get(build.root)
  return url
}

export async function emptied(build) {
  const client = await connected(build)
  await client.query('DROP SCHEMA IF EXISTS bands_data CASCADE')
  await client.end()
}

export async function connected(build) {
  const { Client } = createRequire(join(build.root, 'package.json'))('pg')
  const client = new Client({ connectionString: onPostgres() })
  await client.connect()
  return client
}

async function pointQuestions(build, ways) {
  const url = await filled(build)
  const tickers = tickersOf(build, url)
  const { openBands } = await bundled(build.root, `export { openBands } from './src/client.js'`)
  const bands = await openBands({ db: url, ledger: false, ...ways })
  const ask = i =>
    bands.events({ ticker: tickers[(i * 37) % tickers.length], field: FIELDS[i % FIELDS.length], limit: 1 + (i % 3) })
  return Object.assign(() => timed(ask), { end: () => bands.close() })
}

async function roundTrips(build) {
  const client = await connected(build)
  return Object.assign(() => timed(() => client.query({ name: 'one', text: 'SELECT 1' })), { end: () => client.end() })
}

/** Milliseconds of each, one after the other. */
async function timed(ask) {
  for (let i = 0; i < QUESTIONS; i++) await ask(i)
  const start = performance.now()
  for (let i = 0; i < QUESTIONS; i++) await ask(i)
  return { took: (performance.now() - start) / QUESTIONS }
}

async function tally(build, database) {
  const db = await database
  return () => measured(build.bands('tally', 'rsi_zone', '--all', '--json', '--db', db))
}

/** Each into an empty schema; what is there last is what the other rows ask. */
async function importIntoPostgres(build) {
  const url = await filled(build)
  return async () => {
    await emptied(build)
    return measured(build.bands(...importing(universe(), url)))
  }
}
