import {
  createServer,
  type ServerOptions as HttpOptions,
  type RequestListener,
  type Server,
  STATUS_CODES,
} from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import fastify, { type FastifyInstance } from 'fastify'
import { ConfigError, MethodNotAllowed } from '../errors.js'
import { REQUEST_ID } from '../wire/format.js'
import { Keyed, QUESTIONS, type Service } from './authorized.js'
import { ANSWERED, Malformed, refusal, requestId } from './exchange.js'
import { Log, Metrics } from './log.js'
import { OPEN_PATHS, type OpenPath, openPaths } from './open.js'
import { type ServerOptions, type Settings, settingsOf } from './options.js'
import { type Handler, Reception } from './requests.js'

/** A server that listens. */
export interface Running {
  /** Where it is reached, without a slash at the end. */
  url: string
  port: number
  /**
   * Takes in nothing more, lets what is under way end, and settles when all is written down. The service stays open.
   */
  stop(): Promise<void>
}

/** Starts to listen. Throws ConfigError where that cannot be done. */
export async function startServer(service: Service, options: ServerOptions): Promise<Running> {
  const settings = settingsOf(options)
  const metrics = new Metrics({ version: settings.version, routes: [...QUESTIONS.keys(), ...OPEN_PATHS] })
  const log = new Log(settings.log)
  const reception = new Reception(settings, metrics, log)
  const keyed = new Keyed(service, settings, metrics)
  const open = openPaths({ service, settings, metrics, reception })
  const servers: Server[] = []
  const made = (server: Server): void => {
    servers.push(server)
    metrics.watch(server)
  }
  const app = appOf({ settings, log, reception, keyed, open, made })
  const port = await listen(app, settings)
  const url = urlOf(settings, port)
  log.add('info', { message: `listening at ${url}` })
  return {
    url,
    port,
    async stop() {
      reception.close()
      log.add('info', { message: 'stopping' })
      await within(settings.limits.grace, reception.empty())
      for (const server of servers) server.closeAllConnections()
      await app.close()
      await keyed.meter.idle()
    },
  }
}

async function listen(app: FastifyInstance, { host, port, limits }: Settings): Promise<number> {
  try {
    await app.listen({ host, port, backlog: Math.max(511, limits.connections) })
    return (app.server.address() as AddressInfo).port
  } catch (cause) {
    await app.close()
    throw new ConfigError(whyNot(cause as NodeJS.ErrnoException, host, port), { cause })
  }
}

function whyNot({ code, message }: NodeJS.ErrnoException, host: string, port: number): string {
  switch (code) {
    case 'EADDRINUSE':
      return `port ${port} of ${host} is in use; choose another one (--port), or 0 for any that is free.`
    case 'EACCES':
      return `port ${port} of ${host} may not be used by this user; choose one from 1024 on (--port).`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${host} is no address of this machine; choose another one (--host).`
    default:
      return `cannot listen on port ${port} of ${host}: ${message}.`
  }
}

function urlOf({ host, tls }: Settings, port: number): string {
  return `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Settles with the work, or when the time is over. */
async function within(milliseconds: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<void>(resolve => {
    timer = setTimeout(resolve, milliseconds)
  })
  await Promise.race([work, over])
  clearTimeout(timer)
}

interface Doors {
  settings: Settings
  log: Log
  reception: Reception
  keyed: Keyed
  open: ReadonlyMap<string, OpenPath>
  /** Hears of every server that is made: a host of several addresses has one each. */
  made(server: Server): void
}

/** Paths and what answers there. Of fastify's own words none gets out: what has no route is answered here too. */
function appOf({ settings, log, reception, keyed, open, made }: Doors): FastifyInstance {
  const unknown: Handler = exchange => {
    const path = open.get(exchange.path)
    if (path?.isFor(exchange)) throw new MethodNotAllowed(exchange.method, exchange.path, ANSWERED)
    return keyed.nothing(exchange)
  }
  const takeUnknown = reception.takes(unknown)
  const app = fastify({
    serverFactory: answer => {
      const server = listener(answer, settings)
      made(server)
      return server
    },
    // Its own log would make a logger for each request; ours is written where answers are sent.
    logger: false,
    genReqId: requestId,
    requestIdHeader: false,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    frameworkErrors: (_error, request, reply) => takeUnknown(request, reply),
    clientErrorHandler: (error, socket) => {
      const refused = refuseConnection(error, socket, settings)
      if (refused !== null) log.add('info', { ...refused })
    },
  })
  for (const [path, read] of QUESTIONS)
    app.route({ method: [...ANSWERED], url: path, handler: reception.takes(keyed.question(path, read)) })
  for (const [path, { answer, isFor, always }] of open) {
    const handler: Handler = exchange => (isFor(exchange) ? answer(exchange) : keyed.nothing(exchange))
    app.route({ method: [...ANSWERED], url: path, handler: reception.takes(handler, { always }) })
  }
  // Before fastify would read a body for which there is no use.
  app.addHook('onRequest', (request, reply, done) => {
    if (request.is404) takeUnknown(request, reply)
    else done()
  })
  return app
}

/**
 * A server of node with every limit set: by default one waits for ever for the end of a request, and looks at heads of
 * requests only twice a minute.
 */
function listener(answer: RequestListener, { limits, tls }: Settings): Server {
  const options: HttpOptions = {
    headersTimeout: limits.headersTimeout,
    requestTimeout: limits.requestTimeout,
    connectionsCheckingInterval: limits.checkInterval,
    keepAliveTimeout: limits.keepAliveTimeout,
    maxHeaderSize: limits.headBytes,
    // Ours to refuse, with a body.
    requireHostHeader: false,
    noDelay: true,
  }
  const server = tls
    ? createTlsServer({ ...options, ...tls, handshakeTimeout: limits.headersTimeout }, answer)
    : createServer(options, answer)
  server.setTimeout(limits.connectionTimeout)
  server.maxConnections = limits.connections
  // Bytes are limited; a header that is dropped for its number could be a second Authorization.
  server.maxHeadersCount = 0
  // What is expected but the body to be asked for, which nobody here does, changes nothing.
  server.on('checkExpectation', answer)
  return server
}

/** Bytes that are no request, or one that does not end: there is nothing to route, only to tell and to hang up. */
function refuseConnection(error: NodeJS.ErrnoException, socket: Socket, settings: Settings): Refused | null {
  const malformed = malformedBy(error.code ?? '', settings)
  if (malformed === null || !socket.writable) {
    socket.destroy()
    return null
  }
  const id = requestId()
  const { status, headers, body } = refusal(malformed, { id, errors: settings.errors, now: settings.now() })
  const all = [...headers, REQUEST_ID, id, 'Connection', 'close', 'Content-Length', Buffer.byteLength(body)]
  const head = all.map((text, i) => (i % 2 === 0 ? `${text}: ` : `${text}\r\n`))
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('')}\r\n${body}`)
  socket.destroySoon()
  return { id, status, code: error.code! }
}

interface Refused {
  id: string
  status: number
  /** Of node's parser. */
  code: string
}

/** null: it has hung up, or what it speaks is not HTTP */
function malformedBy(code: string, { limits }: Settings): Malformed | null {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    const seconds = `${limits.headersTimeout / 1000} s for its head, ${limits.requestTimeout / 1000} s in all`
    return new Malformed(408, `The request did not arrive in time (${seconds}).`, 'request')
  }
  if (code === 'HPE_HEADER_OVERFLOW')
    return new Malformed(431, `The URL and the headers have more than ${limits.headBytes} bytes.`, 'headers')
  return code.startsWith('HPE_') ? new Malformed(400, 'The request is not proper HTTP.', 'request') : null
}
