import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BandsError } from '../../src/errors.js'
import { parseDay } from '../../src/model/day.js'
import type { EventHistory, EventsPage } from '../../src/model/event.js'
import { TIER_NAMES, type Tier } from '../../src/model/terms.js'
import type { Source } from '../../src/source.js'
import { eventHistory } from '../../src/source.js'
import { Random } from '../../src/statistics/random.js'
import { FULL } from '../support/full.js'
import { type Ground, randomEventsQuery, randomOversoldQuery } from '../support/random-queries.js'

/** One implementation of the interface, asked as each tier. */
export interface Answerer {
  as(tier: Tier): Source
  close(): Promise<void>
}

/**
 * What everyone who answers does, held against `reference`, another who answers from the same data: equal pages, equal
 * errors, whatever is asked and by whom. A history tells at least what the specification has.
 */
export function bandsContract(
  name: string,
  make: () => Promise<{ answerer: Answerer; reference: Answerer; ground: Ground }>,
  { draws, seed }: { draws: number; seed: number },
): void {
  describe.each(TIER_NAMES)(`${name}, asked as %s: the contract of bands`, tier => {
    let answerer: Answerer
    let reference: Answerer
    let ground: Ground
    let bands: Source
    let other: Source

    beforeAll(async () => {
      ;({ answerer, reference, ground } = await make())
      bands = answerer.as(tier)
      other = reference.as(tier)
    })
    afterAll(async () => {
      await answerer.close()
      await reference.close()
    })

    it(`answers ${draws} random searches with equal pages and equal errors (seed ${seed})`, async () => {
      const random = new Random(new Random(seed).word())
      const seen = new Map<string, number>()
      for (let draw = 0; draw < draws; draw++) {
        const query = randomEventsQuery(random, ground)
        const [found, expected] = await both(
          () => bands.events(query),
          () => other.events(query),
        )
        expect(found, JSON.stringify(query)).toEqual(expected)
        const kind = 'code' in expected ? expected.code : 'page'
        seen.set(kind, (seen.get(kind) ?? 0) + 1)
      }
      const kinds = tier === 'pro' ? ['page', 'not_found'] : ['page', 'not_found', 'tier_restricted']
      if (FULL) for (const kind of kinds) expect(seen.get(kind), kind).toBeGreaterThan(0)
    })

    it('answers pages byte for byte alike', async () => {
      const query = { ticker: ground.tickers[0]!, field: 'rsi_zone', timeframe: 'daily', limit: 100 } as const
      expect(JSON.stringify(await bands.events(query))).toBe(JSON.stringify(await other.events(query)))
    })

    it(`answers ${draws / 10} random scans with equal pages and equal errors`, async () => {
      const random = new Random(new Random(seed + 1).word())
      for (let draw = 0; draw < draws / 10; draw++) {
        const query = randomOversoldQuery(random, ground)
        const [found, expected] = await both(
          () => bands.oversold(query),
          () => other.oversold(query),
        )
        expect(found, JSON.stringify(query)).toEqual(expected)
      }
    })

    it(`tells the same histories, as far as both tell`, async () => {
      const random = new Random(new Random(seed + 2).word())
      for (let draw = 0; draw < draws / 10; draw++) {
        const { limit: _limit, ...query } = randomEventsQuery(random, ground)
        const [found, expected] = await both(
          async () => specified(await eventHistory(bands, query)),
          async () => specified(await eventHistory(other, query)),
        )
        expect(found, JSON.stringify(query)).toEqual(expected)
      }
    })

    it('cuts a page at its limit and counts all the same', async () => {
      const query = { ticker: ground.tickers[0]!, field: 'macd_state', timeframe: 'daily' } as const
      const whole = await bands.events({ ...query, limit: 100 })
      for (const limit of [1, 7, 99]) {
        const page = await bands.events({ ...query, limit })
        expect(page.events).toEqual(whole.events.slice(0, limit))
        expect(page.total_occurrences).toBe(whole.total_occurrences)
      }
    })

    it('pages through everything by `before`, newest first', async () => {
      const query = { ticker: ground.tickers[0]!, field: 'volume_ratio_band', timeframe: 'daily' } as const
      const dates: string[] = []
      for (let page: EventsPage | null = null; page === null || page.events.length > 0; ) {
        const before: number | null = dates.length === 0 ? null : parseDay(dates.at(-1)!)
        page = await bands.events({ ...query, limit: 7, ...(before === null ? {} : { before }) })
        dates.push(...page.events.map(event => event.date))
      }
      expect(dates).toEqual([...new Set(dates)].sort().reverse())
      expect(dates).toHaveLength((await bands.events({ ...query, limit: 1 })).total_occurrences)
    })
  })
}

type Outcome = object | { code: string; message: string; payload: object }

async function both(one: () => Promise<object>, two: () => Promise<object>): Promise<[Outcome, Outcome]> {
  return [await outcome(one), await outcome(two)]
}

/** The answer, or the refusal with all that it tells. */
async function outcome(ask: () => Promise<object>): Promise<Outcome> {
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof BandsError)) throw error
    // As it goes over a wire: what is undefined there is left out here.
    const payload = JSON.parse(JSON.stringify(error.payload())) as object
    return { kind: error.name, code: error.code, message: error.message, payload }
  }
}

/** What a server tells of a history: nothing that only prices tell, nor a band that was entered before the range. */
function specified({ events, present, ...history }: EventHistory): object {
  const told = events.map(({ returns, percentiles, missing, context_band, ...event }) => event)
  const since = present?.since == null ? null : { ...present, bars: null, initial: false }
  return { ...history, events: told, present: since }
}
