import { readFileSync } from 'node:fs'

/**
 * The numbers of `numpy.random.RandomState(seed)`, so that results published for its draws can be checked without them:
 * the Mersenne Twister MT19937 (Matsumoto & Nishimura 1998) and numpy's legacy polar method.
 */
export class RandomState {
  readonly #state = new Uint32Array(N)
  #next = N
  #spare: number | null = null

  constructor(seed: number) {
    this.#state[0] = seed
    for (let i = 1; i < N; i++) {
      const last = this.#state[i - 1]!
      this.#state[i] = Math.imul(1812433253, last ^ (last >>> 30)) + i
    }
  }

  word(): number {
    if (this.#next === N) this.#twist()
    let y = this.#state[this.#next++]!
    y ^= y >>> 11
    y ^= (y << 7) & 0x9d2c5680
    y ^= (y << 15) & 0xefc60000
    return (y ^ (y >>> 18)) >>> 0
  }

  uniform(): number {
    const high = this.word() >>> 5
    return (high * 0x4000000 + (this.word() >>> 6)) / 0x20000000000000
  }

  normal(): number {
    if (this.#spare !== null) {
      const spare = this.#spare
      this.#spare = null
      return spare
    }
    for (;;) {
      const x = 2 * this.uniform() - 1
      const y = 2 * this.uniform() - 1
      const square = x * x + y * y
      if (square >= 1 || square === 0) continue
      const factor = Math.sqrt((-2 * Math.log(square)) / square)
      this.#spare = factor * x
      return factor * y
    }
  }

  #twist(): void {
    for (let i = 0; i < N; i++) {
      const y = (this.#state[i]! & 0x80000000) | (this.#state[(i + 1) % N]! & 0x7fffffff)
      this.#state[i] = this.#state[(i + M) % N]! ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0)
    }
    this.#next = 0
  }
}

const N = 624
const M = 397

/** The lines of a file of golden/ that are no remarks: name, two blanks or more, numbers. */
export function golden(file: string): Record<string, number[]> {
  const lines = readFileSync(new URL(`../golden/${file}`, import.meta.url), 'utf8').split('\n')
  return Object.fromEntries(
    lines
      .filter(line => line.trim() !== '' && !line.startsWith('#'))
      .map(line => {
        const [name, numbers] = line.split(/ {2,}/)
        return [name!, numbers!.split(' ').map(Number)]
      }),
  )
}
