import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { expect, it, onTestFinished, vi } from 'vitest'
import { StorageError } from '../../src/core/errors.js'
import type { Series } from '../../src/core/model/series.js'
import { Random } from '../../src/core/statistics/random.js'
import { Collector } from '../../src/data/feeds/bars.js'
import { type Bar, GrowingBars } from '../../src/data/feeds/growing-bars.js'
import { Spill } from '../../src/data/feeds/spill.js'
import { smallDisk, temporaryFolder } from '../support/store.js'

interface Row extends Bar {
  ticker: string
}

/** Rows of some tickers: by ticker, by date, or in no order; some given twice, alike or not. */
function drawnRows(random: Random, order: number): Row[] {
  const kinds = { hasTimes: random.below(3) === 0, isAdjusted: random.below(2) === 0 }
  const rows = Array.from({ length: 12 * 90 }, (_, i): Row => {
    const [ticker, day] = order === 0 ? [Math.floor(i / 90), i % 90] : [i % 12, Math.floor(i / 12)]
    const price = 100 + random.below(1_000) / 100
    return {
      ticker: `T${ticker}`,
      day: 19_000 + day,
      open: price,
      high: price + 1,
      low: price - 1,
      close: price,
      volume: random.below(10) === 0 ? Number.NaN : random.below(1_000),
      seconds: kinds.hasTimes && random.below(4) === 0 ? 12 * 3600 : 0,
      inUtc: kinds.hasTimes,
      unadjusted: kinds.isAdjusted ? price * 2 : Number.NaN,
    }
  })
  for (let i = 0; i < 40; i++) {
    const row = rows[random.below(rows.length)]!
    rows.splice(random.below(rows.length), 0, random.below(2) === 0 ? row : { ...row, close: row.close + 0.5 })
  }
  if (order === 2) rows.sort(() => random.below(3) - 1)
  if (order === 3) rows.reverse()
  return rows
}

/** All that comes of rows, where so many bytes are held. */
function collected(rows: readonly Row[], held?: number) {
  const places = {
    lineOf: (row: number) => row,
    describeRejected: (line: number, { reason }: { reason: unknown }) => ({
      line,
      column: 1,
      reason: String(reason),
      text: '',
    }),
  }
  const collector = new Collector('a.csv', places, true, held)
  for (const [line, { ticker, ...bar }] of rows.entries()) {
    collector.rows++
    collector.add(collector.barsOf(ticker), bar, line)
  }
  const { order } = collector
  const { release, tickers, ...found } = collector.finish('raw', 100)
  const copied = tickers.map(({ bars, ...ticker }) => ({ ...ticker, bars }))
  if (release !== null) onTestFinished(release)
  expect(release === null).toBe(tickers.every(({ spilled: waits }) => waits !== true))
  return { order, ...found, tickers: copied }
}

it('the content of a file is the same, in any order, with little memory', () => {
  const random = new Random(1)
  for (let draw = 0; draw < 24; draw++) {
    const rows = drawnRows(random, draw % 4)
    const held = collected(rows)
    const spilled = collected(rows, 5_000 + random.below(40_000))
    expect(held.tickers.some(({ spilled: waits }) => waits)).toBe(false)
    expect(spilled.tickers.every(({ spilled: waits }) => waits)).toBe(true)
    expect({ ...spilled, tickers: spilled.tickers.map(({ spilled: _, ...ticker }) => ticker) }).toEqual(held)
  }
})

it('repeated days are found in the temporary file, without reading it back into memory', () => {
  const spill = new Spill()
  onTestFinished(() => spill.close())
  const bars = new GrowingBars('A', spill)
  const barOf = (day: number): Bar => {
    const price = 100 + (day % 7)
    const values = { open: price, high: price + 1, low: price - 1, close: price, volume: day }
    return { day, seconds: day % 50, inUtc: false, ...values, unadjusted: price * 2 }
  }
  for (let i = 0; i < 300; i++) {
    bars.add(barOf(19_000 + i), i)
    if (i % 100 === 99) bars.spill()
  }
  for (let i = 0; i < 300; i += 7) {
    const bar = barOf(19_000 + i)
    expect(bars.add(bar, 1_000)).toEqual({ row: i, seconds: bar.seconds, isSame: true })
    expect(bars.add({ ...bar, close: 1 }, 1_000)).toEqual({ row: i, seconds: bar.seconds, isSame: false })
    expect([bars.bytes, bars.count]).toEqual([0, 300])
  }
})

it('bars that wait are the same whenever they are asked for', () => {
  const rows = drawnRows(new Random(2), 1)
  const collector = new Collector('a.csv', { lineOf: row => row, describeRejected: () => ({}) as never }, false, 10_000)
  for (const [line, { ticker, ...bar }] of rows.filter(({ seconds }) => seconds === 0).entries())
    if (!rows.slice(0, line).some(row => row.ticker === ticker && row.day === bar.day)) {
      collector.rows++
      collector.add(collector.barsOf(ticker), bar, line)
    }
  const { tickers, release } = collector.finish('raw')
  const before = tickers.map(({ bars }): Series => bars)
  expect(tickers.map(({ bars }) => bars)).toEqual(before)
  release!()
  expect(() => tickers[0]!.bars).toThrow(StorageError)
})

it('what reads a file takes no room to write to before it writes', () => {
  const before = process.memoryUsage().arrayBuffers
  const spills = Array.from({ length: 100 }, () => new Spill())
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 20)
  for (const spill of spills) spill.close()
})

it('a temporary file has no name while it is used', () => {
  const folder = temporaryFolder()
  vi.stubEnv('TMPDIR', folder)
  onTestFinished(() => void vi.unstubAllEnvs())
  expect(tmpdir()).toBe(folder)
  const spill = new Spill()
  const columns = [new Float64Array([1, 2, 3]), new Int32Array([4, 5])]
  const at = spill.append(columns)
  const found = [new Float64Array(3), new Int32Array(2)]
  spill.readInto(at, found)
  expect(found).toEqual(columns)
  if (process.platform !== 'win32') expect(readdirSync(folder)).toEqual([])
  spill.close()
  expect(readdirSync(folder)).toEqual([])
  vi.stubEnv('TMPDIR', `${folder}/nothing`)
  const nowhere = new Spill()
  nowhere.append(columns)
  expect(() => nowhere.readInto(0, found)).toThrow(/a temporary file in .*nothing could not be written: ENOENT/)
})

it('a disk too full for a temporary file is reported with a remedy', ({ skip }) => {
  const disk = smallDisk('1m')
  if (disk === null) return skip('no disk of its own can be had here')
  vi.stubEnv('TMPDIR', disk)
  onTestFinished(() => void vi.unstubAllEnvs())
  const spill = new Spill()
  onTestFinished(() => spill.close())
  const put = (): void => {
    for (let i = 0; i < 40; i++) spill.append([new Float64Array(10_000)])
  }
  expect(put).toThrow(`a temporary file in ${disk} could not be written: the disk is full; TMPDIR names a folder`)
})
