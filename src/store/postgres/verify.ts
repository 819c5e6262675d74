import { remedy } from '../../errors.js'
import { TIMEFRAME_NAMES } from '../../model/terms.js'
import { checkedSheet, damagesIn, tickerDamages } from '../checked.js'
import { DAMAGE, type Hashed, type Listed, listDamages, lostRows, strangeRows, unlisted } from '../content.js'
import type { PulledRow } from '../pages.js'
import { pulledDamages } from '../pulled.js'
import { type Damage, type SheetRow, UNDERIVED } from '../store.js'
import type { Queries } from './connection.js'
import { type Reading, wholeTickers } from './read.js'
import { OF_TICKERS } from './schema.js'
import { isCutOff, partitionsIn, partsElsewhere } from './shards.js'

/**
 * Reads all that there is as questions do, and looks whether it is all that was written; in one transaction, a ticker at a
 * time. Whether pages of the database's own files are as they were written, its checksums tell while it reads them.
 */
export async function verifyContent(db: Reading): Promise<Damage[]> {
  const placement = await placementIn(db)
  const lost = await db.query<Listed>(lostRows('bands_data.'))
  const strange = await db.query<Listed>(strangeRows('bands_data.'))
  // Of a ticker that lies elsewhere too, the tables say one thing and another.
  const others = [...listDamages(lost, strange), ...(await dayDamages(db))]
  const damages = [...placement.damages, ...(await strays(db))]
  damages.push(...others.filter(({ ticker }) => !placement.misplaced.has(ticker)))
  const [made] = await db.query<{ value: string }>("SELECT value FROM bands_data.meta WHERE key = 'definitions'")
  const derived = made?.value === UNDERIVED ? [] : TIMEFRAME_NAMES
  for (const { ticker } of await db.query<Named>('SELECT DISTINCT ticker FROM bands_data.tickers ORDER BY ticker')) {
    const [kept] = await wholeTickers(db, [ticker])
    if (kept != null) damages.push(...tickerDamages(db, kept, derived))
  }
  for await (const row of byTicker<Hashed<SheetRow>>(db, 'facts', 'kind'))
    damages.push(...damagesIn(() => checkedSheet(db, row)))
  for await (const row of byTicker<PulledRow>(db, 'pulled', 'timeframe, field')) damages.push(...pulledDamages(row))
  return damages
}

interface Named {
  ticker: string
}

/** All rows of a table, those of a ticker at a time. */
async function* byTicker<Row>({ query }: Queries, table: string, order: string): AsyncGenerator<Row> {
  for (const { ticker } of await query<Named>(`SELECT DISTINCT ticker FROM bands_data.${table} ORDER BY ticker`))
    yield* await query<Row>(`SELECT * FROM bands_data.${table} WHERE ticker = $1 ORDER BY ${order}`, [ticker])
}

/** Rows of what is not there. */
async function strays(db: Reading): Promise<Damage[]> {
  const damages: Damage[] = []
  for (const table of ['chunks', 'series']) {
    const found = await db.query(
      `SELECT FROM bands_data.${table} WHERE ticker NOT IN (SELECT ticker FROM bands_data.tickers) LIMIT 1`,
    )
    if (found.length > 0) damages.push({ ticker: '', what: `rows of ${table} belong to none of tickers`, mend: null })
  }
  return damages
}

/** Where it is said beside the shards what they have, and that is not so; where a write was cut off it cannot be, yet. */
async function dayDamages(db: Reading): Promise<Damage[]> {
  if ((await partsElsewhere(db)).length === 0 || (await isCutOff(db))) return []
  const lacking = 'SELECT ticker FROM (SELECT * FROM bands_data.tickers EXCEPT SELECT * FROM bands_data.days) lacking'
  const strange = "SELECT ticker FROM bands_data.days EXCEPT SELECT ticker FROM bands_data.listed WHERE what = 'bars'"
  const [one, other] = [await db.query<Named>(`${lacking} ORDER BY ticker`), await db.query<Named>(strange)]
  return [...one.map(({ ticker }) => DAMAGE.entry(ticker)), ...other.map(({ ticker }) => unlisted(ticker, 'bars'))]
}

/**
 * A shard, and whose rows it has. A question goes where a ticker belongs, so that rows on another shard are found by none
 * but those that read all tickers. PostgreSQL looks after its own partitions and not after foreign ones: it does not see
 * that two servers have each other's address, that a backup came back in the place of another, that somebody imported into
 * a shard itself.
 */
interface Shard {
  /** As CREATE SERVER named it. */
  name: string
  /** Its own database, as a URL; null where the server does not say that by itself. */
  address: string | null
  /** The tickers that have rows in it, by the number of the shard that they belong on. */
  found: ReadonlyMap<number, readonly string[]>
}

export interface Placement {
  shards: readonly string[]
  /** Tickers with rows where they do not belong. */
  misplaced: ReadonlySet<string>
  damages: readonly Damage[]
}

/** Where rows lie; of a store on one server nothing. @param tables that are looked at */
export async function placementIn(db: Queries, tables: readonly string[] = OF_TICKERS): Promise<Placement> {
  const shards = await shardsWith(db, tables)
  const misplaced = new Set<string>()
  const damages: Damage[] = []
  for (const [number, shard] of shards.entries())
    for (const [home, tickers] of shard.found) {
      if (home === number) continue
      for (const ticker of tickers) misplaced.add(ticker)
      // With some of its own beside them somebody wrote to the shard itself.
      const isAnothers = shard.found.size === 1 && !shards[home]!.found.has(home)
      if (isAnothers) damages.push(exchanged(shard.name, shards[home]!.name))
      else damages.push(...tickers.map(ticker => stray(ticker, shard, shards[home]!, home)))
    }
  return { shards: shards.map(({ name }) => name), misplaced, damages }
}

async function shardsWith(db: Queries, tables: readonly string[]): Promise<Shard[]> {
  const parts = await partitionsIn(db)
  const shards: Shard[] = []
  for (const { number, server, options } of parts) {
    if (server === null) continue
    // Grouped by the shard itself, so that one name a ticker goes over the connection.
    const named = tables.map(table => `SELECT ticker FROM bands_data.${table}_${number} GROUP BY ticker`)
    const found = await db.query<{ home: number; tickers: string[] }>(
      `SELECT home, array_agg(ticker ORDER BY ticker) AS tickers
        FROM (${named.join(' UNION ')}) named CROSS JOIN generate_series(0, $1::int - 1) AS home
        WHERE satisfies_hash_partition('bands_data.listed'::regclass, $1::int, home, ticker) GROUP BY home`,
      [parts.length],
    )
    shards.push({
      name: server,
      address: addressIn(options ?? []),
      found: new Map(found.map(one => [one.home, one.tickers])),
    })
  }
  return shards
}

function addressIn(options: readonly string[]): string | null {
  const given = new Map(options.map(option => [option.split('=', 1)[0]!, option.slice(option.indexOf('=') + 1)]))
  const [host, name] = [given.get('host') ?? given.get('hostaddr'), given.get('dbname')]
  if (host === undefined || name === undefined || host.startsWith('/')) return null
  return `postgres://${host.includes(':') ? `[${host}]` : host}:${given.get('port') ?? 5432}/${name}`
}

function exchanged(shard: string, home: string): Damage {
  const advice = 'give each server the address of its own shard (ALTER SERVER), or each shard its own backup'
  return {
    ticker: '',
    what: `${shard} has the tickers of ${home}, where no question finds them: ${advice}`,
    mend: null,
  }
}

function stray(ticker: string, shard: Shard, home: Shard, number: number): Damage {
  const what = `rows of it lie on ${shard.name}, where no question finds them; it belongs on ${home.name}`
  // What lies where it does not belong may be all that there is of it.
  const isThere = home.found.get(number)?.includes(ticker) ?? false
  if (!isThere) return { ticker, what, mend: remedy('import', ['FILE']) }
  return { ticker, what, mend: shard.address === null ? null : remedy('remove', [ticker], { db: shard.address }) }
}
