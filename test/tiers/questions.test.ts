import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TierRestricted } from '../../src/errors.js'
import { FIELD_NAMES, FIELDS } from '../../src/fields/index.js'
import { Local } from '../../src/local/local.js'
import { TIMEFRAME_NAMES, type Tier } from '../../src/model/terms.js'
import { parseEvents } from '../../src/params/parse.js'
import { simulatedTickers } from '../../src/simulate/simulate.js'
import type { Store } from '../../src/store/store.js'
import { PLANS } from '../../src/tiers.js'
import { loadedStore } from '../support/store.js'

const PAGE = new URL('../../../shared/spec/events-api.md', import.meta.url)
const TIERS = ['free', 'plus', 'pro'] as const

const folder = mkdtempSync(join(tmpdir(), 'bands-'))
let store: Store

beforeAll(async () => {
  store = await loadedStore([...simulatedTickers({ count: 8, bars: 1260, seed: 4, end: 20_000 })], folder)
})

afterAll(async () => {
  await store.close()
  rmSync(folder, { recursive: true, force: true })
})

describe.skipIf(!existsSync(PAGE))(`21 fields × 3 tiers × 2 timeframes × any context${hint()}`, () => {
  const required = existsSync(PAGE) ? fieldsOfPage(readFileSync(PAGE, 'utf8')) : new Map<string, Tier>()

  it('the page names all fields that there are', () => {
    expect([...required.keys()]).toEqual(FIELD_NAMES)
  })

  it.each([...required])('%s needs %s, alone and as a context', async (field, tier) => {
    for (const timeframe of TIMEFRAME_NAMES) {
      for (const caller of TIERS) {
        const allowed = reaches(caller, tier)
        expect(await outcome(caller, { ticker: 'SIM0001', field, timeframe }), caller).toBe(allowed ? 200 : 403)
        for (const [other, otherTier] of required) {
          const context = { context_ticker: 'SIM0002', context_field: other, context_band: bandOf(other) }
          const both = allowed && caller !== 'free' && reaches(caller, otherTier)
          const found = await outcome(caller, { ticker: 'SIM0001', field, timeframe, ...context })
          expect(found, `${caller} ${timeframe} ${field} with ${other}`).toBe(both ? 200 : 403)
        }
      }
    }
  })
})

it('every field has events to show, daily and weekly', async () => {
  for (const timeframe of TIMEFRAME_NAMES) {
    for (const field of FIELD_NAMES) {
      const local = new Local(store, 'pro', null)
      const tickers = (await local.tickers()).map(async ticker => {
        const page = await local.events(parseEvents({ ticker, field, timeframe }))
        expect(page.query_range).toBe(PLANS.pro.range)
        return page.total_occurrences
      })
      const total = (await Promise.all(tickers)).reduce((sum, count) => sum + count, 0)
      expect(total, `${timeframe} ${field}`).toBeGreaterThan(0)
    }
  }
})

/** What the server would answer with. */
async function outcome(tier: Tier, params: Record<string, string>): Promise<number> {
  const local = new Local(store, tier, null)
  try {
    const page = await local.events(parseEvents(params as { ticker: string; field: string }))
    expect(page.events.length).toBe(Math.min(10, page.total_occurrences))
    for (const event of page.events) expect(event.aftermath === null).toBe(tier === 'free')
    return 200
  } catch (error) {
    if (!(error instanceof TierRestricted)) throw error
    expect(error.payload()).toMatchObject({ tier, upgrade_url: expect.stringMatching(/^https:/) })
    return 403
  }
}

/** The table "Band fields" of the specification. */
function fieldsOfPage(page: string): Map<string, Tier> {
  const rows = page.matchAll(/^\| (Free|Plus|Pro) \([a-z ]+\) \| ([a-z_, ]+) \|$/gm)
  const found = [...rows].flatMap(([, tier, names]) =>
    names!.split(', ').map(name => [name.trim(), tier!.toLowerCase() as Tier] as const),
  )
  return new Map(found)
}

function bandOf(field: string): string {
  return BANDS.get(field)!
}

const BANDS = new Map(FIELDS.map(field => [field.name, field.bands[0]!]))

function reaches(tier: Tier, required: Tier): boolean {
  return TIERS.indexOf(tier) >= TIERS.indexOf(required)
}

function hint(): string {
  return existsSync(PAGE) ? '' : ' (skipped: ../shared, which has the page, is not there)'
}
