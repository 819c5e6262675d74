/** How long something lasted, and whether it had ended: otherwise it lasted longer than that (right-censored). */
export interface Spell {
  length: number
  ended: boolean
}

/** A length at which some ended: how many were still going just before, how many ended, the share that lasts longer. */
export interface SurvivalStep {
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
  const ascending = [...spells].sort((a, b) => a.length - b.length)
  const steps: SurvivalStep[] = []
  let survival = 1
  for (let i = 0; i < ascending.length; ) {
    const { length } = ascending[i]!
    const at_risk = ascending.length - i
    let ended = 0
    for (; i < ascending.length && ascending[i]!.length === length; i++) if (ascending[i]!.ended) ended++
    if (ended === 0) continue
    survival *= 1 - ended / at_risk
    steps.push({ length, at_risk, ended, survival })
  }
  return steps
}

/** The least length by which a share of spells (0.5: the median) has ended; null when the steps do not get there. */
export function lengthReached(steps: readonly SurvivalStep[], share: number): number | null {
  // The product of fractions may miss an exact half by rounding.
  return steps.find(step => step.survival <= 1 - share + 1e-9)?.length ?? null
}

/** The survival after a step with its standard error and 95 % interval; null where the step leaves nobody at risk. */
export interface SurvivalError {
  se: number | null
  low: number | null
  high: number | null
}

/** Normal quantile of 97.5 %, for two-sided 95 %. */
const Z = 1.959963984540054

/**
 * The error of each step. Greenwood, "The natural duration of cancer" (1926): S √Σ ended / (at risk (at risk - ended));
 * the interval is that of ln(-ln S), which never leaves 0..1: S^exp(∓z se / (S ln S)) (Kalbfleisch & Prentice 1980).
 */
export function survivalErrors(steps: readonly SurvivalStep[]): SurvivalError[] {
  let sum = 0
  return steps.map(({ at_risk, ended, survival }) => {
    if (ended === at_risk) return { se: null, low: null, high: null }
    sum += ended / (at_risk * (at_risk - ended))
    const error = (Z * Math.sqrt(sum)) / Math.log(survival)
    return { se: survival * Math.sqrt(sum), low: survival ** Math.exp(-error), high: survival ** Math.exp(error) }
  })
}

/**
 * 95 % interval of the length by which a share has ended: the lengths at which the ends of the survival's interval get
 * there (Brookmeyer & Crowley 1982). An end is null where the steps do not get there.
 */
export function lengthInterval(
  steps: readonly SurvivalStep[],
  share: number,
): { low: number | null; high: number | null } {
  const errors = survivalErrors(steps)
  const reached = (end: 'low' | 'high'): number | null => {
    const i = errors.findIndex(error => error[end] !== null && error[end] <= 1 - share + 1e-9)
    return i === -1 ? null : steps[i]!.length
  }
  return { low: reached('low'), high: reached('high') }
}
