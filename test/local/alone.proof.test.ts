import { describe, expect, it } from 'vitest'
import { seriesOf } from '../support/convert.js'
import { draws } from '../support/full.js'
import { storeOf } from '../support/store.js'
import { asked, callerOf, LISTED, listedStore, randomQuestion, seeded, TIERS, TODAY } from './archive.js'

describe('P16: other tickers in the store change nothing', () => {
  it.each(Object.keys(LISTED))('about %s', async ticker => {
    const together = await listedStore()
    const { bars, assetClass } = LISTED[ticker]!
    const alone = await storeOf([{ ticker, series: seriesOf(bars), assetClass: assetClass ?? null }])
    const random = seeded(16)
    for (let i = 0; i < draws(150); i++) {
      const { params, asOf } = randomQuestion(random)
      const { context_ticker, context_field, context_band, ...own } = { ...params, ticker }
      for (const tier of TIERS) {
        // The newest bar of all sets today, so a date is given.
        const date = asOf ?? TODAY
        const what = JSON.stringify({ ...own, tier, date })
        expect(await asked(callerOf(alone, tier, date), own), what).toEqual(
          await asked(callerOf(together, tier, date), own),
        )
      }
    }
    await alone.close()
    await together.close()
  })
})

describe('a known ticker without data for a field', () => {
  it('has an empty list, as a context it never matches', async () => {
    const store = await listedStore()
    const local = callerOf(store, 'pro', null)
    const none = await asked(local, { ticker: 'PLAIN', field: 'valuation_zone' })
    expect([none.events, none.total_occurrences]).toEqual([[], 0])
    const context = { context_ticker: 'PLAIN', context_field: 'growth_zone', context_band: 'stable' }
    expect((await asked(local, { ticker: 'PLAIN', field: 'rsi_zone', ...context })).total_occurrences).toBe(0)
    await store.close()
  })

  it('is told from an unknown ticker, also as a context', async () => {
    const store = await listedStore()
    const local = callerOf(store, 'pro', null)
    await expect(asked(local, { ticker: 'PLAIM', field: 'rsi_zone' })).rejects.toMatchObject({
      code: 'not_found',
      suggestions: ['PLAIN'],
    })
    const context = { context_ticker: 'NOSUCH', context_field: 'rsi_zone', context_band: 'oversold' }
    await expect(asked(local, { ticker: 'PLAIN', field: 'rsi_zone', ...context })).rejects.toMatchObject({
      code: 'not_found',
    })
    await store.close()
  })

  it('above the tier is refused before an unknown ticker is', async () => {
    const store = await listedStore()
    const local = callerOf(store, 'free', null)
    const above = { code: 'tier_restricted' }
    await expect(asked(local, { ticker: 'NOSUCH', field: 'valuation_zone' })).rejects.toMatchObject(above)
    const context = { context_ticker: 'NOSUCH', context_field: 'rsi_zone', context_band: 'oversold' }
    await expect(asked(local, { ticker: 'PLAIN', field: 'rsi_zone', ...context })).rejects.toMatchObject(above)
    await store.close()
  })
})
