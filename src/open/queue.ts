import { InvalidParameter } from '../errors.js'
import type { Importer } from '../load/import.js'
import { DEFINITIONS_VERSION } from '../model/definitions.js'
import { addressOf } from '../store/postgres/address.js'
import type { Queries } from '../store/postgres/connection.js'
import type { HeldJob, Queue, Task } from '../store/postgres/queue.js'
import type { Store, Writer } from '../store/store.js'
import { addressed, type DatabaseChoice, postgresUrl } from './where.js'

/** Work that waits in the database, and what does it there. */

/** Opens the queue of a database. Throws InvalidParameter for a file, NotFound where there is none and none is made. */
export async function openQueue(
  choice: DatabaseChoice,
  options: { make?: boolean; sessions?: number } = {},
): Promise<Queue> {
  const url = urlOf(choice)
  const { Queue } = await import('../store/postgres/queue.js')
  const [, { param = 'db', env }] = addressed(choice, true)
  return Queue.open(addressOf(param, url, env), options)
}

function urlOf(choice: DatabaseChoice): string {
  const url = postgresUrl(choice)
  if (url !== null) return url
  throw new InvalidParameter('work is spread by a database in PostgreSQL, and this one is a file.', {
    param: 'db',
    allowed: 'a URL such as postgres://user@host:5432/database',
  })
}

/** What is left to do for all of them where jobs have written beside each other, or one was cut off. */
const SETTLE: Task = { command: 'settle', args: [], options: {}, globals: {} }

/** The write side of a job. */
export interface JobImporter {
  importer: Importer
  /** Writes the last of it, and with it how the job ended, in one transaction. */
  end(also: (tx: Queries) => Promise<void>): Promise<void>
}

/**
 * Opens the database for what a job writes. Jobs write beside each other, and leave what stands on facts of several tickers
 * to one that comes after them; unless the job is to be alone, or all that is there has to be derived anew first.
 */
export async function openForJob(
  choice: DatabaseChoice,
  job: HeldJob,
  writer: Writer,
  { alone, threads }: { alone: boolean; threads: number | undefined },
): Promise<JobImporter> {
  const [
    { openPostgres },
    { heldBack, JobPlace, unsettledOf },
    { isCutOff },
    { Behind, behindTogether },
    { Importer },
    { readFile },
  ] = await Promise.all([
    import('../store/postgres/data.js'),
    import('../store/postgres/job-place.js'),
    import('../store/postgres/shards.js'),
    import('../local/cache.js'),
    import('../load/import.js'),
    import('../feeds/read.js'),
  ])
  const place = new JobPlace(job, alone ? null : behindTogether)
  const [, { param, env }] = addressed(choice, false)
  const store = await openPostgres(urlOf(choice), { readonly: false, param, env, place })
  try {
    if (!(await isCurrent(store))) place.beAlone()
    const held = heldBack(store, place)
    const settles = place.isAlone
    const importer = await Importer.begin(held.store, readFile, writer, { wait: true, threads, settles })
    const end: JobImporter['end'] = also =>
      held.end(async tx => {
        const isLeft = async () => !new Behind(await unsettledOf(tx)).none || (await isCutOff(tx))
        if (!settles && (await isLeft())) await job.putOnce(tx, SETTLE)
        await also(tx)
      })
    return { importer, end }
  } catch (error) {
    await store.close()
    throw error
  }
}

async function isCurrent(store: Store): Promise<boolean> {
  return ['', DEFINITIONS_VERSION].includes(await store.definitions())
}
