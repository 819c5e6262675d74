import { randomUUID } from 'node:crypto'
import type { PoolClient } from 'pg'
import type PgBoss from 'pg-boss'
import { BandsError, NotFound, quoted, remedy, StorageError } from '../../errors.js'
import type { JobState, Queued, Writer } from '../store.js'
import type { Address } from './address.js'
import { codeOf, Database, type Queries, type TransactionOptions, translated } from './connection.js'
import { endsWhenSilent, LOCKED_BY, Session } from './place.js'

/**
 * Work that waits in the database for who does it, in tables of pg-boss.
 *  1. It is put there, in one transaction whatever there is of it.
 *  2. A worker takes a job in a session of its own, and in the same transaction a lock of that session for it.
 *  3. The lock is held as long as the session lives, and everything that the job writes is written in that session: who
 *     has lost its connection writes nothing more, and no other has the job before.
 *  4. That the job is done is written in the last transaction of its rows, or they are not there and it is not done.
 *  5. A job that is under way without its lock has lost its worker, however that ended: any other gives it back.
 * Nothing has to be measured for that, and a job may take as long as it takes.
 */

/** Tables of its own: another queue of the same kind in the database knows nothing of these. */
const SCHEMA = 'bands_queue'
const QUEUE = 'work'

/** The tables of pg-boss that this bands knows. */
const KNOWN = 24

/**
 * A job that is begun so often and never ends takes its workers with it, and is not begun again by itself. That its
 * database was away, of which the workers tell who lived on, counts for nothing.
 */
const TRIES = 10
/** So many seconds after it was given back, a job may be begun again. */
const AGAIN = 5
/** What is done is kept for so many days. */
const KEPT = 30

/** What is to be done, as a command that was understood. */
export interface Task {
  command: string
  args: unknown[]
  options: Record<string, unknown>
  globals: Record<string, unknown>
}

export interface Job {
  id: string
  state: JobState
  task: Task
  put: Date
  /** The last time that it was begun; null: never. */
  begun: Date | null
  ended: Date | null
  /** How often it was begun. */
  tries: number
  /** Who is at it, or was last. */
  worker: Writer | null
  /** Why it failed, or was given back last, in a sentence. */
  error: string | null
}

/** What pg-boss keeps beside a job: who is at it, and how it ended. */
interface Output {
  worker?: Writer
  error?: string
  /** A JSON document as it was written. */
  answer?: string
}

const SETTINGS = {
  schema: SCHEMA,
  supervise: false,
  schedule: false,
  // Nothing that waits is thrown away, and whatever is under way is looked at by its lock.
  retentionDays: 3_650,
  expireInHours: 23,
  retryLimit: TRIES - 1,
  retryDelay: AGAIN,
}

export class Queue {
  readonly location: string
  readonly #database: Database
  readonly #boss: PgBoss

  private constructor(database: Database, boss: PgBoss) {
    this.location = database.location
    this.#database = database
    this.#boss = boss
  }

  /**
   * @param make whether its tables are made where there are none
   * @param sessions how many jobs are done at once
   * Throws NotFound without the tables, and as the opening of a database does.
   */
  static async open(address: Address, { make = false, sessions = 0 } = {}): Promise<Queue> {
    const [{ default: Boss }, database] = await Promise.all([
      import('pg-boss'),
      Database.open(address, { most: sessions + 3 }),
    ])
    try {
      if (make) await prepared(database, Boss)
      const boss = new Boss({ ...SETTINGS, db: asked(database) })
      await check(database, boss)
      return new Queue(database, boss)
    } catch (error) {
      await database.close()
      throw error
    }
  }

  /** Puts them at the end, all or none. @returns their names in the queue */
  async put(tasks: readonly Task[], session?: Queries): Promise<string[]> {
    // Of one moment they are taken in the order of their names.
    const ids = tasks.map(() => randomUUID()).sort()
    const jobs = tasks.map((task, i) => ({ id: ids[i]!, name: QUEUE, data: task }))
    await this.#boss.insert(jobs, { db: asked(session ?? this.#database) })
    return ids
  }

  /** The next that waits, for who does it; null where there is none. */
  async take(worker: Writer): Promise<HeldJob | null> {
    const [due] = await this.#database.query<{ found: boolean }>(DUE)
    if (!due!.found) return null
    const session = await Session.begin(this.#database)
    try {
      await session.query(`${endsWhenSilent(90)}; SET tcp_user_timeout = 90000`)
      const taken = await session.transaction(tx => this.#taken(tx, worker))
      if (taken !== null) return new HeldJob(this.location, session, this.#boss, taken)
    } catch (error) {
      await session.close()
      throw error
    }
    await session.close()
    return null
  }

  async #taken(tx: Queries, worker: Writer): Promise<{ id: string; task: Task } | null> {
    let fault: unknown = null
    const db = asked(tx, error => {
      fault = error
    })
    // It keeps to itself what goes wrong here.
    const [job] = await this.#boss.fetch<Task>(QUEUE, { db } as PgBoss.FetchOptions)
    if (fault !== null) throw fault
    if (job === undefined) return null
    const [lock] = await tx.query<{ got: boolean }>(`SELECT pg_try_advisory_lock(${KEY}) AS got`, [job.id])
    if (!lock!.got) {
      // The worker before has not learnt yet that it was cancelled: what waits behind it comes first.
      await tx.query(LATER, [job.id])
      return null
    }
    await tx.query(changing('output = $2'), [job.id, { worker }])
    return { id: job.id, task: job.data }
  }

  /**
   * Has jobs begun again whose worker is gone, and lets go of what ended long ago.
   * @param cutOff the job of a worker that is still here, and was cut off from a database that was away: that was no try,
   * whoever has given it back @returns how many were given back
   */
  async giveBack(cutOff?: string): Promise<number> {
    return this.#database.transaction(async tx => {
      await tx.query(OLD)
      if (cutOff !== undefined) await tx.query(NO_TRY, [cutOff])
      const lost = await tx.query<{ id: string; output: Output | null }>(LOST)
      const db = asked(tx)
      for (const { id, output } of lost) {
        const { worker } = output ?? {}
        const who = worker === undefined ? 'its worker' : `process ${worker.pid} on ${worker.host}`
        await this.#boss.fail(QUEUE, id, { worker, error: `${who} is gone, or has lost its connection` }, { db })
      }
      return lost.length
    })
  }

  /** Those in a state, or all, the newest first; how many there are at most. */
  async jobs({ state, limit }: { state?: JobState | undefined; limit: number }): Promise<Job[]> {
    const sql = `${JOBS} AND ($1::text IS NULL OR ${STATE} = $1) ORDER BY created_on DESC, id DESC LIMIT $2`
    return this.#database.query<Job>(sql, [state ?? null, limit])
  }

  /** How many there are in each state. */
  async counts(): Promise<Record<JobState, number>> {
    return (await countedIn(this.#database)).jobs
  }

  /** The one whose name begins so. Throws NotFound for none, and for several. */
  async job(name: string): Promise<Job> {
    const sql = `${JOBS} AND starts_with(id::text, $1) LIMIT 2`
    const [job, other] = await this.#database.query<Job>(sql, [name.toLowerCase()])
    const missing = { remedy: remedy('work list') }
    if (job === undefined) throw new NotFound(`there is no job ${quoted(name)}.`, [], missing)
    if (other !== undefined) throw new NotFound(`several jobs begin with ${quoted(name)}.`, [], missing)
    return job
  }

  /** What a job has answered; null where it has none. */
  async answer({ id }: Job): Promise<string | null> {
    const [row] = await this.#database.query<{ answer: string | null }>(
      `SELECT output->>'answer' AS answer FROM ${SCHEMA}.job WHERE name = '${QUEUE}' AND id = $1`,
      [id],
    )
    return row?.answer ?? null
  }

  /** Has one that failed or was cancelled wait again, with all its tries; false where it is in another state. */
  async retry({ id, state }: Job): Promise<boolean> {
    return this.#database.transaction(async tx => {
      const db = { db: asked(tx) }
      const again = state === 'cancelled' ? this.#boss.resume(QUEUE, id, db) : this.#boss.retry(QUEUE, id, db)
      if (told(await again) === 0) return false
      await tx.query(changing(`retry_limit = retry_count + ${TRIES}`), [id])
      return true
    })
  }

  /** Has one that waits or is under way not be done, or not to its end; false where it has ended. */
  async cancel({ id }: Job): Promise<boolean> {
    const affected = told(await this.#boss.cancel(QUEUE, id))
    if (affected === 0) return false
    // Who is at it writes nothing more, and learns of it at once unless that may not be told to the session of another role.
    await this.#database.query(`SELECT pg_terminate_backend(pid) FROM (${HOLDER}) holder`, [id]).catch(() => {})
    return true
  }

  async close(): Promise<void> {
    await this.#database.close()
  }
}

async function countedIn({ query }: Queries): Promise<Queued> {
  const rows = await query<{ state: JobState; jobs: number; oldest: number | null }>(
    `SELECT ${STATE} AS state, count(*) AS jobs, extract(epoch FROM now() - min(start_after))::float8 AS oldest
      FROM ${SCHEMA}.job WHERE name = '${QUEUE}' GROUP BY 1`,
  )
  const counted = Object.fromEntries(rows.map(({ state, jobs }) => [state, jobs]))
  const waiting = rows.find(({ state }) => state === 'waiting')
  return { jobs: { ...NOTHING.jobs, ...counted }, oldest: Math.max(0, waiting?.oldest ?? 0) }
}

/** What waits in a database, with or without a queue; null for one who may not look. */
export async function queuedIn(database: Queries): Promise<Queued | null> {
  try {
    return await countedIn(database)
  } catch (error) {
    if (codeOf(error) === NO_TABLE || codeOf(error) === NO_SCHEMA) return NOTHING
    if (codeOf(error) === FORBIDDEN) return null
    throw error
  }
}

/** SQLSTATE of what is not there, and of what one has no right to. */
const [NO_TABLE, NO_SCHEMA, FORBIDDEN] = ['42P01', '3F000', '42501']

/** A job, and the session that has it. */
export class HeldJob {
  readonly id: string
  readonly task: Task
  readonly location: string
  readonly session: Session
  readonly #boss: PgBoss

  constructor(location: string, session: Session, boss: PgBoss, { id, task }: { id: string; task: Task }) {
    this.location = location
    this.session = session
    this.#boss = boss
    this.id = id
    this.task = task
  }

  /** All or nothing, and nothing at all where the job is no longer held. Throws Cancelled where it is not to be done. */
  transaction<T>(work: (tx: Queries) => Promise<T>, options?: TransactionOptions): Promise<T> {
    const own = async (tx: Queries): Promise<T> => {
      // A pooler may lend another connection than the one with the lock.
      const [held] = await tx.query<{ own: boolean; active: boolean }>(HELD, [this.id])
      if (!held!.active) throw new Cancelled(this.id)
      if (held!.own) return work(tx)
      throw new StorageError(
        `${this.location} has lost job ${this.id}: a worker needs connections of its own, and not ones lent for a transaction`,
      )
    }
    return this.session.transaction(own, options)
  }

  /** It is done, as far as the rest of the transaction is. Throws Cancelled where it is not to be. */
  async complete(tx: Queries, answer: string): Promise<void> {
    const affected = told(await this.#boss.complete(QUEUE, this.id, { answer }, { db: asked(tx) }))
    if (affected === 0) throw new Cancelled(this.id)
  }

  /**
   * It has failed. `again`: it is given back, to be begun again by itself, which is counted and ends some time, or is
   * `uncounted`, as what others are at ends some time.
   */
  async fail(
    tx: Queries,
    { error, answer, again }: { error: string; answer?: string; again: 'never' | 'counted' | 'uncounted' },
  ): Promise<void> {
    if (again !== 'counted') await tx.query(again === 'never' ? NO_MORE : UNCOUNTED, [this.id])
    const db = asked(tx)
    const affected = told(await this.#boss.fail(QUEUE, this.id, { error, ...(answer && { answer }) }, { db }))
    if (affected === 0) throw new Cancelled(this.id)
  }

  /** More work, that is there once this is done; one that waits already will do. */
  async putOnce(tx: Queries, task: Task): Promise<void> {
    const [waits] = await tx.query<{ found: boolean }>(
      `SELECT EXISTS (SELECT FROM ${SCHEMA}.job WHERE name = '${QUEUE}' AND state < 'active' AND data->>'command' = $1) AS found`,
      [task.command],
    )
    if (!waits!.found) await this.#boss.insert([{ name: QUEUE, data: task }], { db: asked(tx) })
  }

  /** With the connection goes the lock: a job that is not done is given back. */
  close(): Promise<void> {
    return this.session.close()
  }
}

/** The job was cancelled while it was under way. */
export class Cancelled extends BandsError {
  override readonly name = 'Cancelled'
  constructor(id: string) {
    super('data_unavailable', `job ${id} was cancelled`)
  }
}

/** How many jobs were changed, which pg-boss says and its types do not. */
function told(response: unknown): number {
  return (response as { affected: number }).affected
}

/** The lock of a job, by its name. */
const KEY = `hashtextextended($1::text, ${0x62616e64})`

const DUE = `SELECT EXISTS (SELECT FROM ${SCHEMA}.job WHERE name = '${QUEUE}' AND state < 'active' AND start_after < now()) AS found`

/** The session that has a job. */
const HOLDER = `${LOCKED_BY} AND objsubid = 1 AND (classid::bigint << 32) | objid::bigint = ${KEY}`

/** Whether this session has a job, and whether that is still to be done. */
const HELD = `SELECT EXISTS (${HOLDER} AND pid = pg_backend_pid()) AS own,
  EXISTS (SELECT FROM ${SCHEMA}.job WHERE name = '${QUEUE}' AND id = $1::text::uuid AND state = 'active') AS active`

/** A statement that changes one job. */
const changing = (what: string): string => `UPDATE ${SCHEMA}.job SET ${what} WHERE name = '${QUEUE}' AND id = $1`

const NO_MORE = changing('retry_limit = retry_count')
const UNCOUNTED = changing('retry_count = retry_count - 1')

/** As if it had not been taken. */
const LATER = changing(`state = 'retry', start_after = now() + interval '${AGAIN} s', retry_count = retry_count - 1`)

/** Only who gives back what another had leaves the name of that one in a job that has failed. */
const NO_TRY = `UPDATE ${SCHEMA}.job SET retry_count = retry_count - 1, completed_on = NULL,
    state = CASE state WHEN 'failed' THEN 'retry' ELSE state END
  WHERE name = '${QUEUE}' AND id = $1 AND (state < 'completed' OR state = 'failed' AND output ? 'worker')`

const OLD = `DELETE FROM ${SCHEMA}.job WHERE name = '${QUEUE}' AND state > 'active' AND completed_on < now() - interval '${KEPT} days'`

/** Who has its lock for this moment knows that no worker has, and none begins with it before this transaction is over. */
const LOST = `WITH busy AS MATERIALIZED (
    SELECT id, output FROM ${SCHEMA}.job WHERE name = '${QUEUE}' AND state = 'active' FOR UPDATE SKIP LOCKED
  ) SELECT id, output FROM busy WHERE pg_try_advisory_xact_lock(${KEY.replace('$1', 'id')})`

/** A state in a word of bands. */
const STATE = `CASE state WHEN 'active' THEN 'running' WHEN 'completed' THEN 'done' WHEN 'failed' THEN 'failed'
  WHEN 'cancelled' THEN 'cancelled' ELSE 'waiting' END`

/** Each as a Job. */
const JOBS = `SELECT id, ${STATE} AS state, data AS task, created_on AS put, started_on AS begun,
    CASE WHEN state > 'active' THEN completed_on END AS ended,
    CASE WHEN started_on IS NULL THEN 0 ELSE retry_count + 1 END AS tries,
    output->'worker' AS worker, output->>'error' AS error
  FROM ${SCHEMA}.job WHERE name = '${QUEUE}'`

const NOTHING: Queued = { jobs: { waiting: 0, running: 0, done: 0, failed: 0, cancelled: 0 }, oldest: 0 }

export const JOB_STATES = Object.keys(NOTHING.jobs) as JobState[]

/** Makes the tables, or brings them up to date. Throws what the database says, such as that one may not. */
async function prepared(database: Database, Boss: typeof PgBoss): Promise<void> {
  // It ends its transactions itself, and leaves those open that another has got in the way of: never on a shared connection.
  await database.session(async client => {
    try {
      const boss = new Boss({ ...SETTINGS, db: raw(client), migrate: true })
      await boss.start()
      await client.query('ROLLBACK')
      if ((await boss.getQueue(QUEUE)) === null) await boss.createQueue(QUEUE)
    } catch (error) {
      throw translated(database.location, error)
    }
  })
}

async function check({ location, query }: Database, boss: PgBoss): Promise<void> {
  const [table] = await query<{ there: boolean }>(`SELECT to_regclass('${SCHEMA}.version') IS NOT NULL AS there`)
  if (!table!.there)
    throw new NotFound(`there is no queue at ${location}; what is put into it makes one.`, [], {
      remedy: remedy('import', ['FILE'], { queue: true }),
    })
  const version = Number(await boss.schemaVersion())
  if (version === KNOWN) return
  const state = `${location} has a queue of ${version < KNOWN ? 'an earlier' : 'a newer'} bands (schema ${version}, this one knows ${KNOWN})`
  throw new StorageError(`${state}; ${version < KNOWN ? 'bands work brings it up to date' : 'update bands'}`)
}

function raw(client: PoolClient): PgBoss.Db {
  return { executeSql: (text, values) => client.query(text, values) }
}

/** What it asks by, in the words of bands where something goes wrong. */
function asked({ query }: Queries, onFault: (error: unknown) => void = () => {}): PgBoss.Db {
  return {
    async executeSql(text, values = []) {
      try {
        return { rows: await query(text, values) }
      } catch (error) {
        onFault(error)
        throw error
      }
    },
  }
}
