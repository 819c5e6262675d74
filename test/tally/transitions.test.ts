import { describe, expect, it } from 'vitest'
import { InvalidParameter, NotFound, TierRestricted } from '../../src/core/errors.js'
import { BUILT_IN_FIELDS } from '../../src/core/fields/index.js'
import { parseDay } from '../../src/core/model/day.js'
import type { EventHistory } from '../../src/core/model/event.js'
import { TIMEFRAME_NAMES } from '../../src/core/model/terms.js'
import { eventHistory } from '../../src/core/source.js'
import { homogeneity } from '../../src/core/statistics/chi-square.js'
import { contextTests } from '../../src/research/tally/by-context.js'
import { type BandPeriod, type Dwell, dwell } from '../../src/research/tally/dwell.js'
import {
  leavingShares,
  type TransitionsQuery,
  transitionMatrix,
  transitionsOf,
} from '../../src/research/tally/transitions.js'
import { notInQuick } from '../support/full.js'
import { local, NAMES, oracleBands, oracleFinds } from './pool.js'

const RSI = BUILT_IN_FIELDS.named('rsi_zone')!.bands
const TREND = BUILT_IN_FIELDS.named('trend_direction')!.bands
const CONTEXT = { ticker: NAMES[0]!, field: 'trend_direction' }
const DAILY: TransitionsQuery = { tickers: NAMES, field: 'rsi_zone', timeframe: 'daily' }

describe('transitions', () => {
  it('say that the tests between contexts find too much, and where it is shown', async () => {
    const { notes } = await transitionsOf(await local(), { ...DAILY, context: CONTEXT })
    expect(notes.join()).toContain('They treat consecutive periods as independent, and find too much. Level and power')
  })

  for (const timeframe of TIMEFRAME_NAMES) {
    it(`are those of the oracle's events, for one ticker and for a pool, ${timeframe}`, async () => {
      const bands = await local()
      const found = oracleFinds('rsi_zone', timeframe)
      for (const tickers of [[NAMES[0]!], NAMES]) {
        const pool = found.filter(({ ticker }) => tickers.includes(ticker))
        const events = pool.flatMap(part => part.events)
        const result = await transitionsOf(bands, { tickers, field: 'rsi_zone', timeframe })
        expect(result).toMatchObject({
          schema: 'bands.transitions/2',
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
    })
  }

  it('give each share its interval, on as many cases as there are apart from what moves together', async () => {
    const change = { prev_band: 'a', context_band: null }
    const days = Array.from({ length: 40 }, (_, i) => i * 45 + (i % 7))
    const events = (copies: number) =>
      ['b', 'c'].map((band, which) => {
        const own = days.filter((_, i) => Number(i % 5 === 0) === which)
        const all = Array.from({ length: copies }, () => own).flat()
        return { ...change!, band, times: all.length, days: all }
      })
    const [one] = transitionMatrix(['a', 'b', 'c'], events(1))
    const [many] = transitionMatrix(['a', 'b', 'c'], events(25))
    expect(one!.intervals).toMatchObject({ a: null, b: { independent: 40 }, c: { independent: 40 } })
    expect(many).toMatchObject({ n: 1000, shares: one!.shares })
    for (const to of ['b', 'c'])
      expect(many!.intervals[to]).toEqual({
        low: expect.closeTo(one!.intervals[to]!.low!, 9),
        high: expect.closeTo(one!.intervals[to]!.high!, 9),
        independent: 40,
      })
    // Wilson of 32 of 40.
    expect(one!.intervals.b!.low).toBeCloseTo(0.65243, 5)
    expect(one!.intervals.b!.high).toBeCloseTo(0.895, 5)
  })

  it('do not depend on the order of tickers and are plain JSON', async () => {
    const bands = await local()
    const straight = await transitionsOf(bands, DAILY)
    expect(await transitionsOf(bands, { ...DAILY, tickers: NAMES.toReversed() })).toEqual(straight)
    expect(JSON.parse(JSON.stringify(straight))).toEqual(straight)
  })

  it('work on Free, in its shorter range', async () => {
    const bands = await local('free')
    const result = await transitionsOf(bands, DAILY)
    expect(result.query_range).toBe('90d')
    expect(result.events).toBeLessThan(60)
  })

  it('are refused for an unknown ticker and for none', async () => {
    const bands = await local()
    await expect(transitionsOf(bands, { ...DAILY, tickers: ['NOPE'] })).rejects.toThrow(NotFound)
    await expect(transitionsOf(bands, { ...DAILY, tickers: [] })).rejects.toThrow(InvalidParameter)
  })

  it('are refused for one band alone, which would leave gaps', async () => {
    const bands = await local()
    const narrowed = { ...DAILY, bands: ['oversold'] }
    await expect(transitionsOf(bands, narrowed)).rejects.toThrow(
      'transitions count every band; band is none of their parameters.',
    )
    const beside = { ...DAILY, context: { ...CONTEXT, band: 'neutral' } }
    await expect(transitionsOf(bands, beside)).rejects.toThrow('context_band is none of their parameters.')
  })
})

describe('what follows a bar', () => {
  for (const timeframe of TIMEFRAME_NAMES) {
    notInQuick(`is counted bar by bar from the first event on, ${timeframe}`, async () => {
      const bands = await local()
      const { per_bar } = await transitionsOf(bands, { ...DAILY, timeframe })
      const events = oracleFinds('rsi_zone', timeframe)
      const pairs = oracleBands('rsi_zone', timeframe).flatMap((bars, i) => {
        const known = bars.slice(bars.findIndex(bar => bar.date === events[i]!.events[0]!.date))
        return known.slice(1).map((bar, t) => [known[t]!.band, bar.band])
      })
      for (const { from, n, counts, shares } of per_bar) {
        expect(n).toBe(pairs.filter(pair => pair[0] === from).length)
        for (const to of RSI) {
          const count = pairs.filter(pair => pair[0] === from && pair[1] === to).length
          expect(counts[to]).toBe(count)
          expect(shares[to]).toBe(n === 0 ? null : count / n)
        }
      }
    })
  }
})

describe('where stays go', () => {
  it('adds up, with those that still last, to all of them, and is a plain share where none is active', async () => {
    const bands = await local()
    for (const query of [DAILY, { ...DAILY, before: parseDay('2016-01-05')! }]) {
      const { incidence, dwell } = await transitionsOf(bands, query)
      const histories = await Promise.all(NAMES.map(ticker => eventHistory(bands, { ...query, ticker })))
      const all = histories.flatMap(staysIn)
      expect(incidence).toHaveLength(RSI.length * 5)
      for (const { band, bars, staying, to, unknown, reason } of incidence) {
        const own = all.filter(stay => stay.band === band)
        if (reason !== null) {
          expect(staying).toBeNull()
          continue
        }
        const shares = Object.values(to).map(value => value ?? 0)
        expect(shares.reduce((sum, value) => sum + value, staying! + unknown!)).toBeCloseTo(1, 12)
        expect(to[band]).toBeNull()
        if (dwell.find(row => row.band === band)!.censored > 0) continue
        for (const next of RSI.filter(name => name !== band)) {
          const gone = own.filter(stay => stay.next === next && stay.bars! <= bars).length
          expect(to[next]).toBeCloseTo(gone / own.length, 12)
        }
        expect(unknown).toBeCloseTo(
          own.filter(stay => stay.next === null && stay.bars! <= bars).length / own.length,
          12,
        )
      }
    }
  })

  it('is not told beyond the longest stay that was seen, if that is active', () => {
    const spells = stays('2 3 12+')
    const found = leavingShares('b', ['b', 'c'], spells, 'daily')
    expect(found.map(({ bars, staying }) => [bars, staying])).toEqual([
      [5, expect.closeTo(1 / 3, 12)],
      [10, expect.closeTo(1 / 3, 12)],
      [20, null],
      [50, null],
      [100, null],
    ])
    expect(found[2]!.reason).toBe('no stay was seen for so long')
    expect(leavingShares('b', ['b', 'c'], stays('2 3'), 'daily').at(-1)).toMatchObject({
      staying: 0,
      to: { b: null, c: 1 },
    })
    expect(leavingShares('b', ['b', 'c'], [], 'daily')[0]!.reason).toBe('never entered in range')
  })
})

describe('transitions by context', () => {
  it('split events and stays by the band of the context on their day', async () => {
    const bands = await local()
    const query = { ...DAILY, context: CONTEXT }
    const found = await transitionsOf(bands, query)
    const whole = await transitionsOf(bands, DAILY)
    const { groups } = found.by_context!
    expect(whole.by_context).toBeNull()
    expect(found).toMatchObject({ context: CONTEXT, matrix: whole.matrix, dwell: whole.dwell, per_bar: whole.per_bar })
    const contexts = groups.map(group => group.context)
    expect(contexts).toEqual([...TREND, null].filter(band => contexts.includes(band)))
    const histories = await Promise.all(NAMES.map(ticker => eventHistory(bands, { ...query, ticker })))
    for (const { context, events, matrix, dwell } of groups) {
      const own = histories.flatMap(history => history.events.filter(event => event.context_band === context))
      expect(events).toBe(own.length)
      for (const { from, n } of matrix) expect(n).toBe(own.filter(event => event.prev_band === from).length)
      for (const { band, stays } of dwell) expect(stays).toBe(own.filter(event => event.band === band).length)
    }
    for (const [i, row] of whole.matrix.entries()) {
      expect(groups.reduce((sum, group) => sum + group.matrix[i]!.n, 0)).toBe(row.n)
      expect(groups.reduce((sum, group) => sum + group.dwell[i]!.stays, 0)).toBe(whole.dwell[i]!.stays)
    }
  })

  it('are tested as the counts and spells of their groups', async () => {
    const bands = await local()
    const { by_context } = await transitionsOf(bands, { ...DAILY, context: CONTEXT })
    const groups = by_context!.groups.filter(group => group.context !== null)
    const { tests } = by_context!
    for (const [i, row] of tests.equal_rows.rows.entries()) {
      const table = groups.map(({ matrix }) => RSI.map(to => matrix[i]!.counts[to] ?? 0))
      expect(row.chi2).toEqual(homogeneity(table)?.chi2 ?? null)
      expect(row.reason === null).toBe(row.p !== null)
    }
    const sum = (of: (row: { chi2: number | null; df: number | null }) => number | null): number =>
      tests.equal_rows.rows.reduce((total, row) => total + (of(row) ?? 0), 0)
    expect(tests.equal_rows.chi2).toBeCloseTo(
      sum(row => row.chi2),
      10,
    )
    expect(tests.equal_rows.df).toBe(sum(row => row.df))
    for (const [i, { chi2, df, p, reason, groups: rows }] of tests.log_rank.entries()) {
      expect(rows.map(row => [row.context, row.stays])).toEqual(
        groups.map(({ context, dwell }) => [context, dwell[i]!.stays]),
      )
      if (reason !== null) expect([chi2, df, p]).toEqual([null, null, null])
      else expect(rows.reduce((total, row) => total + row.expected! - row.ended, 0)).toBeCloseTo(0, 9)
    }
  })

  it('leave what began before the context had a band out of the tests', async () => {
    const stay = (context: string | null, bars: number): BandPeriod => ({
      band: 'a',
      ended: true,
      bars,
      next: 'b',
      context,
    })
    const own = [stay('x', 1), stay('x', 4), stay('y', 2), stay('y', 9)]
    const tests = contextTests(['a', 'b'], ['x', 'y', null], [], [...own, stay(null, 50)])
    expect(tests.log_rank).toEqual(contextTests(['a', 'b'], ['x', 'y'], [], own).log_rank)
    expect(tests.log_rank[0]!.reason).toBeNull()
    expect(tests.equal_rows).toMatchObject({ chi2: null, reason: expect.stringContaining('no band is left') })
  })

  it('are above Free', async () => {
    const bands = await local('free')
    await expect(transitionsOf(bands, { ...DAILY, context: CONTEXT })).rejects.toThrow(TierRestricted)
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

  it('count stays of several tickers that begin on the same days as one', () => {
    const lengths = '2 3 3 5 8 4+ 1 1 6 2 2 4 9 3'
    const dated = (copies: number): BandPeriod[] =>
      stays(lengths).map((stay, i) => ({ ...stay, times: copies, days: new Array(copies).fill(i * 40) }))
    const alone = dwell('b', dated(1))
    const together = dwell('b', dated(30))
    const ends = ({ survival }: Dwell) => survival.map(({ low, high }) => [low, high].map(end => end?.toFixed(9)))
    expect(ends(alone)).toEqual(ends(dwell('b', stays(lengths))))
    expect(ends(together)).toEqual(ends(alone))
    expect([together.median_low, together.median_high]).toEqual([alone.median_low, alone.median_high])
    expect(together.stays).toBe(30 * alone.stays)
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
    const rows: BandPeriod[] = [...stays('2 3'), { band: 'b', ended: false, bars: null, next: null, context: null }]
    expect(dwell('b', rows)).toMatchObject({ stays: 3, completed: 2, censored: 0, unknown: 1, median: 2, longest: 3 })
  })
})

/** Each event of a daily history begins one. */
function staysIn({ events, present }: EventHistory): BandPeriod[] {
  return events.map(({ date, band, duration_days: bars = null }, i) => {
    const ended = bars !== null
    const soFar = present?.since === date && !present.initial ? present.bars : null
    return { band, ended, bars: bars ?? soFar, next: ended ? (events[i + 1]?.band ?? null) : null, context: null }
  })
}

/** `6+` is active after 6 bars. */
function stays(text: string): BandPeriod[] {
  return text.split(' ').map(word => {
    const ended = !word.endsWith('+')
    return { band: 'b', bars: Number.parseInt(word, 10), ended, next: ended ? 'c' : null, context: null }
  })
}
