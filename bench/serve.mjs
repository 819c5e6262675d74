// `node bench/serve.mjs`, after a build: requests a second and latencies of GET /v1/events with authentication, tier and a
// durable credit each, and of answers that cost no write, against a bare node:http hello-world in the same interleaved run.
// Both servers share the machine with the load generator, alike.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import autocannon from 'autocannon'
import { BANDS, median, run } from './measure.mjs'

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5)
const SECONDS = Number(process.env.BENCH_SECONDS ?? 4)
const CONNECTIONS = 32
const TICKERS = 100
const HELLO = fileURLToPath(new URL('./hello.mjs', import.meta.url))

/** A server that is alike in all but its answers: the keys of a whole fleet, so that no hour's credits run out. */
export async function benchServe(print) {
  const folder = mkdtempSync(join(tmpdir(), 'bands-bench-'))
  const db = join(folder, 'bench.db')
  run([BANDS, 'simulate', String(TICKERS), '--bars', '1260', '--load', '--db', db, '--quiet'])
  const keys = accounts(db, Math.ceil((ROUNDS + 1) * SECONDS * 2))
  const hello = await started([HELLO])
  const bands = await started([BANDS, 'serve', '--port', '0', '--db', db, '--json', '--log-level', 'info'])
  try {
    const cases = {
      'node:http hello world': { url: hello.url, requests: [{ path: '/' }] },
      'GET /v1/events, each charged durably': { url: bands.url, requests: questions(keys) },
      'GET /v1/events, 304': { url: bands.url, requests: await known(bands.url, keys) },
    }
    report(print, await measured(cases))
  } finally {
    for (const server of [hello, bands]) await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Enough accounts of Pro, one key each: 10,000 credits an hour go in a second. */
function accounts(db, count) {
  return Array.from({ length: count }, (_, i) => {
    run([BANDS, 'accounts', 'create', `bench-${i}`, '--tier', 'pro', '--db', db])
    const made = run([BANDS, 'keys', 'create', '--account', `bench-${i}`, '--db', db, '--json']).stdout
    return JSON.parse(made).key
  })
}

/** Few enough, because each connection of the generator makes a copy of them before it starts. */
function questions(keys) {
  return Array.from({ length: 4 * TICKERS }, (_, i) => {
    const ticker = `SIM${String(((i * 37) % TICKERS) + 1).padStart(4, '0')}`
    const path = `/v1/events?ticker=${ticker}&field=rsi_zone&band=oversold`
    return { path, headers: { authorization: `Bearer ${keys[i % keys.length]}` } }
  })
}

/** The same questions by someone who has the answers. */
async function known(url, keys) {
  const etags = new Map()
  const asked = questions(keys.slice(0, 2))
  // Each account has tags of its own.
  const name = ({ path, headers }) => `${headers.authorization} ${path}`
  for (const question of asked) {
    const { path, headers } = question
    if (etags.has(name(question))) continue
    etags.set(name(question), (await fetch(url + path, { headers })).headers.get('etag'))
  }
  return asked.map(question => {
    return { ...question, headers: { ...question.headers, 'if-none-match': etags.get(name(question)) } }
  })
}

async function measured(cases) {
  const found = Object.fromEntries(Object.keys(cases).map(name => [name, []]))
  for (let round = -1; round < ROUNDS; round++) {
    for (const [name, { url, requests }] of Object.entries(cases)) {
      const result = await autocannon({ url, requests, connections: CONNECTIONS, duration: round < 0 ? 1 : SECONDS })
      if (round >= 0) found[name].push(result)
    }
  }
  return found
}

function report(print, found) {
  const floor = Object.values(found)[0].map(result => result.requests.average)
  print(
    `\nserve: ${CONNECTIONS} connections, ${ROUNDS} interleaved rounds of ${SECONDS} s, ratio to the floor of its round`,
  )
  for (const [name, results] of Object.entries(found)) {
    const rates = results.map(result => result.requests.average)
    const ratio = median(rates.map((rate, round) => rate / floor[round])).toFixed(2)
    const [p50, p99] = ['p50', 'p99'].map(p => median(results.map(result => result.latency[p])))
    const refused = results.reduce((sum, result) => sum + result['4xx'] + result['5xx'] + result.errors, 0)
    const bad = refused > 0 ? `   ${refused} answers were errors` : ''
    print(
      `  ${name.padEnd(40)} ${Math.round(median(rates)).toLocaleString('en').padStart(7)}/s  ${ratio} x   p50 ${p50} ms, p99 ${p99} ms${bad}`,
    )
  }
}

/** A child that tells its address in one line of JSON. */
export async function started(args) {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] })
  const ended = new Promise(resolve => child.once('exit', resolve))
  let text = ''
  for await (const chunk of child.stdout) {
    text += chunk
    if (text.includes('\n')) break
  }
  const stop = () => {
    child.kill('SIGTERM')
    return ended
  }
  return { url: JSON.parse(text).url, stop }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await benchServe(line => process.stdout.write(`${line}\n`))
