import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { part, type Series } from '../../src/model/series.js'
import { simulatedTicker, simulatedTickers } from '../../src/simulate/simulate.js'
import { Random } from '../../src/statistics/random.js'
import { CHUNK } from '../../src/store/codec.js'
import { Database } from '../support/database.js'
import { draws } from '../support/full.js'
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
    ...{ timeframe: 'daily', days, known: days, open: of(open), high: of(high), low: of(low), close: of(close) },
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

describe('a store after updates', () => {
  it('holds what a rebuild gives, to the byte, in all tables', async () => {
    for (let draw = 0; draw < draws(60); draw++) {
      const random = new Random(100 + draw)
      const folder = temporaryFolder()
      const path = join(folder, 'bands.db')
      const options = { count: 5, bars: 2 * CHUNK + 200, seed: draw, end: 19_000, sevenDays: random.below(4) === 0 }
      const tickers = [...simulatedTickers(options)]
      const hasFacts = random.below(3) > 0
      const importer = await emptyImporter(folder)
      const ends = tickers.map(() => CHUNK - 20 + random.below(CHUNK + 150))
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
      const updated = tablesOf(path)
      await importer.rebuild()
      const rebuilt = tablesOf(path)
      for (const name of Object.keys(rebuilt)) expect(updated[name], `draw ${draw}: ${name}`).toEqual(rebuilt[name])
      await importer.close()
    }
  })

  it('derives all of a ticker anew where what was to stay is damaged', async () => {
    const folder = temporaryFolder()
    const { ticker, bars } = simulatedTicker(1, { count: 1, bars: 300, seed: 3, end: 19_000 })
    const given = (from: number, to: number) => {
      return [{ ticker, bars: part(bars, from, to), prices: 'raw' as const, source: 'a.csv', format: 'csv' }]
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
