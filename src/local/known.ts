import { BUILT_IN } from '../fields/index.js'
import { countBelow, countUpTo, type Day } from '../model/day.js'
import { type BarMarks, marksOf } from '../model/neighbours.js'
import { barsKnownBy, head, recordsIn } from '../model/series.js'
import { TIMEFRAME_NAMES, type Timeframe } from '../model/terms.js'
import {
  type Bringer,
  originsOf,
  type PlacedOrigin,
  type SeriesSummary,
  type Store,
  type TickerEntry,
  type TickerSummary,
  UNDERIVED,
} from '../store/store.js'

/** What was known of a ticker on a day. */
export interface KnownBars {
  /** Daily bars, weeks that were final, and events of all fields on both. */
  bars: number
  weeks: number
  events: number
  marks: BarMarks
  /** Which file brought which of them, in their order. */
  origins: readonly KnownOrigin[]
}

/** With the days of its first and its last bar. */
export interface KnownOrigin extends PlacedOrigin {
  first: Day
  last: Day
}

/** All tickers, ascending, with what was known on a day; null: no bar yet. Columns are read of those with later bars alone. */
export async function knownTickers(
  store: Store,
  today: Day,
): Promise<{ entry: TickerEntry; known: KnownBars | null }[]> {
  if ((await store.definitions()) === UNDERIVED) {
    const found = []
    for (const entry of await store.tickers())
      found.push({ entry, known: entry.first > today ? null : await lookedUp(store, entry, today, false) })
    return found
  }
  const found = []
  for (const summary of await store.summaries()) {
    const { entry } = summary
    const isWhole = entry.last <= today
    const known = isWhole ? toldBy(summary, today) : entry.first > today ? null : await lookedUp(store, entry, today)
    found.push({ entry, known })
  }
  return found
}

/** All daily bars were known: then so were all weeks but the last, and that too once it was final. */
function toldBy({ entry, marks, stretches, daily, weekly }: TickerSummary, today: Day): KnownBars {
  const of = ({ bars, final, events, eventsOnLast }: SeriesSummary): { bars: number; events: number } =>
    final <= today ? { bars, events } : { bars: bars - 1, events: events - eventsOnLast }
  const [days, weeks] = [of(daily), of(weekly)]
  const origins = originsOf(entry).map((origin, i) => ({ ...origin, first: stretches[i]![0], last: stretches[i]![1] }))
  return { bars: days.bars, weeks: weeks.bars, events: days.events + weeks.events, marks, origins }
}

/** @param isDerived whether there are weeks and events */
async function lookedUp(store: Store, entry: TickerEntry, today: Day, isDerived = true): Promise<KnownBars> {
  const series = (await store.bars(entry.ticker))!
  const { days } = series
  const bars = countUpTo(days, today)
  const origins = originsIn(entry, days.subarray(0, bars))
  const counted = { weeks: 0, events: 0 }
  for (const timeframe of isDerived ? TIMEFRAME_NAMES : []) {
    const { final, events } = await counts(store, entry.ticker, timeframe, today)
    if (timeframe === 'weekly') counted.weeks = final
    counted.events += events
  }
  return { bars, ...counted, marks: marksOf(head(series, bars)), origins }
}

/** Which file brought which bars. @param days dates of the daily bars that are known */
export function originsIn(entry: TickerEntry, days: Int32Array): KnownOrigin[] {
  return originsOf(entry, days.length).map(origin => {
    return { ...origin, first: days[origin.from]!, last: days[origin.from + origin.bars - 1]! }
  })
}

/** An import as it is told. */
export interface SourceFile {
  source: string
  format: string
  imported_at: string
}

export function sourceFile({ source, format, importedAt }: Bringer): SourceFile {
  return { source, format, imported_at: importedAt }
}

/** The first of several imports, as it is told beside the last. */
export function begunBy(begun: Bringer | undefined): { begun?: SourceFile } {
  return begun === undefined ? {} : { begun: sourceFile(begun) }
}

/** Bars that were final, and events on them. */
async function counts(
  store: Store,
  ticker: string,
  timeframe: Timeframe,
  today: Day,
): Promise<{ final: number; events: number }> {
  const found = { final: 0, events: 0 }
  const query = { tickers: [ticker], timeframe, fields: BUILT_IN.names, outcomes: false }
  for await (const series of store.series(query)) {
    if (series === null) continue
    found.final = barsKnownBy(series.calendar, today)
    for (const { bars } of recordsIn(series.fields).values()) found.events += countBelow(bars, found.final)
  }
  return found
}

/** A step from one bar to the next that no trading made, and the user has accepted. */
export interface KnownJump {
  day: Day
  /** The bars from the day on are so many times those before. */
  factor: number
}

export function jumpsIn({ origins }: KnownBars): KnownJump[] {
  return origins.flatMap(({ first, jump }) => (jump === undefined ? [] : [{ day: first, factor: jump }]))
}
