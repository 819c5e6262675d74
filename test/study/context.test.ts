import { describe, expect, it } from 'vitest'
import { formatDay } from '../../src/core/model/day.js'
import { parseStudy } from '../../src/core/params/studies.js'
import { eventStudy } from '../../src/research/study/event-study.js'
import { type EventStudy, isVolatile } from '../../src/research/study/result.js'
import { nullMarket } from '../support/null-markets.js'
import { average } from './support/plain-study.js'
import { codesWith, cut, type Listing, marketOf, queryOf, randomWalks } from './support/study-market.js'

const QUICK = { field: 'made', bands: ['high'], reps: 199, resamples: 99, path: { before: 0, after: 1 }, horizons: [5] }
const WALKS = randomWalks(21, { tickers: 3, bars: 900, common: 0.5, chance: 0.03 })
const [ONE, TWO, MARKET] = WALKS as [Listing, Listing, Listing]

/** In `high` for a hundred bars, then in `middle` for a hundred, and so on. */
const STATE = Uint8Array.from({ length: 900 }, (_, t) => (Math.floor(t / 100) % 2 === 0 ? 1 : 2))
const BESIDE: Listing = { ...MARKET, codes: STATE }
const WHILE_HIGH = { ticker: MARKET.ticker, field: 'made', bands: ['high'], lag: 0 as const }

function studyOf(listings: readonly Listing[], more: Parameters<typeof queryOf>[0] = {}): Promise<EventStudy> {
  return eventStudy(marketOf(listings), queryOf({ tickers: [ONE.ticker], ...QUICK, ...more }))
}

describe('the base of the same context', () => {
  it('is what followed the bars on which the context ticker was in the band asked for', async () => {
    const [window] = (await studyOf([ONE, BESIDE], { context: WHILE_HIGH })).windows
    const { close } = ONE.series
    const bars = [...close.keys()].filter(t => t + 5 < close.length && ONE.codes![t] !== 255 && STATE[t] === 2)
    const mean = average(bars.map(t => close[t + 5]! / close[t]! - 1))
    expect(window!.context_base).toEqual({
      n: bars.length,
      mean: expect.closeTo(mean, 12),
      hit: expect.closeTo(bars.filter(t => close[t + 5]! > close[t]!).length / bars.length, 12),
      diff: expect.closeTo(window!.mean! - mean, 12),
    })
    expect(window!.base.n).toBeGreaterThan(bars.length)
  })

  it('counts each ticker of a pool as its events do', async () => {
    const alone = await Promise.all(
      [ONE, TWO].map(async ({ ticker }) => {
        const [window] = (await studyOf([ONE, TWO, BESIDE], { context: WHILE_HIGH, tickers: [ticker] })).windows
        return window!
      }),
    )
    const asked = { context: WHILE_HIGH, tickers: [TWO.ticker, ONE.ticker] }
    const [both] = (await studyOf([ONE, TWO, BESIDE], asked)).windows
    const mean = alone.reduce((sum, { n, context_base }) => sum + (n / both!.n) * context_base!.mean!, 0)
    expect(both!.context_base!.mean).toBeCloseTo(mean, 12)
    expect(both!.context_base!.n).toBe(alone.reduce((sum, { context_base }) => sum + context_base!.n, 0))
  })

  it('is none without a band of a context, which is said', async () => {
    const [without] = (await studyOf([ONE])).windows
    expect(without!.context_base).toBeNull()
    expect(without!.reasons.context_base).toBe('no band of a context was asked for')
    const any = await studyOf([ONE, BESIDE], { context: { ...WHILE_HIGH, bands: null } })
    expect(any.windows[0]!.context_base).toBeNull()
    expect(any.warnings.join()).toContain(`No band of ${MARKET.ticker} made was asked for`)
  })
})

describe('a second ticker', () => {
  it('that has ended has its band carried forward, which is said', async () => {
    const ended = cut(BESIDE, 380)
    const { warnings, events, occurrences } = await studyOf([ONE, ended], { context: WHILE_HIGH })
    const last = formatDay(ended.series.days.at(-1)!)
    const late = occurrences.filter(({ date }) => date > formatDay(ended.series.days.at(-1)! + 7)).length
    expect(late).toBeGreaterThan(5)
    const told = `${late} of ${events} events lie after the last bar of ${MARKET.ticker} (${last}), whose band is carried`
    expect(warnings.join()).toContain(told)
  })

  it('that begins later leaves out the events before, which is said', async () => {
    const late = without(BESIDE, 300)
    const { warnings, occurrences } = await studyOf([ONE, late], { context: WHILE_HIGH })
    const first = formatDay(late.series.days[0]!)
    expect(occurrences.every(({ date }) => date >= first)).toBe(true)
    expect(warnings.join()).toMatch(
      new RegExp(
        `events lie before the first bar of ${MARKET.ticker} \\(${first}\\) and so in no band of it: left out`,
      ),
    )
  })

  it('is not warned of where it trades as long', async () => {
    const { warnings } = await studyOf([ONE, BESIDE], { context: WHILE_HIGH, benchmark: MARKET.ticker })
    expect(warnings.join()).not.toMatch(/the (last|first) bar of/)
  })

  it('as a benchmark that has ended leaves no abnormal return after its end', async () => {
    const ended = cut(MARKET, 300)
    const after = ended.series.days.at(-1)!
    const asked = { after: formatDay(after), benchmark: MARKET.ticker, abnormal: 'market' as const }
    const { windows, warnings, events } = await studyOf([ONE, ended], asked)
    const { n, car, lost } = windows[0]!.abnormal!
    expect({ n, car }).toEqual({ n: 0, car: null })
    expect(lost.no_benchmark + lost.not_elapsed + lost.too_early).toBe(events)
    expect(lost.no_benchmark).toBeGreaterThan(10)
    expect(warnings.join()).toContain('and there is nothing to compare them with')
  })
})

it('is cut at the first colon and at the first equals sign after it: a ticker may have one', () => {
  const read = (context: string) => parseStudy({ tickers: ['AAPL'], field: 'rsi_zone', context }).filter.context
  expect(read('EURUSD=X:rsi_zone=neutral')).toEqual({ ...EURUSD, bands: ['neutral'] })
  expect(read('eurusd=x:rsi_zone')).toEqual({ ...EURUSD, bands: null })
  expect(() => read('EURUSD=X:rsi_zone=X')).toThrow('"EURUSD=X:rsi_zone=X"')
  expect(() => read('X=X:rsi_zone=X')).toThrow('band "X" is not one of')
  const suggestions = ['EURUSD=X:rsi_zone=neutral']
  expect(() => read('EURUSD=X:rsi_zone=neutra')).toThrow(
    expect.objectContaining({ offence: expect.objectContaining({ suggestions }) }),
  )
  for (const word of ['EURUSD=X', 'EURUSD=X:', ':rsi_zone', 'A:B:C', 'A:rsi_zone=', 'A:rsi_zone=neutral=x'])
    expect(() => read(word), word).toThrow('is not TICKER:FIELD or TICKER:FIELD=BAND')
})

const EURUSD = { ticker: 'EURUSD=X', field: 'rsi_zone', lag: 0 }

it('takes the market model where a benchmark is named, unless told otherwise', () => {
  const asked = { tickers: ['AAPL'], field: 'rsi_zone', benchmark: 'GSPC' }
  expect(parseStudy(asked).abnormal).toBe('market')
  expect(parseStudy({ ...asked, abnormal: 'none' }).abnormal).toBe('none')
  expect(parseStudy({ tickers: ['AAPL'], field: 'rsi_zone' }).abnormal).toBe('none')
})

describe('hints', () => {
  const long = randomWalks(5, { tickers: 2, bars: 4000 })
  const asked = { tickers: [long[0]!.ticker], field: 'rsi_zone', horizons: [5] }

  it('name the stronger band that was left out, with the events it would add', async () => {
    const one = await studyOf(long, { ...asked, bands: ['oversold'] })
    const both = await studyOf(long, { ...asked, bands: ['oversold', 'deep_oversold'] })
    const more = both.events - one.events
    expect(more).toBeGreaterThan(0)
    expect(one.hints).toEqual([
      `deep_oversold is a band of its own, with ${more} more ${more === 1 ? 'event' : 'events'}. Name both as the band: oversold,deep_oversold.`,
    ])
    expect(both.hints).toEqual([])
    expect((await studyOf(long, { ...asked, bands: ['neutral'] })).hints).toEqual([])
  })

  it('do so for the band of the context', async () => {
    const beside = { ticker: long[1]!.ticker, field: 'trend_direction', lag: 0 as const }
    const ask = (bands: string[]) => studyOf(long, { ...asked, bands: ['neutral'], context: { ...beside, bands } })
    const one = await ask(['downtrend'])
    const both = await ask(['downtrend', 'strong_downtrend'])
    expect(one.hints).toEqual([expect.stringContaining(`with ${both.events - one.events} more events`)])
    expect(one.hints[0]).toContain(`Name both as the context band of ${long[1]!.ticker}: downtrend,strong_downtrend.`)
  })
})

describe('what must be said', () => {
  it('is where the bars end if the dates leave out every bar, not that the field has no band', async () => {
    const after = ONE.series.days.at(-1)! + 10
    const { warnings, first_bar, last_bar, first } = await studyOf([ONE], { after: formatDay(after) })
    expect(first).toBeNull()
    expect(warnings[0]).toMatch(/^No event: the bars of .+ end on [-\d]+, and none lies after [-\d]+\.$/)
    expect([first_bar, last_bar]).toEqual([ONE.series.days[0]!, ONE.series.days.at(-1)!].map(formatDay))
  })

  it('is not that crypto pays no dividends', async () => {
    const raw = { ...ONE, adjustment: 'raw' as const }
    const of = async (more: Partial<Listing>) => (await studyOf([{ ...raw, ...more }])).warnings.join()
    expect(await of({})).toContain('not adjusted for dividends')
    expect(await of({ assetClass: 'crypto' })).not.toContain('dividends')
    expect(await of({ assetClass: null, barsAYear: 365 })).not.toContain('dividends')
  })

  it('is that tests of abnormal returns are cautious, or alarm where bands are made from the prices', async () => {
    const market = marketOf(nullMarket(1, { walk: 'iid', tickers: 2, bars: 1250 }))
    const event = { tickers: ['N00'], field: 'rsi_zone', bands: ['oversold', 'deep_oversold'] }
    const asked = { ...QUICK, ...event, abnormal: 'market', benchmark: 'MKT' } as const
    const { assumptions, warnings } = await eventStudy(market, queryOf(asked))
    expect(assumptions.join()).toContain('not made from the direction of prices they are cautious')
    expect(warnings.join()).toContain(
      'rsi_zone is made from prices: the estimation window of an event holds part of the fall or rise before it',
    )
  })

  it('is how few independent cases the events of many tickers amount to', async () => {
    const codes = codesWith(900, [200, 201, 500])
    const same = Array.from({ length: 12 }, (_, i) => ({ ...ONE, ticker: `T${i}`, codes }))
    const { windows, warnings } = await studyOf(same, { tickers: same.map(({ ticker }) => ticker) })
    expect(windows[0]).toMatchObject({ n: 24, n_indep: 24, n_independent: 2 })
    expect(warnings.join()).toContain('(5d: 24 events, 2)')
  })

  it('is that events fall in times more volatile than others, where the p of the plain shift is too small', async () => {
    const { series } = ONE
    const wild = (t: number): boolean => t % 300 > 240
    const close = series.close.slice()
    for (let t = 1; t < close.length; t++)
      close[t] = close[t - 1]! * (series.close[t]! / series.close[t - 1]!) ** (wild(t) ? 6 : 1)
    const events = [...close.keys()].filter(t => wild(t) && t % 4 === 0)
    const one = { ...ONE, series: { ...series, close }, codes: codesWith(900, events) }
    const { windows, warnings } = await studyOf([one])
    expect(isVolatile(windows[0]!)).toBe(true)
    expect(windows[0]!.tests.map(({ test }) => test).slice(0, 2)).toEqual(['newey_west', 'shift'])
    expect(warnings.join()).toMatch(/spread wider than after any bar \(deviation 5d: [\d.]+ %, any bar [\d.]+ %\)/)
    expect(isVolatile({ ...windows[0]!, tests: [] })).toBe(false)
  })
})

/** The same ticker without its first bars. */
function without({ series, codes, ...rest }: Listing, bars: number): Listing {
  const columns = Object.entries(series).map(([name, value]) => [
    name,
    ArrayBuffer.isView(value) ? (value as Float64Array).slice(bars) : value,
  ])
  return { ...rest, series: Object.fromEntries(columns) as Listing['series'], codes: codes!.slice(bars) }
}
