/** How long something lasted, and what ended it: one of several causes (by number), or nothing yet (null: censored). */
export interface CausedSpell {
  length: number
  cause: number | null
}

/** After a length at which some ended: the share that lasts longer, and by cause the share that ended so by then. */
export interface IncidenceStep {
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
  const ascending = [...spells].sort((a, b) => a.length - b.length)
  const incidence: number[] = new Array(causes).fill(0)
  const steps: IncidenceStep[] = []
  let survival = 1
  for (let i = 0; i < ascending.length; ) {
    const { length } = ascending[i]!
    const atRisk = ascending.length - i
    const before = survival
    let ended = 0
    for (; i < ascending.length && ascending[i]!.length === length; i++) {
      const { cause } = ascending[i]!
      if (cause === null) continue
      incidence[cause]! += before / atRisk
      ended++
    }
    if (ended === 0) continue
    survival *= 1 - ended / atRisk
    steps.push({ length, survival, incidence: [...incidence] })
  }
  return steps
}

/** The last step up to a length; null before the first one. */
export function stepAt(steps: readonly IncidenceStep[], length: number): IncidenceStep | null {
  return steps.findLast(step => step.length <= length) ?? null
}
