/**
 * The only generator of random results: xoshiro128** (Blackman, Vigna), its state filled by splitmix32 of a 32-bit
 * seed. It is not a dependency, so that a seed gives the same answer forever.
 */
export class Random {
  #a: number
  #b: number
  #c: number
  #d: number
  /** The second of a pair of normal numbers, NaN when none is left. */
  #spare = Number.NaN

  /** A generator for a seed; only its lowest 32 bits count. */
  constructor(seed: number) {
    const next = splitmix32(seed)
    this.#a = next()
    this.#b = next()
    this.#c = next()
    this.#d = next()
  }

  /**
   * The generator of one stream of a seed: that of seed XOR stream number. Stream 0 is the seed's own. Seeds that
   * differ in a few low bits share streams (stream 1 of seed 2 is stream 2 of seed 1). Where results of neighbouring
   * seeds must differ, pass `new Random(seed).word()` as the seed.
   */
  static stream(seed: number, stream: number): Random {
    return new Random(seed ^ stream)
  }

  /** The next integer from 0 to 2^32 - 1. */
  word(): number {
    const word = scrambled(this.#b)
    const shifted = this.#b << 9
    this.#c ^= this.#a
    this.#d ^= this.#b
    this.#b ^= this.#c
    this.#a ^= this.#d
    this.#c ^= shifted
    this.#d = (this.#d << 11) | (this.#d >>> 21)
    return word >>> 0
  }

  /** A number in [0, 1) with 53 random bits; takes two words. */
  uniform(): number {
    const high = this.word() >>> 5
    return uniformOf(high, this.word() >>> 6)
  }

  /** An integer from 0 to n - 1, n at least 1; takes two words. */
  below(n: number): number {
    return Math.floor(this.uniform() * n)
  }

  /**
   * Fills `indices` with n numbers from 0 to n - 1 in blocks. A block begins at a random number and counts up from it,
   * with 0 after n - 1. Before each next number it ends by chance.
   * @param chance probability that a block ends before the next number
   */
  fillBlocks(indices: Int32Array, n: number, chance: number): void {
    // If its upper 27 bits are greater, a random number lies above the chance, and its other bits need not be known.
    const highestBelowChance = Math.floor(chance * 0x8000000)
    for (let i = 0; i < n; ) {
      let index = this.below(n)
      indices[i++] = index
      // The state is in local variables: a sweep draws a hundred million indices, and fields take five times as long.
      let a = this.#a
      let b = this.#b
      let c = this.#c
      let d = this.#d
      while (i < n) {
        // As `uniform`, which takes two words: two steps of the generator.
        const first = b
        let shifted = b << 9
        c ^= a
        d ^= b
        b ^= c
        a ^= d
        c ^= shifted
        d = (d << 11) | (d >>> 21)
        const second = b
        shifted = b << 9
        c ^= a
        d ^= b
        b ^= c
        a ^= d
        c ^= shifted
        d = (d << 11) | (d >>> 21)
        const high = scrambled(first) >>> 5
        if (high <= highestBelowChance && uniformOf(high, scrambled(second) >>> 6) < chance) break
        if (++index === n) index = 0
        indices[i++] = index
      }
      this.#a = a
      this.#b = b
      this.#c = c
      this.#d = d
    }
  }

  /**
   * A standard normal number, by Marsaglia's polar method. Points in the square are drawn until one lies in the unit
   * circle; it gives a pair of numbers, the second of which serves the next call. No sine is needed: its last digit
   * differs between versions of the JavaScript engine.
   */
  normal(): number {
    const spare = this.#spare
    if (!Number.isNaN(spare)) {
      this.#spare = Number.NaN
      return spare
    }
    for (;;) {
      const x = 2 * this.uniform() - 1
      const y = 2 * this.uniform() - 1
      const square = x * x + y * y
      if (square >= 1 || square === 0) continue
      const factor = Math.sqrt((-2 * Math.log(square)) / square)
      this.#spare = y * factor
      return x * factor
    }
  }
}

/** The output of the generator for the second number of its state, as a signed integer. */
function scrambled(b: number): number {
  const five = Math.imul(b, 5)
  return Math.imul((five << 7) | (five >>> 25), 9)
}

/** A number in [0, 1). @param high its upper 27 bits @param low its lower 26 bits */
function uniformOf(high: number, low: number): number {
  return (high * 0x4000000 + low) / 0x20000000000000
}

/** Returns a function for the next word of splitmix32, a generator whose state is one number. */
function splitmix32(seed: number): () => number {
  let x = seed | 0
  return () => {
    x = (x + 0x9e3779b9) | 0
    let z = x ^ (x >>> 16)
    z = Math.imul(z, 0x21f0aaad)
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97)
    return z ^ (z >>> 15)
  }
}
