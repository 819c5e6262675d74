import { TIMEFRAMES, type Timeframe } from '../model/timeframe.js'
import { type CausedSpell, cumulativeIncidence, stepAt } from '../statistics/incidence.js'
import type { Stay } from './dwell.js'

/** Where stays in one band have gone by so many bars: shares of all stays, which with `staying` add up to 1. */
export interface Leaving {
  band: string
  bars: number
  /** Share that lasts longer (Kaplan-Meier). */
  staying: number | null
  /** By the band that followed: cumulative incidence (Aalen-Johansen); null for the band itself. */
  to: Record<string, number | null>
  /** Ended, but what followed lies beyond the dates asked for. */
  unknown: number | null
  /** Why the shares are null; null when they are not. */
  reason: string | null
}

/**
 * Cumulative incidence by next band at each window of the timeframe. Stays that are active count as ones that last
 * longer than their bars so far. @param stays all of one band
 */
export function leaving(
  band: string,
  bands: readonly string[],
  stays: readonly Stay[],
  timeframe: Timeframe,
): Leaving[] {
  const causes = bands.length + 1
  const spells = stays.flatMap(({ bars, ended, next }): CausedSpell[] => {
    if (bars === null) return []
    if (!ended) return [{ length: bars, cause: null }]
    return [{ length: bars, cause: next === null ? bands.length : bands.indexOf(next) }]
  })
  const steps = cumulativeIncidence(spells, causes)
  const longest = spells.reduce((most, { length }) => Math.max(most, length), 0)
  return TIMEFRAMES[timeframe].windows.map(bars => {
    const lack = lackOf(stays.length, spells.length, bars > longest && steps.at(-1)?.survival !== 0)
    const step = stepAt(steps, bars)
    const share = (cause: number): number | null => (lack === null ? (step?.incidence[cause] ?? 0) : null)
    return {
      ...{ band, bars, staying: lack === null ? (step?.survival ?? 1) : null },
      to: Object.fromEntries(bands.map((to, i) => [to, to === band ? null : share(i)])),
      ...{ unknown: share(bands.length), reason: lack },
    }
  })
}

function lackOf(stays: number, known: number, beyond: boolean): string | null {
  if (stays === 0) return 'never entered in range'
  if (known === 0) return 'how long its stays have lasted is not known'
  return beyond ? 'no stay was seen for so long' : null
}
