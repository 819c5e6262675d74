import { countUpTo, type Day, formatDay } from '../../core/model/day.js'
import {
  type BandPeriods,
  emptyPresent,
  emptyTransitions,
  NOT_ENDED,
  type TransitionColumns,
} from '../../core/model/history.js'
import { type FieldColumns, UNDEFINED } from '../../core/model/series.js'
import type { BandPeriodsQuery } from '../../core/source.js'
import { entitle, planOf, rangeStartDate } from '../../core/tiers.js'
import type { RecordedSeries } from '../store/store.js'
import type { Cache } from './cache.js'
import { bandEnteredBy, type View } from './view.js'

interface TickerQuery extends Pick<BandPeriodsQuery, 'fields' | 'timeframe' | 'after' | 'before'> {
  bands: BandPeriods['bands']
  today: Day
  /** The tier's range: events lie after this day. */
  rangeStart: Day
  range: string
  /** Whether the tier shows the stability of the band left. */
  showsStability: boolean
  /** null: no context */
  context: View | null
}

/**
 * The band periods of many tickers, as of the day, one ticker after the other. Conditions look at the tickers they name
 * `lag` bars earlier. Throws TierRestricted, NotFound, and Busy for a field that an import still has to derive.
 */
export async function* readBandPeriods(cache: Cache, query: BandPeriodsQuery): AsyncGenerator<BandPeriods> {
  const { tickers, fields, timeframe, context: other, lag } = query
  const [first] = fields
  if (tickers.length === 0 || first === undefined) return
  const entitleField = (field: string): void => entitle({ ...query, field }, cache.tier, cache.fieldSet)
  // Only the first field is refused before the first ticker is read, the others after it: as in one query per field.
  entitleField(first)
  const plan = planOf(cache.tier)
  let tickerQuery: TickerQuery | null = null
  for await (const { series, bars, today } of cache.eachSeries({ tickers, timeframe, fields, outcomes: false, lag })) {
    for (const field of fields) {
      if (tickerQuery === null) entitleField(field)
      if (series.unsettled.length > 0) await cache.refuseUnsettled(series, field)
    }
    tickerQuery ??= {
      bands: fields.map(field => cache.field(field).bands),
      ...query,
      today,
      rangeStart: plan.rangeStart(today),
      range: plan.range,
      showsStability: plan.aftermath,
      context: other === undefined ? null : await cache.view(other.ticker, timeframe, other.field),
    }
    yield bandPeriodsOfTicker(series, bars, tickerQuery)
  }
}

/**
 * The periods of one ticker in the bands of some fields: the present one, and the lengths of the completed ones in the
 * same band. It also has the transitions in range. @param bars the number of its bars that were final on the day
 */
function bandPeriodsOfTicker(
  { entry, calendar, fields: columns }: RecordedSeries,
  bars: number,
  query: TickerQuery,
): BandPeriods {
  const { fields, timeframe, today, rangeStart, range, after, before, bands } = query
  const { days, known } = calendar
  const fieldPositions = fields.map(field => columns.names.indexOf(field))
  // Transitions on the bars from `from` up to `to` are reported.
  const from = countUpTo(days, Math.max(rangeStart, after ?? rangeStart))
  const to = before === undefined ? bars : Math.min(bars, countUpTo(days, before - 1))
  const rows = rowRanges(columns, fieldPositions, { from, to, finalBars: bars })
  const lastBar = bars - 1
  const present = presentBands(columns, fieldPositions, rows.eventsEnd, days.subarray(0, bars), rangeStart)
  return {
    ticker: entry.ticker,
    timeframe,
    query_range: range,
    after: rangeStartDate(rangeStart),
    as_of: formatDay(today),
    fields,
    bands,
    present,
    completed: fieldIndex => completedLengths(columns, rows, fieldIndex, present.band[fieldIndex]!),
    transitions: () => transitionColumns(columns, fieldPositions, rows, calendar, query),
    last: lastBar < 0 ? null : { day: days[lastBar]!, known: known[lastBar]! },
  }
}

/**
 * Rows of each field in the columns that all fields share. Those from `from` up to `to` are reported. All rows up to
 * the as-of day end with `eventsEnd`. Ends are not included.
 */
interface RowRanges {
  from: Int32Array
  to: Int32Array
  eventsEnd: Int32Array
}

/**
 * The rows of each field. They are sorted by bar, so each limit becomes the first row whose bar is not below it.
 * @param fieldPositions the index of each field in the columns; -1: no data
 * @param limits events on the bars `from` up to `to` are reported; `finalBars` is the number of bars final on the day
 */
function rowRanges(
  columns: FieldColumns,
  fieldPositions: readonly number[],
  limits: { from: number; to: number; finalBars: number },
): RowRanges {
  const { first, bars: barOfRow } = columns
  const firstRowFrom = (bar: number, begin: number, end: number): number => countUpTo(barOfRow, bar - 1, begin, end)
  const rowOfEachField = (): Int32Array => new Int32Array(fieldPositions.length)
  const ranges = { from: rowOfEachField(), to: rowOfEachField(), eventsEnd: rowOfEachField() }
  for (let fieldIndex = 0; fieldIndex < fieldPositions.length; fieldIndex++) {
    const position = fieldPositions[fieldIndex]!
    if (position === -1) continue
    const begin = first[position]!
    const end = first[position + 1]!
    const eventsEnd = firstRowFrom(limits.finalBars, begin, end)
    ranges.eventsEnd[fieldIndex] = eventsEnd
    ranges.from[fieldIndex] = firstRowFrom(limits.from, begin, eventsEnd)
    ranges.to[fieldIndex] = Math.max(ranges.from[fieldIndex]!, firstRowFrom(limits.to, begin, eventsEnd))
  }
  return ranges
}

/**
 * The period in force on the last bar, for each field.
 * @param eventsEnd for each field the row after its last event
 * @param days of the bars that were final on the day
 * @param rangeStart entries up to this day are left out
 */
function presentBands(
  columns: FieldColumns,
  fieldPositions: readonly number[],
  eventsEnd: Int32Array,
  days: Int32Array,
  rangeStart: Day,
): BandPeriods['present'] {
  const present = emptyPresent(fieldPositions.length)
  const last = days.length - 1
  for (let fieldIndex = 0; fieldIndex < fieldPositions.length; fieldIndex++) {
    const position = fieldPositions[fieldIndex]!
    if (position === -1) continue
    const initialBar = columns.initialBar[position]!
    if (initialBar < 0 || initialBar > last) continue
    const row = eventsEnd[fieldIndex]! - 1
    const isInitial = row < columns.first[position]!
    const band = isInitial ? columns.initialBand[position]! : columns.bands[row]!
    const since = isInitial ? initialBar : columns.bars[row]!
    present.band[fieldIndex] = band
    present.initial[fieldIndex] = Number(isInitial)
    present.onLast[fieldIndex] = isInGap(columns.gaps[position]!, last) ? UNDEFINED : band
    // The day of entry is reported only within the range.
    if (days[since]! <= rangeStart) continue
    if (!isInitial)
      present.left[fieldIndex] =
        row === columns.first[position] ? columns.initialBand[position]! : columns.bands[row - 1]!
    present.since[fieldIndex] = days[since]!
    present.bars[fieldIndex] = last - since
  }
  return present
}

/** Whether a bar is in one of the gaps: runs without a band, each by its first bar and the bar after its last. */
function isInGap(gaps: Int32Array, bar: number): boolean {
  for (let g = 0; g < gaps.length; g += 2) if (gaps[g]! <= bar && bar < gaps[g + 1]!) return true
  return false
}

/** The memory of every list of lengths, one at a time, because a whole market has tens of thousands of them. */
let lengthBuffer = new Int32Array(256)

/**
 * The lengths in bars of the completed periods of a field in a band, oldest first; of those that began in range. Valid
 * until the next call.
 */
function completedLengths(
  { bars, bands }: FieldColumns,
  { from, to, eventsEnd }: RowRanges,
  fieldIndex: number,
  band: number,
): Int32Array {
  const first = from[fieldIndex]!
  // The period that the last event began is not completed.
  const end = Math.min(to[fieldIndex]!, eventsEnd[fieldIndex]! - 1)
  if (end - first > lengthBuffer.length) lengthBuffer = new Int32Array(2 * (end - first))
  let count = 0
  for (let row = first; row < end; row++) if (bands[row] === band) lengthBuffer[count++] = bars[row + 1]! - bars[row]!
  return lengthBuffer.subarray(0, count)
}

/** The reported transitions of all fields as columns, with the bands of the context. */
function transitionColumns(
  columns: FieldColumns,
  fieldPositions: readonly number[],
  { from, to, eventsEnd }: RowRanges,
  calendar: RecordedSeries['calendar'],
  { showsStability, context }: TickerQuery,
): TransitionColumns {
  let rows = 0
  for (let fieldIndex = 0; fieldIndex < fieldPositions.length; fieldIndex++) rows += to[fieldIndex]! - from[fieldIndex]!
  const transitions = emptyTransitions(fieldPositions.length, rows)
  const contexts: (string | null)[] = []
  const { first, bars, bands, stability, flips, initialBand } = columns
  const { days, known } = calendar
  let nextRow = 0
  for (let fieldIndex = 0; fieldIndex < fieldPositions.length; fieldIndex++) {
    const position = fieldPositions[fieldIndex]!
    const begin = first[position]
    const end = eventsEnd[fieldIndex]!
    for (let row = from[fieldIndex]!; row < to[fieldIndex]!; row++, nextRow++) {
      const bar = bars[row]!
      transitions.days[nextRow] = days[bar]!
      transitions.known[nextRow] = known[bar]!
      transitions.entered[nextRow] = bands[row]!
      transitions.left[nextRow] = row === begin ? initialBand[position]! : bands[row - 1]!
      transitions.stability[nextRow] = showsStability ? stability[row]! : UNDEFINED
      transitions.flips[nextRow] = showsStability ? flips[row]! : UNDEFINED
      transitions.lasted[nextRow] = row + 1 < end ? bars[row + 1]! - bar : NOT_ENDED
      if (context !== null) contexts.push(bandEnteredBy(context, calendar, bar))
    }
    transitions.first[fieldIndex + 1] = nextRow
  }
  return context === null ? transitions : { ...transitions, contexts }
}
