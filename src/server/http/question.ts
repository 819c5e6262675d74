import { emptyNote, emptyScanNote } from '../../core/empty.js'
import { wordsAsText } from '../../core/errors.js'
import { BUILT_IN_FIELDS } from '../../core/fields/index.js'
import { type Day, formatDay } from '../../core/model/day.js'
import type { EventsQuery, OversoldPage, OversoldQuery, SeriesKey } from '../../core/model/event.js'
import type {
  BarsPage,
  BarsQuery,
  SearchQuery,
  SnapshotPage,
  SnapshotQuery,
  SnapshotsPage,
} from '../../core/model/pages.js'
import type { Tier } from '../../core/model/terms.js'
import { MAX_LIMIT, parametersOf, parseEvents, parseOversold } from '../../core/params/questions.js'
import type { Source, WaitingFields } from '../../core/source.js'
import { entitle, eventsCost, OVERSOLD_COST } from '../../core/tiers.js'
import type { Accounts } from '../accounts/accounts.js'
import { EVENTS_PATH, OVERSOLD_PATH } from '../wire/format.js'

/** The data of a server. An interface, so that the server depends on neither the store nor the engine. */
export interface ServedData {
  /** Answers questions for a caller of a tier. The server must not close it. */
  bands(tier: Tier): Source
  /** Throws the errors of a scan without running it. */
  checkOversold(tier: Tier, query: OversoldQuery): Promise<void>
  /** The page of a scan as JSON, from one moment of the data, made outside this thread. Throws the query's errors. */
  oversold(tier: Tier, query: OversoldQuery, signal: AbortSignal): Promise<string>
  /** Throws the errors of a search without running it. */
  checkSearch(tier: Tier, query: SearchQuery): Promise<void>
  /** The page of a search as JSON, made like that of a scan. */
  search(tier: Tier, query: SearchQuery, signal: AbortSignal): Promise<string>
  /** The state of a ticker. Throws NotFound, Busy, TierRestricted, InvalidParameter. */
  summary(tier: Tier, query: SnapshotQuery): Promise<SnapshotPage | SnapshotsPage>
  /** A page of daily bars. Throws NotFound. */
  barsPage(tier: Tier, query: BarsQuery): Promise<BarsPage>
  /** Changes whenever any answer may change. */
  version(): Promise<string>
  /** The hash of all data: equal data have equal hashes, on any server. */
  snapshot(): Promise<string>
  /** Changes whenever answers about these series may change. */
  stamp(series: readonly SeriesKey[]): Promise<string>
  /** The day that ranges count back from. */
  today(): Promise<Day>
  /** The day of the newest bar; null if there is none. */
  newestDay(): Promise<Day | null>
  /** The fields that wait for an import; null if none does. */
  waitingFields(): Promise<WaitingFields | null>
  /** Throws when the data cannot be read. */
  check(): Promise<void>
  close(): Promise<void>
}

/** The data and the accounts of a server. The server must not close the data; closing them keeps the accounts open. */
export interface Service extends ServedData {
  /** How many scans may run at the same time. */
  readonly scansAtOnce: number
  accounts: Accounts
  /** The new file of data that the server refused to use; null if there is none. */
  refusedFile(): RefusedFile | null
}

/** Why the server refused a new file of data; without its path, because everyone may see this. */
export interface RefusedFile {
  why: string
  /** ISO time, UTC. */
  since: string
}

export interface QuestionResult {
  body: string
  /** Why the result is empty; null if it is not empty. */
  note: string | null
  /** The price in credits, if it depends on the result. */
  credits?: number
}

/** A parsed request URL. */
export interface Question {
  /** The lowest price of an answer; 0: it is free. */
  credits: number
  /** The path and the parsed query: equal for all spellings of the question. */
  key: string
  /** The key of the question whose answer contains this one; often the same question. */
  fullKey: string
  /** The names of its answers in the cache, by tier. */
  names?: Partial<Record<Tier, string>>
  /** Changes whenever the answer may change; null: any write may change the answer. */
  stamp(service: Service): Promise<string | null>
  /** Whether it takes long: then it waits in the queue, and is aborted when no caller waits for it any more. */
  isHeavy: boolean
  /** Computes the answer to the question with `fullKey`: the full answer. */
  answer(service: Service, tier: Tier, signal: AbortSignal): Promise<QuestionResult>
  /** Cuts the answer out of the full body. */
  cutOut(body: string): string
  /**
   * Whether there are data for an answer, found without computing it: false where `answer` would throw NotFound. Throws
   * TierRestricted or InvalidParameter for a question that this tier may not ask.
   */
  isAnswerable(service: Service, tier: Tier): Promise<boolean>
}

/** Parses the query of a path. Throws InvalidParameter. @param pathTicker the ticker in the path, as sent */
export type ReadQuestion = (search: string, pathTicker: string) => Question

/** A question's key with defaults: light, with an answer of its own, which any change of the data makes outdated. */
export function keyAndDefaults(key: string): Pick<Question, 'key' | 'fullKey' | 'stamp' | 'isHeavy' | 'cutOut'> {
  return { key, fullKey: key, stamp: async () => null, isHeavy: false, cutOut: body => body }
}

export function readEvents(search: string): Question {
  return eventsQuestion(EVENTS_PATH, parseEvents(parametersOf(search)))
}

/** The question for the events of one field of a ticker. @param keyStart the start of its key, such as its path */
export function eventsQuestion(keyStart: string, query: EventsQuery): Question {
  const { timeframe, context } = query
  const series: SeriesKey[] = [query]
  if (context !== undefined) series.push({ ...context, timeframe })
  return {
    credits: eventsCost(query),
    ...keyAndDefaults(questionKey(keyStart, query)),
    stamp: service => service.stamp(series), // only changes of these series make the answer outdated
    async answer(service, tier) {
      const bands = service.bands(tier)
      const page = await bands.events(query)
      const note = page.total_occurrences > 0 ? null : await noteWithoutEvents(bands, query)
      return { body: JSON.stringify(page), note }
    },
    async isAnswerable(service, tier) {
      entitle(query, tier, BUILT_IN_FIELDS)
      const tickers = series.map(({ ticker }) => ticker)
      return (await service.bands(tier).known(tickers)).length === tickers.length
    },
  }
}

/** Why a query found no event, in a sentence; null if the source does not know. */
export async function noteWithoutEvents(bands: Source, query: EventsQuery): Promise<string | null> {
  const why = await bands.whyEmpty(query)
  return why === null ? null : wordsAsText(emptyNote(why, query).reason)
}

/** Parses the query of a scan. The full answer has the highest limit, because a scan reads every ticker anyway. */
export function readOversold(search: string): Question {
  const query = parseOversold(parametersOf(search))
  const fullQuery = { ...query, limit: MAX_LIMIT }
  return {
    credits: OVERSOLD_COST,
    key: questionKey(OVERSOLD_PATH, query),
    fullKey: questionKey(OVERSOLD_PATH, fullQuery),
    stamp: async () => null, // none, because a scan depends on every ticker
    isHeavy: true,
    async answer(service, tier, signal) {
      const body = await service.oversold(tier, fullQuery, signal)
      // Only an empty page is parsed, for its note.
      if (!body.startsWith(EMPTY_PAGE_START)) return { body, note: null }
      const day = query.date ?? (await service.today())
      return { body, note: emptyScanNote(query, JSON.parse(body), formatDay(day)) }
    },
    cutOut: body => firstMatches(body, query.limit),
    async isAnswerable(service, tier) {
      await service.checkOversold(tier, query) // throws for a wrong sector, and for a day above the tier
      return true
    },
  }
}

const EMPTY_PAGE_START = '{"matches":[],'

/** Cuts the page of a scan, as JSON, to a number of matches. */
function firstMatches(body: string, limit: number): string {
  if (limit === MAX_LIMIT) return body
  const page: OversoldPage = JSON.parse(body)
  return page.matches.length <= limit ? body : JSON.stringify({ ...page, matches: page.matches.slice(0, limit) })
}

/** Equal for all spellings of a question, because parsers put the values of a query in one order. */
export function questionKey(keyStart: string, query: object): string {
  return `${keyStart} ${JSON.stringify(query)}`
}
