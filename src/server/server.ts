import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { ConfigError } from '../errors.js'
import { appOf } from './app.js'
import { Keyed } from './keyed.js'
import { Log } from './log.js'
import { Metrics } from './metrics.js'
import { OPEN_PATHS, openPaths } from './open.js'
import { type ServerOptions, type Settings, settingsOf } from './options.js'
import { QUESTIONS } from './questions.js'
import { Reception } from './reception.js'
import type { Service } from './service.js'

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
