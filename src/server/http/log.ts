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

/** What the log line of a request is made of. */
interface LoggedRequest {
  id: string
  url: string
  request: IncomingMessage
  /** null: without a valid key */
  caller: { account: number; key: string } | null
  charged: number
}

/** Writes JSON lines with level, time and more. No line ever contains a key. */
export class Log {
  readonly #write: (line: string) => void
  readonly #minLevel: number
  /** URL → its JSON text. Cached, because masking the keys in it takes longer than the rest of its line. */
  readonly #urlTexts = new Map<string, string>()
  /** The time of the last line, and its ISO text. */
  #lastTime = 0
  #lastTimeText = ''

  constructor({ level, write }: ServerOptions['log']) {
    this.#write = write
    this.#minLevel = LOG_LEVELS.indexOf(level)
  }

  /** Writes a line, unless its level is below the log's. */
  add(level: Exclude<LogLevel, 'silent'>, entry: Readonly<Record<string, unknown>>): void {
    if (LOG_LEVELS.indexOf(level) < this.#minLevel) return
    const line = JSON.stringify({ level, time: new Date().toISOString(), ...entry })
    this.#write(`${printable(maskKeys(line))}\n`)
  }

  /**
   * Writes the log line of an answered request. The only header in it is `X-Request-Id`, the caller's name for the
   * request. It is built by hand, because every answer has one, even the fastest.
   */
  logAnswer({ id, url, request, caller, charged }: LoggedRequest, status: number, milliseconds: number): void {
    if (this.#minLevel > LOG_LEVELS.indexOf('info')) return
    const callersName = request.headers['x-request-id']
    const requestPart = `"id":"${id}","method":"${request.method}","url":${this.#urlText(url)}`
    const answerPart = `"status":${status},"ms":${milliseconds.toFixed(3)},"credits":${charged}`
    const callerPart = caller === null ? '' : `,"account":${caller.account},"key":"${caller.key}"`
    const namePart = callersName === undefined ? '' : `,"called":${jsonForLog(String(callersName))}`
    this.#write(`{"level":"info","time":"${this.#time()}",${requestPart},${answerPart}${callerPart}${namePart}}\n`)
  }

  /** A URL as JSON text for the log. */
  #urlText(url: string): string {
    let text = this.#urlTexts.get(url)
    if (text !== undefined) return text
    text = jsonForLog(url)
    if (this.#urlTexts.size >= MAX_CACHED_URLS) this.#urlTexts.clear()
    if (url.length <= MAX_LOGGED_CHARACTERS) this.#urlTexts.set(url, text)
    return text
  }

  /** The time as ISO text, made once for all lines of a millisecond. */
  #time(): string {
    const now = Date.now()
    if (now !== this.#lastTime) {
      this.#lastTime = now
      this.#lastTimeText = new Date(now).toISOString()
    }
    return this.#lastTimeText
  }
}

/** A text as JSON, cut after 500 characters, with keys masked even if they are percent-encoded. */
function jsonForLog(text: string): string {
  const cut = text.length > MAX_LOGGED_CHARACTERS ? `${text.slice(0, MAX_LOGGED_CHARACTERS)}…` : text
  const decoded = decodePercent(cut)
  const masked = maskKeyParts(decoded)
  // A text without a key is logged as it was sent.
  return printable(JSON.stringify(masked === decoded ? cut : masked))
}

/** Masks keys, and any run of letters as long as the secret of a key, whose prefix may be misspelled. */
function maskKeyParts(text: string): string {
  return maskKeys(text).replace(/[0-9A-Za-z]{32,}/g, '…')
}

/** Removes all percent-encoding, even repeated; bytes that are not UTF-8 stay encoded. */
function decodePercent(text: string): string {
  const decodedOnce = text.replace(/(%[0-9A-Fa-f]{2})+/g, bytes => {
    try {
      return decodeURIComponent(bytes)
    } catch {
      return bytes
    }
  })
  return decodedOnce === text ? text : decodePercent(decodedOnce)
}

const MAX_LOGGED_CHARACTERS = 500

/** Maximum number of URLs in memory. */
const MAX_CACHED_URLS = 2_000

/** The label of all unknown paths, because a caller must not be able to create labels. */
const UNKNOWN_ROUTE = 'unknown'

/** The state of the data that the metrics report. */
interface DataState {
  version(): Promise<string>
  newestDay(): Promise<Day | null>
  waitingFields(): Promise<WaitingFields | null>
  refusedFile(): unknown
}

/** In seconds. */
const DURATION_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

/** The counters of one server, for Prometheus. No label identifies a caller: no key, no account, no ticker. */
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
  /** Answers that were cached, or that the caller already had (304). */
  readonly reused = this.#counter('bands_answers_reused_total', 'Answers that needed no search.', ['how'])
  readonly #commitCharges = new Histogram({
    name: 'bands_commit_charges',
    help: 'Charges written in one commit.',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
    registers: this.#registers,
  })
  readonly #commitSeconds = new Histogram({
    name: 'bands_commit_duration_seconds',
    help: 'Duration of a commit of charges, until it is on the disk.',
    buckets: DURATION_BUCKETS,
    registers: this.#registers,
  })
  #collectors: (() => void | Promise<void>)[] = []
  readonly #connections = this.#gauge('bands_connections_open', 'Connections that are open.')

  /** @param routes the paths with a label of their own; all others share one */
  constructor(version: string, routes: readonly string[]) {
    this.#routes = new Set(routes)
    this.#gauge('bands_build_info', 'The version that runs; always 1.', ['version']).set({ version }, 1)
    // Counters must be visible at 0, so that Prometheus sees their first increase.
    for (const tier of TIER_NAMES) for (const counted of [this.credits, this.limited]) counted.inc({ tier }, 0)
    for (const limit of ['all', 'address']) this.crowded.inc({ limit }, 0)
    for (const how of ['cache', 'not_modified']) this.reused.inc({ how }, 0)
    processMetrics()
  }

  /** Counts the open connections of a server from now on, including those in a TLS handshake. */
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

  /** Reports the connections to the database of the accounts from now on; a file has none. */
  watchPool(pool: () => PoolState | undefined): void {
    if (pool() === undefined) return
    const help = `Connections to the database of the accounts: in use, idle; questions that wait for one.`
    const gauge = this.#gauge('bands_accounts_connections', help, ['state'])
    const waitHelp = `Seconds that questions have waited for a connection to the database of the accounts.`
    const waitSeconds = this.#counter('bands_accounts_connection_wait_seconds_total', waitHelp, [])
    this.#collectors.push(() => {
      const { total, idle, waiting, waitedSeconds } = pool()!
      for (const [state, count] of Object.entries({ used: total - idle, idle, waiting })) gauge.set({ state }, count)
      // A counter of Prometheus cannot be set, only increased.
      waitSeconds.reset()
      waitSeconds.inc(waitedSeconds)
    })
  }

  /** Reports how far this machine's clock is ahead of the database's. @param aheadMs undefined: it is the same clock */
  watchClock(aheadMs: () => number | undefined): void {
    if (aheadMs() === undefined) return
    const help = "Seconds that this machine's clock is ahead of the clock of the accounts' database."
    const gauge = this.#gauge('bands_accounts_clock_ahead_seconds', help)
    this.#collectors.push(() => gauge.set(aheadMs()! / 1000))
  }

  /**
   * Reports the state of the data: since when they have this version, and the day of the newest bar. Also how long
   * fields have waited, and whether a new file was refused.
   */
  watchData(data: () => DataState): void {
    const isUp = this.#gauge('bands_data_up', 'Whether the data could be looked at: 1, or 0.')
    const newestDay = this.#gauge('bands_data_newest_day_timestamp_seconds', 'The day of the newest bar, at 0:00 UTC.')
    const versionSince = this.#gauge(
      'bands_data_version_timestamp_seconds',
      'When this version of the data was first seen here.',
    )
    let lastVersion = ''
    const fieldsWaiting = this.#gauge(
      'bands_data_fields_waiting_seconds',
      'For how long fields have waited for an import of facts; 0 where none waits, NaN where that is not known.',
    )
    const refused = this.#gauge('bands_data_refused', 'Whether a new file of data was refused: 1, or 0.')
    const readAll = withTimeLimit(() => {
      const state = data()
      return Promise.all([state.version(), state.newestDay(), state.waitingFields()])
    })
    this.#collectors.push(async () => {
      refused.set(data().refusedFile() === null ? 0 : 1)
      try {
        const [version, day, waiting] = await readAll()
        if (version !== lastVersion) versionSince.set(Date.now() / 1000)
        lastVersion = version
        if (day !== null) newestDay.set(day * 86_400)
        fieldsWaiting.set(waiting === null ? 0 : (secondsWaited(waiting) ?? Number.NaN))
        isUp.set(1)
      } catch {
        isUp.set(0)
      }
    })
  }

  /** Counts an answer. @param path of the route, without its query */
  countAnswer(path: string, status: number, seconds: number): void {
    const route = this.#routes.has(path) ? path : UNKNOWN_ROUTE
    this.#requests.inc({ route, status })
    this.#seconds.observe({ route }, seconds)
  }

  countCommit(charges: number, seconds: number): void {
    this.#commitCharges.observe(charges)
    this.#commitSeconds.observe(seconds)
  }

  /** All metrics, including those of the process, in the exposition format of Prometheus. */
  async text(): Promise<string> {
    await Promise.all(this.#collectors.map(collect => collect()))
    return Registry.merge([...this.#registers, processMetrics()]).metrics()
  }

  #counter<Label extends string>(name: string, help: string, labelNames: readonly Label[]): Counter<Label> {
    return new Counter({ name, help, labelNames, registers: this.#registers })
  }

  #gauge<Label extends string>(name: string, help: string, labelNames: readonly Label[] = []): Gauge<Label> {
    return new Gauge({ name, help, labelNames, registers: this.#registers })
  }
}

/** One for all servers of a process, because its observers of memory, garbage collection and event loop never end. */
let processRegistry: Registry | undefined

/** Metrics of the process, which are created at the first call. */
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

/** How long the metrics wait for the database; Prometheus gives up after ten seconds. */
const DATA_TIMEOUT_MS = 5_000

/** Gives a query a time limit. While it runs, further calls wait for the same run. */
function withTimeLimit<T>(query: () => Promise<T>): () => Promise<T> {
  let pending: Promise<T> | null = null
  return () => {
    pending ??= query().finally(() => {
      pending = null
    })
    const timeout = sleep(DATA_TIMEOUT_MS, undefined, { ref: false }).then(() => {
      throw new Error('the database has not answered in time')
    })
    return Promise.race([pending, timeout])
  }
}
