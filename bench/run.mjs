// `npm run bench`: import, facts, cold question, searches in one process, a sweep, the server, and who waits for it in a crowd; on real bars where ../shared is, simulated ones elsewhere.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openBands } from '../dist/index.js'
import { benchCrowd } from './crowd.mjs'
import { BANDS, interleaved, median, run, runWithPeak } from './measure.mjs'
import { benchServe } from './serve.mjs'
import { benchSweep } from './sweep.mjs'

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 20)
const folder = mkdtempSync(join(tmpdir(), 'bands-bench-'))
const db = join(folder, 'bench.db')
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

print(`node ${process.versions.node}, ${cpus().length} cores, ${cpus()[0]?.model.trim()}`)
const universe = await theUniverse()
benchImport(universe)
benchFacts()
benchCold()
await benchSearch()
benchSweep(print, db, universe.what)
await benchServe(print)
await benchCrowd(print)

async function theUniverse() {
  const real = fileURLToPath(new URL('../../shared/data/prices/universe.csv.gz', import.meta.url))
  if (existsSync(real)) return { file: real, what: '505 tickers of the S&P 500, 2013 to 2018' }
  const file = join(folder, 'simulated.csv')
  writeFileSync(file, run([BANDS, 'simulate', '505', '--bars', '1226']).stdout)
  return { file, what: '505 simulated tickers' }
}

function benchImport({ file, what }) {
  const floor = median([1, 2, 3].map(() => run(['-e', '0']).seconds))
  const rounds = [1, 2, 3].map(() => {
    rmSync(db, { force: true })
    return runWithPeak([
      BANDS,
      'import',
      file,
      '--db',
      db,
      '--skip-bad-rows',
      '--rejects',
      join(folder, 'rejects.csv'),
      '--quiet',
    ])
  })
  const seconds = median(rounds.map(round => round.seconds))
  const { bars } = totals()
  print(
    `\nimport, whole process: ${what}, ${bars.toLocaleString('en')} bars, the nine technical fields, daily and weekly, store included`,
  )
  print(
    `  ${seconds.toFixed(2)} s (${(seconds / floor).toFixed(0)} x node -e 0)   ${Math.round(bars / seconds).toLocaleString('en')} bars a second`,
  )
  print(`  peak memory ${mib(median(rounds.map(round => round.peak)))}   database ${mib(statSync(db).size)}`)
}

/** A market of simulated companies, with the facts of all of them, eight to a sector. */
function benchFacts() {
  const floor = median([1, 2, 3].map(() => run(['-e', '0']).seconds))
  const [bars, facts, other] = ['market.csv', 'facts', 'facts.db'].map(name => join(folder, name))
  writeFileSync(bars, run([BANDS, 'simulate', '505', '--bars', '1226', '--facts', facts]).stdout)
  const rounds = [1, 2, 3].map(() => {
    rmSync(other, { force: true })
    run([BANDS, 'import', bars, '--db', other, '--quiet'])
    return runWithPeak([BANDS, 'import-facts', facts, '--db', other, '--quiet'])
  })
  const seconds = median(rounds.map(round => round.seconds))
  const lines = readdirSync(facts).map(name => readFileSync(join(facts, name), 'utf8').split('\n').length - 2)
  const records = lines.reduce((sum, count) => sum + count, 0)
  print(`\nfacts, whole process: 505 simulated companies, ${records.toLocaleString('en')} records, after their bars`)
  print('  the twelve fundamental fields, daily and weekly, 64 sectors compared')
  print(`  ${seconds.toFixed(2)} s (${(seconds / floor).toFixed(0)} x node -e 0)`)
  print(`  peak memory ${mib(median(rounds.map(round => round.peak)))}   database ${mib(statSync(other).size)}`)
}

function totals() {
  const tickers = JSON.parse(run([BANDS, 'tickers', '--db', db, '--json']).stdout).tickers
  return { bars: tickers.reduce((sum, ticker) => sum + ticker.bars, 0) }
}

function benchCold() {
  const question = ['events', 'AAPL', 'rsi_zone', '--band', 'oversold', '--db', db]
  const ticker = universe.what.includes('simulated') ? 'SIM0001' : 'AAPL'
  question[1] = ticker
  print(`\ncold start: whole processes, ${ROUNDS} interleaved rounds, ratio to node -e 0 in the same round`)
  const results = interleaved(
    {
      'node -e 0': ['-e', '0'],
      [`events ${ticker} … --json`]: [BANDS, ...question, '--json'],
      [`events ${ticker} … (piped text)`]: [BANDS, ...question],
      '--help': [BANDS, '--help'],
      '--version': [BANDS, '--version'],
    },
    ROUNDS,
  )
  for (const { name, seconds, ratio } of results)
    print(`  ${name.padEnd(30)} ${(seconds * 1000).toFixed(1).padStart(7)} ms   ${ratio.toFixed(2)} x`)
}

async function benchSearch() {
  const bands = await openBands({ db })
  const tickers = (await bands.tickers()).map(entry => entry.ticker)
  const queries = Array.from({ length: 20_000 }, (_, i) => ({
    ticker: tickers[(i * 7919) % tickers.length],
    field: 'rsi_zone',
    band: 'oversold',
  }))
  const plain = await rate(bands, queries)
  const context = { context_ticker: tickers[0], context_field: 'trend_direction', context_band: 'downtrend' }
  const joined = await rate(
    bands,
    queries.slice(0, 5_000).map(query => ({ ...query, ...context })),
  )
  print('\nsearches in one process, tickers in turn, ten events each with aftermath')
  print(`  ${plain.toLocaleString('en')} a second   with context ${joined.toLocaleString('en')} a second`)
  await bands.close()
}

async function rate(bands, queries) {
  for (const query of queries.slice(0, 500)) await bands.events(query)
  const start = performance.now()
  for (const query of queries) await bands.events(query)
  return Math.round((queries.length / (performance.now() - start)) * 1000)
}

function mib(bytes) {
  return `${(bytes / 2 ** 20).toFixed(0)} MiB`
}

function print(line) {
  process.stdout.write(`${line}\n`)
}
