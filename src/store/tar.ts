import { fstatSync, readSync, writeFileSync } from 'node:fs'
import { BadData } from '../errors.js'

/** Archives as tar has them (POSIX ustar), so that they can be opened where there is no bands. */

const BLOCK = 512
/** Read and written at once. */
const CHUNK = 2 ** 20

/** A file in an archive: where its bytes begin, and how many they are. */
export interface Member {
  name: string
  from: number
  bytes: number
}

/** Writes a file behind what an archive has already. */
export function writeMember(archive: number, name: string, made: Date, bytes: number, chunks: Iterable<Buffer>): void {
  writeFileSync(archive, header(name, made, bytes))
  let written = 0
  for (const chunk of chunks) {
    writeFileSync(archive, chunk)
    written += chunk.length
  }
  if (written !== bytes) throw new Error(`${name} changed while it was written`)
  writeFileSync(archive, Buffer.alloc(-bytes & (BLOCK - 1)))
}

/** Two empty blocks. */
export function writeEnd(archive: number): void {
  writeFileSync(archive, Buffer.alloc(2 * BLOCK))
}

/** What is in an archive. Throws BadData for a file that is none, or not a whole one. */
export function membersOf(archive: number, file: string): Member[] {
  const members: Member[] = []
  const size = fstatSync(archive).size
  for (let at = 0; ; ) {
    const block = Buffer.concat([...chunksOf(archive, at, BLOCK)])
    if (block.length < BLOCK) throw notWhole(file)
    if (block.every(byte => byte === 0)) return members
    if (octalIn(block, SUM) !== sumOf(block)) throw notWhole(file)
    const [from, bytes] = [at + BLOCK, sizeOf(block)]
    if (bytes === null || bytes > size - from) throw notWhole(file)
    members.push({ name: text(block, NAME), from, bytes })
    at = from + Math.ceil(bytes / BLOCK) * BLOCK
    if (at > size) throw notWhole(file)
  }
}

/** The bytes of a file from a place on, fewer where it ends before. */
export function* chunksOf(file: number, from: number, bytes: number): Generator<Buffer> {
  for (let at = from; at < from + bytes; ) {
    const chunk = Buffer.allocUnsafe(Math.min(CHUNK, from + bytes - at))
    const read = readSync(file, chunk, 0, chunk.length, at)
    if (read === 0) return
    yield chunk.subarray(0, read)
    at += read
  }
}

export function notWhole(file: string): BadData {
  return new BadData({ file }, 'this is no backup of bands, or not a whole one')
}

/** Places of what a header says: first byte, and how many. */
type Field = readonly [from: number, length: number]
const NAME: Field = [0, 100]
const SIZE: Field = [124, 12]
const SUM: Field = [148, 8]

function header(name: string, made: Date, bytes: number): Buffer {
  const block = Buffer.alloc(BLOCK)
  const put = ([from, length]: Field, value: string): number => block.write(value, from, length, 'latin1')
  const octal = (value: number, length: number): string => value.toString(8).padStart(length - 1, '0')
  put(NAME, name)
  put([100, 8], octal(0o600, 8))
  for (const from of [108, 116]) put([from, 8], octal(0, 8))
  // Eleven octal digits hold up to 8 GiB; what is larger is written in binary, as GNU's and BSD's tar do.
  if (bytes < 8 ** 11) put(SIZE, octal(bytes, 12))
  else {
    block.writeBigUInt64BE(BigInt(bytes), SIZE[0] + 4)
    block[SIZE[0]] = 0x80
  }
  put([136, 12], octal(Math.floor(made.getTime() / 1000), 12))
  put([156, 1], '0')
  put([257, 8], 'ustar\x0000')
  put(SUM, `${octal(sumOf(block), 7)}\0 `)
  return block
}

/** The sum of a header's bytes, that of its own field counted as blanks. */
function sumOf(block: Buffer): number {
  const [from, length] = SUM
  return block.reduce((sum, byte, i) => sum + (i >= from && i < from + length ? 0x20 : byte), 0)
}

/** null: no size, such as a negative one, or one that no file has. */
function sizeOf(block: Buffer): number | null {
  const [from, length] = SIZE
  if (block[from] !== 0x80) return octalIn(block, SIZE)
  const bytes = BigInt(`0x${block.toString('hex', from + 1, from + length)}`)
  return bytes <= Number.MAX_SAFE_INTEGER ? Number(bytes) : null
}

/** null: the field holds something else. */
function octalIn(block: Buffer, field: Field): number | null {
  const digits = /^ *([0-7]+) *$/.exec(text(block, field))?.[1]
  return digits === undefined ? null : Number.parseInt(digits, 8)
}

function text(block: Buffer, [from, length]: Field): string {
  return block.toString('latin1', from, from + length).split('\0')[0]!
}
