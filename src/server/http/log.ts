import type { IncomingMessage } from 'node:http'
import type { Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { printable } from '../../core/errors.js'
import type { Day } from '../../core/model/day.js'
import { TIER_NAMES } from '../../core/model/terms.js'
import type { WaitingFields } from '../../core/source.js'
import type { PoolState } from '../accounts/accounts.js'
import { maskKeys } from '../accounts/key.js'
import { LOG_LEVELS, type LogLevel, type ServerOptions } from './options.js'

/** What the log says of a request. */
interface LoggedRequest {
  id: string
  url: string
  request: IncomingMessage
  /** null: no valid key was seen */
  caller: { account: number; key: string } | null
  charged: number
}

/** JSON lines with level, time and more. No line ever contains a key. */
export class Log {
  readonly #write: (line: string) => void
  readonly #minLevel: number
  /** URLs as the log has them: to look for keys in one takes longer than the rest of its line. */
  readonly #urls = new Map<string, string>()
  #moment = 0
  #momentText = ''

  constructor({ level, write }: ServerOptions['log']) {
    this.#write = write
    this.#minLevel = LOG_LEVELS.indexOf(level)
  }

  add(level: Exclude<LogLevel, 'silent'>, entry: Readonly<Record<string, unknown>>): void {
    if (LOG_LEVELS.indexOf(level) < this.#minLevel) return
    const line = JSON.stringify({ level, time: new Date().toISOString(), ...entry })
    this.#write(`${printable(maskKeys(line))}\n`)
  }

  /**
   * The log line of an answered request. Of its headers it has only the caller's name for the request. Built by hand,
   * because every answer has one, even the fastest.
   */
  logAnswer({ id, url, request, caller, charged }: LoggedRequest, status: number, milliseconds: number): void {
    if (this.#minLevel > LOG_LEVELS.indexOf('info')) return
    const called = request.headers['x-request-id']
    const requestPart = `"id":"${id}","method":"${request.method}","url":${this.#legibleUrl(url)}`
    const answer = `"status":${status},"ms":${milliseconds.toFixed(3)},"credits":${charged}`
    const who = caller === null ? '' : `,"account":${caller.account},"key":"${caller.key}"`
    const name = called === undefined ? '' : `,"called":${jsonForLog(String(called))}`
    this.#write(`{"level":"info","time":"${this.#time()}",${requestPart},${answer}${who}${name}}\n`)
  }

  #legibleUrl(url: string): string {
    let text = this.#urls.get(url)
    if (text !== undefined) return text
    text = jsonForLog(url)
    if (this.#urls.size >= MOST_URLS) this.#urls.clear()
    if (url.length <= MAX_LOGGED_CHARACTERS) this.#urls.set(url, text)
    return text
  }

  #time(): string {
    const now = Date.now()
    if (now !== this.#moment) {
      this.#moment = now
      this.#momentText = new Date(now).toISOString()
    }
    return this.#momentText
  }
}

/** As JSON, cut, without keys, and without any run of letters as long as a key: its first letters may be disguised. */
function jsonForLog(text: string): string {
  const cut = text.length > MAX_LOGGED_CHARACTERS ? `${text.slice(0, MAX_LOGGED_CHARACTERS)}…` : text
  const plain = maskKeyParts(decodePercent(cut))
  return printable(JSON.stringify(plain === decodePercent(cut) ? cut : plain))
}

function maskKeyParts(text: string): string {
  return maskKeys(text).replace(/[0-9A-Za-z]{32,}/g, '…')
}

/** With all percent-encoding removed, even repeated; bytes that are no text stay. */
function decodePercent(text: string): string {
  const once = text.replace(/(%[0-9A-Fa-f]{2})+/g, bytes => {
    try {
      return decodeURIComponent(bytes)
    } catch {
      return bytes
    }
  })
  return once === text ? text : decodePercent(once)
}

const MAX_LOGGED_CHARACTERS = 500

/** Maximum number of URLs in memory. */
const MOST_URLS = 2_000

/** The label of all unknown paths: callers must not be able to create labels. */
const UNKNOWN_ROUTE = 'unknown'

/** The data's version and newest day. */
interface DataState {
  version(): Promise<string>
  newestDay(): Promise<Day | null>
  waiting(): Promise<WaitingFields | null>
  refused(): unknown
}

/** Seconds. */
const DURATION_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

/**
 * The counters of one server, for Prometheus. Labels are closed sets and never identify a caller: no key, no account,
 * no ticker.
 */
export class Metrics {
  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE
  readonly #registers = [new Registry()]
  readonly #routes: ReadonlySet<string>
  readonly #requests = this.#counter('bands_http_requests_total', 'Answers by route and status.', ['route', 'status'])
  readonly #seconds = new Histogram({
    name: 'bands_http_request_duration_seconds',
    help: 'From the request to its answer, by route.',
    labelNames: ['route'],
    buckets: [...DURATION_BUCKETS, 5, 10],
    registers: this.#registers,
  })
  readonly credits = this.#counter('bands_credits_charged_total', 'Credits charged, by tier.', ['tier'])
  readonly limited = this.#counter('bands_requests_limited_total', 'Requests refused for want of credits.', ['tier'])
  readonly crowded = this.#counter('bands_connections_crowded_total', 'Connections closed to make room.', ['limit'])
  /** It was cached, or the caller already has it (304). */
  readonly reused = this.#counter('bands_answers_reused_total', 'Answers that needed no search.', ['how'])
  readonly #batch = new Histogram({
    name: 'bands_commit_charges',
    help: 'Charges written in one commit.',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
    registers: this.#registers,
  })
  readonly #commit = new Histogram({
    name: 'bands_commit_duration_seconds',
    help: 'Duration of a commit of charges, until it is on the disk.',
    buckets: DURATION_BUCKETS,
    registers: this.#registers,
  })
  #collectors: (() => void | Promise<void>)[] = []
  readonly #connections = this.#gauge('bands_connections_open', 'Connections that are open.')

  /** @param routes the paths that are served; all others are counted as one */
  constructor(version: string, routes: readonly string[]) {
    this.#routes = new Set(routes)
    this.#gauge('bands_build_info', 'The version that runs; always 1.', ['version']).set({ version }, 1)
    // A series that is there from the start lets its first step be seen.
    for (const tier of TIER_NAMES) for (const counted of [this.credits, this.limited]) counted.inc({ tier }, 0)
    for (const limit of ['all', 'address']) this.crowded.inc({ limit }, 0)
    for (const how of ['cache', 'not_modified']) this.reused.inc({ how }, 0)
    processMetrics()
  }

  /** Counts the connections of a server from now on, handshakes of TLS included. */
  watch(server: Server): void {
    server.on('connection', socket => {
      this.#connections.inc()
      socket.once('close', () => this.#connections.dec())
    })
  }

  /** Reports the length of the scan queue from now on. */
  watchScans(waiting: () => number): void {
    const gauge = this.#gauge('bands_scans_waiting', 'Scans that wait for their turn.')
    this.#collectors.push(() => gauge.set(waiting()))
  }

  /** Reports the connections to the database of the accounts; a file has none. */
  watchPool(pool: () => PoolState | undefined): void {
    if (pool() === undefined) return
    const help = `Connections to the database of the accounts: in use, idle; questions that wait for one.`
    const gauge = this.#gauge('bands_accounts_connections', help, ['state'])
    const waits = `Seconds that questions have waited for a connection to the database of the accounts.`
    const waiting = this.#counter('bands_accounts_connection_wait_seconds_total', waits, [])
    this.#collectors.push(() => {
      const { total, idle, waiting: queued, waitedSeconds } = pool()!
      for (const [state, count] of Object.entries({ used: total - idle, idle, waiting: queued }))
        gauge.set({ state }, count)
      waiting.reset()
      waiting.inc(waitedSeconds)
    })
  }

  /** Reports how far this machine's clock is ahead of the database's; accounts in a file have no other clock. */
  watchClock(ahead: () => number | undefined): void {
    if (ahead() === undefined) return
    const help = "Seconds that this machine's clock is ahead of the clock of the accounts' database."
    const gauge = this.#gauge('bands_accounts_clock_ahead_seconds', help)
    this.#collectors.push(() => gauge.set(ahead()! / 1000))
  }

  /** Reports which version of the data is queried, the day of its newest bar, and for how long fields have waited. */
  watchData(data: () => DataState): void {
    const up = this.#gauge('bands_data_up', 'Whether the data could be looked at: 1, or 0.')
    const day = this.#gauge('bands_data_newest_day_timestamp_seconds', 'The day of the newest bar, at 0:00 UTC.')
    const since = this.#gauge(
      'bands_data_version_timestamp_seconds',
      'When this version of the data was first seen here.',
    )
    let seen = ''
    const waits = this.#gauge(
      'bands_data_fields_waiting_seconds',
      'For how long fields have waited for an import of facts; 0 where none waits, NaN where that is not known.',
    )
    const refused = this.#gauge('bands_data_refused', 'Whether a new file of data was refused: 1, or 0.')
    const readAll = withTimeLimit(() => {
      const { version, newestDay, waiting } = data()
      return Promise.all([version(), newestDay(), waiting()])
    })
    this.#collectors.push(async () => {
      refused.set(data().refused() === null ? 0 : 1)
      try {
        const [now, newest, waitingFields] = await readAll()
        if (now !== seen) since.set(Date.now() / 1000)
        seen = now
        if (newest !== null) day.set(newest * 86_400)
        waits.set(waitingFields === null ? 0 : (secondsWaited(waitingFields) ?? Number.NaN))
        up.set(1)
      } catch {
        up.set(0)
      }
    })
  }

  /** @param path of the route, without its query */
  answered(path: string, status: number, seconds: number): void {
    const route = this.#routes.has(path) ? path : UNKNOWN_ROUTE
    this.#requests.inc({ route, status })
    this.#seconds.observe({ route }, seconds)
  }

  countCommit(charges: number, seconds: number): void {
    this.#batch.observe(charges)
    this.#commit.observe(seconds)
  }

  /** All metrics, including those of the process, in the exposition format of Prometheus. */
  async text(): Promise<string> {
    await Promise.all(this.#collectors.map(look => look()))
    return Registry.merge([...this.#registers, processMetrics()]).metrics()
  }

  #counter<Label extends string>(name: string, help: string, labelNames: readonly Label[]): Counter<Label> {
    return new Counter({ name, help, labelNames, registers: this.#registers })
  }

  #gauge<Label extends string>(name: string, help: string, labelNames: readonly Label[] = []): Gauge<Label> {
    return new Gauge({ name, help, labelNames, registers: this.#registers })
  }
}

/**
 * Memory, garbage collection, event loop: measured per process, so created once for all its servers. Each collection
 * would leave observers that nothing ends.
 */
let processRegistry: Registry | undefined

function processMetrics(): Registry {
  if (processRegistry === undefined) {
    processRegistry = new Registry()
    collectDefaultMetrics({ register: processRegistry })
  }
  return processRegistry
}

/** For how many seconds fields have waited; null: unknown. */
export function secondsWaited({ since }: WaitingFields): number | null {
  return since === null ? null : Math.max(0, Math.round((Date.now() - Date.parse(since)) / 1000))
}

/** The longest wait of a scrape for a database, in milliseconds: a scraper gives up after ten seconds. */
const DATA_TIMEOUT_MS = 5_000

/** A query with a time limit. It does not start again before it has ended. */
function withTimeLimit<T>(query: () => Promise<T>): () => Promise<T> {
  let pending: Promise<T> | null = null
  return () => {
    pending ??= query().finally(() => {
      pending = null
    })
    const late = sleep(DATA_TIMEOUT_MS, undefined, { ref: false }).then(() => {
      throw new Error('the database has not answered in time')
    })
    return Promise.race([pending, late])
  }
}
