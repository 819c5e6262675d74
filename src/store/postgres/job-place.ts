import { Busy } from '../../errors.js'
import { unsettledIn } from '../content.js'
import { lent } from '../remembered.js'
import { type Batch, placeTaken, type Store, type Writer } from '../store.js'
import type { Queries } from './connection.js'
import { holderIn, NOTE, PLACE_LOCK, type Place, STATEMENT_MS } from './place.js'
import type { HeldJob } from './queue.js'

/** How long another may write before one gives up waiting for its turn at a row, in milliseconds. */
const PATIENCE = 600_000

/** What else is to be written in a transaction. */
type Also = (tx: Queries) => Promise<void>

/** Puts together what several have written about what is unsettled: what one knew, what it has made of that, and what stands there. */
export type Merge = (known: readonly string[], own: readonly string[], there: readonly string[]) => readonly string[]

/**
 * The writing place of a job: that of all jobs at once, or alone.
 *  1. Several jobs have a share of the lock that anybody else needs whole. Their transactions come one after the other, as
 *     all begin with the same row; what they derive they derive beside each other.
 *  2. Whoever has a share has noted how all tickers were when it began. A ticker that another has written since is not
 *     written over: the job begins again, alone.
 *  3. What is unsettled stands in one list: each takes out and puts in its own.
 */
export class JobPlace implements Place {
  readonly #job: HeldJob
  #merge: Merge | null
  /** How tickers were, by name; null: nobody else can have written. */
  #seen = new Map<string, string>()
  #known: readonly string[] = []
  /** The tickers of the next transaction, and what else is written in it. */
  #next: { names: readonly string[]; also: Also } | null = null

  /** @param merge of several at once; null: alone */
  constructor(job: HeldJob, merge: Merge | null) {
    this.#job = job
    this.#merge = merge
  }

  get isAlone(): boolean {
    return this.#merge === null
  }

  /** Nobody is to write beside it. */
  beAlone(): void {
    this.#merge = null
  }

  /** Throws Busy naming the holder; alone, others are waited for. */
  async take(writer: Writer): Promise<void> {
    const { session, location } = this.#job
    if (this.#merge === null) {
      await session.query('SET statement_timeout = 0; SET lock_timeout = 0')
      await session.query(`SELECT pg_advisory_lock(${PLACE_LOCK})`, [], FOREVER)
      await session.query(NOTE, [writer.pid, writer.host, writer.started])
      return
    }
    const [lock] = await session.query<{ got: boolean }>(`SELECT pg_try_advisory_lock_shared(${PLACE_LOCK}) AS got`)
    if (!lock!.got) throw placeTaken(location, (await holderIn(session)) ?? undefined)
    this.#seen = await stampsOf(session, null)
  }

  async leave(_writer: Writer): Promise<void> {
    const shared = this.#merge === null ? '' : '_shared'
    await this.#job.session.query(`SELECT pg_advisory_unlock${shared}(${PLACE_LOCK})`)
  }

  /** The session is the job's. */
  async close(): Promise<void> {}

  /** What was read of the list from which the next is made. */
  knows(unsettled: readonly string[]): void {
    this.#known = unsettled
  }

  /** What comes next is of these tickers, and something else goes with it. */
  expect(names: readonly string[], also: Also): void {
    this.#next = { names, also }
  }

  transaction<T>(work: (session: Queries) => Promise<T>): Promise<T> {
    const { names, also } = this.#next ?? { names: [], also: async () => {} }
    this.#next = null
    const done = async (tx: Queries): Promise<T> => {
      const result = this.#merge === null ? await work(tx) : await this.#merged(tx, names, this.#merge, work)
      await also(tx)
      return result
    }
    return this.#job.transaction(done, { statement: STATEMENT_MS, lock: PATIENCE })
  }

  /** Nothing is left to be written but that. */
  alone(also: Also): Promise<void> {
    return this.#job.transaction(also, { lock: PATIENCE })
  }

  async #merged<T>(
    tx: Queries,
    names: readonly string[],
    merge: Merge,
    work: (session: Queries) => Promise<T>,
  ): Promise<T> {
    // From here on nobody else writes until this is through.
    await tx.query("SELECT FROM bands_data.meta WHERE key = 'version' FOR UPDATE")
    // On shards another announces there what it is about to write.
    await tx.query("SELECT FROM bands_data.meta WHERE key = 'unsettled' FOR UPDATE")
    const found = await stampsOf(tx, names)
    const other = names.find(name => found.get(name) !== this.#seen.get(name))
    if (other !== undefined) throw new Overtaken(other)
    const there = await unsettledOf(tx)
    const result = await work(tx)
    const own = await unsettledOf(tx)
    const merged = JSON.stringify(merge(this.#known, own, there))
    if (merged !== JSON.stringify(own))
      await tx.query("UPDATE bands_data.meta SET value = $1 WHERE key = 'unsettled'", [merged])
    this.#known = own
    for (const name of names) this.#seen.delete(name)
    for (const [name, stamp] of await stampsOf(tx, names)) this.#seen.set(name, stamp)
    return result
  }
}

/** Another job has written a ticker since this one read it. */
export class Overtaken extends Busy {
  constructor(ticker: string) {
    super(`${ticker} was written by another job meanwhile`)
  }
}

/** A day, in milliseconds: somebody else may be importing a market. */
const FOREVER = 86_400_000

/** Something that stays the same as long as bars and facts of a ticker do; null: of all tickers. */
async function stampsOf({ query }: Queries, names: readonly string[] | null): Promise<Map<string, string>> {
  const rows = await query<{ ticker: string; stamp: string }>(
    `SELECT ticker, string_agg(what || ' ' || hash, ',' ORDER BY what) AS stamp FROM (
        SELECT ticker, 'bars' AS what, hash FROM bands_data.tickers WHERE $1::text[] IS NULL OR ticker = ANY ($1)
        UNION ALL SELECT ticker, kind, hash FROM bands_data.facts WHERE $1::text[] IS NULL OR ticker = ANY ($1)
      ) there GROUP BY ticker`,
    [names],
  )
  return new Map(rows.map(({ ticker, stamp }) => [ticker, stamp]))
}

export async function unsettledOf({ query }: Queries): Promise<readonly string[]> {
  const [row] = await query<{ value: string }>("SELECT value FROM bands_data.meta WHERE key = 'unsettled'")
  return unsettledIn(row?.value)
}

/** What of a store a job writes, the last of it held back until the job is done. */
export interface JobStore {
  store: Store
  /** Writes what was held back, or nothing, and something else with it, in one transaction. */
  end(also: Also): Promise<void>
}

/**
 * A store whose last write waits: it is made by the next write, or once something is read that it may have changed, or at
 * the end, together with what is then written about the job.
 */
export function heldBack(store: Store, place: JobPlace): JobStore {
  let waiting: (() => Promise<void>) | null = null
  let ending: Also = async () => {}
  let [unsettled, definitions]: [readonly string[] | null, string | null] = [null, null]
  let line = Promise.resolve()
  /** One after the other, as all go over one connection. */
  const written = (): Promise<void> => {
    line = line.then(() => {
      const write = waiting
      waiting = null
      return write?.()
    })
    return line
  }
  const expected = <T>(names: readonly string[], write: () => Promise<T>): Promise<T> => {
    place.expect(names, ending)
    return write()
  }
  /** It may be asked for what waits to be written. */
  const after = <A extends unknown[], R>(read: (...args: A) => Promise<R>) => {
    return async (...args: A): Promise<R> => {
      await written()
      return read(...args)
    }
  }
  const held: Store = lent<Store>(store, {
    async write(batch, made) {
      await written()
      ;[unsettled, definitions] = [batch.unsettled ?? unsettled, made]
      waiting = () => expected(namesIn(batch), () => store.write(batch, made))
    },
    async unsettled() {
      if (unsettled !== null) return unsettled
      const found = await store.unsettled()
      place.knows(found)
      return found
    },
    async definitions() {
      return definitions ?? store.definitions()
    },
    remove: after((ticker, left) => expected([ticker], () => store.remove(ticker, left))),
    tickers: after(() => store.tickers()),
    ticker: after(ticker => store.ticker(ticker)),
    bars: after(ticker => store.bars(ticker)),
    sheets: after((ticker, but) => store.sheets(ticker, but)),
    names: after(what => store.names(what)),
    factTickers: after(() => store.factTickers()),
    securities: after(() => store.securities()),
    tail: after((ticker, since, from) => store.tail(ticker, since, from)),
  })
  return {
    store: held,
    async end(also) {
      if (waiting === null) {
        await line
        return place.alone(also)
      }
      ending = also
      await written()
    },
  }
}

/** The tickers that a batch writes. */
function namesIn({ removed = [], records = [], amendments = [], sheets = [] }: Batch): string[] {
  const written = [...records].map(({ entry }) => entry.ticker)
  return [...removed, ...written, ...[...amendments, ...sheets].map(({ ticker }) => ticker)]
}
