import { TierRestricted } from '../../core/errors.js'
import { indicesIn, SharedColumns } from '../../core/model/calendar.js'
import { countBelow } from '../../core/model/day.js'
import type { Baseline, PoolQuery } from '../../core/model/event.js'
import type { History } from '../../core/model/history.js'
import { numbersBetween, UNDEFINED } from '../../core/model/series.js'
import type { Timeframe } from '../../core/model/terms.js'
import type { HistoriesQuery, Source } from '../../core/source.js'
import { ColumnMemory } from '../../data/threads.js'
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
  base: Baseline | null
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

/** Ticker by ticker. Throws TierRestricted where the tier shows no aftermath. */
export async function* tickerSources(
  source: Source,
  { tickers, field, timeframe, bands, after, before, context, when, lag }: PoolQuery,
  grouping: (history: History) => Grouping,
): AsyncGenerator<TickerSource> {
  const dated = { ...(after === undefined ? {} : { after }), ...(before === undefined ? {} : { before }) }
  // All events of the field: the number of bars between two of them needs the unbroken chain of durations.
  const all: HistoriesQuery = { tickers, fields: [field], timeframe, lag, ...dated }
  const conditions = { ...(context === undefined ? {} : { context }), ...(when === undefined ? {} : { when }) }
  const isWhole = context === undefined && when === undefined
  const narrowed = isWhole || bands === undefined ? conditions : { ...conditions, bands }
  const whole = isWhole ? null : source.histories(all)[Symbol.asyncIterator]()
  const alike = new SharedColumns()
  // Copied, because the source's columns are views of larger buffers.
  const room = new ColumnMemory()
  try {
    for await (const history of source.histories({ ...all, ...narrowed, outcomes: 'needed', base: true })) {
      const { ticker, query_range, after, as_of, outcomes, base } = history
      if (outcomes === null) throw new TierRestricted('aftermath', 'free', 'plus')
      const days = alike.of(base?.days ?? workdays(history.days, timeframe), own => own.slice())
      const bars = barsSinceFirst(history, whole === null ? history : (await whole.next()).value)
      const indices = indicesOf(history.days, days, bars)
      // The other events have served their purpose, and a whole market has ten times as many.
      const { rows, parts } = grouped(wantedRows(history, bands), grouping(history))
      const ints = (column: Int32Array): Int32Array => room.put(rows.map(row => column[row]!))
      const own = ints(indices)
      yield {
        ticker,
        query_range,
        after,
        as_of,
        events: rows.length,
        parts,
        indices: own,
        bars: bars === indices ? own : ints(bars),
        outcomes: room.put(codesOf(outcomes, rows)),
        base: base && { ...base, days, closes: room.put(base.closes), indexes: alike.of(base.indexes) },
        days,
      }
    }
  } finally {
    await whole?.return?.()
  }
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

/** Puts rows in the order of their groups. */
function grouped(rows: Int32Array, { codes, name }: Grouping): { rows: Int32Array; parts: Part[] } {
  const order = new Int32Array(rows.length)
  const parts: Part[] = []
  let to = 0
  for (const code of new Set(Array.from(rows, row => codes[row]!))) {
    const from = to
    for (let i = 0; i < rows.length; i++) if (codes[rows[i]!] === code) order[to++] = rows[i]!
    parts.push({ value: name(code), from, to })
  }
  return { rows: order, parts }
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
  const all = numbersBetween(0, entered.length)
  const codes = bands?.map(band => vocabulary.indexOf(band))
  return codes === undefined ? all : all.filter(row => codes.includes(entered[row]!))
}

/** How many bars each event comes after the first event of its field. @param whole all events of the field */
function barsSinceFirst({ days }: History, whole: History): Int32Array {
  const bars = new Int32Array(days.length)
  let event = 0
  let bar = 0
  for (let row = 0; row < days.length; row++) {
    for (; whole.days[event]! < days[row]!; event++) bar += Math.max(0, whole.lasted[event]!)
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
