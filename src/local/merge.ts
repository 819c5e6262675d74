import type { Series } from '../model/series.js'

const COLUMNS = ['open', 'high', 'low', 'close', 'volume'] as const

export interface Merged {
  series: Series
  /** New dates, dates whose values changed, dates that were there alike. */
  added: number
  replaced: number
  unchanged: number
  /** The one factor by which the closes of all common dates differ, when they do and other bars keep the old scale. */
  rescaled: number | null
}

/** Puts incoming daily bars into those that are there; on a common date the incoming bar wins. */
export function merge(present: Series, incoming: Series): Merged {
  const rows: Place[] = []
  const paid: number[] = []
  const counts = { added: 0, replaced: 0, unchanged: 0 }
  const factors: number[] = []
  let i = 0
  let j = 0
  while (i < present.days.length || j < incoming.days.length) {
    const here = present.days[i] ?? Number.POSITIVE_INFINITY
    const there = incoming.days[j] ?? Number.POSITIVE_INFINITY
    if (here < there) {
      paid.push(paidAt(present, i))
      rows.push([present, i++])
    } else {
      const same = there === here && sameBar(present, i, incoming, j)
      rows.push(same ? [present, i] : [incoming, j])
      // What was paid on a day does not change, whatever its adjusted close has become.
      const told = paidAt(incoming, j)
      paid.push(Number.isNaN(told) && there === here ? paidAt(present, i) : told)
      counts[there < here ? 'added' : same ? 'unchanged' : 'replaced']++
      if (there === here) factors.push(incoming.close[j]! / present.close[i++]!)
      j++
    }
  }
  const others = rows.length - incoming.days.length
  return { series: gathered(rows, paid), ...counts, rescaled: others > 0 ? commonFactor(factors) : null }
}

/** Whether two bars have the same prices and volume; unknown volumes are alike. */
function sameBar(a: Series, i: number, b: Series, j: number): boolean {
  if (!COLUMNS.every(column => Object.is(a[column][i]!, b[column][j]!))) return false
  // A file that tells only adjusted closes says nothing about the others.
  return b.unadjustedClose === undefined || paidAt(a, i) === b.unadjustedClose[j]
}

/** A dividend or split since the last import moves every adjusted price by one factor. */
function commonFactor(factors: readonly number[]): number | null {
  const [first = 1] = factors
  const common = factors.length >= 2 && factors.every(factor => Math.abs(factor / first - 1) < 1e-5)
  return common && Math.abs(first - 1) > 1e-5 ? first : null
}

/** A bar by its series and its place there. */
type Place = readonly [series: Series, t: number]

/** The close before adjustment, NaN where the series does not tell it. */
function paidAt({ unadjustedClose }: Series, t: number): number {
  return unadjustedClose?.[t] ?? Number.NaN
}

function gathered(rows: readonly Place[], paid: readonly number[]): Series {
  const days = Int32Array.from(rows, ([series, t]) => series.days[t]!)
  const column = (name: (typeof COLUMNS)[number]): Float64Array =>
    Float64Array.from(rows, ([series, t]) => series[name][t]!)
  const series: Series = {
    timeframe: 'daily',
    days,
    known: days,
    open: column('open'),
    high: column('high'),
    low: column('low'),
    close: column('close'),
    volume: column('volume'),
  }
  // Where one series tells it and the other does not, it is unknown on some bars; an adjusted close is not it.
  if (paid.some(close => !Number.isNaN(close))) series.unadjustedClose = Float64Array.from(paid)
  return series
}

/** The first day on which two series have different bars; null when they agree. */
export function firstContradiction(a: Series, b: Series): number | null {
  let i = 0
  for (let j = 0; j < b.days.length; j++) {
    while (i < a.days.length && a.days[i]! < b.days[j]!) i++
    if (a.days[i] === b.days[j] && !sameBar(a, i, b, j)) return b.days[j]!
  }
  return null
}

/** The same series without bars. */
export function emptied(series: Series): Series {
  const none = new Float64Array()
  const days = new Int32Array()
  return {
    timeframe: series.timeframe,
    days,
    known: days,
    open: none,
    high: none,
    low: none,
    close: none,
    volume: none,
  }
}
