// `node bench/crowd.mjs`, after a build: what a paying customer and /healthz wait for while others ask for much. An
// attack: one key without credits asks for 150 scans a second, all spelled differently. A burst: 200 scans at once, from
// ten accounts. An import: half of the tickers come again with another last close, time after time. All on the same cores
// as the server; in the first row nobody else asks.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { BANDS, run } from './measure.mjs'
import { started } from './serve.mjs'

const SECONDS = Number(process.env.BENCH_SECONDS ?? 8)
const REAL = fileURLToPath(new URL('../../shared/data/prices/universe.csv.gz', import.meta.url))
const FIELDS = ['rsi_zone', 'trend_direction', 'macd_state', 'volume_ratio_band']
const SCAN = '/v1/scan/oversold'

export async function benchCrowd(print) {
  const folder = mkdtempSync(join(tmpdir(), 'bands-bench-'))
  const db = join(folder, 'bench.db')
  const csv = join(folder, 'bars.csv')
  writeFileSync(csv, bars())
  run([BANDS, 'import', csv, '--db', db, '--skip-bad-rows', '--rejects', join(folder, 'bad.csv'), '--quiet'])
  const tickers = JSON.parse(run([BANDS, 'tickers', '--db', db, '--json']).stdout).tickers.map(({ ticker }) => ticker)
  const keys = Array.from({ length: 14 }, (_, i) => keyOf(db, `customer-${i}`, 'pro'))
  const poor = keyOf(db, 'poor', 'free')
  const files = halves(csv, folder, tickers)
  const server = await started([BANDS, 'serve', '--port', '0', '--db', db, '--json', '--log-level', 'info'])
  try {
    const ask = asker(server.url)
    for (let i = 0; i < 100; i++) await ask(`/v1/events?ticker=${tickers[i % tickers.length]}&field=rsi_zone`, poor)
    const dates = [...new Set(await scanDates(ask, keys[0], tickers[0]))]
    print(`\ncrowd: ${tickers.length} tickers, ${SECONDS} s each; milliseconds that one customer and /healthz wait`)
    const crowds = {
      'nobody else': () => sleep(SECONDS * 1000).then(() => ''),
      'attack: 150 scans a second without credits': () => attack(ask, poor),
      'burst: 200 scans at once': () => burst(ask, keys.slice(4), dates),
      'import beside it': () => importBeside(db, files, folder),
    }
    for (const [name, crowd] of Object.entries(crowds))
      await measured(print, name, ask, { key: keys[0], tickers, crowd })
  } finally {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

function bars() {
  if (existsSync(REAL)) return gunzipSync(readFileSync(REAL))
  return run([BANDS, 'simulate', '505', '--bars', '1226']).stdout
}

function keyOf(db, name, tier) {
  run([BANDS, 'accounts', 'create', name, '--tier', tier, '--db', db])
  return JSON.parse(run([BANDS, 'keys', 'create', '--account', name, '--db', db, '--json']).stdout).key
}

/** One request: its status and the milliseconds that it took; 0 for one that was cut off. */
function asker(url) {
  const agent = new Agent({ keepAlive: true, maxSockets: 500 })
  return (path, key) =>
    new Promise(resolve => {
      const start = performance.now()
      const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
      const parts = []
      const sent = get(url + path, { agent, headers }, answer => {
        answer.on('data', part => parts.push(part))
        answer.on('error', () => resolve({ status: 0 }))
        answer.on('end', () => {
          resolve({ status: answer.statusCode, took: performance.now() - start, body: Buffer.concat(parts) })
        })
      })
      sent.on('error', () => resolve({ status: 0 }))
    })
}

/** Dates that scans may ask for: those of the events of one ticker. */
async function scanDates(ask, key, ticker) {
  const { body } = await ask(`/v1/events?ticker=${ticker}&field=rsi_zone&limit=100`, key)
  return JSON.parse(body).events.map(({ date }) => date)
}

async function attack(ask, key) {
  const answers = []
  for (let second = 0; second < SECONDS; second++) {
    answers.push(...Array.from({ length: 150 }, (_, i) => ask(`${SCAN}?${'&'.repeat(i)}`, key)))
    await sleep(1000)
  }
  return told(await Promise.all(answers))
}

async function burst(ask, keys, dates) {
  const scans = dates.flatMap(date =>
    ['severity', 'days_oversold', 'condition_percentile'].flatMap(by =>
      ['daily', 'weekly'].flatMap(timeframe =>
        ['oversold', 'deep_oversold'].map(
          least => `${SCAN}?date=${date}&sort_by=${by}&timeframe=${timeframe}&min_severity=${least}`,
        ),
      ),
    ),
  )
  const asked = scans.slice(0, 200).map((path, i) => ask(path, keys[i % keys.length]))
  const answers = await Promise.all(asked)
  const longest = Math.max(...answers.map(({ took = 0 }) => took))
  return `${told(answers)}; the last after ${(longest / 1000).toFixed(1)} s`
}

/** Two files of all bars of half of the tickers: with their last close as it is, and as their last open. */
function halves(csv, folder, tickers) {
  const half = new Set(tickers.filter((_, i) => i % 2 === 1))
  const [header, ...lines] = readFileSync(csv, 'utf8').trimEnd().split('\n')
  const names = header.split(',')
  const [ticker, date, open, close] = ['ticker', 'date', 'open', 'close'].map(name => names.indexOf(name))
  const rows = lines.map(line => line.split(',')).filter(row => half.has(row[ticker]))
  const last = rows.reduce((newest, row) => (row[date] > newest ? row[date] : newest), '')
  const changed = rows.map(row => (row[date] === last ? row.with(close, row[open]) : row))
  return [rows, changed].map((kept, i) => {
    const file = join(folder, `half-${i}.csv`)
    writeFileSync(file, [header, ...kept.map(row => row.join(','))].join('\n'))
    return file
  })
}

/** Each as a whole process, in turn. */
async function importBeside(db, files, folder) {
  const start = performance.now()
  let imports = 0
  while (performance.now() - start < SECONDS * 1000) {
    const words = [files[++imports % 2], '--db', db, '--skip-bad-rows', '--rejects', join(folder, 'bad.csv'), '--quiet']
    const child = spawn(process.execPath, [BANDS, 'import', ...words], { stdio: 'ignore' })
    await new Promise(resolve => child.once('exit', resolve))
  }
  return `${imports} imports of half of the tickers`
}

function told(answers) {
  const counts = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return Object.entries(counts)
    .map(([status, count]) => `${count} x ${status === '0' ? 'cut off' : status}`)
    .join(', ')
}

/** The customer asks every 5 ms, another question each time, and /healthz is asked as often. */
async function measured(print, name, ask, { key, tickers, crowd }) {
  const [small, health] = [[], []]
  let isOver = false
  const over = crowd().finally(() => {
    isOver = true
  })
  for (let i = 0; !isOver; i++) {
    const [ticker, field] = [tickers[(i * 37) % tickers.length], FIELDS[i % FIELDS.length]]
    small.push(ask(`/v1/events?ticker=${ticker}&field=${field}&limit=${1 + (i % 3)}`, key))
    health.push(ask('/healthz'))
    await sleep(5)
  }
  const [asked, alive] = [await Promise.all(small), await Promise.all(health)]
  print(`  ${name.padEnd(46)} customer ${figures(asked)}   /healthz ${figures(alive)}   ${await over}`)
}

function figures(answers) {
  const times = answers.map(({ took = Number.POSITIVE_INFINITY }) => took).sort((a, b) => a - b)
  const at = share => times[Math.min(times.length - 1, Math.floor(times.length * share))]?.toFixed(1)
  const bad = answers.filter(({ status }) => status !== 200).length
  return `p50 ${at(0.5)}, p99 ${at(0.99)} of ${answers.length}${bad > 0 ? ` (${bad} not 200)` : ''}`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await benchCrowd(line => process.stdout.write(`${line}\n`))
