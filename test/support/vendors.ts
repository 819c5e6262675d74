import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * A local server that answers as vendors of prices do: their shapes, with simulated values, and faults on demand. It is
 * strict: a call without its key, over the pace, or at a redirect's target is noted, and a test asserts that there is
 * none.
 */

export interface VendorBar {
  date: string
  open: number
  high: number
  low: number
  close: number
  volume: number
}

const DAY = 86_400_000

/** A seeded walk on working days, or on all days. */
export function walk(
  symbol: string,
  { first = '2024-01-02', last = '2026-11-20', everyDay = false } = {},
): VendorBar[] {
  let seed = [...symbol].reduce((sum, sign) => (sum * 31 + sign.charCodeAt(0)) >>> 0, 7)
  const random = (): number => {
    seed = (seed * 1_664_525 + 1_013_904_223) >>> 0
    return seed / 2 ** 32
  }
  const cents = (price: number): number => Math.round(price * 100) / 100
  const bars: VendorBar[] = []
  let close = 100
  for (let time = Date.parse(first); time <= Date.parse(last); time += DAY) {
    const weekday = new Date(time).getUTCDay()
    if (!everyDay && (weekday === 0 || weekday === 6)) continue
    const open = close * (1 + (random() - 0.5) / 100)
    close = open * (1 + (random() - 0.5) / 25)
    const high = Math.max(open, close) * 1.005
    const low = Math.min(open, close) * 0.995
    const volume = Math.round(1e6 * (0.5 + random()))
    const date = new Date(time).toISOString().slice(0, 10)
    bars.push({ date, open: cents(open), high: cents(high), low: cents(low), close: cents(close), volume })
  }
  return bars
}

/** Prices times a factor, volumes divided by it, as a vendor adjusts its history for a split. */
export function scaled(bars: readonly VendorBar[], factor: number, splits = true): VendorBar[] {
  const price = (value: number): number => Math.round(value * factor * 1e6) / 1e6
  return bars.map(({ date, open, high, low, close, volume }) => ({
    date,
    open: price(open),
    high: price(high),
    low: price(low),
    close: price(close),
    volume: splits ? Math.round(volume / factor) : volume,
  }))
}

interface Asked {
  path: string
  query: URLSearchParams
  headers: IncomingHttpHeaders
}

export interface VendorAnswer {
  status: number
  body: string
  headers?: Record<string, string>
}

export type History = (symbol: string) => readonly VendorBar[] | null

const json = (status: number, body: unknown): VendorAnswer => ({
  status,
  body: typeof body === 'string' ? body : JSON.stringify(body),
  headers: { 'content-type': 'application/json' },
})

const between = (bars: readonly VendorBar[], from: string | null, to: string | null): VendorBar[] =>
  bars.filter(({ date }) => date >= (from ?? '').slice(0, 10) && date <= (to ?? '9').slice(0, 10))

const at = ({ date }: VendorBar, hour = 0): number => Date.parse(date) + hour * 3_600_000

/** The key that each of them wants. */
export const KEYS: Readonly<Record<string, string>> = {
  tiingo: 'tiingo-secret',
  alpaca: 'alpaca-id:alpaca-secret',
  sec: 'Ada Lovelace ada@example.com',
  eodhd: 'eodhd-secret',
  massive: 'massive-secret',
  twelve: 'twelve-secret',
}

/** What each vendor answers to a call. */
export const VENDORS: Readonly<Record<string, (asked: Asked, history: History) => VendorAnswer>> = {
  tiingo({ path, query, headers }, history) {
    if (headers.authorization !== `Token ${KEYS.tiingo}`) return json(401, { detail: 'Invalid token.' })
    const symbol = /^\/tiingo\/daily\/([^/]+)\/prices$/.exec(path)?.[1] ?? ''
    const bars = symbol.includes('.') ? null : history(symbol)
    if (bars === null) return json(404, { detail: `Error: Ticker '${symbol}' not found` })
    const rows = between(bars, query.get('startDate'), query.get('endDate')).map(bar => ({
      date: `${bar.date}T00:00:00.000Z`,
      close: 2 * bar.close,
      high: 2 * bar.high,
      low: 2 * bar.low,
      open: 2 * bar.open,
      volume: bar.volume,
      adjClose: bar.close,
      adjHigh: bar.high,
      adjLow: bar.low,
      adjOpen: bar.open,
      adjVolume: bar.volume,
      divCash: 0,
      splitFactor: 1,
    }))
    return json(200, rows)
  },
  alpaca({ query, headers }, history) {
    const [id, secret] = KEYS.alpaca!.split(':')
    if (headers['apca-api-key-id'] !== id || headers['apca-api-secret-key'] !== secret)
      return json(403, { message: 'forbidden.' })
    const rows = query
      .get('symbols')!
      .split(',')
      .sort()
      .flatMap(symbol =>
        between(history(symbol) ?? [], query.get('start'), query.get('end')).map(bar => ({ symbol, bar })),
      )
    // A ticker may be cut by the end of a page.
    const from = Number(Buffer.from(query.get('page_token') ?? '', 'base64').toString() || 0)
    const limit = Math.min(Number(query.get('limit')), 1_000)
    const bars: Record<string, object[]> = {}
    for (const { symbol, bar } of rows.slice(from, from + limit)) {
      const { open: o, high: h, low: l, close: c, volume: v } = bar
      bars[symbol] ??= []
      bars[symbol].push({ t: `${bar.date}T05:00:00Z`, o, h, l, c, v, n: 1, vw: c })
    }
    const next = from + limit < rows.length ? Buffer.from(String(from + limit)).toString('base64') : null
    return json(200, { bars, next_page_token: next })
  },
  eodhd({ path, query }, history) {
    if (query.get('api_token') !== KEYS.eodhd) return { status: 401, body: 'Unauthenticated' }
    const bars = history(path.split('/').at(-1)!.replace(/\.US$/, ''))
    if (bars === null) return { status: 404, body: 'Ticker Not Found.' }
    const rows = between(bars, query.get('from'), query.get('to')).map(({ close, ...bar }) => {
      const raw = Object.fromEntries(Object.entries({ ...bar, close }).map(([key, value]) => [key, twice(key, value)]))
      return { ...raw, adjusted_close: close }
    })
    return json(200, rows)
  },
  massive({ path, headers }, history) {
    if (headers.authorization !== `Bearer ${KEYS.massive}`)
      return json(401, { status: 'ERROR', request_id: 'x', error: 'Unknown API Key' })
    const [, day] = /^\/v2\/aggs\/grouped\/locale\/us\/market\/stocks\/(.+)$/.exec(path) ?? []
    const row = (bar: VendorBar) => {
      const { open: o, high: h, low: l, close: c, volume: v } = bar
      return { v, vw: c, o, c, h, l, t: at(bar, 5), n: 5 }
    }
    const answer = (results: object[], ticker?: string): VendorAnswer =>
      json(200, {
        ...(ticker && { ticker }),
        queryCount: results.length,
        resultsCount: results.length,
        adjusted: true,
        ...(results.length > 0 && { results }),
        status: 'OK',
        request_id: 'x',
        count: results.length,
      })
    if (day !== undefined) {
      const all = STOCKS.flatMap(symbol => {
        const bar = history(symbol)?.find(({ date }) => date === day)
        return bar === undefined ? [] : [{ T: symbol, ...row(bar) }]
      })
      return answer(all)
    }
    const [, symbol = '', from = '', to = ''] = /ticker\/([^/]+)\/range\/1\/day\/([^/]+)\/([^/]+)$/.exec(path) ?? []
    return answer(between(history(symbol) ?? [], from, to).map(row), symbol)
  },
  coinbase({ path, query }, history) {
    const bars = history(path.split('/')[2]!)
    if (bars === null) return json(404, { message: 'NotFound' })
    const found = between(bars, query.get('start'), query.get('end'))
    if (found.length > 300) return json(400, { message: 'Count of aggregations requested exceeds 300' })
    return json(
      200,
      found.toReversed().map(bar => [at(bar) / 1000, bar.low, bar.high, bar.open, bar.close, bar.volume]),
    )
  },
  sec({ path, headers }, history) {
    if (headers['user-agent'] !== KEYS.sec)
      return {
        status: 403,
        body: '<!DOCTYPE html><html><h1>Your Request Originates from an Undeclared Tool</h1></html>',
      }
    const rows = Object.entries(COMPANIES).map(([ticker, cik_str]) => ({
      cik_str,
      ticker,
      title: `Company ${cik_str}`,
    }))
    if (path === '/files/company_tickers.json') return json(200, Object.fromEntries(rows.map((row, i) => [i, row])))
    const [, digits] = /^\/api\/xbrl\/companyfacts\/CIK(\d{10})\.json$/.exec(path) ?? []
    const cik = Number(digits)
    if (!Object.values(COMPANIES).includes(cik) || cik === COMPANIES.NEWCO)
      return { status: 404, body: '<?xml version="1.0" encoding="UTF-8"?><Error><Code>NoSuchKey</Code></Error>' }
    return json(200, companyFacts(cik, history('')?.at(-1)?.date))
  },
  twelve({ query, headers: _ }, history) {
    if (query.get('apikey') !== KEYS.twelve)
      return json(200, { code: 401, message: 'apikey is wrong', status: 'error' })
    const bars = history(query.get('symbol')!)
    if (bars === null)
      return json(200, {
        code: 404,
        message: '**symbol** not found: none. Please specify it correctly',
        status: 'error',
      })
    const values = between(bars, query.get('start_date'), query.get('end_date')).map(bar => ({
      datetime: bar.date,
      ...Object.fromEntries(
        Object.entries(bar)
          .slice(1)
          .map(([key, value]) => [key, String(value)]),
      ),
    }))
    if (values.length === 0)
      return json(200, { code: 400, message: 'No data is available on the specified dates', status: 'error' })
    const meta = { symbol: query.get('symbol'), interval: '1day', exchange: 'NASDAQ', type: 'Common Stock' }
    return json(200, { meta, values: values.toReversed(), status: 'ok' })
  },
}

/** The numbers of companies at the SEC; the last one has reported nothing. */
export const COMPANIES: Readonly<Record<string, number>> = { AAPL: 320193, 'BRK-B': 1067983, NEWCO: 42 }

/** Reports filed until a day as the SEC writes them, with values that follow from the company's number. */
function companyFacts(cik: number, until = '2025-12-31'): object {
  const reports = [1, 2, 3].map(quarter => ({
    start: `2025-0${3 * quarter - 2}-01`,
    end: new Date(Date.UTC(2025, 3 * quarter, 0)).toISOString().slice(0, 10),
    accn: `0000000000-25-00000${quarter}`,
    fy: 2025,
    fp: `Q${quarter}`,
    form: '10-Q',
    filed: `2025-${String(3 * quarter + 2).padStart(2, '0')}-02`,
    frame: `CY2025Q${quarter}`,
  }))
  const quarters = reports.filter(({ filed }) => filed <= until)
  const concept = (unit: string, values: (quarter: number) => number, isInstant = false) => ({
    label: 'Label',
    description: 'What the concept means.',
    units: {
      [unit]: quarters.map(({ start, ...rest }, i) => ({ ...(!isInstant && { start }), ...rest, val: values(i) })),
    },
  })
  return {
    cik,
    entityName: `COMPANY ${cik}, INC.`,
    facts: {
      dei: { EntityCommonStockSharesOutstanding: concept('shares', () => 1_000_000, true) },
      'us-gaap': {
        EarningsPerShareDiluted: concept('USD/shares', i => 1 + i / 4),
        Revenues: concept('USD', i => cik + 1_000 * i),
        StockholdersEquity: concept('USD', i => 5_000_000 + 100_000 * i, true),
      },
    },
  }
}

/** All stocks of the simulated market. */
export const MARKET = ['AAPL', 'MSFT', 'BRK.B', 'GE', 'F']

/** The stocks in an answer for a whole day, as far as they have a history. */
export const STOCKS = [...MARKET, 'T', 'KO', 'PG', 'IBM', 'MMM', 'DIS', 'CAT']

function twice(key: string, value: string | number): string | number {
  return key === 'date' || key === 'volume' ? value : 2 * Number(value)
}

/** What a call meets instead of an answer. */
export type VendorFault = 'reset' | 'hang' | 'cut' | 'html' | VendorAnswer | ((answer: VendorAnswer) => VendorAnswer)

export interface FakeVendor {
  base: string
  /** The calls, in their order. */
  calls: Asked[]
  /** Each is taken by one call instead of the answer. */
  faults: VendorFault[]
  /** What no call may do: over the pace, or without the key. */
  offences: string[]
  close(): Promise<void>
}

/** @param pace calls and milliseconds: more calls in such a time are an offence */
export async function fakeVendor(
  name: string,
  { history, pace = [Number.POSITIVE_INFINITY, 0] }: { history: History; pace?: readonly [number, number] },
): Promise<FakeVendor> {
  const [calls, faults, offences, times]: [Asked[], VendorFault[], string[], number[]] = [[], [], [], []]
  const server = createServer((request, response) => {
    const url = new URL(request.url!, 'http://vendor')
    const asked = { path: decodeURIComponent(url.pathname), query: url.searchParams, headers: request.headers }
    calls.push(asked)
    times.push(performance.now())
    const [most, ms] = pace
    if (times.filter(time => time > performance.now() - ms).length > most) offences.push(`over the pace: ${asked.path}`)
    const answer = VENDORS[name]!(asked, history)
    if ([401, 403].includes(answer.status)) offences.push(`without the key: ${asked.path}`)
    const fault = faults.shift()
    if (fault === 'reset') return void request.socket.destroy()
    if (fault === 'hang') return
    if (fault === 'cut') {
      response.writeHead(200, { 'content-length': answer.body.length })
      response.write(answer.body.slice(0, answer.body.length / 2))
      return void setTimeout(() => request.socket.destroy(), 20)
    }
    const html = {
      status: 200,
      body: '<!DOCTYPE html><html>verify you are human</html>',
      headers: { 'content-type': 'text/html' },
    }
    const sent = fault === 'html' ? html : typeof fault === 'function' ? fault(answer) : (fault ?? answer)
    response.writeHead(sent.status, sent.headers).end(sent.body)
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  return {
    base: `http://127.0.0.1:${port}`,
    calls,
    faults,
    offences,
    close: () =>
      new Promise(done => {
        server.closeAllConnections()
        server.close(() => done())
      }),
  }
}
