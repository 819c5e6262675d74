import { chiSquareSurvival } from './distributions.js'

/** How long something lasted, and whether it had ended: otherwise it lasted longer than that (right-censored). */
export interface Spell extends Counted {
  length: number
  ended: boolean
}

/** What stands for several that are alike, in all that counts. */
export interface Counted {
  /** How many; 1 unless given. */
  times?: number
}

/** How many there are of all. */
export function countOf(counted: readonly Counted[]): number {
  let sum = 0
  for (const { times = 1 } of counted) sum += times
  return sum
}

/** A length at which some ended: how many were still going just before, how many ended, the share that lasts longer. */
interface SurvivalStep {
  length: number
  at_risk: number
  ended: number
  survival: number
}

/**
 * The share of spells that last longer than a length, one step for each length at which some ended. Kaplan & Meier,
 * "Nonparametric estimation from incomplete observations" (1958): the product over the steps of 1 - ended / at risk;
 * a spell that is censored at a length is still at risk there.
 */
export function kaplanMeier(spells: readonly Spell[]): SurvivalStep[] {
  const steps: SurvivalStep[] = []
  let survival = 1
  for (const { length, at_risk, here } of byLength(spells)) {
    const ended = countOf(here.filter(spell => spell.ended))
    if (ended === 0) continue
    survival *= 1 - ended / at_risk
    steps.push({ length, at_risk, ended, survival })
  }
  return steps
}

/** Spells by their length, ascending: how many last at least so long, and those that last no longer. */
function* byLength<One extends Counted & { length: number }>(spells: readonly One[]) {
  // Put together before they are put in order: many spells are of few lengths.
  const groups = Map.groupBy(spells, ({ length }) => length)
  let at_risk = countOf(spells)
  for (const length of [...groups.keys()].sort((a, b) => a - b)) {
    const here = groups.get(length)!
    yield { length, at_risk, here }
    at_risk -= countOf(here)
  }
}

/** The least length by which a share of spells (0.5: the median) has ended; null when the steps do not get there. */
export function lengthReached(steps: readonly SurvivalStep[], share: number): number | null {
  // The product of fractions may miss an exact half by rounding.
  return steps.find(step => step.survival <= 1 - share + 1e-9)?.length ?? null
}

/** Greenwood's standard error and the log-log 95 % interval of a survival; null where its step leaves nobody at risk. */
export interface SurvivalError {
  se: number | null
  low: number | null
  high: number | null
}

/** Normal quantile of 97.5 %, for two-sided 95 %. */
const Z = 1.959963984540054

/**
 * The error of each step. Greenwood, "The natural duration of cancer" (1926): S √(d Σ ended / (at risk (at risk - ended)));
 * the interval is that of ln(-ln S), which never leaves 0..1: S^exp(∓z se / (S ln S)) (Kalbfleisch & Prentice 1980).
 * @param effects d of each step: spells for each independent one (Kish's design effect); 1 without it
 */
export function survivalErrors(steps: readonly SurvivalStep[], effects?: readonly number[]): SurvivalError[] {
  let sum = 0
  return steps.map(({ at_risk, ended, survival }, i) => {
    if (ended === at_risk) return { se: null, low: null, high: null }
    sum += ended / (at_risk * (at_risk - ended))
    const spread = Math.sqrt(sum * (effects?.[i] ?? 1))
    const error = (Z * spread) / Math.log(survival)
    return { se: survival * spread, low: survival ** Math.exp(-error), high: survival ** Math.exp(error) }
  })
}

/**
 * 95 % interval of the length by which a share has ended: the lengths at which the ends of the survival's interval get
 * there (Brookmeyer & Crowley 1982). An end is null where the steps do not get there.
 */
export function lengthInterval(
  steps: readonly SurvivalStep[],
  share: number,
  effects?: readonly number[],
): Pick<SurvivalError, 'low' | 'high'> {
  const errors = survivalErrors(steps, effects)
  const reached = (end: 'low' | 'high'): number | null => {
    const i = errors.findIndex(error => error[end] !== null && error[end] <= 1 - share + 1e-9)
    return i === -1 ? null : steps[i]!.length
  }
  return { low: reached('low'), high: reached('high') }
}

/** Of one group: spells, those that ended, and how many would have if all groups ended alike. */
interface LogRankGroup {
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
  const spreads = kept.map(g => kept.map(other => covariance[g]![other]!))
  const solved = solve(spreads, differences)
  if (solved === null) return { reason: 'every end was that of the last spell at risk' }
  const chi2 = solved.reduce((sum, value, i) => sum + value * differences[i]!, 0)
  return {
    chi2,
    df: kept.length,
    p: chiSquareSurvival(chi2, kept.length),
    groups: groups.map((group, g) => ({ n: countOf(group), observed: observed[g]!, expected: expected[g]! })),
  }
}

function sumsOf(groups: readonly (readonly Spell[])[]) {
  const spells = groups.flatMap((group, g) => group.map(spell => ({ ...spell, g })))
  const atRisk = groups.map(countOf)
  const observed = groups.map(() => 0)
  const expected = groups.map(() => 0)
  const covariance = groups.map(() => groups.map(() => 0))
  for (const { at_risk: n, here } of byLength(spells)) {
    const ends = here.filter(({ ended }) => ended)
    const d = countOf(ends)
    const spread = n > 1 ? (d * (n - d)) / (n - 1) : 0
    for (const g of groups.keys()) {
      observed[g]! += countOf(ends.filter(spell => spell.g === g))
      expected[g]! += (d * atRisk[g]!) / n
      for (const other of groups.keys()) {
        covariance[g]![other]! += spread * (atRisk[g]! / n) * (Number(g === other) - atRisk[other]! / n)
      }
    }
    for (const { g, times = 1 } of here) atRisk[g]! -= times
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

/** How long something lasted, and what ended it: one of several causes (by number), or nothing yet (null: censored). */
export interface CausedSpell extends Counted {
  length: number
  cause: number | null
}

/** After a length at which some ended: the share that lasts longer, and by cause the share that ended so by then. */
interface IncidenceStep {
  length: number
  survival: number
  incidence: number[]
}

/**
 * Cumulative incidence of each cause, all others counted as what they are, competing ends: at every length the survival
 * before it times the share of those at risk that end by the cause there (Aalen & Johansen 1978). The incidences and the
 * survival add up to 1. One step for each length at which some ended; causes are numbered from 0.
 */
export function cumulativeIncidence(spells: readonly CausedSpell[], causes: number): IncidenceStep[] {
  const incidence: number[] = new Array(causes).fill(0)
  const steps: IncidenceStep[] = []
  let survival = 1
  for (const { length, at_risk, here } of byLength(spells)) {
    let ended = 0
    for (const { cause, times = 1 } of here) {
      if (cause === null) continue
      // One by one, so that the last digit is that of spells which nobody has counted together.
      for (let i = 0; i < times; i++) incidence[cause]! += survival / at_risk
      ended += times
    }
    if (ended === 0) continue
    survival *= 1 - ended / at_risk
    steps.push({ length, survival, incidence: [...incidence] })
  }
  return steps
}

/** The last step up to a length; null before the first one. */
export function stepAt(steps: readonly IncidenceStep[], length: number): IncidenceStep | null {
  return steps.findLast(step => step.length <= length) ?? null
}
