import type { Server } from 'node:http'
import fastify, { type FastifyInstance } from 'fastify'
import { MethodNotAllowed } from '../errors/service.js'
import type { Keyed } from './keyed.js'
import { listener, refuseConnection } from './listener.js'
import type { Log } from './log.js'
import type { OpenPath } from './open.js'
import type { Settings } from './options.js'
import { QUESTIONS } from './questions.js'
import type { Handler, Reception } from './reception.js'
import { ANSWERED } from './reply.js'
import { requestId } from './request-id.js'

export interface Doors {
  settings: Settings
  log: Log
  reception: Reception
  keyed: Keyed
  open: ReadonlyMap<string, OpenPath>
  /** Hears of every server that is made: a host of several addresses has one each. */
  made(server: Server): void
}

/** Paths and what answers there. Of fastify's own words none gets out: what has no route is answered here too. */
export function appOf({ settings, log, reception, keyed, open, made }: Doors): FastifyInstance {
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
