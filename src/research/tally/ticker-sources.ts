import { TierRestricted } from '../../core/errors.js'
import { indicesIn, SharedColumns } from '../../core/model/calendar.js'
import { countBelow } from '../../core/model/day.js'
import type { Baseline, PoolQuery } from '../../core/model/event.js'
import type { History } from '../../core/model/history.js'
import { numbersBetween, packPrices, UNDEFINED } from '../../core/model/series.js'
import type { Timeframe } from '../../core/model/terms.js'
import type { HistoriesQuery, Source } from '../../core/source.js'
import { ColumnMemory } from '../../data/threads.js'
import type { PackedBaseline } from './base.js'
import type { Grouping } from './groups.js'
import type { AnsweredRange } from './pool.js'

/** The data of one ticker for a tally: columns with one row a counted event. */
export interface TickerSource extends AnsweredRange {
  ticker: string
  events: number
  /** The rows of each group, oldest first. */
  groups: readonly GroupRows[]
  /** Index of each row on the calendar of the ticker. */
  indices: Int32Array
  /** Index of each row in bars, from any bar on. */
  bars: Int32Array
  /** Window after window, in the order of the timeframe: index into PERFORMANCES, NO_HISTORY or PENDING. */
  outcomes: Uint8Array
  /** null where prices are unknown. */
  base: PackedBaseline | null
  /** The calendar of the ticker: the days of its base bars, or workdays where prices are unknown. */
  days: Int32Array
}

/** The rows of one group, up to but not including `to`. */
export interface GroupRows {
  value: string | null
  from: number
  to: number
}

/** A window that has ended, with too little history to rank its return. */
export const NO_HISTORY = 254
/** A window that has not ended. */
export const PENDING = 255

/**
 * Yields the counted events of each ticker: those in `bands`, with the context and `when` of the query, sorted by
 * group. Throws TierRestricted where the tier shows no aftermath.
 */
export async function* tickerSources(
  source: Source,
  { tickers, field, timeframe, bands, after, before, context, when, lag }: PoolQuery,
  grouping: (history: History) => Grouping,
): AsyncGenerator<TickerSource> {
  // A query for all events of the field: their lengths add up to the number of bars between two counted ones.
  const everyEvent: HistoriesQuery = { tickers, fields: [field], timeframe, lag }
  if (after !== undefined) everyEvent.after = after
  if (before !== undefined) everyEvent.before = before
  const query: HistoriesQuery = { ...everyEvent, outcomes: 'needed', base: true }
  if (context !== undefined) query.context = context
  if (when !== undefined) query.when = when
  const isFiltered = context !== undefined || when !== undefined
  if (isFiltered && bands !== undefined) query.bands = bands
  // Yields the same tickers in the same order.
  const unfiltered = isFiltered ? source.histories(everyEvent)[Symbol.asyncIterator]() : null
  const sharedColumns = new SharedColumns()
  // Copied, because the source's columns are views of larger buffers.
  const memory = new ColumnMemory()
  try {
    for await (const history of source.histories(query)) {
      const { ticker, query_range, after, as_of, outcomes, base } = history
      if (outcomes === null) throw new TierRestricted('aftermath', 'free', 'plus')
      const calendar = base?.days ?? weekdayCalendar(history.days, timeframe)
      const days = sharedColumns.firstEqual(calendar, column => column.slice())
      const allEvents: History = unfiltered === null ? history : (await unfiltered.next()).value
      const bars = barsSinceFirst(history, allEvents)
      const indices = calendarIndices(history.days, days, bars)
      // Only the counted events are kept: a whole market has ten times as many.
      const { rows, groups } = sortByGroup(rowsEntering(history, bands), grouping(history))
      const countedIndices = memory.put(valuesAt(indices, rows))
      yield {
        ticker,
        query_range,
        after,
        as_of,
        events: rows.length,
        groups,
        indices: countedIndices,
        bars: bars === indices ? countedIndices : memory.put(valuesAt(bars, rows)),
        outcomes: memory.put(outcomeCodes(outcomes, rows)),
        base: base && packBase({ ...base, days, indexes: sharedColumns.firstEqual(base.indexes) }, memory),
        days,
      }
    }
  } finally {
    await unfiltered?.return?.()
  }
}

/** The outcomes after any bar of a ticker, with their columns in the memory of the market. */
function packBase(base: Baseline, memory: ColumnMemory): PackedBaseline {
  const { numerators, denominator } = packPrices(base.closes)
  const performances = memory.put(Int32Array.from(base.performances.flat()))
  return { ...base, closes: { numerators: memory.put(numerators), denominator }, performances }
}

/** The values of a column in some rows. A loop: `map` takes several times as long. */
function valuesAt(column: Int32Array, rows: Int32Array): Int32Array {
  const values = new Int32Array(rows.length)
  for (let i = 0; i < rows.length; i++) values[i] = column[rows[i]!]!
  return values
}

/** The outcomes of some rows as codes, window after window. */
function outcomeCodes(outcomes: NonNullable<History['outcomes']>, rows: Int32Array): Uint8Array {
  const codes = new Uint8Array(rows.length * outcomes.length).fill(PENDING)
  let at = 0
  for (const { ended, performances } of outcomes) {
    for (let i = 0; i < rows.length; i++, at++) {
      const row = rows[i]!
      if (ended[row] === 1) codes[at] = performances[row] === UNDEFINED ? NO_HISTORY : performances[row]!
    }
  }
  return codes
}

/** Sorts rows by group, in the order in which the groups first appear; `groups` has the range of each in the result. */
function sortByGroup(rows: Int32Array, { codes, nameOf }: Grouping): { rows: Int32Array; groups: GroupRows[] } {
  const groupCodes: number[] = []
  for (let i = 0; i < rows.length; i++) {
    const code = codes[rows[i]!]!
    if (!groupCodes.includes(code)) groupCodes.push(code)
  }
  const sorted = new Int32Array(rows.length)
  const groups: GroupRows[] = []
  let to = 0
  for (const code of groupCodes) {
    const from = to
    for (let i = 0; i < rows.length; i++) if (codes[rows[i]!] === code) sorted[to++] = rows[i]!
    groups.push({ value: nameOf(code), from, to })
  }
  return { rows: sorted, groups }
}

/**
 * The index of each event's day on the calendar. If these indices differ from `bars` only by a constant, they replace
 * the values of `bars`, which is returned: one column then serves as both.
 * @param bars the bar of each event, counted from any bar on
 */
function calendarIndices(eventDays: Int32Array, calendar: Int32Array, bars: Int32Array): Int32Array {
  const first = countBelow(calendar, eventDays[0] ?? 0)
  for (let row = 0; row < eventDays.length; row++)
    if (calendar[first + bars[row]! - bars[0]!] !== eventDays[row]) return indicesIn(calendar, eventDays)
  const shift = first - (bars[0] ?? 0)
  for (let row = 0; row < bars.length; row++) bars[row]! += shift
  return bars
}

/** The rows of the events that enter one of the bands (default: all rows). */
function rowsEntering({ bands: vocabulary, entered }: History, bands: PoolQuery['bands']): Int32Array {
  const rows = numbersBetween(0, entered.length)
  if (bands === undefined) return rows
  const codes = bands.map(band => vocabulary.indexOf(band))
  return rows.filter(row => codes.includes(entered[row]!))
}

/** How many bars each event comes after the first event of its field. @param allEvents all events of the field */
function barsSinceFirst({ days }: History, allEvents: History): Int32Array {
  const bars = new Int32Array(days.length)
  let event = 0
  let bar = 0
  for (let row = 0; row < days.length; row++) {
    // An event whose period has not ended has the length NOT_ENDED, below 0.
    for (; allEvents.days[event]! < days[row]!; event++) bar += Math.max(0, allEvents.lasted[event]!)
    bars[row] = bar
  }
  return bars
}

/**
 * A calendar for unknown prices: the days of the events, and every weekday between them; weekly, each Friday of a week
 * without an event. Holidays are unknown, so a window may cover slightly fewer days than bars.
 */
function weekdayCalendar(eventDays: Int32Array, timeframe: Timeframe): Int32Array {
  const first = eventDays[0]
  const last = eventDays.at(-1)
  if (first === undefined || last === undefined) return eventDays
  const daysWithEvent = new Set(eventDays)
  const days: number[] = []
  // Weeks begin on Monday; day 0 is a Thursday.
  const weekOf = (day: number): number => Math.floor((day + 3) / 7)
  const weeksWithEvent = new Set(Array.from(eventDays, weekOf))
  for (let day = first; day <= last; day++) {
    // 0 is Monday, 4 is Friday.
    const weekday = day + 3 - 7 * weekOf(day)
    const isFridayWithoutEvent = weekday === 4 && !weeksWithEvent.has(weekOf(day))
    const isAdded = timeframe === 'daily' ? weekday <= 4 : isFridayWithoutEvent
    if (isAdded || daysWithEvent.has(day)) days.push(day)
  }
  return Int32Array.from(days)
}
