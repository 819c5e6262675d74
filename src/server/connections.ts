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
  asked: number
  /** A valid key was seen on it. */
  known: boolean
}

/** Which limit a connection was closed for. */
export type Crowd = 'all' | 'address'

/**
 * Who is connected, and who has to go where there is no room. To connect costs nothing, so nobody keeps a place by holding
 * it: the connection that has waited longest for its caller is closed for the new one, those without a valid key first.
 * One whose answer is being made is never closed; a new one is turned away only while all others are such.
 */
export class Connections {
  readonly #limits: Limits
  readonly #closed: (crowd: Crowd) => void
  /** By their two ends. Of those that wait, the first has waited longest. */
  readonly #all = new Map<string, Connection>()
  readonly #counts = new Map<string, number>()
  /** By the sockets on which requests came: to put their ends together takes as long as a tenth of an answer. */
  readonly #asking = new WeakMap<Socket, Connection>()

  /** @param closed told when one was closed for want of room */
  constructor(limits: Limits, closed: (crowd: Crowd) => void) {
    this.#limits = limits
    this.#closed = closed
  }

  /** Takes in the connections of a server from now on. */
  watch(server: Server): void {
    server.on('connection', socket => this.#add(socket))
  }

  /** From three quarters on nobody keeps a connection for a next question. */
  get isCrowded(): boolean {
    return this.#all.size >= 0.75 * this.#limits.connections
  }

  /** A request has come, and its answer is being made. @returns its number on its connection */
  work(socket: Socket): number {
    const connection = this.#of(socket)
    if (connection === undefined) return 0
    connection.working++
    connection.asked++
    return connection.asked
  }

  /** Whether no other request came after that of a number: its answer would be lost with the connection. */
  isLast(socket: Socket, number: number): boolean {
    return (this.#of(socket)?.asked ?? number) === number
  }

  /** An answer has left: from here on it is the caller that is waited for. @param known a valid key came with the request */
  wait(socket: Socket, known: boolean): void {
    const connection = this.#of(socket)
    if (connection === undefined) return
    connection.working--
    connection.known ||= known
    // One that was closed meanwhile is no more, and its ends may be another's.
    if (this.#all.get(connection.ends) !== connection) return
    this.#all.delete(connection.ends)
    this.#all.set(connection.ends, connection)
  }

  /** Ends all that there are: also those on which no handshake of TLS is done, of which node's server of HTTP knows nothing. */
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
    // Whoever has hung up before anything was said.
    if (socket.remoteAddress === undefined) return void socket.destroy()
    const [ends, address] = [endsOf(socket), networkOf(socket.remoteAddress)]
    const connection = { socket, ends, address, working: 0, asked: 0, known: false }
    // Its caller has hung up and uses the port again, and that is told before the end of the old one.
    const old = this.#all.get(ends)
    if (old !== undefined) this.#remove(old)
    this.#all.set(ends, connection)
    this.#counts.set(address, this.#countOf(address) + 1)
    socket.once('close', () => this.#remove(connection))
    const { connections, connectionsPerAddress } = this.#limits
    if (this.#countOf(address) > connectionsPerAddress) this.#makeRoom(connection, 'address')
    else if (this.#all.size > connections) this.#makeRoom(connection, 'all')
  }

  #makeRoom(newest: Connection, crowd: Crowd): void {
    const longest = this.#longestWaiting(newest, crowd) ?? newest
    this.#remove(longest)
    longest.socket.destroy()
    this.#closed(crowd)
  }

  #longestWaiting(newest: Connection, crowd: Crowd): Connection | null {
    let longest: Connection | null = null
    for (const connection of this.#all.values()) {
      const { address, working, known } = connection
      if (connection === newest || working > 0 || (crowd === 'address' && address !== newest.address)) continue
      if (!known) return connection
      longest ??= connection
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

/** The same for a connection and for what TLS makes of it, which is another socket. */
function endsOf({ localAddress, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${remoteAddress} ${remotePort}`
}

/** An address; of IPv6 the network of 64 bits around it, which is what one caller is given, to use any address of it. */
export function networkOf(address: string): string {
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? []
  if (mapped !== undefined || !address.includes(':')) return mapped ?? address
  const [head = '', tail = ''] = address.replace(/%.*$/, '').split('::')
  const [first, last] = [head, tail].map(part => (part === '' ? [] : part.split(':'))) as [string[], string[]]
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => '0')
  return [...first, ...zeros, ...last].slice(0, 4).join(':')
}
