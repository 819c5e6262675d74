import { chiSquareSurvival } from './distributions.js'
import { sum } from './moments.js'

export interface ChiSquare {
  chi2: number
  df: number
  p: number
  /** The least count that would be expected if all were alike; below 5 the chi-square distribution is a rough guide. */
  least_expected: number
}

export interface EqualRows {
  /** All rows together; null, with the reason, where no row can be compared. */
  total: ChiSquare | null
  reason: string | null
  /** By row, in the order given; null where it has nothing to compare. */
  rows: (ChiSquare | null)[]
}

/**
 * Are the shares by which a chain moves on the same in every context? Chi-square of homogeneity, row by row and added up
 * (Anderson & Goodman, "Statistical inference about Markov chains", 1957): Σ (count - expected)² / expected, contexts - 1
 * times destinations - 1 degrees of freedom, of contexts and destinations that the row has any count of.
 * @param tables by row: counts by context and destination
 */
export function andersonGoodman(tables: readonly (readonly (readonly number[])[])[]): EqualRows {
  const rows = tables.map(homogeneity)
  const compared = rows.filter(row => row !== null)
  if (compared.length === 0) {
    return { total: null, reason: 'no band is left for different bands in different contexts', rows }
  }
  const chi2 = compared.reduce((sum, row) => sum + row.chi2, 0)
  const df = compared.reduce((sum, row) => sum + row.df, 0)
  const least_expected = Math.min(...compared.map(row => row.least_expected))
  return { total: { chi2, df, p: chiSquareSurvival(chi2, df), least_expected }, reason: null, rows }
}

/** Of one row; null with fewer than two contexts or destinations. */
export function homogeneity(table: readonly (readonly number[])[]): ChiSquare | null {
  const contexts = table.map(sum)
  const destinations = (table[0] ?? []).map((_, to) => sum(table.map(row => row[to]!)))
  const n = sum(contexts)
  const df = (contexts.filter(isSome).length - 1) * (destinations.filter(isSome).length - 1)
  if (n === 0 || df === 0) return null
  let chi2 = 0
  let least_expected = Number.POSITIVE_INFINITY
  for (const [context, row] of table.entries()) {
    for (const [to, count] of row.entries()) {
      const expected = (contexts[context]! * destinations[to]!) / n
      if (expected === 0) continue
      chi2 += (count - expected) ** 2 / expected
      least_expected = Math.min(least_expected, expected)
    }
  }
  return { chi2, df, p: chiSquareSurvival(chi2, df), least_expected }
}

function isSome(count: number): boolean {
  return count > 0
}
