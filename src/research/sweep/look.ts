import { jointShift } from '../../statistics/shift.js'
import { whole } from '../amounts.js'
import { type Cell, cellOf } from '../cell/cell.js'
import { tooFew } from '../study/enough.js'
import type { Book } from './books.js'
import { conditionsOf, type Key, nameOf } from './conditions.js'
import {
  type Ground,
  groundOf,
  independentWindows,
  type Mask,
  type Pool,
  poolOf,
  type Sums,
  signalsOf,
  sumsOf,
  type Timeline,
} from './ground.js'
import type { Pace } from './pace.js'
import type { SweepQuery } from './query.js'
import { namedStream } from './stream.js'

/** A cell that was looked at, and its p-value. */
export interface Look {
  key: Key
  name: string
  events: number
  sums: Sums
  independent: number
  p: number | null
  /** The least that it could have been, with so many shifts. */
  leastP: number | null
  /** How many windows that share no bar its days have room for; null where it was not tested. */
  room: number | null
  /** Why it has no p. */
  reason: string | null
  /** null where it was not tested. */
  cell: Cell | null
  grounds: readonly Ground[]
}

/** The data that is looked at, and the part of it that counts. */
export interface Scene {
  books: readonly Book[]
  timeline: Timeline
  query: SweepQuery
  /** The bars that count, by horizon of the query. */
  masks: readonly Mask[]
  /** What the run is called; it is part of the seed. */
  name: string
}

/** How many cells a sweep has. */
export function cellCount(query: SweepQuery): number {
  const conditions = query.fields.reduce((sum, _, field) => sum + conditionsOf(query, field).length, 0)
  return conditions * query.horizons.length * (query.by === 'pool' ? 1 : query.tickers.length)
}

/**
 * Looks at every cell. Each is handed over at once, because what is kept of it is little and what it stands on is not;
 * ticker by ticker within a field and window, because these have the same days.
 */
export async function lookAtAll(scene: Scene, pace: Pace, take: (look: Look) => void): Promise<void> {
  const { books, query } = scene
  const total = cellCount(query)
  let done = 0
  for (const field of query.fields.keys()) {
    const conditions = conditionsOf(query, field).map(condition => {
      return { condition, signals: signalsOf(books, condition) }
    })
    for (const [which, horizon] of query.horizons.entries()) {
      const grounds = books.map(book => groundOf(book, field, which, scene.masks[which]!, scene.timeline))
      for (const group of query.by === 'pool' ? [grounds] : grounds.map(ground => [ground])) {
        const ticker = query.by === 'pool' ? null : group[0]!.ticker
        for (const { condition, signals } of conditions) {
          take(lookAt({ condition, horizon, ticker }, poolOf(group, signals), scene))
          done++
          await pace.turn(() => `${scene.name}, cell ${whole(done)} of ${whole(total)}`)
        }
      }
    }
  }
}

function lookAt(key: Key, { grounds, lost }: Pool, { query, name: run }: Scene): Look {
  const name = nameOf(key, query)
  const sums = sumsOf(grounds)
  const independent = independentWindows(grounds, key.horizon)
  const look = {
    key,
    name,
    events: sums.n + lost,
    sums,
    independent,
    grounds,
    p: null,
    leastP: null,
    room: null,
    cell: null,
  }
  const few = tooFew(sums.n, independent, query.minEvents)
  if (few !== null) return { ...look, reason: few }
  const cell = cellOf(grounds, key.horizon)
  const random = namedStream(query.seed, `${run} shift ${name}`)
  const test = jointShift(cell.members, cell.calendar.length, key.horizon, { reps: query.reps, random })
  if ('reason' in test) return { ...look, reason: test.reason }
  return {
    ...look,
    p: test.p,
    leastP: 1 / (1 + test.shifts),
    room: cell.calendar.length / key.horizon,
    reason: null,
    cell,
  }
}
