import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { DEFINITIONS } from '../../src/core/model/definitions.js'
import type { Report, Split } from '../../src/core/model/facts.js'
import { type Series, sliceBars } from '../../src/core/model/series.js'
import { Random } from '../../src/core/statistics/random.js'
import type { TickerFacts } from '../../src/data/feeds/feed.js'
import { type SimulatedTicker, simulatedTicker, simulatedTickers } from '../../src/data/simulate/simulate.js'
import { BARS_PER_CHUNK } from '../../src/data/store/codec.js'
import { Database } from '../support/database.js'
import { draws, notInQuick, QUICK } from '../support/full.js'
import { emptyImporter, temporaryFolder } from '../support/store.js'

/** Every row of every table of a database. */
function tablesOf(path: string): Record<string, unknown[]> {
  const db = new Database(path, { readonly: true })
  try {
    const names = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").pluck().all()
    return Object.fromEntries(
      names.map(name => {
        const rows = db.prepare(`SELECT * FROM ${name}`).raw().all() as unknown[][]
        const texts = rows.map(row => row.map(value => (Buffer.isBuffer(value) ? value.toString('base64') : value)))
        return [name, texts.map(row => JSON.stringify(row)).sort()]
      }),
    )
  } finally {
    db.close()
  }
}

/** Some bars in a row, of which some are missing, and some are told in another way. */
function drawnBars(random: Random, bars: Series, from: number, to: number, changes: number): Series {
  const kept = Array.from({ length: to - from }, (_, t) => from + t).filter(() => random.below(20) > 0)
  const of = (column: Float64Array): Float64Array => Float64Array.from(kept, t => column[t]!)
  const days = Int32Array.from(kept, t => bars.days[t]!)
  const { open, high, low, close, volume } = bars
  const drawn: Series = {
    timeframe: 'daily',
    days,
    known: days,
    open: of(open),
    high: of(high),
    low: of(low),
    close: of(close),
    volume: of(volume),
  }
  for (let i = 0; i < changes && kept.length > 0; i++) {
    const t = random.below(kept.length)
    drawn.volume[t] = random.below(2) === 0 ? Number.NaN : random.below(1_000_000)
    drawn.high[t]! *= 1.001
    drawn.low[t]! *= 0.999
  }
  if (random.below(4) === 0) drawn.unadjustedClose = drawn.close.map(close => close * 2)
  return drawn
}

/** A ticker's facts with reports of figures as they were filed, and one split. */
function filed({ ticker, facts }: Pick<SimulatedTicker, 'ticker' | 'facts'>, split: Split): TickerFacts[] {
  const found = facts
    .filter(({ kind }) => kind !== 'splits')
    .map(given => {
      const records = given.records.map(record => ('basis' in record ? { ...record, basis: 'filed' as const } : record))
      return { ...given, records } as TickerFacts
    })
  return [...found, { ticker, kind: 'splits', records: [split] }]
}

/** One by which about half of the earnings are too small to tell growth of. */
function steepRatio(facts: readonly TickerFacts[]): number {
  const records = (facts.find(({ kind }) => kind === 'reports')?.records ?? []) as readonly Report[]
  const sizes = records.map(({ eps }) => Math.abs(eps ?? 1)).sort((a, b) => a - b)
  return (sizes[sizes.length >> 1] ?? 1) / DEFINITIONS.directions.leastEps
}

/** Such facts with a split on a day that may have no bar yet, which the prices of half of the tickers show. */
function drawnFacts(random: Random, { ticker, bars, facts }: SimulatedTicker): { bars: Series; facts: TickerFacts[] } {
  const ex = bars.days[BARS_PER_CHUNK + random.below(BARS_PER_CHUNK + 150)]! + random.below(2)
  const split = { ex_date: ex, ratio: [3, 0.5, steepRatio(facts)][random.below(3)]! }
  const jumps = random.below(2) === 0
  const scaled = (column: Float64Array): Float64Array =>
    jumps ? column.map((price, t) => (bars.days[t]! < ex ? price * split.ratio : price)) : column
  const { open, high, low, close } = bars
  return {
    bars: { ...bars, open: scaled(open), high: scaled(high), low: scaled(low), close: scaled(close) },
    facts: filed({ ticker, facts }, split),
  }
}

describe('a store after updates', () => {
  notInQuick('holds what a rebuild gives, to the byte, in all tables', async () => {
    for (let draw = 0; draw < draws(60); draw++) {
      const random = new Random(100 + draw)
      const folder = temporaryFolder()
      const path = join(folder, 'bands.db')
      const options = {
        count: 5,
        bars: 2 * BARS_PER_CHUNK + 200,
        seed: draw,
        end: 19_000,
        sevenDays: random.below(4) === 0,
      }
      const tickers = [...simulatedTickers(options)].map(simulated => {
        return random.below(2) === 0 ? simulated : { ...simulated, ...drawnFacts(random, simulated) }
      })
      const hasFacts = random.below(3) > 0
      const importer = await emptyImporter(folder)
      const ends = tickers.map(() => BARS_PER_CHUNK - 20 + random.below(BARS_PER_CHUNK + 150))
      const put = async (i: number, from: number, to: number, changes: number): Promise<void> => {
        const { ticker, bars } = tickers[i]!
        const drawn = drawnBars(random, bars, from, to, changes)
        if (drawn.days.length === 0) return
        const given = [{ ticker, bars: drawn, prices: 'raw' as const, source: 'a.csv', format: 'csv' }]
        await importer.put(given, { onRefused: () => {} })
      }
      for (const [i, end] of ends.entries()) await put(i, 0, end, 0)
      const some = tickers.flatMap(({ facts }) => facts).filter(() => random.below(4) > 0)
      if (hasFacts) await importer.putFacts(some, { file: 'facts', format: 'csv' })
      for (let step = 0; step < 14; step++) {
        const i = random.below(tickers.length)
        const kind = random.below(5)
        const end = Math.min(ends[i]! + 1 + random.below(kind === 4 ? 60 : 4), options.bars)
        if (kind < 3) await put(i, ends[i]!, end, 0)
        else if (kind === 3 && hasFacts) {
          const facts = tickers[i]!.facts.filter(() => random.below(2) === 0)
          if (facts.length > 0) await importer.putFacts(facts, { file: 'facts', format: 'csv' })
        } else await put(i, Math.max(0, ends[i]! - random.below(320)), end, random.below(3))
        if (kind !== 3) ends[i] = end
      }
      expect(await importer.store.verify(), `draw ${draw}`).toEqual([])
      const updated = tablesOf(path)
      await importer.rebuild()
      const rebuilt = tablesOf(path)
      for (const name of Object.keys(rebuilt)) expect(updated[name], `draw ${draw}: ${name}`).toEqual(rebuilt[name])
      await importer.close()
    }
  })

  it('holds what a rebuild gives once bars reach a split that prices do not show', async () => {
    const folder = temporaryFolder()
    const simulated = simulatedTicker(1, { count: 1, bars: 5 * BARS_PER_CHUNK + 60, seed: 5, end: 19_000 })
    const { ticker, bars } = simulated
    const importer = await emptyImporter(folder)
    const put = (from: number, to: number) =>
      importer.put([
        { ticker, bars: sliceBars(bars, from, to), prices: 'raw' as const, source: 'a.csv', format: 'csv' },
      ])
    await put(0, 5 * BARS_PER_CHUNK + 5)
    const facts = filed(simulated, { ex_date: bars.days[5 * BARS_PER_CHUNK + 8]!, ratio: steepRatio(simulated.facts) })
    await importer.putFacts(facts, { file: 'facts', format: 'csv' })
    for (let to = 5 * BARS_PER_CHUNK + 6; to < 5 * BARS_PER_CHUNK + (QUICK ? 10 : 16); to++) {
      await put(to - 1, to)
      expect(await importer.store.verify(), `${to} bars`).toEqual([])
      const updated = tablesOf(join(folder, 'bands.db'))
      await importer.rebuild()
      expect(updated, `${to} bars`).toEqual(tablesOf(join(folder, 'bands.db')))
    }
    await importer.close()
  })

  it('derives a whole ticker again if the data to reuse are damaged', async () => {
    const folder = temporaryFolder()
    const { ticker, bars } = simulatedTicker(1, { count: 1, bars: 300, seed: 3, end: 19_000 })
    const given = (from: number, to: number) => {
      return [{ ticker, bars: sliceBars(bars, from, to), prices: 'raw' as const, source: 'a.csv', format: 'csv' }]
    }
    const importer = await emptyImporter(folder)
    await importer.put(given(0, 298))
    const db = new Database(join(folder, 'bands.db'))
    db.exec("UPDATE chunks SET columns = zeroblob(length(columns)) WHERE part = 'outcomes'")
    db.close()
    await importer.put(given(298, 300))
    expect(await importer.store.verify()).toEqual([])
    await importer.close()
  })
})
