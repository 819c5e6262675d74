import { countUpTo, type Day, formatDay } from '../../core/model/day.js'
import { type BandPeriods, emptyPresent, emptyTransitions, type TransitionColumns } from '../../core/model/history.js'
import { type FieldColumns, UNDEFINED } from '../../core/model/series.js'
import type { BandPeriodsQuery } from '../../core/source.js'
import { afterOf, entitle, planOf } from '../../core/tiers.js'
import type { RecordedSeries } from '../store/store.js'
import type { Cache } from './cache.js'
import { bandEnteredBy, type View } from './view.js'

/** The query for each ticker. */
interface PeriodQuery extends Pick<BandPeriodsQuery, 'fields' | 'timeframe' | 'after' | 'before'> {
  bands: BandPeriods['bands']
  today: Day
  /** The tier's range: events lie after this day. */
  rangeStart: Day
  range: string
  /** Whether the tier shows the stability of the band left. */
  shows: boolean
  /** null: no context */
  context: View | null
}

/** Stays of many tickers, read and cut as views of them are, without one. Throws TierRestricted, NotFound, Busy. */
export async function* bandPeriodsIn(cache: Cache, query: BandPeriodsQuery): AsyncGenerator<BandPeriods> {
  const { tickers, fields, timeframe, context: other, lag } = query
  const [first] = fields
  if (tickers.length === 0 || first === undefined) return
  const entitled = (field: string): void => entitle({ ...query, field }, cache.tier, cache.fieldSet)
  // Refused before anything is read; every other field in its turn.
  entitled(first)
  const plan = planOf(cache.tier)
  let periods: PeriodQuery | null = null
  for await (const { series, bars, today } of cache.each({ tickers, timeframe, fields, outcomes: false, lag })) {
    for (const field of fields) {
      if (periods === null) entitled(field)
      if (series.unsettled.length > 0) await cache.checkSettled(series, field)
    }
    periods ??= {
      bands: fields.map(field => cache.field(field).bands),
      ...query,
      today,
      rangeStart: plan.rangeStart(today),
      range: plan.range,
      shows: plan.aftermath,
      context: other === undefined ? null : await cache.view(other.ticker, timeframe, other.field),
    }
    yield bandPeriodsOn(series, bars, periods)
  }
}

/** @param bars of the series that were final on the day */
function bandPeriodsOn(
  { entry, calendar, fields: columns }: RecordedSeries,
  bars: number,
  periods: PeriodQuery,
): BandPeriods {
  const { fields, timeframe, today, rangeStart, range, after, before, bands } = periods
  const { days, known } = calendar
  const places = fields.map(field => columns.names.indexOf(field))
  // Bars that may have reported transitions: from the first up to, but not including, the last.
  const from = countUpTo(days, Math.max(rangeStart, after ?? rangeStart))
  const to = before === undefined ? bars : Math.min(bars, countUpTo(days, before - 1))
  const rows = cut(columns, places, { from, to, bars })
  const last = bars - 1
  const present = presentOn(columns, places, rows.ended, days.subarray(0, bars), rangeStart)
  return {
    ticker: entry.ticker,
    timeframe,
    query_range: range,
    after: afterOf(rangeStart),
    as_of: formatDay(today),
    fields,
    bands,
    present,
    completed: f => completedIn(columns, rows, f, present.band[f]!),
    transitions: () => transitionsOn(columns, places, rows, calendar, periods),
    last: last < 0 ? null : { day: days[last]!, known: known[last]! },
  }
}

/**
 * Rows of the shared columns by field: those of the view end before `ended`, the reported ones lie between the others.
 */
interface Cut {
  from: Int32Array
  to: Int32Array
  ended: Int32Array
}

function cut(columns: FieldColumns, places: readonly number[], at: { from: number; to: number; bars: number }): Cut {
  const { first, bars } = columns
  const rows = (): Int32Array => new Int32Array(places.length)
  const found = { from: rows(), to: rows(), ended: rows() }
  for (let f = 0; f < places.length; f++) {
    const place = places[f]!
    if (place === -1) continue
    const begin = first[place]!
    const end = first[place + 1]!
    const ended = countUpTo(bars, at.bars - 1, begin, end)
    found.ended[f] = ended
    found.from[f] = countUpTo(bars, at.from - 1, begin, ended)
    found.to[f] = Math.max(found.from[f]!, countUpTo(bars, at.to - 1, begin, ended))
  }
  return found
}

/** The band period in force on the last of some bars. @param days of those bars */
function presentOn(
  columns: FieldColumns,
  places: readonly number[],
  ended: Int32Array,
  days: Int32Array,
  rangeStart: Day,
): BandPeriods['present'] {
  const present = emptyPresent(places.length)
  const last = days.length - 1
  for (let f = 0; f < places.length; f++) {
    const place = places[f]!
    if (place === -1) continue
    const begun = columns.initialBar[place]!
    if (begun < 0 || begun > last) continue
    const row = ended[f]! - 1
    const isInitial = row < columns.first[place]!
    const band = isInitial ? columns.initialBand[place]! : columns.bands[row]!
    const since = isInitial ? begun : columns.bars[row]!
    present.band[f] = band
    present.initial[f] = Number(isInitial)
    present.onLast[f] = isGap(columns.gaps[place]!, last) ? UNDEFINED : band
    // The day of entry is reported only within the range.
    if (days[since]! <= rangeStart) continue
    if (!isInitial)
      present.left[f] = row === columns.first[place] ? columns.initialBand[place]! : columns.bands[row - 1]!
    present.since[f] = days[since]!
    present.bars[f] = last - since
  }
  return present
}

function isGap(gaps: Int32Array, bar: number): boolean {
  for (let g = 0; g < gaps.length; g += 2) if (gaps[g]! <= bar && bar < gaps[g + 1]!) return true
  return false
}

/** A buffer for the lengths, because a whole market has ten thousands of lists. */
let lengths = new Int32Array(256)

/** The lengths in bars of the completed periods in a band. @param f index of the field */
function completedIn({ bars, bands }: FieldColumns, { from, to, ended }: Cut, f: number, band: number): Int32Array {
  if (to[f]! - from[f]! > lengths.length) lengths = new Int32Array(2 * (to[f]! - from[f]!))
  const upTo = Math.min(to[f]!, ended[f]! - 1)
  let n = 0
  for (let row = from[f]!; row < upTo; row++) if (bands[row] === band) lengths[n++] = bars[row + 1]! - bars[row]!
  return lengths.slice(0, n)
}

function transitionsOn(
  columns: FieldColumns,
  places: readonly number[],
  { from, to, ended }: Cut,
  calendar: RecordedSeries['calendar'],
  { shows, context }: PeriodQuery,
): TransitionColumns {
  let rows = 0
  for (let f = 0; f < places.length; f++) rows += to[f]! - from[f]!
  const found = emptyTransitions(places.length, rows)
  const contexts: (string | null)[] = []
  const { first, bars, bands, stability, flips, initialBand } = columns
  const { days, known } = calendar
  let at = 0
  for (let f = 0; f < places.length; f++) {
    const place = places[f]!
    const begin = first[place]
    const end = ended[f]!
    for (let row = from[f]!; row < to[f]!; row++, at++) {
      const bar = bars[row]!
      found.days[at] = days[bar]!
      found.known[at] = known[bar]!
      found.entered[at] = bands[row]!
      found.left[at] = row === begin ? initialBand[place]! : bands[row - 1]!
      found.stability[at] = shows ? stability[row]! : UNDEFINED
      found.flips[at] = shows ? flips[row]! : UNDEFINED
      found.lasted[at] = row + 1 < end ? bars[row + 1]! - bar : -1
      if (context !== null) contexts.push(bandEnteredBy(context, calendar, bar))
    }
    found.first[f + 1] = at
  }
  return context === null ? found : { ...found, contexts }
}
