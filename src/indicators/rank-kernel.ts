import { WASM } from './ranks.wasm.js'
import { instantiated } from './wasm.js'

/** A rank for every bar, and the size of the set that it was ranked in; rank -1 = undefined. */
export interface Ranks {
  rank: Int32Array
  size: Int32Array
}

/** Among which bars the value of a bar is ranked: the `history` bars that end `lag` bars before it. */
export interface Subset {
  lag: number
  history: number
  /** How many of them must be defined. */
  least: number
}

/** What assembly/ranks.ts exports. */
interface Kernel {
  memory: { buffer: ArrayBuffer }
  /** Makes room for a column of so many values and answers with its address; ranks and sizes lie behind it. */
  reserve(length: number): number
  rank(length: number, lag: number, history: number, least: number, tolerance: number): void
}

/** undefined: not asked for yet; null: there is no WebAssembly with vectors here. */
let kernel: Kernel | null | undefined

/** Ranks by the compiled module; null where it cannot run. */
export function kernelRanks(values: Float64Array, subset: Subset, tolerance: number): Ranks | null {
  kernel ??= instantiated<Kernel>(WASM)
  if (kernel === null) return null
  const { length } = values
  const at = kernel.reserve(length)
  new Float64Array(kernel.memory.buffer, at, length).set(values)
  kernel.rank(length, subset.lag, subset.history, subset.least, tolerance)
  const answers = new Int32Array(kernel.memory.buffer, at + values.byteLength, 2 * length)
  return { rank: answers.slice(0, length), size: answers.slice(length) }
}
