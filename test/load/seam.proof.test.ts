import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { formatDay } from '../../src/core/model/day.js'
import { type Adjustment, type Series, sliceBars } from '../../src/core/model/series.js'
import { Random } from '../../src/core/statistics/random.js'
import { readFile } from '../../src/data/feeds/read.js'
import { Importer } from '../../src/data/load/import.js'
import type { BarsReport, ImportOptions, RefusedTicker } from '../../src/data/load/report.js'
import { verify } from '../../src/data/local/verify.js'
import { simulatedTicker } from '../../src/data/simulate/simulate.js'
import { openSqlite } from '../../src/data/store/sqlite/data.js'
import { draws, provenInFull } from '../support/full.js'
import { type Content, contentAt, fileOf, WHO } from '../support/imports.js'
import { temporaryFolder } from '../support/store.js'

/**
 * Histories that come in pieces, in any order, from vendors that have begun anew after a split or dividend, mixed with
 * files of other instruments. An analyst does what a refusal advises. What is stored in the end is what one import of the
 * truth stores.
 *
 * A piece of another scale is offered only where it can be judged: when it shares two days with what is stored. Where
 * nothing is shared and years lie between, no one can tell a split from a fall.
 */

/** On the scale of before or of after the split, or dividend. */
type Basis = 'old' | 'new'

interface Truth {
  ticker: string
  prices: Adjustment
  /** Of a dividend, the prices alone. */
  kind: 'plain' | 'split' | 'dividend' | 'raw split'
  ratio: number
  /** The first bar after the split or dividend. */
  at: number
  bars: Record<Basis, Series>
  /** Another instrument on the same days. */
  other: Series
}

interface Piece {
  basis: Basis | 'other'
  bars: Series
}

const BARS = 160
const KINDS = ['plain', 'split', 'dividend', 'raw split'] as const
const RATIOS = [2, 4, 3, 10, 1.5]

function truths(seed: number, random: Random): Truth[] {
  const drawn = (index: number): Series => {
    const { bars } = simulatedTicker(index, { count: 99, bars: BARS, seed, end: 19_000 })
    return { ...bars, volume: bars.volume.map(volume => Math.round(volume) * 60) }
  }
  return KINDS.map((kind, i): Truth => {
    const ratio = kind === 'plain' ? 1 : kind === 'dividend' ? 1 / 0.985 : RATIOS[random.below(RATIOS.length)]!
    const at = 40 + random.below(80)
    const series = drawn(2 * i + 1)
    const old = kind === 'dividend' ? rounded(scaled(series, ratio, false)) : scaled(series, ratio, true)
    const raw = joined(sliceBars(old, 0, at), sliceBars(series, at))
    const bars = kind === 'raw split' ? { old: raw, new: raw } : { old, new: series }
    const prices = kind === 'plain' || kind === 'raw split' ? 'raw' : 'adjusted'
    return { ticker: `T${i}`, prices, kind, ratio, at, bars, other: drawn(2 * i + 2) }
  })
}

/** Prices times a ratio, and volumes divided by it where shares were. */
function scaled(series: Series, ratio: number, shares: boolean): Series {
  const times = (column: Float64Array): Float64Array => column.map(price => price * ratio)
  const { open, high, low, close, volume } = series
  const prices = { open: times(open), high: times(high), low: times(low), close: times(close) }
  return { ...series, ...prices, volume: shares ? volume.map(traded => traded / ratio) : volume }
}

/** As vendors write adjusted prices. */
function rounded(series: Series): Series {
  const digits = (column: Float64Array): Float64Array => column.map(price => Math.round(price * 1e4) / 1e4)
  const { open, high, low, close } = series
  return { ...series, open: digits(open), high: digits(high), low: digits(low), close: digits(close) }
}

function joined(a: Series, b: Series): Series {
  const both = (one: Float64Array, other: Float64Array): Float64Array => Float64Array.from([...one, ...other])
  const days = Int32Array.from([...a.days, ...b.days])
  const open = both(a.open, b.open)
  const high = both(a.high, b.high)
  const low = both(a.low, b.low)
  const close = both(a.close, b.close)
  const volume = both(a.volume, b.volume)
  return { timeframe: 'daily', days, known: days, open, high, low, close, volume }
}

/** Pieces that cover a history, each sharing days with the next, and some more; shuffled. */
function piecesOf({ bars, at, kind }: Truth, random: Random): Piece[] {
  const pieces: Piece[] = []
  const cut = (from: number, to: number): void => {
    const isOld = kind !== 'plain' && kind !== 'raw split' && to <= at && random.below(2) === 0
    const basis = isOld ? 'old' : 'new'
    pieces.push({ basis, bars: sliceBars(bars[basis], from, to) })
  }
  for (let from = 0; from < BARS - 3; ) {
    const to = Math.min(BARS, from + 8 + random.below(40))
    cut(from, to)
    from = to - 3
  }
  for (let i = 0; i < 4; i++) {
    const from = random.below(BARS - 10)
    cut(from, Math.min(BARS, from + 5 + random.below(60)))
  }
  for (let i = pieces.length - 1; i > 0; i--) {
    const j = random.below(i + 1)
    const piece = pieces[i]!
    pieces[i] = pieces[j]!
    pieces[j] = piece
  }
  return pieces
}

/** What an analyst knows of one ticker. */
interface Holding {
  truth: Truth
  pending: Piece[]
  basis: Piece['basis'] | null
  days: Set<number>
}

/** One run of the importer over one file. */
class Desk {
  readonly folder = temporaryFolder()
  readonly db = join(this.folder, 'bands.db')
  #files = 0

  async import(rows: readonly [string, Series][], options: ImportOptions): Promise<BarsReport> {
    const text = rows.flatMap(([ticker, bars]) => linesOf(ticker, bars)).join('\n')
    const path = fileOf(this.folder, `${this.#files++}.csv`, `ticker,date,open,high,low,close,volume\n${text}\n`)
    const importer = await Importer.begin(openSqlite(this.db, { readonly: false }), readFile, WHO)
    try {
      for await (const report of importer.import([{ name: path, path, bytes: null }], options))
        if (report.holds === 'bars') return report
      throw new Error('no bars')
    } finally {
      await importer.close()
    }
  }

  async putSplits(truths: readonly Truth[]): Promise<void> {
    const importer = await Importer.begin(openSqlite(this.db, { readonly: false }), readFile, WHO)
    const facts = truths.map(({ ticker, ratio, at, bars }) => {
      return { ticker, kind: 'splits' as const, records: [{ ex_date: bars.new.days[at]!, ratio }] }
    })
    await importer.putFacts(facts, { file: 'splits.csv', format: 'splits csv' })
    await importer.close()
  }

  async isSound(): Promise<boolean> {
    const store = openSqlite(this.db, { readonly: true })
    try {
      return (await verify({ store }, { deep: true })).length === 0
    } finally {
      await store.close()
    }
  }
}

function linesOf(ticker: string, { days, open, high, low, close, volume }: Series): string[] {
  return Array.from(days, (day, t) => [ticker, formatDay(day), open[t], high[t], low[t], close[t], volume[t]].join(','))
}

/** How many days of a piece are stored. */
const shared = ({ days }: Holding, { bars }: Piece): number => bars.days.filter(day => days.has(day)).length

/** The next piece of a ticker that can be judged; now and then one of another instrument. */
function offered(holding: Holding, random: Random): Piece | null {
  const { truth, pending, basis } = holding
  if (random.below(5) === 0) {
    const from = random.below(BARS - 30)
    const wrong: Piece = { basis: 'other', bars: sliceBars(truth.other, from, from + 30) }
    if (basis !== 'other' && shared(holding, wrong) >= 5) return wrong
  }
  const next = pending.findIndex(piece => basis === null || piece.basis === basis || shared(holding, piece) >= 2)
  return next < 0 ? null : pending.splice(next, 1)[0]!
}

function took(holding: Holding, { basis, bars }: Piece, begins = false): void {
  if (begins) holding.days.clear()
  for (const day of bars.days) holding.days.add(day)
  holding.basis = basis
}

/** How often each remedy was what helped. */
const remedies = { replace: 0, rescale: 0, acceptJump: 0, whole: 0, dropped: 0 }

/** Does what a refusal advises. */
async function mended(desk: Desk, holding: Holding, piece: Piece, refusal: RefusedTicker): Promise<void> {
  const { truth } = holding
  const again = async (bars: Series, options: ImportOptions): Promise<void> => {
    for (const remedy of ['replace', 'rescale', 'acceptJump'] as const) if (options[remedy]) remedies[remedy]++
    const { refused } = await desk.import([[truth.ticker, bars]], { prices: truth.prices, ...options })
    expect(refused).toEqual([])
  }
  if (piece.basis === 'other') {
    remedies.dropped++
    return void expect(refusal.reason).toBe('another_instrument')
  }
  if (holding.basis === 'other') {
    expect(refusal.reason).toBe('another_instrument')
    await again(piece.bars, { replace: true })
    return took(holding, piece, true)
  }
  expect(refusal.reason).not.toBe('another_instrument')
  if (piece.basis === holding.basis) {
    // What looks like a split is a move of the truth.
    await again(piece.bars, { acceptJump: true })
    return took(holding, piece)
  }
  expect(refusal.factor).toBeCloseTo(piece.basis === 'new' ? 1 / truth.ratio : truth.ratio, 3)
  if (truth.kind === 'split' && JSON.stringify(refusal.message).includes('rescale')) {
    await again(piece.bars, { rescale: true })
    return took(holding, piece)
  }
  // Rounding is lost where a dividend has moved prices: the whole history is there to be had.
  remedies.whole++
  await again(truth.bars.new, {})
  took(holding, { basis: 'new', bars: truth.bars.new })
}

/** One night: a piece each of some tickers, in one file for each kind of prices. */
async function night(desk: Desk, holdings: readonly Holding[], random: Random): Promise<void> {
  for (const prices of ['raw', 'adjusted'] as const) {
    const offers = holdings
      .filter(({ truth }) => truth.prices === prices && random.below(3) > 0)
      .flatMap(holding => {
        const piece = offered(holding, random)
        return piece === null ? [] : [{ holding, piece }]
      })
    if (offers.length === 0) continue
    const rows = offers.map(({ holding, piece }): [string, Series] => [holding.truth.ticker, piece.bars])
    const { refused, tickers } = await desk.import(rows, { prices })
    expect(refused.length + tickers.length).toBe(offers.length)
    for (const { holding, piece } of offers) {
      const refusal = refused.find(({ ticker }) => ticker === holding.truth.ticker)
      if (refusal !== undefined) await mended(desk, holding, piece, refusal)
      else {
        expect(piece.basis).not.toBe('other')
        const isWhole = shared(holding, piece) === holding.days.size
        expect(holding.basis === null || piece.basis === holding.basis || isWhole).toBe(true)
        took(holding, piece)
      }
    }
  }
}

describe('pieces of histories in any order, on two scales and mixed with other instruments', () => {
  const seeds = Array.from({ length: draws(40) }, (_, i) => i + 1)

  it.each(seeds)('make what one import of the truth makes, as refusals advise: world %d', async seed => {
    const random = new Random(seed)
    const all = truths(seed, random)
    const splitAndRaw = all.filter(({ kind }) => kind === 'raw split')
    const desk = new Desk()
    const once = new Desk()
    // Where the split is not stored, its jump has to be accepted.
    if (random.below(2) === 0) for (const each of [desk, once]) await each.putSplits(splitAndRaw)
    const holdings = all.map((truth): Holding => {
      return { truth, pending: piecesOf(truth, random), basis: null, days: new Set() }
    })
    for (const holding of holdings.filter(() => random.below(3) === 0)) {
      // Tesla's file, loaded as IBM.
      const { ticker, prices, other } = holding.truth
      await desk.import([[ticker, other]], { prices })
      took(holding, { basis: 'other', bars: other })
    }
    while (holdings.some(({ pending }) => pending.length > 0)) await night(desk, holdings, random)
    for (const holding of holdings) {
      const { ticker, prices, bars } = holding.truth
      const last: Piece = { basis: 'new', bars: sliceBars(bars.new, BARS - 10) }
      const { refused } = await desk.import([[ticker, last.bars]], { prices })
      if (refused[0] !== undefined) await mended(desk, holding, last, refused[0])
      await once.import([[ticker, bars.new]], { prices })
    }
    expectAlike(await contentAt(desk.db), await contentAt(once.db), all)
    expect(await desk.isSound()).toBe(true)
  })

  provenInFull('each remedy helps at times', () => {
    for (const [remedy, times] of Object.entries(remedies)) expect(times, remedy).toBeGreaterThan(0)
  })
})

/** To the bit where the ratio is a power of 2; else the events are the same, and prices but for the last digit. */
function expectAlike(found: Content, wanted: Content, all: readonly Truth[]): void {
  for (const { ticker, ratio, kind } of all) {
    const mine = found[ticker]!
    const one = wanted[ticker]!
    if (kind !== 'split' || Number.isInteger(Math.log2(ratio))) {
      expect(mine, ticker).toEqual(one)
      continue
    }
    expect(mine.bars.days).toEqual(one.bars.days)
    for (const column of ['open', 'high', 'low', 'close', 'volume'] as const)
      for (const [t, value] of one.bars[column].entries())
        expect(Math.abs(mine.bars[column][t]! / value - 1)).toBeLessThan(1e-12)
    for (const [name, derived] of Object.entries(one.derived))
      if (!name.endsWith('outcomes')) expect(mine.derived[name], `${ticker} ${name}`).toEqual(derived)
  }
}
