import { countUpTo } from '../../ascending.js'
import { stabilityOf } from '../../engine/stability.js'
import { zoneOf } from '../../fields/field.js'
import type { Panel } from '../../fields/panel.js'
import { rsiZone } from '../../fields/technical/rsi-zone.js'
import { compare } from '../../indicators/compare.js'
import { zoneOfRank } from '../../indicators/rank.js'
import { slowStochastic } from '../../indicators/stochastic.js'
import {
  DISTANCES,
  type Distance,
  RARITIES,
  type Rarity,
  VOLUME_CONTEXTS,
  type VolumeContext,
} from '../../model/oversold.js'
import type { Stability } from '../../model/record.js'
import { TIMEFRAMES } from '../../model/timeframe.js'
import type { OversoldFigures } from '../../policy/present-oversold.js'
import { middleOf } from './middle.js'
import { OVERSOLD_RULES } from './rules.js'
import type { Low } from './standing.js'
import { lengthOf, type Streak } from './streaks.js'

/** What the bars of a match tell, each figure worked out when it is asked for. */
export function chartFigures(low: Low) {
  const { panel, streaks } = low
  return {
    condition_rarity: () => rarityOf(low),
    stochastic_zone: () => stochasticZone(panel),
    days_in_oversold: () => lengthOf(streaks.at(-1)!),
    oversold_streaks_count: () => recent(low).length,
    volume_context: () => volumeContext(panel.volumeRatio.at(-1)!),
    nearest_support_distance: () => distance(panel.series.close.at(-1)!, panel.support.level.at(-1)!),
    rsi_zone_stability: () => stability(low),
    rsi_zone_flips_recent: () => flips(low),
    historical_median_oversold_days: () => middleOf(endedLengths(low)),
    historical_max_oversold_days: () => longestEnded(low),
  } satisfies Partial<OversoldFigures>
}

function rarityOf({ rarity: { rank, size } }: Low): Rarity | null {
  return rank < 0 ? null : RARITIES[zoneOfRank(rank, size, OVERSOLD_RULES.rarityCuts)]!
}

function stochasticZone({ series: { high, low, close } }: Panel): string | null {
  const { cuts, ...rules } = OVERSOLD_RULES.stochastic
  const last = (column: Float64Array): Float64Array => column.subarray(1 - rules.length - rules.smoothing)
  const value = slowStochastic(last(high), last(low), last(close), rules).at(-1)!
  return Number.isNaN(value) ? null : rsiZone.bands[zoneOf(value, cuts, 100)]!
}

function volumeContext(ratio: number): VolumeContext | null {
  return Number.isNaN(ratio) ? null : VOLUME_CONTEXTS.toReversed()[zoneOf(ratio, OVERSOLD_RULES.volumeCuts)]!
}

/**
 * From the support level up to the close. A level that is broken by as little as one that is reached is still reached;
 * once it is broken by more, none is known below.
 */
function distance(close: number, level: number): Distance | null {
  const away = (close - level) / close
  const { distanceCuts } = OVERSOLD_RULES
  if (Number.isNaN(away) || compare(away, -distanceCuts[0], 1) < 0) return null
  return DISTANCES[distanceCuts.filter(cut => compare(away, cut, 1) > 0).length]!
}

/** Streaks that touch the bars which rolling percentiles look at. */
function recent({ panel, streaks }: Low): Streak[] {
  const { days, timeframe } = panel.series
  const first = days.length - TIMEFRAMES[timeframe].history
  return streaks.filter(({ to }) => to > first)
}

function endedLengths(low: Low): number[] {
  return recent(low).slice(0, -1).map(lengthOf)
}

function longestEnded(low: Low): number | null {
  const lengths = endedLengths(low)
  return lengths.length === 0 ? null : Math.max(...lengths)
}

/** Changes of the zone within the lookback. */
function flips({ panel, changes }: Low): number {
  const { days, timeframe } = panel.series
  return changes.bars.length - countUpTo(changes.bars, days.length - 1 - TIMEFRAMES[timeframe].flipsLookback)
}

/** The words of the stability at an entry, for the band that is in force and the bars it has lasted so far. */
function stability(low: Low): Stability {
  const { panel, changes } = low
  return stabilityOf(flips(low), panel.series.days.length - (changes.bars.at(-1) ?? changes.initialBar))
}
