import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openLocal, openRemote } from '../../src/app/open/database.js'
import { BandsError } from '../../src/core/errors.js'
import { FIELDS } from '../../src/core/fields/index.js'
import { parseDay } from '../../src/core/model/day.js'
import type { EventHistory, EventsPage } from '../../src/core/model/event.js'
import { TIER_NAMES } from '../../src/core/model/terms.js'
import { eventHistory, type Source } from '../../src/core/source.js'
import { Random } from '../../src/core/statistics/random.js'
import { ERROR_SHAPES } from '../../src/server/wire/format.js'
import { draws, FULL } from '../support/full.js'
import { randomEventsQuery, randomOversoldQuery } from '../support/random-queries.js'
import { type Ground, serve, simulatedGround } from '../support/serve.js'
import { compareConditions } from '../support/told-conditions.js'

const PLENTY = { day: 1_000_000, hour: 1_000_000 }
const CREDITS = { free: PLENTY, plus: PLENTY, pro: PLENTY }
const SEED = 41
const TICKERS = ['SIM0001', 'SIM0002', 'SIM0003', 'SIM0004']
const ASKED = { tickers: TICKERS, sectors: ['Tech'], first: parseDay('2021-01-01')!, last: parseDay('2024-06-28')! }

let ground: Ground
beforeAll(async () => {
  ground = await simulatedGround({ count: 4, bars: 900 })
})
afterAll(() => ground.remove())

const CASES = ERROR_SHAPES.flatMap(errors => TIER_NAMES.map(tier => [tier, errors] as const))

describe.each(CASES)('a remote with a %s key, before a server with %s errors', (tier, errors) => {
  const searches = draws(errors === 'flat' ? 500 : 200)
  /** Who asks the server, and the engine that answers there. */
  let far: Source
  let near: Source
  beforeAll(async () => {
    const server = await serve(ground, { errors, credits: CREDITS })
    const [remote, { local }] = await Promise.all([
      server.key(tier).then(key => openRemote({ url: server.url, key, fields: FIELDS })),
      openLocal({ db: ground.db, tier }),
    ])
    ;[far, near] = [remote, local]
    return async () => {
      await Promise.all([remote.close(), local.close()])
      await server.stop()
    }
  })

  /** The answers of both, or their refusals with all that these tell; found to be the same. */
  async function same(ask: (source: Source) => Promise<object>, query: object): Promise<Outcome> {
    const found = await outcome(() => ask(far))
    const expected = await outcome(() => ask(near))
    expect(found, JSON.stringify(query)).toEqual(expected)
    return expected
  }

  it(`answers ${searches} random searches with equal pages and equal errors (seed ${SEED})`, async () => {
    const random = new Random(new Random(SEED).word())
    const seen = new Set<string>()
    for (let draw = 0; draw < searches; draw++) {
      const query = randomEventsQuery(random, ASKED)
      const expected = await same(source => source.events(query), query)
      seen.add('code' in expected ? expected.code : 'page')
    }
    const kinds = tier === 'pro' ? ['page', 'not_found'] : ['page', 'not_found', 'tier_restricted']
    if (FULL) for (const kind of kinds) expect(seen).toContain(kind)
  })

  it('answers pages byte for byte alike', async () => {
    const query = { ticker: TICKERS[0]!, field: 'rsi_zone', timeframe: 'daily', limit: 100 } as const
    expect(JSON.stringify(await far.events(query))).toBe(JSON.stringify(await near.events(query)))
  })

  it(`answers ${searches / 10} random scans with equal pages and equal errors`, async () => {
    const random = new Random(new Random(SEED + 1).word())
    for (let draw = 0; draw < searches / 10; draw++) {
      const query = randomOversoldQuery(random, ASKED)
      await same(source => source.oversold(query), query)
    }
  })

  it('has the same histories, as far as a server sends them', async () => {
    const random = new Random(new Random(SEED + 2).word())
    for (let draw = 0; draw < searches / 10; draw++) {
      const { limit: _limit, ...query } = randomEventsQuery(random, ASKED)
      await same(async source => specified(await eventHistory(source, query)), query)
    }
  })

  it('keeps the same events under a condition as who has the bars, or refuses what events cannot tell', async () => {
    const random = new Random(new Random(SEED + 3).word())
    const first = parseDay(tier === 'free' ? '2024-05-15' : '2023-06-01')!
    const asked = { random, draws: draws(400), first }
    const { answered, events, refused } = await compareConditions({ far, near }, TICKERS, asked)
    if (!FULL) return
    expect(answered).toBeGreaterThan(asked.draws / 10)
    expect(events).toBeGreaterThan(answered)
    expect(refused.size).toBeGreaterThan(5)
  })

  it('cuts a page at its limit and counts all the same', async () => {
    const query = { ticker: TICKERS[0]!, field: 'macd_state', timeframe: 'daily' } as const
    const whole = await far.events({ ...query, limit: 100 })
    for (const limit of [1, 7, 99]) {
      const page = await far.events({ ...query, limit })
      expect(page.events).toEqual(whole.events.slice(0, limit))
      expect(page.total_occurrences).toBe(whole.total_occurrences)
    }
  })

  it('pages through everything by `before`, newest first', async () => {
    const query = { ticker: TICKERS[0]!, field: 'volume_ratio_band', timeframe: 'daily' } as const
    const dates: string[] = []
    for (let page: EventsPage | null = null; page === null || page.events.length > 0; ) {
      const before: number | null = dates.length === 0 ? null : parseDay(dates.at(-1)!)
      page = await far.events({ ...query, limit: 7, ...(before === null ? {} : { before }) })
      dates.push(...page.events.map(event => event.date))
    }
    expect(dates).toEqual([...new Set(dates)].sort().reverse())
    expect(dates).toHaveLength((await far.events({ ...query, limit: 1 })).total_occurrences)
  })
})

type Outcome = object | { code: string; message: string; payload: object }

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
