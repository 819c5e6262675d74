import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { deserialize, serialize } from 'node:v8'
import { builtPath, version } from '../../core/built.js'

/*
 * Messages between a command and the processes of a cluster's workers. A frame is a head of constant length, followed
 * by the bytes of the message. The last eight bytes of the head are the message's length in bytes, little-endian.
 */

/**
 * Yields each frame of a stream as its head and its bytes. An incomplete frame at the end is not yielded. No answer is
 * lost in silence: at the end of the stream the command rejects its pending tasks, and a worker exits.
 * @param headLength length of every head in bytes
 */
export async function* readFrames(
  stream: Readable,
  headLength: number,
): AsyncGenerator<{ head: Buffer; bytes: Buffer }> {
  // Chunks are joined only once enough of them are there, so that a large message is copied once.
  let chunks: Buffer[] = []
  let available = 0
  let needed = headLength
  let head: Buffer | null = null
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    available += chunk.length
    while (available >= needed) {
      const joined = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
      const part = joined.subarray(0, needed)
      chunks = [joined.subarray(needed)]
      available -= needed
      if (head === null) {
        head = part
        needed = Number(head.readBigUInt64LE(headLength - 8))
      } else {
        yield { head, bytes: part }
        head = null
        needed = headLength
      }
    }
  }
}

/** The number of bytes of a message, as the last eight bytes of a frame's head. */
export function lengthBytes(bytes: Uint8Array): Buffer {
  const head = Buffer.alloc(8)
  head.writeBigUInt64LE(BigInt(bytes.length))
  return head
}

/** A message as bytes, in V8's format. A view writes only its part of a buffer; a repeated object is written once. */
export const serializeMessage = (message: unknown): Buffer => serialize(message)

export const deserializeMessage = (bytes: Buffer): unknown => deserialize(bytes)

/** The path of the program that a worker runs; undefined if it was not built. */
export function hostPath(): string | undefined {
  return builtPath('workers/host.js')
}

/**
 * Identifies the program and V8 by `version (hash, V8 version)`. Only workers with the same identity compute the same
 * bytes; others are refused.
 */
export function programIdentity(host = hostPath()): string {
  const hash = createHash('sha256')
  const dist = dirname(dirname(host ?? import.meta.dirname))
  for (const name of readdirSync(dist).sort()) if (name.endsWith('.js')) hash.update(readFileSync(join(dist, name)))
  const v8 = process.versions.v8.split('.', 2).join('.')
  return `${version()} (${hash.digest('hex').slice(0, 16)}, V8 ${v8})`
}
