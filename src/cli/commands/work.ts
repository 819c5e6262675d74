import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { BandsError, Busy, type ErrorCode, NotFound, remedy, sentence, wrong } from '../../errors.js'
import type { Importer } from '../../load/import.js'
import { type JobImporter, openForJob, openQueue } from '../../open/queue.js'
import { integerOf, oneOf } from '../../params/kinds.js'
import { open, given as optional, optionsOf } from '../../params/row.js'
import { type Column, column, describeList } from '../../present/description.js'
import { count } from '../../present/numbers.js'
import { Overtaken } from '../../store/postgres/job-place.js'
import { Cancelled, type HeldJob, JOB_STATES, type Job, type Queue } from '../../store/postgres/queue.js'
import type { Writer } from '../../store/store.js'
import { type Command, Given } from '../command.js'
import { HERE, readConfig } from '../config.js'
import { Context } from '../context.js'
import { oneRow } from '../output.js'
import { JOB_ID, jobRow, shortened, WRITES, wordsOf } from '../queued.js'
import type { Stream } from '../world.js'

/** Work that waits in the database, and who does it. */

/** How often one that has nothing to do looks for work, and every one for jobs whose worker is gone, in milliseconds. */
const LOOK = 1_000
const LOOK_AFTER = 5_000

/** The longest that a timer may take, in milliseconds: a job that is under way may go on. */
const LONGEST = 2 ** 31 - 1

const WORKER = {
  jobs: optional(integerOf(1, 16), 1, 'how many are done at once, each with threads of its own; 1 unless given'),
}

const run: Command = {
  options: [...optionsOf(WORKER), ['--until-empty', 'end when nothing waits any more, with 5 where a job has failed']],
  examples: ['bands work --db postgres://db/bands', 'bands work --until-empty --db postgres://db/bands'],
  notes: [
    "Does what was put into the queue with --queue (import, import-facts, rebuild, sweep), one job after the other, on any number of machines at once; a job's file must be there under the same path.",
    'Ctrl-C or SIGTERM: it ends after the job that is under way; a second one ends it at once, and that job is given back.',
  ],
  async run(context, given) {
    context.refuseRemote()
    const { jobs } = given.read(WORKER)
    const queue = context.closing(await openQueue(context.choice, { make: true, sessions: jobs }))
    const worker = new Worker(context, queue, given.flag('until-empty'))
    const forget = context.world.onStop(() => worker.stop(), LONGEST)
    await context.remark(`doing the work that waits at ${queue.location}`)
    await worker.work(jobs).finally(forget)
    const { done, failed, 'given back': given_back } = worker.counts
    const notes = [`${count(done, 'job')} done, ${failed} failed, ${given_back} given back`]
    await context.show(oneRow({ schema: 'bands.work/1', queue: queue.location, done, failed, given_back }, notes))
    if (failed > 0) context.outcome = 5
  },
}

class Worker {
  readonly counts = { done: 0, failed: 0, 'given back': 0, cancelled: 0 }
  readonly #context: Context
  readonly #queue: Queue
  readonly #untilEmpty: boolean
  readonly #stop = new AbortController()
  readonly #who = { pid: process.pid, host: hostname(), started: new Date().toISOString() }

  constructor(context: Context, queue: Queue, untilEmpty: boolean) {
    this.#context = context
    this.#queue = queue
    this.#untilEmpty = untilEmpty
  }

  stop(): void {
    this.#stop.abort()
  }

  /** @param jobs how many at once */
  async work(jobs: number): Promise<void> {
    const after = new AbortController()
    // What goes wrong for one ends all, and nothing is under way any more when it is told.
    const stopping = (error: unknown): never => {
      this.stop()
      throw error
    }
    const looking = Promise.allSettled([this.#lookAfter(after.signal).catch(stopping)])
    const doing = await Promise.allSettled(Array.from({ length: jobs }, () => this.#oneByOne().catch(stopping)))
    after.abort()
    for (const ended of [...doing, ...(await looking)]) if (ended.status === 'rejected') throw ended.reason
  }

  async #oneByOne(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const found = await this.#whileThere(() => this.#next())
      if (found === 'none') return
      if (found !== 'done') await this.#pause(LOOK, this.#stop.signal)
    }
  }

  /** Does the next job; `none`: there will be none. */
  async #next(): Promise<'done' | 'nothing' | 'none'> {
    const job = await this.#queue.take(this.#who)
    if (job === null) return this.#untilEmpty && (await this.#queue.counts()).waiting === 0 ? 'none' : 'nothing'
    const what = `${shortened(job.id)}  ${wordsOf(job.task)}`
    const began = performance.now()
    const ended = await perform(this.#context, job, this.#who).finally(() => job.close())
    await this.#told(ended, `${what}  ${((performance.now() - began) / 1000).toFixed(1)} s`)
    if (ended.isCutOff) await this.#giveBackCutOff(job.id)
    return 'done'
  }

  /** Waits for a database that is away, as whoever gives the job back would count that as a try of it. */
  async #giveBackCutOff(job: string): Promise<void> {
    while ((await this.#whileThere(() => this.#queue.giveBack(job))) === null && !this.#stop.signal.aborted)
      await this.#pause(LOOK, this.#stop.signal)
  }

  async #told({ how, error }: Ended, what: string): Promise<void> {
    this.counts[how]++
    await this.#context.remark(`${how}: ${what}${error === null ? '' : `: ${error}`}`)
  }

  /** Gives back what workers had that are gone. */
  async #lookAfter(ended: AbortSignal): Promise<void> {
    while (!ended.aborted) {
      const lost = await this.#whileThere(() => this.#queue.giveBack())
      if (lost !== null && lost > 0)
        await this.#context.remark(`${count(lost, 'job')} of workers that are gone given back`)
      await this.#pause(LOOK_AFTER, ended)
    }
  }

  /** null where the database is away, or too busy: that passes. */
  async #whileThere<T>(work: () => Promise<T>): Promise<T | null> {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof Busy)) throw error
      await this.#context.remark(`${error.message}; trying again`)
      return null
    }
  }

  #pause(milliseconds: number, signal: AbortSignal): Promise<void> {
    return sleep(milliseconds, undefined, { signal }).catch(() => {})
  }
}

const LIST = {
  state: open(oneOf(JOB_STATES, 'STATE'), 'waiting, running, done, failed or cancelled; all unless given'),
  limit: optional(integerOf(1, 100_000), 50, 'how many, the newest first; 50 unless given'),
}

const list: Command = {
  options: optionsOf(LIST),
  examples: ['bands work list --db postgres://db/bands', 'bands work list --state failed --db postgres://db/bands'],
  notes: ['What ended is kept for 30 days.'],
  async run(context, given) {
    const queue = await queueThere(context)
    const rows = (await queue.jobs(given.read(LIST))).map(jobRow)
    const counts = await queue.counts()
    const totals = Object.entries(counts).map(([state, jobs]) => `${jobs} ${state}`)
    const document = { schema: 'bands.work-list/1', queue: queue.location, counts, jobs: rows }
    await context.show(describeList(document, rows, SHOWN, { columns: COLUMNS, notes: [totals.join(', ')] }))
  },
}

type JobRow = ReturnType<typeof jobRow>

/** Of a row for machines, in their order. */
const COLUMNS = ['id', 'state', 'job', 'put', 'begun', 'ended', 'tries', 'host', 'pid', 'worker_started', 'error']

const SHOWN: readonly Column<JobRow>[] = [
  JOB_ID,
  column('state'),
  { title: 'since', kind: 'date', of: since },
  column('tries', 'count', { spare: 2 }),
  { title: 'worker', kind: 'text', spare: 1, of: ({ pid, host }) => (pid === null ? null : `${pid} on ${host}`) },
  { title: 'job', kind: 'text', wraps: true, of: ({ job, error }) => (error === null ? job : `${job}: ${error}`) },
]

/** When it came to be in its state. */
function since({ state, put, begun, ended }: JobRow): string {
  const at = ended ?? (state === 'running' ? begun : put) ?? put
  return at.slice(0, 19).replace('T', ' ')
}

/** Throws NotFound where there is none. */
async function queueThere(context: Context): Promise<Queue> {
  context.refuseRemote()
  return context.closing(await openQueue(context.choice))
}

const ID = ['<ID>', 'a job, or how its name begins (bands work list)'] as const

const retry: Command = {
  arguments: [ID],
  examples: ['bands work retry 5f0c21ab --db postgres://db/bands'],
  run: (context, given) => change(context, given.argument(0)!, 'waits again', (queue, job) => queue.retry(job)),
}

const cancel: Command = {
  arguments: [ID],
  examples: ['bands work cancel 5f0c21ab --db postgres://db/bands'],
  notes: [
    'One that is under way loses its connection, and writes nothing more; what it has written stays, and is whole by itself. bands work retry has it done after all.',
  ],
  run: (context, given) => change(context, given.argument(0)!, 'is cancelled', (queue, job) => queue.cancel(job)),
}

async function change(
  context: Context,
  name: string,
  verb: string,
  change: (queue: Queue, job: Job) => Promise<boolean>,
): Promise<void> {
  const queue = await queueThere(context)
  const found = await queue.job(name)
  if (!(await change(queue, found)))
    throw wrong('id', `job ${shortened(found.id)} is ${found.state}, and stays so.`, { value: name })
  const job = await queue.job(found.id)
  await context.show(oneRow({ schema: 'bands.work-job/1', ...jobRow(job) }, [`job ${shortened(job.id)} ${verb}`]))
}

const result: Command = {
  arguments: [ID],
  examples: ['bands work result 5f0c21ab --db postgres://db/bands'],
  outputs: ['json'],
  notes: ['The answer of the command as one JSON document, as --json would have printed it.'],
  async run(context, given) {
    const queue = await queueThere(context)
    const job = await queue.job(given.argument(0)!)
    const answer = await queue.answer(job)
    if (answer === null || answer === '') {
      const words = sentence`job ${shortened(job.id)} is ${job.state} and has no answer${job.error === null ? '' : `: ${job.error}`}.`
      throw new NotFound(words, [], { remedy: remedy('work list') })
    }
    await context.out.write(answer)
  },
}

/** What is done for a queue, and nothing else: whoever may put something there has no other command run here. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  import: async () => (await import('./import.js')).commands.import,
  'import-facts': async () => (await import('./import.js')).commands['import-facts'],
  rebuild: async () => (await import('./data.js')).commands.rebuild,
  sweep: async () => (await import('./sweep.js')).commands.sweep,
}

/** Nobody may write beside these. */
const ALONE = ['rebuild', 'settle']

/** How a job came to its end here. */
interface Ended {
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
async function perform(context: Context, job: HeldJob, writer: Writer): Promise<Ended> {
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
  const own = new JobContext(context, job, { writer, alone })
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
  override readonly isOfQueue = true
  readonly #text: string[]
  readonly #job: HeldJob
  readonly #how: { writer: Writer; alone: boolean }
  #writing: JobImporter | null = null

  /** @param context of the worker, whose database and settings count */
  constructor({ config, world, fields }: Context, job: HeldJob, how: { writer: Writer; alone: boolean }) {
    const text: string[] = []
    const { db, threads, fields_file } = config
    const { tier, asOf: as_of } = job.task.globals
    // As whom it is asked is said by who has put it there.
    const { BANDS_TIER: _tier, BANDS_AS_OF: _day, ...env } = world.env
    const own = readConfig({ tier, as_of, db, threads, fields_file, remote: HERE, quiet: true }, env)
    super({ ...world, out: into(text), err: into([]), onStop: () => () => {} }, own, 'json', [], fields)
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

export const commands = {
  'work run': run,
  'work list': list,
  'work retry': retry,
  'work cancel': cancel,
  'work result': result,
}
