import { TierRestricted } from '../../core/errors.js'
import { indicesIn, SharedColumns } from '../../core/model/calendar.js'
import { countBelow } from '../../core/model/day.js'
import type { Baseline, PoolQuery } from '../../core/model/event.js'
import type { History } from '../../core/model/history.js'
import { numbersBetween, packCloses, UNDEFINED } from '../../core/model/series.js'
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
  parts: readonly Part[]
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
export interface Part {
  value: string | null
  from: number
  to: number
}

/** A window that has ended, with too little history to rank its return. */
export const NO_HISTORY = 254
/** A window that has not ended. */
export const PENDING = 255

/** The data of each ticker in turn. Throws TierRestricted where the tier shows no aftermath. */
export async function* tickerSources(
  source: Source,
  { tickers, field, timeframe, bands, after, before, context, when, lag }: PoolQuery,
  grouping: (history: History) => Grouping,
): AsyncGenerator<TickerSource> {
  // All events of the field: the number of bars between two of them needs the unbroken chain of durations.
  const everyEvent: HistoriesQuery = { tickers, fields: [field], timeframe, lag }
  if (after !== undefined) everyEvent.after = after
  if (before !== undefined) everyEvent.before = before
  const query: HistoriesQuery = { ...everyEvent, outcomes: 'needed', base: true }
  if (context !== undefined) query.context = context
  if (when !== undefined) query.when = when
  const isFiltered = context !== undefined || when !== undefined
  if (isFiltered && bands !== undefined) query.bands = bands
  const unfiltered = isFiltered ? source.histories(everyEvent)[Symbol.asyncIterator]() : null
  const sharedColumns = new SharedColumns()
  // Copied, because the source's columns are views of larger buffers.
  const memory = new ColumnMemory()
  try {
    for await (const history of source.histories(query)) {
      const { ticker, query_range, after, as_of, outcomes, base } = history
      if (outcomes === null) throw new TierRestricted('aftermath', 'free', 'plus')
      const days = sharedColumns.firstEqual(base?.days ?? workdays(history.days, timeframe), column => column.slice())
      const bars = barsSinceFirst(history, unfiltered === null ? history : (await unfiltered.next()).value)
      const indices = indicesOf(history.days, days, bars)
      // Only the counted events are kept: a whole market has ten times as many.
      const { rows, parts } = groupRows(wantedRows(history, bands), grouping(history))
      const countedIndices = memory.put(valuesAt(indices, rows))
      yield {
        ticker,
        query_range,
        after,
        as_of,
        events: rows.length,
        parts,
        indices: countedIndices,
        bars: bars === indices ? countedIndices : memory.put(valuesAt(bars, rows)),
        outcomes: memory.put(codesOf(outcomes, rows)),
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
  const { numerators, denominator } = packCloses(base.closes)
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
function codesOf(outcomes: NonNullable<History['outcomes']>, rows: Int32Array): Uint8Array {
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

/** Sorts rows by group, in the order in which the groups first appear. */
function groupRows(rows: Int32Array, { codes, name }: Grouping): { rows: Int32Array; parts: Part[] } {
  const groups: number[] = []
  for (let i = 0; i < rows.length; i++) if (!groups.includes(codes[rows[i]!]!)) groups.push(codes[rows[i]!]!)
  const sorted = new Int32Array(rows.length)
  const parts: Part[] = []
  let to = 0
  for (const group of groups) {
    const from = to
    for (let i = 0; i < rows.length; i++) if (codes[rows[i]!] === group) sorted[to++] = rows[i]!
    parts.push({ value: name(group), from, to })
  }
  return { rows: sorted, parts }
}

/**
 * The index of each event on the calendar.
 * @param bars of the events since the first one, which are changed to these indices where they differ by a constant
 */
function indicesOf(events: Int32Array, days: Int32Array, bars: Int32Array): Int32Array {
  const first = countBelow(days, events[0] ?? 0)
  for (let row = 0; row < events.length; row++)
    if (days[first + bars[row]! - bars[0]!] !== events[row]) return indicesIn(days, events)
  const shift = first - (bars[0] ?? 0)
  for (let row = 0; row < bars.length; row++) bars[row]! += shift
  return bars
}

/** The numbers of the rows that enter one of the bands; all without bands. */
function wantedRows({ bands: vocabulary, entered }: History, bands: PoolQuery['bands']): Int32Array {
  const rows = numbersBetween(0, entered.length)
  if (bands === undefined) return rows
  const codes = bands.map(band => vocabulary.indexOf(band))
  return rows.filter(row => codes.includes(entered[row]!))
}

/** How many bars each event comes after the first event of its field. @param every all events of the field */
function barsSinceFirst({ days }: History, every: History): Int32Array {
  const bars = new Int32Array(days.length)
  let event = 0
  let bar = 0
  for (let row = 0; row < days.length; row++) {
    for (; every.days[event]! < days[row]!; event++) bar += Math.max(0, every.lasted[event]!)
    bars[row] = bar
  }
  return bars
}

/**
 * A calendar for unknown prices: every weekday from the first event to the last, and every event. Weeks have one day
 * each. Holidays are unknown, so a window may cover slightly fewer days than bars.
 */
function workdays(events: Int32Array, timeframe: Timeframe): Int32Array {
  const first = events[0]
  const last = events.at(-1)
  if (first === undefined || last === undefined) return events
  const has = new Set(events)
  const days: number[] = []
  // Day 0 is a Thursday.
  const weekOf = (day: number): number => Math.floor((day + 3) / 7)
  const weeks = new Set(Array.from(events, weekOf))
  for (let day = first; day <= last; day++) {
    const weekday = (((day + 3) % 7) + 7) % 7
    const fills = timeframe === 'daily' ? weekday < 5 : weekday === 4 && !weeks.has(weekOf(day))
    if (fills || has.has(day)) days.push(day)
  }
  return Int32Array.from(days)
}
