import { chiSquareSurvival } from './distributions.js'
import { sum } from './moments.js'
import { riskSets, type Spell, totalCount } from './survival.js'

export interface ChiSquare {
  chi2: number
  df: number
  p: number
  /** The least expected count; below 5 the chi-square distribution is a rough approximation. */
  least_expected: number
}

interface EqualRows {
  /** All rows together; null, with the reason, where no row can be compared. */
  total: ChiSquare | null
  reason: string | null
  /** By row, in the order of the tables; null where it has nothing to compare. */
  rows: (ChiSquare | null)[]
}

/**
 * Tests whether a chain has the same transition shares in every context. Chi-square of homogeneity, row by row and
 * added up (Anderson & Goodman, "Statistical inference about Markov chains", 1957): Σ (count - expected)² / expected.
 * The degrees of freedom are (contexts - 1) (destinations - 1), for contexts and destinations with any count in the
 * row.
 * @param tables for each row (the state that is left): counts by context and destination
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

/**
 * The chi-square of one row of a chain; null with fewer than two contexts or destinations.
 * @param table counts by context and destination
 */
export function homogeneity(table: readonly (readonly number[])[]): ChiSquare | null {
  const contextTotals = table.map(sum)
  const destinationTotals = (table[0] ?? []).map((_, to) => sum(table.map(row => row[to]!)))
  const n = sum(contextTotals)
  const df = (contextTotals.filter(isAboveZero).length - 1) * (destinationTotals.filter(isAboveZero).length - 1)
  if (n === 0 || df === 0) return null
  let chi2 = 0
  let least_expected = Number.POSITIVE_INFINITY
  for (const [context, row] of table.entries()) {
    for (const [to, count] of row.entries()) {
      const expected = (contextTotals[context]! * destinationTotals[to]!) / n
      if (expected === 0) continue
      chi2 += (count - expected) ** 2 / expected
      least_expected = Math.min(least_expected, expected)
    }
  }
  return { chi2, df, p: chiSquareSurvival(chi2, df), least_expected }
}

function isAboveZero(count: number): boolean {
  return count > 0
}

/** One group: spells, those that ended, and the expected number if all groups ended equally. */
interface LogRankGroup {
  n: number
  observed: number
  expected: number
}

export interface LogRank {
  chi2: number
  df: number
  p: number
  /** In the order of the input. */
  groups: LogRankGroup[]
}

/**
 * Tests whether spells of several groups last equally long. Log-rank test (Mantel 1966; Peto & Peto 1972): at every
 * length with ends, each group's expected share is its share at risk. The sums of the differences over their
 * hypergeometric covariance have a chi-square distribution. Groups without a possible end do not count.
 */
export function logRank(groups: readonly (readonly Spell[])[]): LogRank | { reason: string } {
  const { observed, expected, covariance } = logRankSums(groups)
  const withEnds = [...groups.keys()].filter(g => expected[g]! > 0)
  if (withEnds.length < 2) return { reason: 'fewer than two groups in which an end could be seen' }
  // The difference of the last group follows from those of the others.
  const independent = withEnds.slice(0, -1)
  const differences = independent.map(g => observed[g]! - expected[g]!)
  const covariances = independent.map(g => independent.map(other => covariance[g]![other]!))
  const solution = solve(covariances, differences)
  if (solution === null) return { reason: 'every end was that of the last spell at risk' }
  const chi2 = solution.reduce((sum, value, i) => sum + value * differences[i]!, 0)
  const df = independent.length
  return {
    chi2,
    df,
    p: chiSquareSurvival(chi2, df),
    groups: groups.map((group, g) => ({ n: totalCount(group), observed: observed[g]!, expected: expected[g]! })),
  }
}

/** By group: the number of ends, the number expected if all groups ended equally, the covariance of the differences. */
function logRankSums(groups: readonly (readonly Spell[])[]) {
  const spells = groups.flatMap((group, g) => group.map(spell => ({ ...spell, g })))
  const groupAtRisk = groups.map(totalCount)
  const observed = groups.map(() => 0)
  const expected = groups.map(() => 0)
  const covariance = groups.map(() => groups.map(() => 0))
  for (const { at_risk: atRisk, spellsOfLength } of riskSets(spells)) {
    const endedSpells = spellsOfLength.filter(({ ended }) => ended)
    const ended = totalCount(endedSpells)
    // The ends of a group are like a draw of `ended` out of n without replacement: a hypergeometric variance.
    const varianceFactor = atRisk > 1 ? (ended * (atRisk - ended)) / (atRisk - 1) : 0
    for (const g of groups.keys()) {
      observed[g]! += totalCount(endedSpells.filter(spell => spell.g === g))
      expected[g]! += (ended * groupAtRisk[g]!) / atRisk
      for (const other of groups.keys()) {
        covariance[g]![other]! +=
          varianceFactor * (groupAtRisk[g]! / atRisk) * (Number(g === other) - groupAtRisk[other]! / atRisk)
      }
    }
    for (const { g, times = 1 } of spellsOfLength) groupAtRisk[g]! -= times
  }
  return { observed, expected, covariance }
}

/** Solves A x = b by elimination with the greatest pivot, A symmetric and positive definite; null if A is singular. */
function solve(matrix: readonly (readonly number[])[], b: readonly number[]): number[] | null {
  // Row operations turn the rows of A, each followed by its value of b, into a diagonal.
  const rows = matrix.map((row, i) => [...row, b[i]!])
  const size = rows.length
  const scale = Math.max(...matrix.map((row, i) => row[i]!))
  // In each turn the pivot, the row with the greatest value in the column, clears the column of all other rows.
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
