import type { AbnormalEvent } from './market-model.js'

/** When the bars of an event's windows were: days, or places in one calendar, ascending. */
export interface DatedEvent extends AbnormalEvent {
  estimationDays: Int32Array
  eventDays: Int32Array
}

/** Fewer days in common say nothing about a correlation; such pairs count as uncorrelated. */
const LEAST_DAYS = 10

/**
 * Average correlation of the events' cumulative abnormal returns over all pairs, for `kolariPynnonen`: of each pair, the
 * correlation of their estimation residuals on the days both have, times the share of event days both have
 * (√(h_i h_j) the whole). With one event date for all this is the average of Kolari & Pynnönen (2010); the share is what
 * Kolari, Pape & Pynnönen (2018) give for event windows that overlap in part. Events that share no day count 0.
 */
export function averageCorrelation(events: readonly DatedEvent[]): number {
  const placed = onOneCalendar(events.filter(event => event.eventDays.length > 0))
  placed.sort((a, b) => a.event[0]! - b.event[0]!)
  let sum = 0
  for (const [i, one] of placed.entries()) {
    const last = one.event.at(-1)!
    for (let j = i + 1; j < placed.length && placed[j]!.event[0]! <= last; j++) sum += correlation(one, placed[j]!)
  }
  const pairs = (events.length * (events.length - 1)) / 2
  return pairs === 0 ? 0 : sum / pairs
}

/** An event whose windows are places in the calendar that all events make, with running sums of its residuals. */
interface Placed {
  event: Int32Array
  places: Int32Array
  /** Whether the estimation window leaves out no place: then two of them are aligned by a subtraction. */
  whole: boolean
  residuals: Float64Array
  sums: Float64Array
  squares: Float64Array
}

function onOneCalendar(events: readonly DatedEvent[]): Placed[] {
  const days = new Set<number>()
  for (const { estimationDays, eventDays } of events) {
    for (const day of estimationDays) days.add(day)
    for (const day of eventDays) days.add(day)
  }
  const places = new Map([...days].sort((a, b) => a - b).map((day, place) => [day, place]))
  return events.map(({ estimationDays, eventDays, estimation }) => {
    const own = estimationDays.map(day => places.get(day)!)
    return {
      event: eventDays.map(day => places.get(day)!),
      places: own,
      whole: own.length > 0 && own.at(-1)! - own[0]! === own.length - 1,
      residuals: estimation,
      sums: running(estimation, value => value),
      squares: running(estimation, value => value * value),
    }
  })
}

/** Sums of all before each place, one more than there are values. */
function running(values: Float64Array, of: (value: number) => number): Float64Array {
  const sums = new Float64Array(values.length + 1)
  for (let i = 0; i < values.length; i++) sums[i + 1] = sums[i]! + of(values[i]!)
  return sums
}

function correlation(a: Placed, b: Placed): number {
  const shared = commonPlaces(a.event, b.event)
  if (shared === 0) return 0
  const r = a.whole && b.whole ? alignedCorrelation(a, b) : mergedCorrelation(a, b)
  return r * (shared / Math.sqrt(a.event.length * b.event.length))
}

function commonPlaces(a: Int32Array, b: Int32Array): number {
  let count = 0
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const apart = a[i]! - b[j]!
    if (apart === 0) count++
    if (apart <= 0) i++
    if (apart >= 0) j++
  }
  return count
}

/** A pool has millions of pairs: sums and squares of the days in common are differences of running sums. */
function alignedCorrelation(a: Placed, b: Placed): number {
  const first = Math.max(a.places[0]!, b.places[0]!)
  const n = Math.min(a.places.at(-1)!, b.places.at(-1)!) + 1 - first
  if (n < LEAST_DAYS) return 0
  const [fromA, fromB] = [first - a.places[0]!, first - b.places[0]!]
  let products = 0
  for (let k = 0; k < n; k++) products += a.residuals[fromA + k]! * b.residuals[fromB + k]!
  const between = (sums: Float64Array, from: number): number => sums[from + n]! - sums[from]!
  return pearson(n, products, [
    [between(a.sums, fromA), between(a.squares, fromA)],
    [between(b.sums, fromB), between(b.squares, fromB)],
  ])
}

/** The same where a ticker has no bar on some days. */
function mergedCorrelation(a: Placed, b: Placed): number {
  let [n, sumA, sumB, squaresA, squaresB, products] = [0, 0, 0, 0, 0, 0]
  for (let i = 0, j = 0; i < a.places.length && j < b.places.length; ) {
    const apart = a.places[i]! - b.places[j]!
    if (apart === 0) {
      const [x, y] = [a.residuals[i]!, b.residuals[j]!]
      n++
      sumA += x
      sumB += y
      squaresA += x * x
      squaresB += y * y
      products += x * y
    }
    if (apart <= 0) i++
    if (apart >= 0) j++
  }
  if (n < LEAST_DAYS) return 0
  return pearson(n, products, [
    [sumA, squaresA],
    [sumB, squaresB],
  ])
}

/** From sums and sums of squares: residuals lie about 0, so that the sums lose no digits that count. */
function pearson(n: number, products: number, [[sumA, squaresA], [sumB, squaresB]]: [Sums, Sums]): number {
  const spread = (squaresA - sumA ** 2 / n) * (squaresB - sumB ** 2 / n)
  return spread > 0 ? (products - (sumA * sumB) / n) / Math.sqrt(spread) : 0
}

type Sums = [sum: number, squares: number]
