// node bench/searches.mjs ROOT DB KIND [EVENTS.csv]: searches a second of processor in one process, of the tickers in turn,
// ten events each with what followed. KIND: plain, context, or peer: the same pages from an indexed table of rows, by
// better-sqlite3.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [root, db, kind, events] = process.argv.slice(2)
/** Long enough that the functions are compiled. */
const [WARM, SECONDS] = [1, 2]

const bands = await open()
const tickers = (await bands.tickers()).map(({ ticker }) => ticker)
const context = { context_ticker: tickers[0], context_field: 'trend_direction', context_band: 'downtrend' }
const query = { field: 'rsi_zone', band: 'oversold', ...(kind === 'context' ? context : {}) }
const ask = kind === 'peer' ? rowsOf(events) : ticker => bands.events({ ...query, ticker })
await during(WARM)
process.stdout.write(JSON.stringify({ rate: await during(SECONDS) }))
await bands.close()

async function open() {
  const { openBands } = await import(pathToFileURL(join(root, 'dist', 'index.js')).href)
  return openBands({ db })
}

async function during(seconds) {
  const start = process.cpuUsage()
  let count = 0
  let taken = 0
  while (taken < seconds) {
    for (let i = 0; i < 100; i++) await ask(tickers[(count++ * 7919) % tickers.length])
    const { user, system } = process.cpuUsage(start)
    taken = (user + system) / 1e6
  }
  return Math.round(count / taken)
}

function rowsOf(file) {
  // Node 20 has a driver of its own.
  const place = process.versions.node.startsWith('20.') ? join(root, 'bin', 'node-20', 'x.js') : join(root, 'x.js')
  const Database = createRequire(place)('better-sqlite3')
  const table = new Database(':memory:')
  const [header, ...lines] = readFileSync(file, 'utf8').trimEnd().split('\n')
  const names = header.split(',')
  table.exec(`CREATE TABLE events (${names.join(', ')})`)
  const insert = table.prepare(`INSERT INTO events VALUES (${names.map(() => '?').join(', ')})`)
  table.transaction(() => {
    for (const line of lines) insert.run(line.split(','))
  })()
  table.exec('CREATE INDEX by_series ON events (ticker, field, timeframe, band, date)')
  const which = "ticker = ? AND field = 'rsi_zone' AND timeframe = 'daily' AND band = 'oversold'"
  const total = table.prepare(`SELECT count(*) AS total_occurrences FROM events WHERE ${which}`)
  const page = table.prepare(`SELECT * FROM events WHERE ${which} ORDER BY date DESC LIMIT 10`)
  return ticker => ({ ...total.get(ticker), events: page.all(ticker) })
}
