import { describe, expect, it } from 'vitest'
import { InvalidParameter, NotFound } from '../../src/errors.js'
import { FIELDS } from '../../src/fields/index.js'
import { TIMEFRAME_NAMES } from '../../src/model/timeframe.js'
import { dwell, type Stay } from '../../src/study/dwell.js'
import { type TransitionsQuery, transitionsOf } from '../../src/study/transitions.js'
import { local, NAMES, oracleFinds } from './pool.js'

const RSI = FIELDS.find(field => field.name === 'rsi_zone')!.bands
const DAILY: TransitionsQuery = { tickers: NAMES, field: 'rsi_zone', timeframe: 'daily' }

describe('transitions', () => {
  for (const timeframe of TIMEFRAME_NAMES) {
    it(`are those of the oracle's events, for one ticker and for a pool, ${timeframe}`, async () => {
      const bands = await local()
      const found = oracleFinds('rsi_zone', timeframe)
      for (const tickers of [[NAMES[0]!], NAMES]) {
        const pool = found.filter(({ ticker }) => tickers.includes(ticker))
        const events = pool.flatMap(part => part.events)
        const result = await transitionsOf(bands, { tickers, field: 'rsi_zone', timeframe }, RSI)
        expect(result).toMatchObject({
          schema: 'bands.transitions/1',
          events: events.length,
          bands: RSI,
          query_range: '5y',
        })
        for (const row of result.matrix) {
          const left = events.filter(event => event.prev_band === row.from)
          expect(row.n).toBe(left.length)
          for (const to of RSI) {
            const count = left.filter(event => event.band === to).length
            expect(row.counts[to]).toBe(to === row.from ? null : count)
            expect(row.shares[to]).toBe(to === row.from || left.length === 0 ? null : count / left.length)
          }
        }
        for (const row of result.dwell) {
          const stays = events.filter(event => event.band === row.band)
          const lengths = stays.flatMap(event => event.duration ?? [])
          expect(row).toMatchObject({ stays: stays.length, completed: lengths.length, unknown: 0 })
          expect(row.censored).toBe(stays.length - lengths.length)
          const mean = lengths.reduce((total, length) => total + length, 0) / lengths.length
          if (lengths.length > 0) expect(row.mean).toBeCloseTo(mean, 12)
          else expect(row.mean).toBeNull()
        }
      }
      await bands.close()
    })
  }

  it('count every event once, and every active stay as censored with the bars it has lasted', async () => {
    const bands = await local()
    const result = await transitionsOf(bands, DAILY, RSI)
    expect(result.matrix.reduce((total, row) => total + row.n, 0)).toBe(result.events)
    expect(result.dwell.reduce((total, row) => total + row.stays, 0)).toBe(result.events)
    expect(result.dwell.reduce((total, row) => total + row.censored, 0)).toBe(NAMES.length)
    for (const ticker of NAMES) {
      const alone = await transitionsOf(bands, { ...DAILY, tickers: [ticker] })
      const { present } = await bands.history({ ticker, field: 'rsi_zone', timeframe: 'daily' })
      const row = alone.dwell.find(({ band }) => band === present!.band)!
      expect(row.censored).toBe(1)
      expect(row.longest).toBeGreaterThanOrEqual(present!.bars!)
    }
    await bands.close()
  })

  it('do not depend on the order of tickers and are plain JSON', async () => {
    const bands = await local()
    const straight = await transitionsOf(bands, DAILY)
    expect(await transitionsOf(bands, { ...DAILY, tickers: NAMES.toReversed() })).toEqual(straight)
    expect(JSON.parse(JSON.stringify(straight))).toEqual(straight)
    await bands.close()
  })

  it('work on Free, in its shorter range', async () => {
    const bands = await local('free')
    const result = await transitionsOf(bands, DAILY)
    expect(result.query_range).toBe('90d')
    expect(result.events).toBeLessThan(60)
    await bands.close()
  })

  it('are refused for an unknown ticker and for none', async () => {
    const bands = await local()
    await expect(transitionsOf(bands, { ...DAILY, tickers: ['NOPE'] })).rejects.toThrow(NotFound)
    await expect(transitionsOf(bands, { ...DAILY, tickers: [] })).rejects.toThrow(InvalidParameter)
    await bands.close()
  })
})

describe('dwell times', () => {
  it('are Kaplan-Meier estimates, with the active stay as censored', () => {
    expect(dwell('b', stays('2 3 3 5 8 4+'))).toMatchObject({
      stays: 6,
      completed: 5,
      censored: 1,
      median: 3,
      p90: 8,
      mean: 4.2,
      longest: 8,
      longest_is_active: false,
      reasons: {},
    })
  })

  it('are null with a reason where too few stays have ended, or none', () => {
    expect(dwell('b', stays('2 9+ 9+ 9+'))).toMatchObject({
      median: null,
      p90: null,
      mean: 2,
      longest: 9,
      longest_is_active: true,
      reasons: { median: 'not reached: too few stays have ended', p90: 'not reached: too few stays have ended' },
    })
    expect(dwell('b', stays('7+')).reasons).toMatchObject({ median: 'no stay has ended', mean: 'no stay has ended' })
    const never = dwell('b', [])
    expect(never).toMatchObject({ stays: 0, median: null, longest: null, longest_is_active: null })
    expect(never.reasons.longest).toBe('never entered in range')
  })

  it('tell of active stays whose length nobody knows', () => {
    const rows: Stay[] = [...stays('2 3'), { band: 'b', ended: false, bars: null }]
    expect(dwell('b', rows)).toMatchObject({ stays: 3, completed: 2, censored: 0, unknown: 1, median: 2, longest: 3 })
  })
})

/** `6+` is active after 6 bars. */
function stays(text: string): Stay[] {
  return text.split(' ').map(word => ({ band: 'b', bars: Number.parseInt(word, 10), ended: !word.endsWith('+') }))
}
