import { holm } from './selection.js'

/** The verdict of a two-sided test. The same four words are used everywhere. */
export type Verdict = 'beats chance' | 'not told from chance' | 'worse than chance' | 'too few'

/** A p below this level is a finding. */
export const LEVEL = 0.05

/** Where to read how often a test is wrong. */
export const TESTS_CHECKED_IN = 'Level and power of the tests: docs/developing/how-the-tests-were-checked.md.'

/**
 * The verdict of one test.
 * @param p two-sided, after every correction that applies; null where no test was possible
 * @param difference the tested difference, as a fraction; only its sign counts
 */
export function verdictOf(p: number | null, difference: number | null): Verdict {
  if (p === null || difference === null) return 'too few'
  if (p >= LEVEL) return 'not told from chance'
  return difference > 0 ? 'beats chance' : 'worse than chance'
}

/** Whether chance does not explain the difference. */
export function isFinding(word: string): boolean {
  return word === 'beats chance' || word === 'worse than chance'
}

/** A difference with its p, both null where no test was possible. */
export interface Tested {
  difference: number | null
  p: number | null
  /** A lower limit of the p that decides: the q over all trials of a log; null: only Holm's p decides. */
  leastP: number | null
}

export interface Judged {
  /** p, corrected by Holm for all differences that the page shows; null without a p. */
  corrected: number | null
  verdict: Verdict
}

/**
 * Judges all differences of one page together. A difference without a p does not count among them. `corrected` is
 * Holm's p; the verdict uses the greater one of it and `leastP`.
 */
export function judgeTogether(shown: readonly Tested[]): Judged[] {
  const correctedPs = holm(shown.flatMap(({ p }) => p ?? []))
  let next = 0
  return shown.map(({ difference, p, leastP }) => {
    if (p === null) return { corrected: null, verdict: verdictOf(null, difference) }
    const corrected = correctedPs[next++]!
    return { corrected, verdict: verdictOf(Math.max(corrected, leastP ?? 0), difference) }
  })
}
