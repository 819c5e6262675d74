import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll } from 'vitest'
import { laidOut } from '../../src/store/postgres/data.js'
import { Cluster, type ClusterOptions } from './postgres.js'

const PAGE = fileURLToPath(new URL('../../docs/scale-out.md', import.meta.url))
export const SHARDS = ['shard1', 'shard2', 'shard3'] as const

/** Three servers, and one before them that is asked; set up as docs/scale-out.md says, with loopback in place of its addresses. */
export class ShardedClusters {
  readonly front: Cluster
  readonly shards: readonly Cluster[]
  #made = 0

  private constructor(front: Cluster, shards: readonly Cluster[]) {
    this.front = front
    this.shards = shards
  }

  static async begin(options: ClusterOptions = {}): Promise<ShardedClusters> {
    const begun = await Promise.allSettled(Array.from({ length: 1 + SHARDS.length }, () => Cluster.begin(options)))
    const clusters = begun.flatMap(one => (one.status === 'fulfilled' ? [one.value] : []))
    const [front, ...shards] = clusters as [Cluster, ...Cluster[]]
    const made = new ShardedClusters(front, shards)
    const failed = begun.find(one => one.status === 'rejected')
    if (failed === undefined) return made
    await made.end()
    throw failed.reason
  }

  /** A new database over three new ones: empty, or copies of another and its. @returns its address */
  async createDatabase(template?: string): Promise<string> {
    const name = `sharded_${++this.#made}`
    if (template !== undefined) return this.#copied(template, name)
    const named = (text: string): string => text.replaceAll('DATABASE bands ', `DATABASE ${name} `)
    const make = async (cluster: Cluster): Promise<void> => {
      const [role] = await cluster.sql("SELECT 1 FROM pg_roles WHERE rolname = 'bands_admin'")
      const [createRole, createDatabase] = documented('shard.sql').split('\n')
      if (role === undefined) await cluster.sql(createRole!)
      await cluster.sql(named(createDatabase!))
    }
    await Promise.all([this.front, ...this.shards].map(make))
    for (const shard of this.shards) await laidOut(asAdmin(shard.url(name)), { layout: { partitions: 1, shards: [] } })
    await this.front.sql(this.#placed(documented('shards.sql'), name), name)
    const url = asAdmin(this.front.url(name))
    await laidOut(url, { layout: { partitions: SHARDS.length, shards: SHARDS } })
    // For tests that edit rows behind the back of the store.
    await this.front.sql(
      SHARDS.map(shard => `CREATE USER MAPPING FOR bands SERVER ${shard} OPTIONS (user 'bands_admin')`).join(';'),
      name,
    )
    return url
  }

  /** The shard that has a ticker, in a database that was made here. */
  async shardOf(ticker: string, url: string): Promise<Cluster> {
    const database = new URL(url).pathname.slice(1)
    const which = SHARDS.map(
      (_name, i) =>
        `WHEN satisfies_hash_partition('bands_data.listed'::regclass, 3, ${i}, '${ticker}'::text) THEN ${i}`,
    )
    const [place] = await this.front.sql(`SELECT CASE ${which.join(' ')} END`, database)
    return this.shards[Number(place)]!
  }

  async #copied(template: string, name: string): Promise<string> {
    const made = `CREATE DATABASE ${name} TEMPLATE ${template} OWNER bands_admin`
    await Promise.all([this.front, ...this.shards].map(cluster => cluster.sql(made)))
    const placed = SHARDS.map(shard => `ALTER SERVER ${shard} OPTIONS (SET dbname '${name}')`)
    await this.front.sql(placed.join(';'), name)
    return asAdmin(this.front.url(name))
  }

  async end(): Promise<void> {
    await Promise.all([this.front, ...this.shards].map(cluster => cluster?.end()))
  }

  #placed(text: string, database: string): string {
    return this.shards.reduce(
      (placed, shard, i) =>
        placed.replace(
          `host '10.0.1.${i + 1}', port '5432', dbname 'bands'`,
          `host '127.0.0.1', port '${shard.port}', dbname '${database}'`,
        ),
      text,
    )
  }
}

/** The same for all tests of a suite, gone with it. */
export function shardsForAll(options: ClusterOptions = {}): { readonly current: ShardedClusters } {
  let clusters: ShardedClusters | undefined
  beforeAll(async () => {
    clusters = await ShardedClusters.begin(options)
  })
  afterAll(() => clusters?.end())
  return {
    get current() {
      if (clusters === undefined) throw new Error('the database servers are there only while tests run')
      return clusters
    },
  }
}

function asAdmin(url: string): string {
  return url.replace('bands@', 'bands_admin@')
}

function documented(name: string): string {
  const page = readFileSync(PAGE, 'utf8')
  const [, text] = page.match(new RegExp(`^\`\`\`sql ${name.replace('.', '\\.')}\n(.*?)^\`\`\`$`, 'ms')) ?? []
  if (text === undefined) throw new Error(`docs/scale-out.md has no ${name}`)
  return text
}
