import { NORMAL_QUANTILE_975 } from './counts.js'

/** A length, and whether it ended there; otherwise it is right-censored. */
export interface Spell extends Counted {
  length: number
  ended: boolean
}

/** An entry for one or more equal ones. */
export interface Counted {
  /** Number of equal ones (default 1). */
  times?: number
}

/** The number of spells or events in all entries: the sum of their `times`. */
export function totalCount(counted: readonly Counted[]): number {
  let sum = 0
  for (const { times = 1 } of counted) sum += times
  return sum
}

/** A length at which some ended: number at risk just before, number ended, and the share that lasts longer. */
interface SurvivalStep {
  length: number
  at_risk: number
  ended: number
  survival: number
}

/**
 * The share of spells that last longer than a length, one step for each length at which some ended. Kaplan & Meier,
 * "Nonparametric estimation from incomplete observations" (1958): the product over the steps of 1 - ended / at risk. A
 * spell that is censored at a length is still at risk there.
 */
export function kaplanMeier(spells: readonly Spell[]): SurvivalStep[] {
  const steps: SurvivalStep[] = []
  let survival = 1
  for (const { length, at_risk, spellsOfLength } of riskSets(spells)) {
    const ended = totalCount(spellsOfLength.filter(spell => spell.ended))
    if (ended === 0) continue
    survival *= 1 - ended / at_risk
    steps.push({ length, at_risk, ended, survival })
  }
  return steps
}

/** For each length of spells, ascending: the number that last at least that long, and those of just that length. */
export function* riskSets<AnySpell extends Counted & { length: number }>(spells: readonly AnySpell[]) {
  // Grouped before they are sorted: many spells have few lengths.
  const byLength = Map.groupBy(spells, ({ length }) => length)
  let at_risk = totalCount(spells)
  for (const length of [...byLength.keys()].sort((a, b) => a - b)) {
    const spellsOfLength = byLength.get(length)!
    yield { length, at_risk, spellsOfLength }
    at_risk -= totalCount(spellsOfLength)
  }
}

/** The least length by which a share of spells (0.5: the median) has ended; null when the steps do not reach it. */
export function lengthOfShare(steps: readonly SurvivalStep[], share: number): number | null {
  return steps.find(step => step.survival <= 1 - share + ROUNDING)?.length ?? null
}

/** A product of fractions may miss an exact half by this. */
const ROUNDING = 1e-9

/** Greenwood's standard error and the log-log 95 % interval of a survival; null where the step leaves none at risk. */
export interface SurvivalError {
  se: number | null
  low: number | null
  high: number | null
}

/**
 * The error of each step; nulls where it leaves none at risk. Greenwood, "The natural duration of cancer" (1926):
 * S √(d Σ ended / (at risk (at risk - ended))). The interval is that of ln(-ln S), which never leaves 0..1:
 * S^exp(∓z se / (S ln S)) (Kalbfleisch & Prentice 1980).
 * @param designEffects d of each step: the number of spells per independent one (Kish; default 1)
 */
export function survivalErrors(steps: readonly SurvivalStep[], designEffects?: readonly number[]): SurvivalError[] {
  let sum = 0
  return steps.map(({ at_risk, ended, survival }, i) => {
    if (ended === at_risk) return { se: null, low: null, high: null }
    sum += ended / (at_risk * (at_risk - ended))
    const relativeSe = Math.sqrt(sum * (designEffects?.[i] ?? 1))
    const error = (NORMAL_QUANTILE_975 * relativeSe) / Math.log(survival)
    return { se: survival * relativeSe, low: survival ** Math.exp(-error), high: survival ** Math.exp(error) }
  })
}

/**
 * 95 % interval of the length until a share has ended (Brookmeyer & Crowley 1982). It begins and ends where the lower
 * and the upper end of the survival's interval fall to 1 - `share`. An end is null if it never falls so far.
 * @param designEffects for each step, the number of spells per independent one (default 1)
 */
export function lengthInterval(
  steps: readonly SurvivalStep[],
  share: number,
  designEffects?: readonly number[],
): Pick<SurvivalError, 'low' | 'high'> {
  const errors = survivalErrors(steps, designEffects)
  const lengthReaching = (end: 'low' | 'high'): number | null => {
    const i = errors.findIndex(error => error[end] !== null && error[end] <= 1 - share + ROUNDING)
    return i === -1 ? null : steps[i]!.length
  }
  return { low: lengthReaching('low'), high: lengthReaching('high') }
}

/** A length, and its cause of ending: one of several (by number), or none yet (null: censored). */
export interface CausedSpell extends Counted {
  length: number
  cause: number | null
}

/** After a length with ends: the share that lasts longer, and by cause the share ended by then. */
interface IncidenceStep {
  length: number
  survival: number
  incidence: number[]
}

/**
 * Cumulative incidence of each cause with competing causes. At every length it adds the survival before it times the
 * share at risk that ends by the cause (Aalen & Johansen 1978). The incidences and the survival add up to 1.
 * One step for each length at which some ended; causes are numbered from 0.
 */
export function cumulativeIncidence(spells: readonly CausedSpell[], causes: number): IncidenceStep[] {
  const incidence: number[] = new Array(causes).fill(0)
  const steps: IncidenceStep[] = []
  let survival = 1
  for (const { length, at_risk, spellsOfLength } of riskSets(spells)) {
    let ended = 0
    for (const { cause, times = 1 } of spellsOfLength) {
      if (cause === null) continue
      // One by one, so that the last digit equals that of uncounted spells.
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
