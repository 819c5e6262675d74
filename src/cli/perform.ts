import { BandsError, Busy, type ErrorCode, wrong } from '../errors.js'
import type { Importer } from '../load/import.js'
import { type JobImporter, openForJob } from '../open/queue.js'
import { Overtaken } from '../store/postgres/job-place.js'
import { Cancelled, type HeldJob } from '../store/postgres/queue.js'
import type { Writer } from '../store/store.js'
import type { Command } from './command.js'
import { HERE, readConfig } from './config.js'
import { Context } from './context.js'
import { camelCased, Given } from './given.js'
import { WRITES } from './queued.js'
import type { Stream } from './world.js'

/** Does what waits in a queue, as if it had been typed. */

/** What is done for a queue, and nothing else: whoever may put something there has no other command run here. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  import: async () => (await import('./commands/import.js')).commands.import,
  'import-facts': async () => (await import('./commands/import.js')).commands['import-facts'],
  rebuild: async () => (await import('./commands/data.js')).commands.rebuild,
  sweep: async () => (await import('./commands/sweep.js')).command,
}

/** Nobody may write beside these. */
const ALONE = ['rebuild', 'settle']

/** How a job came to its end here. */
export interface Ended {
  how: 'done' | 'failed' | 'given back' | 'cancelled'
  /** Why it was not done. */
  error: string | null
  /** Its connection was lost, and the job with it, to a database that is away. */
  isCutOff?: boolean
}

/**
 * Does a job, and writes how it ended: what it has written last and that it is done are one transaction. A fault of what
 * it was given is the end of it; what passes, such as a database that is away, gives it back.
 */
export async function perform(context: Context, job: HeldJob, writer: Writer): Promise<Ended> {
  let alone = ALONE.includes(job.task.command)
  for (;;) {
    try {
      return await performed(context, job, { writer, alone })
    } catch (error) {
      if (error instanceof Cancelled) return { how: 'cancelled', error: error.message }
      if (!(error instanceof BandsError)) throw error
      // With its connection it has lost the job, which is given back by whoever finds it so.
      if (!(error instanceof Overtaken))
        return { how: 'given back', error: error.message, isCutOff: error instanceof Busy }
      alone = true
    }
  }
}

async function performed(
  context: Context,
  job: HeldJob,
  { writer, alone }: { writer: Writer; alone: boolean },
): Promise<Ended> {
  const own = await JobContext.begin(context, job, { writer, alone })
  try {
    let isDone = false
    const fault = await own
      .do()
      .then(() => {
        isDone = true
        return own.end(tx => job.complete(tx, own.answer))
      })
      .then(
        () => null,
        (error: unknown) => error ?? 'nothing',
      )
    if (fault === null) return { how: 'done', error: null }
    if (fault instanceof Overtaken || fault instanceof Cancelled) throw fault
    // The database keeps no text with a zero in it.
    const error = (fault instanceof Error ? fault.message : String(fault)).replaceAll('\0', '')
    if (fault instanceof BandsError && PASSING.includes(fault.code)) {
      // What waits for others is not at fault itself, however long they take.
      const again = fault.code === 'busy' ? 'uncounted' : 'counted'
      await job.transaction(tx => job.fail(tx, { error, again }))
      return { how: 'given back', error }
    }
    // Where the last of it could not be written, only that is told.
    if (isDone) await job.transaction(tx => job.fail(tx, { error, again: 'never' }))
    else await own.end(tx => job.fail(tx, { error, answer: own.answer, again: 'never' }))
    return { how: 'failed', error }
  } finally {
    await own.close()
  }
}

const PASSING: readonly ErrorCode[] = ['busy', 'storage', 'data_unavailable', 'upstream']

/** What a command is lent that is done for the queue: its answer is kept, and it writes as a job. */
class JobContext extends Context {
  readonly #text: string[]
  readonly #job: HeldJob
  readonly #how: { writer: Writer; alone: boolean }
  #writing: JobImporter | null = null

  /** @param context of the worker, whose database and settings count */
  static async begin(context: Context, job: HeldJob, how: { writer: Writer; alone: boolean }): Promise<JobContext> {
    const { db, threads, fields_file } = context.config
    const globals = { ...job.task.globals, db, threads, fields_file }
    const typed = Object.entries(globals).filter(([, value]) => value !== undefined)
    const words = Object.fromEntries(
      typed.map(([name, value]) => [camelCased(name.replaceAll('_', '-')), String(value)]),
    )
    // As whom it is asked is said by who has put it there.
    const { BANDS_TIER: _tier, BANDS_AS_OF: _day, ...env } = context.world.env
    const config = readConfig(new Given([], { ...words, remote: HERE, quiet: true }), env)
    return new JobContext(context, config, job, how)
  }

  constructor(context: Context, config: Context['config'], job: HeldJob, how: { writer: Writer; alone: boolean }) {
    const text: string[] = []
    const { world } = context
    super({ ...world, out: into(text), err: into([]), onStop: () => () => {} }, config, 'json', [], context.fields)
    this.#job = job
    this.#how = how
    this.#text = text
  }

  get answer(): string {
    return this.#text.join('')
  }

  /** What it was told to do. Throws whatever is wrong with that. */
  async do(): Promise<void> {
    const { command: name, args, options } = this.#job.task
    if (name === 'settle') {
      for await (const report of (await this.importer()).import([])) throw new Error(`${report.file} was not given`)
      return
    }
    const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
    const given = new Given(args, options)
    if (load === undefined || WRITES.some(option => given.text(option) !== undefined))
      throw wrong('command', `${name} is not done for a queue by this bands, or not with these options.`, {
        allowed: Object.keys(COMMANDS),
      })
    await (await load()).run(this, given)
  }

  override get isOfQueue(): boolean {
    return true
  }

  override async importer(): Promise<Importer> {
    this.#writing ??= await openForJob(this.choice, this.#job, this.#how.writer, {
      alone: this.#how.alone,
      threads: this.config.threads,
    })
    return this.#writing.importer
  }

  /** The last that is written, and how the job ended. */
  end(also: Parameters<JobImporter['end']>[0]): Promise<void> {
    return this.#writing === null ? this.#job.transaction(also) : this.#writing.end(also)
  }

  override async close(): Promise<void> {
    await this.#writing?.importer.close().catch(() => {})
    await super.close()
  }
}

function into(text: string[]): Stream {
  return {
    terminal: false,
    columns: () => null,
    write: async chunk => {
      text.push(String(chunk))
    },
  }
}
