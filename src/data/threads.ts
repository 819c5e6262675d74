// For: do long work in several threads.
// In: tasks, and data that are shared once.
// Out: results in the order of the tasks.

import { availableParallelism } from 'node:os'
import { type Transferable, Worker } from 'node:worker_threads'
import { builtPath } from '../core/built.js'
import {
  BadData,
  BandsError,
  Busy,
  ConfigError,
  type ErrorCode,
  InvalidParameter,
  NotFound,
  parameter,
  StorageError,
  sentence,
  TierRestricted,
} from '../core/errors.js'
import type { TaskPool, Workers } from '../core/source.js'
import { Damaged } from './store/store.js'

/** The job of a thread; app/workers/thread.ts has the program of each. */
export type Job = 'scan' | 'export' | 'sweep' | 'study' | 'last-of-study' | 'grid' | 'draws' | 'derive' | 'ask'

/** The first message to a thread. */
export interface Start {
  job: Job
  data: unknown
}

/** Messages to a thread: a numbered task, done in order, or the end of one. */
export type ToThread = { id: number; task: unknown } | { stop: number }
/** How a task ends. */
export type FromThread = { id: number } & ({ result: unknown } | { refusal: SerializedError } | { fault: unknown })

/** The result of a task, and its buffers that leave the thread without being copied. */
export interface Done<Result> {
  result: Result
  transfer?: Transferable[]
}

/** Does the tasks of a job in a thread. */
export interface Handler {
  /** @param signal gives the task up */
  answer(task: unknown, signal: AbortSignal): Done<unknown> | Promise<Done<unknown>>
}

/** An error on its way to another thread, with its class as a number. */
export interface SerializedError {
  kind: number
  code: ErrorCode
  properties: object
  payload: object
}

/** Error classes by their number in SerializedError; subclasses come before their base class. */
const ERROR_KINDS = [
  BadData,
  Busy,
  ConfigError,
  InvalidParameter,
  NotFound,
  Damaged,
  StorageError,
  TierRestricted,
  BandsError,
]

/** An error as data that survive the way to another thread. */
export function serializeError(error: BandsError): SerializedError {
  const { code, message, stack } = error
  const kind = ERROR_KINDS.findIndex(known => error instanceof known)
  return { kind, code, properties: { ...error, message, stack }, payload: error.payload() }
}

/** The error that `serializeError` was given, with its class, message and stack. */
export function deserializeError({ kind, code, properties, payload }: SerializedError): BandsError {
  const error = Object.assign(new BandsError(code, '', {}, payload), properties)
  return Object.setPrototypeOf(error, ERROR_KINDS[kind]!.prototype)
}

/** The path of the program of every thread; undefined if it is missing, as in a user's bundle. */
const programOfJobs = (): string | undefined => builtPath('workers/thread.js')

export function canStartThreads(): boolean {
  return programOfJobs() !== undefined
}

interface Thread {
  worker: Worker
  tasks: Map<number, { resolve(result: unknown): void; reject(error: unknown): void }>
}

/** Threads for one job, started on demand. If one dies, only its own tasks fail. */
export class Threads<Task, Result> {
  readonly #start: Start
  readonly #size: number
  readonly #program: string | undefined
  readonly #threads = new Set<Thread>()
  #taskCount = 0
  #isClosed = false

  /** @param data the first message to each thread @param size the largest number of threads */
  constructor(job: Job, data: unknown, size: number, program = programOfJobs()) {
    this.#start = { job, data }
    this.#size = size
    this.#program = program
  }

  /** Starts every thread now, and not on demand. */
  start(): void {
    while (this.#threads.size < this.#size) this.#startThread()
  }

  /** Gives a task to the least busy thread. Throws the task's error, with its class and message. */
  run(task: Task, signal?: AbortSignal): Promise<Result> {
    const thread = this.#leastBusyThread()
    const id = this.#taskCount++
    const stop = (): void => thread.worker.postMessage({ stop: id } satisfies ToThread)
    const done = new Promise<Result>((resolve, reject) => {
      thread.tasks.set(id, { resolve: result => resolve(result as Result), reject })
    })
    thread.worker.postMessage({ id, task } satisfies ToThread)
    if (signal?.aborted) stop()
    signal?.addEventListener('abort', stop, { once: true })
    return done.finally(() => signal?.removeEventListener('abort', stop))
  }

  /** Ends all threads. Tasks that are not done reject with Busy. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#threads].map(({ worker }) => worker.terminate()))
  }

  /** The thread with the fewest tasks; a new one if all are busy and another is allowed. */
  #leastBusyThread(): Thread {
    const [least] = [...this.#threads].sort((a, b) => a.tasks.size - b.tasks.size)
    if (least !== undefined && (least.tasks.size === 0 || this.#threads.size === this.#size)) return least
    return this.#startThread()
  }

  /** Starts a thread, whose messages then settle its tasks. Throws StorageError if the program is missing. */
  #startThread(): Thread {
    if (this.#program === undefined)
      throw new StorageError('the program of a thread is missing next to this one; build or install bands again')
    const worker = new Worker(this.#program, { workerData: this.#start })
    const thread: Thread = { worker, tasks: new Map() }
    this.#threads.add(thread)
    worker.on('message', (answer: FromThread) => {
      const task = thread.tasks.get(answer.id)!
      thread.tasks.delete(answer.id)
      if ('result' in answer) task.resolve(answer.result)
      else task.reject('refusal' in answer ? deserializeError(answer.refusal) : answer.fault)
    })
    const abandonTasks = (cause: unknown): void => {
      this.#threads.delete(thread)
      const error = this.#isClosed ? new Busy('it was stopped') : threadLossError(cause)
      for (const task of thread.tasks.values()) task.reject(error)
      thread.tasks.clear()
    }
    worker.once('error', abandonTasks)
    worker.once('exit', code => abandonTasks(new Error(`it ended with ${code}`)))
    return thread
  }
}

/** Tasks that two threads take from both ends, with the data of all. */
export interface SharedTasks<Data, Task> {
  data: Data
  tasks: readonly Task[]
  /** In shared memory: 1 for each task that a thread has taken. */
  taken: Uint8Array
}

/** One more thread, which does the last tasks of a list while this thread does the first ones. */
export class SecondThread<Data, Task, Result> {
  readonly #thread: Threads<SharedTasks<Data, Task>, Result[]>

  /** Starts at once, so that the thread is ready when the data are. */
  constructor(job: Job) {
    this.#thread = new Threads(job, null, 1)
    this.#thread.start()
  }

  /**
   * Runs the tasks in both threads, and returns the results in the order of the tasks.
   * @param here does a task in this thread
   * @param reserved the number of first tasks that only this thread may take
   */
  async results(data: Data, tasks: readonly Task[], here: (task: Task) => Result, reserved: number): Promise<Result[]> {
    const taken = new Uint8Array(new SharedArrayBuffer(tasks.length)).fill(1, 0, reserved)
    const lastResults = this.#thread.run({ data: shareColumns(data), tasks, taken })
    // A failure is reported after the last task of this thread.
    lastResults.catch(() => {})
    const results: Result[] = []
    for (let i = 0; i < tasks.length && (i < reserved || takeTask(taken, i)); i++) results.push(here(tasks[i]!))
    return [...results, ...(await lastResults)]
  }

  close(): Promise<void> {
    return this.#thread.close()
  }
}

/** Does the tasks from the last one to the one that the other thread has taken. Returns results in the tasks' order. */
export function resultsFromEnd<Task, Result>(
  { tasks, taken }: Pick<SharedTasks<unknown, Task>, 'tasks' | 'taken'>,
  run: (task: Task) => Result,
): Result[] {
  const results: Result[] = []
  for (let i = tasks.length - 1; i >= 0 && takeTask(taken, i); i--) results.unshift(run(tasks[i]!))
  return results
}

/** Whether the calling thread is the first one to take a task. */
function takeTask(taken: Uint8Array, i: number): boolean {
  return Atomics.exchange(taken, i, 1) === 0
}

/** The error of the tasks that a thread has not done when it ends. */
function threadLossError(cause: unknown): Error {
  if ((cause as NodeJS.ErrnoException).code !== 'ERR_WORKER_OUT_OF_MEMORY')
    return new Error('a thread ended before its work was done', { cause })
  const words = sentence`a thread ran out of memory; ${parameter('threads', '1')} does the work in the main thread only`
  return new StorageError(words, { cause })
}

/** Work in parts that can be done in any order, here, in threads or elsewhere: each hangs on nothing but its data. */
export interface Work<Task, Result> {
  job: Job
  /** The first message to each worker: the path of the data, or the data. */
  data: () => unknown
  tasks: readonly Task[]
  /** Milliseconds that all of them take, about. */
  ms: number
  /** Does the same task in this thread. */
  here(task: Task): Result | Promise<Result>
  /** The task as a message to another machine, with the data that only it needs (default: the task). */
  withOwnData?(task: Task): Promise<unknown>
  /** The most messages to other machines whose results wait, where these are large. */
  maxMessages?: number
  /** A program other than that of the jobs. */
  program?: string | undefined
}

/** Milliseconds of work below which the start of threads would take longer than they save. */
const MIN_MS_FOR_THREADS = 50

/** The tasks of a worker that wait, or whose results wait. */
const TASKS_AHEAD_PER_WORKER = 2

/** About the milliseconds of one message to another machine, whose way there and back takes some ten. */
const MESSAGE_MS = 1000

/** Each core of other machines gets at least this number of messages, so that none waits long for the last. */
const MIN_MESSAGES_PER_CORE = 4

/**
 * Runs the tasks of some work, and yields the results in their order. A few tasks are done ahead. Threads end with the
 * last task, an error, or the reader's end.
 * @param workers `threads`: how many may work; 1: only this thread, which also does small jobs. A cluster does all jobs
 */
export async function* runInOrder<Task, Result>(
  work: Work<Task, Result>,
  { threads = availableParallelism(), cluster }: Workers,
): AsyncGenerator<Result> {
  const { job, data, tasks, ms, here, program = programOfJobs() } = work
  if (cluster !== undefined && tasks.length > 0) {
    yield* runOnCluster(work, await cluster.open({ job, data: data() }))
    return
  }
  const size = Math.min(threads, tasks.length)
  if (size < 2 || ms < MIN_MS_FOR_THREADS || program === undefined) {
    for (const task of tasks) yield await here(task)
    return
  }
  const pool = new Threads<Task, Result>(job, shareColumns(data()), size, program)
  try {
    yield* yieldInOrder(tasks, TASKS_AHEAD_PER_WORKER * size, task => pool.run(task))
  } finally {
    await pool.close()
  }
}

/** Runs the tasks on a cluster, and yields the results in their order. Short tasks share one message and its answer. */
async function* runOnCluster<Task, Result>(
  { tasks, ms, withOwnData = async (task: Task): Promise<unknown> => task, maxMessages }: Work<Task, Result>,
  pool: TaskPool,
): AsyncGenerator<Result> {
  const maxTasksPerMessage = Math.ceil(tasks.length / (MIN_MESSAGES_PER_CORE * pool.size))
  const tasksPerMessage = Math.max(1, Math.min(maxTasksPerMessage, Math.floor((MESSAGE_MS * tasks.length) / ms)))
  const messages = Array.from({ length: Math.ceil(tasks.length / tasksPerMessage) }, (_, i) =>
    tasks.slice(i * tasksPerMessage, (i + 1) * tasksPerMessage),
  )
  try {
    const sendMessage = async (tasksOfMessage: readonly Task[]): Promise<Result[]> =>
      (await pool.run(await Promise.all(tasksOfMessage.map(withOwnData)))) as Result[]
    const maxBegun = maxMessages ?? TASKS_AHEAD_PER_WORKER * pool.size
    for await (const results of yieldInOrder(messages, maxBegun, sendMessage)) yield* results
  } finally {
    await pool.close()
  }
}

/** Runs tasks, and yields the results in their order. @param maxBegun the most tasks that are begun before a result */
async function* yieldInOrder<Task, Result>(
  tasks: Iterable<Task>,
  maxBegun: number,
  run: (task: Task) => Promise<Result>,
): AsyncGenerator<Result> {
  const begun: Promise<Result>[] = []
  for (const task of tasks) {
    if (begun.length === maxBegun) yield await begun.shift()!
    const result = run(task)
    // The failure is reported when its turn comes.
    result.catch(() => {})
    begun.push(result)
  }
  for (const result of begun) yield await result
}

export type Column = Float64Array | Int32Array | Uint16Array | Uint8Array
type ColumnKind<Kind> = new (memory: ArrayBufferLike, from: number, length: number) => Kind
const COLUMNS: readonly ColumnKind<Column>[] = [Float64Array, Int32Array, Uint16Array, Uint8Array]

/** Columns begin at a multiple of this number of bytes, which suits every number type. */
const ALIGNMENT_BYTES = 8

/** The size of the memory blocks that small columns share, in bytes. */
const BLOCK_BYTES = 2 ** 20

/** Memory for columns, shared by threads by default, so that a stored market need not be copied for them. */
export class ColumnMemory {
  #block: ArrayBuffer | SharedArrayBuffer
  #used = 0

  constructor(block: ArrayBuffer | SharedArrayBuffer = new SharedArrayBuffer(0)) {
    this.#block = block
  }

  /** Copies a column into this memory and returns the copy. */
  put<Kind extends Column>(column: Kind): Kind {
    const from = this.#reserve(column.byteLength)
    const Copy = COLUMNS.find(kind => column instanceof kind) as ColumnKind<Kind>
    const copy = new Copy(this.#block, from, column.length)
    copy.set(column)
    return copy
  }

  /** Reserves bytes in the current block, or in a new one, and returns their offset. */
  #reserve(bytes: number): number {
    if (this.#used + bytes > this.#block.byteLength) {
      this.#block = new SharedArrayBuffer(Math.max(bytes, BLOCK_BYTES))
      this.#used = 0
    }
    const from = this.#used
    this.#used += aligned(bytes)
    return from
  }
}

/**
 * Copies data for threads, with all columns in one shared block, so that one copy serves every thread. Columns already
 * in shared memory are not copied. The data may hold columns, lists, maps and plain objects.
 */
export function shareColumns<Data>(data: Data): Data {
  const bytes = unsharedColumnBytes(data, new Set())
  if (bytes === 0) return data
  const room = new ColumnMemory(new SharedArrayBuffer(bytes))
  return deepCopy(data, column => room.put(column), new Map()) as Data
}

const aligned = (bytes: number): number => Math.ceil(bytes / ALIGNMENT_BYTES) * ALIGNMENT_BYTES

/** Bytes of all columns in a value that are not in shared memory, each counted once. @param visited objects so far */
function unsharedColumnBytes(value: unknown, visited: Set<object>): number {
  if (typeof value !== 'object' || value === null || visited.has(value)) return 0
  visited.add(value)
  if (isColumn(value)) return isShared(value) ? 0 : aligned(value.byteLength)
  const parts = value instanceof Map ? [...value.keys(), ...value.values()] : Object.values(value)
  return parts.reduce((sum: number, part: unknown) => sum + unsharedColumnBytes(part, visited), 0)
}

/**
 * A copy of a value, with columns outside of shared memory copied by `copyColumn`. An object used twice is copied once.
 * @param copies the copy of each object so far
 */
function deepCopy(value: unknown, copyColumn: (column: Column) => Column, copies: Map<object, unknown>): unknown {
  if (typeof value !== 'object' || value === null) return value
  const earlierCopy = copies.get(value)
  if (earlierCopy !== undefined) return earlierCopy
  const remember = <Copy>(copy: Copy): Copy => {
    copies.set(value, copy)
    return copy
  }
  const copyPart = (part: unknown): unknown => deepCopy(part, copyColumn, copies)
  if (isColumn(value)) return isShared(value) ? value : remember(copyColumn(value))
  if (value instanceof Map) {
    const copy = remember(new Map())
    for (const [key, part] of value) copy.set(copyPart(key), copyPart(part))
    return copy
  }
  if (Array.isArray(value)) {
    const copy: unknown[] = remember([])
    for (const part of value) copy.push(copyPart(part))
    return copy
  }
  const copy: Record<string, unknown> = remember({})
  for (const [name, part] of Object.entries(value)) copy[name] = copyPart(part)
  return copy
}

function isShared({ buffer }: Column): boolean {
  return buffer instanceof SharedArrayBuffer
}

function isColumn(value: object): value is Column {
  return COLUMNS.some(kind => value instanceof kind)
}
