/** What a two-sided test says about a difference. The same four words are used at every door. */
export type Verdict = 'beats chance' | 'not told from chance' | 'worse than chance' | 'too few'

/** A p below this level is a finding. */
export const LEVEL = 0.05

/**
 * @param p two-sided, after every correction that applies; null where no test was possible
 * @param difference the tested difference, as a fraction; only its sign counts
 */
export function verdictOf(p: number | null, difference: number | null): Verdict {
  if (p === null || difference === null) return 'too few'
  if (p >= LEVEL) return 'not told from chance'
  return difference > 0 ? 'beats chance' : 'worse than chance'
}
