import { counted } from '../../core/errors.js'
import type { BarsPage, SearchPage, SnapshotPage, SnapshotsPage } from '../../core/model/pages.js'
import { BARS, BARS_PER_CREDIT } from '../../core/params/pages.js'
import { SEARCH } from '../../core/params/search.js'
import { SUMMARY } from '../../core/params/summary.js'
import { eventsCost, PLANS, SEARCH_COST, SUMMARY_COST } from '../../core/tiers.js'
import { ACCOUNT_PATH, BARS_PATH, EVENTS_PATH, SCHEMA_PATH, SEARCH_PATH, SUMMARY_PATH } from '../wire/format.js'
import { accountPage } from './account.js'
import { answerWithBody, EVENTS_EXAMPLES, errorReferences, UNTAGGED_HEADERS } from './openapi-answers.js'
import {
  COMMON_ERRORS,
  curlSample,
  type Operation,
  queryParameters,
  questionOperation,
  REQUEST_HEADERS,
  tiersWith,
} from './openapi-parts.js'
import { fieldsPage } from './paths.js'

export function summaryOperation(): Operation {
  const path = SUMMARY_PATH.replace('{ticker}', 'AAPL')
  return questionOperation({
    operationId: 'summarize',
    tags: ['tickers'],
    summary: 'A ticker on one day or several, or the events of one of its fields',
    description: `Without \`start\` and \`field\` the state of the ticker: the prices of its last bar, and the band in force of each field of the tier. With \`date\` the state as it was known on that day. With \`start\` the state on each bar of some days, oldest first. \`date\` and \`start\` need ${tiersWith('context')}, and lie within the range of the tier.

With \`field\` the events of that field: the body of \`${EVENTS_PATH}\`. With \`stats\` as well, the numbers of their outcomes, for ${tiersWith('aftermath')}.

Costs ${counted(SUMMARY_COST, 'credit')}, with a context ${counted(eventsCost({ context: { ticker: '', field: '', band: '' } }), 'credit')}.`,
    parameters: queryParameters(SUMMARY, SUMMARY_PATH),
    answer: answerWithBody('The state, the states, the events, or their numbers.', 'SummaryPage', SUMMARY_EXAMPLES),
    errors: [403, 404, 429],
    samples: [
      curlSample('AAPL now', path),
      curlSample('Its trend, and how settled that is', `${path}?fields=trend&meta=true`),
      curlSample('The last times it became oversold', `${path}?field=momentum_rsi_zone&band=oversold`),
    ],
  })
}

export function searchOperation(): Operation {
  const filters = [{ field: 'momentum_rsi_zone', op: 'eq', value: 'overbought' }]
  const encoded = encodeURIComponent(JSON.stringify(filters))
  return questionOperation({
    operationId: 'search',
    tags: ['tickers'],
    summary: 'The tickers that meet all filters',
    description: `A filter compares a column with a value: \`eq\`, \`neq\`, \`in\` (one of a list), and of numbers \`gt\`, \`gte\`, \`lt\`, \`lte\`. The columns are the fields, the prices of the last bar, and the identity of the ticker; ${SCHEMA_PATH} lists them. A missing value meets no filter. A ticker whose last bar is more than seven days old is not looked at. Costs ${counted(SEARCH_COST, 'credit')}, for any number of tickers.

In a result, the key of a band is the name of its field as the question wrote it: the short or the long one. \`date\` needs ${tiersWith('context')}.`,
    parameters: queryParameters(SEARCH, SEARCH_PATH),
    answer: answerWithBody('The results in the order asked for; none is an answer too.', 'SearchPage', {
      overbought: {
        summary: 'The overbought ones, asked on Free with fields ticker, trend_direction and close',
        value: OVERBOUGHT,
      },
    }),
    errors: [403, 429],
    samples: [curlSample('The overbought tickers', `${SEARCH_PATH}?filters=${encoded}`)],
  })
}

export function barsOperation(): Operation {
  const path = BARS_PATH.replace('{ticker}', 'AAPL')
  return questionOperation({
    operationId: 'listBars',
    tags: ['tickers'],
    summary: 'Daily bars of one ticker, in pages',
    description: `The stored daily bars within the range of the tier. A page that is not the last one has a \`next_cursor\`: the same question with it as \`cursor\` gives the next page, and all pages together have each bar once. Costs a credit for each ${counted(BARS_PER_CREDIT, 'bar')}, and at least one.`,
    parameters: queryParameters(BARS, BARS_PATH),
    answer: answerWithBody('The bars; none is an answer too.', 'BarsPage', {
      newest: { summary: 'The newest two bars of AAPL, asked on Pro', value: NEWEST },
    }),
    errors: [404, 429],
    samples: [
      curlSample('The newest hundred bars of AAPL', path),
      curlSample('A year, oldest first', `${path}?start=2017-01-01&end=2017-12-31&order=asc&limit=1000`),
    ],
  })
}

export function fieldsOperation(): Operation {
  return questionOperation({
    operationId: 'listFields',
    tags: ['service'],
    summary: 'The fields and their bands',
    description:
      'Each field has a short name, which events and scans take, and a long one. The paths of summaries and searches take both. Free.',
    parameters: [],
    answer: answerWithBody('All fields, in the order of the specification.', 'FieldsPage', {
      fields: { summary: 'The fields', value: fieldsPage() },
    }),
    errors: [],
    samples: [curlSample('The fields', SCHEMA_PATH)],
  })
}

export function accountOperation(): Operation {
  const caller = { name: 'research', tier: 'plus' } as const
  const page = accountPage(caller, PLANS.plus.credits, { day: 12, hour: 3 }, EXAMPLE_DAY)
  const examples = { plus: { summary: 'An account on Plus', value: page } }
  return {
    operationId: 'showAccount',
    tags: ['service'],
    summary: 'The tier of the account, its limits, and the credits that are left',
    description: 'Free. The answer has no ETag, and is not to be kept.',
    security: [{ bearer: [] }],
    parameters: REQUEST_HEADERS,
    responses: {
      200: answerWithBody('The account of the key.', 'AccountPage', examples, UNTAGGED_HEADERS),
      ...errorReferences(...COMMON_ERRORS),
    },
    'x-codeSamples': [curlSample('The account', ACCOUNT_PATH)],
  }
}

/** The last day of the bundled sample, 2018-05-11. */
const EXAMPLE_DAY = 17_662

const NEWEST: BarsPage = {
  ticker: 'AAPL',
  asset_class: null,
  currency: null,
  timeframe: 'daily',
  data_status: 'eod',
  adjustment: 'split_and_dividend_adjusted',
  order: 'desc',
  start: '2013-05-12',
  end: null,
  row_count: 2,
  has_more: true,
  next_cursor: '2018-05-10',
  bars: [
    { date: '2018-05-11', open: 189.490005, high: 190.059998, low: 187.449997, close: 188.589996, volume: 25_806_600 },
    {
      date: '2018-05-10',
      open: 187.01884487582564,
      high: 189.6387323730853,
      low: 186.92917963241564,
      close: 189.309998,
      volume: 27_989_300,
    },
  ],
  plan_history_days: 1_826,
  plan: 'pro',
}

const OVERBOUGHT: SearchPage = {
  timeframe: 'daily',
  date: '2018-05-11',
  fields: ['ticker', 'trend_direction', 'close'],
  filter_count: 1,
  result_count: 1,
  match_count: 1,
  total_scanned: 10,
  has_more: false,
  results: [{ ticker: 'AAPL', trend_direction: 'strong_uptrend', close: 188.589996 }],
}

const IDENTITY = {
  ticker: 'AAPL',
  timeframe: 'daily',
  asset_class: null,
  sector: null,
  market_cap_tier: null,
  data_status: 'eod',
} as const

const FREE: SnapshotPage = {
  ...IDENTITY,
  as_of_date: '2018-05-11',
  ohlcv: { open: 189.490005, high: 190.059998, low: 187.449997, close: 188.589996, volume: 25_806_600 },
  momentum: { rsi_zone: 'overbought', macd_state: 'expanding_positive' },
  trend: { direction: 'strong_uptrend', ma_alignment: 'aligned_bullish' },
  volume: { ratio_band: 'normal', accumulation_state: 'accumulation' },
  volatility: { regime: 'above_normal' },
  support_level: { status: 'intact' },
  resistance_level: { status: 'breached' },
}

const SETTLED: SnapshotPage = {
  ...IDENTITY,
  as_of_date: '2018-05-11',
  momentum: {
    rsi_zone: 'overbought',
    rsi_zone_meta: {
      timeframe: 'daily',
      periods_in_current_state: 3,
      flips_recent: 6,
      flips_lookback: '30d',
      stability: 'volatile',
    },
  },
}

const DAYS: SnapshotsPage = {
  ...IDENTITY,
  start: '2018-05-10',
  end: null,
  row_count: 2,
  total_rows: 2,
  has_more: false,
  snapshots: [
    { as_of_date: '2018-05-10', ohlcv: { close: 189.309998 }, trend: { direction: 'strong_uptrend' } },
    { as_of_date: '2018-05-11', ohlcv: { close: 188.589996 }, trend: { direction: 'strong_uptrend' } },
  ],
}

const SUMMARY_EXAMPLES = {
  free: { summary: 'AAPL, asked on Free', value: FREE },
  settled: { summary: 'One field with its stability, asked on Pro', value: SETTLED },
  days: { summary: 'Two places on each bar of some days, asked on Pro', value: DAYS },
  events: EVENTS_EXAMPLES.daily!,
}
