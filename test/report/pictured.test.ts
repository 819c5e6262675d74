import { afterAll, describe, expect, it } from 'vitest'
import { formatDay } from '../../src/model/day.js'
import { UNDEFINED } from '../../src/model/series.js'
import { openSample } from '../../src/open.js'
import { CHARTED_TICKERS, chartedTickers, hashOfInputs, priceCharts } from '../../src/report/pictured.js'
import { barsIn, statesIn } from '../support/source.js'

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
    const [first, last] = [formatDay(series.days[bar - 10]!), formatDay(series.days[bar + 10]!)]
    const [chart] = await priceCharts(market, { ...asked, first, last, marked: [mark] })
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
    const [whole] = await priceCharts(market, { ...asked, marked: [] })
    expect(whole!.dates).toHaveLength((await barsIn(market, 'AAPL', 'daily')).series.days.length)
    const [none] = await priceCharts(market, { ...asked, first: '2030-01-01', marked: [] })
    expect(none!.dates).toEqual([])
  })

  it('are those of the tickers in which most happened, told by name', () => {
    const tickers = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H']
    const marked = tickers.flatMap((ticker, i) =>
      Array.from({ length: i }, () => ({ ticker, date: '2020-01-02', band: 'x' })),
    )
    expect(chartedTickers({ tickers, marked })).toEqual(['C', 'D', 'E', 'F', 'G', 'H'])
    expect(chartedTickers({ tickers: ['B', 'A'], marked: [] })).toEqual(['A'])
    expect(chartedTickers({ tickers, marked: marked.slice(0, 1) })).toEqual(['B'])
    expect(CHARTED_TICKERS).toBe(6)
  })
})

describe('the hash of the inputs', () => {
  const hash = (tickers: readonly string[], fields = ['rsi_zone'], as = market): Promise<string> =>
    hashOfInputs(as, { tickers, fields, timeframe: 'daily' })

  it('knows neither the order of tickers nor that of fields', async () => {
    expect(await hash(['AAPL', 'GSPC'], ['rsi_zone', 'macd_state'])).toBe(
      await hash(['GSPC', 'AAPL'], ['macd_state', 'rsi_zone']),
    )
  })

  it('knows contexts and benchmarks, whichever is named first', async () => {
    const of = (beside: { ticker: string; field: string | null }[]) =>
      hashOfInputs(market, { tickers: ['AAPL'], fields: ['rsi_zone'], timeframe: 'daily', beside })
    const [context, benchmark] = [
      { ticker: 'GSPC', field: 'trend_direction' },
      { ticker: 'GSPC', field: null },
    ]
    const hashes = await Promise.all([of([]), of([context]), of([benchmark]), of([context, benchmark])])
    expect(new Set(hashes).size).toBe(4)
    expect(await of([benchmark, context, benchmark])).toBe(hashes[3])
  })

  it('differs with tickers, fields and what is known by the as-of day', async () => {
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
