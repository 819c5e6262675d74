import { benjaminiHochberg, benjaminiYekutieli, holm } from '../../statistics/multiple.js'
import type { Adjustment } from './result.js'

const METHODS: Readonly<Record<Adjustment, (p: readonly number[]) => number[]>> = {
  bh: benjaminiHochberg,
  by: benjaminiYekutieli,
  holm,
  none: p => [...p],
}

/**
 * p-values corrected for how many looks there were, in the order of `own`; null where there is no p. A look without a
 * p-value counts as one with p = 1.
 * @param others p-values of the rest of the family
 */
export function adjusted(
  own: readonly (number | null)[],
  others: readonly (number | null)[],
  adjustment: Adjustment,
): (number | null)[] {
  const family = METHODS[adjustment]([...own, ...others].map(p => p ?? 1))
  return own.map((p, i) => (p === null ? null : family[i]!))
}

/** By corrected p, then p, then name; those without one last. */
export function byEvidence(
  a: { q: number | null; p: number | null; name: string },
  b: { q: number | null; p: number | null; name: string },
): number {
  return nullsLast(a.q, b.q) || nullsLast(a.p, b.p) || (a.name < b.name ? -1 : Number(a.name > b.name))
}

function nullsLast(a: number | null, b: number | null): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null)
  return a - b
}
