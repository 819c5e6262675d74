import type { Server, Socket } from 'node:net'
import type { Limits } from './options.js'

/** One connection, from its first packet on, including the TLS handshake. */
interface Connection {
  socket: Socket
  /** See endpointsOf; kept, because a closed socket does not know them any more. */
  endpoints: string
  /** See networkOf. */
  address: string
  /** Requests whose answers are still being made. */
  runningAnswers: number
  /** All requests so far. */
  requests: number
  hasValidKey: boolean
  /** When the connection began to wait for its caller, by the clock of Connections. */
  waitsSince: number
}

/** The limit that an additional connection exceeds: of all connections, or of those from its address. */
export type ExceededLimit = 'all' | 'address'

/**
 * The open connections, up to a limit. When a new one exceeds it, the connection that has waited longest for its caller
 * is closed, those without a valid key first. A connection with a running answer is never closed; if all have one, the
 * new connection is closed.
 */
export class Connections {
  readonly #limits: Limits
  readonly #onClosed: (limit: ExceededLimit) => void
  /** By their endpoints. */
  readonly #open = new Map<string, Connection>()
  /** Counts sent answers and new connections, so that no two of these have the same time. */
  #clock = 0
  readonly #countByAddress = new Map<string, number>()
  /** By socket, because building the text of the endpoints takes a tenth of an answer's time. */
  readonly #bySocket = new WeakMap<Socket, Connection>()

  /** @param onClosed called when a connection is closed because of a limit */
  constructor(limits: Limits, onClosed: (limit: ExceededLimit) => void) {
    this.#limits = limits
    this.#onClosed = onClosed
  }

  /** Watches the connections of a server from now on. */
  watch(server: Server): void {
    server.on('connection', socket => this.#add(socket))
    // On a timeout, close the connection unless its answer is being computed.
    server.on('timeout', (socket: Socket) => {
      if ((this.#connectionOf(socket)?.runningAnswers ?? 0) === 0) socket.destroy()
    })
  }

  /** Whether three quarters of the limit are used; then connections are not kept open for another request. */
  get isCrowded(): boolean {
    return this.#open.size >= 0.75 * this.#limits.connections
  }

  /** Counts a new request. Returns its number on its connection, from 1; 0 for an unknown connection. */
  beginAnswer(socket: Socket): number {
    const connection = this.#connectionOf(socket)
    if (connection === undefined) return 0
    connection.runningAnswers++
    connection.requests++
    return connection.requests
  }

  /** Whether no later request came on the connection, so that closing it loses no answer. @param number its number */
  isLatestRequest(socket: Socket, number: number): boolean {
    return (this.#connectionOf(socket)?.requests ?? number) === number
  }

  /** Notes that an answer was sent, and the connection waits for its caller. @param hasValidKey of the request */
  endAnswer(socket: Socket, hasValidKey: boolean): void {
    const connection = this.#connectionOf(socket)
    if (connection === undefined) return
    connection.runningAnswers--
    connection.hasValidKey ||= hasValidKey
    connection.waitsSince = ++this.#clock
  }

  /** Closes all connections, including those in a TLS handshake, which node's HTTP server does not close. */
  close(): void {
    for (const { socket } of this.#open.values()) socket.destroy()
  }

  /** The open connection of a socket, or of the TLS socket above it; undefined if there is none. */
  #connectionOf(socket: Socket): Connection | undefined {
    let connection = this.#bySocket.get(socket)
    if (connection === undefined) {
      connection = this.#open.get(endpointsOf(socket))
      if (connection !== undefined) this.#bySocket.set(socket, connection)
    }
    return connection
  }

  /** Adds a new connection, and closes one if that exceeds a limit. */
  #add(socket: Socket): void {
    // The caller has already hung up.
    if (socket.remoteAddress === undefined) return void socket.destroy()
    const endpoints = endpointsOf(socket)
    const address = networkOf(socket.remoteAddress)
    const waitsSince = ++this.#clock
    const connection = { socket, endpoints, address, runningAnswers: 0, requests: 0, hasValidKey: false, waitsSince }
    // A connection with the same endpoints has ended; node reports that later.
    const old = this.#open.get(endpoints)
    if (old !== undefined) this.#remove(old)
    this.#open.set(endpoints, connection)
    this.#countByAddress.set(address, this.#countOf(address) + 1)
    socket.once('close', () => this.#remove(connection))
    const { connections, connectionsPerAddress } = this.#limits
    if (this.#countOf(address) > connectionsPerAddress) this.#makeRoom(connection, 'address')
    else if (this.#open.size > connections) this.#makeRoom(connection, 'all')
  }

  /** Closes the connection that has waited longest; the newest one if no other may be closed. */
  #makeRoom(newest: Connection, limit: ExceededLimit): void {
    const closed = this.#longestWaiting(newest, limit) ?? newest
    this.#remove(closed)
    closed.socket.destroy()
    this.#onClosed(limit)
  }

  /**
   * The connection that has waited longest for its caller, those without a valid key first; null: all others have a
   * running answer. @param limit 'address': only those with the address of the newest one
   */
  #longestWaiting(newest: Connection, limit: ExceededLimit): Connection | null {
    let longest: Connection | null = null
    for (const connection of this.#open.values()) {
      if (connection === newest || connection.runningAnswers > 0) continue
      if (limit === 'address' && connection.address !== newest.address) continue
      if (longest === null || isClosedBefore(connection, longest)) longest = connection
    }
    return longest
  }

  /** Forgets a connection; nothing happens if that was done before. */
  #remove(connection: Connection): void {
    const { endpoints, address } = connection
    if (this.#open.get(endpoints) !== connection) return
    this.#open.delete(endpoints)
    const count = this.#countOf(address) - 1
    if (count === 0) this.#countByAddress.delete(address)
    else this.#countByAddress.set(address, count)
  }

  #countOf(address: string): number {
    return this.#countByAddress.get(address) ?? 0
  }
}

/** Whether `a` is closed rather than `b`: if only it has no valid key, or if it waits longer. */
function isClosedBefore(a: Connection, b: Connection): boolean {
  if (a.hasValidKey !== b.hasValidKey) return b.hasValidKey
  return a.waitsSince < b.waitsSince
}

/** Both ends of a connection as text: the same for a TLS socket and for the socket below it. */
function endpointsOf({ localAddress, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${remoteAddress} ${remotePort}`
}

/** An IPv4 address; for IPv6 the /64 network of the address, which usually belongs to one caller. */
export function networkOf(address: string): string {
  const ipv4InIpv6 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (ipv4InIpv6 !== undefined) return ipv4InIpv6
  if (!address.includes(':')) return address
  const withoutZone = address.replace(/%.*$/, '')
  // `::` replaces the zero groups that are missing from eight.
  const [head = [], tail = []] = withoutZone.split('::').map(part => part.split(':').filter(group => group !== ''))
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0')
  return [...head, ...zeros, ...tail].slice(0, 4).join(':')
}
