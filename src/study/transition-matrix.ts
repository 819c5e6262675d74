import type { HistoricEvent } from '../model/event.js'
import type { Stay } from './dwell.js'

export interface TransitionRow {
  from: string
  /** Transitions out of the band; bar by bar: bars in the band of which the next one is known. */
  n: number
  /** By the band that follows; null for the band itself where it cannot follow itself. */
  counts: Record<string, number | null>
  /** counts / n */
  shares: Record<string, number | null>
  /** Why shares are null beyond the diagonal; null when they are not. */
  reason: string | null
}

/** Which band follows which, event by event: a row for every band. */
export function transitionMatrix(bands: readonly string[], events: readonly HistoricEvent[]): TransitionRow[] {
  const counted = counter(bands)
  for (const { band, prev_band } of events) counted.add(prev_band, band, 1)
  return bands.map(from => row(from, bands, to => (to === from ? null : counted.of(from, to)), 'never left in range'))
}

/**
 * Which band is in force on the bar after one in a band, itself included: a stay of L bars is followed by itself L - 1
 * times and left once, an active one has been followed by itself as often as it has bars so far. A stay counts where its
 * beginning is known; how it was left where that lies in range.
 */
export function perBarMatrix(bands: readonly string[], stays: readonly Stay[]): TransitionRow[] {
  const counted = counter(bands)
  for (const { band, ended, bars, next } of stays) {
    if (bars === null) continue
    counted.add(band, band, ended ? bars - 1 : bars)
    if (next !== null) counted.add(band, next, 1)
  }
  return bands.map(from =>
    row(from, bands, to => counted.of(from, to), 'no bar of a stay in it has a next one in range'),
  )
}

function row(
  from: string,
  bands: readonly string[],
  count: (to: string) => number | null,
  lack: string,
): TransitionRow {
  const counts = bands.map(to => [to, count(to)] as const)
  const n = counts.reduce((sum, [, value]) => sum + (value ?? 0), 0)
  return {
    from,
    n,
    counts: Object.fromEntries(counts),
    shares: Object.fromEntries(counts.map(([to, value]) => [to, value === null || n === 0 ? null : value / n])),
    reason: n === 0 ? lack : null,
  }
}

interface Counter {
  add(from: string, to: string, times: number): void
  of(from: string, to: string): number
}

function counter(bands: readonly string[]): Counter {
  const places = new Map(bands.map((band, i) => [band, i]))
  const counts = new Int32Array(bands.length * bands.length)
  const place = (from: string, to: string): number => places.get(from)! * bands.length + places.get(to)!
  return {
    add: (from, to, times) => {
      counts[place(from, to)]! += times
    },
    of: (from, to) => counts[place(from, to)]!,
  }
}
