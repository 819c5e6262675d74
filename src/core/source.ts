import type { Words } from './errors.js'
import { type Day, parseDay } from './model/day.js'
import type {
  Context,
  EventHistory,
  EventsPage,
  EventsQuery,
  HistoricEvent,
  HistoryQuery,
  OversoldPage,
  OversoldQuery,
  SeriesKey,
} from './model/event.js'
import { type BandPeriods, eventHistoryOf, type History } from './model/history.js'
import type { Adjustment, AssetClass, Series } from './model/series.js'
import type { Tier, Timeframe } from './model/terms.js'

/**
 * Answers questions: the local database, a server with a key, or stored pages of a server. Tally, transitions and now
 * only use this interface, so they work with each. One call takes many tickers, and answers ticker by ticker, so that a
 * database over a network is as fast as a file.
 */
export interface Source {
  /** The specified search. Throws TierRestricted above the caller's tier, NotFound for an unknown ticker. */
  events(query: EventsQuery): Promise<EventsPage>
  /** The oversold tickers: `GET /v1/scan/oversold`. Throws TierRestricted for a date below Plus, or out of range. */
  oversold(query: OversoldQuery): Promise<OversoldPage>
  /** The known fields in the order of the specification, and the conditions among the queried names. */
  fields(names?: readonly string[]): Promise<readonly FieldInfo[]>
  /** Yields all matching events in the tier's range, by ticker, then field in queried order. Throws like `events`. */
  histories(query: HistoriesQuery): AsyncIterable<History>
  /**
   * Yields the same data as columns of periods and transitions, one ticker at a time, for questions about a whole
   * market. Throws as `histories` does.
   */
  bandPeriods(query: BandPeriodsQuery): AsyncIterable<BandPeriods>
  /** The newest matching events with all known figures, in as few requests as possible. */
  newest(query: EventsQuery): Promise<NewestEvents>
  /** The fields of the caller's plan. A server reports them with a page of the ticker. */
  granted(ticker: string, timeframe: Timeframe): Promise<GrantedFields>
  /** Known well-formed tickers, ascending; null if the source cannot list them. */
  tickers(): Promise<readonly string[] | null>
  /** A test for series that are not stored. Only a source of stored pages has it. */
  missing?(): Promise<(key: SeriesKey) => boolean>
  /** The reason why a question found no event, at no cost; null if unknown. Throws as the question does. */
  whyEmpty(query: HistoryQuery): Promise<WhyEmpty | null>
  /** The sector of each ticker that has one. A server does not report them. */
  sectors?(): Promise<ReadonlyMap<string, string>>
  /** Known facts about the age of tickers' data, at no cost. Unknown tickers are left out. */
  known(tickers: readonly string[], field?: string): Promise<readonly KnownTicker[]>
  /** The server: its address, the range of its newest page, why its newest scan was empty; null for a local source. */
  readonly server: {
    url: string
    range: Pick<History, 'query_range' | 'after' | 'as_of'> | null
    note: string | null
  } | null
  close(): Promise<void>
}

/** The threads and machines that share long computations. */
export interface Workers {
  /** The number of threads (default: the number of cores). */
  readonly threads?: number | undefined
  /** Other machines, which then do all of them. */
  readonly cluster?: Cluster | undefined
}

/** Machines that run tasks. A task depends only on its own data and on those of its job. */
export interface Cluster {
  /** Begins a job, whose data every worker gets once. */
  open(start: { job: string; data: unknown }): Promise<TaskPool>
  close(): Promise<void>
}

export interface TaskPool {
  /** How many tasks run at once. */
  readonly size: number
  /** Does some tasks one after the other; throws the error of the first that fails. */
  run(tasks: readonly unknown[]): Promise<unknown[]>
  /** Cancels the tasks that are not done. */
  close(): Promise<void>
}

/**
 * A source with prices: bars, and bands by bar, as known on the as-of day. Event studies, backtests and sweeps use it.
 * The bands may come from elsewhere (a server) than the prices.
 */
export interface PricedSource extends Pick<Source, 'fields' | 'tickers' | 'sectors' | 'server' | 'close'>, Workers {
  /** Yields the bars of tickers in the queried order. Throws NotFound with the nearest tickers. */
  bars(query: Pick<StatesQuery, 'tickers' | 'timeframe'>): AsyncIterable<MarketBars>
  /** Yields fields on those bars. Throws NotFound, TierRestricted and Busy as a question about their events does. */
  states(query: StatesQuery): AsyncIterable<BarStates>
  /** Tickers with bars, ascending. */
  withBars(): Promise<readonly string[]>
  /** The as-of day of all answers; null if there are no data. */
  asOfDay(): Promise<Day | null>
  /** Notes about all answers so far, as sentences: missing bars, bands of another source. */
  remarks(): readonly string[]
}

/** The days that the answers of a tier or of a server's key cover. */
interface NamedRange {
  /** The value of `query_range`. */
  name: string
  from: Day
  to: Day
}

/** Why a question found no event, as data. empty.ts has the words. A range is null if it does not matter. */
export type WhyEmpty =
  /** The field, or the context's field, needs facts that are missing. */
  | { code: 'no_facts' | 'context_lacks'; missing: Words }
  | { code: 'not_begun'; as_of: Day }
  /** No band on any of N bars; `missing` is null if the missing data cannot be named in a word. */
  | { code: 'no_band_yet'; bars: number; missing: 'bars' | 'volumes' | null; as_of: Day }
  /** No day lies between the bounds. */
  | { code: 'no_day'; range: NamedRange | null }
  | { code: 'bars_end'; last: Day }
  /** The last such event was before the range; only the owner of the bars learns the day. */
  | { code: 'ended_before'; last: Day; range: NamedRange }
  | { code: 'bars_begin'; firstOf: Day }
  /** The field never entered such a band; `seen` lists the bands that it entered. */
  | { code: 'never_entered'; seen: readonly string[] }
  | { code: 'never_changed'; band: string }
  /** No such event in the range; `seen` lists the bands entered in it. Earlier events are not reported. */
  | { code: 'not_in_range'; range: NamedRange; seen: readonly string[] }
  | { code: 'outside_dates'; events: number; nearest: Day }
  /** The bands that the context was in instead; empty if it had no band yet. */
  | { code: 'context_never'; events: number; bands: readonly string[] }
  /** On N bars of events the condition was false or unknown. */
  | { code: 'when_never'; events: number; unknown: number }
  /** A source that only knows events; a null range means that it does not report dates. */
  | { code: 'no_events_known'; query_range: string; range: NamedRange | null; seen: readonly string[] }
  /** A server's own words. */
  | { code: 'server_note'; text: string }

/** The newest matching events, newest first, and the number of all matching ones. */
export interface NewestEvents extends Pick<EventHistory, 'ticker' | 'field' | 'timeframe' | 'query_range' | 'as_of'> {
  events: readonly HistoricEvent[]
  total: number
}

/** The fields that can be queried now, and those that a question over all fields leaves out. */
export interface GrantedFields {
  fields: readonly FieldInfo[]
  omitted: readonly Omitted[]
}

/** A field that an answer over all fields leaves out. */
export interface Omitted {
  field: string
  /** The reason, as part of a sentence. */
  why: string
}

export interface KnownTicker {
  ticker: string
  /** The date of its first bar. */
  first: Day
  last: Day
  /** Why the field cannot have a band; null if it can. */
  missing: Words | null
}

/** How many fields wait for an import, and since when (ISO time, UTC; null: not known). */
export interface WaitingFields {
  fields: number
  since: string | null
}

/**
 * The names of a question's fields: those in `names`, otherwise all of the caller's plan that can be queried now.
 * `omitted` has the fields of the plan that cannot.
 * @param ticker a ticker of the question, for a server that reports the plan with a page of one ticker (default: none)
 */
export async function fieldsFor(
  source: Pick<Source, 'granted'>,
  names: readonly string[] | undefined,
  { ticker = '', timeframe = 'daily' }: { ticker?: string | undefined; timeframe?: Timeframe } = {},
): Promise<{ fields: string[]; omitted: Omitted[] }> {
  if (names !== undefined) return { fields: [...names], omitted: [] }
  const { fields, omitted } = await source.granted(ticker, timeframe)
  return { fields: fields.map(({ name }) => name), omitted: [...omitted] }
}

/** The public description of a field. */
export interface FieldInfo {
  name: string
  tier: Tier
  /** The data that the field needs: bars, dated facts, or also the other tickers of the sector. */
  needs: 'bars' | 'facts' | 'sector'
  /** The vocabulary, in order of severity if it has one. */
  bands: readonly string[]
  summary: string
}

/** Selects events of tickers and fields; bounds exclusive. */
export interface HistoriesQuery extends Omit<HistoryQuery, 'ticker' | 'field'> {
  tickers: readonly string[]
  fields: readonly string[]
  /** Adds the later returns: `known` as far as the tier shows them, `needed` to refuse a tier that does not. */
  outcomes?: 'known' | 'needed'
  /** Adds the returns after any bar, if prices are known. */
  base?: boolean
}

/** Selects all transitions of tickers and fields; bounds exclusive. Each field's current band is always included. */
export interface BandPeriodsQuery extends Omit<HistoriesQuery, 'bands' | 'context' | 'when' | 'outcomes' | 'base'> {
  context?: Omit<Context, 'band'>
}

export interface StatesQuery {
  tickers: readonly string[]
  fields: readonly string[]
  timeframe: Timeframe
  /** The number of bars that conditions look back at the tickers they name (default 0). */
  lag?: number | undefined
  /** Whether the bars of a ticker may be overwritten once the next one is read: the caller copies what it keeps. */
  copiesBars?: boolean
}

/** The bars of one ticker with the queried fields. */
export interface BarStates {
  prices: MarketBars
  /** In the queried order. */
  states: readonly States[]
}

/** The description of a field; undefined if the source does not have it. */
export async function fieldOf(
  source: Pick<Source, 'fields'>,
  name: string | undefined,
): Promise<FieldInfo | undefined> {
  return name === undefined ? undefined : (await source.fields([name])).find(field => field.name === name)
}

/** The bands of each field, by its name. @param names may hold conditions, which are then fields, too */
export async function vocabulariesOf(
  source: Pick<Source, 'fields'>,
  names?: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  return new Map((await source.fields(names)).map(({ name, bands }) => [name, bands]))
}

export function tickerBars(source: PricedSource, ticker: string, timeframe: Timeframe): Promise<MarketBars> {
  return firstItem(source.bars({ tickers: [ticker], timeframe }))
}

/** The events of one field of one ticker as specified, with all known later returns. */
export async function eventHistory(
  source: Pick<Source, 'histories'>,
  { ticker, field, ...query }: HistoryQuery,
): Promise<EventHistory> {
  const histories = source.histories({ ...query, tickers: [ticker], fields: [field], outcomes: 'known' })
  return eventHistoryOf(await firstItem(histories))
}

/** The newest events of a history, up to the limit of the query. */
export async function newestOf(source: Pick<Source, 'histories'>, query: EventsQuery): Promise<NewestEvents> {
  const { events, ...history } = await eventHistory(source, query)
  return { ...history, events: events.slice(-query.limit).reverse(), total: events.length }
}

/**
 * The reason for an empty answer from a source that only knows events and their range, which begins after `after`.
 * @param bandsEntered the bands that were entered in this range
 */
export function noEventsReason(
  { query_range, after, as_of }: Pick<EventHistory, 'query_range' | 'after' | 'as_of'>,
  bandsEntered: readonly string[] = [],
): WhyEmpty {
  const dayBefore = after === null ? null : parseDay(after)
  const to = as_of === null ? null : parseDay(as_of)
  const range = dayBefore === null || to === null ? null : { name: query_range, from: dayBefore + 1, to }
  return { code: 'no_events_known', query_range, range, seen: bandsEntered }
}

/** The first item of an answer, which is all of it for a question about one ticker. Throws RangeError without any. */
export async function firstItem<Item>(items: AsyncIterable<Item>): Promise<Item> {
  for await (const item of items) return item
  throw new RangeError('nothing was asked for')
}

export interface MarketBars {
  ticker: string
  /** null: unknown. Fundamental fields then treat it as a stock. */
  assetClass: AssetClass | null
  adjustment: Adjustment
  /** All bars that were final on the as-of day, oldest first. */
  series: Series
  /** Bars in a year: 252; 365 for a ticker that trades at weekends; 52 weekly. */
  barsAYear: number
  /** How trading ended, if known on the as-of day: the day, not before the last bar, and the final worth of a share. */
  delisting: { day: Day; price: number } | null
}

/** One field of one ticker, in columns. Bar numbers are those of the series of `bars`. */
export interface States {
  ticker: string
  field: string
  timeframe: Timeframe
  /** The field's vocabulary, in its order; codes are places in it. */
  bands: readonly string[]
  /** The band of each bar; UNDEFINED if it has none. */
  codes: Uint8Array
  /** The bars that the caller may query: from `from` up to and without `to`. Other bars are only for looking back. */
  from: number
  to: number
  /** Events on those bars, oldest first: bar, entered band, left band. */
  bars: Int32Array
  entered: Uint8Array
  left: Uint8Array
  /** For each event: index into STABILITIES, and flips in the lookback; 255 if unknown. */
  stability: Uint8Array
  flips: Uint8Array
  /**
   * The band of the last transition before the first event here, its start, and the first day on which that bar is
   * final. Absent if there was none. It is a context's band on dates of the range before its first event.
   */
  earlier?: { band: number; since: Day; known: Day }
  /** The last day that the source reported; absent if the data reach the as-of day. */
  upTo?: Day
}

/**
 * The trial log: every distinct combination or strategy ever tried, by the hash of its question and data range. The
 * number of trials deflates a best result.
 */
export interface Trials {
  /** Adds trials; a known trial gets its newest p. Returns the numbers of distinct trials, of this kind and of all. */
  note(kind: TrialKind, trials: readonly Trial[]): Promise<{ ofKind: number; all: number }>
  /** All trials of a kind, oldest first. @param since milliseconds since 1970: only trials noted from then on */
  of(kind: TrialKind, since?: number): Promise<readonly Trial[]>
  close(): Promise<void>
}

export type ReadTrials = Pick<Trials, 'of' | 'close'>

/** Reports progress, often; the text is only made on demand. */
export type Step = (text: () => string) => void

/** The surroundings of a run: its progress callback, and the log that counts its trials. */
export interface RunContext {
  step?: Step
  trials?: Trials | null
}

export type TrialKind = 'cell' | 'strategy'

export interface Trial {
  /** Hex SHA-256 of the spec and the data range, canonical JSON. */
  hash: string
  /** The trial in words: `rsi_zone = oversold, 20d, 505 tickers, 2013-02-08 to 2018-02-07`. */
  spec: string
  /** Two-sided p; null if there is none. */
  p: number | null
  /** The study's name of the test behind p; null if unknown. */
  test: string | null
  /** Sharpe ratio per bar, of a strategy or of a combination's calendar-time portfolio; null if there is none. */
  sharpe: number | null
  /** Absent in a log that was written before it had questions. */
  asked?: TrialQuestion
}

/** The question that a trial belongs to: a study is one question with several windows. */
export interface TrialQuestion {
  /** Hex SHA-256 of the spec without the window, and of the data range. */
  question: string
  timeframe: Timeframe
  /** Range of the data; null without bars. */
  first: Day | null
  last: Day | null
}

/** A user's watch lists, of tickers or of a condition, and up to where their news were shown. Names ignore case. */
export interface Lists {
  /** All lists, ordered by name. */
  all(): Promise<readonly NamedList[]>
  named(name: string): Promise<NamedList | undefined>
  /** Adds each ticker once to the end of a list, which is made if missing. */
  add(name: string, tickers: readonly string[]): Promise<NamedList>
  /** Makes a list by a condition. An existing list stays unchanged. */
  addCondition(name: string, condition: string): Promise<NamedList>
  removeTickers(name: string, tickers: readonly string[]): Promise<NamedList>
  remove(name: string): Promise<void>
  /** Renames a ticker in every list and in its shown news. @returns names of those lists */
  renameTicker(ticker: string, name: string): Promise<string[]>
  /**
   * The point up to which answers to a question were shown, for each ticker and timeframe. A question is named by its
   * lists (`a,b`, or nothing) and its filters (`a#digest`).
   */
  readMarks(question: string): Promise<readonly Mark[]>
  /** Saves marks. A mark moves only forward; a field without a mark of its own moves with its ticker. */
  saveMarks(question: string, marks: readonly Mark[]): Promise<void>
  close(): Promise<void>
}

export type ReadLists = Pick<Lists, 'all' | 'named' | 'readMarks' | 'close'>

export interface NamedList {
  name: string
  /** In its printed form; null for a list of tickers. */
  condition: string | null
  /** In the order of their adding; empty for a condition. */
  tickers: readonly string[]
}

/** The last final bar of a ticker that an answer of `--since last` covered. */
export interface Mark {
  ticker: string
  timeframe: Timeframe
  day: Day
  /** Absent: the mark holds for every field without a mark of its own. */
  field?: string
}
