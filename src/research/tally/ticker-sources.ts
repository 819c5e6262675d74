import { TierRestricted } from '../../core/errors.js'
import { indicesIn, SharedColumns } from '../../core/model/calendar.js'
import type { Baseline, PoolQuery } from '../../core/model/event.js'
import type { History } from '../../core/model/history.js'
import { numbersBetween } from '../../core/model/series.js'
import type { Timeframe } from '../../core/model/terms.js'
import type { HistoriesQuery, Source } from '../../core/source.js'
import { ColumnRoom } from '../../data/threads.js'
import type { Grouping } from './groups.js'
import type { AnsweredRange } from './pool.js'

/** The data of one ticker for a tally: columns with one row a counted event, oldest first. */
export interface TickerSource extends AnsweredRange {
  ticker: string
  /** The counted rows. */
  rows: Int32Array
  grouping: Grouping
  /** Index of each row in bars, from the first event. */
  bars: Int32Array
  /** Outcomes of the rows: window after window, in the order of the timeframe. */
  ended: Uint8Array
  performances: Uint8Array
  /** null where prices are unknown. */
  returns: Float64Array | null
  /** null where prices are unknown. */
  base: Omit<Baseline, 'days'> | null
  /** The calendar of the ticker: the days of its base bars, or workdays where prices are unknown. */
  days: Int32Array
  /** Index of each row on that calendar. */
  indices: Int32Array
}

/** Ticker by ticker. Throws TierRestricted where the tier shows no aftermath. */
export async function* tickerSources(
  source: Source,
  { tickers, field, timeframe, bands, after, before, context, when, lag }: PoolQuery,
  grouping: (history: History) => Grouping,
): AsyncGenerator<TickerSource> {
  const dated = { ...(after === undefined ? {} : { after }), ...(before === undefined ? {} : { before }) }
  // All events of the field: the number of bars between two of them needs the unbroken chain of durations.
  const all: HistoriesQuery = { tickers, fields: [field], timeframe, lag, ...dated }
  const beside = { ...(context === undefined ? {} : { context }), ...(when === undefined ? {} : { when }) }
  const isWhole = context === undefined && when === undefined
  const narrowed = isWhole || bands === undefined ? beside : { ...beside, bands }
  const whole = isWhole ? null : source.histories(all)[Symbol.asyncIterator]()
  const alike = new SharedColumns()
  // Copied, because the source's columns are views of larger buffers.
  const room = new ColumnRoom()
  try {
    for await (const history of source.histories({ ...all, ...narrowed, outcomes: 'needed', base: true })) {
      const { ticker, query_range, after, as_of, outcomes, base } = history
      if (outcomes === null) throw new TierRestricted('aftermath', 'free', 'plus')
      const days = alike.of(base?.days ?? workdays(history.days, timeframe), own => own.slice())
      const bars = barsSinceFirst(history, whole === null ? history : (await whole.next()).value)
      // The other events have served their purpose, and a whole market has ten times as many.
      const rows = wantedRows(history, bands)
      const { codes, name } = grouping(history)
      const ints = (column: ArrayLike<number>): Int32Array => room.put(rows.map(row => column[row]!))
      const byWindow = <Column extends Float64Array | Uint8Array>(whole: Column, of: readonly Column[]): Column => {
        of.forEach((column, w) => {
          for (let i = 0; i < rows.length; i++) whole[w * rows.length + i] = column[rows[i]!]!
        })
        return room.put(whole)
      }
      const length = rows.length * outcomes.length
      const returns = outcomes.flatMap(({ unrounded }) => (unrounded === null ? [] : [unrounded.returns]))
      yield {
        ticker,
        query_range,
        after,
        as_of,
        // Only these columns, because the rest of an outcome holds the ranks of all bars in memory.
        ended: byWindow(
          new Uint8Array(length),
          outcomes.map(({ ended }) => ended),
        ),
        performances: byWindow(
          new Uint8Array(length),
          outcomes.map(({ performances }) => performances),
        ),
        returns: returns.length < outcomes.length ? null : byWindow(new Float64Array(length), returns),
        rows: numbersBetween(0, rows.length),
        grouping: { codes: ints(codes), name },
        bars: ints(bars),
        base: base && { bars: base.bars, windows: base.windows },
        days,
        indices: room.put(
          indicesIn(
            days,
            rows.map(row => history.days[row]!),
          ),
        ),
      }
    }
  } finally {
    await whole?.return?.()
  }
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
