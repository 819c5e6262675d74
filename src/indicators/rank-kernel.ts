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
  /** Makes room for a column of so many values and answers with its address, 0 for none; ranks and sizes lie behind it. */
  reserve(length: number): number
  rank(length: number, lag: number, history: number, least: number, tolerance: number): void
  /** Puts them in ascending order and answers with their address; with 0 where one is undefined. */
  ascending(length: number): number
}

/** undefined: not asked for yet; null: there is no WebAssembly with vectors here. */
let kernel: Kernel | null | undefined

/** Ranks by the compiled module; null where it cannot run, or has no room for so many. */
export function kernelRanks(values: Float64Array, subset: Subset, tolerance: number): Ranks | null {
  const { length } = values
  const [own, at] = filled(values)
  if (own === null) return null
  own.rank(length, subset.lag, subset.history, subset.least, tolerance)
  const answers = new Int32Array(own.memory.buffer, at + values.byteLength, 2 * length)
  return { rank: answers.slice(0, length), size: answers.slice(length) }
}

/** Values in ascending order, by the compiled module; null where it cannot run, and where it is not made for such values. */
export function kernelAscending(values: Float64Array): Float64Array | null {
  const [own] = filled(values)
  const at = own?.ascending(values.length) ?? 0
  return at === 0 ? null : new Float64Array(own!.memory.buffer, at, values.length).slice()
}

/** So many values take 4 MB of the module, which it never gives back. */
const MOST = 65_536

/** The module with a column in it, and where that lies; null where it cannot run, or has no room for it. */
function filled(values: Float64Array): [Kernel, number] | [null, 0] {
  kernel ??= instantiated<Kernel>(WASM)
  if (kernel === null || values.length > MOST) return [null, 0]
  const at = kernel.reserve(values.length)
  if (at === 0) return [null, 0]
  new Float64Array(kernel.memory.buffer, at, values.length).set(values)
  return [kernel, at]
}
