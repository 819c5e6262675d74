// A server under load beside the least that node:http can do with the same status, headers and body. Both share the machine
// with the load generator.
import { writeFileSync } from 'node:fs'
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

/** Rows with another's name in `samplesOf` are figures of the same samples. */
export const server = [
  row('H1', 'charged GET /v1/events a second', { ratio: 0.35 }, charged, { hope: 0.5 }),
  row('H1-cpu', 'µs of processor for each', { ratio: 3 }, charged, { samplesOf: 'H1', of: 'each', hope: 2 }),
  row('H4', 'p99 of them, milliseconds', { ratio: 2.5 }, charged, { samplesOf: 'H1', of: 'p99' }),
  row('H2', 'GET /v1/events a second, 304', { ratio: 0.5 }, known, { hope: 0.75, floor: bareHttp(known) }),
  row('H3', 'charged GET /v1/events a second', { ratio: 2.2 }, charged, {
    hope: 3,
    floor: { name: 'fastify + better-sqlite3', sampler: fastified },
  }),
]

function row(name, what, target, sampler, more = {}) {
  return { name, group: 'server', what, target, of: 'rate', floor: bareHttp(charged), rounds: ROUNDS, sampler, ...more }
}

async function charged(build) {
  const { db, keys } = market(build)
  return loaded(await served(build, db), questions(keys))
}

/** The same questions by customers who have the answers. */
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

/** node:http with nothing to do but to send the first answer of these again. */
function bareHttp(sampler) {
  return {
    name: 'node:http hello',
    sampler: async build => {
      const ours = await sampler(build)
      const answer = join(FOLDER, 'answer.json')
      writeFileSync(answer, JSON.stringify(await ours.first()))
      await ours.end()
      return loaded(await started([process.execPath, HELLO, answer]), [{ path: '/' }])
    },
  }
}

async function fastified(build) {
  const { db } = market(build)
  const events = join(FOLDER, 'served-events.csv')
  const words = ['export', 'events', '--field', 'rsi_zone', '--timeframe', 'daily', '--csv', '--db', db]
  measured(build.bands(...words), { out: events })
  return loaded(await started(fastifyPeer(build, events)), questions(['none']))
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

/** Takes samples of a server, which stops when the last is taken. `first` gives its first answer. */
function loaded({ url, pid, stop }, requests) {
  const take = async () => {
    const before = processorOf(pid)
    const times = []
    const load = autocannon({ url, requests, connections: CONNECTIONS, duration: SECONDS })
    // Its own percentiles are whole milliseconds.
    load.on('response', (_client, _status, _bytes, took) => times.push(took))
    const { requests: answered, ...counts } = await load
    const refused = counts['4xx'] + counts['5xx'] + counts.errors
    if (refused > 0) throw new Error(`${refused} of ${answered.total} answers were errors`)
    const cpu = processorOf(pid) - before
    times.sort((a, b) => a - b)
    const at = share => times[Math.floor(times.length * share)]
    return { rate: answered.average, p50: at(0.5), p99: at(0.99), cpu, each: (cpu / answered.total) * 1e6 }
  }
  const first = async () => {
    const [{ path, headers }] = requests
    const answer = await fetch(url + path, { headers: { ...headers, 'accept-encoding': 'identity' } })
    const { connection: _, date: __, 'keep-alive': ___, ...sent } = Object.fromEntries(answer.headers)
    return { status: answer.status, headers: sent, body: await answer.text() }
  }
  return Object.assign(take, { end: stop, first })
}
