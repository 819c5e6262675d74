import { describe, expect, it } from 'vitest'
import { formatDay } from '../../src/core/model/day.js'
import { type Series, sliceBars } from '../../src/core/model/series.js'
import type { Importer } from '../../src/data/load/import.js'
import { type SourcedBars, seamRefusal } from '../../src/data/load/report.js'
import type { SeamMismatch } from '../../src/data/load/seam.js'
import { verify } from '../../src/data/local/verify.js'
import { simulatedTicker } from '../../src/data/simulate/simulate.js'
import { originsOf } from '../../src/data/store/store.js'
import { emptyImporter, temporaryFolder } from '../support/store.js'

const bars = (index: number, count = 120): Series =>
  simulatedTicker(index, { count: 9, bars: count, seed: 3, end: 20_000 }).bars

/** As a vendor gives them after a split: prices in cents, more shares. */
function scaled(series: Series, ratio: number, { volumes = true } = {}): Series {
  const cents = (column: Float64Array): Float64Array => column.map(price => Math.round((price / ratio) * 1e4) / 1e4)
  const { open, high, low, close, volume } = series
  const prices = { ...series, open: cents(open), high: cents(high), low: cents(low), close: cents(close) }
  return volumes ? { ...prices, volume: volume.map(traded => traded * ratio) } : prices
}

const given = (series: Series, more: Partial<SourcedBars> = {}): SourcedBars => ({
  ticker: 'ABC',
  prices: 'raw',
  source: 'new.csv',
  format: 'csv',
  bars: series,
  ...more,
})

/** A database that has these bars of ABC; each import into it is a run of its own. */
async function databaseWith(series: Series, more: Partial<SourcedBars> = {}) {
  const folder = temporaryFolder()
  const run = async <Result>(does: (importer: Importer) => Promise<Result>): Promise<Result> => {
    const importer = await emptyImporter(folder)
    return does(importer).finally(() => importer.close())
  }
  await run(importer => importer.put([given(series, { source: 'old.csv', ...more })]))
  return run
}

type Database = Awaited<ReturnType<typeof databaseWith>>

/** What an import of these bars says, and what is stored after it. */
function tried(database: Database, series: Series, options = {}, more: Partial<SourcedBars> = {}) {
  return database(async importer => {
    const refused: string[] = []
    const onRefused = ({ message }: Error): void => void refused.push(message)
    const [report] = await importer.put([given(series, more)], { ...options, onRefused })
    const origins = originsOf((await importer.store.ticker('ABC'))!)
    const jumps = origins.flatMap(({ from, jump }) => (jump === undefined ? [] : [{ from, jump }]))
    return { report, refused: refused[0], stored: (await importer.store.bars('ABC'))!, origins, jumps }
  })
}

const whole = bars(1)
const old = sliceBars(whole, 0, 100)
const recent = sliceBars(whole, 100)
const seam = formatDay(whole.days[100]!)

describe('new bars after a split', () => {
  it('refuse their ticker, naming the factor and what to do, and leave what is stored as it is', async () => {
    const database = await databaseWith(old)
    const { refused, stored } = await tried(database, scaled(recent, 4))
    expect(refused).toBe(
      `new.csv: ABC: prices in this file are 0.25 times those that are stored, as by a 4:1 split between ${formatDay(whole.days[99]!)} and ${seam}; import the whole history, or rescale multiplies what is stored by it, or accept_jump stores the bars as they are`,
    )
    expect(stored).toEqual(old)
  })

  it.each([2, 3, 4, 5, 7, 10, 20, 3 / 2, 1 / 2, 1 / 10, 2 / 3])('do so at a ratio of %d', async ratio => {
    const { refused } = await tried(await databaseWith(old), scaled(recent, ratio))
    expect(refused).toMatch(`${Number((1 / ratio).toPrecision(6))} times those that are stored`)
  })

  it("do so if the split's price is inside the range of the day, and not outside", async () => {
    const quartered = scaled(recent, 4)
    const expected = old.close[99]! / 4
    // As AAPL on 31 August 2020: from 499.23, which is 124.81, to a low of 126.00.
    const setDay = (open: number, high: number, low: number, close: number): void => {
      for (const [name, price] of Object.entries({ open, high, low, close }))
        quartered[name as 'open' | 'high' | 'low' | 'close'][0] = (price / 124.8075) * expected
    }
    setDay(127.58, 131, 126, 129.04)
    expect((await tried(await databaseWith(old), quartered)).refused).toMatch('0.25 times those that are stored')
    const database = await databaseWith(quartered)
    expect((await tried(database, sliceBars(whole, 90, 100))).refused).toMatch('4 times those that are stored')
    setDay(129, 131, 128, 129.04)
    expect(await tried(await databaseWith(old), quartered)).toMatchObject({ report: { added: 20 }, refused: undefined })
  })

  it('make one series with the stored ones when those are rescaled, volumes by the inverse', async () => {
    const database = await databaseWith(old)
    const { report, stored } = await tried(database, scaled(recent, 4), { rescale: true })
    expect(report).toMatchObject({ added: 20, bars: 120, rescaled: 0.25 })
    expect(report!.note).toBe('ABC: 100 stored bars are multiplied by 0.25, their volumes divided by it')
    expect([...stored.close.slice(0, 100)]).toEqual([...old.close].map(price => price / 4))
    expect([...stored.volume.slice(0, 100)]).toEqual([...old.volume].map(traded => traded * 4))
    expect(await database(importer => verify(importer, { deep: true }))).toEqual([])
  })

  it('are stored as they are when the jump is accepted, and the jump is kept', async () => {
    const database = await databaseWith(old)
    const { report, stored, origins } = await tried(database, scaled(recent, 4), { acceptJump: true })
    expect(report).toMatchObject({ added: 20, bars: 120 })
    expect(stored.close.slice(0, 100)).toEqual(old.close)
    expect(origins).toMatchObject([
      { source: 'old.csv', bars: 100 },
      { source: 'new.csv', bars: 20, jump: 0.25 },
    ])
    // The next night's file begins with a bar that is stored.
    const next = await tried(database, scaled(sliceBars(whole, 100, 101), 4))
    expect(next).toMatchObject({ report: { unchanged: 1 }, refused: undefined, jumps: [{ from: 100, jump: 0.25 }] })
  })

  it('are taken as they are where prices are raw and the split is stored', async () => {
    const database = await databaseWith(old)
    await split(database)
    expect(await tried(database, scaled(recent, 4))).toMatchObject({ report: { added: 20 }, refused: undefined })
  })

  it('refuse their ticker where prices are adjusted, and --rescale divides by the stored ratio', async () => {
    const adjusted = { prices: 'adjusted' } as const
    const database = await databaseWith(old, adjusted)
    await split(database, 8)
    const { refused } = await tried(database, scaled(recent, 8), {}, adjusted)
    expect(refused).toMatch(`0.125 times those that are stored, as by the split of ${seam} that is stored; `)
    const { report } = await tried(database, scaled(recent, 8), { rescale: true }, adjusted)
    expect(report).toMatchObject({ added: 20, rescaled: 0.125 })
  })

  it('are a jump and no more where no usual split is near, as it is inside a file', async () => {
    const database = await databaseWith(old)
    expect(await tried(database, scaled(recent, 2.3))).toMatchObject({ report: { added: 20 }, jumps: [] })
  })
})

async function split(database: Database, ratio = 4): Promise<void> {
  const records = [{ ex_date: whole.days[100]!, ratio }]
  const source = { file: 'splits.csv', format: 'splits csv' }
  await database(importer => importer.putFacts([{ ticker: 'ABC', kind: 'splits', records }], source))
}

describe('closes of days that are stored', () => {
  it('refuse their ticker where they differ by one factor and other bars would keep the old scale', async () => {
    const database = await databaseWith(whole)
    const { refused, stored } = await tried(database, scaled(sliceBars(whole, 60), 1 / 0.985, { volumes: false }))
    expect(refused).toMatch(
      /closes in this file are 0\.985 times those that are stored of the same 60 days, as after a dividend or split; /,
    )
    expect(stored).toEqual(whole)
  })

  it('leave volumes as they are when a factor of prices alone rescales', async () => {
    const database = await databaseWith(whole)
    const { stored } = await tried(database, scaled(sliceBars(whole, 60), 1 / 0.985, { volumes: false }), {
      rescale: true,
    })
    expect(stored.volume).toEqual(whole.volume)
    expect(stored.close[59]! / whole.close[59]!).toBeCloseTo(0.985, 5)
  })

  it('may be corrected here and there', async () => {
    const database = await databaseWith(whole)
    const corrected = { ...recent, close: recent.close.map((price, t) => (t % 4 === 0 ? price * 1.02 : price)) }
    expect(await tried(database, corrected)).toMatchObject({ report: { replaced: 5, unchanged: 15 } })
  })

  it('of another instrument refuse their ticker, telling what replace would leave of it, and replace begins again', async () => {
    const database = await databaseWith(bars(2))
    const { refused } = await tried(database, sliceBars(whole, 60))
    expect(refused).toMatch(
      /^new\.csv: ABC: \d\d of 60 closes of days that are stored too differ by more than 1 %, and by no common factor, so these are prices of another instrument; check which it is \(ticker names it\), or import the whole history of ABC; replace starts ABC again from this file, and leaves 60 bars instead of 120$/,
    )
    for (const options of [{ rescale: true }, { acceptJump: true }])
      expect((await tried(database, sliceBars(whole, 60), options)).refused).toBe(refused)
    const { stored } = await tried(database, sliceBars(whole, 60), { replace: true })
    expect(stored.close).toEqual(sliceBars(whole, 60).close)
  })
})

describe('a few common days, one differing from the others,', () => {
  const file = sliceBars(whole, 95, 120)
  const withClose = (series: Series, at: number, close: number): Series => {
    return { ...series, close: series.close.map((price, t) => (t === at ? close : price)) }
  }

  it('refuse their ticker by the factor of the others, a split', async () => {
    const quartered = scaled(file, 4)
    const { refused } = await tried(await databaseWith(old), withClose(quartered, 4, quartered.close[4]! * 1.02))
    expect(refused).toMatch('closes in this file are 0.25 times those that are stored of the same 5 days')
  })

  it('refuse it by the factor of a small dividend before that day, and rescale brings the bars before it along', async () => {
    const adjusted = withClose(scaled(file, 1 / 0.995, { volumes: false }), 4, old.close[99]!)
    const database = await databaseWith(old)
    expect((await tried(database, adjusted)).refused).toMatch(
      /0\.995\d* times those that are stored of the same 4 days/,
    )
    const { report, stored } = await tried(database, adjusted, { rescale: true })
    expect(report!.note).toMatch(/^ABC: 99 stored bars are multiplied by 0\.995/)
    expect(stored.close[94]! / old.close[94]!).toBeCloseTo(0.995, 4)
    expect(stored.close[99]).toBe(old.close[99])
  })

  it('refuse it where the stored bars have the step among them', async () => {
    const late = scaled(file, 4)
    const stepped = scaled(whole, 4)
    for (const column of ['open', 'high', 'low', 'close', 'volume'] as const)
      stepped[column] = stepped[column].map((value, t) => (t < 98 ? whole[column][t]! : value))
    const database = await databaseWith(sliceBars(stepped, 0, 110))
    // Days in the middle of the file are stored alone, on its scale.
    const holed = { ...late }
    for (const column of ['days', 'known'] as const) holed[column] = late[column].filter((_, t) => t !== 8)
    for (const column of ['open', 'high', 'low', 'close', 'volume'] as const)
      holed[column] = late[column].filter((_, t) => t !== 8)
    expect((await tried(database, holed)).refused).toMatch('0.25 times those that are stored of the same 3 days')
    const { refused, stored } = await tried(database, holed, { rescale: true })
    expect(refused).toBeUndefined()
    expect(stored.close[50]).toBe(whole.close[50]! / 4)
    expect(stored.close[103]).toBe(stepped.close[103])
  })

  it('are not called another instrument’s while they move alike', async () => {
    const twice = scaled(file, 4)
    const { refused } = await tried(await databaseWith(old), {
      ...twice,
      close: twice.close.map((c, t) => (t < 3 ? c / 2 : c)),
    })
    expect(refused).toMatch('times those that are stored')
    expect(refused).not.toMatch('another instrument')
  })
})

describe('one day that is stored too', () => {
  const night = sliceBars(whole, 99, 101)

  it('refuses its ticker where its four prices differ by one ratio, as after a dividend, and rescale mends it', async () => {
    const database = await databaseWith(old)
    const adjusted = { ...night, open: night.open.slice(), high: night.high.slice() }
    Object.assign(adjusted, { low: night.low.slice(), close: night.close.slice() })
    for (const column of [adjusted.open, adjusted.high, adjusted.low, adjusted.close])
      column[0] = Math.round(column[0]! * 0.985 * 1e4) / 1e4
    expect((await tried(database, adjusted)).refused).toMatch(
      /the four prices of the day that is stored too are 0\.985\d* times the stored ones in this file, as after a dividend or split; /,
    )
    const { report, stored } = await tried(database, adjusted, { rescale: true })
    expect(report).toMatchObject({ added: 1, bars: 101 })
    expect(stored.close[98]! / old.close[98]!).toBeCloseTo(0.985, 4)
  })

  it('refuses its ticker where it is another instrument’s, and leaves the stored bar', async () => {
    const database = await databaseWith(old)
    const { refused, stored } = await tried(database, sliceBars(bars(2), 99, 101))
    expect(refused).toMatch('the prices of the one day that is stored too differ by more than 1 %, and by no common')
    expect(stored).toEqual(old)
  })

  it('is taken where it was stored while it still went on', async () => {
    const partial = { ...old, close: old.close.slice(), low: old.low.slice(), high: old.high.slice() }
    const open = partial.open[99]!
    Object.assign(partial.high, { 99: open * 1.0001 })
    Object.assign(partial.low, { 99: open * 0.9999 })
    Object.assign(partial.close, { 99: open })
    const database = await databaseWith(partial)
    expect(await tried(database, night)).toMatchObject({ report: { added: 1, replaced: 1 }, refused: undefined })
  })
})

it('an accepted jump stays where it is when bars come between', async () => {
  const last = whole.close.findLastIndex((close, t) => t < 90 && Math.abs(close / whole.close[100]! - 1) < 0.01)
  const database = await databaseWith(sliceBars(whole, 0, last + 1))
  const accepted = await tried(database, scaled(recent, 4), { acceptJump: true })
  expect(accepted.jumps).toEqual([{ from: last + 1, jump: 0.25 }])
  const before = await tried(database, sliceBars(whole, last + 1, 95))
  expect(before).toMatchObject({ refused: undefined, jumps: [{ from: 95, jump: 0.25 }] })
  const behind = await tried(database, scaled(sliceBars(whole, 95, 100), 4))
  expect(behind).toMatchObject({ refused: undefined, jumps: [{ from: 95, jump: 0.25 }] })
})

it('older bars are compared with the first stored one', async () => {
  const database = await databaseWith(scaled(recent, 4))
  expect((await tried(database, old)).refused).toMatch(
    'prices in this file are 4 times those that are stored, as by a 4:1',
  )
})

it('a refusal carries the options that load its ticker without loss, whatever its words', () => {
  const jump = { from: whole.days[99]!, day: whole.days[100]!, factor: 0.25 }
  const seamOf = (reason: 'split' | 'factor'): SeamMismatch => {
    return { reason, scale: { by: 1, over: 4 }, changesShares: true, jumps: [jump], common: 2 }
  }
  const counts = { stored: 100, incoming: 20 }
  expect(seamRefusal('ABC', seamOf('split'), counts, { canRescale: true }).loadsWith).toEqual({ rescale: true })
  expect(seamRefusal('ABC', seamOf('split'), counts).loadsWith).toBeUndefined()
  expect(seamRefusal('ABC', seamOf('factor'), counts, { canRescale: true }).loadsWith).toBeUndefined()
})

it('replace, rescale and accept_jump exclude each other', async () => {
  const database = await databaseWith(old)
  await expect(tried(database, recent, { rescale: true, replace: true })).rejects.toMatchObject({
    code: 'invalid_parameter',
    message: 'replace and rescale exclude each other.',
  })
})

it('bars that are put and do not fit throw, and nothing of the call is loaded', async () => {
  const database = await databaseWith(old)
  const both = [given(bars(3), { ticker: 'DEF' }), given(scaled(recent, 4))]
  await expect(database(importer => importer.put(both))).rejects.toMatchObject({ code: 'bad_data' })
  expect(await database(importer => importer.tickers())).toEqual(['ABC'])
})

describe('a ticker that is refused', () => {
  it('for prices of the other kind keeps no other ticker of its file out', async () => {
    const database = await databaseWith(old)
    const refused: string[] = []
    const onRefused = ({ message }: Error): void => void refused.push(message)
    const tickers = ['ABC', 'DEF'].map(ticker => given(recent, { ticker, prices: 'adjusted' }))
    const reports = await database(importer => importer.put(tickers, { onRefused }))
    expect(refused).toEqual([
      'new.csv: ABC is kept with raw prices and this file gives adjusted ones; a series is one or the other: prices raw takes those, or replace starts ABC again, from a file of its own',
    ])
    expect(reports.map(({ ticker }) => ticker)).toEqual(['DEF'])
  })

  it('is not passed over by the next file of the run, unless that has its whole history', async () => {
    const database = await databaseWith(old)
    const quartered = scaled(whole, 4)
    const refused: string[] = []
    const onRefused = ({ message }: Error): void => void refused.push(message)
    const years = [sliceBars(quartered, 100, 110), sliceBars(quartered, 110)]
    await database(async importer => {
      for (const [i, year] of years.entries())
        await importer.put([given(year, { source: `${i + 1}.csv` })], { onRefused })
      expect((await importer.store.bars('ABC'))!).toEqual(old)
      await importer.put([given(quartered, { source: 'whole.csv' })], { onRefused })
      expect((await importer.store.bars('ABC'))!.close).toEqual(quartered.close)
    })
    expect(refused).toHaveLength(2)
    expect(refused[1]).toBe(
      '2.csv: ABC: its bars in 1.csv are refused, and these come after them; mend that first, or import the whole history',
    )
  })
})
