import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { openSample } from '../../src/app/open/database.js'
import { line, newChart, roundSteps } from '../../src/app/present/chart.js'
import { priceWithEvents } from '../../src/app/present/charts.js'
import { tableOf } from '../../src/app/present/description.js'
import { cellsTable } from '../../src/app/present/long-tables.js'
import {
  describeInputs,
  hashOfInputs,
  MOST_PRICE_CHARTS,
  readChartPrices,
  tickersToChart,
} from '../../src/app/present/prices.js'
import { priceWithTrades } from '../../src/app/present/strategy-charts.js'
import { drawChart } from '../../src/app/report/chart.js'
import {
  dateLabel,
  dateTicks,
  indexesToDraw,
  logSteps,
  newScale,
  reducePoints,
  valueExtent,
  visiblePart,
  withMargin,
  xExtent,
} from '../../src/app/report/scale.js'
import { filterRows, probability, signedPercent, sortRows } from '../../src/app/report/table.js'
import { formatDay } from '../../src/core/model/day.js'
import { UNDEFINED } from '../../src/core/model/series.js'
import { parseBacktest } from '../../src/core/params/backtest.js'
import { parseGrid } from '../../src/core/params/grid.js'
import { parseStudy, parseSweep } from '../../src/core/params/studies.js'
import type { PricedSource } from '../../src/core/source.js'
import { backtest } from '../../src/research/backtest/backtest.js'
import { grid } from '../../src/research/backtest/grid.js'
import { eventStudy } from '../../src/research/study/event-study.js'
import { sweep } from '../../src/research/sweep/sweep.js'
import { seriesMarket } from '../backtest/support/made-market.js'
import { randomBars, SHAPES } from '../support/bars.js'
import { seriesOf } from '../support/convert.js'
import { notInQuick } from '../support/full.js'
import { madePrices } from '../support/results/prices.js'
import { madeBacktest, madeSweep } from '../support/results/runs.js'
import { barsIn, statesIn } from '../support/source.js'

const extent = fc
  .tuple(fc.double({ min: -1e6, max: 1e6, noNaN: true }), fc.double({ min: 1e-6, max: 1e6, noNaN: true }))
  .map(([from, span]) => ({ from, to: from + span }))

describe('thinning', () => {
  it('keeps the ends, the least and the greatest of every column, and no more points than it may', () => {
    const column = fc.array(fc.double({ min: -1e3, max: 1e3, noNaN: true }), { minLength: 2, maxLength: 400 })
    fc.assert(
      fc.property(column, fc.integer({ min: 8, max: 100 }), (values, most) => {
        const other = values.map(value => -value)
        const kept = indexesToDraw([values, other], values.length, most)
        expect(kept.length).toBeLessThanOrEqual(Math.max(most, 6))
        expect(kept).toEqual([...new Set(kept)].sort((a, b) => a - b))
        expect([kept[0], kept.at(-1)]).toEqual([0, values.length - 1])
        const told = kept.map(i => values[i]!)
        expect([Math.min(...told), Math.max(...told)]).toEqual([Math.min(...values), Math.max(...values)])
      }),
    )
  })

  it('draws at most 2,000 points of a price, each of them a real one, its marks and bands whole', () => {
    const prices = madePrices({ bars: 12_000 })
    const { x, lines, marks, stripes } = reducePoints(priceWithEvents(prices, 'price'))
    expect(x.values.length).toBeLessThanOrEqual(2000)
    expect(x.values.length).toBe(lines[0]!.values.length)
    const highest = Math.max(...prices.close)
    expect(valueExtent(priceWithEvents(prices, 'p'))!.greatest).toBeCloseTo(
      highest,
      -Math.floor(Math.log10(highest)) + 4,
    )
    expect(marks[0]!.at).toHaveLength(prices.events.length)
    expect(stripes!.codes.length).toBe(prices.codes.filter((code, i) => i === 0 || code !== prices.codes[i - 1]).length)
  })

  it('marks every entry and every exit of a closed trade', async () => {
    const prices = madePrices()
    const { trades } = await madeBacktest([prices])
    const [entries, gains, losses] = priceWithTrades(prices, trades, 'price').marks.map(({ at }) => at.length)
    expect(entries).toBe(trades.length)
    expect(gains! + losses!).toBe(trades.filter(({ exit }) => exit !== 'open').length)
    const { of } = priceWithTrades(prices, trades, 'price').cases!
    expect(of.map(({ from: [, price] }) => price)).toEqual(trades.map(trade => trade.entry_price))
    expect(of[0]!.facts.map(([term]) => term)).toEqual([
      ...['Signal', 'Entry', 'Exit', 'Reason of the exit', 'Bars held', 'Return', 'On the way'],
    ])
  })
})

describe('the part of a chart that is looked at', () => {
  const chart = priceWithEvents(madePrices({ bars: 500 }), 'price')

  it('holds all values inside and one beyond each end, so that lines leave it at its edges', () => {
    const { values } = chart.x
    const part = visiblePart(chart, { from: values[100]!, to: values[200]! }, new Set())
    expect([part.x.values[0], part.x.values.at(-1)]).toEqual([values[99], values[201]])
    expect(part.lines[0]!.values).toEqual(chart.lines[0]!.values.slice(99, 202))
    expect(part.marks[0]!.at).toEqual(chart.marks[0]!.at.filter(day => day >= values[100]! && day <= values[200]!))
  })

  it('is the whole of it where all is in sight, without what is hidden', () => {
    expect(visiblePart(chart, xExtent(chart), new Set())).toEqual(chart)
    const hidden = visiblePart(chart, xExtent(chart), new Set(['line 0', 'marks 0']))
    expect([hidden.lines, hidden.marks, hidden.stripes]).toEqual([[], [], chart.stripes])
  })
})

describe('names at the ends of lines', () => {
  const ends = [0.061, 0.06, 0.0605, 0.02, -0.4, -0.401]
  const chart = newChart('paths', 'Paths', {
    x: ['bars', [0, 1, 2]] as const,
    y: 'return' as const,
    lines: ends.map((end, i) => line(`band ${i}`, 'accent', [0, end / 2, end], { named: true })),
  })
  const namesOf = (width: number): { name: string; y: number }[] => {
    const found = drawChart({ ...chart, width }).text.matchAll(/<text x="[\d.]+" y="([\d.]+)">(band \d)</g)
    return [...found].map(([, y, name]) => ({ name: name!, y: Number(y) }))
  }

  it('are in the order of the ends, do not overlap and stay inside', () => {
    const names = namesOf(760)
    expect(names.map(({ name }) => name)).toEqual(['band 0', 'band 2', 'band 1', 'band 3', 'band 4', 'band 5'])
    for (const [i, { y }] of names.entries()) {
      if (i > 0) expect(y - names[i - 1]!.y).toBeGreaterThan(11)
      expect(y).toBeLessThan(chart.height - 20)
    }
  })

  it('are left to the key of a narrow drawing', () => {
    expect(namesOf(360)).toEqual([])
  })
})

describe('axes', () => {
  it('have round numbers inside the range, evenly apart, about as many as wanted', () => {
    fc.assert(
      fc.property(extent, fc.integer({ min: 2, max: 12 }), ({ from, to }, wanted) => {
        fc.pre(to - from > Math.abs(from) * 1e-9)
        const steps = roundSteps(from, to, wanted)
        const slack = (to - from) * 1e-6
        for (const step of steps) expect(step).toBeGreaterThanOrEqual(from - slack)
        for (const step of steps) expect(step).toBeLessThanOrEqual(to + slack)
        expect(steps.length).toBeLessThanOrEqual(wanted * 1.5 + 1)
        expect(steps.length).toBeGreaterThanOrEqual(Math.floor(wanted / 2.6))
      }),
    )
  })

  it('leave room around the values, and none below what cannot be below 0', () => {
    fc.assert(
      fc.property(extent, ({ from, to }) => {
        const plain = withMargin({ least: from, greatest: to }, { log: false, zero: false, unit: 'price' })
        expect(plain.from).toBeLessThanOrEqual(from)
        expect(plain.to).toBeGreaterThanOrEqual(to)
      }),
    )
    expect(withMargin({ least: 0, greatest: 3 }, { log: false, zero: true, unit: 'count' }).from).toBe(0)
    expect(withMargin({ least: 2, greatest: 2 }, { log: false, zero: false, unit: 'price' })).toEqual({
      from: 1.9,
      to: 2.1,
    })
  })

  it('place equal factors at equal distances on a logarithmic scale', () => {
    const { place } = newScale(1, 100, 0, 10, true)
    expect(place(10)).toBeCloseTo(5)
    expect(logSteps(1, 100, 5)).toEqual([1, 2, 5, 10, 20, 50, 100])
  })

  it('name years and months by their first day', () => {
    const day = (text: string): number => Date.parse(text) / 86_400_000
    expect(dateTicks(day('2016-11-21'), day('2026-11-20'), 8).map(({ label }) => label)).toEqual([
      '2018',
      '2020',
      '2022',
      '2024',
      '2026',
    ])
    expect(dateTicks(day('2026-01-15'), day('2026-07-15'), 6).map(({ label }) => label)).toEqual([
      'Feb 2026',
      'Mar 2026',
      'Apr 2026',
      'May 2026',
      'Jun 2026',
      'Jul 2026',
    ])
    expect(dateLabel(day('2026-02-03'))).toBe('2026-02-03')
  })
})

describe('numbers in words', () => {
  it('have a sign where they have a direction, and none where they round to nothing', () => {
    expect([0.0164, -0.2, 0, -0.00001, null].map(value => signedPercent(value))).toEqual([
      '+1.64%',
      '-20.00%',
      '0.00%',
      '0.00%',
      '–',
    ])
  })

  it('never call a probability 0', () => {
    expect([0.5, 0.00193, 0.00001, 0, null].map(probability)).toEqual(['0.50', '0.0019', '<0.0001', '<0.0001', '–'])
  })
})

describe('tables', () => {
  it('sort rows without losing any, those without a value last whichever way', () => {
    const rows = fc.array(fc.option(fc.integer({ min: -5, max: 5 })))
    fc.assert(
      fc.property(rows, fc.boolean(), (values, descending) => {
        const table = tableOf('n', [{ title: 'n', kind: 'count', value: (value: number | null) => value }], values)
        const told = sortRows(table, [...values.keys()], 0, descending).map(row => values[row])
        const known = values.filter(value => value !== null).sort((a, b) => (descending ? b - a : a - b))
        expect(told).toEqual([...known, ...values.filter(value => value === null)])
      }),
    )
  })

  it('find the combinations of a sweep by words, field, window and finding', async () => {
    const result = await madeSweep()
    const table = cellsTable(result)
    const found = (filter: object): number =>
      filterRows(table, { text: '', field: '', window: '', only: '', ...filter }).length
    expect(found({})).toBe(result.cells.length)
    expect(found({ only: 'found' })).toBe(result.found)
    expect(found({ only: 'tested' })).toBe(result.tried.tested)
    expect(found({ field: 'rsi_zone', window: '20d' })).toBe(7)
    expect(found({ text: 'RSI deep 20d' })).toBe(2)
    expect(found({ text: 'nothing like it' })).toBe(0)
  })
})

const { local } = openSample()
const market = local
const asked = { field: 'rsi_zone', timeframe: 'daily', first: null, last: null, tickers: ['AAPL'] } as const

afterAll(() => local.close())

describe('the prices to draw', () => {
  it('are the bars and bands of the market between two dates, with what happened on them', async () => {
    const { series } = await barsIn(market, 'AAPL', 'daily')
    const states = await statesIn(market, 'AAPL', 'rsi_zone', 'daily')
    const bar = states.bars[3]!
    const mark = { ticker: 'AAPL', date: formatDay(series.days[bar]!), band: states.bands[states.entered[3]!]! }
    const first = formatDay(series.days[bar - 10]!)
    const last = formatDay(series.days[bar + 10]!)
    const [chart] = await readChartPrices(market, { ...asked, first, last, marked: [mark] })
    expect(chart!.dates).toHaveLength(21)
    expect([chart!.dates[0], chart!.dates.at(-1)]).toEqual([first, last])
    expect(chart!.close).toEqual(Array.from(series.close.subarray(bar - 10, bar + 11)))
    expect(chart!.codes).toEqual(
      Array.from(states.codes.subarray(bar - 10, bar + 11), code => (code === UNDEFINED ? -1 : code)),
    )
    expect(chart!.events).toEqual([{ at: 10, band: mark.band }])
    expect(chart!.bands[chart!.codes[10]!]).toBe(mark.band)
  })

  it('are all there are without dates, and none beyond them', async () => {
    const [whole] = await readChartPrices(market, { ...asked, marked: [] })
    expect(whole!.dates).toHaveLength((await barsIn(market, 'AAPL', 'daily')).series.days.length)
    const [none] = await readChartPrices(market, { ...asked, first: '2030-01-01', marked: [] })
    expect(none!.dates).toEqual([])
  })

  it('are those of the tickers with the most marks, by name', () => {
    const tickers = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H']
    const marked = tickers.flatMap((ticker, i) =>
      Array.from({ length: i }, () => ({ ticker, date: '2020-01-02', band: 'x' })),
    )
    expect(tickersToChart({ tickers, marked })).toEqual(['C', 'D', 'E', 'F', 'G', 'H'])
    expect(tickersToChart({ tickers: ['B', 'A'], marked: [] })).toEqual(['A'])
    expect(tickersToChart({ tickers, marked: marked.slice(0, 1) })).toEqual(['B'])
    expect(MOST_PRICE_CHARTS).toBe(6)
  })
})

describe('the hash of the inputs', () => {
  const hash = (tickers: readonly string[], fields = ['rsi_zone'], as: PricedSource = market): Promise<string> =>
    hashOfInputs(as, { tickers, fields, timeframe: 'daily' })

  it('knows neither the order of tickers nor that of fields', async () => {
    expect(await hash(['AAPL', 'GSPC'], ['rsi_zone', 'macd_state'])).toBe(
      await hash(['GSPC', 'AAPL'], ['macd_state', 'rsi_zone']),
    )
  })

  it('knows contexts and benchmarks, whichever is named first', async () => {
    const of = (companions: { ticker: string; field: string | null; lag?: number }[]) =>
      hashOfInputs(market, { tickers: ['AAPL'], fields: ['rsi_zone'], timeframe: 'daily', companions })
    const context = { ticker: 'GSPC', field: 'trend_direction' }
    const benchmark = { ticker: 'GSPC', field: null }
    const hashes = await Promise.all([of([]), of([context]), of([benchmark]), of([context, benchmark])])
    expect(new Set(hashes).size).toBe(4)
    expect(await of([benchmark, context, benchmark])).toBe(hashes[3])
    // A bar earlier is another question; on the same bar it is the one that it always was.
    expect(new Set([...hashes, await of([{ ...context, lag: 1 }])]).size).toBe(5)
    expect(await of([{ ...context, lag: 0 }])).toBe(hashes[1])
  })

  it('knows how many bars earlier a condition looks at another ticker, and stays as it was without that', async () => {
    const fields = ['GSPC:rsi_zone = oversold']
    const of = (lags?: number[]) => hashOfInputs(market, { tickers: ['AAPL'], fields, timeframe: 'daily', lags })
    const hashes = await Promise.all([of(), of([1]), of([2]), of([0, 1])])
    expect(new Set(hashes).size).toBe(4)
    expect(await of([0])).toBe(hashes[0])
    // Also where no field knows the difference, so that each question has a hash of its own.
    const alike = (lag: number) =>
      hashOfInputs(market, { tickers: ['AAPL'], fields: ['rsi_zone'], timeframe: 'daily', lags: [lag] })
    expect(await alike(1)).not.toBe(await alike(0))
  })

  it('includes the volume, and the condition with a field', async () => {
    const series = seriesOf(randomBars(3, { ...SHAPES.plain!, length: 60 }))
    const of = (volume: Float64Array) => hash(['A'], ['rsi_zone'], seriesMarket({ A: { ...series, volume } }))
    expect(await of(series.volume)).not.toBe(await of(series.volume.map(value => value + 1)))
    const study = async (more: object) => {
      const asked = { tickers: ['AAPL'], field: 'rsi_zone', reps: 99, resamples: 99, ...more }
      return (await describeInputs(market, await eventStudy(market, parseStudy(asked)))).inputs
    }
    expect(await study({ when: 'GSPC:rsi_zone = oversold' })).not.toBe(await study({}))
  })

  notInQuick('is that of the lag of each result', async () => {
    const when = 'GSPC:rsi_zone = oversold'
    const asked = { tickers: ['AAPL'], when, resamples: 99 }
    const strategy = { tickers: ['AAPL'], entry: { when }, exit: { hold: 5 } }
    const results = async (lag: { context_lag?: number }) => {
      const traded = parseBacktest({ strategy, reps: 99, ...lag }, { tier: null })
      return [
        await eventStudy(market, parseStudy({ ...asked, ...lag })),
        await eventStudy(market, parseStudy({ ...asked, field: 'rsi_zone', ...lag })),
        await sweep(market, parseSweep({ ...asked, ...lag })),
        await sweep(market, parseSweep({ ...asked, field: ['rsi_zone'], ...lag })),
        await backtest(market, traded.strategy, traded.run),
        await grid(market, parseGrid({ strategy, vary: ['hold=5,10'], ...lag }, { tier: null })),
      ]
    }
    const without = await results({})
    const earlier = await results({ context_lag: 1 })
    for (const [i, found] of without.entries())
      expect((await describeInputs(market, found)).inputs).not.toBe((await describeInputs(market, earlier[i]!)).inputs)
  })

  it('differs with tickers, fields and the data known by the as-of day', async () => {
    const earlier = openSample({ asOf: 17_000 })
    const hashes = [
      await hash(['AAPL']),
      await hash(['GSPC']),
      await hash(['AAPL'], ['macd_state']),
      await hash(['AAPL'], ['rsi_zone'], earlier.local),
    ]
    await earlier.local.close()
    expect(new Set(hashes).size).toBe(4)
  })
})
