import { Agent, buildConnector, type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici'
import { ConfigError } from '../errors.js'
import type { Address } from './address.js'
import { ProxyUnreachable, TOO_LARGE_MIB } from './failure.js'

export interface Connections {
  dispatcher: Dispatcher
  /** Ends them all, also those that are only being made. */
  close(): Promise<void>
}

/**
 * Connections to a server: straight to this machine itself, otherwise through the proxy that the environment names, in
 * either case of its variables. Throws ConfigError for a proxy that is no address.
 */
export function connectionsTo(
  { loopback }: Address,
  { env, connections, connectMs }: { env: NodeJS.ProcessEnv; connections: number; connectMs: number },
): Connections {
  const sockets = new Sockets(connectMs)
  const options = { connections, connect: sockets.connect, maxResponseSize: TOO_LARGE_MIB * 2 ** 20 }
  const dispatcher = loopback ? new Agent(options) : proxied(env, options, connectMs)
  return {
    dispatcher,
    async close() {
      sockets.end()
      await dispatcher.destroy()
    },
  }
}

/** undici knows a socket only once it is connected; until then nothing else could end it, nor a process that waits. */
class Sockets {
  readonly connect: buildConnector.connector
  readonly #endings = new Set<AbortController>()

  constructor(timeout: number) {
    this.connect = (options, callback) => {
      // One each: the listeners of a signal that they shared would pile up.
      const ending = new AbortController()
      this.#endings.add(ending)
      buildConnector({ timeout, signal: ending.signal })(options, (...made) => {
        const [failure, socket] = made
        if (failure === null) socket.once('close', () => this.#endings.delete(ending))
        else this.#endings.delete(ending)
        callback(...made)
      })
    }
  }

  end(): void {
    for (const ending of this.#endings) ending.abort()
  }
}

function proxied(
  env: NodeJS.ProcessEnv,
  options: Agent.Options & { connect: buildConnector.connector },
  connectMs: number,
): Dispatcher {
  try {
    return new EnvHttpProxyAgent({
      ...options,
      // Empty rather than absent: what is absent is looked up in the environment of the process.
      httpProxy: env.http_proxy || env.HTTP_PROXY || '',
      httpsProxy: env.https_proxy || env.HTTPS_PROXY || '',
      noProxy: env.no_proxy || env.NO_PROXY || '',
      requestTls: { timeout: connectMs },
      clientFactory: proxy => new Pool(proxy, { connect: blamed(options.connect), headersTimeout: connectMs }),
    })
  } catch {
    // Without the cause: a proxy's address may hold a password.
    throw new ConfigError('the proxy that HTTPS_PROXY or HTTP_PROXY names is no address such as http://proxy:3128.')
  }
}

/** What fails on the way to a proxy is not to be taken for a fault of the server behind it. */
function blamed(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...[error, socket]) => {
      if (error === null) callback(null, socket)
      else callback(new ProxyUnreachable(error), null)
    })
}
