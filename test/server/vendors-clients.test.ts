import { describe, expect, it } from 'vitest'
import { ask, type Response, serveFile } from '../support/serve.js'

/**
 * Requests as TickerDB's public clients send them (tickerdb-js 0.4, tickerdb-python 0.2, tickerdb-mcp 1.8), and the keys
 * that their types have. The clients themselves cannot be installed here.
 */
const { server } = await serveFile({ count: 3, bars: 1_500 })
const key = await server.key('pro')

const CLIENTS: Readonly<Record<string, readonly string[]>> = {
  JavaScript: ['Accept', 'application/json', 'X-TickerDB-Client', 'tickerdb-js/0.4.0'],
  Python: ['Accept', 'application/json', 'User-Agent', 'tickerdb-python/0.2.1'],
  assistants: ['Content-Type', 'application/json'],
}

function send(path: string, client: string, { method = 'GET', body = '' } = {}): Promise<Response> {
  const length = body === '' ? [] : ['Content-Length', String(Buffer.byteLength(body))]
  const headers = ['Authorization', `Bearer ${key}`, ...CLIENTS[client]!, ...length]
  return ask(`${server.url}/v1${path}`, { method, headers, body })
}

/** As JavaScript's encodeURIComponent and as Python's httpx write a JSON value in a URL. */
const SPELLINGS: readonly ((value: unknown) => string)[] = [
  value => encodeURIComponent(JSON.stringify(value)),
  value =>
    new URLSearchParams({ x: JSON.stringify(value).replaceAll(',', ', ').replaceAll(':', ': ') }).toString().slice(2),
]

const FILTERS = [
  { field: 'trend_direction', op: 'in', value: ['uptrend', 'strong_uptrend', 'neutral'] },
  { field: 'momentum_rsi_zone', op: 'neq', value: 'deep_oversold' },
]
const PLACES = ['trend.direction', 'trend.direction_meta', 'momentum', 'ohlcv.close']
const CONTEXT = 'context_ticker=SIM0002&context_field=momentum_rsi_zone&context_band=neutral'

const EVENTS_KEYS = ['ticker', 'field', 'timeframe', 'events', 'total_occurrences', 'query_range']
const SUMMARY_KEYS = ['ticker', 'timeframe', 'data_status', 'as_of_date']
const OHLCV_KEYS = [
  ...['ticker', 'asset_class', 'currency', 'timeframe', 'data_status', 'adjustment', 'order', 'start', 'end'],
  ...['row_count', 'has_more', 'next_cursor', 'bars', 'plan_history_days', 'plan'],
]

/** Method and options → path, and the keys of its public type. */
const PASSES: [method: string, path: string, keys: readonly string[]][] = [
  ['summary()', '/summary/SIM0001', SUMMARY_KEYS],
  ['summary({ timeframe, date })', '/summary/SIM0001?timeframe=weekly&date=2024-01-12', SUMMARY_KEYS],
  ['summary({ meta: false })', '/summary/SIM0001?meta=false', SUMMARY_KEYS],
  ['summary({ start, end })', '/summary/SIM0001?start=2024-01-01&end=2024-03-31', ['ticker', 'timeframe']],
  ['summary({ start, sample, limit })', '/summary/SIM0001?start=2024-01-01&sample=even&limit=10', ['ticker']],
  ['summary({ field, band })', '/summary/SIM0001?field=momentum_rsi_zone&band=oversold&limit=50', EVENTS_KEYS],
  ['summary({ field, context })', `/summary/SIM0001?field=trend_direction&${CONTEXT}`, [...EVENTS_KEYS, 'context']],
  ['summary({ field, stats })', '/summary/SIM0001?field=rsi_zone&before=2024-05-01&stats=true', ['stats']],
  ...SPELLINGS.flatMap((spelled): [string, string, readonly string[]][] => [
    ['summary({ fields })', `/summary/SIM0001?fields=${spelled(PLACES)}&meta=true`, SUMMARY_KEYS],
    [
      'search({ filters, fields, sort, date })',
      `/search?filters=${spelled(FILTERS)}&fields=${spelled(['ticker', 'sector', 'momentum_rsi_zone'])}&sort_by=market_cap&sort_direction=asc&date=2024-01-12&limit=5&offset=0`,
      ['timeframe', 'date', 'fields', 'filter_count', 'result_count', 'results'],
    ],
    ['query().execute()', `/search?filters=${spelled([])}`, ['fields', 'results']],
  ]),
  ['schema()', '/schema/fields', ['total_fields', 'categories', 'operators', 'fields']],
  ['account()', '/account', ['tier', 'tier_full', 'email', 'limits', 'usage', 'scheduled_tier', 'scheduled_change_at']],
  ['ohlcv()', '/ohlcv/SIM0001', OHLCV_KEYS],
  ['ohlcv({ … })', '/ohlcv/SIM0001?start=2024-01-01&end=2024-03-31&order=asc&limit=500', OHLCV_KEYS],
]

describe.each(Object.keys(CLIENTS))('the client for %s', client => {
  it.each(PASSES)('passes: %s %s', async (_method, path, keys) => {
    const { status, text, json, headers } = await send(path, client)
    expect(status, text).toBe(200)
    expect(Object.keys(json())).toEqual(expect.arrayContaining([...keys]))
    for (const name of ['x-request-limit', 'x-requests-remaining', 'x-hourly-request-limit'])
      expect(Number(headers[name])).toBeGreaterThan(0)
  })

  it('walks all bars by the cursor', async () => {
    const dates: string[] = []
    for (let path = '/ohlcv/SIM0001?order=asc&limit=400'; path !== ''; ) {
      const page = (await send(path, client)).json() as { bars: { date: string }[]; next_cursor: string | null }
      dates.push(...page.bars.map(({ date }) => date))
      path = page.next_cursor === null ? '' : `/ohlcv/SIM0001?cursor=${page.next_cursor}&order=asc&limit=400`
    }
    expect(new Set(dates).size).toBe(dates.length)
    expect(dates.length).toBeGreaterThan(1_000)
  })

  it('keeps a watch list', async () => {
    const change = async (method: string, tickers: string[]) => {
      const { status, text, json } = await send('/watchlist', client, { method, body: JSON.stringify({ tickers }) })
      expect(status, text).toBe(200)
      return json()
    }
    await change('DELETE', ['SIM0001', 'NONE'])
    const limits = { watchlist_limit: 100 }
    expect(await change('POST', ['sim0001'])).toEqual({
      added: ['SIM0001'],
      already_saved: [],
      watchlist_count: 1,
      ...limits,
    })
    expect(await change('POST', ['SIM0001', 'NONE'])).toEqual({
      added: ['NONE'],
      already_saved: ['SIM0001'],
      watchlist_count: 2,
      ...limits,
    })
    const { json: list } = await send('/watchlist?timeframe=daily', client)
    expect(list()).toMatchObject({ tickers_saved: 2, tickers_found: 1, ...limits, data_status: 'eod' })
    const { json: changes } = await send('/watchlist/changes', client)
    expect(Object.keys(changes())).toEqual([
      ...['timeframe', 'run_date', 'changes', 'ticker_context', 'tickers_checked', 'tickers_changed'],
    ])
    expect(await change('DELETE', ['SIM0001', 'OTHER'])).toEqual({ removed: ['SIM0001'], watchlist_count: 1 })
  })

  it('has at most 16,384 bytes in a change of its watch list, however few characters they are', async () => {
    const bodyOf = (bytes: number) => `{"tickers":["SIM0001"],"notes":"${'é'.repeat(bytes / 2 - 17)}"}`
    expect(Buffer.byteLength(bodyOf(16_384))).toBe(16_384)
    const fits = await send('/watchlist', client, { method: 'POST', body: bodyOf(16_384) })
    expect(fits.status).toBe(400)
    expect(fits.text).toContain('notes')
    for (const bytes of [16_386, 40_000]) {
      const tooLong = await send('/watchlist', client, { method: 'POST', body: bodyOf(bytes) })
      expect(tooLong.status).toBe(400)
      expect(tooLong.text).toContain('The body has at most 16384 bytes.')
    }
  })

  it.each([
    ['webhooks.list()', 'GET', '/webhooks', ''],
    ['webhooks.create()', 'POST', '/webhooks', '{"url":"https://example.com/hook"}'],
    ['screeners.list()', 'GET', '/screeners', ''],
    ['team.create()', 'POST', '/team', '{"action":"create","name":"Research"}'],
  ])('is refused: %s', async (_method, method, path, body) => {
    const { status, json } = await send(path, client, { method, body })
    expect(status).toBe(404)
    const { error, message } = json()
    const [type, said] = client === 'assistants' ? [error, message] : Object.values(error as object)
    expect([type, said]).toEqual(['not_found', `there is nothing at "/v1${path}".`])
  })
})
