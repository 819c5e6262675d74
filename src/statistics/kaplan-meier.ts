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
