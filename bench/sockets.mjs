// `node bench/sockets.mjs`, after a build: a customer asks over a connection of its own each time, alone and while others
// hold as many connections as the server takes, saying nothing, and open every one again that is closed.
// Standard output is a line for each: answers, failures, and the customer's p50 and p99.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { get } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BANDS, run } from './measure.mjs'

const SOCKETS = Number(process.env.BENCH_SOCKETS ?? 1_000)
const QUESTIONS = 200
/** Closed ones are opened again after so many milliseconds: about as many a second as one machine's attacker manages. */
const AGAIN = 500

const folder = mkdtempSync(join(tmpdir(), 'bands-bench-'))
const db = join(folder, 'bench.db')
run([BANDS, 'simulate', '2', '--bars', '600', '--load', '--db', db, '--quiet'])
run([BANDS, 'accounts', 'create', 'customer', '--tier', 'pro', '--db', db])
const made = run([BANDS, 'keys', 'create', '--account', 'customer', '--db', db, '--json']).stdout
const words = [BANDS, 'serve', '--port', '0', '--db', db, '--json', '--log-level', 'silent']
const server = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] })
const [line] = await once(server.stdout, 'data')
const { url } = JSON.parse(String(line))
const { key } = JSON.parse(made)

await measure('alone')
let closed = 0
let open = true
for (let i = 0; i < SOCKETS; i++) hold()
await new Promise(resolve => setTimeout(resolve, 2_000))
await measure(`with ${SOCKETS} sockets that say nothing`)
process.stdout.write(`  ${closed} of their connections were closed meanwhile\n`)
open = false
server.kill('SIGTERM')
await once(server, 'exit')
rmSync(folder, { recursive: true, force: true })
process.exit()

function hold() {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => {})
  socket.resume().once('close', () => {
    closed++
    if (open) setTimeout(hold, AGAIN)
  })
}

async function measure(name) {
  const times = []
  for (let i = 0; i < QUESTIONS; i++) {
    const start = performance.now()
    const status = await asked().catch(() => null)
    if (status === 200) times.push(performance.now() - start)
  }
  times.sort((a, b) => a - b)
  const at = share => (times[Math.floor(share * times.length)] ?? Number.NaN).toFixed(1)
  const failed = QUESTIONS - times.length
  process.stdout.write(`${name}: ${times.length} answers, ${failed} failed, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms\n`)
}

function asked() {
  return new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${key}` }
    const request = get(`${url}/v1/events?ticker=SIM0001&field=rsi_zone`, { headers, agent: false }, answer => {
      answer.resume().on('end', () => resolve(answer.statusCode))
    })
    request.on('error', reject)
  })
}
