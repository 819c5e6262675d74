import { describe, expect, it } from 'vitest'
import { formatDay, parseDay, weekdayOf } from '../../src/core/model/day.js'
import type { Series } from '../../src/core/model/series.js'
import { barsToCsv, type SimulateOptions, simulatedTicker, simulatedTickers } from '../../src/data/simulate/simulate.js'

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
  it('are good rows in whole cents, with open and close within low and high', () => {
    for (const { ticker, bars } of simulatedTickers(optionsOf({ count: 50, bars: 2500 }))) {
      const faults = Array.from(bars.days, (_, i) => faultOf(bars, i))
      expect(
        faults.filter(fault => fault !== null),
        ticker,
      ).toEqual([])
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
