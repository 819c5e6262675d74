import { counted } from '../../core/errors.js'
import type { WatchlistChangesPage, WatchlistPage } from '../../core/model/pages.js'
import { MAX_WATCHED, WATCHLIST } from '../../core/params/pages.js'
import { SUMMARY_COST } from '../../core/tiers.js'
import { WATCHLIST_CHANGES_PATH, WATCHLIST_PATH } from '../wire/format.js'
import { answerWithBody, errorReferences, UNTAGGED_HEADERS } from './openapi-answers.js'
import {
  COMMON_ERRORS,
  curlSample,
  type Operation,
  queryParameters,
  questionOperation,
  REQUEST_HEADERS,
} from './openapi-parts.js'

export function watchlistOperations(): Record<'get' | 'post' | 'delete', Operation> {
  return {
    get: questionOperation({
      operationId: 'showWatchlist',
      tags: ['watchlist'],
      summary: 'The state of each ticker on the watch list of the account',
      description: `The list belongs to the account, and all of its keys share it. Costs ${counted(SUMMARY_COST, 'credit')} for each ticker on the list, and at least one.`,
      parameters: queryParameters(WATCHLIST, WATCHLIST_PATH),
      answer: answerWithBody('The states, in the order of the list.', 'WatchlistPage', {
        none: { summary: 'An empty list', value: NONE },
      }),
      errors: [429],
      samples: [curlSample('The watch list', WATCHLIST_PATH)],
    }),
    post: changeOperation('addToWatchlist', 'Adds tickers to the watch list', 'WatchlistAdded', {
      added: ['AAPL'],
      already_saved: ['GSPC'],
      watchlist_count: 2,
      watchlist_limit: MAX_WATCHED,
    }),
    delete: changeOperation('removeFromWatchlist', 'Takes tickers off the watch list', 'WatchlistRemoved', {
      removed: ['AAPL', 'GSPC'],
      watchlist_count: 0,
    }),
  }
}

export function watchlistChangesOperation(): Operation {
  return questionOperation({
    operationId: 'listWatchlistChanges',
    tags: ['watchlist'],
    summary: 'What changed on the watch list on the newest bar of each ticker',
    description: `Costs ${counted(SUMMARY_COST, 'credit')}, for any number of tickers.`,
    parameters: queryParameters(WATCHLIST, WATCHLIST_CHANGES_PATH),
    answer: answerWithBody('The changes by ticker; none is an answer too.', 'WatchlistChangesPage', {
      one: { summary: 'AAPL and GSPC, asked on Free', value: CHANGED },
    }),
    errors: [429],
    samples: [curlSample('What changed', WATCHLIST_CHANGES_PATH)],
  })
}

/** The operation that adds tickers to the watch list, or removes them. @param schema its answer's, by name */
function changeOperation(operationId: string, summary: string, schema: string, example: object): Operation {
  return {
    operationId,
    tags: ['watchlist'],
    summary,
    description: `A list has at most ${MAX_WATCHED} tickers. A ticker may be without data here. Free.`,
    security: [{ bearer: [] }],
    parameters: REQUEST_HEADERS,
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: {
            type: 'object',
            required: ['tickers'],
            additionalProperties: false,
            properties: { tickers: { type: 'array', items: { type: 'string' } } },
          },
          example: { tickers: ['AAPL', 'GSPC'] },
        },
      },
    },
    responses: {
      200: answerWithBody(
        'The tickers that changed, and the number on the list.',
        schema,
        { two: { summary: 'Two tickers', value: example } },
        UNTAGGED_HEADERS,
      ),
      ...errorReferences(...COMMON_ERRORS),
    },
  }
}

const NONE: WatchlistPage = {
  watchlist: [],
  tickers_saved: 0,
  tickers_found: 0,
  watchlist_limit: MAX_WATCHED,
  data_status: 'eod',
  as_of_date: null,
}

const CHANGED: WatchlistChangesPage = {
  timeframe: 'daily',
  run_date: '2018-05-11',
  changes: {
    GSPC: [{ field: 'volume_ratio_band', from: 'below_average', to: 'normal', periods_in_current_state: 1 }],
  },
  ticker_context: { AAPL: { last_changed_date: '2018-05-10' }, GSPC: { last_changed_date: '2018-05-11' } },
  tickers_checked: 2,
  tickers_changed: 1,
}
