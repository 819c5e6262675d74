import { emptyNote, emptyScanNote } from '../../core/empty.js'
import { wordsAsText } from '../../core/errors.js'
import { BUILT_IN } from '../../core/fields/index.js'
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

/** The data of a server, as one file has them; passed in, so that it depends on neither the store nor the engine. */
export interface ServedData {
  /** The questions as a caller of a tier may ask them; closing it is not the server's business. */
  bands(tier: Tier): Source
  /** Throws the faults of a scan without running it. */
  checkOversold(tier: Tier, query: OversoldQuery): Promise<void>
  /**
   * The page of a scan as JSON, from one moment of the data. It takes long, so it runs outside this thread.
   * @param signal aborts it. Throws the errors of the query
   */
  oversold(tier: Tier, query: OversoldQuery, signal: AbortSignal): Promise<string>
  /** Throws the faults of a search without running it. */
  checkSearch(tier: Tier, query: SearchQuery): Promise<void>
  /** The page of a search as JSON; otherwise as a scan. */
  search(tier: Tier, query: SearchQuery, signal: AbortSignal): Promise<string>
  /** The state of a ticker. Throws NotFound, Busy, TierRestricted, InvalidParameter. */
  summary(tier: Tier, query: SnapshotQuery): Promise<SnapshotPage | SnapshotsPage>
  /** A page of daily bars. Throws NotFound. */
  barsPage(tier: Tier, query: BarsQuery): Promise<BarsPage>
  /** Changes whenever an answer may. */
  version(): Promise<string>
  /** The hash of all data: equal data have equal hashes, on any server. */
  snapshot(): Promise<string>
  /** Changes whenever answers about these series may. */
  stamp(series: readonly SeriesKey[]): Promise<string>
  /** The day that ranges count back from. */
  today(): Promise<Day>
  /** Of the newest bar of all; null if there is none. */
  newestDay(): Promise<Day | null>
  /** Fields that wait for an import; null: none does. */
  waiting(): Promise<WaitingFields | null>
  /** Throws when the data cannot be read. */
  check(): Promise<void>
  close(): Promise<void>
}

/** The services that a server needs. Closing the data is not its business, and does not close the accounts. */
export interface Service extends ServedData {
  /** Scans that are made at once. */
  readonly scansAtOnce: number
  accounts: Accounts
  /** The new file of data that could not be taken over; null: there is none. */
  refused(): RefusedFile | null
}

/** A new file of data that is not sound, without its path: everyone may see this. */
export interface RefusedFile {
  why: string
  /** ISO time, UTC. */
  since: string
}

/** The result of a question, before it is an answer. */
export interface QuestionResult {
  body: string
  /** Why it is empty; null where it is not. */
  note: string | null
  /** Its price in credits, if that depends on the answer. */
  credits?: number
}

/** A parsed request URL. */
export interface Question {
  /** The least that an answer costs; 0: it is free. */
  credits: number
  /** The normal spelling of the question. */
  key: string
  /** The normal spelling of the question whose answer contains this one. */
  fullKey: string
  /** The names of its answers in the cache, by tier. */
  names?: Partial<Record<Tier, string>>
  /** Is the same as long as the answer is; null: only as long as nothing is written. */
  stamp(service: Service): Promise<string | null>
  /** It takes long, so it waits in the queue, and stops when no caller waits for it any more. */
  isHeavy: boolean
  /** The body of the whole, and why it is empty. */
  answer(service: Service, tier: Tier, signal: AbortSignal): Promise<QuestionResult>
  /** Cuts the answer out of the full body. */
  cutOut(body: string): string
  /** Whether there is an answer, judged without computing it. Throws TierRestricted, InvalidParameter. */
  isAnswerable(service: Service, tier: Tier): Promise<boolean>
}

/** How the query of a path is read. Throws InvalidParameter. @param pathTicker the ticker in the path, as it was sent */
export type ReadQuestion = (search: string, pathTicker: string) => Question

export function readEvents(search: string): Question {
  return eventsQuestion(EVENTS_PATH, parseEvents(parametersOf(search)))
}

/** The events of a field, at either path. */
export function eventsQuestion(path: string, query: EventsQuery): Question {
  const key = questionKey(path, query)
  const { timeframe, context } = query
  const series = [query, ...(context === undefined ? [] : [{ ...context, timeframe }])]
  return {
    credits: eventsCost(query),
    key,
    fullKey: key,
    stamp: service => service.stamp(series),
    isHeavy: false,
    async answer(service, tier) {
      const bands = service.bands(tier)
      const page = await bands.events(query)
      const why = page.total_occurrences > 0 ? null : await bands.whyEmpty(query)
      return { body: JSON.stringify(page), note: why && wordsAsText(emptyNote(why, query).reason) }
    },
    cutOut: body => body,
    async isAnswerable(service, tier) {
      entitle(query, tier, BUILT_IN)
      const tickers = series.map(({ ticker }) => ticker)
      return (await service.bands(tier).known(tickers)).length === tickers.length
    },
  }
}

/** A scan reads every ticker regardless of its limit, so the cached answer serves all limits. */
export function readOversold(search: string): Question {
  const query = parseOversold(parametersOf(search))
  const whole = { ...query, limit: MAX_LIMIT }
  return {
    credits: OVERSOLD_COST,
    key: questionKey(OVERSOLD_PATH, query),
    fullKey: questionKey(OVERSOLD_PATH, whole),
    stamp: async () => null,
    isHeavy: true,
    async answer(service, tier, signal) {
      const body = await service.oversold(tier, whole, signal)
      if (!body.startsWith(NO_MATCH)) return { body, note: null }
      const day = query.date ?? (await service.today())
      return { body, note: emptyScanNote(query, JSON.parse(body), formatDay(day)) }
    },
    cutOut: body => firstMatches(body, query.limit),
    async isAnswerable(service, tier) {
      await service.checkOversold(tier, query)
      return true
    },
  }
}

const NO_MATCH = '{"matches":[],'

function firstMatches(body: string, limit: number): string {
  if (limit === MAX_LIMIT) return body
  const page: OversoldPage = JSON.parse(body)
  return page.matches.length <= limit ? body : JSON.stringify({ ...page, matches: page.matches.slice(0, limit) })
}

/** Parsers sort the values of a query. */
export function questionKey(path: string, query: object): string {
  return `${path} ${JSON.stringify(query)}`
}
