import { NotFound } from '../../core/errors.js'
import { formatDay } from '../../core/model/day.js'
import type { SnapshotPage, WatchlistChange, WatchlistChangesPage, WatchlistPage } from '../../core/model/pages.js'
import type { Tier, Timeframe } from '../../core/model/terms.js'
import { MAX_WATCHED, WATCHED, WATCHLIST } from '../../core/params/pages.js'
import { longNameOf } from '../../core/params/places.js'
import { parametersOf } from '../../core/params/questions.js'
import { readParams } from '../../core/params/row.js'
import { parseSummary } from '../../core/params/summary.js'
import { fieldsFor } from '../../core/source.js'
import { SUMMARY_COST } from '../../core/tiers.js'
import type { FieldState } from '../../research/tally/now.js'
import type { Accounts } from '../accounts/accounts.js'
import { WATCHLIST_CHANGES_PATH, WATCHLIST_PATH } from '../wire/format.js'
import { keyAndDefaults, type Question, questionKey, type Service } from './question.js'

/** Parses a question about a watch list. Throws InvalidParameter. @param tickers on the list */
export type ReadListQuestion = (search: string, tickers: readonly string[]) => Question

/** Path → the function that parses its questions about the watch list of the account. */
export const LIST_QUESTIONS: ReadonlyMap<string, ReadListQuestion> = new Map([
  [WATCHLIST_PATH, readWatchlist],
  [WATCHLIST_CHANGES_PATH, readChanges],
])

type ListQuery = { tickers: readonly string[]; timeframe: Timeframe }

/** A question about the tickers of a watch list, which are part of its key. */
function listQuestion(path: string, query: ListQuery, credits: number, answer: Question['answer']): Question {
  return { credits, ...keyAndDefaults(questionKey(path, query)), answer, isAnswerable: async () => true }
}

/** Parses a question for the state of each ticker on the list. */
function readWatchlist(search: string, tickers: readonly string[]): Question {
  const query = { tickers, ...readParams(WATCHLIST, parametersOf(search)) }
  // A credit for each ticker, and at least one.
  const credits = Math.max(1, tickers.length) * SUMMARY_COST
  return listQuestion(WATCHLIST_PATH, query, credits, async (service, tier) => {
    const page = await watchlistPage(service, tier, query)
    return { body: JSON.stringify(page), note: tickers.length > 0 ? null : EMPTY_LIST }
  })
}

const EMPTY_LIST = 'The watch list is empty.'

/** The state of each ticker on the list; tickers without data here are left out. */
async function watchlistPage(service: Service, tier: Tier, { tickers, timeframe }: ListQuery): Promise<WatchlistPage> {
  const watchlist: SnapshotPage[] = []
  for (const ticker of tickers) {
    const summary = parseSummary({ ticker, timeframe })
    // Without a field it is always a snapshot.
    if (summary.of !== 'snapshot') continue
    const page = await service.summary(tier, summary.query).catch(error => {
      if (error instanceof NotFound) return null
      throw error
    })
    if (page !== null && !('snapshots' in page)) watchlist.push(page)
  }
  const days = watchlist.map(({ as_of_date: day }) => day).filter(day => day !== null)
  return {
    watchlist,
    tickers_saved: tickers.length,
    tickers_found: watchlist.length,
    watchlist_limit: MAX_WATCHED,
    data_status: 'eod',
    as_of_date: days.sort().at(-1) ?? null,
  }
}

/** Parses a question for the bands that changed on the newest bar of each ticker on the list. */
function readChanges(search: string, tickers: readonly string[]): Question {
  const query = { tickers, ...readParams(WATCHLIST, parametersOf(search)) }
  return listQuestion(WATCHLIST_CHANGES_PATH, query, SUMMARY_COST, async (service, tier) => {
    const page = await changesPage(service, tier, query)
    let note: string | null = null
    if (tickers.length === 0) note = EMPTY_LIST
    else if (page.tickers_changed === 0) note = 'No band of the list was entered on the newest bar.'
    return { body: JSON.stringify(page), note }
  })
}

/** The bands that were entered on the newest bar of each ticker. */
async function changesPage(service: Service, tier: Tier, query: ListQuery): Promise<WatchlistChangesPage> {
  const { tickers, timeframe } = query
  const bands = service.bands(tier)
  const knownTickers = (await bands.known(tickers)).map(({ ticker }) => ticker)
  const states = knownTickers.length === 0 ? [] : await currentStates(bands, knownTickers, timeframe)
  const changes: Record<string, WatchlistChange[]> = {}
  const context: WatchlistChangesPage['ticker_context'] = {}
  for (const ticker of knownTickers) {
    // A first band, `initial`, was not entered by a change; a band of one bar was entered on the newest bar.
    const tickerStates = states.filter(state => state.ticker === ticker && state.initial === false)
    const changeDays = tickerStates.map(({ since }) => since).filter(since => since !== null)
    context[ticker] = { last_changed_date: changeDays.sort().at(-1) ?? null }
    const changed = tickerStates.filter(({ bars }) => bars === 1).map(listedChange)
    if (changed.length > 0) changes[ticker] = changed
  }
  const day = await service.newestDay()
  return {
    timeframe,
    run_date: day === null ? null : formatDay(day),
    changes,
    ticker_context: context,
    tickers_checked: knownTickers.length,
    tickers_changed: Object.keys(changes).length,
  }
}

/** The present state of each field that the caller's tier may see and that has data. @param tickers at least one */
async function currentStates(
  bands: ReturnType<Service['bands']>,
  tickers: readonly string[],
  timeframe: Timeframe,
): Promise<FieldState[]> {
  const { now } = await import('../../research/tally/now.js')
  // No field is named: the tier decides, so any ticker will do.
  const { fields, omitted } = await fieldsFor(bands, undefined, { ticker: tickers[0], timeframe })
  // Stored pages may lack fields of a ticker.
  const isNotStored = await bands.missing?.()
  const { states } = await now(bands, { tickers, fields, omitted, timeframe, skip: isNotStored })
  return states
}

/** The entry of the page for a field whose band changed. */
function listedChange({ field, band, prev_band, bars }: FieldState): WatchlistChange {
  return { field: longNameOf(field), from: prev_band, to: band, periods_in_current_state: bars }
}

/** Changes a watch list, and returns the body of the answer. @param body the body of the request */
export type ChangeList = (accounts: Accounts, account: number, body: object) => Promise<object>

/** Method → how it changes the list. */
export const LIST_CHANGES: Readonly<Record<'POST' | 'DELETE', ChangeList>> = {
  async POST(accounts, account, body) {
    const { tickers } = readParams(WATCHED, body)
    const before = await accounts.watchedTickers(account)
    const list = await accounts.changeWatchList(account, { add: tickers, remove: [], maxTickers: MAX_WATCHED })
    const added = tickers.filter(ticker => !before.includes(ticker))
    const already_saved = tickers.filter(ticker => before.includes(ticker))
    return { added, already_saved, watchlist_count: list.length, watchlist_limit: MAX_WATCHED }
  },
  async DELETE(accounts, account, body) {
    const { tickers } = readParams(WATCHED, body)
    const before = await accounts.watchedTickers(account)
    const list = await accounts.changeWatchList(account, { add: [], remove: tickers, maxTickers: MAX_WATCHED })
    return { removed: tickers.filter(ticker => before.includes(ticker)), watchlist_count: list.length }
  },
}
