import { mkdtempSync, rmSync } from 'node:fs'
import { type Agent, type IncomingHttpHeaders, request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { openService } from '../../src/app/open/service.js'
import { type Day, parseDay } from '../../src/core/model/day.js'
import type { Tier } from '../../src/core/model/terms.js'
import { readFile } from '../../src/data/feeds/read.js'
import { Importer } from '../../src/data/load/import.js'
import { simulatedTickers } from '../../src/data/simulate/simulate.js'
import { openSqlite } from '../../src/data/store/sqlite/data.js'
import type { Accounts } from '../../src/server/accounts/accounts.js'
import { type GeneratedKey, generateKey } from '../../src/server/accounts/key.js'
import type { ServerOptions } from '../../src/server/http/options.js'
import type { Service } from '../../src/server/http/question.js'
import { type RunningServer, startServer } from '../../src/server/http/server.js'
import { sourced } from './store.js'

/** A store of simulated tickers on disk: SIM0001 and on, with facts, to 2024-06-28. */
export interface Ground {
  db: string
  remove(): void
}

export async function simulatedGround({ count = 3, bars = 600, seed = 7 } = {}): Promise<Ground> {
  const folder = mkdtempSync(join(tmpdir(), 'bands-serve-'))
  const db = join(folder, 'bands.db')
  const store = openSqlite(db, { readonly: false })
  const writer = { pid: process.pid, host: 'here', started: new Date().toISOString() }
  const importer = await Importer.begin(store, readFile, writer)
  const tickers = [...simulatedTickers({ count, bars, seed, end: parseDay('2024-06-28')! })]
  await importer.put(tickers.map(sourced))
  await importer.putFacts(
    tickers.flatMap(({ facts }) => facts),
    { file: 'simulate', format: 'simulated' },
  )
  await importer.close()
  return { db, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

export interface ServeLent extends Partial<ServerOptions> {
  asOf?: Day | null
  clock?: (() => Day) | null
  /** Their file; beside the ground unless given. */
  accounts?: string
  /** Whether it takes over new files of data. */
  follows?: boolean
  /** Puts something between the server and what it stands on. */
  around?: (service: Service) => Service
}

/** A real server on a port of its own, over a store and accounts on disk. */
export interface Served extends RunningServer {
  /** Looks for a new file of data now. */
  look(): Promise<void>
  service: Service
  accounts: Accounts
  /** Everything that was logged. */
  logged(): string
  /** A key of a new account of this tier. */
  key(tier: Tier): Promise<string>
  /** Another key of an account. */
  keyOf(account: number, name: string): Promise<string>
  /** A key of a new account of a name. */
  account(name: string, tier: Tier): Promise<{ id: number; key: string; identity: string }>
  get(path: string, key?: string, headers?: Readonly<Record<string, string>>): Promise<Response>
}

/** A ground for a whole file of tests, and a server on it; both go with the file. */
export async function serveFile({ count = 3, bars, ...lent }: ServeLent & { count?: number; bars?: number } = {}) {
  const ground = await simulatedGround({ count, ...(bars && { bars }) })
  const server = await serve(ground, lent)
  afterAll(async () => {
    await server.stop()
    ground.remove()
  })
  return { ground, server }
}

export async function serve(
  ground: Ground,
  { asOf = null, clock = null, accounts, around, follows = false, ...lent }: ServeLent = {},
): Promise<Served> {
  const opened = await openService({ db: ground.db, asOf, clock, accounts })
  const service = around?.(opened.service) ?? opened.service
  const lines: string[] = []
  const running = await startServer(service, {
    host: '127.0.0.1',
    port: 0,
    errors: 'flat',
    metrics: 'loopback',
    version: '0.0.0',
    log: { level: 'info', write: text => lines.push(text) },
    ...lent,
  })
  const { log } = running
  const following = follows
    ? opened.follow(running.takeOver, {
        logTakeOver: data => log.add('info', { message: 'taken', data }),
        logRefusal: why => log.add('error', { error: why }),
      })
    : null
  const account: Served['account'] = async (name, tier) => {
    const { id } = await service.accounts.create(name, tier, new Date().toISOString())
    return { id, ...(await newKey(service.accounts, id, 'test')) }
  }
  return {
    ...running,
    look: async () => following?.checkNow(),
    service,
    accounts: service.accounts,
    logged: () => lines.join(''),
    key: async tier => (await account(`account ${++made}`, tier)).key,
    account,
    keyOf: async (account, name) => (await newKey(service.accounts, account, name)).key,
    get: (path, key, headers = {}) =>
      ask(running.url + path, { headers: [...authorization(key), ...Object.entries(headers).flat()] }),
    async stop() {
      await running.stop()
      await opened.close()
    },
  }
}

/** The same service whose charges are written down in another way. */
export function withCharges(service: Service, charge: Accounts['charge']): Service {
  const get = (target: Accounts, name: string | symbol): unknown => {
    const value: unknown = name === 'charge' ? charge : Reflect.get(target, name)
    return typeof value === 'function' ? value.bind(target) : value
  }
  return { ...service, accounts: new Proxy(service.accounts, { get }) }
}

/** Has an account use credits at a moment, whatever its tier. */
export async function spend(
  accounts: Accounts,
  { id, identity }: { id: number; identity: string },
  credits: number,
  at: number,
): Promise<void> {
  const hashes = { idempotency: null, question: Buffer.alloc(32), answer: Buffer.alloc(32) }
  const limits = { day: 1_000_000, hour: 1_000_000 }
  const charge = { ...hashes, account: id, key: identity, requestId: `spent by ${id}`, endpoint: '/', limits }
  const [charged] = await accounts.charge([{ ...charge, credits, at }])
  if (charged?.outcome !== 'charged') throw new Error(`not spent: ${charged?.outcome}`)
}

/** Something to wait for, and what lets it happen. */
export function latch(): { passed: Promise<void>; open(): void } {
  let open = (): void => {}
  const passed = new Promise<void>(resolve => {
    open = resolve
  })
  return { passed, open }
}

let made = 0

async function newKey(accounts: Accounts, account: number, name: string): Promise<GeneratedKey> {
  const made = generateKey()
  const { identity, hash } = made
  await accounts.addKey(account, { identity, hash, name, created: new Date().toISOString(), expires: null })
  return made
}

export function authorization(key: string | undefined): string[] {
  return key === undefined ? [] : ['Authorization', `Bearer ${key}`]
}

export interface RawResponse {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

export interface Response extends Omit<RawResponse, 'body'> {
  text: string
  /** The body as JSON. */
  json(): Record<string, unknown>
}

/** What comes back for some bytes, until the server hangs up. @param more sent after a pause each, until it hangs up */
export function sendBytes(
  port: number,
  bytes: string | Buffer,
  { more = [] as readonly string[], pause = 0 } = {},
): Promise<{ text: string }> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    const rest = [...more]
    const drip = setInterval(() => {
      const next = rest.shift()
      if (next !== undefined && socket.writable) socket.write(next)
    }, pause || 1_000)
    socket.on('data', part => {
      text += part.toString('latin1')
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      clearInterval(drip)
      resolve({ text })
    })
    socket.write(bytes)
  })
}

/** One request, over a connection of its own without an agent. @param headers names and values in turn, sent as they are */
export async function ask(url: string, lent: Parameters<typeof raw>[1] = {}): Promise<Response> {
  const { body, ...response } = await raw(url, lent)
  const text = body.toString('utf8')
  return { ...response, text, json: () => JSON.parse(text) }
}

/** The same, with the bytes of the body as they came. */
export function raw(
  url: string,
  {
    method = 'GET',
    headers = [] as readonly string[],
    body = '',
    target = url.slice(url.indexOf('/', 8)),
    agent = false as Agent | false,
    host = new URL(url).host,
  } = {},
): Promise<RawResponse> {
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      method,
      agent,
      headers: ['Host', host, ...headers],
      path: target,
    })
    sent.on('error', reject)
    sent.on('response', answer => {
      const parts: Buffer[] = []
      answer.on('data', part => parts.push(part))
      answer.on('error', reject)
      answer.on('end', () => {
        resolve({ status: answer.statusCode!, headers: answer.headers, body: Buffer.concat(parts) })
      })
    })
    sent.end(body === '' ? undefined : body)
  })
}
