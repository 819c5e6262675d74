import { describe, expect, it } from 'vitest'
import { BUILT_IN_FIELDS } from '../../src/core/fields/index.js'
import { formatDay, parseDay } from '../../src/core/model/day.js'
import type { SearchPage } from '../../src/core/model/pages.js'
import type { Tier } from '../../src/core/model/terms.js'
import { longNameOf } from '../../src/core/params/places.js'
import { ALL_COLUMNS } from '../../src/core/params/search.js'
import { grantedFields, PLANS } from '../../src/core/tiers.js'
import { now } from '../../src/research/tally/now.js'
import { notInQuick } from '../support/full.js'
import { serve, serveFile } from '../support/serve.js'

const { ground, server } = await serveFile({ count: 12, bars: 900 })
const KEYS: Record<Tier, string> = {
  free: await server.key('free'),
  plus: await server.key('plus'),
  pro: await server.key('pro'),
}

function spelled(params: Readonly<Record<string, unknown>>): string {
  const texts = Object.entries(params).map(([name, value]) => [
    name,
    typeof value === 'object' ? JSON.stringify(value) : String(value),
  ])
  return `/v1/search?${new URLSearchParams(texts as [string, string][])}`
}

async function found(params: Readonly<Record<string, unknown>> = {}, tier: Tier = 'pro'): Promise<SearchPage> {
  const { status, text } = await server.get(spelled(params), KEYS[tier])
  expect(status, text).toBe(200)
  return JSON.parse(text)
}

const tickersOf = ({ results }: SearchPage): unknown[] => results.map(({ ticker }) => ticker)
const filter = (field: string, op: string, value: unknown) => ({ field, op, value })

describe('results', () => {
  it.each(['daily', 'weekly'] as const)('have the bands that now has (%s)', async timeframe => {
    const { results, fields, has_more } = await found({ fields: ['*'], limit: 100, timeframe })
    expect(fields).toEqual(ALL_COLUMNS.map(({ name }) => name))
    expect(has_more).toBe(false)
    const tickers = results.map(({ ticker }) => String(ticker))
    const query = { tickers, fields: BUILT_IN_FIELDS.names, timeframe }
    const { states } = await now(server.service.bands('pro'), query)
    for (const result of results) {
      const isFund = result.asset_class === 'etf' || result.asset_class === 'crypto'
      for (const { field, band } of states.filter(({ ticker }) => ticker === result.ticker)) {
        const needs = BUILT_IN_FIELDS.all.find(({ name }) => name === field)!.needs
        expect(result[longNameOf(field)], `${result.ticker} ${field}`).toBe(isFund && needs !== 'bars' ? null : band)
      }
    }
  })

  it.each([
    ['daily', 5],
    ['weekly', 0],
  ] as const)(
    'meet a filter of the date of the bar that is judged (%s, %i days earlier)',
    async (timeframe, daysEarlier) => {
      const { date: newest } = await found()
      const params = { timeframe, date: formatDay(parseDay(newest)! - daysEarlier), fields: ['as_of_date'], limit: 100 }
      const { results } = await found(params)
      const [first] = results
      const filtered = await found({ ...params, filters: [filter('as_of_date', 'eq', first!.as_of_date)] })
      expect(filtered.results).toEqual(results.filter(({ as_of_date }) => as_of_date === first!.as_of_date))
    },
  )

  it('meet all filters, and no other ticker does', async () => {
    const { results: all } = await found({ fields: ['*'], limit: 100 })
    const [one] = all
    const close = Number(one!.close)
    const cases: [ReturnType<typeof filter>[], (row: SearchPage['results'][number]) => boolean][] = [
      [[filter('momentum_rsi_zone', 'eq', 'neutral')], row => row.momentum_rsi_zone === 'neutral'],
      [[filter('rsi_zone', 'neq', 'neutral')], row => ![null, 'neutral'].includes(row.momentum_rsi_zone as string)],
      [
        [filter('trend_direction', 'in', ['uptrend', 'strong_uptrend']), filter('close', 'lt', 150)],
        row => ['uptrend', 'strong_uptrend'].includes(String(row.trend_direction)) && Number(row.close) < 150,
      ],
      [[filter('close', 'gte', close)], row => Number(row.close) >= close],
      [[filter('close', 'gt', close)], row => Number(row.close) > close],
      [[filter('close', 'eq', close)], row => row.close === close],
      [[filter('asset_class', 'eq', 'stock')], row => row.asset_class === 'stock'],
      [[filter('sector', 'eq', 'FINANCIALS')], row => row.sector === 'Financials'],
      [
        [filter('market_cap_tier', 'in', ['large', 'mega'])],
        row => ['large', 'mega'].includes(String(row.market_cap_tier)),
      ],
      [[filter('market_cap', 'lte', 50e9)], row => row.market_cap !== null && Number(row.market_cap) <= 50e9],
      [[filter('ticker', 'in', ['sim0001', 'SIM0003'])], row => ['SIM0001', 'SIM0003'].includes(String(row.ticker))],
    ]
    const sectors = new Set(all.map(({ sector }) => sector))
    for (const [filters, isWanted] of cases) {
      if (filters[0]!.field === 'sector' && !sectors.has('Financials')) continue
      const page = await found({ filters, limit: 100 })
      expect(tickersOf(page), JSON.stringify(filters)).toEqual(all.filter(isWanted).map(({ ticker }) => ticker))
      expect([page.match_count, page.filter_count]).toEqual([page.results.length, filters.length])
    }
  })

  it('come in pages that together have each once, in any order', async () => {
    for (const sort of ['close', 'momentum_rsi_zone', 'market_cap_tier', 'ticker', 'fundamentals_valuation_zone'])
      for (const sort_direction of ['asc', 'desc']) {
        const params = { sort_by: sort, sort_direction, fields: [sort] }
        const whole = await found({ ...params, limit: 100 })
        const parts: SearchPage['results'] = []
        for (let more = true; more; ) {
          const page = await found({ ...params, limit: 5, offset: parts.length })
          parts.push(...page.results)
          more = page.has_more
        }
        expect(parts).toEqual(whole.results)
        expect(new Set(tickersOf(whole)).size).toBe(whole.match_count)
        const values = whole.results.map(result => result[sort])
        expect(values.indexOf(null) === -1 || values.slice(values.indexOf(null)).every(value => value === null)).toBe(
          true,
        )
        const words = BUILT_IN_FIELDS.all.find(({ name }) => longNameOf(name) === sort)?.bands
        if (words === undefined) continue
        const ranks = values.filter(value => value !== null).map(value => words.indexOf(String(value)))
        expect(ranks).toEqual(ranks.toSorted((a, b) => (sort_direction === 'asc' ? a - b : b - a)))
      }
  })

  it('have the columns by the names that were asked for', async () => {
    const { fields, results } = await found({ fields: 'rsi_zone,momentum_rsi_zone,close', limit: 1 })
    expect(fields).toEqual(['ticker', 'rsi_zone', 'momentum_rsi_zone', 'close'])
    expect(Object.keys(results[0]!)).toEqual(fields)
    expect(results[0]!.rsi_zone).toBe(results[0]!.momentum_rsi_zone)
  })

  it('have on a tier the columns of that tier', async () => {
    expect((await found({}, 'free')).fields).not.toContain('fundamentals_valuation_zone')
    expect((await found({}, 'plus')).fields).toContain('fundamentals_valuation_zone')
    const all = (await found({ fields: '*' }, 'free')).fields
    const bands = grantedFields('free', BUILT_IN_FIELDS).map(({ name }) => longNameOf(name))
    expect(all.filter(name => ALL_COLUMNS.some(column => column.name === name && column.field !== null))).toEqual(bands)
  })

  notInQuick('are on a past day those of a server of that day', async () => {
    for (const date of ['2023-08-31', '2022-06-05']) {
      const past = await serve(ground, { asOf: parseDay(date) })
      const key = await past.key('pro')
      for (const timeframe of ['daily', 'weekly']) {
        const params = { fields: ['*'], limit: 100, timeframe, sort_by: 'close' }
        const then = (await past.get(spelled(params), key)).json()
        expect(then).toEqual(await found({ ...params, date }))
        expect(then.date).toBe(date)
      }
      await past.stop()
    }
  })

  it('are none of tickers whose bars have ended', async () => {
    const late = await serve(ground, { clock: () => parseDay('2024-08-01')! })
    const { json, headers } = await late.get('/v1/search', await late.key('pro'))
    expect(json()).toMatchObject({ results: [], match_count: 0, total_scanned: 0, date: '2024-08-01' })
    expect(headers['x-bands-note']).toBe('None of 0 tickers meets all filters.')
    await late.stop()
  })
})

describe('refusals', () => {
  it('name the parameter', async () => {
    const refusals: [Record<string, unknown>, string, string][] = [
      [{ filters: 'x' }, 'filters', 'a JSON array of objects'],
      [{ filters: '{}' }, 'filters', 'a JSON array of objects'],
      [{ filters: [1] }, 'filters', 'a JSON array of objects'],
      [{ filters: [filter('rsi', 'eq', 'oversold')] }, 'filters', '/v1/schema/fields'],
      [{ filters: [filter('constructor', 'eq', 'oversold')] }, 'filters', '/v1/schema/fields'],
      [{ filters: [filter('rsi_zone', 'like', 'oversold')] }, 'filters', 'like'],
      [{ filters: [filter('rsi_zone', 'eq', 'oversol')] }, 'filters', 'oversold'],
      [{ filters: [filter('rsi_zone', 'gt', 'oversold')] }, 'filters', 'compares numbers'],
      [{ filters: [filter('rsi_zone', 'in', 'oversold')] }, 'filters', 'a list of 1 to 100 values'],
      [{ filters: [filter('close', 'gt', '5')] }, 'filters', 'a number'],
      [{ filters: [filter('sector', 'eq', 'Nowhere')] }, 'filters', 'is not one of'],
      [{ filters: [{ ...filter('close', 'gt', 5), more: 1 }] }, 'more', 'field, op, value'],
      [{ filters: Array.from({ length: 21 }, () => filter('close', 'gt', 5)) }, 'filters', 'at most 20 filters'],
      [{ fields: ['rsi'] }, 'fields', 'rsi'],
      [{ sort_by: 'rsi' }, 'sort_by', '/v1/schema/fields'],
      [{ sort_direction: 'up' }, 'sort_direction', 'asc, desc'],
      [{ limit: 101 }, 'limit', '1 to 100'],
      [{ offset: -1 }, 'offset', '0 to'],
      [{ date: '2030-01-01' }, 'date', 'a date from'],
      [{ ticker: 'SIM0001' }, 'ticker', 'there is no parameter'],
    ]
    for (const [params, param, words] of refusals) {
      const { status, json, text } = await server.get(spelled(params), KEYS.pro)
      expect([status, json().param], text).toEqual([400, param])
      expect(text).toContain(words)
    }
  })

  it('are by the tier: fields and past days', async () => {
    const old = formatDay(PLANS.plus.rangeStart(parseDay('2024-06-28')!) - 5)
    const refusals: [Record<string, unknown>, Tier, Tier][] = [
      [{ date: '2024-06-03' }, 'free', 'plus'],
      [{ date: old }, 'plus', 'pro'],
      [{ filters: [filter('fundamentals_valuation_zone', 'eq', 'fair_value')] }, 'free', 'plus'],
      [{ fields: ['pe_vs_sector'] }, 'plus', 'pro'],
      [{ sort_by: 'net_direction' }, 'plus', 'pro'],
    ]
    for (const [params, tier, required] of refusals) {
      const { status, json } = await server.get(spelled(params), KEYS[tier])
      expect([status, json().required_tier], JSON.stringify(params)).toEqual([403, required])
    }
  })
})
