import { Agent, buildConnector, type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici'
import { ConfigError } from '../../core/errors.js'
import type { Address } from './address.js'

/** Questions under way at once: enough to hide the latency of a server, few enough not to trip its limits. */
export const MAX_CONNECTIONS = 4
const CONNECT_TIMEOUT_MS = 5_000

export interface Connections {
  dispatcher: Dispatcher
  /** Ends all connections, including those being opened. */
  close(): Promise<void>
}

/**
 * Connections to a server: straight to this machine itself, otherwise through the proxy that the environment names, in
 * either case of its variables. Throws ConfigError for a proxy that is no address.
 */
export function connectionsTo({ loopback }: Address, env: NodeJS.ProcessEnv): Connections {
  const sockets = new Sockets()
  const options = { connections: MAX_CONNECTIONS, connect: sockets.connect, maxResponseSize: TOO_LARGE_MIB * 2 ** 20 }
  const dispatcher = loopback ? new Agent(options) : proxyDispatcher(env, options)
  return {
    dispatcher,
    async close() {
      sockets.end()
      await dispatcher.destroy()
    },
  }
}

/** Sockets that are being opened, which only their signal can end: undici knows a socket only once it is connected. */
class Sockets {
  readonly connect: buildConnector.connector = (options, callback) => {
    // Each has its own signal: listeners of a shared one would pile up.
    const aborter = new AbortController()
    this.#aborters.add(aborter)
    buildConnector({ timeout: CONNECT_TIMEOUT_MS, signal: aborter.signal })(options, (...result) => {
      const [failure, socket] = result
      if (failure === null) socket.once('close', () => this.#aborters.delete(aborter))
      else this.#aborters.delete(aborter)
      callback(...result)
    })
  }
  readonly #aborters = new Set<AbortController>()

  end(): void {
    for (const aborter of this.#aborters) aborter.abort()
  }
}

/** A dispatcher through the proxy of the environment. Throws ConfigError for a proxy that is no address. */
function proxyDispatcher(env: NodeJS.ProcessEnv, options: Agent.Options & Pick<Sockets, 'connect'>): Dispatcher {
  try {
    return new EnvHttpProxyAgent({
      ...options,
      // Empty rather than absent: absent settings are read from the process environment.
      httpProxy: env.http_proxy || env.HTTP_PROXY || '',
      httpsProxy: env.https_proxy || env.HTTPS_PROXY || '',
      noProxy: env.no_proxy || env.NO_PROXY || '',
      requestTls: { timeout: CONNECT_TIMEOUT_MS },
      clientFactory: proxy =>
        new Pool(proxy, { connect: reportProxyFailures(options.connect), headersTimeout: CONNECT_TIMEOUT_MS }),
    })
  } catch {
    // Without the cause: a proxy's address may hold a password.
    throw new ConfigError('the proxy that HTTPS_PROXY or HTTP_PROXY names is no address such as http://proxy:3128.')
  }
}

/** A connector to a proxy: its failures become ProxyUnreachable, so that they do not look like faults of the server. */
function reportProxyFailures(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...[error, socket]) => {
      if (error === null) callback(null, socket)
      else callback(new ProxyUnreachable(error), null)
    })
}

/** Why no answer came, and whether asking again may help. */
export interface Failure {
  /** The end of a sentence that begins with the server. */
  what: string
  canRetry: boolean
}

class ProxyUnreachable extends Error {
  constructor(cause: unknown) {
    super('the proxy is not reached', { cause })
  }
}

/** The failure, in words for the user, that an error of a network library means. */
export function failureOf(thrown: unknown): Failure {
  if (thrown instanceof ProxyUnreachable) {
    const { what, canRetry } = failureOf(thrown.cause)
    return { what: `is asked through a proxy, and that ${what}`, canRetry }
  }
  const { code, name, message } = describeThrown(thrown)
  const failure = FAILURES[code]
  if (failure !== undefined) return failure
  if (CERTIFICATE_CODES.test(code)) return { what: `cannot be trusted: ${message}`, canRetry: false }
  if (name === 'HTTPParserError') return { what: 'answered something that is not HTTP', canRetry: false }
  if (message.startsWith('Proxy response')) return { what: `is not reached: ${message}`, canRetry: false }
  return { what: `cannot be asked: ${message}`, canRetry: false }
}

const TOO_LARGE_MIB = 16

const CONNECTION_CLOSED = { what: 'closed the connection before its answer was complete', canRetry: true }
const TOO_SLOW = { what: 'takes too long to answer', canRetry: true }
const UNREACHABLE = { what: 'cannot be reached', canRetry: true }

const FAILURES: Readonly<Record<string, Failure>> = {
  ECONNREFUSED: { what: 'refuses connections', canRetry: true },
  ENOTFOUND: { what: 'is not known: there is no server of that name', canRetry: false },
  ERR_SSL_WRONG_VERSION_NUMBER: { what: 'does not speak TLS; its address may begin with http://', canRetry: false },
  EAI_AGAIN: { what: 'cannot be looked up at the moment', canRetry: true },
  ECONNRESET: CONNECTION_CLOSED,
  EPIPE: CONNECTION_CLOSED,
  UND_ERR_SOCKET: CONNECTION_CLOSED,
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: CONNECTION_CLOSED,
  HPE_INVALID_EOF_STATE: CONNECTION_CLOSED,
  ETIMEDOUT: UNREACHABLE,
  EHOSTUNREACH: UNREACHABLE,
  ENETUNREACH: UNREACHABLE,
  UND_ERR_CONNECT_TIMEOUT: UNREACHABLE,
  UND_ERR_HEADERS_TIMEOUT: TOO_SLOW,
  UND_ERR_BODY_TIMEOUT: TOO_SLOW,
  UND_ERR_HEADERS_OVERFLOW: { what: 'answered with headers that are too large', canRetry: false },
  UND_ERR_RES_EXCEEDED_MAX_SIZE: { what: `answered with more than ${TOO_LARGE_MIB} MiB`, canRetry: false },
}

const CERTIFICATE_CODES = /^(ERR_TLS_|ERR_SSL_|UND_ERR_PRX_TLS|CRL_|EPROTO|UNABLE_TO_)|CERT/

/** Code, name and message of an error; empty for a part that it does not have. */
function describeThrown(thrown: unknown): { code: string; name: string; message: string } {
  // A host with several addresses, tried in parallel, fails with an error for each: the first one counts.
  const error = thrown instanceof AggregateError && thrown.errors.length > 0 ? (thrown.errors[0] as unknown) : thrown
  if (!(error instanceof Error)) return { code: '', name: '', message: String(error) }
  const { code, name, message } = error as NodeJS.ErrnoException
  return { code: typeof code === 'string' ? code : '', name, message }
}
