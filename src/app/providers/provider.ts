// For: bars and facts of vendors, asked with the user's own key.
// In: the row of a vendor, tickers, and the database that they go into.
// Out: paced calls, whole tickers in the database, and a report of each.

import { type Day, formatDay, parseDay } from '../../core/model/day.js'
import type { Adjustment } from '../../core/model/series.js'

/**
 * A vendor as data: how to call it, how often, and how it answers. The readers of files recognise the layout of an
 * answer, so a vendor needs no code. A user may add vendors in `providers.yaml`.
 */
export interface Provider {
  name: string
  /** Which data, and how much of it is free. */
  about: string
  /** What the vendor's terms allow, in one sentence, and their address. */
  terms: string
  terms_url: string
  /** What a user needs: nothing, a key, a key of two parts (`id:secret`), or a name with an e-mail address. */
  needs: 'nothing' | 'key' | 'id:secret' | 'contact'
  /** Where a user gets it. */
  key_url?: string
  /** Scheme and host; a key is sent only to this origin. */
  base: string
  /** With `{symbol}` or `{symbols}`, and `{from}` and `{to}` as YYYY-MM-DD; `{key}` where the key is part of it. */
  path: string
  /** With `{key}`, or `{id}` and `{secret}`. */
  headers: Readonly<Record<string, string>>
  /** At most this many calls in this many seconds. */
  pace: readonly [calls: number, seconds: number]
  /** The largest number of tickers in a call (default 1), of days in a call, and of bars on a page. */
  symbols: number
  days?: number
  bars?: number
  /** The first day that there is. */
  first: string
  holds: 'bars' | 'facts'
  prices: Adjustment
  /** How a class of shares is written there: `-` for BRK-B; absent where a ticker is sent as it is. */
  class_mark?: string
  /** What follows a symbol without an exchange: `.US`. */
  suffix?: string
  /** The key of an answer with the mark of the next page, and the parameter that takes it. */
  next?: readonly [key: string, param: string]
  /** The keys of a refusal in an answer with status 200: its number, and its message. */
  refusal?: { status: string; message: string }
  /** The header with the second, since 1970, from which on calls are allowed again. */
  reset?: string
  /** When a day's bar is final: at this hour in this time zone, 24 at midnight. */
  final: { zone: string; hour: number }
  /** One call for all tickers of a day: a path with `{day}`. */
  market?: string
  /** Where the vendor lists its own number of each ticker: its address, and the keys of ticker and number. */
  numbers?: { url: string; ticker: string; number: string; digits: number }
}

const NEW_YORK = { zone: 'America/New_York', hour: 20 } as const

/** The vendors that need no file, in the order in which a newcomer would try them. */
export const BUILT_IN_PROVIDERS: readonly Provider[] = [
  {
    name: 'coinbase',
    about: 'crypto currencies that trade at Coinbase (BTC-USD), since 2015; no account needed',
    terms: 'Public market data for your own use; selling or publishing it needs the permission of Coinbase.',
    terms_url: 'https://www.coinbase.com/legal/market_data',
    needs: 'nothing',
    base: 'https://api.exchange.coinbase.com',
    path: '/products/{symbol}/candles?granularity=86400&start={from}&end={to}',
    headers: {},
    pace: [10, 1],
    symbols: 1,
    days: 300,
    first: '2015-07-20',
    holds: 'bars',
    prices: 'raw',
    final: { zone: 'UTC', hour: 24 },
  },
  {
    name: 'tiingo',
    about: 'US stocks, ETFs and funds, the whole history, adjusted for splits and dividends; free with an account',
    terms: 'For your own use with your own token; passing the data on needs a licence.',
    terms_url: 'https://www.tiingo.com/about/terms',
    needs: 'key',
    key_url: 'https://www.tiingo.com/account/api/token',
    base: 'https://api.tiingo.com',
    path: '/tiingo/daily/{symbol}/prices?startDate={from}&endDate={to}',
    headers: { authorization: 'Token {key}' },
    pace: [50, 3600],
    symbols: 1,
    first: '1962-01-02',
    holds: 'bars',
    prices: 'adjusted',
    class_mark: '-',
    final: NEW_YORK,
  },
  {
    name: 'alpaca',
    about: 'US stocks and ETFs since 2016, a hundred tickers a call; free with an account',
    terms: 'For your own use with your own account; redistribution is not allowed.',
    terms_url: 'https://alpaca.markets/disclosures',
    needs: 'id:secret',
    key_url: 'https://app.alpaca.markets',
    base: 'https://data.alpaca.markets',
    path: '/v2/stocks/bars?symbols={symbols}&timeframe=1Day&start={from}&end={to}&adjustment=all&limit=10000',
    headers: { 'apca-api-key-id': '{id}', 'apca-api-secret-key': '{secret}' },
    pace: [200, 60],
    symbols: 100,
    bars: 10_000,
    first: '2016-01-01',
    holds: 'bars',
    prices: 'adjusted',
    class_mark: '.',
    next: ['next_page_token', 'page_token'],
    reset: 'x-ratelimit-reset',
    final: NEW_YORK,
  },
  {
    name: 'sec',
    about: 'reports of US companies (facts, not prices), from the SEC; no account, a name and an e-mail address',
    terms: 'Public data; the SEC asks each program to say who it is, and for at most 10 calls a second.',
    terms_url: 'https://www.sec.gov/os/webmaster-faq#developers',
    needs: 'contact',
    base: 'https://data.sec.gov',
    path: '/api/xbrl/companyfacts/CIK{symbol}.json',
    headers: { 'user-agent': '{key}' },
    pace: [8, 1],
    symbols: 1,
    first: '2009-01-01',
    holds: 'facts',
    prices: 'raw',
    class_mark: '-',
    final: { zone: 'UTC', hour: 24 },
    numbers: {
      url: 'https://www.sec.gov/files/company_tickers.json',
      ticker: 'ticker',
      number: 'cik_str',
      digits: 10,
    },
  },
  {
    name: 'eodhd',
    about: 'exchanges of the world (BMW.XETRA); free with an account: a year back, 20 calls a day',
    terms: 'A personal plan is for your own use; a commercial plan allows more.',
    terms_url: 'https://eodhd.com/financial-apis/terms-conditions',
    needs: 'key',
    key_url: 'https://eodhd.com/register',
    base: 'https://eodhd.com',
    path: '/api/eod/{symbol}?from={from}&to={to}&fmt=json&api_token={key}',
    headers: {},
    pace: [1000, 60],
    symbols: 1,
    first: '1960-01-01',
    holds: 'bars',
    prices: 'adjusted',
    suffix: '.US',
    final: NEW_YORK,
  },
  {
    name: 'massive',
    about: 'US stocks, adjusted only for splits; free with an account: two years back, all stocks of a day in a call',
    terms: 'For your own use; the data may not be served on to others.',
    terms_url: 'https://massive.com/terms',
    needs: 'key',
    key_url: 'https://massive.com/dashboard/keys',
    base: 'https://api.massive.com',
    path: '/v2/aggs/ticker/{symbol}/range/1/day/{from}/{to}?adjusted=true&limit=50000',
    headers: { authorization: 'Bearer {key}' },
    pace: [5, 60],
    symbols: 1,
    first: '2003-09-10',
    holds: 'bars',
    prices: 'raw',
    class_mark: '.',
    final: NEW_YORK,
    market: '/v2/aggs/grouped/locale/us/market/stocks/{day}?adjusted=true',
  },
]

/** What a user needs for a vendor, in words. */
export const WANTS: Readonly<Record<Provider['needs'], string>> = {
  nothing: 'none',
  key: 'a key',
  'id:secret': 'a key of two parts, id:secret',
  contact: 'a name and an e-mail address',
}

/** The source of fetched bars, with the vendor and the range for an update: `fetched from tiingo after 2020-01-01`. */
export function sourceOf(provider: string, after: Day | undefined): string {
  return `fetched from ${provider}${after === undefined ? '' : ` after ${formatDay(after)}`}`
}

/** The vendor and the range in the source of stored bars; null for bars that were not fetched. */
export function fetchedFrom(source: string): { provider: string; after: Day | undefined } | null {
  const [, provider, after] = /^fetched from (\S+)(?: after (\d{4}-\d\d-\d\d))?$/.exec(source) ?? []
  if (provider === undefined) return null
  return { provider, after: after === undefined ? undefined : parseDay(after)! }
}
