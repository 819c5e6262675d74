import { createHash } from 'node:crypto'
import { instantiated } from '../../core/indicators/wasm.js'
import { WASM } from './checksum.wasm.js'

/**
 * Checksums of rows and chunks. They show damage. XXH64 needs no node:crypto, whose loading takes more
 * time than a short answer, and is several times faster than SHA-256. It does not withstand a forger: backups, keys and
 * tags have SHA-256.
 */

/** The characters of a checksum: as many as of the SHA-256 digests that older versions wrote. */
export const CHECKSUM_LENGTH = 32

/** The first character, which no hexadecimal digest has. */
const CHECKSUM_PREFIX = 'x'

/** Two hashes make up a checksum, because 64 bits are few for a whole market over many years. */
const SEEDS = [0n, 1n] as const

/** How many bytes are hashed at once. */
const BLOCK_BYTES = 65_536

/** Whether a stored hash is a checksum of this file; otherwise it is a digest that an older version wrote. */
export function isChecksum(stored: string): boolean {
  return stored.startsWith(CHECKSUM_PREFIX)
}

/**
 * The checksum of some parts: hexadecimal digits, the first of them replaced by the prefix. Each part is preceded by
 * its length, so that other parts make other bytes. The bytes are hashed in blocks. The hash of a block is the seed of
 * the next one.
 */
export function checksum(parts: Iterable<Buffer | string>): string {
  const { block, xxh64 } = hasher()
  let hashes: readonly bigint[] = SEEDS
  let filled = 0
  for (const part of parts) {
    const prefix = `${part.length}:`
    // A string takes at most three bytes for each of its units.
    const maxBytes = prefix.length + (typeof part === 'string' ? 3 * part.length : part.length)
    if (filled + maxBytes < BLOCK_BYTES) {
      filled += block.write(prefix, filled, 'latin1')
      filled += typeof part === 'string' ? block.write(part, filled) : part.copy(block, filled)
      continue
    }
    // A part that does not fit into the block is copied in pieces, and each full block is hashed.
    const bytes = Buffer.concat([Buffer.from(prefix), typeof part === 'string' ? Buffer.from(part) : part])
    for (let at = 0; at < bytes.length; ) {
      const copied = bytes.copy(block, filled, at)
      at += copied
      filled += copied
      if (filled < BLOCK_BYTES) break
      hashes = hashes.map(seed => xxh64(BLOCK_BYTES, seed))
      filled = 0
    }
  }
  const digits = hashes.map(seed => BigInt.asUintN(64, xxh64(filled, seed)).toString(16).padStart(16, '0'))
  return CHECKSUM_PREFIX + digits.join('').slice(CHECKSUM_PREFIX.length)
}

/** The SHA-256 digest of some parts, each preceded by its length: its first digits. */
export function digest(parts: Iterable<Buffer | string>): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(`${part.length}:`).update(part)
  return hash.digest('hex').slice(0, CHECKSUM_LENGTH)
}

/** A block of memory, and XXH64 of its first bytes. */
interface Hasher {
  block: Buffer
  xxh64(length: number, seed: bigint): bigint
}

interface Kernel {
  memory: { buffer: ArrayBuffer }
  blockAddress(): number
  xxh64(length: number, seed: bigint): bigint
}

let loadedHasher: Hasher | undefined

/** The hasher of the compiled module, or the plain one where WebAssembly cannot run. */
function hasher(): Hasher {
  loadedHasher ??= kernelHasher() ?? plainHasher()
  return loadedHasher
}

/** The hasher of the compiled module; null where WebAssembly cannot run. */
export function kernelHasher(): Hasher | null {
  const kernel = instantiated<Kernel>(WASM)
  if (kernel === null) return null
  return { block: Buffer.from(kernel.memory.buffer, kernel.blockAddress(), BLOCK_BYTES), xxh64: kernel.xxh64 }
}

export function plainHasher(): Hasher {
  const block = Buffer.alloc(BLOCK_BYTES)
  return { block, xxh64: (length, seed) => plainXxh64(block.subarray(0, length), seed) }
}

const PRIME_1 = 0x9e3779b185ebca87n
const PRIME_2 = 0xc2b2ae3d27d4eb4fn
const PRIME_3 = 0x165667b19e3779f9n
const PRIME_4 = 0x85ebca77c2b2ae63n
const PRIME_5 = 0x27d4eb2f165667c5n

/** XXH64 by its specification: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md */
function plainXxh64(bytes: Buffer, seed: bigint): bigint {
  let at = 0
  let hash = seed + PRIME_5
  // Each round takes 32 bytes, 8 for each of four lanes.
  if (bytes.length >= 32) {
    const lanes = [seed + PRIME_1 + PRIME_2, seed + PRIME_2, seed, seed - PRIME_1].map(lowest64Bits)
    for (; at + 32 <= bytes.length; at += 32)
      for (let lane = 0; lane < 4; lane++) lanes[lane] = mixIntoLane(lanes[lane]!, bytes.readBigUInt64LE(at + 8 * lane))
    const [a, b, c, d] = lanes as [bigint, bigint, bigint, bigint]
    hash = rotateLeft(a, 1n) + rotateLeft(b, 7n) + rotateLeft(c, 12n) + rotateLeft(d, 18n)
    for (const lane of lanes) hash = (hash ^ mixIntoLane(0n, lane)) * PRIME_1 + PRIME_4
  }
  hash = lowest64Bits(hash + BigInt(bytes.length))
  // The remaining bytes: 8 at a time, then 4, then single ones.
  for (; at + 8 <= bytes.length; at += 8)
    hash = rotateLeft(hash ^ mixIntoLane(0n, bytes.readBigUInt64LE(at)), 27n) * PRIME_1 + PRIME_4
  if (at + 4 <= bytes.length) {
    hash = rotateLeft(hash ^ (BigInt(bytes.readUInt32LE(at)) * PRIME_1), 23n) * PRIME_2 + PRIME_3
    at += 4
  }
  for (; at < bytes.length; at++) hash = rotateLeft(hash ^ (BigInt(bytes[at]!) * PRIME_5), 11n) * PRIME_1
  // Every bit of the input changes about half of the bits of the result.
  hash = lowest64Bits(hash)
  hash = lowest64Bits((hash ^ (hash >> 33n)) * PRIME_2)
  hash = lowest64Bits((hash ^ (hash >> 29n)) * PRIME_3)
  return hash ^ (hash >> 32n)
}

/** The round function of XXH64: the next state of a lane after eight bytes. */
function mixIntoLane(lane: bigint, word: bigint): bigint {
  return lowest64Bits(rotateLeft(lane + word * PRIME_2, 31n) * PRIME_1)
}

/** The lowest 64 bits of a value, rotated left by some bits. */
function rotateLeft(value: bigint, bits: bigint): bigint {
  const word = lowest64Bits(value)
  return lowest64Bits(word << bits) | (word >> (64n - bits))
}

function lowest64Bits(value: bigint): bigint {
  return BigInt.asUintN(64, value)
}
