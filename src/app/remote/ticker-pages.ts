import { Upstream } from '../../core/errors.js'
import { type Day, formatDay } from '../../core/model/day.js'
import type { EventsPage, ExportedBar } from '../../core/model/event.js'
import type { AccountPage, BarsPage, SearchPage, SnapshotPage, SnapshotsPage } from '../../core/model/pages.js'
import { BARS, type BarsParams, MAX_BARS, parseBars } from '../../core/params/pages.js'
import { definedParams, type Table } from '../../core/params/row.js'
import { parseSearch, SEARCH } from '../../core/params/search.js'
import { parseSummary, SUMMARY } from '../../core/params/summary.js'
import type { StatsPage } from '../../research/tally/tally.js'
import { ACCOUNT_PATH, BARS_PATH, SEARCH_PATH, SUMMARY_PATH } from '../../server/wire/format.js'
import { ACCOUNT_PAGE, BARS_PAGE, SEARCH_PAGE, SUMMARY_PAGE } from '../../server/wire/page-schemas.js'
import { pageOfSchema } from './answer.js'
import type { Transport } from './transport.js'

/** A ticker on one day or several, the events of a field, or their numbers. */
export type SummaryPage = SnapshotPage | SnapshotsPage | EventsPage | StatsPage

/**
 * Questions of a server about tickers, prices and the account. A server with only the specified paths refuses them as
 * not found. Parameters are parsed here only to refuse wrong ones before a request; they are sent as written.
 */
export class TickerPages {
  readonly #transport: Pick<Transport, 'ask'>

  constructor(transport: Pick<Transport, 'ask'>) {
    this.#transport = transport
  }

  async summary(params: object): Promise<SummaryPage> {
    // Refuses wrong parameters before a request.
    parseSummary(params)
    return this.#ask(SUMMARY_PATH, SUMMARY, params, SUMMARY_PAGE, 'a summary')
  }

  async search(params: object): Promise<SearchPage> {
    // Refuses wrong parameters before a request.
    parseSearch(params)
    return this.#ask(SEARCH_PATH, SEARCH, params, SEARCH_PAGE, 'a search')
  }

  async barsPage(params: object): Promise<BarsPage> {
    // Refuses wrong parameters before a request.
    parseBars(params)
    return this.#ask(BARS_PATH, BARS, params, BARS_PAGE, 'a page of bars')
  }

  async account(): Promise<AccountPage> {
    return this.#ask(ACCOUNT_PATH, {}, {}, ACCOUNT_PAGE, 'an account')
  }

  /** All bars of the key's range between two days, both exclusive, oldest first, page by page. */
  async *bars(
    ticker: string,
    { after, before }: { after?: Day | undefined; before?: Day | undefined } = {},
  ): AsyncGenerator<ExportedBar> {
    const params: BarsParams = { ticker, order: 'asc', limit: MAX_BARS }
    if (after !== undefined) params.start = formatDay(after + 1)
    if (before !== undefined) params.end = formatDay(before - 1)
    let cursor: string | null = null
    do {
      if (cursor !== null) params.cursor = cursor
      const page: BarsPage = await this.barsPage(params)
      for (const bar of page.bars) yield { ticker: page.ticker, ...bar }
      // Cursors are dates, which must grow.
      if (page.has_more && (page.next_cursor ?? '') <= (cursor ?? ''))
        throw new Upstream(`the pages of bars of ${page.ticker} do not end: two have the same cursor.`, BARS_PATH, 200)
      cursor = page.has_more ? page.next_cursor : null
    } while (cursor !== null)
  }

  /**
   * Requests the page at a path, whose braces name parameters. Throws Upstream for an answer of another schema.
   * @param what names the page in that error
   */
  async #ask<Page>(
    path: string,
    table: Table,
    params: object,
    schema: Parameters<typeof pageOfSchema>[1],
    what: string,
  ): Promise<Page> {
    const written = definedParams(params, Object.keys(table))
    const search = new URLSearchParams()
    let filledPath = path
    for (const [name, value] of Object.entries(written)) {
      if (path.includes(`{${name}}`)) filledPath = filledPath.replace(`{${name}}`, encodeURIComponent(String(value)))
      else search.set(name, typeof value === 'object' ? JSON.stringify(value) : String(value))
    }
    return pageOfSchema(await this.#transport.ask(filledPath, search), schema, what) as Page
  }
}
