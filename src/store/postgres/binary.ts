import type pg from 'pg'
import type { Client, ClientConfig, QueryConfig, QueryResult } from 'pg'

/**
 * Rows in PostgreSQL's binary format. The driver takes every value for text in UTF-8, so that bytes would have to come in
 * hexadecimal, twice as many as there are; to make these, send and read them was a sixth of a question. So rows of statements
 * that were asked in binary are taken out of what comes before the driver sees it; all else it sees as it came.
 */

/** A client of which statements can be asked in binary. */
export interface BinaryClient extends Client {
  /** The rows of one statement, whose columns are of the types in READERS. */
  inBinary<T>(asked: QueryConfig): Promise<T[]>
}

/** That of the driver. */
export function binaryClient({ Client, Query }: typeof pg): new (config?: ClientConfig) => BinaryClient {
  return class extends Client implements BinaryClient {
    readonly #inflow: Inflow

    constructor(config?: ClientConfig) {
      super(config)
      this.#inflow = new Inflow(this.connection as Listening)
    }

    async inBinary<T>(asked: QueryConfig): Promise<T[]> {
      const rows: Buffer[] = []
      const { fields } = await new Promise<QueryResult>((resolve, reject) => {
        const query = new Query({ ...asked, binary: true } as QueryConfig, (error, result) => {
          this.#inflow.rows = null
          if (error) reject(error)
          else resolve(result as unknown as QueryResult)
        })
        const { submit } = query
        // Not before: those of another statement may still be coming.
        query.submit = connection => {
          this.#inflow.rows = rows
          return submit.call(query, connection)
        }
        this.query(Object.assign(query, asked))
      })
      return rowsIn(rows, fields) as T[]
    }
  }
}

/** A connection of the driver, which listens once there is a stream that will stay. */
type Listening = Client['connection'] & { attachListeners(stream: Listened): void }

interface Listened {
  on(event: string, heard: (bytes: Buffer) => void): unknown
}

/** A message is a letter, its length with these four bytes, and what it says. */
const HEAD = 5
const ROW = 'D'.charCodeAt(0)
const NOTHING = Buffer.alloc(0)

/** What comes by one connection. */
class Inflow {
  /** Where the rows go that come now; null: to the driver. */
  rows: Buffer[] | null = null
  /** Of a message of which the head has come: how many bytes are still to come. */
  #left = 0
  /** Of a row of which the head has come. */
  #row: Buffer | null = null
  /** Of a message of which not even the head has come. */
  #rest: Buffer = NOTHING

  constructor(connection: Listening) {
    const { attachListeners } = connection
    connection.attachListeners = stream =>
      attachListeners.call(connection, {
        on: (event, heard) => stream.on(event, event === 'data' ? bytes => this.#take(bytes, heard) : heard),
      })
  }

  #take(chunk: Buffer, pass: (bytes: Buffer) => void): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    this.#rest = NOTHING
    let [from, at] = [0, 0]
    while (at < bytes.length) {
      if (this.#left === 0) {
        if (bytes.length - at < HEAD) {
          this.#rest = bytes.subarray(at)
          break
        }
        this.#left = bytes.readUInt32BE(at + 1) - 4
        if (this.rows !== null && bytes[at] === ROW) {
          if (from < at) pass(bytes.subarray(from, at))
          this.#row = Buffer.allocUnsafeSlow(this.#left)
          from = at + HEAD
        }
        at += HEAD
      }
      const more = Math.min(this.#left, bytes.length - at)
      if (this.#row !== null) {
        bytes.copy(this.#row, this.#row.length - this.#left, at, at + more)
        from = at + more
      }
      at += more
      this.#left -= more
      if (this.#left === 0 && this.#row !== null) {
        this.rows?.push(this.#row)
        this.#row = null
      }
    }
    if (from < at) pass(bytes.subarray(from, at))
  }
}

/** By the number of its type, how a value is read. */
const READERS: Readonly<Record<number, (value: Buffer) => unknown>> = {
  16: value => value[0] === 1,
  17: value => value,
  25: value => value.toString(),
  114: value => JSON.parse(value.toString()),
}

function rowsIn(rows: readonly Buffer[], columns: QueryResult['fields']): Record<string, unknown>[] {
  const readers = columns.map(({ name, dataTypeID }) => {
    const read = READERS[dataTypeID]
    if (read === undefined) throw new TypeError(`${name} is of type ${dataTypeID}, which is not read in binary`)
    return [name, read] as const
  })
  return rows.map(row => {
    const values: Record<string, unknown> = {}
    // Before these stands how many there are.
    let at = 2
    for (const [name, read] of readers) {
      const length = row.readInt32BE(at)
      at += 4
      values[name] = length < 0 ? null : read(row.subarray(at, at + length))
      at += Math.max(0, length)
    }
    return values
  })
}
