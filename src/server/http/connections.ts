import type { Server, Socket } from 'node:net'
import type { Limits } from './options.js'

/** One connection, from its first packet on; the handshake of TLS is a part of it. */
interface Connection {
  socket: Socket
  /** A socket that is closed has forgotten them. */
  ends: string
  address: string
  /** Requests whose answers are still being made. */
  working: number
  /** Requests, from the first on. */
  requests: number
  known: boolean
  /** When it began to wait for its caller, by the clock of all connections. */
  waitsSince: number
}

export type ClosedFor = 'all' | 'address'

/**
 * The open connections. Connecting is free, so idle connections must not block others. When all are used, the one that
 * has waited longest for its caller is closed, those without a valid key first. A connection with a running answer is
 * never closed; a new one is refused only if all others are such.
 */
export class Connections {
  readonly #limits: Limits
  readonly #closed: (crowd: ClosedFor) => void
  /** By both ends. */
  readonly #all = new Map<string, Connection>()
  /** Counts the answers that have left and the connections that came: a clock that no two share. */
  #clock = 0
  readonly #counts = new Map<string, number>()
  /** By socket: building the key of both ends takes a tenth of an answer's time. */
  readonly #asking = new WeakMap<Socket, Connection>()

  /** @param closed called when one is closed for lack of space */
  constructor(limits: Limits, closed: (crowd: ClosedFor) => void) {
    this.#limits = limits
    this.#closed = closed
  }

  /** Takes in the connections of a server from now on. */
  watch(server: Server): void {
    server.on('connection', socket => this.#add(socket))
    // An idle connection stays open while its answer is computed.
    server.on('timeout', (socket: Socket) => {
      if ((this.#of(socket)?.working ?? 0) === 0) socket.destroy()
    })
  }

  /** Above three quarters, connections are not kept open for another question. */
  get isCrowded(): boolean {
    return this.#all.size >= 0.75 * this.#limits.connections
  }

  /** A request has come, and its answer is being made. @returns its number on its connection */
  work(socket: Socket): number {
    const connection = this.#of(socket)
    if (connection === undefined) return 0
    connection.working++
    connection.requests++
    return connection.requests
  }

  /** Whether no later request came on the connection: its answer would be lost. */
  isLast(socket: Socket, number: number): boolean {
    return (this.#of(socket)?.requests ?? number) === number
  }

  /** An answer has left: from here on it is the caller that is waited for. @param known a valid key came with the request */
  wait(socket: Socket, known: boolean): void {
    const connection = this.#of(socket)
    if (connection === undefined) return
    connection.working--
    connection.known ||= known
    connection.waitsSince = ++this.#clock
  }

  /** Ends all connections, including those in a TLS handshake, which Node's HTTP server does not know. */
  close(): void {
    for (const { socket } of this.#all.values()) socket.destroy()
  }

  #of(socket: Socket): Connection | undefined {
    const known = this.#asking.get(socket)
    if (known !== undefined) return known
    const connection = this.#all.get(endsOf(socket))
    if (connection !== undefined) this.#asking.set(socket, connection)
    return connection
  }

  #add(socket: Socket): void {
    // The caller hung up before it sent anything.
    if (socket.remoteAddress === undefined) return void socket.destroy()
    const ends = endsOf(socket)
    const address = networkOf(socket.remoteAddress)
    const connection = { socket, ends, address, working: 0, requests: 0, known: false, waitsSince: ++this.#clock }
    // The caller hung up and reused the port, and the end of the old connection is reported later.
    const old = this.#all.get(ends)
    if (old !== undefined) this.#remove(old)
    this.#all.set(ends, connection)
    this.#counts.set(address, this.#countOf(address) + 1)
    socket.once('close', () => this.#remove(connection))
    const { connections, connectionsPerAddress } = this.#limits
    if (this.#countOf(address) > connectionsPerAddress) this.#makeRoom(connection, 'address')
    else if (this.#all.size > connections) this.#makeRoom(connection, 'all')
  }

  #makeRoom(newest: Connection, crowd: ClosedFor): void {
    const longest = this.#longestWaiting(newest, crowd) ?? newest
    this.#remove(longest)
    longest.socket.destroy()
    this.#closed(crowd)
  }

  /**
   * The connection to close for the newest: the one that has waited longest for its caller, first one without a valid
   * key. null: all others work. @param crowd 'address': only of the newest one's address
   */
  #longestWaiting(newest: Connection, crowd: ClosedFor): Connection | null {
    let longest: Connection | null = null
    for (const connection of this.#all.values()) {
      const { address, working, known, waitsSince } = connection
      if (connection === newest || working > 0 || (crowd === 'address' && address !== newest.address)) continue
      const isBetter = longest === null || (known === longest.known ? waitsSince < longest.waitsSince : !known)
      if (isBetter) longest = connection
    }
    return longest
  }

  #remove(connection: Connection): void {
    const { ends, address } = connection
    if (this.#all.get(ends) !== connection) return
    this.#all.delete(ends)
    const count = this.#countOf(address) - 1
    if (count === 0) this.#counts.delete(address)
    else this.#counts.set(address, count)
  }

  #countOf(address: string): number {
    return this.#counts.get(address) ?? 0
  }
}

/** Both ends of a connection, as text: equal for its socket and for the one that TLS makes of it. */
function endsOf({ localAddress, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${remoteAddress} ${remotePort}`
}

/** An address; for IPv6 its /64 network, which one caller usually owns. */
export function networkOf(address: string): string {
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? []
  if (mapped !== undefined || !address.includes(':')) return mapped ?? address
  const [head = '', tail = ''] = address.replace(/%.*$/, '').split('::')
  const [first, last] = [head, tail].map(part => (part === '' ? [] : part.split(':'))) as [string[], string[]]
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => '0')
  return [...first, ...zeros, ...last].slice(0, 4).join(':')
}
