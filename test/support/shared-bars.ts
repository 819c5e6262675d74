import { existsSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import type { Bar } from './oracle/index.js'

/** The folder of shared data beside the project, or null where it is absent (tests that need it are skipped). */
export const SHARED: URL | null = present(new URL('../../../shared/', import.meta.url))

/** Bars of `prices/<name>.csv`, raw prices, bad rows left out; null where the shared data is absent. */
export function loadPrices(name: string): Bar[] | null {
  if (SHARED === null) return null
  return barsOf(readFileSync(new URL(`data/prices/${name}.csv`, SHARED), 'utf8'), name)
}

/** The names of all files that `loadPrices` takes; null where the shared data is absent. */
export function priceNames(): string[] | null {
  return SHARED === null ? null : [...PRICE_NAMES]
}

/** Bars of one ticker of the universe file, bad rows left out; null where the shared data is absent. */
export function loadUniverse(ticker: string): Bar[] | null {
  const rows = universeRows()
  if (rows === null) return null
  const own = rows.get(ticker)
  if (own === undefined) throw new Error(`${ticker} is not in the universe`)
  return barsOf([UNIVERSE_HEADER, ...own].join('\n'), ticker)
}

/** Every ticker of the universe file, in its order; null where the shared data is absent. */
export function universeTickers(): string[] | null {
  const rows = universeRows()
  return rows === null ? null : [...rows.keys()]
}

const PRICE_NAMES = [
  'AAPL',
  'AAPL_long',
  'AIG',
  'BTCUSD',
  'GOOGL',
  'GSPC',
  'GSPC_1950_2012',
  'IBM',
  'MSFT',
  'SPY',
  'TSLA',
] as const
const UNIVERSE_HEADER = 'ticker,date,open,high,low,close,volume'

function present(folder: URL): URL | null {
  return existsSync(folder) ? folder : null
}

let universe: Map<string, string[]> | undefined

function universeRows(): Map<string, string[]> | null {
  if (SHARED === null) return null
  if (universe !== undefined) return universe
  universe = new Map()
  const text = gunzipSync(readFileSync(new URL('data/prices/universe.csv.gz', SHARED))).toString('utf8')
  for (const line of text.split('\n').slice(1)) {
    const ticker = line.slice(0, line.indexOf(','))
    if (ticker === '') continue
    const rows = universe.get(ticker)
    if (rows === undefined) universe.set(ticker, [line])
    else rows.push(line)
  }
  return universe
}

function barsOf(csv: string, name: string): Bar[] {
  const [header = '', ...lines] = csv.trim().split(/\r?\n/)
  const columns = header.split(',')
  const places = ['date', 'open', 'high', 'low', 'close', 'volume'].map(column => columns.indexOf(column))
  if (places.includes(-1)) throw new Error(`${name}: a column is missing in ${header}`)
  return lines.flatMap(line => {
    const cells = line.split(',')
    const [date = '', open, high, low, close, volume] = places.map(place => cells[place] ?? '')
    const bar = {
      date,
      open: numberOf(open),
      high: numberOf(high),
      low: numberOf(low),
      close: numberOf(close),
      volume: volume === '' ? null : numberOf(volume),
    }
    return isGood(bar) ? [bar] : []
  })
}

/** NaN for an empty cell, which Number would take for 0. */
function numberOf(cell = ''): number {
  return cell === '' ? Number.NaN : Number(cell)
}

function isGood({ open, high, low, close, volume }: Bar): boolean {
  const prices = [open, high, low, close].every(price => Number.isFinite(price) && price > 0)
  return prices && high >= low && (volume === null || volume >= 0)
}
