import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { deserialize, serialize } from 'node:v8'
import { builtPath, version } from '../../core/built.js'

/*
 * Messages between a command and the processes of a cluster's workers. A frame is a head and its bytes; the last eight
 * bytes of the head are their number.
 */

/** Yields each frame as its head and its bytes. @param length of a head */
export async function* readFrames(stream: Readable, length: number): AsyncGenerator<{ head: Buffer; bytes: Buffer }> {
  // Pieces of a large frame are put together once.
  let [pieces, held, wanted]: [Buffer[], number, number] = [[], 0, length]
  let head: Buffer | null = null
  for await (const piece of stream as AsyncIterable<Buffer>) {
    pieces.push(piece)
    held += piece.length
    while (held >= wanted) {
      const [first] = pieces
      const all = pieces.length === 1 ? first! : Buffer.concat(pieces)
      const found = all.subarray(0, wanted)
      pieces = [all.subarray(wanted)]
      held -= wanted
      if (head === null) {
        head = found
        wanted = Number(head.readBigUInt64LE(length - 8))
      } else {
        yield { head, bytes: found }
        head = null
        wanted = length
      }
    }
  }
}

/** The length of a frame, as the last eight bytes of its head. */
export function lengthBytes(bytes: Uint8Array): Buffer {
  const head = Buffer.alloc(8)
  head.writeBigUInt64LE(BigInt(bytes.length))
  return head
}

/** A message as bytes. Columns of a large buffer are written without the rest of it, and an object that is held twice is written once. */
export const serializeMessage = (message: unknown): Buffer => serialize(message)

export const deserializeMessage = (bytes: Buffer): unknown => deserialize(bytes)

/** The program of a worker's process, and the folder of all programs. */
export function hostPath(): string | undefined {
  return builtPath('workers/host.js')
}

/**
 * What must be the same for the same bytes: the version, the program, and how V8 computes. A worker of another identity
 * is refused.
 */
export function programIdentity(host = hostPath()): string {
  const hash = createHash('sha256')
  const dist = dirname(dirname(host ?? import.meta.dirname))
  for (const name of readdirSync(dist).sort()) if (name.endsWith('.js')) hash.update(readFileSync(join(dist, name)))
  const v8 = process.versions.v8.split('.', 2).join('.')
  return `${version()} (${hash.digest('hex').slice(0, 16)}, V8 ${v8})`
}
