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
import { corsHeaders } from './cors.js'
import { encodeAnswer, type HeaderList, lengthOf, type OutgoingAnswer } from './encoding.js'
import type { Log, Metrics } from './log.js'
import type { Limits, Settings } from './options.js'

export type Handler = (exchange: Exchange) => OutgoingAnswer | Promise<OutgoingAnswer>

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

  /** Makes every new request fail, except health checks, because the server is stopping. */
  refuseNewRequests(): void {
    this.#closing = true
  }

  get isClosing(): boolean {
    return this.#closing
  }

  /** Settles when every received request is answered or aborted, and no handler runs any more. */
  async allAnswered(): Promise<void> {
    if (this.#unanswered > 0)
      await new Promise<void>(resolve => {
        this.#onAllAnswered = resolve
      })
  }

  /** Runs a handler, and sends its answer or its error. @param always runs it even while the server is stopping */
  handle(exchange: Exchange, handler: Handler, { always = false } = {}): void {
    const { request, response } = exchange
    this.#unanswered++
    const requestNumber = this.#connections.beginAnswer(request.socket)
    // A request is finished when both its connection and its handler are.
    let isOpen = true
    let isWorking = true
    const finishIfDone = (): void => {
      if (!isOpen && !isWorking) this.#finishOne()
    }
    const endConnection = (): void => {
      if (!isOpen) return
      isOpen = false
      exchange.stopWaiting?.()
      this.#logAndCount(exchange, response.headersSent ? response.statusCode : CALLER_HUNG_UP)
      finishIfDone()
    }
    response.on('close', endConnection)
    // Behind an earlier answer on the same connection, the response has no close event, but the request has one.
    request.on('close', () => {
      if (exchange.isGone) endConnection()
    })
    void this.#answer(exchange, handler, always).then(answer => {
      this.#sendAtEndOfTurn(() => {
        this.#send(answer, exchange, requestNumber)
        this.#connections.endAnswer(request.socket, exchange.caller !== null)
      })
      isWorking = false
      finishIfDone()
    })
  }

  /** The answer of a handler in the form to send; its error as an answer if it throws. @param always as in `handle` */
  async #answer(exchange: Exchange, handler: Handler, always: boolean): Promise<OutgoingAnswer> {
    try {
      if (this.#closing && !always) throw new Unavailable('The server is shutting down.')
      refuseBadHead(exchange, this.#settings.limits)
      // Only promises are awaited, because even a plain value costs time with `await`.
      const handled = handler(exchange)
      const plainAnswer = handled instanceof Promise ? await handled : handled
      const encoded = encodeAnswer(plainAnswer, exchange.request.headers['accept-encoding'])
      return encoded instanceof Promise ? await encoded : encoded
    } catch (error) {
      return this.#errorAnswer(error, exchange)
    }
  }

  /** Logs an error, and returns the answer that the caller gets. */
  #errorAnswer(error: unknown, { id, request }: Exchange): OutgoingAnswer {
    const errors = errorShapeFor(request, this.#settings.errors)
    const answer = errorAnswer(error, { id, errors, now: this.#settings.now(), upgradeUrl: this.#settings.upgradeUrl })
    const level = answer.status < 500 || error instanceof Unavailable ? 'debug' : 'error'
    this.#log.add(level, { id, error: level === 'error' ? stackText(error) : codeAndMessage(error) })
    return answer
  }

  /** Sends all answers of a turn of the event loop together, so that they wake a reader only once. */
  #sendAtEndOfTurn(send: () => void): void {
    this.#pendingSends.push(send)
    if (this.#pendingSends.length > 1) return
    setImmediate(() => {
      const sends = this.#pendingSends
      this.#pendingSends = []
      for (const sendOne of sends) sendOne()
    })
  }

  /** Writes an answer. @param requestNumber of the request on its connection, from 1 */
  #send(answer: OutgoingAnswer, exchange: Exchange, requestNumber: number): void {
    if (exchange.isGone) return
    const { status, headers, body } = answer
    const hasBody = status !== 304 && status !== 204
    const length = hasBody ? lengthOf(answer) : 0
    const allHeaders = [REQUEST_ID, exchange.id, ...headers, ...exchange.creditHeaders]
    if (this.#settings.cors !== undefined)
      allHeaders.push(...corsHeaders(exchange.request, this.#settings.cors, allHeaders))
    allHeaders.push(...this.#commonHeaders)
    if (hasBody) allHeaders.push('Content-Length', String(length))
    // Otherwise the rest of the body would be read as the next request.
    const hasUnreadBody = exchange.hasBody && !exchange.isRead
    const shouldClose = this.#closing || this.#connections.isCrowded
    const mayClose = shouldClose && this.#connections.isLatestRequest(exchange.request.socket, requestNumber)
    const isUrlTooLong = status === 414
    if (hasUnreadBody || isUrlTooLong || mayClose) allHeaders.push('Connection', 'close')
    exchange.response.writeHead(status, allHeaders)
    if (exchange.request.method === 'HEAD' || !hasBody) exchange.response.end()
    // If bytes equal characters, the body is ASCII, which node copies faster as Latin-1.
    else exchange.response.end(body, length === body.length ? 'latin1' : 'utf8')
  }

  /** Writes a request to the log and the metrics. @param status of its answer */
  #logAndCount(exchange: Exchange, status: number): void {
    const milliseconds = performance.now() - exchange.startedAt
    this.#log.logAnswer(exchange, status, milliseconds)
    this.#metrics.countAnswer(exchange.route, status, milliseconds / 1000)
  }

  #finishOne(): void {
    this.#unanswered--
    if (this.#unanswered === 0) this.#onAllAnswered?.()
  }
}

/** The status in log and metrics if the caller did not wait for the answer. */
const CALLER_HUNG_UP = 499

/** Throws MalformedRequest for a URL that is too long, and for bad headers that node's parser accepts. */
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

/** The shape of errors for a caller: from its header, `nested` for the vendor's clients, or the server's default. */
export function errorShapeFor({ headers }: IncomingMessage, serverShape: ErrorShape): ErrorShape {
  const requested = ERROR_SHAPES.find(shape => shape === headers[SHAPE_HEADER])
  if (requested !== undefined) return requested
  const isVendors = VENDORS_AGENT.test(headers['user-agent'] ?? '') || VENDORS_CLIENT.toLowerCase() in headers
  return isVendors ? 'nested' : serverShape
}

/** The clients for Python and Go, under the old name of the service and the new one. */
const VENDORS_AGENT = /^ticker(api|db)-(python|sdk-go|go)\b/

/** An error for the log, followed by its causes. An error of bands has no stack. */
function stackText(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const text = error instanceof BandsError ? codeAndMessage(error) : (error.stack ?? String(error))
  return error.cause === undefined ? text : `${text}\ncaused by ${stackText(error.cause)}`
}

function codeAndMessage(error: unknown): string {
  return error instanceof BandsError ? `${error.code}: ${error.message}` : String(error)
}

/** The account and the key of a request. */
export interface Caller {
  account: number
  /** The account's name. */
  name: string
  /** Identity of the key. */
  key: string
  tier: Tier
}

/** The credits that a caller had used at a time, in milliseconds since 1970. */
export interface CreditUse {
  used: UsedCredits
  at: number
}

/** One request, and its state on the way to the answer. */
export class Exchange {
  readonly id: string
  /** The path and the query of the request, as sent; `path` and `search` are its two parts. */
  readonly url: string
  readonly path: string
  readonly search: string
  /** The path of the route, such as `/v1/summary/{ticker}`. */
  route: string
  /** The ticker in the path, as it was sent; empty for paths without one. */
  pathTicker = ''
  readonly startedAt = performance.now()
  /** null until the key is found valid */
  caller: Caller | null = null
  /** null until the credits are read */
  credits: CreditUse | null = null
  /** Credits that this answer cost. */
  charged = 0
  /** Sent with every answer; empty without a valid key. */
  creditHeaders: HeaderList = []
  /** Called if the caller hangs up while its question waits in the queue; null: it does not wait. */
  stopWaiting: (() => void) | null = null
  readonly request: IncomingMessage
  readonly response: ServerResponse

  constructor(request: IncomingMessage, response: ServerResponse) {
    const { url: target = '' } = request
    // A proxy may send the whole URL.
    const url = target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?]*/i, '')
    const queryStart = url.indexOf('?')
    this.id = requestId()
    this.url = url
    this.path = queryStart < 0 ? url : url.slice(0, queryStart)
    this.search = queryStart < 0 ? '' : url.slice(queryStart + 1)
    this.route = this.path
    this.request = request
    this.response = response
  }

  /** Whether the caller has hung up. Behind an earlier answer of the connection, only the socket shows that. */
  get isGone(): boolean {
    return this.response.destroyed || this.request.socket.destroyed
  }

  /** Whether the body was read to its end. */
  isRead = false

  get hasBody(): boolean {
    const { 'content-length': length, 'transfer-encoding': chunks } = this.request.headers
    return (length !== undefined && !/^0+$/.test(length)) || chunks !== undefined
  }

  /**
   * Whether the request comes from this machine and not through a proxy on it. A proxy passes on the requested host, or
   * sets a forwarding header. A proxy that does neither must itself block the paths that are private.
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

/** The HTTP status of each error; any other error is 500. */
const STATUSES: Partial<Record<ErrorCode, number>> = {
  invalid_parameter: 400,
  unauthorized: 401,
  tier_restricted: 403,
  not_found: 404,
  method_not_allowed: 405,
  rate_limit_exceeded: 429,
  data_unavailable: 503,
}

/** The methods that every path answers. */
export const READ_METHODS: readonly ('GET' | 'HEAD')[] = ['GET', 'HEAD']

export const JSON_TYPE = 'application/json; charset=utf-8'

/** Headers of every answer: a browser must not guess a type, and if TLS is used, must use it for a year. */
export function commonHeaders({ tls }: Pick<Settings, 'tls'>): HeaderList {
  return tls === undefined ? NO_SNIFF : [...NO_SNIFF, 'Strict-Transport-Security', 'max-age=31536000']
}

const NO_SNIFF = ['X-Content-Type-Options', 'nosniff']

export function jsonAnswer(status: number, body: unknown): OutgoingAnswer {
  return { status, headers: ['Content-Type', JSON_TYPE], body: JSON.stringify(body) }
}

/**
 * The answer to a caller whose request failed. An internal error shows only the number of the request, and an error of
 * the storage shows no path. Keys are masked.
 * @param id of the request @param errors shape of the body @param now milliseconds since 1970
 */
export function errorAnswer(
  thrown: unknown,
  { id, errors, now, upgradeUrl }: Pick<Settings, 'errors' | 'upgradeUrl'> & { id: string; now: number },
): OutgoingAnswer {
  const error = errorForCaller(thrown)
  const status = error === null ? 500 : statusOf(error)
  const isInternal = error === null || status === 500
  const page = isInternal ? internalErrorBody(id, errors) : errorBody(error, errors, upgradeUrl)
  const { headers, body } = jsonAnswer(status, page)
  const allHeaders = [...headers, 'Cache-Control', 'no-store', ...errorHeaders(error, now)]
  return { status, headers: allHeaders, body: maskKeys(String(body)) }
}

function statusOf(error: BandsError): number {
  return error instanceof MalformedRequest ? error.status : (STATUSES[error.code] ?? 500)
}

/** A request that is malformed or too large; `param` names the part. */
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

/** The error that a caller may see instead of a thrown one; null: an internal error. */
function errorForCaller(thrown: unknown): BandsError | null {
  if (thrown instanceof Busy)
    return new Unavailable('The data is being changed, or cannot be reached just now; try again in a moment.')
  // A database that refuses logins, for example after a password change, can be repaired while the server runs.
  if (thrown instanceof StorageError || thrown instanceof ConfigError)
    return new Unavailable('The data cannot be read or written at the moment; try again later.')
  return thrown instanceof BandsError ? thrown : null
}

/** The headers that an error adds. @param now milliseconds since 1970 */
function errorHeaders(error: BandsError | null, now: number): HeaderList {
  if (error instanceof Unauthorized) return ['WWW-Authenticate', 'Bearer']
  if (error instanceof MethodNotAllowed) return ['Allow', error.allow.join(', ')]
  if (error instanceof Unavailable) return ['Retry-After', '5']
  if (!(error instanceof RateLimited) || error.reset === null) return []
  return ['Retry-After', String(Math.max(1, Math.ceil((Date.parse(error.reset) - now) / 1000)))]
}

/** The values of all headers with a name. Node's `headers` merge or drop repeated ones. @param name in lower case */
export function headerValues(name: string, rawHeaders: readonly string[]): string[] {
  const values: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const header = rawHeaders[i]!
    if (header.length === name.length && header.toLowerCase() === name) values.push(rawHeaders[i + 1]!)
  }
  return values
}

/** A UUID of version 7: it cannot be guessed, and sorts by time, so that the ledger's index grows at its end. */
export function requestId(): string {
  const now = Date.now()
  if (now !== lastIdTime) {
    lastIdTime = now
    // The first 48 bits are the time, the next four the version; the rest is random.
    const digits = now.toString(16).padStart(12, '0')
    idPrefix = `${digits.slice(0, 8)}-${digits.slice(8)}-7`
  }
  return idPrefix + randomUUID().slice(15)
}

let lastIdTime = 0
let idPrefix = ''

/** Whether an address or a host name always means this machine. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^(::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host)
}

export function sha256(text: string | Buffer): Buffer {
  return hash('sha256', text, 'buffer')
}
