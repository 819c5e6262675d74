import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BUILT_IN_FIELDS } from '../../src/core/fields/index.js'
import { Random } from '../../src/core/statistics/random.js'
import { BIN, scratch, shell } from '../cli/support/run.js'
import { draws, FULL } from '../support/full.js'
import { chance, pick } from '../support/random-facts.js'

const SEED = 20_261_121
/** Requests of each kind: as they are meant, well-formed HTTP with odd questions, and bytes of any kind. */
const COUNTS = { meant: draws(50_000), odd: draws(40_000), raw: draws(10_000) }
const PIPELINE = 100
const CONNECTIONS = 8

const folder = scratch()
const env = { BANDS_DB: folder.file('bands.db') }
const keys: string[] = []
let server: ChildProcess
let port: number

beforeAll(async () => {
  const words = ['simulate 4 --bars 600 --load', ...[0, 1, 2].map(i => `accounts create a${i} --tier pro`)]
  const made = await shell(words.map(line => `bands ${line}`).join(' && '), env)
  expect(made.code, made.err).toBe(0)
  for (let i = 0; i < 3; i++) {
    const { out } = await shell(`bands keys create a${i} --json`, env)
    keys.push((JSON.parse(out) as { key: string }).key)
  }
  server = spawn(process.execPath, [BIN, 'serve', '--port', '0', '--json', '--log', 'level error'], {
    env: { PATH: process.env.PATH, HOME: folder.path, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [line] = (await once(server.stdout!, 'data')) as [Buffer]
  port = Number(new URL((JSON.parse(line.toString()) as { url: string }).url).port)
})
afterAll(async () => {
  server.kill('SIGKILL')
  await once(server, 'exit')
  folder.remove()
})

/** Bytes that a server may grow over all requests. */
const MOST_GROWTH = 48 * 2 ** 20

describe(`${COUNTS.meant + COUNTS.odd + COUNTS.raw} random requests`, () => {
  it(`give no 5xx and no crash, and the server grows no more (seed ${SEED})`, async () => {
    const random = new Random(SEED)
    const statuses = new Map<number, number>()
    // Memory goes up and down by fifty megabytes between two rounds of the garbage collector: the least of three is compared.
    const least = async (): Promise<number> => {
      const seen: number[] = []
      for (let round = 0; round < 3; round++) {
        await bombard(random, share(0.05), statuses)
        seen.push(await memory())
      }
      return Math.min(...seen)
    }
    // What is kept of answers fills up first; from then on nothing may grow.
    await bombard(random, share(0.7), statuses)
    const before = await least()
    let grown = Number.POSITIVE_INFINITY
    // A leak grows with each round; what waits for the garbage collector on a busy machine does not. A few thousand
    // requests do not fill what is kept of answers.
    for (let round = 0; FULL && round < 3 && grown >= MOST_GROWTH; round++) {
      await bombard(random, share(0.3), statuses)
      grown = (await least()) - before
    }
    expect(server.exitCode).toBeNull()
    expect([...statuses.keys()].filter(status => status >= 500)).toEqual([])
    // Only many requests use up the credits of an hour.
    for (const status of [200, 400, 401, 404, 405, ...(FULL ? [429] : [])])
      expect(statuses.get(status) ?? 0, `${status} of ${JSON.stringify([...statuses])}`).toBeGreaterThan(0)
    if (FULL) expect(grown).toBeLessThan(MOST_GROWTH)
    const { out, code } = await shell('bands accounts usage --reconcile --json', env)
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({ discrepancies: [] })
  })
})

function share(part: number): typeof COUNTS {
  return { meant: COUNTS.meant * part, odd: COUNTS.odd * part, raw: COUNTS.raw * part }
}

async function bombard(random: Random, counts: typeof COUNTS, statuses: Map<number, number>): Promise<void> {
  const volleys: Buffer[] = []
  for (let i = 0; i < counts.meant; i += PIPELINE) volleys.push(volley(() => meant(random)))
  for (let i = 0; i < counts.odd; i += PIPELINE) volleys.push(volley(() => odd(random)))
  for (let i = 0; i < counts.raw; i++) volleys.push(raw(random))
  const next = volleys.values()
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      for (const bytes of next) {
        for (const status of await sent(bytes)) statuses.set(status, (statuses.get(status) ?? 0) + 1)
      }
    }),
  )
}

function volley(request: () => string): Buffer {
  const requests = Array.from({ length: PIPELINE }, request)
  return Buffer.from(`${requests.join('')}GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`, 'latin1')
}

/** Statuses of all answers on one connection, which the server closes at the end. */
function sent(bytes: Buffer): Promise<number[]> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    socket.setEncoding('latin1')
    socket.on('data', chunk => {
      text += String(chunk)
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve([...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(match => Number(match[1]))))
    // What is no whole request would be waited for otherwise.
    socket.end(bytes)
  })
}

function request(path: string, headers: readonly string[] = [], method = 'GET'): string {
  return `${[`${method} ${path} HTTP/1.1`, 'Host: x', ...headers].join('\r\n')}\r\n\r\n`
}

function meant(random: Random): string {
  const field = pick(random, BUILT_IN_FIELDS.names)
  const parts = [`ticker=SIM000${1 + random.below(4)}`, `field=${field}`]
  if (chance(random, 0.5)) parts.push(`band=${pick(random, BUILT_IN_FIELDS.named(field)!.bands)}`)
  if (chance(random, 0.3)) parts.push(`limit=${1 + random.below(100)}`)
  if (chance(random, 0.3)) parts.push(`before=20${10 + random.below(16)}-0${1 + random.below(9)}-15`)
  const path = chance(random, 0.02) ? '/v1/scan/oversold' : `/v1/events?${parts.join('&')}`
  return request(path, [`Authorization: Bearer ${pick(random, keys)}`])
}

const VALUES = ['', '%00', '%FF', '0x10', '1e1', '+5', '-0', '..%2F..%2Fetc', "'%20OR%201=1--", '%F0%9F%92%A9', 'null']
const PATHS = '/ /v1 /v1/events /v1/events/ /v1/scan/oversold /docs /.. //v1/events /%2e%2e *'.split(' ')
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']
const NAMES = 'ticker field limit band before after context_band befor __proto__ constructor'.split(' ')

function odd(random: Random): string {
  const parts = Array.from(
    { length: random.below(5) },
    () =>
      `${pick(random, NAMES)}${chance(random, 0.9) ? '=' : ''}${chance(random, 0.1) ? 'x'.repeat(2_000) : pick(random, VALUES)}`,
  )
  const headers = [
    `Authorization: ${pick(random, ['Bearer', 'bearer', 'Basic', ''])} ${pick(random, [...keys, 'x', ''])}`,
  ]
  if (chance(random, 0.1)) headers.push(headers[0]!)
  if (chance(random, 0.1)) headers.push(`Idempotency-Key: ${pick(random, ['a', '', '\u00e9', 'x'.repeat(300)])}`)
  if (chance(random, 0.1)) headers.push(`If-None-Match: ${pick(random, ['*', '"', 'W/"a", "b"', ','])}`)
  if (chance(random, 0.1)) headers.push(`X-Request-Id: ${pick(random, ['a b', '{}', '%0a'])}`)
  const path = pick(random, PATHS)
  return request(parts.length === 0 ? path : `${path}?${parts.join('&')}`, headers, pick(random, METHODS))
}

/** A request in which some bytes are others, or bytes that are no request at all. */
function raw(random: Random): Buffer {
  const bytes = Buffer.from(chance(random, 0.7) ? odd(random) : meant(random), 'latin1')
  const noise = 1 + random.below(chance(random, 0.3) ? bytes.length : 4)
  for (let i = 0; i < noise; i++) bytes[random.below(bytes.length)] = random.below(256)
  return chance(random, 0.3) ? bytes.subarray(0, random.below(bytes.length)) : bytes
}

/** What the server holds, in bytes, as it tells itself. */
async function memory(): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  return Number(/^process_resident_memory_bytes (\S+)/m.exec(text)![1])
}
