// What a paying customer, who asks a small question every 5 ms, and /healthz wait for while others ask for much, on the same
// cores as the server; beside the same server when nobody else asks. An attack: one key without credits asks for 150 scans
// a second, all spelled differently. A burst: 200 scans at once, from ten accounts. An import: half of the tickers come
// again with another last close, time after time. Silence: 1,000 connections that say nothing, and come again when closed.
import { spawn } from 'node:child_process'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { FOLDER } from './folder.mjs'
import { environment } from './measure.mjs'
import { asker, keysOf, served, within } from './servers.mjs'
import { databaseOf, importing, tickersOf, universe } from './worlds.mjs'

const SECONDS = 8
const ROUNDS = 3
const SOCKETS = 1_000
/** Keys that the customer asks with in turn, so that no hour's credits run out. */
const CUSTOMERS = 4
/** Closed ones are opened again after so many milliseconds: about as many a second as one machine's attacker manages. */
const AGAIN = 500
const FIELDS = ['rsi_zone', 'trend_direction', 'macd_state', 'volume_ratio_band']
const SCAN = '/v1/scan/oversold'
const NOBODY = { name: 'nobody else', sampler: build => besideOf(build, () => sleep(SECONDS * 1000).then(() => '')) }

export const crowd = [
  ...rows('attack', '150 scans a second without credits', { p99: 50 }, attack),
  ...rows('burst', '200 scans at once', { p99: 50 }, burst),
  ...rows('import', 'imports of half of the tickers', { ratio: 3 }, importBeside),
  ...rows('silence', '1,000 connections that say nothing', { p99: 50 }, silence),
]

function rows(name, what, target, work) {
  const common = {
    group: 'crowd',
    rounds: ROUNDS,
    isWarm: true,
    floor: NOBODY,
    sampler: build => besideOf(build, work),
  }
  const of = target.ratio === undefined ? { healthz: target.p99 } : target
  return [
    { ...common, name: `crowd-${name}`, what: `ms, p99 of a customer beside ${what}`, target, of: 'p99' },
    {
      ...common,
      name: `crowd-${name}-healthz`,
      what: `ms, p99 of /healthz`,
      target: of,
      of: 'healthz',
      samplesOf: `crowd-${name}`,
    },
  ]
}

const houses = new Map()
let opened = 0

/** One server of 505 tickers for both, with and without a crowd; it stops when the samples of a row are taken. */
async function besideOf(build, work) {
  if (!houses.has(build.root)) houses.set(build.root, open(build))
  const house = await houses.get(build.root)
  const end = () => {
    houses.delete(build.root)
    return house.server.stop()
  }
  return Object.assign(() => measured(house, work), { end })
}

async function open(build) {
  const world = universe()
  const db = join(FOLDER, `crowd-${++opened}.db`)
  copyFileSync(databaseOf(build, world), db)
  const tickers = tickersOf(build, db)
  const keys = keysOf(build, db, CUSTOMERS + 10)
  const [poor] = keysOf(build, db, 1, { tier: 'free', name: 'poor' })
  const server = await served(build, db)
  const ask = asker(server.url)
  for (let i = 0; i < 100; i++) await ask(`/v1/events?ticker=${tickers[i % tickers.length]}&field=rsi_zone`, poor)
  // A server that has been up for a while: its functions are compiled, and it has seen every series.
  const questions = tickers.flatMap(ticker => FIELDS.map(field => `/v1/events?ticker=${ticker}&field=${field}`))
  for (const [i, question] of questions.entries()) await ask(question, keys[i % CUSTOMERS])
  const { body } = await ask(`/v1/events?ticker=${tickers[0]}&field=rsi_zone&limit=100`, keys[0])
  // Dates that scans may ask for.
  const dates = [...new Set(JSON.parse(body).events.map(({ date }) => date))]
  return { build, db, scanned: 0, server, ask, tickers, keys, poor, dates, files: halves(world, tickers) }
}

async function attack({ ask, poor }) {
  const answers = []
  for (let second = 0; second < SECONDS; second++) {
    answers.push(...Array.from({ length: 150 }, (_, i) => ask(`${SCAN}?${'&'.repeat(i)}`, poor)))
    await sleep(1000)
  }
  return counted(await Promise.all(answers))
}

async function burst(house) {
  const { ask, keys, dates } = house
  const scans = dates.flatMap(date =>
    ['severity', 'days_oversold', 'condition_percentile'].flatMap(by =>
      ['daily', 'weekly'].flatMap(timeframe =>
        ['oversold', 'deep_oversold'].map(
          least => `${SCAN}?date=${date}&sort_by=${by}&timeframe=${timeframe}&min_severity=${least}`,
        ),
      ),
    ),
  )
  const others = keys.slice(CUSTOMERS)
  // Each time others: what was answered once is answered at once.
  const fresh = scans.slice(house.scanned, house.scanned + 200)
  house.scanned += 200
  const answers = await Promise.all(fresh.map((path, i) => ask(path, others[i % others.length])))
  const longest = Math.max(...answers.map(({ took = 0 }) => took))
  return `${counted(answers)}; the last after ${(longest / 1000).toFixed(1)} s`
}

/** Each as a whole process, in turn. */
async function importBeside({ build, db, files }) {
  const start = performance.now()
  let imports = 0
  while (performance.now() - start < SECONDS * 1000) {
    const [program, ...words] = build.bands(...importing({ file: files[++imports % 2] }, db))
    const child = spawn(program, words, { stdio: 'ignore', env: environment() })
    await new Promise(resolve => child.once('exit', resolve))
  }
  return `${imports} imports`
}

async function silence({ server }) {
  const sockets = new Set()
  let closed = 0
  let isOpen = true
  const hold = () => {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    sockets.add(socket)
    socket.on('error', () => {})
    socket.resume().once('close', () => {
      closed++
      sockets.delete(socket)
      if (isOpen) setTimeout(hold, AGAIN)
    })
  }
  for (let i = 0; i < SOCKETS; i++) hold()
  await sleep(SECONDS * 1000)
  isOpen = false
  const ended = closed
  for (const socket of sockets) socket.destroy()
  return `${ended} of their connections were closed`
}

/** Two files of all bars of half of the tickers: with their last close as it is, and as their last open. */
function halves({ file }, tickers) {
  const half = new Set(tickers.filter((_, i) => i % 2 === 1))
  const [header, ...lines] = gunzipSync(readFileSync(file)).toString().trimEnd().split('\n')
  const names = header.split(',')
  const [ticker, date, open, close] = ['ticker', 'date', 'open', 'close'].map(name => names.indexOf(name))
  const kept = lines.map(line => line.split(',')).filter(row => half.has(row[ticker]))
  const last = kept.reduce((newest, row) => (row[date] > newest ? row[date] : newest), '')
  const changed = kept.map(row => (row[date] === last ? row.with(close, row[open]) : row))
  return [kept, changed].map((rows, i) => {
    const half = join(FOLDER, `half-${i}.csv`)
    writeFileSync(half, [header, ...rows.map(row => row.join(','))].join('\n'))
    return half
  })
}

/** The customer asks every 5 ms, another question each time, and /healthz is asked as often. */
async function measured(house, work) {
  const { ask } = house
  const small = []
  const health = []
  let isOver = false
  const over = work(house).finally(() => {
    isOver = true
  })
  for (let i = 0; !isOver; i++) {
    const ticker = house.tickers[(i * 37) % house.tickers.length]
    const field = FIELDS[i % FIELDS.length]
    small.push(ask(`/v1/events?ticker=${ticker}&field=${field}&limit=${1 + (i % 3)}`, house.keys[i % CUSTOMERS]))
    health.push(ask('/healthz'))
    await sleep(5)
  }
  const asked = await Promise.all(small)
  const alive = await Promise.all(health)
  const bad = asked.filter(({ status }) => status !== 200).length
  const note = [await over, bad === 0 ? '' : `${bad} of the customer's ${asked.length} were not answered`]
  const figures = { p50: within(0.5, asked), p99: within(0.99, asked), healthz: within(0.99, alive) }
  return { ...figures, note: note.filter(Boolean).join('; ') }
}

function counted(answers) {
  const counts = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return Object.entries(counts)
    .map(([status, count]) => `${count} x ${status === '0' ? 'cut off' : status}`)
    .join(', ')
}
