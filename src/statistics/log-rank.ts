import { chiSquareSurvival } from './distributions.js'
import type { Spell } from './kaplan-meier.js'

/** Of one group: spells, those that ended, and how many would have if all groups ended alike. */
export interface LogRankGroup {
  n: number
  observed: number
  expected: number
}

export interface LogRank {
  chi2: number
  df: number
  p: number
  /** In the order given. */
  groups: LogRankGroup[]
}

/**
 * Do spells of several groups last equally long? Log-rank test (Mantel 1966; Peto & Peto 1972): at every length at which
 * some end, each group is expected to have its share of them by how many it has at risk; the sums of the differences
 * over their hypergeometric covariance are chi-square distributed. Groups of which no end could be seen do not count.
 */
export function logRank(groups: readonly (readonly Spell[])[]): LogRank | { reason: string } {
  const { observed, expected, covariance } = sumsOf(groups)
  const counting = groups.flatMap((_, g) => (expected[g]! > 0 ? [g] : []))
  if (counting.length < 2) return { reason: 'fewer than two groups in which an end could be seen' }
  // One of them is what the others leave over.
  const kept = counting.slice(0, -1)
  const differences = kept.map(g => observed[g]! - expected[g]!)
  const solved = solve(
    kept.map(g => kept.map(other => covariance[g]![other]!)),
    differences,
  )
  if (solved === null) return { reason: 'every end was that of the last spell at risk' }
  const chi2 = solved.reduce((sum, value, i) => sum + value * differences[i]!, 0)
  return {
    chi2,
    df: kept.length,
    p: chiSquareSurvival(chi2, kept.length),
    groups: groups.map((group, g) => ({ n: group.length, observed: observed[g]!, expected: expected[g]! })),
  }
}

function sumsOf(groups: readonly (readonly Spell[])[]): {
  observed: number[]
  expected: number[]
  covariance: number[][]
} {
  const spells = groups.flatMap((group, g) => group.map(({ length, ended }) => ({ length, ended, g })))
  spells.sort((a, b) => a.length - b.length)
  const atRisk = groups.map(group => group.length)
  const observed = groups.map(() => 0)
  const expected = groups.map(() => 0)
  const covariance = groups.map(() => groups.map(() => 0))
  for (let i = 0; i < spells.length; ) {
    const n = spells.length - i
    const ends = groups.map(() => 0)
    const leaves = groups.map(() => 0)
    const { length } = spells[i]!
    for (; i < spells.length && spells[i]!.length === length; i++) {
      leaves[spells[i]!.g]!++
      if (spells[i]!.ended) ends[spells[i]!.g]!++
    }
    const d = ends.reduce((sum, count) => sum + count, 0)
    const spread = n > 1 ? (d * (n - d)) / (n - 1) : 0
    for (const g of groups.keys()) {
      observed[g]! += ends[g]!
      expected[g]! += (d * atRisk[g]!) / n
      for (const other of groups.keys()) {
        covariance[g]![other]! += spread * (atRisk[g]! / n) * (Number(g === other) - atRisk[other]! / n)
      }
    }
    for (const g of groups.keys()) atRisk[g]! -= leaves[g]!
  }
  return { observed, expected, covariance }
}

/** x of A x = b, A symmetric and positive definite (elimination with the greatest pivot); null where A is singular. */
function solve(matrix: readonly (readonly number[])[], right: readonly number[]): number[] | null {
  const rows = matrix.map((row, i) => [...row, right[i]!])
  const size = rows.length
  const scale = Math.max(...matrix.map((row, i) => row[i]!))
  for (let column = 0; column < size; column++) {
    const pivot = rows.reduce(
      (best, row, i) => (i >= column && Math.abs(row[column]!) > Math.abs(rows[best]![column]!) ? i : best),
      column,
    )
    if (!(Math.abs(rows[pivot]![column]!) > 1e-12 * scale)) return null
    ;[rows[column], rows[pivot]] = [rows[pivot]!, rows[column]!]
    for (const [i, row] of rows.entries()) {
      if (i === column) continue
      const factor = row[column]! / rows[column]![column]!
      for (let j = column; j <= size; j++) row[j]! -= factor * rows[column]![j]!
    }
  }
  return rows.map((row, i) => row[size]! / row[i]!)
}
