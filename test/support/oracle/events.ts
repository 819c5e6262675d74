/** Sections 4 and 5: from the bands of bars to events with stability, flips, duration and aftermath. */
import { type Bar, barsAsOf, type Options, SETTINGS, type Timeframe, WINDOWS, weeklyBars } from './bars.js'
import { bands, FIELDS, type FieldName } from './fields.js'
import { indicators } from './indicators.js'
import { percentile, rank, zoneOfRank } from './tolerance.js'

export interface Event {
  date: string
  band: string
  prev_band: string
  stability_at_entry: 'fresh' | 'holding' | 'established' | 'volatile'
  flips_recent_at_entry: number
  flips_lookback: string
  /** Bars until the next event; null while the band is active. */
  duration: number | null
  /** Window → performance band; null while pending or without enough history. */
  aftermath: Record<string, string | null>
  /** Window → raw return; null until its last bar exists. */
  returns: Record<string, number | null>
  /** Window → percentile of the return; null where the aftermath is. */
  percentiles: Record<string, number | null>
}

const PERFORMANCE = [
  'sharp_decline',
  'moderate_decline',
  'slight_decline',
  'flat',
  'slight_gain',
  'moderate_gain',
  'sharp_gain',
] as const

/** Cuts the daily bars at the as-of date, makes weekly bars where asked, classifies, records. Oldest first. */
export function events(daily: Bar[], timeframe: Timeframe, field: FieldName, options: Options = {}): Event[] {
  const bars = barsOf(daily, timeframe, options)
  return recorded(bars, bands(bars, timeframe, field), timeframe)
}

/** The same for all nine fields, with the indicators computed once. */
export function eventsOfEveryField(
  daily: Bar[],
  timeframe: Timeframe,
  options: Options = {},
): Record<FieldName, Event[]> {
  const bars = barsOf(daily, timeframe, options)
  const known = indicators(bars, timeframe)
  const names = Object.keys(FIELDS) as FieldName[]
  const pairs = names.map(field => [field, recorded(bars, bands(bars, timeframe, field, known), timeframe)])
  return Object.fromEntries(pairs) as Record<FieldName, Event[]>
}

/** The events of one band a bar; bars and bands are of that timeframe and of equal length. */
export function recorded(bars: Bar[], classified: (string | null)[], timeframe: Timeframe): Event[] {
  const { flipBars, flipsLookback } = SETTINGS[timeframe]
  const found: { t: number; event: Event }[] = []
  let inForce: string | null = null
  let entry = 0
  classified.forEach((band, t) => {
    if (band === null || band === inForce) return
    if (inForce !== null) {
      const flips = found.filter(other => other.t >= t - (flipBars - 1)).length + 1
      const before = found.at(-1)
      if (before !== undefined) before.event.duration = t - before.t
      const event: Event = {
        date: bars[t]!.date,
        band,
        prev_band: inForce,
        stability_at_entry: stability(flips, t - entry),
        flips_recent_at_entry: flips,
        flips_lookback: flipsLookback,
        duration: null,
        ...whatFollowed(bars, t, timeframe),
      }
      found.push({ t, event })
    }
    inForce = band
    entry = t
  })
  return found.map(({ event }) => event)
}

function barsOf(daily: Bar[], timeframe: Timeframe, options: Options): Bar[] {
  return timeframe === 'weekly' ? weeklyBars(daily, options) : barsAsOf(daily, options.asOf)
}

function stability(flips: number, barsTheLeftBandLasted: number): Event['stability_at_entry'] {
  if (flips >= 4) return 'volatile'
  if (barsTheLeftBandLasted <= 2) return 'fresh'
  if (barsTheLeftBandLasted <= 9) return 'holding'
  return 'established'
}

function whatFollowed(
  bars: Bar[],
  t: number,
  timeframe: Timeframe,
): Pick<Event, 'aftermath' | 'returns' | 'percentiles'> {
  const aftermath: Event['aftermath'] = {}
  const returns: Event['returns'] = {}
  const percentiles: Event['percentiles'] = {}
  for (const [window, k] of WINDOWS[timeframe]) {
    aftermath[window] = null
    percentiles[window] = null
    returns[window] = null
    if (t + k > bars.length - 1) continue
    const r = returnOver(bars, t, k)
    returns[window] = r
    const ended: number[] = []
    for (let s = 0; s + k <= t; s += 1) ended.push(returnOver(bars, s, k))
    if (ended.length < SETTINGS[timeframe].minRef) continue
    const of = rank(r, ended)
    percentiles[window] = percentile(of)
    aftermath[window] = zoneOfRank(of, [5, 20, 40, 60, 80, 95], PERFORMANCE)
  }
  return { aftermath, returns, percentiles }
}

function returnOver(bars: Bar[], s: number, k: number): number {
  return bars[s + k]!.close / bars[s]!.close - 1
}
