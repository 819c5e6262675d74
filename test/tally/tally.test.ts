import { describe, expect, it } from 'vitest'
import { InvalidParameter, NotFound, TierRestricted } from '../../src/core/errors.js'
import { FIELDS } from '../../src/core/fields/index.js'
import { eventHistoryOf, historyOf } from '../../src/core/model/history.js'
import { PERFORMANCES, STABILITIES } from '../../src/core/model/series.js'
import { TIMEFRAME_NAMES, windowNames } from '../../src/core/model/terms.js'
import { GROUPINGS } from '../../src/core/params/studies.js'
import type { Source } from '../../src/core/source.js'
import { eventHistory } from '../../src/core/source.js'
import type { Local } from '../../src/data/local/local.js'
import { scopeOf } from '../../src/research/tally/pool.js'
import { type Tally, type TallyQuery, type TallyWindow, tally } from '../../src/research/tally/tally.js'
import { sourceOf } from '../support/source.js'
import { local, NAMES } from './pool.js'

const RSI = FIELDS.find(field => field.name === 'rsi_zone')!.bands
const DAILY: TallyQuery = { tickers: NAMES, field: 'rsi_zone', timeframe: 'daily' }

describe('the scope of several answers', () => {
  const own = { query_range: 'all', after: null, as_of: '2024-06-28' }
  const pulled = { query_range: '5y', after: '2019-06-20', as_of: '2024-06-20' }
  const shorter = { ...pulled, query_range: '2y', after: '2022-06-20' }

  it.each([
    [[], {}, { query_range: null, after: null, as_of: null }],
    [[pulled, pulled], {}, pulled],
    [[pulled, shorter], {}, { query_range: '5y, 2y', after: '2019-06-20', as_of: '2024-06-20' }],
    [[shorter, pulled], { after: 0 }, { query_range: '2y, 5y', after: '2019-06-20', as_of: '2024-06-20' }],
    [[pulled, own], {}, { query_range: '5y, all', after: null, as_of: null }],
    [[own, pulled], { after: 0 }, { query_range: 'all, 5y', after: '1970-01-01', as_of: null }],
  ])('%#: covers every event of all of them', (answers, query, scope) => {
    expect(scopeOf(answers, query)).toEqual({ ...scope, before: null })
  })
})

describe('a tally', () => {
  it('adds up: events = n + pending, counts to the ranked ones, shares to 1; every table has the same n', async () => {
    const bands = await local()
    for (const timeframe of TIMEFRAME_NAMES) {
      const result = await tally(bands, { ...DAILY, timeframe, field: 'macd_state' })
      expect(sum(result.groups.map(group => group.events))).toBe(result.events)
      for (const row of rowsOf(result)) {
        expect(row.n + row.pending).toBe(row.events)
        expect(sum(Object.values(row.counts))).toBe(row.n - row.no_history)
        expect(row.returns.n).toBe(row.n)
        expect(row.n_independent).toBeLessThanOrEqual(row.n)
        expect(row.n_independent > 0).toBe(row.n > 0)
        if (row.n > row.no_history) expect(sum(Object.values(row.shares).map(Number))).toBeCloseTo(1, 12)
        if (row.base.reason === null) expect(sum(Object.values(row.base.shares).map(Number))).toBeCloseTo(1, 12)
      }
    }
  })

  it('splits the whole into groups that add up to it, in a sensible order', async () => {
    const bands = await local()
    const context = { ticker: NAMES[1]!, field: 'trend_direction' }
    const contexts = FIELDS.find(field => field.name === 'trend_direction')!.bands
    const all = await everyEvent(bands)
    // The tickers of this market have no sectors.
    for (const by of GROUPINGS.filter(by => by !== 'sector')) {
      const { groups, events } = await tally(bands, { ...DAILY, by, context })
      expect(events).toBe(all.length)
      for (const [w, window] of windowNames('daily').entries()) {
        for (const name of PERFORMANCES) {
          const counted = sum(groups.map(group => group.windows[w]!.counts[name]))
          expect(counted).toBe(all.filter(event => event.aftermath?.[window]?.performance === name).length)
        }
      }
      const values = groups.map(group => group.group)
      expect(new Set(values).size).toBe(values.length)
      const order: readonly (string | null)[] = {
        band: RSI,
        prev_band: RSI,
        stability: STABILITIES,
        context: [...contexts, null],
        year: [...values].sort(),
        ticker: NAMES,
      }[by]
      expect(values).toEqual(order.filter(value => values.includes(value)))
    }
  })

  it('gives a band filter the figures of its group, and the base that the ticker has without it', async () => {
    const bands = await local()
    const one = { ...DAILY, tickers: [NAMES[0]!] }
    const { groups } = await tally(bands, one)
    for (const group of groups) {
      const alone = await tally(bands, { ...one, bands: [group.group!] })
      expect(alone.by).toBeNull()
      expect(alone.groups).toEqual([{ ...group, group: null }])
      expect(group.windows.map(row => row.base)).toEqual(groups[0]!.windows.map(row => row.base))
    }
  })

  it('keeps to context, after and before, and tells the range it looked at', async () => {
    const bands = await local()
    const context = { ticker: NAMES[1]!, field: 'trend_direction', band: 'uptrend' }
    const after = 16_300
    const before = 16_900
    const query = { ...DAILY, tickers: [NAMES[0]!], bands: ['oversold'], context, after, before }
    const { tickers: _, ...filter } = query
    const result = await tally(bands, query)
    const { events } = await eventHistory(bands, { ...filter, ticker: NAMES[0]! })
    expect(result.events).toBe(events.length)
    expect(result).toMatchObject({
      context,
      after: '2014-08-18',
      before: '2016-04-09',
      query_range: '5y',
      band: 'oversold',
    })
    const wide = await tally(bands, { ...DAILY, bands: ['oversold'] })
    const { after: rangeStart, as_of } = await eventHistory(bands, {
      ticker: NAMES[0]!,
      field: 'rsi_zone',
      timeframe: 'daily',
    })
    expect(wide).toMatchObject({ after: rangeStart, as_of, before: null })
  })

  it('gives null with a reason where nothing is known, never 0', async () => {
    const bands = await local()
    const nothing = await tally(bands, { ...DAILY, tickers: [NAMES[0]!], bands: ['oversold'], after: 17_010 })
    expect(nothing).toMatchObject({ events: 0, groups: [{ group: null, events: 0, warnings: [] }] })
    for (const row of rowsOf(nothing)) {
      expect(row).toMatchObject({ n: 0, reason: 'no event', top_share: null, top_low: null, top_high: null })
      expect(Object.values(row.shares)).toEqual(PERFORMANCES.map(() => null))
      expect(row.returns).toEqual({
        n: 0,
        hit_rate: null,
        mean: null,
        median: null,
        p10: null,
        p90: null,
        reason: 'no event',
      })
      expect(row.base).toMatchObject({ kind: 'measured', n: 0, top_share: null, returns: { mean: null } })
      expect(row.base.reason).toBe('no bar in range has such an outcome')
    }
  })

  it('warns of few events, of windows that overlap, and of a pool', async () => {
    const bands = await local()
    const { groups, warnings } = await tally(bands, DAILY)
    for (const { windows, warnings: said } of groups) {
      expect(said.some(text => text.startsWith('Fewer than 10'))).toBe(windows.some(row => row.n < 10))
      for (const row of windows.filter(row => row.overlapping > 0)) {
        expect(said.join()).toContain(`${row.window}: ${row.overlapping} of ${row.n}`)
      }
    }
    expect(warnings.join()).toMatch(/Tickers move together/)
    const rare = await tally(bands, { ...DAILY, bands: ['deep_oversold'], after: 16_995 })
    expect(rare.warnings.join()).toMatch(/tickers have no such event: SIM0001/)
    expect((await tally(bands, { ...DAILY, tickers: [NAMES[0]!] })).warnings).toEqual([])
  })

  it('is refused on Free, for an unknown ticker, without a ticker, and by a context that is not given', async () => {
    const free = await local('free')
    await expect(tally(free, DAILY)).rejects.toThrow(TierRestricted)
    await expect(tally(withoutPrices(free), DAILY)).rejects.toThrow(/aftermath needs the Plus tier/)
    const bands = await local()
    await expect(tally(bands, { ...DAILY, tickers: ['SIM0001', 'SIM9'] })).rejects.toThrow(NotFound)
    await expect(tally(bands, { ...DAILY, tickers: [] })).rejects.toThrow(InvalidParameter)
    await expect(tally(bands, { ...DAILY, by: 'context' })).rejects.toThrow('to group by context, give context T:F.')
  })

  it('holds bands alone against the theoretical shares where no prices are known', async () => {
    const bands = await local()
    const full = rowsOf(await tally(bands, DAILY))
    rowsOf(await tally(withoutPrices(bands), DAILY)).forEach((row, i) => {
      expect(row.counts).toEqual(full[i]!.counts)
      expect(row.pending).toBe(full[i]!.pending + full[i]!.no_history)
      expect(Object.values(row.base.shares)).toEqual([0.05, 0.15, 0.2, 0.2, 0.2, 0.15, 0.05])
      expect(row.base).toMatchObject({ kind: 'theoretical', n: null, top_share: 0.4, reason: null })
      expect(row.base.returns).toMatchObject({ n: 0, mean: null, reason: 'no prices are known here' })
      expect(row.returns).toMatchObject({ n: 0, mean: null })
    })
  })
})

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function rowsOf(result: Tally): TallyWindow[] {
  return result.groups.flatMap(group => group.windows)
}

async function everyEvent(bands: Local) {
  const histories = NAMES.map(ticker => eventHistory(bands, { ticker, field: 'rsi_zone', timeframe: 'daily' }))
  return (await Promise.all(histories)).flatMap(history => history.events)
}

/** The same cache as a server tells of it: the resources of the specification and nothing else. */
function withoutPrices(bands: Local): Source {
  return sourceOf({
    fields: () => bands.fields(),
    async *histories(query) {
      for await (const history of bands.histories(query)) {
        const { events, ...head } = eventHistoryOf(history)
        const told = events.map(({ returns, percentiles, missing, ...event }) => event)
        yield historyOf({ ...head, events: told }, history.bands)
      }
    },
  })
}
