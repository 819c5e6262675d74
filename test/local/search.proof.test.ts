import { describe, expect, it } from 'vitest'
import type { BandEvent, EventsPage } from '../../src/core/model/event.js'
import type { EventsParams } from '../../src/core/params/questions.js'
import { parseHistory } from '../../src/core/params/questions.js'
import { eventHistory } from '../../src/core/source.js'
import type { Local } from '../../src/data/local/local.js'
import type { Store } from '../../src/data/store/store.js'
import { draws } from '../support/full.js'
import { search, type Tier } from '../support/oracle/index.js'
import { openedForAll } from '../support/store.js'
import {
  AS_OF,
  archives,
  asked,
  callerOf,
  LISTED,
  listedStore,
  oracleQuery,
  randomQuestion,
  seeded,
  TIERS,
} from './archive.js'

const SEED = 20_240_229
const ALL = 100

let store: Store
let local: Local
openedForAll(async folder => {
  store = await listedStore({ folder })
  local = callerOf(store, 'pro', null)
  return store
})

describe("a search in a real store equals the oracle's linear search", () => {
  it('for random questions with context, bounds, bands, limits, tiers and as-of dates', async () => {
    const random = seeded(SEED)
    let found = 0
    for (let i = 0; i < draws(6_000); i++) {
      const question = randomQuestion(random)
      const page = await asked(callerOf(store, question.tier, question.asOf), question.params)
      const expected = search(archives.get(question.asOf)!, oracleQuery(question))
      found += page.total_occurrences
      // As text, for the key order is the specification's too.
      const [own, theirs] = [page, expected].map(body => JSON.stringify(body, null, 1))
      if (own !== theirs) expect(own, `question ${i} of seed ${SEED}: ${JSON.stringify(question)}`).toBe(theirs)
    }
    expect(found).toBeGreaterThan(draws(10_000))
  })

  it('and the history of a question is its events, oldest first, whatever their number', async () => {
    const random = seeded(SEED + 1)
    for (let i = 0; i < draws(300); i++) {
      const question = randomQuestion(random)
      const { limit: _, ...params } = question.params
      const history = await eventHistory(callerOf(store, question.tier, question.asOf), parseHistory(params))
      const everything = search(archives.get(question.asOf)!, { ...oracleQuery(question), limit: 1_000_000 })
      const resources = history.events.map(({ returns, percentiles, missing, context_band, ...event }) => event)
      const what = `question ${i} of seed ${SEED + 1}: ${JSON.stringify(question)}`
      expect(resources.reverse(), what).toEqual(everything.events)
    }
  })
})

describe('A3: tiers', () => {
  it('Free is a part of Plus is a part of Pro by date, and no value that is shown differs', async () => {
    for (const asOf of AS_OF) {
      for (const [params, pro] of await wholePages('pro', asOf)) {
        const plus = await asked(callerOf(store, 'plus', asOf), params)
        const free = await asked(callerOf(store, 'free', asOf), params)
        expect(plus.events.slice(0, ALL)).toEqual(pro.events.slice(0, Math.min(ALL, plus.total_occurrences)))
        const shown = plus.events.slice(0, free.events.length).map(freed)
        expect(free.events).toEqual(shown)
        expect([free.query_range, plus.query_range, pro.query_range]).toEqual(['90d', '2y', '5y'])
      }
    }
  })

  it.each(TIERS)('%s as of a date is the same of a store cut there', async tier => {
    for (const asOf of AS_OF.filter(date => date !== null && date > '2014')) {
      const cut = await listedStore({ cut: asOf! })
      const known = new Set((await cut.tickers()).map(entry => entry.ticker))
      for (const [params, page] of await wholePages(tier, asOf)) {
        if (known.has(params.ticker)) expect(await asked(callerOf(cut, tier, asOf), params)).toEqual(page)
        else expect(page.total_occurrences).toBe(0)
      }
    }
  })
})

/** Every ticker with three of the fields at both timeframes, and the page of all its events (at most 100 listed). */
async function wholePages(tier: Tier, asOf: string | null = null): Promise<[EventsParams, EventsPage][]> {
  const pages: [EventsParams, EventsPage][] = []
  for (const ticker of Object.keys(LISTED)) {
    for (const field of ['rsi_zone', 'accumulation_state', 'support_status']) {
      for (const timeframe of ['daily', 'weekly']) {
        const params = { ticker, field, timeframe, limit: ALL }
        pages.push([params, await asked(callerOf(store, tier, asOf), params)])
      }
    }
  }
  return pages
}

function freed(event: BandEvent): BandEvent {
  const { stability_at_entry, flips_recent_at_entry, flips_lookback, ...kept } = event
  return { ...kept, aftermath: null }
}

describe('a known ticker without data for a field', () => {
  it('has an empty list, as a context it never matches', async () => {
    const none = await asked(local, { ticker: 'PLAIN', field: 'valuation_zone' })
    expect([none.events, none.total_occurrences]).toEqual([[], 0])
    const context = { context_ticker: 'PLAIN', context_field: 'growth_zone', context_band: 'stable' }
    expect((await asked(local, { ticker: 'PLAIN', field: 'rsi_zone', ...context })).total_occurrences).toBe(0)
  })

  it('is told from an unknown ticker, also as a context', async () => {
    await expect(asked(local, { ticker: 'PLAIM', field: 'rsi_zone' })).rejects.toMatchObject({
      code: 'not_found',
      suggestions: ['PLAIN'],
    })
    const context = { context_ticker: 'NOSUCH', context_field: 'rsi_zone', context_band: 'oversold' }
    await expect(asked(local, { ticker: 'PLAIN', field: 'rsi_zone', ...context })).rejects.toMatchObject({
      code: 'not_found',
    })
  })

  it('above the tier is refused before an unknown ticker is', async () => {
    const free = callerOf(store, 'free', null)
    const above = { code: 'tier_restricted' }
    await expect(asked(free, { ticker: 'NOSUCH', field: 'valuation_zone' })).rejects.toMatchObject(above)
    const context = { context_ticker: 'NOSUCH', context_field: 'rsi_zone', context_band: 'oversold' }
    await expect(asked(free, { ticker: 'PLAIN', field: 'rsi_zone', ...context })).rejects.toMatchObject(above)
  })
})
