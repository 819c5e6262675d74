// A sweep of all technical fields, bands and windows as a whole process, beside parts of it in pandas and scipy; long work
// shared among threads beside the same in one; facts of companies.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { FOLDER } from './folder.mjs'
import { measured, printed } from './measure.mjs'
import { duckdbPeer, python } from './peers.mjs'
import { asked, BARE_NODE, figured, wholeImport } from './users.mjs'
import { copyOf, databaseOf, importing, universe } from './worlds.mjs'

const RESAMPLES = 1000
const PEERS = fileURLToPath(new URL('./peers/sweep.py', import.meta.url))
const DRAWS = fileURLToPath(new URL('./draws.mjs', import.meta.url))
const SWEEP = asked('sweep', '--all', '--json')

export const research = [
  row('B3', 'sweep --all, to a plain bootstrap of the means alone', {}, SWEEP, {
    floor: { name: 'scipy, scaled to all cells', sampler: build => inPython(build, 'bootstrap') },
  }),
  row('B4', 'sweep --all, to means by band, nothing tested', {}, SWEEP, {
    floor: { name: 'pandas', sampler: build => inPython(build, 'study') },
  }),
  ...Object.entries({
    export: threads => asked('export', 'events', ...threads),
    parquet: threads => asked('export', 'events', '--output', 'parquet', ...threads),
    sweep: threads => asked('sweep', '--all', '--json', ...threads),
  }).map(([name, sampler]) => shared(name, sampler)),
  row('S3', 'import, beside loading the CSV alone', { ratio: 1.5 }, wholeImport(universe, []), {
    floor: { name: 'DuckDB, one thread', sampler: loadedByDuckDb },
  }),
  row('D1', 'a backtest of 505 tickers, milliseconds a draw', {}, draws, { of: 'ms', floor: null }),
  row('facts', 'import of facts of 505 simulated companies, after their bars', {}, companies, { floor: BARE_NODE }),
]

function row(name, what, target, sampler, more) {
  return { name, group: 'research', what, target, of: 'wall', sampler, isWarm: name.startsWith('B'), ...more }
}

/** A strategy that leaves open which signals are traded, run again and again. */
function draws(build) {
  const db = databaseOf(build, universe())
  return () => figured([process.execPath, DRAWS, build.root, db])
}

/** How much sooner it ends with two threads than with one. The note shows that both worked: cores in use, on average. */
function shared(name, samplerOf) {
  const sampler = threads => async build => {
    const take = await samplerOf(['--threads', threads])(build)
    return () => {
      const cost = take()
      return { ...cost, speed: 1 / cost.wall, note: `${(cost.cpu / cost.wall).toFixed(2)} cores in use` }
    }
  }
  return row(`P1-${name}`, `${name} by two threads: speed`, { ratio: 1.8 }, sampler('2'), {
    of: 'speed',
    floor: { name: 'by one', sampler: sampler('1') },
  })
}

/** Parts of a sweep in Python, from frames in memory, of bars and events as CSV. */
function inPython(build, part) {
  const program = python('pandas', 'scipy')
  const db = databaseOf(build, universe())
  const [bars, events] = ['bars.csv', 'swept-events.csv'].map(name => join(FOLDER, name))
  measured(build.bands('export', 'bars', '--db', db, '--write', bars, '--quiet'))
  const { fields } = JSON.parse(printed(build.bands('fields', '--json')))
  const technical = fields.filter(({ needs }) => needs === 'bars').map(({ field }) => field)
  const words = ['export', 'events', '--timeframe', 'daily', '--field', technical.join(',')]
  measured(build.bands(...words, '--db', db, '--write', events, '--quiet'))
  const { tried } = JSON.parse(printed(build.bands('sweep', '--all', '--json', '--db', db)))
  return () => {
    const found = JSON.parse(printed([program, PEERS, bars, events, String(RESAMPLES)]))
    return { wall: part === 'bootstrap' ? found.bootstrap * tried.tested : found.study }
  }
}

function loadedByDuckDb() {
  const { file } = universe()
  const place = join(FOLDER, 'bars.duckdb')
  return () => {
    rmSync(place, { force: true })
    return measured(duckdbPeer(place, file))
  }
}

/** Facts of all of a simulated market, eight companies to a sector. */
function companies(build) {
  const [bars, facts, db] = ['market.csv', 'facts', 'market.db'].map(name => join(FOLDER, name))
  rmSync(facts, { recursive: true, force: true })
  measured(build.bands('simulate', '505', '--bars', '1226', '--facts', facts), { out: bars })
  rmSync(db, { force: true })
  measured(build.bands(...importing({ file: bars }, db)))
  return () => measured(build.bands('import', facts, '--db', copyOf(db), '--quiet'))
}
