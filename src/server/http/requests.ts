import { hash, randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  BandsError,
  Busy,
  ConfigError,
  type ErrorCode,
  InvalidParameter,
  MethodNotAllowed,
  RateLimited,
  StorageError,
  Unauthorized,
  Unavailable,
} from '../../core/errors.js'
import type { Tier } from '../../core/model/terms.js'
import type { UsedCredits } from '../accounts/accounts.js'
import { maskKeys } from '../accounts/key.js'
import {
  ERROR_SHAPE,
  ERROR_SHAPES,
  type ErrorShape,
  errorBody,
  internalErrorBody,
  REQUEST_ID,
  VENDORS_CLIENT,
} from '../wire/format.js'
import type { Connections } from './connections.js'
import { readableBy } from './cors.js'
import { encoded, type HeaderList, lengthOf, type Outgoing } from './encoding.js'
import type { Log, Metrics } from './log.js'
import type { Limits, Settings } from './options.js'

export type Handler = (exchange: Exchange) => Outgoing | Promise<Outgoing>

/** Receives requests and sends answers: each request gets one, is logged and counted, even after failures. */
export class Requests {
  readonly #settings: Settings
  readonly #metrics: Metrics
  readonly #log: Log
  readonly #connections: Connections
  readonly #commonHeaders: HeaderList
  #unanswered = 0
  #pendingSends: (() => void)[] = []
  #closing = false
  #onAllAnswered: (() => void) | null = null

  constructor(settings: Settings, metrics: Metrics, log: Log, connections: Connections) {
    this.#settings = settings
    this.#metrics = metrics
    this.#log = log
    this.#connections = connections
    this.#commonHeaders = commonHeaders(settings)
  }

  /** From now on every request is refused, because the server is stopping; except health checks. */
  refuseNewRequests(): void {
    this.#closing = true
  }

  get isClosing(): boolean {
    return this.#closing
  }

  /** Settles when every received request was answered, or aborted and finished. */
  async allAnswered(): Promise<void> {
    if (this.#unanswered > 0)
      await new Promise<void>(resolve => {
        this.#onAllAnswered = resolve
      })
  }

  /** @param always also while the server ends */
  handle(exchange: Exchange, handler: Handler, { always = false } = {}): void {
    const { request, response } = exchange
    this.#unanswered++
    const number = this.#connections.work(request.socket)
    let isOpen = true
    let isWorking = true
    const over = (): void => {
      if (!isOpen && !isWorking) this.#finishOne()
    }
    const close = (): void => {
      if (!isOpen) return
      isOpen = false
      exchange.stopWaiting?.()
      this.#logAndCount(exchange, response.headersSent ? response.statusCode : CALLER_HUNG_UP)
      over()
    }
    response.on('close', close)
    // An answer queued behind an earlier one does not get its close event; its request does.
    request.on('close', () => {
      if (exchange.isGone) close()
    })
    void this.#answer(exchange, handler, always).then(answer => {
      this.#sendAtEndOfTurn(() => {
        this.#send(answer, exchange, number)
        this.#connections.wait(request.socket, exchange.caller !== null)
      })
      isWorking = false
      over()
    })
  }

  async #answer(exchange: Exchange, handler: Handler, always: boolean): Promise<Outgoing> {
    try {
      if (this.#closing && !always) throw new Unavailable('The server is shutting down.')
      refuseBadHead(exchange, this.#settings.limits)
      const handled = handler(exchange)
      const whole = handled instanceof Promise ? await handled : handled
      const answer = encoded(whole, exchange.request.headers['accept-encoding'])
      return answer instanceof Promise ? await answer : answer
    } catch (error) {
      return this.#errorAnswer(error, exchange)
    }
  }

  #errorAnswer(error: unknown, { id, request }: Exchange): Outgoing {
    const errors = errorShapeFor(request, this.#settings.errors)
    const answer = errorAnswer(error, { id, errors, now: this.#settings.now(), upgradeUrl: this.#settings.upgradeUrl })
    const level = answer.status < 500 || error instanceof Unavailable ? 'debug' : 'error'
    this.#log.add(level, { id, error: level === 'error' ? stackText(error) : codeAndMessage(error) })
    return answer
  }

  /** Answers leave together at the end of a turn of the event loop: each by itself would wake its reader by itself. */
  #sendAtEndOfTurn(send: () => void): void {
    this.#pendingSends.push(send)
    if (this.#pendingSends.length > 1) return
    setImmediate(() => {
      const leaving = this.#pendingSends
      this.#pendingSends = []
      for (const send of leaving) send()
    })
  }

  /** @param number of the request on its connection */
  #send(answer: Outgoing, exchange: Exchange, number: number): void {
    if (exchange.isGone) return
    const { status, headers, body } = answer
    const hasBody = status !== 304 && status !== 204
    const length = hasBody ? lengthOf(answer) : 0
    const all = [REQUEST_ID, exchange.id, ...headers, ...exchange.creditHeaders]
    if (this.#settings.cors !== undefined) all.push(...readableBy(exchange.request, this.#settings.cors, all))
    all.push(...this.#commonHeaders)
    if (hasBody) all.push('Content-Length', String(length))
    // A body that was not read could be taken for the next request.
    const mustClose = (exchange.hasBody && !exchange.isRead) || status === 414
    const isLeaving = this.#closing || this.#connections.isCrowded
    if (mustClose || (isLeaving && this.#connections.isLast(exchange.request.socket, number)))
      all.push('Connection', 'close')
    exchange.response.writeHead(status, all)
    if (exchange.request.method === 'HEAD' || !hasBody) exchange.response.end()
    // Node copies ASCII faster when it is called Latin-1.
    else exchange.response.end(body, length === body.length ? 'latin1' : 'utf8')
  }

  #logAndCount(exchange: Exchange, status: number): void {
    const milliseconds = performance.now() - exchange.startedAt
    this.#log.answered(exchange, status, milliseconds)
    this.#metrics.answered(exchange.route, status, milliseconds / 1000)
  }

  #finishOne(): void {
    this.#unanswered--
    if (this.#unanswered === 0) this.#onAllAnswered?.()
  }
}

/** The usual log status for a caller who did not wait for the answer. */
const CALLER_HUNG_UP = 499

/** What node's parser lets through. Throws Malformed. */
function refuseBadHead({ url, request }: Exchange, limits: Limits): void {
  const { rawHeaders, httpVersion } = request
  if (url.length > limits.urlLength) throw urlTooLongError(limits)
  const hosts = headerValues('host', rawHeaders).length
  if (hosts === 0 && httpVersion === '1.1') throw new MalformedRequest(400, 'The request has no Host header.', 'Host')
  if (hosts > 1) throw new MalformedRequest(400, 'The request has more than one Host header.', 'Host')
  const shape = request.headers[SHAPE_HEADER]
  if (shape !== undefined && !ERROR_SHAPES.some(known => known === shape))
    throw new MalformedRequest(400, `${ERROR_SHAPE} is not ${ERROR_SHAPES.join(' or ')}.`, ERROR_SHAPE)
}

const SHAPE_HEADER = ERROR_SHAPE.toLowerCase()

/**
 * How a caller reads errors: as it says, otherwise as the vendor's official clients do where it is one, otherwise as the
 * server has them.
 */
export function errorShapeFor({ headers }: IncomingMessage, unlessSet: ErrorShape): ErrorShape {
  const said = ERROR_SHAPES.find(shape => shape === headers[SHAPE_HEADER])
  if (said !== undefined) return said
  const isVendors = VENDORS_AGENT.test(headers['user-agent'] ?? '') || VENDORS_CLIENT.toLowerCase() in headers
  return isVendors ? 'nested' : unlessSet
}

/** The clients for Python and Go, under the old name of the service and the new one. */
const VENDORS_AGENT = /^ticker(api|db)-(python|sdk-go|go)\b/

function stackText(error: unknown): string {
  const text = error instanceof BandsError ? codeAndMessage(error) : ((error as Error)?.stack ?? codeAndMessage(error))
  return error instanceof Error && error.cause !== undefined ? `${text}\ncaused by ${stackText(error.cause)}` : text
}

function codeAndMessage(error: unknown): string {
  return error instanceof BandsError ? `${error.code}: ${error.message}` : String(error)
}

/** Whose key a request bears. */
export interface Caller {
  account: number
  /** The account's name. */
  name: string
  /** Identity of the key. */
  key: string
  tier: Tier
}

/** What a caller had used, and when. */
export interface CreditUse {
  used: UsedCredits
  at: number
}

/** One request, and what became known of it on the way to its answer. */
export class Exchange {
  readonly id: string
  /** From its path on, as it was sent, and its two parts. */
  readonly url: string
  readonly path: string
  readonly search: string
  /** The path of the route, as documents have it. */
  route: string
  /** The ticker in the path, as it was sent; empty for paths without one. */
  pathTicker = ''
  readonly startedAt = performance.now()
  /** null until a valid key was seen */
  caller: Caller | null = null
  /** null until it was looked at */
  credits: CreditUse | null = null
  /** Credits that this answer cost. */
  charged = 0
  /** Sent with every answer; empty until a valid key was seen. */
  creditHeaders: HeaderList = []
  /** Gives up what the answer waits for, once the caller has hung up; null: nothing that could be. */
  stopWaiting: (() => void) | null = null
  readonly request: IncomingMessage
  readonly response: ServerResponse

  constructor(request: IncomingMessage, response: ServerResponse) {
    const { url: target = '' } = request
    // Proxies may name the whole URL.
    const url = target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?]*/i, '')
    const mark = url.indexOf('?')
    this.id = requestId()
    this.url = url
    this.path = mark < 0 ? url : url.slice(0, mark)
    this.search = mark < 0 ? '' : url.slice(mark + 1)
    this.route = this.path
    this.request = request
    this.response = response
  }

  /**
   * The caller has hung up. Node does not notice it for an answer queued behind another of the same connection, so the
   * connection is checked as well.
   */
  get isGone(): boolean {
    return this.response.destroyed || this.request.socket.destroyed
  }

  /** Whether the body was read to its end. */
  isRead = false

  /** Only changes to a watch list have a body; any other is not read. */
  get hasBody(): boolean {
    const { 'content-length': length, 'transfer-encoding': chunks } = this.request.headers
    return (length !== undefined && !/^0+$/.test(length)) || chunks !== undefined
  }

  /**
   * From this machine and not through a local proxy. A proxy passes on the requested host, or sets a forwarding header.
   * One that does neither looks local, and must block private paths itself.
   */
  get isLocal(): boolean {
    const { headers, socket } = this.request
    const host = (headers.host ?? '').replace(/:\d*$/, '').replace(/^\[(.*)\]$/, '$1')
    const isHere = isLoopback(socket.remoteAddress ?? '') && isLoopback(host)
    return isHere && !Object.keys(headers).some(name => PROXY_HEADERS.test(name))
  }
}

const PROXY_HEADERS =
  /^(forwarded|via|x-forwarded-.*|x-real-ip|x-client-ip|x-cluster-client-ip|x-envoy-.*|true-client-ip|cf-.*)$/

/** The status of each error; any other error is the server's own fault. */
const STATUSES: Partial<Record<ErrorCode, number>> = {
  invalid_parameter: 400,
  unauthorized: 401,
  tier_restricted: 403,
  not_found: 404,
  method_not_allowed: 405,
  rate_limit_exceeded: 429,
  data_unavailable: 503,
}

/** The methods of every path that there is. */
export const READ_METHODS: readonly ('GET' | 'HEAD')[] = ['GET', 'HEAD']

export const JSON_TYPE = 'application/json; charset=utf-8'

/** Headers of every answer: a browser must not guess a type, and over TLS must come back over TLS (for a year). */
export function commonHeaders({ tls }: Pick<Settings, 'tls'>): HeaderList {
  return tls === undefined ? NO_SNIFF : [...NO_SNIFF, 'Strict-Transport-Security', 'max-age=31536000']
}

const NO_SNIFF = ['X-Content-Type-Options', 'nosniff']

export function json(status: number, body: unknown): Outgoing {
  return { status, headers: ['Content-Type', JSON_TYPE], body: JSON.stringify(body) }
}

/**
 * What a caller sees of an error, in its error shape. For internal errors only the request's number; for disk errors no
 * path.
 */
export function errorAnswer(
  thrown: unknown,
  { id, errors, now, upgradeUrl }: Pick<Settings, 'errors' | 'upgradeUrl'> & { id: string; now: number },
): Outgoing {
  const error = errorForCaller(thrown)
  const status = error instanceof MalformedRequest ? error.status : STATUSES[error?.code ?? 'upstream']
  const { headers, body } =
    error === null || status === undefined
      ? json(500, internalErrorBody(id, errors))
      : json(status, errorBody(error, errors, upgradeUrl))
  // A key inside a parameter is not repeated in the answer.
  return {
    status: status ?? 500,
    headers: [...headers, 'Cache-Control', 'no-store', ...errorHeaders(error, now)],
    body: maskKeys(String(body)),
  }
}

/** A request that is no proper HTTP, or more of it than this server takes; `param` says which part. */
export class MalformedRequest extends InvalidParameter {
  readonly status: number

  constructor(status: number, message: string, param: string) {
    super(message, { param })
    this.status = status
  }
}

export function tooSlowError({ headersTimeout, requestTimeout }: Limits): MalformedRequest {
  const patience = `${headersTimeout / 1000} s for its head, ${requestTimeout / 1000} s in all`
  return new MalformedRequest(408, `The request did not arrive in time (${patience}).`, 'request')
}

export function urlTooLongError({ urlLength }: Limits): MalformedRequest {
  return new MalformedRequest(414, `The URL has more than ${urlLength} characters.`, 'url')
}

export function headTooLargeError({ headBytes }: Limits): MalformedRequest {
  return new MalformedRequest(431, `The URL and the headers have more than ${headBytes} bytes.`, 'headers')
}

/** null: nothing that a caller could make something of */
function errorForCaller(thrown: unknown): BandsError | null {
  if (thrown instanceof Busy)
    return new Unavailable('The data is being changed, or cannot be reached just now; try again in a moment.')
  // A database that refuses logins, for example after a password change, can be repaired while the server runs.
  if (thrown instanceof StorageError || thrown instanceof ConfigError)
    return new Unavailable('The data cannot be read or written at the moment; try again later.')
  return thrown instanceof BandsError ? thrown : null
}

function errorHeaders(error: BandsError | null, now: number): HeaderList {
  if (error instanceof Unauthorized) return ['WWW-Authenticate', 'Bearer']
  if (error instanceof MethodNotAllowed) return ['Allow', error.allow.join(', ')]
  if (error instanceof Unavailable) return ['Retry-After', '5']
  if (!(error instanceof RateLimited) || error.reset === null) return []
  return ['Retry-After', String(Math.max(1, Math.ceil((Date.parse(error.reset) - now) / 1000)))]
}

/** Values of all headers of a name (in lower case), as they were sent: node merges some, and drops others. */
export function headerValues(name: string, rawHeaders: readonly string[]): string[] {
  const found: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const header = rawHeaders[i]!
    if (header.length === name.length && header.toLowerCase() === name) found.push(rawHeaders[i + 1]!)
  }
  return found
}

/**
 * A number for a request that cannot be guessed and sorts by time (UUID version 7). So the ledger's index grows only at
 * its end, instead of being rewritten with every commit.
 */
export function requestId(): string {
  const now = Date.now()
  if (now !== lastIdTime) {
    lastIdTime = now
    const digits = now.toString(16).padStart(12, '0')
    idPrefix = `${digits.slice(0, 8)}-${digits.slice(8)}-7`
  }
  return idPrefix + randomUUID().slice(15)
}

let lastIdTime = 0
let idPrefix = ''

/** Whether an address or name belongs to this machine only. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^(::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host)
}

export function sha256(text: string | Buffer): Buffer {
  // One call: half the time of an incremental hash.
  return hash('sha256', text, 'buffer')
}
