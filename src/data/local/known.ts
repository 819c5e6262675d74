import { remedy, type Sentence, sentence } from '../../core/errors.js'
import { BUILT_IN_FIELDS } from '../../core/fields/index.js'
import { countUpTo, type Day, formatDay } from '../../core/model/day.js'
import type { Security } from '../../core/model/facts.js'
import { type BarMarks, barsKnownBy, firstBars, marksOf } from '../../core/model/series.js'
import { TIMEFRAME_NAMES } from '../../core/model/terms.js'
import { firstNames } from '../../core/numbers.js'
import { firstItem } from '../../core/source.js'
import {
  type ImportStamp,
  type IndexedOrigin,
  originsOf,
  type Store,
  type TickerEntry,
  type TickerSummary,
  UNDERIVED,
} from '../store/store.js'

/** A ticker's data on a day. */
export interface BarsAsOf {
  /** The numbers of daily bars, of final weekly bars, and of events of all fields on both. */
  bars: number
  weeks: number
  events: number
  marks: BarMarks
  /** The files that brought the daily bars, in the order of the bars. */
  origins: readonly DatedOrigin[]
}

export interface DatedOrigin extends IndexedOrigin {
  first: Day
  last: Day
}

/**
 * All tickers, ascending, with their data on a day; null: no bar yet. A ticker with bars after that day is counted from
 * its columns, any other is read from its summary.
 */
export async function tickersAsOf(store: Store, today: Day): Promise<{ entry: TickerEntry; known: BarsAsOf | null }[]> {
  const isDerived = (await store.definitions()) !== UNDERIVED
  const readTicker = async (entry: TickerEntry, summary?: TickerSummary) => {
    if (summary !== undefined && entry.last <= today) return { entry, known: barsFromSummary(summary, today) }
    return { entry, known: await barsFromColumns(store, entry, today, isDerived) }
  }
  const tickers = []
  if (isDerived) for (const summary of await store.summaries()) tickers.push(await readTicker(summary.entry, summary))
  else for (const entry of await store.tickers()) tickers.push(await readTicker(entry))
  return tickers
}

/** A ticker's data on a day not before its last bar, from its summary. So only its last week may not be final yet. */
function barsFromSummary({ entry, marks, originDays, daily, weekly }: TickerSummary, today: Day): BarsAsOf {
  const isLastWeekFinal = weekly.final <= today
  const weeks = isLastWeekFinal ? weekly.bars : weekly.bars - 1
  const weeklyEvents = isLastWeekFinal ? weekly.events : weekly.events - weekly.eventsOnLast
  const origins = originsOf(entry).map((origin, i) => {
    const [first, last] = originDays[i]!
    return { ...origin, first, last }
  })
  return { bars: daily.bars, weeks, events: daily.events + weeklyEvents, marks, origins }
}

/**
 * A ticker's data on a day from its columns; null before its first bar.
 * @param isDerived whether weeks and events exist
 */
async function barsFromColumns(
  store: Store,
  entry: TickerEntry,
  today: Day,
  isDerived: boolean,
): Promise<BarsAsOf | null> {
  if (entry.first > today) return null
  const series = (await store.bars(entry.ticker))!
  const { days } = series
  const bars = countUpTo(days, today)
  const origins = datedOrigins(entry, days.subarray(0, bars))
  const counts = { weeks: 0, events: 0 }
  for (const timeframe of isDerived ? TIMEFRAME_NAMES : []) {
    const query = { tickers: [entry.ticker], timeframe, fields: BUILT_IN_FIELDS.names, outcomes: false }
    const recorded = await firstItem(store.series(query))
    if (recorded === null) continue
    const finalBars = barsKnownBy(recorded.calendar, today)
    if (timeframe === 'weekly') counts.weeks = finalBars
    counts.events += recorded.fields.bars.filter(bar => bar < finalBars).length
  }
  return { bars, ...counts, marks: marksOf(firstBars(series, bars)), origins }
}

/** The files that brought a ticker's bars, with dates. @param days the dates of the daily bars that are known */
export function datedOrigins(entry: TickerEntry, days: Int32Array): DatedOrigin[] {
  return originsOf(entry, days.length).map(origin => {
    return { ...origin, first: days[origin.from]!, last: days[origin.from + origin.bars - 1]! }
  })
}

/** An import as shown. */
export interface SourceFile {
  source: string
  format: string
  imported_at: string
}

export function sourceFile({ source, format, importedAt }: ImportStamp): SourceFile {
  return { source, format, imported_at: importedAt }
}

/** An object with the key `begun`, which shows the earliest of several imports; empty if there was one import. */
export function earliestImportKey(begun: ImportStamp | undefined): { begun?: SourceFile } {
  return begun === undefined ? {} : { begun: sourceFile(begun) }
}

const ODDITY_KINDS = ['accepted_jump', 'outside_range', 'to_come', 'far_behind', 'far_beyond'] as const

/** An oddity of stored bars; it is shown until the user fixes it. */
export interface StoredOddity {
  /**
   * `accepted_jump`: bars on two scales. `outside_range`: open or close outside high and low. `to_come`: bars later
   * than tomorrow, which do not count. `far_behind`, `far_beyond`: the last bar is more than 30 days before or after
   * the median last bar of all tickers. A delisted ticker is never `far_behind`.
   */
  kind: (typeof ODDITY_KINDS)[number]
  ticker: string
  /** The date of the jump, or of the last such bar. */
  date: string
  /** Factor of the bars from the jump on; null for other kinds. */
  factor: number | null
  /** The number of bars outside their range; null for other kinds. */
  bars: number | null
}

/** A last bar is far from the median one if it is more than this number of days away. */
const FAR_DAYS = 30

/**
 * The oddities of all tickers, by kind.
 * @param tickers all tickers with their data on the as-of day
 * @param lastDay the last day that can have a bar; null: bars of later days are not reported
 */
export function storedOddities(
  tickers: Awaited<ReturnType<typeof tickersAsOf>>,
  securities: ReadonlyMap<string, Security>,
  lastDay: Day | null,
): StoredOddity[] {
  const lastDays = Int32Array.from(tickers.flatMap(({ known }) => known?.origins.at(-1)?.last ?? [])).sort()
  const medianLast = lastDays[Math.floor(lastDays.length / 2)] ?? 0
  const oddities = tickers.flatMap(({ entry, known }): StoredOddity[] => {
    const { ticker, last } = entry
    const futureBars = lastDay !== null && last > lastDay ? [makeOddity('to_come', ticker, last)] : []
    const isDelisted = securities.get(ticker)?.delisted !== undefined
    return known === null ? futureBars : [...futureBars, ...tickerOddities(ticker, known, medianLast, isDelisted)]
  })
  return ODDITY_KINDS.flatMap(kind => oddities.filter(oddity => oddity.kind === kind))
}

/**
 * The oddities of one ticker: price jumps that the user accepted, bars that open or close outside their high and low.
 * Also a last bar far from the median one.
 * @param medianLast the median of the last days of all tickers
 */
function* tickerOddities(ticker: string, { origins, marks }: BarsAsOf, medianLast: Day, isDelisted: boolean) {
  for (const { first, jump } of origins)
    if (jump !== undefined) yield makeOddity('accepted_jump', ticker, first, { factor: jump })
  const bars = marks.outside.length
  if (bars > 0) yield makeOddity('outside_range', ticker, marks.outside.at(-1)!, { bars })
  const { last } = origins.at(-1)!
  if (last > medianLast + FAR_DAYS) yield makeOddity('far_beyond', ticker, last)
  if (last < medianLast - FAR_DAYS && !isDelisted) yield makeOddity('far_behind', ticker, last)
}

/** An oddity; keys that its kind does not have are null. */
function makeOddity(
  kind: StoredOddity['kind'],
  ticker: string,
  day: Day,
  more: Partial<StoredOddity> = {},
): StoredOddity {
  return { kind, ticker, date: formatDay(day), factor: null, bars: null, ...more }
}

/** One line of text for each kind of oddity that occurs, with the remedy. */
export function oddityLines(
  oddities: readonly StoredOddity[],
): { kind: StoredOddity['kind']; what: string; mend: Sentence }[] {
  return ODDITY_KINDS.flatMap(kind => {
    const ofKind = oddities.filter(oddity => oddity.kind === kind)
    const [first] = ofKind
    if (first === undefined) return []
    const what = `${ODDITY_TITLES[kind]}: ${firstNames(ofKind.map(oddityWords), MAX_LISTED)}`
    return [{ kind, what, mend: ODDITY_REMEDIES[kind](first) }]
  })
}

const MAX_LISTED = 3

const ODDITY_TITLES: Readonly<Record<StoredOddity['kind'], string>> = {
  accepted_jump: 'accepted jumps',
  outside_range: 'bars that open or close outside their high and low',
  to_come: 'bars to come, which do not count',
  far_behind: `last bars more than ${FAR_DAYS} days before those of most tickers`,
  far_beyond: `last bars more than ${FAR_DAYS} days after those of most tickers`,
}

function oddityWords({ kind, ticker, date, factor, bars }: StoredOddity): string {
  if (bars !== null) return `${ticker} ${bars === 1 ? 'one' : bars}, ${bars === 1 ? 'on' : 'the last on'} ${date}`
  if (factor !== null) return `${ticker} times ${Number(factor.toPrecision(6))} on ${date}`
  return kind === 'to_come' ? `${ticker} up to ${date}` : `${ticker} ${date}`
}

const ODDITY_REMEDIES: Readonly<Record<StoredOddity['kind'], (first: StoredOddity) => Sentence>> = {
  accepted_jump: () => sentence`import the whole history of each in one file`,
  outside_range: () => sentence`compare them with another source; an import of other values replaces them`,
  to_come: ({ ticker }) => sentence`${remedy('remove', [ticker], { after: 'DATE' })} takes them out`,
  far_behind: () => sentence`import newer bars, or the day on which it was delisted (${remedy('import')})`,
  far_beyond: ({ ticker }) =>
    sentence`look at its dates; ${remedy('remove', [ticker], { after: 'DATE' })} takes bars out`,
}
