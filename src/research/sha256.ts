/** The words of a block that follow from others, and how many there are in all. */
const BLOCK_WORDS = 16
const SCHEDULE_WORDS = 64
const BLOCK_BYTES = 4 * BLOCK_WORDS

/** The least padding: a byte that marks the end, and the length in bits. */
const LEAST_PADDING = 9

/** The first primes, whose roots give the constants. */
const PRIMES = firstPrimes(SCHEDULE_WORDS)
const CUBE_ROOTS = Int32Array.from(PRIMES, prime => fractionBits(Math.cbrt(prime)))
const SQUARE_ROOTS = Int32Array.from(PRIMES.slice(0, 8), prime => fractionBits(Math.sqrt(prime)))

/**
 * The SHA-256 digest of a text in UTF-8, as hexadecimal digits (FIPS 180-4). node:crypto takes 5 ms to load, as long as
 * a question about one ticker computes.
 */
export function sha256(text: string): string {
  const bytes = Buffer.from(text)
  const blocks = Math.ceil((bytes.length + LEAST_PADDING) / BLOCK_BYTES)
  const padded = new DataView(new ArrayBuffer(blocks * BLOCK_BYTES))
  new Uint8Array(padded.buffer).set(bytes)
  padded.setUint8(bytes.length, 0x80)
  padded.setBigUint64(padded.byteLength - 8, 8n * BigInt(bytes.length))
  const state = SQUARE_ROOTS.slice()
  const schedule = new Int32Array(SCHEDULE_WORDS)
  for (let at = 0; at < padded.byteLength; at += BLOCK_BYTES) {
    for (let t = 0; t < BLOCK_WORDS; t++) schedule[t] = padded.getInt32(at + 4 * t)
    extendSchedule(schedule)
    addBlock(state, schedule)
  }
  return Array.from(state, word => (word >>> 0).toString(16).padStart(8, '0')).join('')
}

function extendSchedule(schedule: Int32Array): void {
  for (let t = BLOCK_WORDS; t < SCHEDULE_WORDS; t++) {
    const early = schedule[t - 15]!
    const late = schedule[t - 2]!
    const small0 = rotate(early, 7) ^ rotate(early, 18) ^ (early >>> 3)
    const small1 = rotate(late, 17) ^ rotate(late, 19) ^ (late >>> 10)
    schedule[t] = small1 + schedule[t - 7]! + small0 + schedule[t - 16]!
  }
}

/** Mixes a block into the state; the letters are those of the standard. */
function addBlock(state: Int32Array, schedule: Int32Array): void {
  let a = state[0]!
  let b = state[1]!
  let c = state[2]!
  let d = state[3]!
  let e = state[4]!
  let f = state[5]!
  let g = state[6]!
  let h = state[7]!
  for (let t = 0; t < SCHEDULE_WORDS; t++) {
    const large1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
    const t1 = (h + large1 + ((e & f) ^ (~e & g)) + CUBE_ROOTS[t]! + schedule[t]!) | 0
    const large0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
    const t2 = (large0 + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + t1) | 0
    d = c
    c = b
    b = a
    a = (t1 + t2) | 0
  }
  state[0]! += a
  state[1]! += b
  state[2]! += c
  state[3]! += d
  state[4]! += e
  state[5]! += f
  state[6]! += g
  state[7]! += h
}

function rotate(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits))
}

function firstPrimes(count: number): number[] {
  const primes: number[] = []
  for (let n = 2; primes.length < count; n++) if (primes.every(prime => n % prime !== 0)) primes.push(n)
  return primes
}

/** The first 32 bits after the point. */
function fractionBits(root: number): number {
  return Math.floor((root % 1) * 2 ** 32)
}
