// A server under load beside the least that node:http can do: both share the machine with the load generator, alike.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import autocannon from 'autocannon'
import { FOLDER } from './folder.mjs'
import { measured } from './measure.mjs'
import { fastifyPeer } from './peers.mjs'
import { keysOf, processorOf, served, started } from './servers.mjs'

const ROUNDS = 5
const SECONDS = 2
const CONNECTIONS = 32
const TICKERS = 100
/** Credits of 10,000 an hour and key go in a second. */
const KEYS = 80
const HELLO = fileURLToPath(new URL('./hello.mjs', import.meta.url))
const BARE_HTTP = { name: 'node:http hello', sampler: () => loaded(started([process.execPath, HELLO]), ['/']) }

/** Rows with another's name in `samplesOf` are figures of the same samples. */
export const server = [
  row('H1', 'charged GET /v1/events a second', { ratio: 0.5 }, charged),
  row('H1-cpu', 'µs of processor for each', { ratio: 2 }, charged, { samplesOf: 'H1', of: 'each' }),
  row('H4', 'p99 of them, milliseconds', { ratio: 2.5 }, charged, { samplesOf: 'H1', of: 'p99' }),
  row('H2', 'GET /v1/events a second, 304', { ratio: 0.75 }, known),
  row('H3', 'charged GET /v1/events a second', { ratio: 3 }, charged, {
    floor: { name: 'fastify + better-sqlite3', sampler: fastified },
  }),
]

function row(name, what, target, sampler, more = {}) {
  return { name, group: 'server', what, target, of: 'rate', floor: BARE_HTTP, rounds: ROUNDS, sampler, ...more }
}

async function charged(build) {
  const { db, keys } = market(build)
  return loaded(served(build, db), questions(keys))
}

/** The same questions by someone who has the answers. */
async function known(build) {
  const { db, keys } = market(build)
  const server = await served(build, db)
  const etags = new Map()
  const asked = questions(keys.slice(0, 2))
  // Each account has tags of its own.
  const name = ({ path, headers }) => `${headers.authorization} ${path}`
  for (const question of asked) {
    if (etags.has(name(question))) continue
    etags.set(name(question), (await fetch(server.url + question.path, question)).headers.get('etag'))
  }
  const again = question => ({ ...question.headers, 'if-none-match': etags.get(name(question)) })
  return loaded(
    server,
    asked.map(question => ({ ...question, headers: again(question) })),
  )
}

async function fastified(build) {
  const { db } = market(build)
  const events = join(FOLDER, 'served-events.csv')
  const words = ['export', 'events', '--field', 'rsi_zone', '--timeframe', 'daily', '--csv', '--db', db]
  measured(build.bands(...words), { out: events })
  return loaded(started(fastifyPeer(build, events)), questions(['none']))
}

const markets = new Map()

function market(build) {
  if (!markets.has(build.root)) {
    const db = join(FOLDER, `served-${markets.size}.db`)
    measured(build.bands('simulate', String(TICKERS), '--bars', '1260', '--load', '--db', db, '--quiet'))
    markets.set(build.root, { db, keys: keysOf(build, db, KEYS) })
  }
  return markets.get(build.root)
}

/** Few enough, because each connection of the generator makes a copy of them before it starts. */
function questions(keys) {
  return Array.from({ length: 4 * TICKERS }, (_, i) => {
    const ticker = `SIM${String(((i * 37) % TICKERS) + 1).padStart(4, '0')}`
    const path = `/v1/events?ticker=${ticker}&field=rsi_zone&band=oversold`
    return { path, headers: { authorization: `Bearer ${keys[i % keys.length]}` } }
  })
}

/** Takes samples of a server, which stops when the last is taken. */
async function loaded(starting, asked) {
  const { url, pid, stop } = await starting
  const requests = asked.map(question => (typeof question === 'string' ? { path: question } : question))
  const take = async () => {
    const before = processorOf(pid)
    const {
      requests: answered,
      latency,
      ...counts
    } = await autocannon({
      ...{ url, requests, connections: CONNECTIONS, duration: SECONDS },
    })
    const refused = counts['4xx'] + counts['5xx'] + counts.errors
    if (refused > 0) throw new Error(`${refused} of ${answered.total} answers were errors`)
    const cpu = processorOf(pid) - before
    return { rate: answered.average, p50: latency.p50, p99: latency.p99, cpu, each: (cpu / answered.total) * 1e6 }
  }
  return Object.assign(take, { end: stop })
}
