import {
  createServer,
  type ServerOptions as HttpOptions,
  type RequestListener,
  type Server,
  STATUS_CODES,
} from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { REQUEST_ID } from '../wire/headers.js'
import type { Settings } from './options.js'
import { Malformed, refusal } from './reply.js'
import { requestId } from './request-id.js'

/**
 * A server of node with every limit set: by default one waits for ever for the end of a request, and looks at heads of
 * requests only twice a minute.
 */
export function listener(answer: RequestListener, { limits, tls }: Settings): Server {
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
export function refuseConnection(error: NodeJS.ErrnoException, socket: Socket, settings: Settings): Refused | null {
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

export interface Refused {
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
