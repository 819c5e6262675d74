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
import { eventHistoryOf, type History, type Stays } from './model/history.js'
import type { Adjustment, AssetClass, Series } from './model/series.js'
import type { Tier, Timeframe } from './model/terms.js'

/**
 * Whoever answers: the database here, a server with a key, pages of a server that were kept. Questions that stand on
 * events (tally, transitions, now) are built on this alone, so that they work on each. Of many tickers in one call, a
 * ticker at a time, so that a database over a network answers as well as a file.
 */
export interface Source {
  /** The specified search. Throws TierRestricted above the caller's tier, NotFound for a ticker that is not there. */
  events(query: EventsQuery): Promise<EventsPage>
  /** Which tickers are oversold: `GET /v1/scan/oversold`. Throws TierRestricted for a date below Plus, or out of range. */
  oversold(query: OversoldQuery): Promise<OversoldPage>
  /** What can be asked for, in the order of the specification, and the conditions among what is asked for. */
  fields(asked?: readonly string[]): Promise<readonly FieldInfo[]>
  /** All matching events of the tier's range, by ticker and then by field in the order asked. Throws as `events` does. */
  histories(query: HistoriesQuery): AsyncIterable<History>
  /** The same in columns of stays and transitions, a ticker at a time, for who asks of a whole market. Throws as `histories` does. */
  stays(query: StaysQuery): AsyncIterable<Stays>
  /** The newest of matching events with all that is known of them, in as few questions as can be. */
  newest(query: EventsQuery): Promise<NewestEvents>
  /** The fields of the caller's plan, of which a server tells with a page of the ticker. */
  granted(ticker: string, timeframe: Timeframe): Promise<GrantedFields>
  /** Well-formed tickers that can be asked for, ascending; null where the answerer does not tell. */
  tickers(): Promise<readonly string[] | null>
  /** Which series of those tickers are not there; only where pages of a server answer, of which some may not be kept. */
  missing?(): Promise<(key: SeriesKey) => boolean>
  /** Why a question found no event, at no cost; null where the answerer does not know. Throws as the question does. */
  whyEmpty(query: HistoryQuery): Promise<WhyEmpty | null>
  /** What is known of tickers at no cost, to say why an answer is old; without those of which nothing is. */
  known(tickers: readonly string[], field?: string): Promise<readonly KnownTicker[]>
  /** The server that answers: its address, and what its newest page said of its range, its newest scan of being empty; null where the answer is made here. */
  readonly server: {
    url: string
    range: Pick<History, 'query_range' | 'after' | 'as_of'> | null
    note: string | null
  } | null
  close(): Promise<void>
}

/**
 * Who has prices: bars and bands by bar, as known on the as-of day, which event studies, backtests and sweeps stand on.
 * The bands may be from elsewhere (a server) than the prices.
 */
export interface PricedSource extends Pick<Source, 'fields' | 'tickers' | 'server' | 'close'> {
  /** The bars of tickers, in the order asked. Throws NotFound with the nearest tickers. */
  bars(query: Pick<StatesQuery, 'tickers' | 'timeframe'>): AsyncIterable<MarketBars>
  /** Fields on those bars. Throws NotFound, TierRestricted, Busy as a question about their events does. */
  states(query: StatesQuery): AsyncIterable<BarStates>
  /** Tickers with bars, ascending. */
  withBars(): Promise<readonly string[]>
  /** The day as of which all of it is known; null where there is nothing. */
  asOfDay(): Promise<Day | null>
  /** How many threads may share what is computed of it; as many as the machine has cores unless given. */
  readonly threads?: number | undefined
  /** What must be said of everything that it told so far, in sentences: bars that were lacking, bands of another. */
  remarks(): readonly string[]
}

/** Days that a tier, or a server by its key, answers of. */
interface NamedRange {
  /** As `query_range` has it. */
  name: string
  from: Day
  to: Day
}

/** Why a question found no event, as data; present/empty.ts words it; a range is null where it has no part in it. */
export type WhyEmpty =
  /** Of a field that stands on facts, or of the context's. */
  | { code: 'no_facts' | 'context_lacks'; lack: Words }
  | { code: 'not_begun'; as_of: Day }
  /** On none of so many bars; null where what is lacking cannot be told in a word. */
  | { code: 'no_band_yet'; bars: number; lack: 'bars' | 'volumes' | null; as_of: Day }
  /** None lies between the bounds. */
  | { code: 'no_day'; range: NamedRange | null }
  | { code: 'bars_end'; last: Day }
  /** The same before the range; when is for the owner of the bars alone. */
  | { code: 'ended_before'; last: Day; range: NamedRange }
  | { code: 'bars_begin'; firstOf: Day }
  /** No such band ever; those that were. */
  | { code: 'never_entered'; seen: readonly string[] }
  | { code: 'never_changed'; band: string }
  /** Whether there are such events before the range is not told; the bands that were entered within it. */
  | { code: 'not_in_range'; range: NamedRange; seen: readonly string[] }
  | { code: 'outside_dates'; events: number; nearest: Day }
  /** The bands that the context was in instead; none where it had none yet. */
  | { code: 'context_never'; events: number; bands: readonly string[] }
  /** On how many bars of the events the condition held not, and on how many it was not known. */
  | { code: 'when_never'; events: number; unknown: number }
  /** Who knows events alone; null where the answerer does not tell of which days they are. */
  | { code: 'none_told'; query_range: string; range: NamedRange | null; seen: readonly string[] }
  /** A server's own words. */
  | { code: 'told'; text: string }

/** Newest first, and how many match. */
export interface NewestEvents extends Pick<EventHistory, 'ticker' | 'field' | 'timeframe' | 'query_range' | 'as_of'> {
  events: readonly HistoricEvent[]
  total: number
}

/** The fields that can be asked for now, and those that a question over all fields leaves out. */
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
  /** Of its bars. */
  first: Day
  last: Day
  /** Why the field can have no band; null where it may have one. */
  lack: Words | null
}

/** How many fields wait for an import, and since when (ISO time, UTC; null: not known). */
export interface WaitingFields {
  fields: number
  since: string | null
}

/** The fields of a question: those that were named, or all of the plan but those that are left out. */
export async function fieldsFor(
  source: Pick<Source, 'granted'>,
  named: readonly string[] | undefined,
  { ticker = '', timeframe = 'daily' }: { ticker?: string | undefined; timeframe?: Timeframe } = {},
): Promise<{ fields: string[]; omitted: Omitted[] }> {
  if (named !== undefined) return { fields: [...named], omitted: [] }
  const { fields, omitted } = await source.granted(ticker, timeframe)
  return { fields: fields.map(({ name }) => name), omitted: [...omitted] }
}

/** What is said of a field to whoever may ask for it. */
export interface FieldInfo {
  name: string
  tier: Tier
  /** What it stands on: the bars alone, dated facts too, or also the other tickers of the sector. */
  needs: 'bars' | 'facts' | 'sector'
  /** The vocabulary, in order of severity where there is one. */
  bands: readonly string[]
  summary: string
}

/** Which events of which tickers and fields; bounds exclusive. */
export interface HistoriesQuery extends Omit<HistoryQuery, 'ticker' | 'field'> {
  tickers: readonly string[]
  fields: readonly string[]
  /** What followed, too: as far as the tier shows it, or needed, so that a tier that does not show it is refused. */
  outcomes?: 'known' | 'needed'
  /** What any bar was followed by, too, where there are prices. */
  base?: boolean
}

/** Which transitions of which tickers and fields, of all bands; bounds exclusive. Where each field stands is told whatever they are. */
export interface StaysQuery extends Omit<HistoriesQuery, 'bands' | 'context' | 'when' | 'outcomes' | 'base'> {
  context?: Omit<Context, 'band'>
}

export interface StatesQuery {
  tickers: readonly string[]
  fields: readonly string[]
  timeframe: Timeframe
  /** How many bars earlier conditions look at the tickers that they name; 0 unless given. */
  lag?: number | undefined
}

/** One ticker's bars, and the fields that were asked for on them. */
export interface BarStates {
  prices: MarketBars
  /** In the order asked. */
  states: readonly States[]
}

/** What is said of a field; of one that is not among those of the source, nothing. */
export async function fieldOf(
  source: Pick<Source, 'fields'>,
  name: string | undefined,
): Promise<FieldInfo | undefined> {
  return name === undefined ? undefined : (await source.fields([name])).find(field => field.name === name)
}

/** The vocabulary of each field, by its name. */
export async function vocabulariesOf(
  source: Pick<Source, 'fields'>,
  asked?: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  return new Map((await source.fields(asked)).map(({ name, bands }) => [name, bands]))
}

/** The bars of one ticker. */
export function tickerBars(source: PricedSource, ticker: string, timeframe: Timeframe): Promise<MarketBars> {
  return first(source.bars({ tickers: [ticker], timeframe }))
}

/** The events of one field of one ticker as the specification spells them, with all that is known of what followed. */
export async function eventHistory(
  source: Pick<Source, 'histories'>,
  { ticker, field, ...query }: HistoryQuery,
): Promise<EventHistory> {
  return eventHistoryOf(
    await first(source.histories({ ...query, tickers: [ticker], fields: [field], outcomes: 'known' })),
  )
}

/** The newest events of a history, as many as were asked for. */
export async function newestOf(source: Pick<Source, 'histories'>, query: EventsQuery): Promise<NewestEvents> {
  const { events, ...history } = await eventHistory(source, query)
  return { ...history, events: events.slice(-query.limit).reverse(), total: events.length }
}

/** What can be said of no event by who knows events and their range alone. @param seen bands that were entered in it */
export function noEventsKnown(
  { query_range, after, as_of }: Pick<EventHistory, 'query_range' | 'after' | 'as_of'>,
  seen: readonly string[] = [],
): WhyEmpty {
  const [from, to] = [after, as_of].map(date => (date === null ? null : parseDay(date)!))
  const range = from == null || to == null ? null : { name: query_range, from: from + 1, to }
  return { code: 'none_told', query_range, range, seen }
}

/** The first of what is asked for: of a question about one ticker all there is. */
export async function first<Found>(found: AsyncIterable<Found>): Promise<Found> {
  for await (const one of found) return one
  throw new RangeError('nothing was asked for')
}

export interface MarketBars {
  ticker: string
  /** null: not told; then no fundamental field counts it as anything but a stock. */
  assetClass: AssetClass | null
  adjustment: Adjustment
  /** All bars that were final on the as-of day, oldest first. */
  series: Series
  /** 252; 365 for a ticker that trades at weekends; 52 weekly. */
  barsAYear: number
  /** How trading of it ended, where that was known on the as-of day: when, not before the last bar, and a share's worth then. */
  delisting: { day: Day; price: number } | null
}

/** One field of one ticker, in columns. Bars are numbered as in the series of `bars`. */
export interface States {
  ticker: string
  field: string
  timeframe: Timeframe
  /** The field's vocabulary, in its order; codes are places in it. */
  bands: readonly string[]
  /** Band on each bar of the series; UNDEFINED where there is none. */
  codes: Uint8Array
  /** Bars that the caller may ask about: from the first, up to and without the last. Others may be looked back at only. */
  from: number
  to: number
  /** Events on those bars, oldest first: bar, band entered, band left. */
  bars: Int32Array
  entered: Uint8Array
  left: Uint8Array
  /** Of each event: index into STABILITIES, flips in the lookback; 255 where the answerer does not tell. */
  stability: Uint8Array
  flips: Uint8Array
  /**
   * The band entered by the last transition before the first event here, from when on it was, and the first day on which
   * that bar is final; absent where there was none. It is what a second ticker was in on dates of the range before its
   * first event.
   */
  earlier?: { band: number; since: Day; known: Day }
  /** The last day of which it was told; absent where everything up to the as-of day is here. */
  upTo?: Day
}

/**
 * The trial ledger: every distinct cell or strategy that was ever looked at, known by the hash of what was asked and of
 * the range of data that answered. The number of looks is what a best result has to be deflated by.
 */
export interface Trials {
  /**
   * Adds those that are new; of those that are known, p is that of the newest test. The answer: how many distinct ones there
   * are now, of the kind and of all kinds.
   */
  note(kind: TrialKind, trials: readonly Trial[]): Promise<{ ofKind: number; all: number }>
  /** All of a kind, in the order in which they came. @param since milliseconds since 1970: only those noted from then on */
  of(kind: TrialKind, since?: number): Promise<readonly Trial[]>
  close(): Promise<void>
}

/** What can be asked of it where nothing is to be written. */
export type ReadTrials = Pick<Trials, 'of' | 'close'>

/** Told what is being done, often; the text is made when it is asked for. */
export type Step = (text: () => string) => void

/** Beside a question: who is told how far it is, and where all that is looked at is noted. */
export interface RunContext {
  step?: Step
  trials?: Trials | null
}

export type TrialKind = 'cell' | 'strategy'

export interface Trial {
  /** Hex SHA-256 of the spec and the data range, canonical JSON. */
  hash: string
  /** The same for people: `rsi_zone = oversold, 20d, 505 tickers, 2013-02-08 to 2018-02-07`. */
  spec: string
  /** Two-sided p; null where it has none. */
  p: number | null
  /** Which test p is of, by the name that it has in a study; null where none is known. */
  test: string | null
  /** Sharpe ratio per bar, of a strategy or of a cell's calendar-time portfolio; null where it has none. */
  sharpe: number | null
  /** Absent where an older version noted the trial. */
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

/**
 * Named lists of a user: of tickers, or of those for which a condition holds; and how far each was told what is new. Names
 * are told apart without their case.
 */
export interface Lists {
  /** By their names. */
  all(): Promise<readonly NamedList[]>
  named(name: string): Promise<NamedList | undefined>
  /** Adds tickers to the end of a list, which is made first if there is none; each is in it once. */
  add(name: string, tickers: readonly string[]): Promise<NamedList>
  /** A list by a condition. What is there already stays as it is. */
  addCondition(name: string, condition: string): Promise<NamedList>
  /** Takes tickers out of a list. */
  take(name: string, tickers: readonly string[]): Promise<NamedList>
  remove(name: string): Promise<void>
  /** Gives a ticker another name, in its place in every list and in what was told of it. @returns names of those lists */
  renameTicker(ticker: string, name: string): Promise<string[]>
  /**
   * How far the answers to a question went, for each ticker and timeframe. A question is named by its lists (several:
   * `a,b`; none: nothing), and by what narrows it (`a#digest`).
   */
  seen(question: string): Promise<readonly Mark[]>
  /** Moves the marks forward, never back. A field without a mark of its own moves with its ticker. */
  see(question: string, marks: readonly Mark[]): Promise<void>
  close(): Promise<void>
}

/** What can be asked of them where nothing is to be written. */
export type ReadLists = Pick<Lists, 'all' | 'named' | 'seen' | 'close'>

export interface NamedList {
  name: string
  /** As it is printed; null where tickers were named. */
  condition: string | null
  /** In the order in which they were named; none of a condition. */
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
