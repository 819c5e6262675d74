import { instantiated } from '../indicators/wasm.js'
import { WASM } from './moves.wasm.js'

/** The exports of assembly/moves.ts. */
interface Kernel {
  memory: { buffer: ArrayBuffer }
  /** Allocates the columns and returns the address of the closes, 0 on failure; sums and bars follow them. */
  reserve(length: number, points: number, count: number): number
  sum(length: number, points: number, count: number, from: number): void
}

/** undefined: not loaded yet; null: WebAssembly with vectors is not available. */
let kernel: Kernel | null | undefined

/**
 * Sums the moves from some bars to each point of a path around them: close at the point / close of the bar - 1. A
 * point beyond the first or last close adds nothing. Compiled for WebAssembly it takes half as long.
 * @param close of all bars
 * @param bars the bars to move from, ascending
 * @param from the first point, in bars from the bar, negative before it
 * @param sums one a point, overwritten
 */
export function sumMoves(close: Float64Array, bars: Int32Array, from: number, sums: Float64Array): void {
  kernel ??= instantiated<Kernel>(WASM)
  const address = kernel?.reserve(close.length, sums.length, bars.length) ?? 0
  if (address === 0) {
    plainSums(close, bars, from, sums)
    return
  }
  const { memory, sum } = kernel!
  // In the module's memory the closes are followed by the sums, and these by the bars.
  const addressOfSums = address + close.byteLength
  new Float64Array(memory.buffer, address, close.length).set(close)
  new Int32Array(memory.buffer, addressOfSums + sums.byteLength, bars.length).set(bars)
  sum(close.length, sums.length, bars.length, from)
  sums.set(new Float64Array(memory.buffer, addressOfSums, sums.length))
}

/** Sums the moves from `bars` to each point of a path, as `sumMoves` does, without WebAssembly. */
export function plainSums(close: Float64Array, bars: Int32Array, from: number, sums: Float64Array): void {
  sums.fill(0)
  for (const bar of bars) {
    const end = Math.min(from + sums.length, close.length - bar)
    for (let offset = Math.max(from, -bar); offset < end; offset++)
      sums[offset - from]! += close[bar + offset]! / close[bar]! - 1
  }
}
