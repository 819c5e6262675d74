import { describe, expect, it } from 'vitest'
import { InvalidParameter, NotFound, TierRestricted } from '../../src/core/errors.js'
import { TECHNICAL_FIELDS } from '../../src/core/fields/index.js'
import { now } from '../../src/research/tally/now.js'
import { notInQuick } from '../support/full.js'
import { figuresOf, local, NAMES, oracleFinds } from './pool.js'

const FIELD_NAMES = TECHNICAL_FIELDS.map(field => field.name)

describe('now', () => {
  notInQuick("tells the last of the oracle's events, the bars since, and how long such stays lasted", async () => {
    const bands = await local()
    const { states } = await now(bands, { tickers: NAMES, fields: ['rsi_zone'], timeframe: 'daily' })
    const found = oracleFinds('rsi_zone', 'daily')
    states.forEach((state, i) => {
      const { ticker, events, everyBar } = found[i]!
      const last = events.at(-1)!
      expect(state).toMatchObject({
        ticker,
        band: last.band,
        since: last.date,
        prev_band: last.prev_band,
        initial: false,
      })
      expect(state.bars).toBe(everyBar.length - everyBar.findIndex(bar => bar.date === last.date))
      const lengths = events.flatMap(event => (event.band === last.band ? (event.duration ?? []) : []))
      const { n, median, p90 } = figuresOf(lengths)
      expect(state.completed_stays.n).toBe(n)
      expect(state.completed_stays.median).toBeCloseTo(median!, 12)
      expect(state.completed_stays.p90).toBeCloseTo(p90!, 12)
      expect(state.reasons).toEqual({})
    })
  })

  it('has one state for each ticker, ascending, and field, as asked', async () => {
    const bands = await local()
    const result = await now(bands, { tickers: NAMES.toReversed(), fields: FIELD_NAMES, timeframe: 'weekly' })
    const pairs = NAMES.flatMap(ticker => FIELD_NAMES.map(field => [ticker, field]))
    expect(result.states.map(({ ticker, field }) => [ticker, field])).toEqual(pairs)
    expect(result).toMatchObject({ schema: 'bands.now/2', timeframe: 'weekly', query_range: '5y', as_of: '2016-07-18' })
    expect(JSON.parse(JSON.stringify(result))).toEqual(result)
  })

  it('tells no date from before the range of the tier, though it tells the band', async () => {
    const bands = await local('free')
    const states = []
    for (const timeframe of ['daily', 'weekly'] as const) {
      states.push(...(await now(bands, { tickers: NAMES, fields: FIELD_NAMES, timeframe })).states)
    }
    for (const { since } of states) expect(since === null || since > '2016-04-19', `${since}`).toBe(true)
    const hidden = states.filter(state => state.band !== null && state.since === null)
    expect(hidden.length).toBeGreaterThan(0)
    for (const { bars, reasons } of hidden) expect([bars, reasons.since]).toEqual([null, 'entered before the range'])
  })

  it('says so where a field has no data', async () => {
    const bands = await local()
    const { states } = await now(bands, { tickers: [NAMES[0]!], fields: ['valuation_zone'], timeframe: 'daily' })
    expect(states[0]).toMatchObject({
      band: null,
      since: null,
      bars: null,
      prev_band: null,
      completed_stays: { n: 0, median: null, p90: null },
    })
    expect(states[0]!.reasons.band).toBe('no band of this field can be seen')
  })

  it('is refused for a field above the tier, an unknown ticker, no ticker and no field', async () => {
    const bands = await local('free')
    const query = { tickers: NAMES, fields: ['rsi_zone'], timeframe: 'daily' } as const
    await expect(now(bands, { ...query, fields: ['valuation_zone'] })).rejects.toThrow(TierRestricted)
    await expect(now(bands, { ...query, tickers: ['NOPE'] })).rejects.toThrow(NotFound)
    await expect(now(bands, { ...query, tickers: [] })).rejects.toThrow(InvalidParameter)
    await expect(now(bands, { ...query, fields: [] })).rejects.toThrow(InvalidParameter)
  })
})
