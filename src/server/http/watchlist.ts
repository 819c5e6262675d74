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
import { type Question, questionKey, type Service } from './question.js'

/** How the query of a path about a watch list is read. Throws InvalidParameter. */
export type ReadListQuestion = (search: string, tickers: readonly string[]) => Question

/** The questions about the watch list of the account. The list is a part of the question. */
export const LIST_QUESTIONS: ReadonlyMap<string, ReadListQuestion> = new Map([
  [WATCHLIST_PATH, readWatchlist],
  [WATCHLIST_CHANGES_PATH, readChanges],
])

type ListQuery = { tickers: readonly string[]; timeframe: Timeframe }

/** A credit for each ticker, and at least one. */
export function watchlistCost(tickers: number): number {
  return Math.max(1, tickers) * SUMMARY_COST
}

function listQuestion(path: string, query: ListQuery, credits: number, answer: Question['answer']): Question {
  const key = questionKey(path, query)
  return {
    credits,
    key,
    fullKey: key,
    isHeavy: false,
    answer,
    stamp: async () => null,
    cutOut: body => body,
    isAnswerable: async () => true,
  }
}

function readWatchlist(search: string, tickers: readonly string[]): Question {
  const query = { tickers, ...readParams(WATCHLIST, parametersOf(search)) }
  return listQuestion(WATCHLIST_PATH, query, watchlistCost(tickers.length), async (service, tier) => {
    const page = await watchlistPage(service, tier, query)
    return { body: JSON.stringify(page), note: tickers.length > 0 ? null : EMPTY_LIST }
  })
}

const EMPTY_LIST = 'The watch list is empty.'

/** A ticker without data here stays on the list, and is left out of the answer. */
async function watchlistPage(service: Service, tier: Tier, { tickers, timeframe }: ListQuery): Promise<WatchlistPage> {
  const watchlist: SnapshotPage[] = []
  for (const ticker of tickers) {
    const read = parseSummary({ ticker, timeframe })
    if (read.of !== 'snapshot') continue
    const page = await service.summary(tier, read.query).catch(error => {
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

function readChanges(search: string, tickers: readonly string[]): Question {
  const query = { tickers, ...readParams(WATCHLIST, parametersOf(search)) }
  return listQuestion(WATCHLIST_CHANGES_PATH, query, SUMMARY_COST, async (service, tier) => {
    const page = await changesPage(service, tier, query)
    const none = page.tickers_changed > 0 ? null : 'No band of the list was entered on the newest bar.'
    return { body: JSON.stringify(page), note: tickers.length === 0 ? EMPTY_LIST : none }
  })
}

/** The bands that were entered on the newest bar of each ticker. */
async function changesPage(
  service: Service,
  tier: Tier,
  { tickers, timeframe }: ListQuery,
): Promise<WatchlistChangesPage> {
  const bands = service.bands(tier)
  const there = (await bands.known(tickers)).map(({ ticker }) => ticker)
  const states = there.length === 0 ? [] : await currentStates(bands, there, timeframe)
  const changes: Record<string, WatchlistChange[]> = {}
  const context: WatchlistChangesPage['ticker_context'] = {}
  for (const ticker of there) {
    const own = states.filter(state => state.ticker === ticker && state.initial === false)
    const entered = own.map(({ since }) => since).filter(since => since !== null)
    context[ticker] = { last_changed_date: entered.sort().at(-1) ?? null }
    const changed = own.filter(({ bars }) => bars === 1).map(listedChange)
    if (changed.length > 0) changes[ticker] = changed
  }
  const day = await service.newestDay()
  return {
    timeframe,
    run_date: day === null ? null : formatDay(day),
    changes,
    ticker_context: context,
    tickers_checked: there.length,
    tickers_changed: Object.keys(changes).length,
  }
}

async function currentStates(
  bands: ReturnType<Service['bands']>,
  tickers: readonly string[],
  timeframe: Timeframe,
): Promise<FieldState[]> {
  const { now } = await import('../../research/tally/now.js')
  const { fields, omitted } = await fieldsFor(bands, undefined, { ticker: tickers[0], timeframe })
  return (await now(bands, { tickers, fields, omitted, timeframe, skip: await bands.missing?.() })).states
}

function listedChange({ field, band, prev_band, bars }: FieldState): WatchlistChange {
  return { field: longNameOf(field), from: prev_band, to: band, periods_in_current_state: bars }
}

/** What a request does to a watch list, and the answer to it. @param written the body of the request */
export type ChangeList = (accounts: Accounts, account: number, written: object) => Promise<object>

/** The list as it was, and the new one, differ by what an answer says. */
export const LIST_CHANGES: Readonly<Record<'POST' | 'DELETE', ChangeList>> = {
  async POST(accounts, account, written) {
    const { tickers } = readParams(WATCHED, written)
    const before = await accounts.watchedTickers(account)
    const list = await accounts.changeWatchList(account, { add: tickers, remove: [], maxTickers: MAX_WATCHED })
    const [already_saved, added] = [true, false].map(known => tickers.filter(one => before.includes(one) === known))
    return { added, already_saved, watchlist_count: list.length, watchlist_limit: MAX_WATCHED }
  },
  async DELETE(accounts, account, written) {
    const { tickers } = readParams(WATCHED, written)
    const before = await accounts.watchedTickers(account)
    const list = await accounts.changeWatchList(account, { add: [], remove: tickers, maxTickers: MAX_WATCHED })
    return { removed: tickers.filter(one => before.includes(one)), watchlist_count: list.length }
  },
}
