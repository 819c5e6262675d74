import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { BandsError } from '../../../src/errors.js'
import { Local } from '../../../src/local/local.js'
import { parseDay } from '../../../src/model/day.js'
import { head } from '../../../src/model/series.js'
import { TIER_NAMES } from '../../../src/model/terms.js'
import { simulatedTickers } from '../../../src/simulate/simulate.js'
import { Random } from '../../../src/statistics/random.js'
import { openPostgres } from '../../../src/store/postgres/data.js'
import { remembering } from '../../../src/store/remembered.js'
import { openSqlite } from '../../../src/store/sqlite/data.js'
import type { Store } from '../../../src/store/store.js'
import { draws } from '../../support/full.js'
import { clusterForAll, describeOldestPostgres, describePostgres } from '../../support/postgres.js'
import { chance, pick } from '../../support/random-facts.js'
import { randomEventsQuery, randomOversoldQuery } from '../../support/random-queries.js'
import { shardsForAll } from '../../support/shards.js'
import { importerOf, loadedInto, openedForAll, sourced } from '../../support/store.js'

const SEED = 97
const WORLD = [...simulatedTickers({ count: 10, bars: 900, seed: 9, end: parseDay('2024-06-28')! })]
const ASKED = {
  tickers: WORLD.map(({ ticker }) => ticker),
  sectors: ['Tech', 'Energy'],
  first: parseDay('2021-01-01')!,
  last: parseDay('2024-06-28')!,
}

describePostgres('a file and a database of PostgreSQL, filled with the same', () => answerAlike(250, onOne()))
describeOldestPostgres('a file and a database of PostgreSQL 14, filled with the same', () =>
  answerAlike(100, onOne(true)),
)
describePostgres('a file and three shards of a database of PostgreSQL, filled with the same', () =>
  answerAlike(250, onShards()),
)

function onOne(oldest = false): Made {
  const cluster = clusterForAll({ fsync: false, oldest })
  return () => cluster.current.createDatabase()
}

function onShards(): Made {
  const clusters = shardsForAll({ fsync: false })
  return () => clusters.current.createDatabase()
}

/** Makes a database that is empty. @returns its address */
type Made = () => Promise<string>

function answerAlike(all: number, made: Made): void {
  let [here, there]: Store[] = []
  openedForAll(async folder => {
    here = await filled(openSqlite(join(folder, 'bands.db'), { readonly: false }))
    return here
  })
  beforeAll(async () => {
    there = await filled(await openPostgres(await made(), { readonly: false }))
  })
  afterAll(() => there?.close())

  const questions = draws(all)
  it(`answer ${questions} random questions with the same bytes, in every tier and as of random days (seed ${SEED})`, async () => {
    const random = new Random(new Random(SEED).word())
    // One that is asked again and again keeps what it has read.
    const kept = remembering(there!)
    for (let i = 0; i < questions; i++) {
      const tier = pick(random, TIER_NAMES)
      const asOf = chance(random, 0.5) ? null : ASKED.first + random.below(ASKED.last - ASKED.first)
      const query = chance(random, 0.85) ? randomEventsQuery(random, ASKED) : randomOversoldQuery(random, ASKED)
      const store = chance(random, 0.5) ? kept : there!
      const [found, expected] = [await asked(store, query), await asked(here!, query)]
      expect(found, JSON.stringify({ tier, asOf, query })).toBe(expected)

      async function asked(store: Store, query: object): Promise<string> {
        const local = new Local(store, tier, asOf)
        try {
          return JSON.stringify(
            await ('ticker' in query ? local.events(query as never) : local.oversold(query as never)),
          )
        } catch (error) {
          if (!(error instanceof BandsError)) throw error
          return JSON.stringify([error.code, error.message, error.payload()])
        }
      }
    }
  })
}

/** Most of the bars of a world with its facts, and then the rest of them, as days pass. */
async function filled(store: Store): Promise<Store> {
  const begun = WORLD.map((one, i) => ({ ...one, bars: head(one.bars, 900 - 30 * i) }))
  await loadedInto(store, begun)
  await (await importerOf(store)).put(WORLD.map(sourced))
  return store
}
