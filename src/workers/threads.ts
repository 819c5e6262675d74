import { Worker } from 'node:worker_threads'
import { Busy, StorageError } from '../errors.js'

/** What a thread is asked, and how it ends: one at a time. */
export type ToThread<Task> = { task: Task } | 'stop' | 'end'
export type FromThread<Result> = { result: Result } | { refusal: Refusal } | { fault: Error }

/** An error of ours, as it comes through to another thread. */
export interface Refusal {
  code: string
  message: string
}

/** A thread that works or waits for work. */
interface Thread<Result> {
  worker: Worker
  job: { resolve(result: Result): void; reject(error: unknown): void } | null
}

/**
 * Threads that run one program of ours, which answers a task at a time. Each is started when all before it are at work,
 * and one that dies is missed only by the task that it had.
 */
export class Threads<Task, Result> {
  readonly most: number
  readonly #program: string | undefined
  readonly #data: unknown
  readonly #threads = new Set<Thread<Result>>()

  /**
   * @param program the path of its file; undefined where it is missing
   * @param data what each thread is told when it starts
   * @param most how many may work at once
   */
  constructor(program: string | undefined, data: unknown, most: number) {
    this.#program = program
    this.#data = data
    this.most = most
  }

  /**
   * Has a task done; whoever gives more than `most` at once makes a thread for each.
   * @param signal asks the thread to give up the task. Throws StorageError, Busy, and Error for a fault of its own
   */
  run(task: Task, signal: AbortSignal): Promise<Result> {
    return new Promise((resolve, reject) => {
      const thread = [...this.#threads].find(({ job }) => job === null) ?? this.#start()
      const stop = (): void => send(thread, 'stop')
      signal.addEventListener('abort', stop, { once: true })
      const settled = (): void => {
        thread.job = null
        signal.removeEventListener('abort', stop)
      }
      thread.job = {
        resolve(result) {
          settled()
          resolve(result)
        },
        reject(error) {
          settled()
          reject(error)
        },
      }
      send(thread, { task })
      if (signal.aborted) stop()
    })
  }

  /** Ends all threads; what they had to do is given up. */
  async close(): Promise<void> {
    const ended = [...this.#threads].map(thread => {
      send(thread, 'end')
      return new Promise(resolve => thread.worker.once('exit', resolve))
    })
    await Promise.all(ended)
  }

  #start(): Thread<Result> {
    if (this.#program === undefined)
      throw new StorageError('the program of a thread is missing beside this one; build or install bands again')
    const worker = new Worker(this.#program, { workerData: this.#data })
    const thread: Thread<Result> = { worker, job: null }
    this.#threads.add(thread)
    worker.on('message', (answer: FromThread<Result>) => {
      if ('result' in answer) thread.job?.resolve(answer.result)
      else thread.job?.reject('refusal' in answer ? revived(answer.refusal) : faultOf(answer.fault))
    })
    const lost = (cause?: unknown): void => {
      this.#threads.delete(thread)
      thread.job?.reject(faultOf(cause))
    }
    worker.once('error', lost)
    worker.once('exit', code => lost(new Error(`it ended with ${code}`)))
    return thread
  }
}

function send<Task>({ worker }: { worker: Worker }, message: ToThread<Task>): void {
  worker.postMessage(message)
}

function faultOf(cause: unknown): Error {
  return new Error('a thread failed while it computed an answer', { cause })
}

/** What could be refused before was; what is refused only now is so because the data have changed meanwhile. */
function revived({ code, message }: Refusal): StorageError | Busy {
  return code === 'storage' ? new StorageError(message) : new Busy(message)
}
