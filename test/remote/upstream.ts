import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { Remote, type RemoteOptions } from '../../src/app/remote/remote.js'
import type { BandEvent, EventsPage } from '../../src/core/model/event.js'

/** A request as it came in, with the milliseconds since the first one. */
export interface Arrival {
  at: number
  method: string
  url: string
  headers: IncomingHttpHeaders
}

export type Turn = (response: ServerResponse, request: IncomingMessage, socket: Socket) => unknown

export interface Scripted {
  url: string
  port: number
  arrivals: Arrival[]
  /** Sockets that are open at the moment. */
  open(): number
}

/** A server on loopback that plays its turns, one a request; the last again and again. It goes when the test is over. */
export async function scripted(...turns: Turn[]): Promise<Scripted> {
  const arrivals: Arrival[] = []
  const sockets = new Set<Socket>()
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const { method = '', url = '', headers } = request
    const first = arrivals[0]?.at ?? performance.now()
    arrivals.push({ at: arrivals.length === 0 ? first : performance.now(), method, url, headers })
    const turn = turns[Math.min(arrivals.length, turns.length) - 1]!
    void turn(response, request, response.socket!)
  })
  server.on('connection', socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, port, arrivals, open: () => sockets.size }
}

/** The address of a port on which nobody listens. */
export async function nobody(): Promise<string> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  return `http://127.0.0.1:${port}`
}

/** Someone who asks it, without long waits and through no proxy, and goes with the test. */
export function remoteTo({ url }: Pick<Scripted, 'url'>, options: Partial<RemoteOptions> = {}): Remote {
  const hooks = { random: () => 0.01 }
  const remote = new Remote({ url, key: 'bands_test', fields: [], timeoutMs: 20_000, hooks, env: {}, ...options })
  onTestFinished(() => remote.close())
  return remote
}

/** Turns. */

export function json(document: unknown, status = 200, headers: Record<string, string> = {}): Turn {
  return text(JSON.stringify(document), status, { 'content-type': 'application/json', ...headers })
}

/** Something that says of itself that it is JSON. */
export function asJson(body: string | Uint8Array, headers: Record<string, string> = {}): Turn {
  return text(body, 200, { 'content-type': 'application/json', ...headers })
}

export function html(body: string, status: number, headers: Record<string, string> = {}): Turn {
  return text(body, status, { 'content-type': 'text/html', ...headers })
}

export function text(body: string | Uint8Array, status = 200, headers: Record<string, string> = {}): Turn {
  return response => {
    response.writeHead(status, headers)
    response.end(body)
  }
}

/** Bytes as they are, in place of an answer that HTTP would know; the connection ends after them unless it is held. */
export function raw(bytes: string, { hold = false } = {}): Turn {
  return (_response, _request, socket) => {
    socket.write(bytes)
    if (!hold) socket.end()
  }
}

export const reset: Turn = (_response, _request, socket) => socket.resetAndDestroy()
export const silence: Turn = () => {}

/** A beginning, and then one sign after the other, for ever. */
export function drip(beginning: string, sign: string): Turn {
  return (_response, _request, socket) => {
    socket.write(beginning)
    const timer = setInterval(() => socket.write(sign), 20)
    socket.on('close', () => clearInterval(timer))
  }
}

export const QUESTION = { ticker: 'ABC', field: 'rsi_zone', timeframe: 'daily', limit: 10 } as const

/** Events on so many days, newest first, alternating between two bands. */
export function eventsBefore(day: number, count: number): BandEvent[] {
  return Array.from({ length: count }, (_, i) => ({
    date: new Date((day - 1 - i) * 86_400_000).toISOString().slice(0, 10),
    band: i % 2 === 0 ? 'oversold' : 'neutral',
    prev_band: i % 2 === 0 ? 'neutral' : 'oversold',
    duration_days: i === 0 ? null : 1,
    aftermath: null,
  }))
}

export function pageOf(events: readonly BandEvent[], more: Partial<EventsPage> = {}): EventsPage {
  return {
    ticker: 'ABC',
    field: 'rsi_zone',
    timeframe: 'daily',
    events: [...events],
    total_occurrences: events.length,
    query_range: '5y',
    ...more,
  }
}

/** Turns that answer well. */
export const GOOD_PAGE = pageOf(eventsBefore(18_000, 3))
export const good: Turn = json(GOOD_PAGE)
