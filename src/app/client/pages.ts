import type { BarsPage, SearchPage } from '../../core/model/pages.js'
import { type BarsParams, parseBars } from '../../core/params/pages.js'
import { parseSearch, type SearchParams } from '../../core/params/search.js'
import { parseSummary, type SummaryParams } from '../../core/params/summary.js'
import type { Local } from '../../data/local/local.js'
import type { SummaryPage } from '../remote/remote.js'
import { Questions } from './questions.js'

/** The questions about tickers and prices, answered by a database or a server with the same pages. */
export interface TickerAnswers {
  summary(params: object): Promise<SummaryPage>
  search(params: object): Promise<SearchPage>
  barsPage(params: object): Promise<BarsPage>
}

/** Questions that are answered by the page, with the bodies of `GET /v1/summary`, `/v1/search` and `/v1/ohlcv`. */
export abstract class Pages extends Questions {
  /**
   * A ticker on one day (default: the newest), or on each bar of several (`start`, `end`). With `field` its events, or
   * with `stats` their outcomes in numbers.
   */
  summary(params: SummaryParams): Promise<SummaryPage> {
    return this.pages.summary(params)
  }

  /** The tickers that meet filters such as `{ field: 'rsi_zone', op: 'eq', value: 'oversold' }`, with some columns. */
  search(params: SearchParams = {}): Promise<SearchPage> {
    return this.pages.search(params)
  }

  /** Daily bars in pages: the next one begins at `next_cursor`. */
  barsPage(params: BarsParams): Promise<BarsPage> {
    return this.pages.barsPage(params)
  }

  protected abstract get pages(): TickerAnswers
}

/** The answers of the database here. A summary is of prices and bands on days, of events, or of their later returns. */
export function pagesOf(local: Local): TickerAnswers {
  return {
    async summary(params) {
      const summary = parseSummary(params)
      if (summary.of === 'snapshot')
        return (await import('../../data/local/summary.js')).tickerSummary(local, summary.query)
      if (!summary.stats) return local.events(summary.query)
      return (await import('../../research/tally/tally.js')).statsPage(local, summary.query)
    },
    async search(params) {
      return (await import('../../data/local/search.js')).search(local, parseSearch(params))
    },
    async barsPage(params) {
      return (await import('../../data/local/bars-page.js')).barsPage(local, parseBars(params))
    },
  }
}
