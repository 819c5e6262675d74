import { transitions } from '../../engine/transitions.js'
import { barsAt } from '../../engine/weekly.js'
import { zoneOf } from '../../fields/field.js'
import { Panel } from '../../fields/panel.js'
import { rsiZone } from '../../fields/technical/rsi-zone.js'
import { TOLERANCE } from '../../indicators/compare.js'
import { type Day, mondayOf } from '../../model/day.js'
import { DEFINITIONS } from '../../model/definitions.js'
import type { Severity } from '../../model/oversold.js'
import type { Transitions } from '../../model/record.js'
import { barsKnownBy, head, type Series } from '../../model/series.js'
import { TIMEFRAMES, type Timeframe } from '../../model/timeframe.js'
import type { Store, TickerEntry } from '../../store/store.js'
import { OVERSOLD_RULES } from './rules.js'
import { isOversold, type Streak, streaksOf } from './streaks.js'

/** A ticker at the bar that is looked at. */
export interface Standing {
  rsi: number
  /** The band in force. */
  zone: string
  /** Only where that is oversold, or deeply so: of a whole market it would fill the memory. */
  low: Low | null
}

/** What an oversold ticker is ordered and described by. */
export interface Low {
  zone: Severity
  /** Of the bars up to the one that is looked at, which is the last. */
  panel: Panel
  changes: Transitions
  streaks: readonly Streak[]
  rarity: Rank
}

/** `2 · less + equal` of a value among `size`; -1 where these are too few. */
export interface Rank {
  rank: number
  size: number
}

/**
 * Where a ticker stands on a date: at its last bar that is final by then, and not too old. null where it has no such bar
 * or no band on it. It is told from the bars, by the same rule that events are recorded with: every ticker's RSI is needed
 * anyway, and its bars are read faster than its events with all that followed them.
 */
export async function standingOf(
  store: Store,
  { ticker, assetClass }: TickerEntry,
  timeframe: Timeframe,
  date: Day,
): Promise<Standing | null> {
  const daily = await store.bars(ticker)
  if (daily === null) return null
  const whole = barsAt(timeframe, daily, assetClass)
  const series = head(whole, barsKnownBy(whole, date))
  return hasStopped(series, date) ? null : standingAtEnd(new Panel(series))
}

function hasStopped({ days, timeframe }: Series, date: Day): boolean {
  const last = days.at(-1)
  if (last === undefined) return true
  const end = timeframe === 'daily' ? last : mondayOf(last) + 6
  return date - end > OVERSOLD_RULES.maxAge
}

/** An RSI, once there is one, is there on every bar: the band of the last bar is the one in force. */
function standingAtEnd(panel: Panel): Standing | null {
  const rsi = panel.rsi.at(-1)!
  if (Number.isNaN(rsi)) return null
  const zone = zoneOfRsi(rsi)
  if (!isOversold(zone)) return { rsi, zone, low: null }
  const changes = transitions(rsiZone.classify(panel))
  const streaks = streaksOf(changes, rsiZone.bands, panel.rsi.length)
  return { rsi, zone, low: { zone, panel, changes, streaks, rarity: rankOfLast(panel) } }
}

export function zoneOfRsi(rsi: number): string {
  return rsiZone.bands[zoneOf(rsi, DEFINITIONS.rsi.cuts, 100)]!
}

/** The rolling rank of fields, of one bar alone. */
function rankOfLast({ rsi, series }: Panel): Rank {
  const { history, minHistory } = TIMEFRAMES[series.timeframe]
  const x = rsi.at(-1)!
  let size = 0
  let rank = 0
  for (const y of rsi.subarray(-history)) {
    if (Number.isNaN(y)) continue
    size++
    if (y < x - TOLERANCE) rank += 2
    else if (y <= x + TOLERANCE) rank++
  }
  return { rank: size < minHistory ? -1 : rank, size }
}
