// `node bench/sweep.mjs`, after a build: a sweep of all technical fields, bands and windows over the universe as a whole
// process, against the bare sums that its shift test is made of and against pandas and scipy where they are installed.
// BENCH_BY_TICKER=1 adds a cell for each ticker, which takes minutes.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BANDS, median, run } from './measure.mjs'

const ROUNDS = Number(process.env.BENCH_SWEEP_ROUNDS ?? 2)
const RESAMPLES = 1000
const FLOOR = fileURLToPath(new URL('./sweep-floor.c', import.meta.url))
const PEERS = fileURLToPath(new URL('./sweep-peers.py', import.meta.url))

/** @param db the universe, imported; @param what in words */
export function benchSweep(print, db, what) {
  const folder = mkdtempSync(join(tmpdir(), 'bands-bench-'))
  try {
    const floor = compiledFloor(folder, print)
    const files = exported(db, folder)
    const rounds = Array.from({ length: ROUNDS }, () => round(db, floor, files, print))
    report(print, rounds, what)
    pageFigures(print, rounds)
    if (process.env.BENCH_BY_TICKER === '1') byTicker(print, db)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** All of them one after the other, so that what the machine does beside it meets all alike. */
function round(db, floor, files, print) {
  const swept = sweep(db, [])
  return { ...swept, floor: floor === null ? null : floorOf(floor, swept), peers: peersOf(files, print) }
}

function sweep(db, args) {
  const asked = ['sweep', '--all', '--db', db, '--resamples', String(RESAMPLES), '--json', '--quiet', ...args]
  const { seconds, peak, stdout } = run([BANDS, ...asked])
  const { cells, tried, tickers } = JSON.parse(stdout)
  return { seconds, peak, cells, tried, tickers: tickers.length, bars: barsOf(db) }
}

/** The most bars that a ticker has. */
function barsOf(db) {
  const { tickers } = JSON.parse(run([BANDS, 'tickers', '--db', db, '--json']).stdout)
  return Math.max(...tickers.map(ticker => ticker.bars))
}

function compiledFloor(folder, print) {
  const program = join(folder, 'floor')
  const made = spawnSync('cc', ['-O3', '-march=native', '-o', program, FLOOR], { encoding: 'utf8' })
  if (made.status === 0) return program
  print(`\nsweep: no floor in C, because cc cannot make it (${made.error?.message ?? made.stderr.split('\n')[0]})`)
  return null
}

/** As many sums as the shift tests of the cells make: events times shifts. */
function floorOf(program, { cells, bars }) {
  const tested = cells.filter(({ p }) => p !== null)
  const input = tested.map(({ n, horizon }) => `${n} ${shifts(bars, horizon)}`).join('\n')
  const made = spawnSync(program, { input, encoding: 'utf8' })
  if (made.status !== 0) throw new Error(`the floor ended with ${made.status}: ${made.stderr}`)
  return JSON.parse(made.stdout)
}

function shiftsOf({ cells, bars }) {
  return cells.reduce((sum, { p, horizon }) => sum + (p === null ? 0 : shifts(bars, horizon)), 0)
}

/** Of bars whose window has elapsed, as far as they share none with the unshifted events. */
function shifts(bars, horizon) {
  return Math.max(1, bars - 3 * horizon + 1)
}

/** Bars and events as CSV, for whoever does not read the database. */
function exported(db, folder) {
  const [bars, events] = ['bars.csv', 'events.csv'].map(name => join(folder, name))
  run([BANDS, 'export', 'bars', '--db', db, '--out', bars, '--quiet'])
  const { fields } = JSON.parse(run([BANDS, 'fields', '--json']).stdout)
  const technical = fields.filter(({ needs }) => needs === 'bars').map(({ field }) => field)
  const asked = ['--timeframe', 'daily', '--field', technical.join(',')]
  run([BANDS, 'export', 'events', ...asked, '--db', db, '--out', events, '--quiet'])
  return { bars, events }
}

let toldOfPeers = false

/** Debian's own Python first: pandas and scipy are packages of the system, not of this project. */
function peersOf({ bars, events }, print) {
  const python = ['/usr/bin/python3', 'python3'].find(
    name => spawnSync(name, ['-c', 'import pandas, scipy']).status === 0,
  )
  if (python === undefined) {
    if (!toldOfPeers) print('\nsweep: no comparison with pandas and scipy, which no python3 here has')
    toldOfPeers = true
    return null
  }
  const made = spawnSync(python, [PEERS, bars, events, String(RESAMPLES)], { encoding: 'utf8', maxBuffer: 2 ** 26 })
  if (made.status !== 0) throw new Error(`${python} ended with ${made.status}: ${made.stderr}`)
  return JSON.parse(made.stdout)
}

function report(print, rounds, what) {
  const [{ tried, tickers, peak }] = rounds
  const of = pick => median(rounds.map(pick))
  const seconds = of(({ seconds }) => seconds)
  print(`\nsweep, whole process: nine technical fields, every band, five windows, ${what}, pooled`)
  print(`  ${tried.cells} cells, ${tried.tested} tested: shift test, ${RESAMPLES} resamples of interval and SPA, PBO`)
  print(`  ${seconds.toFixed(1)} s, peak memory ${Math.round(peak / 2 ** 20)} MiB`)
  print(
    `  ${Math.round((tried.cells * tickers) / seconds).toLocaleString('en')} cells of a ticker a second, tests included`,
  )
  if (rounds[0].floor !== null) {
    const { values } = rounds[0].floor
    const ratio = of(({ seconds, floor }) => seconds / floor.seconds).toFixed(1)
    print(`  ${ratio} x the bare sums of the shift test in C, one thread (${(values / 1e9).toFixed(1)} G values)`)
  }
  if (rounds[0].peers === null) return
  const { pandas, scipy, values } = rounds[0].peers
  const study = of(({ seconds, peers }) => peers.study / seconds).toFixed(2)
  const scaled = of(({ seconds, tried, peers }) => (peers.bootstrap * tried.tested) / seconds).toFixed(1)
  print(`  pandas ${pandas}, returns, bases and means by band of the same events, no test at all: ${study} x our time`)
  print(
    `  scipy ${scipy}, plain bootstrap of the means alone (${values} values, scaled to all cells): ${scaled} x our time`,
  )
}

/** Peers that come from PyPI; what was measured of them elsewhere, on a grid of 1,000 RSI rules over 500 tickers. */
function pageFigures(print, rounds) {
  const rate = median(rounds.map(({ tried, tickers, seconds }) => (tried.cells * tickers) / seconds))
  const shifted = median(rounds.map(round => (round.tickers * shiftsOf(round)) / round.seconds))
  print(
    '  not measured here (PyPI), 2 cores of the same kind: a return, a Sharpe ratio and a hit rate for each rule and',
  )
  print('  ticker, none tested: vectorbt 0.28.5 2,540 a second, backtesting.py 0.6.5 43 to 76 a second')
  print(`  ours, each tested: ${(rate / 2540).toFixed(1)} x vectorbt, ${Math.round(rate / 76)} x backtesting.py`)
  print(`  ours, each shift taken for the run of a rule that it is: ${Math.round(shifted / 2540)} x vectorbt`)
}

function byTicker(print, db) {
  const { tried, seconds, peak } = sweep(db, ['--by', 'ticker'])
  print(`  each ticker alone: ${tried.cells.toLocaleString('en')} cells, ${tried.tested.toLocaleString('en')} tested`)
  print(`  ${seconds.toFixed(1)} s, peak memory ${Math.round(peak / 2 ** 20)} MiB`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = mkdtempSync(join(tmpdir(), 'bands-bench-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const db = join(folder, 'bench.db')
  const real = fileURLToPath(new URL('../../shared/data/prices/universe.csv.gz', import.meta.url))
  const simulated = join(folder, 'simulated.csv')
  if (!existsSync(real)) writeFileSync(simulated, run([BANDS, 'simulate', '505', '--bars', '1226']).stdout)
  const rejects = ['--skip-bad-rows', '--rejects', join(folder, 'rejects.csv')]
  run([BANDS, 'import', existsSync(real) ? real : simulated, '--db', db, ...rejects, '--quiet'])
  const what = existsSync(real) ? '505 tickers of the S&P 500, 2013 to 2018' : '505 simulated tickers'
  benchSweep(line => process.stdout.write(`${line}\n`), db, what)
}
