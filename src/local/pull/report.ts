import { isDeepStrictEqual } from 'node:util'
import type { NotFound, TierRestricted } from '../../errors.js'
import type { BandEvent } from '../../model/event.js'
import type { PulledSeries, SeriesKey } from '../../model/pulled.js'
import { keyOf } from '../pulled/words.js'
import type { Anew } from './pages.js'
import type { Price } from './price.js'
import type { CreditsLeft } from './source.js'

/**
 * `pulled`: nothing of it was there. `updated`: what could have changed was told. `unchanged`: nothing had. `done`: it was
 * pulled earlier in a run that this one goes on with. `unfinished`: pages are missing; `refused`: the server does not give
 * it.
 */
export type Outcome = 'pulled' | 'updated' | 'unchanged' | 'done' | 'unfinished' | 'refused'

/** What became of one series. */
export interface SeriesReport extends SeriesKey {
  outcome: Outcome
  /** Requests that were answered for it, a credit each. */
  credits: number
  /** Kept now; of these, how many were not there before, and how many are other than they were. */
  events: number
  added: number
  changed: number
  query_range: string | null
  pulled_at: string | null
  as_of: string | null
  /** Why it was asked for anew. */
  note: string | null
  refusal: NotFound | TierRestricted | null
}

/** What became of a pull; what is there stays there, and the same pull goes on from it. */
export interface PullReport {
  url: string
  credits: number
  left: CreditsLeft | null
  /** What it would still cost. */
  price: Price
  series: SeriesReport[]
  /** `credits`: as many were spent as were allowed. `error`: see there. null: it came to its end. */
  stopped: 'credits' | 'error' | null
  error: unknown
}

/** A series as it lies in the store after a run. */
export function reportOf(
  key: SeriesKey,
  outcome: Outcome,
  kept: PulledSeries | null,
  { credits, added, changed, note, refusal }: Pick<SeriesReport, 'credits' | 'added' | 'changed' | 'note' | 'refusal'>,
): SeriesReport {
  return {
    ...keyOf(key),
    outcome,
    credits,
    events: kept?.events.length ?? 0,
    added,
    changed,
    query_range: kept?.query_range ?? null,
    pulled_at: kept?.pulled_at ?? null,
    as_of: kept?.as_of ?? null,
    note,
    refusal,
  }
}

/** How many events were not there before, by their dates, and how many are other than they were. */
export function differences(
  before: readonly BandEvent[],
  after: readonly BandEvent[],
): Pick<SeriesReport, 'added' | 'changed'> {
  const known = new Map(before.map(event => [event.date, event]))
  const again = after.filter(({ date }) => known.has(date))
  const changed = again.filter(event => !isDeepStrictEqual(event, known.get(event.date)))
  return { added: after.length - again.length, changed: changed.length }
}

/** Why a series was told whole again, for whoever reads the report. */
export const NOTES: Readonly<Record<Anew, (range: string) => string>> = {
  past: () => 'its past is another one on the server now; all of it is asked for again',
  range: range => `its key has another range now, ${range}; all of it is asked for again`,
  gap: range =>
    `the range of the key, ${range}, begins after all that was kept, which goes: nobody tells what lies between`,
}
