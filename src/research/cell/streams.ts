import { Random } from '../../random.js'

/** What random numbers of a cell are drawn for. Append only: a place is part of what a seed means. */
const PURPOSES = ['shift', 'bootstrap', 'bca', 'random_entry', 'aftermath', 'path'] as const

/** Wider apart than any window is long. */
const APART = 10_000

/**
 * The generator of one purpose and window. Each has a stream of its own, so that a cell is the same to the last digit
 * whatever else was asked with it.
 * @param window length in bars, or a bar of the path
 */
export function streamOf(seed: number, purpose: (typeof PURPOSES)[number], window: number): Random {
  return Random.stream(new Random(seed).word(), PURPOSES.indexOf(purpose) * APART + window)
}
