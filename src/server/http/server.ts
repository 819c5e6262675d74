// For: the HTTP server.
// In: requests with a key.
// Out: answers, errors and charges, each request once.

import { once } from 'node:events'
import {
  createServer,
  type ServerOptions as HttpOptions,
  type RequestListener,
  type Server,
  STATUS_CODES,
} from 'node:http'
import { createServer as createTlsServer, Server as TlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TlsOptions } from 'node:tls'
import {
  ConfigError,
  MethodNotAllowed,
  NotFound,
  parameter,
  quoted,
  sentence,
  Unavailable,
  type Words,
} from '../../core/errors.js'
import { clockFault, rollUpLedger } from '../accounts/accounts.js'
import { ACCOUNT_PATH, type ErrorShape, REQUEST_ID, WATCHLIST_PATH } from '../wire/format.js'
import { Connections } from './connections.js'
import { isPreflight, preflightHeaders } from './cors.js'
import { EncodedBodies, type HeaderList, type OutgoingAnswer } from './encoding.js'
import { Log, Metrics, secondsWaited } from './log.js'
import { type Certificate, type ServerOptions, type Settings, settingsOf } from './options.js'
import { pathTemplate, QUESTION_READERS } from './paths.js'
import type { Service } from './question.js'
import { Questions } from './questions.js'
import {
  commonHeaders,
  Exchange,
  errorAnswer,
  errorShapeFor,
  type Handler,
  headTooLargeError,
  JSON_TYPE,
  jsonAnswer,
  MalformedRequest,
  READ_METHODS,
  Requests,
  requestId,
  tooSlowError,
} from './requests.js'
import { LIST_CHANGES, LIST_QUESTIONS } from './watchlist.js'

export interface RunningServer {
  /** Its address, without a trailing slash. */
  url: string
  port: number
  log: Log
  /** Uses another certificate from the next connection on. */
  setCertificate(tls: Certificate): void
  /** Answers new requests from other data. Settles when the last answer from the old data is made. */
  takeOver(next: Service): Promise<void>
  /** Refuses new requests, and settles when the running ones are answered and charged. The service stays open. */
  stop(): Promise<void>
}

/** Starts node's own HTTP server, without a framework. Throws ConfigError if it cannot listen. */
export async function startServer(service: Service, options: ServerOptions): Promise<RunningServer> {
  const settings = settingsOf({ now: () => service.accounts.now(), ...options })
  const log = new Log(settings.log)
  const paths = [...QUESTION_READERS.keys(), ...LIST_QUESTIONS.keys(), ACCOUNT_PATH, ...OPEN_PATHS]
  const metrics = new Metrics(settings.version, paths)
  const connections = new Connections(settings.limits, limit => metrics.crowded.inc({ limit }))
  const requests = new Requests(settings, metrics, log, connections)
  const questions = new Questions(service, settings, metrics)
  const withoutKey = openRoutes(() => questions.service, settings, metrics, requests)
  const routes = new Map([...questionRoutes(questions), ...withoutKey])
  const server = createLimitedServer(settings, log, (request, response) => {
    const exchange = new Exchange(request, response)
    const { answer, always } = isPreflight(request, settings.cors) ? PREFLIGHT : routeOf(exchange, routes, questions)
    requests.handle(exchange, answer, { always })
  })
  metrics.watch(server)
  metrics.watchPool(() => service.accounts.pool)
  metrics.watchClock(() => service.accounts.clockAhead)
  metrics.watchData(() => questions.service)
  connections.watch(server)
  const port = await listen(server, settings)
  const url = serverUrl(settings, port)
  log.add('info', { message: `listening at ${url}` })
  const { clockAhead = 0, location } = service.accounts
  const fault = clockFault(clockAhead, location)
  if (fault !== null) log.add('warn', { message: `${fault}: /readyz says 503` })
  const stopRollUps = startRollUps(service, settings.now, log)
  return {
    url,
    port,
    log,
    setCertificate: tls => {
      if (server instanceof TlsServer) server.setSecureContext({ ...TLS_OPTIONS, ...tls })
    },
    takeOver: next => questions.takeOver(next),
    async stop() {
      requests.refuseNewRequests()
      log.add('info', { message: 'stopping' })
      const rollUpsEnded = stopRollUps()
      await Promise.race([requests.allAnswered(), sleep(settings.limits.grace, undefined, { ref: false })])
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      connections.close()
      await closed
      await questions.meter.allCommitted()
      await rollUpsEnded
    },
  }
}

/** The first wait before a roll-up of the ledger, and the later ones. */
const FIRST_ROLL_UP_MS = 60_000
const NEXT_ROLL_UP_MS = 3_600_000

/**
 * Rolls up the ledger every hour. Of several servers on the same accounts the first does the work, and the others find
 * nothing to do. A failure is logged, and the next hour tries again.
 * @returns a function that stops this; it settles when no roll-up runs any more
 */
function startRollUps({ accounts }: Service, now: () => number, log: Log): () => Promise<void> {
  const abort = new AbortController()
  const { signal } = abort
  const repeat = async (): Promise<void> => {
    for (let wait = FIRST_ROLL_UP_MS; !signal.aborted; wait = NEXT_ROLL_UP_MS) {
      try {
        await sleep(wait, undefined, { ref: false, signal })
        const { rows, days } = await rollUpLedger(accounts, now(), signal)
        if (rows + days > 0) log.add('info', { message: `rolled up ${rows} rows of the ledger; ${days} old days went` })
      } catch (error) {
        if (!signal.aborted) log.add('error', { error: `the ledger was not rolled up: ${error}` })
      }
    }
  }
  const ended = repeat()
  return () => {
    abort.abort()
    return ended
  }
}

/** Makes the server listen, and returns its port. Throws ConfigError. */
async function listen(server: Server, { host, port, limits }: Settings): Promise<number> {
  try {
    server.listen({ host, port, backlog: Math.max(511, limits.connections) })
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  } catch (cause) {
    throw new ConfigError(listenFault(cause as NodeJS.ErrnoException, host, port), { cause })
  }
}

/** Why a server cannot listen, as a message. */
function listenFault({ code, message }: NodeJS.ErrnoException, host: string, port: number): Words {
  switch (code) {
    case 'EADDRINUSE':
      return sentence`port ${port} of ${host} is in use; choose another ${parameter('port')}, or 0 for any that is free.`
    case 'EACCES':
      return sentence`port ${port} of ${host} may not be used by this user; choose a ${parameter('port')} from 1024 on.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return sentence`${host} is no address of this machine; choose another ${parameter('host')}.`
    default:
      return `cannot listen on port ${port} of ${host}: ${message}.`
  }
}

function serverUrl({ host, tls }: Settings, port: number): string {
  const scheme = tls === undefined ? 'http' : 'https'
  const urlHost = host.includes(':') ? `[${host}]` : host
  return `${scheme}://${urlHost}:${port}`
}

interface Route {
  answer: Handler
  /** The handlers of methods other than GET and HEAD. */
  changes?: Readonly<Record<string, Handler>>
  /** Whether the path exists for this request (default: for all). */
  isVisibleTo?(exchange: Exchange): boolean
  /** Answered even while the server is stopping. */
  always?: boolean
  needsKey?: boolean
}

/**
 * The route of a request, which also sets `route` and `pathTicker` of the exchange. For an unknown path or method it is
 * a route that fails; it needs a key, unless the path answers without one.
 */
function routeOf(exchange: Exchange, routes: ReadonlyMap<string, Route>, questions: Questions): Route {
  const { path } = exchange
  const { method = '' } = exchange.request
  const { template, pathTicker } = pathTemplate(path)
  exchange.route = template
  exchange.pathTicker = pathTicker
  const route = routes.get(template)
  if (route === undefined || route.isVisibleTo?.(exchange) === false)
    return { answer: questions.withValidKey(() => throwError(new NotFound(`there is nothing at ${quoted(path)}.`))) }
  if (READ_METHODS.some(answered => answered === method)) return route
  const change = route.changes?.[method]
  if (change !== undefined) return { answer: change }
  const methods = [...READ_METHODS, ...Object.keys(route.changes ?? {})]
  const answer = (): never => throwError(new MethodNotAllowed(method, path, methods))
  return { answer: route.needsKey ? questions.withValidKey(answer) : answer }
}

/** The route of a browser's preflight request, for any path: only the real request shows whether that exists. */
const PREFLIGHT: Route = {
  answer: () => ({ status: 204, headers: preflightHeaders([...READ_METHODS, ...Object.keys(LIST_CHANGES)]), body: '' }),
}

/** Throws an error where the language takes only an expression. */
function throwError(error: Error): never {
  throw error
}

/** The routes that need a key, by path. */
function questionRoutes(questions: Questions): [string, Route][] {
  const routes: [string, Route][] = [[ACCOUNT_PATH, { answer: questions.accountHandler(), needsKey: true }]]
  for (const [path, read] of QUESTION_READERS)
    routes.push([path, { answer: questions.questionHandler(path, read), needsKey: true }])
  const changes: Record<string, Handler> = {}
  for (const [method, change] of Object.entries(LIST_CHANGES)) changes[method] = questions.listChangeHandler(change)
  for (const [path, read] of LIST_QUESTIONS) {
    const route = { answer: questions.listQuestionHandler(path, read), needsKey: true }
    routes.push([path, path === WATCHLIST_PATH ? { ...route, changes } : route])
  }
  return routes
}

/** Paths that are answered without a key. */
const OPEN_PATHS = ['/', '/healthz', '/readyz', '/metrics', '/openapi.json', '/docs'] as const

/** The routes that need no key, by path. @param currentService returns the data that answer now */
function openRoutes(
  currentService: () => Service,
  settings: Settings,
  metrics: Metrics,
  requests: Pick<Requests, 'isClosing'>,
): [string, Route][] {
  const documents = documentMaker(settings)
  const routes: Record<(typeof OPEN_PATHS)[number], Route> = {
    // A temporary redirect, because browsers would keep a permanent one even if this path changes.
    '/': { answer: () => ({ status: 302, headers: ['Location', '/docs', 'Cache-Control', 'no-cache'], body: '' }) },
    '/healthz': { answer: () => jsonAnswer(200, { status: 'ok' }), always: true },
    '/readyz': {
      async answer() {
        if (requests.isClosing) throw new Unavailable('The server is shutting down.')
        return jsonAnswer(200, await readinessPage(currentService()))
      },
    },
    '/metrics': {
      answer: async () => textAnswer(await metrics.text(), metrics.contentType),
      isVisibleTo: ({ isLocal }) => isLocal || settings.metrics === 'any',
    },
    '/openapi.json': {
      answer: async ({ request }) => (await documents(errorShapeFor(request, settings.errors))).openapi,
    },
    '/docs': { answer: async () => (await documents(settings.errors)).docs },
  }
  return Object.entries(routes)
}

/** The body of `/readyz`. Throws if data cannot be read, or charges cannot be written. */
async function readinessPage(service: Service): Promise<object> {
  await Promise.all([service.check(), service.accounts.check()])
  const waiting = await service.waitingFields()
  const refused = service.refusedFile()
  const page: Record<string, unknown> = { status: 'ready', data: await service.snapshot() }
  if (waiting !== null) page.waiting = { ...waiting, seconds: secondsWaited(waiting) }
  if (refused !== null) page.refused = refused
  return page
}

/** Returns a function that makes the OpenAPI document and its page, once for each shape of errors. */
function documentMaker({ version }: Settings): (errors: ErrorShape) => Promise<Documents> {
  const make = async (errors: ErrorShape): Promise<Documents> => {
    const [{ openApi }, { docsPage }] = await Promise.all([import('./openapi.js'), import('./docs.js')])
    const document = openApi({ version, errors })
    const { html, csp } = docsPage(document)
    const docs = textAnswer(html, 'text/html; charset=utf-8', ['Content-Security-Policy', csp])
    return { openapi: textAnswer(JSON.stringify(document), JSON_TYPE), docs }
  }
  const documents: Partial<Record<ErrorShape, Promise<Documents>>> = {}
  return errors => {
    documents[errors] ??= make(errors)
    return documents[errors]
  }
}

type Documents = Record<'openapi' | 'docs', OutgoingAnswer>

/** An answer with a text that may be cached, but is asked for again. */
function textAnswer(body: string, type: string, moreHeaders: HeaderList = []): OutgoingAnswer {
  const headers = ['Content-Type', type, 'Cache-Control', 'no-cache', ...moreHeaders]
  return { status: 200, headers, body, encodedBodies: new EncodedBodies(body) }
}

/** Allows TLS 1.3, and TLS 1.2 with forward secrecy and authenticated encryption (RFC 9325, 4.2). */
const TLS_OPTIONS: TlsOptions = {
  minVersion: 'TLSv1.2',
  ciphers: [
    'TLS_AES_128_GCM_SHA256',
    'TLS_AES_256_GCM_SHA384',
    'TLS_CHACHA20_POLY1305_SHA256',
    'ECDHE-ECDSA-AES128-GCM-SHA256',
    'ECDHE-RSA-AES128-GCM-SHA256',
    'ECDHE-ECDSA-AES256-GCM-SHA384',
    'ECDHE-RSA-AES256-GCM-SHA384',
    'ECDHE-ECDSA-CHACHA20-POLY1305',
    'ECDHE-RSA-CHACHA20-POLY1305',
  ].join(':'),
}

/**
 * Creates node's HTTP or HTTPS server with every limit of the settings, and with answers to malformed requests. By
 * default node would wait for ever for the end of a request, and check request heads only twice a minute.
 */
function createLimitedServer(settings: Settings, log: Log, answer: RequestListener): Server {
  const { limits, tls } = settings
  const options: HttpOptions = {
    headersTimeout: limits.headersTimeout,
    requestTimeout: limits.requestTimeout,
    connectionsCheckingInterval: limits.checkInterval,
    keepAliveTimeout: limits.keepAliveTimeout,
    maxHeaderSize: limits.headBytes,
    // Requests refuses a missing Host header itself, with a body.
    requireHostHeader: false,
    noDelay: true,
  }
  const server = tls
    ? createTlsServer({ ...options, ...TLS_OPTIONS, ...tls, handshakeTimeout: limits.headersTimeout }, answer)
    : createServer(options, answer)
  server.setTimeout(limits.connectionTimeout)
  // No limit on the number of headers: node would drop the rest, and that could be a second Authorization.
  server.maxHeadersCount = 0
  // An Expect header other than 100-continue changes nothing.
  server.on('checkExpectation', answer)
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    refuseConnection(error.code ?? '', socket, settings, log)
  })
  return server
}

/**
 * Answers a connection whose bytes are no complete HTTP request, and closes it. Without a request there is nothing to
 * route, so the answer is written to the socket. @param code of the error in node's parser
 */
function refuseConnection(code: string, socket: Socket, settings: Settings, log: Log): void {
  const malformed = malformedRequest(code, settings)
  if (malformed === null || !socket.writable) return void socket.destroy()
  const id = requestId()
  const { status, headers, body } = errorAnswer(malformed, { id, errors: settings.errors, now: settings.now() })
  const connectionHeaders = ['Connection', 'close', 'Content-Length', Buffer.byteLength(body)]
  const allHeaders = [...headers, ...commonHeaders(settings), REQUEST_ID, id, ...connectionHeaders]
  // Names and values in turn.
  const head = allHeaders.map((text, i) => (i % 2 === 0 ? `${text}: ` : `${text}\r\n`))
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('')}\r\n${body}`)
  socket.destroySoon()
  log.add('info', { id, status, code })
}

/** The error to send for an error of node's parser; null: the caller has hung up, or does not speak HTTP. */
function malformedRequest(code: string, { limits }: Settings): MalformedRequest | null {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return tooSlowError(limits)
  if (code === 'HPE_HEADER_OVERFLOW') return headTooLargeError(limits)
  return code.startsWith('HPE_') ? new MalformedRequest(400, 'The request is not proper HTTP.', 'request') : null
}
