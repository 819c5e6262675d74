// node bench/searches.mjs ROOT DB KIND [EVENTS.csv]: searches a second of processor in one process, of the tickers in turn,
// ten events each with what followed. KIND: plain, context, or peer: the same pages from an indexed table of rows, by
// better-sqlite3.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { rowsOf } from './rows-of-events.cjs'

const [root, db, kind, events] = process.argv.slice(2)
/** Long enough that the functions are compiled. */
const WARM = 1
const SECONDS = 2

const bands = await open()
const tickers = (await bands.tickers()).map(({ ticker }) => ticker)
const context = { context_ticker: tickers[0], context_field: 'trend_direction', context_band: 'downtrend' }
const query = { field: 'rsi_zone', band: 'oversold', ...(kind === 'context' ? context : {}) }
const ask = kind === 'peer' ? rowsOf(root, events) : ticker => bands.events({ ...query, ticker })
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
