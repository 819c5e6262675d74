import { DEFINITIONS } from '../model/definitions.js'
import { type Entries, STABILITIES, type Stability, type Transitions } from '../model/record.js'

/** Labels each event with what was known at its entry: flips in the lookback, and how settled the band left behind was. */
export function entries({ initialBar, bars }: Transitions, lookback: number): Entries {
  const flips = new Uint8Array(bars.length)
  const stability = new Uint8Array(bars.length)
  let oldest = 0
  for (let i = 0; i < bars.length; i++) {
    const bar = bars[i]!
    while (bars[oldest]! <= bar - lookback) oldest++
    flips[i] = i - oldest + 1
    const lasted = bar - (i === 0 ? initialBar : bars[i - 1]!)
    stability[i] = STABILITIES.indexOf(stabilityOf(flips[i]!, lasted))
  }
  return { flips, stability }
}

/** How settled a band is, by the flips within the lookback and the bars that it has lasted. */
export function stabilityOf(flips: number, lasted: number): Stability {
  const { volatileFlips, holdingFrom, establishedFrom } = DEFINITIONS.stability
  if (flips >= volatileFlips) return 'volatile'
  if (lasted < holdingFrom) return 'fresh'
  return lasted < establishedFrom ? 'holding' : 'established'
}
