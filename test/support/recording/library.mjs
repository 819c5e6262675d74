/** Asks the library: each call with its answer or its error, a JSON line each. Given: dist/index.js, an address, a key. */
import { createHash } from 'node:crypto'
import { pathToFileURL } from 'node:url'

const [index, url, key] = process.argv.slice(2)
const { openBands, openImporter, openRemote, ...others } = await import(pathToFileURL(index).href)

const FEW = { reps: 99, resamples: 99 }
const AAPL = { ticker: 'AAPL', field: 'rsi_zone' }
const OVERSOLD = { tickers: ['AAPL', 'SIM0001'], field: 'rsi_zone', band: 'oversold' }

const bands = await openBands({ db: 'my.db' })
const free = await openBands({ db: 'my.db', tier: 'free', asOf: '2018-03-01' })
const remote = await openRemote({ url, key, bars: { db: 'my.db' } })

const first = async (rows, count = 3) => {
  const found = []
  for await (const row of rows) {
    found.push(row)
    if (found.length === count) break
  }
  return found
}
const sha256 = text => createHash('sha256').update(text).digest('hex')

const CALLS = {
  exports: () => Object.keys({ openBands, openImporter, openRemote, ...others }).sort(),
  events: () => bands.events({ ...AAPL, band: 'oversold', limit: 3 }),
  'events as free': () => free.events(AAPL),
  'events with a context': () =>
    bands.events({ ...AAPL, context_ticker: 'GSPC', context_field: 'trend_direction', context_band: 'downtrend' }),
  history: () => bands.history({ ...AAPL, band: 'oversold' }),
  oversold: () => bands.oversold({ date: '2018-02-08' }),
  tally: () => bands.tally({ ...OVERSOLD, by: 'ticker' }),
  transitions: () => bands.transitions({ tickers: ['GSPC'], field: 'macd_state' }),
  now: () => bands.now({ tickers: ['AAPL'], timeframe: 'weekly' }),
  explain: () => bands.explain({ ticker: 'SIM0001', field: 'pe_vs_sector' }),
  facts: () => bands.facts({ ticker: 'SIM0001' }),
  'facts of a kind': () => bands.facts({ ticker: 'SIM0002', kind: 'earnings' }),
  tickers: () => bands.tickers(),
  status: () => bands.status(),
  fields: () => bands.fields().map(({ name, tier, needs, bands: words }) => ({ name, tier, needs, words })),
  'export events': () => first(bands.exportEvents({ tickers: ['AAPL'], fields: ['rsi_zone'] })),
  'export series': () => first(bands.exportSeries({ tickers: ['SIM0001'], timeframe: 'weekly' })),
  'export bars': () => first(bands.exportBars({ tickers: ['GSPC'] })),
  study: () => bands.study({ ...OVERSOLD, horizon: [5, 20], ...FEW }),
  backtest: () => bands.backtest({ ...OVERSOLD, hold: 10, stop: '5%', max_positions: 2, reps: 99 }),
  'backtest of a strategy': () =>
    bands.backtest({ strategy: 'tickers: [AAPL]\nentry: { field: macd_state }\nexit: { hold: 5 }\n', reps: 99 }),
  sweep: () => bands.sweep({ tickers: ['AAPL'], field: ['rsi_zone'], horizon: 5, cpcv: { n: 4, k: 2 }, resamples: 99 }),
  report: async () => {
    const page = await bands.report(await bands.study({ ...OVERSOLD, horizon: [5], ...FEW }))
    return { length: page.length, sha256: sha256(page) }
  },
  'remote events': () => remote.events({ ...AAPL, limit: 2 }),
  'remote tally': () => remote.tally(OVERSOLD),
  'remote now': () => remote.now({ tickers: ['SIM0003'] }),
  'remote oversold': () => remote.oversold({ limit: 2 }),
  'remote study': () => remote.study({ ...OVERSOLD, horizon: [5], ...FEW }),
  'remote credits': () => remote.credits,
  'wrong field': () => bands.events({ ticker: 'AAPL', field: 'rsi' }),
  'wrong band': () => bands.events({ ...AAPL, band: 'oversol' }),
  'wrong ticker': () => bands.events({ ticker: 'AAPLE', field: 'rsi_zone' }),
  'wrong limit': () => bands.events({ ...AAPL, limit: 101 }),
  'partial context': () => bands.events({ ...AAPL, context_ticker: 'GSPC' }),
  'unknown parameter': () => bands.events({ ...AAPL, colour: 'red' }),
  'no tickers': () => bands.tally({ tickers: [], field: 'rsi_zone' }),
  'above the tier': () => free.tally(OVERSOLD),
  'wrong date': () => openBands({ db: 'my.db', asOf: 'yesterday' }),
  'missing database': () => openBands({ db: 'missing.db' }),
  'wrong hold': () => bands.backtest({ ...OVERSOLD, hold: 0 }),
  'wrong strategy': () => bands.backtest({ strategy: 'tickers: ONE\nentry:\n  field: rsi_zone\nexit:\n  hold: 0\n' }),
  'wrong sweep': () => bands.sweep({ tickers: ['AAPL'], field: ['rsi'] }),
  'plain http elsewhere': () => openRemote({ url: 'http://api.example.com', key }),
  'no key': () => openRemote({ url }),
  'refused key': async () => {
    const other = await openRemote({ url, key: 'bands_nobody', retries: 0 })
    return other.events(AAPL).finally(() => other.close())
  },
}

for (const [name, call] of Object.entries(CALLS)) {
  const told = await Promise.resolve()
    .then(call)
    .then(
      value => ({ value }),
      error => ({ error: error.name, code: error.code, message: error.message, payload: error.payload?.() }),
    )
  process.stdout.write(`${JSON.stringify({ name, ...told })}\n`)
}
for (const opened of [bands, free, remote]) await opened.close()
