import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../../src/statistics/random.js'
import { openPostgres } from '../../src/store/postgres/data.js'
import type { Cluster } from './postgres.js'
import { pick } from './random-facts.js'

/** A database server, and those that its tables lie on, if any. */
export interface Target {
  front: Cluster
  shards: readonly Cluster[]
  createDatabase(): Promise<string>
}

export function alone(cluster: Cluster): Target {
  return { front: cluster, shards: [], createDatabase: () => cluster.createDatabase() }
}

/** What is killed: the whole server, the process behind one connection, who uses it, one of the shards, or a process of one. */
export type Victim = 'server' | 'connection' | 'client' | 'shard' | 'connection of a shard'

/** Ends one of them with SIGKILL; a server is started again. @param killClient ends one who uses it */
export async function kill(
  { front, shards }: Target,
  victim: Victim,
  random: Random,
  killClient: () => Promise<void>,
): Promise<void> {
  if (victim === 'client') return killClient()
  const isOfShard = victim === 'shard' || victim === 'connection of a shard'
  const server = isOfShard ? pick(random, shards) : front
  if (victim === 'server' || victim === 'shard') {
    await server.kill()
    return server.start()
  }
  const name = isOfShard ? 'postgres_fdw' : 'bands'
  const named = `SELECT pid FROM pg_stat_activity WHERE application_name = '${name}' ORDER BY random()`
  // None while it recovers from the one before.
  const [pid] = await server.sql(named).catch(() => [])
  if (pid !== undefined) killProcess(Number(pid))
}

/** Kills a process, unless it has come to its end. */
export function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** After one of its processes was killed, a server ends all others and recovers. */
export async function untilItAnswers(url: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      const store = await openPostgres(url, { readonly: true })
      // Which asks all of them.
      await store.atOneMoment(() => store.names()).finally(() => store.close())
      return
    } catch (error) {
      if (tries === 600) throw error
      await sleep(50)
    }
  }
}
