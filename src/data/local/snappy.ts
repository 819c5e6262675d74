/** Snappy in its raw format, which Parquet uses: literals, and copies of up to 64 bytes from the 64 KB before. */

const HASH_TABLE_BITS = 14
/** Spreads four bytes over the bits of their hash. */
const HASH_FACTOR = 0x1e35a7bd
/** A copy reaches this number of bytes back at most. */
const MAX_OFFSET = 0xffff
/** The last bytes of an input are always a literal, so that four bytes can be read at any position before. */
const LITERAL_END_BYTES = 15
/** By the hash of four bytes, the last position in the input at which they were found. */
const lastPositions = new Int32Array(1 << HASH_TABLE_BITS)

/** The most bytes that a compressed input can take. */
export function maxCompressedSize(length: number): number {
  return 32 + length + Math.ceil(length / 6)
}

/**
 * Compresses the first `length` bytes of an input into `out`.
 * @param out at least `maxCompressedSize` bytes long
 * @returns the bytes written
 */
export function compressInto(input: Uint8Array, length: number, out: Uint8Array): number {
  let at = 0
  // The length, seven bits a byte.
  let rest = length
  for (; rest > 0x7f; rest >>>= 7) out[at++] = (rest & 0x7f) | 0x80
  out[at++] = rest
  // A small input needs a small table, which is quicker to clear.
  const bits = Math.min(HASH_TABLE_BITS, Math.max(8, 32 - Math.clz32(length)))
  const shift = 32 - bits
  // At first positions that are too far back for any copy.
  lastPositions.fill(-1 - MAX_OFFSET, 0, 1 << bits)
  const limit = length - LITERAL_END_BYTES
  let literalFrom = 0
  let position = 0
  // A step is skip / 32 bytes. It grows with each miss, so that data that cannot be compressed are passed quickly.
  let skip = 32
  while (position < limit) {
    const word = readWord(input, position)
    const slot = Math.imul(word, HASH_FACTOR) >>> shift
    const earlier = lastPositions[slot]!
    lastPositions[slot] = position
    if (position - earlier > MAX_OFFSET || readWord(input, earlier) !== word) {
      position += skip++ >>> 5
      continue
    }
    at = writeLiteral(input, literalFrom, position, out, at)
    let end = position + 4
    for (let from = earlier + 4; end < length && input[end] === input[from]; from++) end++
    at = writeCopy(position - earlier, end - position, out, at)
    position = end
    literalFrom = end
    skip = 32
  }
  return writeLiteral(input, literalFrom, length, out, at)
}

function readWord(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
}

/** Writes a tag with the length, and the input from `from` up to `to` as it is. @returns the new end of the output */
function writeLiteral(input: Uint8Array, from: number, to: number, out: Uint8Array, start: number): number {
  let at = start
  const lengthMinusOne = to - from - 1
  if (lengthMinusOne < 0) return at
  if (lengthMinusOne < 60) out[at++] = lengthMinusOne << 2
  else {
    // The number of bytes that `lengthMinusOne` needs.
    const size = (39 - Math.clz32(lengthMinusOne)) >> 3
    out[at++] = (59 + size) << 2
    for (let i = 0; i < size; i++) out[at++] = lengthMinusOne >>> (8 * i)
  }
  // A loop is faster than `set` for the few bytes that most literals have.
  if (lengthMinusOne < 48) for (let i = from; i < to; i++) out[at++] = input[i]!
  else {
    out.set(input.subarray(from, to), at)
    at += lengthMinusOne + 1
  }
  return at
}

/** Writes a copy of `length` bytes that lie `offset` bytes before. @returns the new end of the output */
function writeCopy(offset: number, length: number, out: Uint8Array, start: number): number {
  let at = start
  let rest = length
  while (rest > 0) {
    // A copy needs at least four bytes, so of 65 to 67 bytes 60 are copied first.
    let size = Math.min(rest, 64)
    if (rest > 64 && rest < 68) size = 60
    // A near copy has two bytes, any other three: its kind, length and offset.
    if (size < 12 && offset < 2048) {
      out[at++] = 1 | ((size - 4) << 2) | ((offset >>> 8) << 5)
      out[at++] = offset
    } else {
      out[at++] = 2 | ((size - 1) << 2)
      out[at++] = offset
      out[at++] = offset >>> 8
    }
    rest -= size
  }
  return at
}
