import { beforeAll, describe, expect, it } from 'vitest'
import { formatDay, parseDay, weekdayOf } from '../../src/core/model/day.js'
import type { Series } from '../../src/core/model/series.js'
import { barsToCsv, type SimulateOptions, simulatedTicker, simulatedTickers } from '../../src/data/simulate/simulate.js'
import { notInQuick } from '../support/full.js'

const END = parseDay('2024-11-15')!

const optionsOf = (changes: Partial<SimulateOptions> = {}): SimulateOptions => ({
  count: 3,
  bars: 300,
  seed: 1,
  end: END,
  ...changes,
})

const csvOf = (options: SimulateOptions): string => [...barsToCsv(simulatedTickers(options))].join('')

const namesOf = (options: SimulateOptions): string[] => [...simulatedTickers(options)].map(({ ticker }) => ticker)

const datesOf = (options: SimulateOptions): string[] => Array.from(simulatedTicker(1, options).bars.days, formatDay)

describe('a simulated set', () => {
  it('is the same to the byte for the same seed, and another for another', () => {
    expect(csvOf(optionsOf())).toBe(csvOf(optionsOf()))
    expect(csvOf(optionsOf())).not.toBe(csvOf(optionsOf({ seed: 2 })))
  })

  it('has the same ticker regardless of the count and the query', () => {
    const alone = simulatedTicker(7, optionsOf({ count: 1 }))
    expect(simulatedTicker(7, optionsOf({ count: 500 }))).toEqual(alone)
    expect([...simulatedTickers(optionsOf({ count: 7 }))].at(-1)).toEqual(alone)
  })

  it('shares no ticker between neighbouring seeds, though their streams are the same in another order', () => {
    const closes = [1, 2, 3].flatMap(seed => [...simulatedTickers(optionsOf({ seed, count: 20 }))])
    expect(new Set(closes.map(({ bars }) => bars.close.join())).size).toBe(60)
  })

  it('goes on from the same bars when the end moves to a later session', () => {
    const short = simulatedTicker(4, optionsOf()).bars
    const long = simulatedTicker(4, optionsOf({ bars: 301, end: parseDay('2024-11-18')! })).bars
    const columns = ['days', 'open', 'high', 'low', 'close', 'volume'] as const
    for (const column of columns) expect(long[column].slice(0, 300), column).toEqual(short[column])
    expect(formatDay(long.days[300]!)).toBe('2024-11-18')
  })

  it('names tickers SIM and the number, with four digits or more', () => {
    expect(namesOf(optionsOf({ bars: 1 }))).toEqual(['SIM0001', 'SIM0002', 'SIM0003'])
    expect(simulatedTicker(10_000, optionsOf({ bars: 1 })).ticker).toBe('SIM10000')
  })
})

describe('the simulated calendar', () => {
  it('has ascending weekdays only, as many as asked for, up to the end', () => {
    const { days, known } = simulatedTicker(1, optionsOf({ bars: 2500 })).bars
    expect(days.length).toBe(2500)
    expect(days.at(-1)).toBe(END)
    expect(known).toEqual(days)
    expect(days.every((day, i) => weekdayOf(day) < 5 && (i === 0 || day > days[i - 1]!))).toBe(true)
  })

  it('ends on the session before an end that is none', () => {
    expect(datesOf(optionsOf({ end: parseDay('2024-11-17')! })).at(-1)).toBe('2024-11-15')
    expect(datesOf(optionsOf({ end: parseDay('2024-07-04')! })).at(-1)).toBe('2024-07-03')
  })

  it('keeps the four holidays, moved to a weekday next to the weekend', () => {
    const dates = datesOf(optionsOf({ bars: 1300 }))
    const closed = ['2024-01-01', '2023-01-02', '2024-07-04', '2021-07-05', '2020-07-03', '2023-11-23', '2022-12-26']
    for (const date of closed) expect(dates, date).not.toContain(date)
    const open = ['2024-01-02', '2021-12-31', '2023-11-24', '2022-12-23', '2024-11-14']
    for (const date of open) expect(dates, date).toContain(date)
  })

  it('has every day when the ticker trades on seven', () => {
    const { days } = simulatedTicker(1, optionsOf({ sevenDays: true })).bars
    expect(days.every((day, i) => day === END - 299 + i)).toBe(true)
  })
})

describe('simulated bars', () => {
  // Statistics of 50 tickers over ten years of one seed. Bounds on each ticker are wide, for a ticker is a small sample.
  const tickers = [...simulatedTickers(optionsOf({ count: 50, bars: 2500 }))]
  let returns: number[][]
  beforeAll(() => {
    returns = tickers.map(({ bars }) => returnsOf(bars))
  })

  it('are good rows in whole cents, with open and close within low and high', () => {
    for (const { ticker, bars } of [...tickers, ...simulatedTickers(optionsOf({ count: 5, bars: 5000, seed: 9 }))]) {
      const faults = Array.from(bars.days, (_, i) => faultOf(bars, i))
      expect(
        faults.filter(fault => fault !== null),
        ticker,
      ).toEqual([])
    }
  })

  it('stay within sane prices', () => {
    for (const { ticker, bars } of tickers) {
      expect(Math.min(...bars.low), ticker).toBeGreaterThan(0.5)
      expect(Math.max(...bars.high), ticker).toBeLessThan(20_000)
    }
  })

  it('have returns with fat tails', () => {
    for (const r of returns) expect(kurtosis(r)).toBeGreaterThan(4)
  })

  notInQuick('have volatility clusters: the size of a move lasts, its direction does not', () => {
    const sizes = returns.map(r => r.map(Math.abs))
    expect(median(sizes.map(s => lagged(s, 1)))).toBeGreaterThan(0.1)
    expect(median(sizes.map(s => lagged(s, 10)))).toBeGreaterThan(0.05)
    expect(Math.abs(median(returns.map(r => lagged(r, 1))))).toBeLessThan(0.05)
    for (const r of returns) expect(Math.abs(lagged(r, 1))).toBeLessThan(0.2)
  })

  notInQuick('move together within a seed, and not across seeds', () => {
    const other = [...simulatedTickers(optionsOf({ count: 50, bars: 2500, seed: 2 }))].map(({ bars }) =>
      returnsOf(bars),
    )
    for (const [i, r] of returns.entries()) {
      const rest = returns.filter((_, j) => j !== i)
      expect(correlation(r, averageOf(rest))).toBeGreaterThan(0.1)
      expect(Math.abs(correlation(r, averageOf(other)))).toBeLessThan(0.1)
    }
    expect(median(returns.map(r => correlation(r, averageOf(returns))))).toBeGreaterThan(0.4)
  })

  it('gap overnight, by less than they move in the session', () => {
    for (const { bars } of tickers) {
      const gaps = Array.from(bars.open)
        .slice(1)
        .map((open, i) => Math.log(open / bars.close[i]!))
      const sessions = Array.from(bars.close)
        .slice(1)
        .map((close, i) => Math.log(close / bars.open[i + 1]!))
      const share = variance(gaps) / (variance(gaps) + variance(sessions))
      expect(share).toBeGreaterThan(0.1)
      expect(share).toBeLessThan(0.4)
    }
  })

  it('trade volumes that last and that rise with the size of the move', () => {
    for (const [i, { bars }] of tickers.entries()) {
      const volume = Array.from(bars.volume, Math.log)
      expect(correlation(returns[i]!.map(Math.abs), volume.slice(1))).toBeGreaterThan(0.15)
      expect(lagged(volume, 1)).toBeGreaterThan(0.4)
      expect(Math.abs(skewness(volume))).toBeLessThan(1)
    }
  })
})

describe('barsToCsv', () => {
  it('writes a header and a chunk for each ticker, whose rows read back as the bars', () => {
    const [header, ...chunks] = barsToCsv(simulatedTickers(optionsOf()))
    expect(header).toBe('ticker,date,open,high,low,close,volume\n')
    expect(chunks.length).toBe(3)
    const { ticker, bars } = simulatedTicker(2, optionsOf())
    const rows = chunks[1]!
      .trimEnd()
      .split('\n')
      .map(line => line.split(','))
    expect(rows.length).toBe(300)
    for (const [i, [name, date, ...values]] of rows.entries()) {
      expect([name, date]).toEqual([ticker, formatDay(bars.days[i]!)])
      expect(values.map(Number)).toEqual([bars.open[i], bars.high[i], bars.low[i], bars.close[i], bars.volume[i]])
      expect(values.slice(0, 4).every(price => /^\d+\.\d\d$/.test(price))).toBe(true)
    }
  })
})

/** What the rules for bad rows and warnings of the field definitions have against a bar, or null. */
function faultOf({ open, high, low, close, volume }: Series, i: number): string | null {
  const prices = [open[i]!, high[i]!, low[i]!, close[i]!]
  if (!prices.every(price => Number.isFinite(price) && price > 0)) return 'a price that is no number above 0'
  if (!prices.every(price => Math.abs(price * 100 - Math.round(price * 100)) < 1e-6)) return 'a fraction of a cent'
  if (high[i]! < Math.max(open[i]!, close[i]!) || low[i]! > Math.min(open[i]!, close[i]!)) return 'a price out of range'
  return Number.isInteger(volume[i]!) && volume[i]! > 0 ? null : 'a volume that is no whole number above 0'
}

function returnsOf({ close }: Series): number[] {
  return Array.from(close)
    .slice(1)
    .map((price, i) => Math.log(price / close[i]!))
}

function averageOf(series: number[][]): number[] {
  return series[0]!.map((_, i) => series.reduce((sum, values) => sum + values[i]!, 0) / series.length)
}

function mean(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

function moment(values: number[], order: number): number {
  const centre = mean(values)
  return mean(values.map(value => (value - centre) ** order))
}

function variance(values: number[]): number {
  return moment(values, 2)
}

function skewness(values: number[]): number {
  return moment(values, 3) / variance(values) ** 1.5
}

function kurtosis(values: number[]): number {
  return moment(values, 4) / variance(values) ** 2
}

function correlation(x: number[], y: number[]): number {
  const mx = mean(x)
  const my = mean(y)
  const products = x.map((value, i) => (value - mx) * (y[i]! - my))
  return mean(products) / Math.sqrt(variance(x) * variance(y))
}

function lagged(values: number[], lag: number): number {
  return correlation(values.slice(lag), values.slice(0, -lag))
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!
}
