import { SEVERITIES, type Severity } from '../../model/oversold.js'
import type { Transitions } from '../../model/record.js'

/** Bars in force oversold or deeply so, without leaving both. */
export interface Streak {
  from: number
  /** The bar on which it was left; where it lasts still, the number of bars. */
  to: number
}

/** Oldest first. */
export function streaksOf(changes: Transitions, vocabulary: readonly string[], bars: number): Streak[] {
  const streaks: Streak[] = []
  const see = (code: number, from: number, to: number): void => {
    if (!isOversold(vocabulary[code]!)) return
    const last = streaks.at(-1)
    if (last?.to === from) last.to = to
    else streaks.push({ from, to })
  }
  const { initialBar, initialBand } = changes
  see(initialBand, initialBar, changes.bars[0] ?? bars)
  for (let i = 0; i < changes.bars.length; i++) see(changes.bands[i]!, changes.bars[i]!, changes.bars[i + 1] ?? bars)
  return streaks
}

/** In bars. */
export function lengthOf({ from, to }: Streak): number {
  return to - from
}

export function isOversold(band: string): band is Severity {
  return (SEVERITIES as readonly string[]).includes(band)
}
