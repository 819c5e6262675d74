import { existsSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import type { Bar } from './oracle/index.js'

export type { Bar }

/** Bars of the given closes on weekdays from Monday 2018-01-01: open at the close, high and low 1 away, volume 100. */
export function series(closes: number[]): Bar[] {
  return closes.map((close, t) => day(dateOf(t), close))
}

/** Weekdays from 2018-01-01, a Monday. */
export function dateOf(t: number): string {
  const days = 7 * Math.floor(t / 5) + (t % 5)
  return new Date(Date.parse('2018-01-01') + days * 86_400_000).toISOString().slice(0, 10)
}

export function day(date: string, close: number): Bar {
  return { date, open: close, high: close + 1, low: close - 1, close, volume: 100 }
}

export interface Shape {
  length: number
  start: string
  /** 5: weekdays only, 7: every day */
  daysAWeek: 5 | 7
  price: number
  /** Standard deviation of a daily log return, before the tails are fattened. */
  volatility: number
  /** Prices are rounded to multiples of it; 0 leaves them as they come. */
  tick: number
  /** Chance a bar that a stretch of unchanged prices (one price all day) begins. */
  flat: number
  /** Chance a day that it is a holiday. */
  holiday: number
  /** Chance a bar that days or weeks are missing after it. */
  gap: number
  /** Chance a bar of a jump by a factor between a third and three. */
  jump: number
  /** Chance a bar that a spell of unknown (null) volume begins. */
  unknownVolume: number
  /** Chance a bar that a spell of zero volume begins. */
  zeroVolume: number
  /** Chance a bar of an open or close outside low..high, which is a warning and stays. */
  outside: number
}

const PLAIN: Shape = {
  length: 700,
  start: '2012-01-02',
  daysAWeek: 5,
  price: 100,
  volatility: 0.012,
  tick: 0,
  flat: 0,
  holiday: 0.03,
  gap: 0,
  jump: 0,
  unknownVolume: 0,
  zeroVolume: 0,
  outside: 0,
}

/** Shapes that each bring one kind of trouble; `wild` brings all of them. */
export const SHAPES: Record<string, Shape> = {
  plain: PLAIN,
  cents: { ...PLAIN, tick: 0.01, price: 12 },
  round: { ...PLAIN, tick: 1, price: 30, holiday: 0.02 },
  flat: { ...PLAIN, tick: 0.05, flat: 0.02 },
  constant: { ...PLAIN, volatility: 0, price: 10.1 },
  quiet: { ...PLAIN, volatility: 1e-6 },
  jumpy: { ...PLAIN, jump: 0.02, volatility: 0.03 },
  unknownVolume: { ...PLAIN, unknownVolume: 0.01 },
  zeroVolume: { ...PLAIN, zeroVolume: 0.015 },
  gappy: { ...PLAIN, gap: 0.01, holiday: 0.15 },
  sevenDays: { ...PLAIN, daysAWeek: 7, holiday: 0.01, volatility: 0.03, price: 4000 },
  penny: { ...PLAIN, price: 0.03, tick: 0.0001, volatility: 0.05 },
  wild: {
    ...PLAIN,
    tick: 0.5,
    price: 25,
    volatility: 0.02,
    flat: 0.01,
    holiday: 0.08,
    gap: 0.005,
    jump: 0.005,
    unknownVolume: 0.004,
    zeroVolume: 0.006,
    outside: 0.01,
  },
}

/** A random walk with fat tails; the same seed and shape give the same bars, ascending, all of them good rows. */
export function randomBars(seed: number, shape: Partial<Shape> = {}): Bar[] {
  const form = { ...PLAIN, ...shape }
  const random = randomNumbers(seed)
  const dates = randomDates(form, random)
  const walk = { close: onTick(form.price, form.tick), flat: 0 }
  const volume = volumes(form, random)
  return dates.map(date => {
    if (walk.flat === 0 && random() < form.flat) walk.flat = 3 + Math.floor(random() * 40)
    const prices = walk.flat > 0 ? still(walk.close) : movedPrices(walk.close, form, random)
    walk.flat = Math.max(0, walk.flat - 1)
    walk.close = prices.close
    return { date, ...prices, volume: volume() }
  })
}

/** Bars whose shape and length (1 to `longest`, short ones often) are drawn from the seed as well. */
export function assortedBars(seed: number, longest = 900): Bar[] {
  const random = randomNumbers(seed * 7919 + 1)
  const shapes = Object.values(SHAPES)
  const shape = shapes[Math.floor(random() * shapes.length)]!
  const short = random() < 0.25
  const length = 1 + Math.floor(random() * (short ? Math.min(60, longest) : longest))
  const start = new Date(Date.parse('2010-01-04') + Math.floor(random() * 4000) * DAY).toISOString().slice(0, 10)
  return randomBars(seed, { ...shape, length, start })
}

/** Uniform numbers in [0, 1) of a seed (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let x = Math.imul(state ^ (state >>> 15), state | 1)
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61)
    return ((x ^ (x >>> 14)) >>> 0) / 4_294_967_296
  }
}

const DAY = 86_400_000

type Prices = Pick<Bar, 'open' | 'high' | 'low' | 'close'>

function randomDates(form: Shape, random: () => number): string[] {
  const dates: string[] = []
  let time = Date.parse(form.start)
  while (dates.length < form.length) {
    const weekend = [0, 6].includes(new Date(time).getUTCDay())
    if (!(weekend && form.daysAWeek === 5) && random() >= form.holiday) {
      dates.push(new Date(time).toISOString().slice(0, 10))
      if (random() < form.gap) time += DAY * Math.floor(2 + random() * 30)
    }
    time += DAY
  }
  return dates
}

function still(close: number): Prices {
  return { open: close, high: close, low: close, close }
}

function movedPrices(before: number, form: Shape, random: () => number): Prices {
  const scale = form.volatility
  const jump = random() < form.jump ? (random() - 0.5) * 2 * Math.log(3) : 0
  // A drift back to the first price keeps long walks from running off to 0 or beyond all ticks.
  const pull = 0.002 * Math.log(form.price / before)
  const openExact = before * Math.exp(0.3 * scale * fatTailed(random))
  const closeExact = before * Math.exp(scale * fatTailed(random) + jump + (scale > 0 ? pull : 0))
  const open = onTick(openExact, form.tick)
  const close = onTick(closeExact, form.tick)
  const high = onTick(Math.max(open, close) * Math.exp(0.5 * scale * random()), form.tick)
  const low = onTick(Math.min(open, close) * Math.exp(-0.5 * scale * random()), form.tick)
  const prices = { open, close, high: Math.max(high, open, close), low: Math.min(low, open, close) }
  if (random() >= form.outside) return prices
  return { ...prices, [random() < 0.5 ? 'open' : 'close']: random() < 0.5 ? prices.high * 1.01 : prices.low * 0.99 }
}

/** Student's t with three degrees of freedom, of unit variance. */
function fatTailed(random: () => number): number {
  const chiSquared = normal(random) ** 2 + normal(random) ** 2 + normal(random) ** 2
  return normal(random) / Math.sqrt(chiSquared / 3) / Math.sqrt(3)
}

function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
}

function onTick(price: number, tick: number): number {
  return tick === 0 ? price : Number(Math.max(tick, Math.round(price / tick) * tick).toFixed(6))
}

function volumes(form: Shape, random: () => number): () => number | null {
  let left = 0
  let spell: number | null = 0
  return () => {
    if (left === 0) {
      const draw = random()
      if (draw < form.unknownVolume) spell = null
      else if (draw < form.unknownVolume + form.zeroVolume) spell = 0
      else return Math.round(1e6 * Math.exp(0.5 * normal(random)))
      left = 1 + Math.floor(random() * 60)
    }
    left -= 1
    return spell
  }
}

/** The folder of shared data beside the project, or null where it is absent (tests that need it are skipped). */
export const SHARED: URL | null = present(new URL('../../../shared/', import.meta.url))

/** Bars of `prices/<name>.csv`, raw prices, bad rows left out; null where the shared data is absent. */
export function loadPrices(name: string): Bar[] | null {
  if (SHARED === null) return null
  return barsOfCsv(readFileSync(new URL(`data/prices/${name}.csv`, SHARED), 'utf8'), name)
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
  return barsOfCsv([UNIVERSE_HEADER, ...own].join('\n'), ticker)
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

function barsOfCsv(csv: string, name: string): Bar[] {
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
