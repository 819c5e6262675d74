import { FIELDS } from '../../src/fields/index.js'
import { parseDay } from '../../src/model/day.js'
import { TIER_NAMES, type Tier } from '../../src/model/terms.js'
import { openLocal, openRemote } from '../../src/open.js'
import { ERROR_SHAPES } from '../../src/wire/format.js'
import { type Answerer, bandsContract } from '../contracts/bands.js'
import { draws } from '../support/full.js'
import { type Ground, serve, simulatedGround } from '../support/serve.js'

const PLENTY = { day: 1_000_000, hour: 1_000_000 }
const CREDITS = { free: PLENTY, plus: PLENTY, pro: PLENTY }

for (const errors of ERROR_SHAPES)
  bandsContract(
    `a remote before a server with ${errors} errors`,
    async () => {
      const ground = await simulatedGround({ count: 4, bars: 900 })
      const tickers = ['SIM0001', 'SIM0002', 'SIM0003', 'SIM0004']
      const [first, last] = [parseDay('2021-01-01')!, parseDay('2024-06-28')!]
      const served = await remoteAnswerer(ground, errors)
      return {
        answerer: served,
        reference: await localAnswerer(ground),
        ground: { tickers, sectors: ['Tech'], first, last },
      }
    },
    { draws: draws(errors === 'flat' ? 1_000 : 200), seed: 41 },
  )

async function remoteAnswerer(ground: Ground, errors: 'flat' | 'nested'): Promise<Answerer> {
  const server = await serve(ground, { errors, credits: CREDITS })
  const remotes = await Promise.all(
    TIER_NAMES.map(async tier => {
      const key = await server.key(tier)
      return [tier, await openRemote({ url: server.url, key, fields: FIELDS })] as const
    }),
  )
  const bands = Object.fromEntries(remotes) as Record<Tier, (typeof remotes)[0][1]>
  return {
    as: tier => bands[tier],
    async close() {
      for (const [, remote] of remotes) await remote.close()
      await server.stop()
      ground.remove()
    },
  }
}

async function localAnswerer({ db }: Ground): Promise<Answerer> {
  const opened = await Promise.all(TIER_NAMES.map(async tier => [tier, (await openLocal({ db, tier })).local] as const))
  const locals = Object.fromEntries(opened) as Record<Tier, (typeof opened)[0][1]>
  return {
    as: tier => locals[tier],
    close: async () => {
      for (const [, local] of opened) await local.close()
    },
  }
}
