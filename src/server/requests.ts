import type { FastifyReply, FastifyRequest } from 'fastify'
import { BandsError, Unavailable } from '../errors.js'
import { REQUEST_ID } from '../wire/format.js'
import { Exchange, headersNamed, Malformed, type Outgoing, refusal } from './exchange.js'
import type { Log, Metrics } from './log.js'
import type { Settings } from './options.js'

/** Answers one kind of request, or throws what is wrong with it. */
export type Handler = (exchange: Exchange) => Outgoing | Promise<Outgoing>

/** Takes requests in and sends answers out: whatever happens in between, each gets one, is logged and counted. */
export class Reception {
  readonly #settings: Settings
  readonly #metrics: Metrics
  readonly #log: Log
  #running = 0
  #leaving: (() => void)[] = []
  #closing = false
  #allGone: (() => void) | null = null

  constructor(settings: Settings, metrics: Metrics, log: Log) {
    this.#settings = settings
    this.#metrics = metrics
    this.#log = log
  }

  /** What comes from now on is told that the server ends, but for those who ask whether it lives. */
  close(): void {
    this.#closing = true
  }

  get isClosing(): boolean {
    return this.#closing
  }

  /** Settles when every request that was taken in has been answered, or given up by its caller and worked off. */
  async empty(): Promise<void> {
    if (this.#running > 0)
      await new Promise<void>(resolve => {
        this.#allGone = resolve
      })
  }

  /** What fastify calls for a route. @param always answers also while the server ends */
  takes(handler: Handler, { always = false } = {}): (request: FastifyRequest, reply: FastifyReply) => void {
    return (request, reply) => {
      // From here on fastify leaves the answer to us.
      reply.hijack()
      this.#running++
      const exchange = new Exchange(request, reply)
      const { raw } = reply
      let isOpen = true
      let isWorking = true
      const over = (): void => {
        if (!isOpen && !isWorking) this.#over()
      }
      const close = (): void => {
        if (!isOpen) return
        isOpen = false
        this.#tell(exchange, raw.headersSent ? raw.statusCode : HUNG_UP)
        over()
      }
      raw.once('close', close)
      // An answer that waits behind an earlier one of its connection does not hear of the end of that; its request does.
      request.raw.once('close', () => {
        if (exchange.isGone) close()
      })
      void this.#answer(exchange, handler, always).then(answer => {
        this.#leave(() => this.#send(answer, exchange, reply))
        isWorking = false
        over()
      })
    }
  }

  async #answer(exchange: Exchange, handler: Handler, always: boolean): Promise<Outgoing> {
    try {
      if (this.#closing && !always) throw new Unavailable('The server is shutting down.')
      checkHead(exchange, this.#settings.limits.urlLength)
      return await handler(exchange)
    } catch (error) {
      return this.#refusal(error, exchange)
    }
  }

  #refusal(error: unknown, { id }: Exchange): Outgoing {
    const answer = refusal(error, { id, errors: this.#settings.errors, now: this.#settings.now() })
    const level = answer.status < 500 || error instanceof Unavailable ? 'debug' : 'error'
    this.#log.add(level, { id, error: level === 'error' ? stackOf(error) : sentenceOf(error) })
    return answer
  }

  /** Answers leave together at the end of a turn of the event loop: each by itself would wake its reader by itself. */
  #leave(send: () => void): void {
    this.#leaving.push(send)
    if (this.#leaving.length > 1) return
    setImmediate(() => {
      const leaving = this.#leaving
      this.#leaving = []
      for (const send of leaving) send()
    })
  }

  #send({ status, headers, body }: Outgoing, exchange: Exchange, { raw }: FastifyReply): void {
    if (exchange.isGone) return
    const hasBody = status !== 304
    const all = [REQUEST_ID, exchange.id, ...headers, ...exchange.creditHeaders]
    if (hasBody) all.push('Content-Length', String(Buffer.byteLength(body)))
    // A body that was not read could be taken for the next request.
    if (this.#closing || exchange.hasBody || status === 414) all.push('Connection', 'close')
    raw.writeHead(status, all)
    raw.end(exchange.method === 'HEAD' || !hasBody ? undefined : body)
  }

  #tell(exchange: Exchange, status: number): void {
    const milliseconds = performance.now() - exchange.startedAt
    this.#log.answered(exchange, status, milliseconds)
    this.#metrics.answered(exchange.path, status, milliseconds / 1000)
  }

  #over(): void {
    this.#running--
    if (this.#running === 0) this.#allGone?.()
  }
}

/** What logs elsewhere write for a caller who did not wait for the answer. */
const HUNG_UP = 499

/** What node's parser lets through. Throws Malformed. */
function checkHead({ url, rawHeaders, httpVersion }: Exchange, urlLength: number): void {
  if (url.length > urlLength) throw new Malformed(414, `The URL has more than ${urlLength} characters.`, 'url')
  const hosts = headersNamed('host', rawHeaders).length
  if (hosts === 0 && httpVersion === '1.1') throw new Malformed(400, 'The request has no Host header.', 'Host')
  if (hosts > 1) throw new Malformed(400, 'The request has more than one Host header.', 'Host')
}

function stackOf(error: unknown): string {
  const text = error instanceof BandsError ? sentenceOf(error) : ((error as Error)?.stack ?? sentenceOf(error))
  return error instanceof Error && error.cause !== undefined ? `${text}\ncaused by ${stackOf(error.cause)}` : text
}

function sentenceOf(error: unknown): string {
  return error instanceof BandsError ? `${error.code}: ${error.message}` : String(error)
}
