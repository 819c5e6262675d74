import type { Contest } from './best.js'
import { type Key, told, windowName } from './conditions.js'
import type { Sums } from './ground.js'
import type { Look, Scene } from './look.js'
import type { SweepQuery } from './query.js'
import type { Resamples } from './resamples.js'
import type { SweepCell } from './result.js'
import { testedOf } from './tested.js'

/** What is kept of a look. */
export interface Found
  extends Pick<Look, 'name' | 'events' | 'sums' | 'independent' | 'p' | 'leastP' | 'room' | 'reason'> {
  key: Key
  low: number | null
  high: number | null
  t: number | null
  sharpe: number | null
}

/** A tested cell enters the contest for the best, too. */
export function foundOf(look: Look, scene: Scene, resamples: Resamples, contest: Contest): Found {
  const { key, name, events, sums, independent, p, leastP, room, reason, cell } = look
  const kept = { key, name, events, sums, independent, p, leastP, room, reason }
  if (cell === null) return { ...kept, low: null, high: null, t: null, sharpe: null }
  const tested = testedOf({ ...look, cell }, scene, resamples)
  contest.enter(name, tested)
  const { low, high, t, sharpe } = tested
  return { ...kept, low, high, t, sharpe }
}

export function sweepCell(found: Found & { q: number | null }, query: SweepQuery): SweepCell {
  const { key, events, sums, independent, p, q, low, high, t, sharpe, reason } = found
  return {
    ticker: key.ticker,
    ...told(key.condition, query),
    window: windowName(key.horizon, query),
    horizon: key.horizon,
    events,
    n: sums.n,
    n_indep: independent,
    lost: events - sums.n,
    ...meansOf(sums),
    low,
    high,
    p,
    q,
    t,
    sharpe,
    grey: p === null,
    reason,
  }
}

function meansOf({ n, returns, base, hits, baseHits }: Sums) {
  if (n === 0) return { mean: null, base: null, diff: null, hit: null, base_hit: null }
  return { mean: returns / n, base: base / n, diff: returns / n - base / n, hit: hits / n, base_hit: baseHits / n }
}
