import { type ChildProcess, spawn } from 'node:child_process'
import { builtPath, version } from '../../core/built.js'
import { ConfigError, StorageError, Unavailable } from '../../core/errors.js'
import type { Cluster, TaskPool } from '../../core/source.js'
import { deserializeError, type SerializedError } from '../../data/threads.js'
import { deserializeMessage, hostPath, lengthBytes, programIdentity, readFrames, serializeMessage } from './frames.js'

const TESTED_RAY = '2.58.0'
const INSTALL = `python3 -m pip install 'ray[client]==${TESTED_RAY}'`

/** How often Ray begins a task again whose worker died. The limit ends a task that kills every worker. */
const MAX_RETRIES = 10

/**
 * The length of the head of a message (a frame) in bytes. Byte 0 is the kind, a letter. Bytes 1-4 are the number of the
 * job, 5-8 that of the task, 9-16 the number of bytes that follow. All numbers are little-endian.
 */
const HEAD_BYTES = 17

/** Kinds of frames to the gateway. */
const START = 'S'
const JOB_DATA = 'D'
const TASK = 'T'
const END_OF_JOB = 'E'
/** Kinds of frames from the gateway; any other has the answer of a task. */
const STARTED = 'C'
const LOST = 'X'
const TASK_FAILED = 'F'

interface PendingTask {
  resolve(results: unknown[]): void
  reject(error: Error): void
}

/** The gateway, and the number of processors of its cluster. */
interface Connection {
  child: ChildProcess
  cpus: number
}

export interface ClusterOptions {
  /** Cores of a cluster that starts here (default: all). */
  threads?: number | undefined
  env?: NodeJS.ProcessEnv | undefined
  notice?: ((sentence: string) => void) | undefined
}

/**
 * Runs tasks on a Ray cluster, through the gateway: a child process in Python, started with the first job. If the
 * connection to it or to Ray is lost, every pending task fails.
 */
export class RayCluster implements Cluster {
  readonly #address: string
  readonly #options: ClusterOptions
  readonly #pendingTasks = new Map<number, PendingTask>()
  #connection: Promise<Connection> | null = null
  /** Why the connection ended; null while it holds. */
  #loss: Error | null = null
  #jobs = 0
  #tasks = 0

  constructor(address: string, options: ClusterOptions = {}) {
    this.#address = address
    this.#options = options
  }

  /** Opens a job: sends its data, and returns the pool that runs its tasks. */
  async open(start: { job: string; data: unknown }): Promise<TaskPool> {
    this.#connection ??= this.#connect()
    const { child, cpus } = await this.#connection
    const job = this.#jobs++
    const tasksOfJob = new Set<number>()
    this.#send(child, JOB_DATA, serializeMessage(start), job)
    return {
      size: Math.max(1, cpus),
      run: tasks => {
        const task = this.#tasks++
        tasksOfJob.add(task)
        const results = new Promise<unknown[]>((resolve, reject) => this.#pendingTasks.set(task, { resolve, reject }))
        if (this.#loss !== null) this.#rejectAll(this.#loss)
        else this.#send(child, TASK, serializeMessage(tasks), job, task)
        return results
      },
      close: async () => {
        for (const task of tasksOfJob) this.#pendingTasks.delete(task)
        this.#send(child, END_OF_JOB, NO_BYTES, job)
      },
    }
  }

  /** Closes the gateway's input, which makes it cancel its tasks and exit. */
  async close(): Promise<void> {
    const connection = await this.#connection?.catch(() => null)
    if (connection == null) return
    const { child } = connection
    child.stdin!.end()
    child.stdout!.destroy()
    child.unref()
  }

  /** Writes a frame to the gateway: its head, as HEAD_BYTES describes it, and its bytes. */
  #send(child: ChildProcess, kind: string, bytes: Uint8Array, job = 0, task = 0): void {
    const kindAndNumbers = Buffer.alloc(9)
    kindAndNumbers.write(kind, 'latin1')
    kindAndNumbers.writeUInt32LE(job, 1)
    kindAndNumbers.writeUInt32LE(task, 5)
    child.stdin!.write(Buffer.concat([kindAndNumbers, lengthBytes(bytes)]))
    child.stdin!.write(bytes)
  }

  /** Starts the gateway, and waits until it has reached Ray. Throws ConfigError without Python or Ray, Unavailable. */
  async #connect(): Promise<Connection> {
    const gateway = builtPath('workers/gateway.py')
    const host = hostPath()
    if (gateway === undefined || host === undefined)
      throw new StorageError('the program of a cluster is missing next to this one; build or install bands again')
    // The gateway has a session of its own, so that Ctrl-C at the terminal does not end it; it ends with its input.
    const { env = process.env } = this.#options
    const child = spawn('python3', ['-u', gateway], { stdio: ['pipe', 'pipe', 'pipe'], detached: true, env })
    const cluster = { address: this.#address, cpus: this.#options.threads ?? null, retries: MAX_RETRIES }
    const worker = { host, node: process.execPath, version: version(), identity: programIdentity(host) }
    let errorOutput = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errorOutput = (errorOutput + text).slice(-2000)
    })
    // The end of its output shows that the gateway has ended; errors of its input add nothing.
    child.stdin.on('error', () => {})
    this.#send(child, START, Buffer.from(JSON.stringify({ ...cluster, ...worker })))
    const cpus = await new Promise<number>((resolve, reject) => {
      child.once('error', cause => reject(notInstalled('Python', cause)))
      const onLost = (error: Error): void => {
        reject(error)
        this.#rejectAll(error)
      }
      const onEnd = (): void => {
        const lastLine = errorOutput.trim().split('\n').at(-1)
        onLost(new Unavailable(`the connection to Ray ended: ${lastLine || 'without a reason'}`))
      }
      this.#readFrames(child, resolve, onLost).then(onEnd, onLost)
    })
    return { child, cpus }
  }

  /**
   * Reads frames from the gateway until its output ends.
   * @param onStarted called once the gateway has reached Ray, with the number of processors of the cluster
   * @param onLost called when the gateway reports that it cannot reach Ray, or no longer
   */
  async #readFrames(
    child: ChildProcess,
    onStarted: (cpus: number) => void,
    onLost: (error: Error) => void,
  ): Promise<void> {
    for await (const { head, bytes } of readFrames(child.stdout!, HEAD_BYTES)) {
      const kind = head.toString('latin1', 0, 1)
      const task = head.readUInt32LE(5) // HEAD_BYTES describes the head
      if (kind === STARTED) {
        const { ray, cpus } = JSON.parse(bytes.toString()) as { ray: string; cpus: number }
        if (ray !== TESTED_RAY)
          this.#options.notice?.(`Ray is ${ray}, and bands was tried with ${TESTED_RAY}; other versions may not work`)
        onStarted(cpus)
      } else if (kind === LOST) onLost(errorOfLoss(JSON.parse(bytes.toString()) as Loss, this.#address))
      else this.#settleTask(task, kind, bytes)
    }
  }

  /**
   * Resolves or rejects a pending task with its answer; ignores a task of a closed job. A `refusal` is an error of
   * bands, a `fault` any other error of the worker.
   */
  #settleTask(task: number, kind: string, bytes: Buffer): void {
    const pending = this.#pendingTasks.get(task)
    this.#pendingTasks.delete(task)
    if (kind === TASK_FAILED) {
      pending?.reject(new Unavailable(`a task failed on Ray: ${bytes.toString()}`))
      return
    }
    const answer = deserializeMessage(bytes) as { results: unknown[] } | { refusal: SerializedError } | { fault: Error }
    if ('results' in answer) pending?.resolve(answer.results)
    else pending?.reject('refusal' in answer ? deserializeError(answer.refusal) : answer.fault)
  }

  /** Rejects all pending tasks with the same error, and every later one. */
  #rejectAll(error: Error): void {
    this.#loss = error
    for (const { reject } of this.#pendingTasks.values()) reject(error)
    this.#pendingTasks.clear()
  }
}

const NO_BYTES = new Uint8Array()

/** Why the program in Python gave up. */
interface Loss {
  why: 'no ray' | 'no cluster' | 'lost'
  text: string
}

function errorOfLoss({ why, text }: Loss, address: string): Error {
  if (why === 'no ray') return notInstalled('Ray', text)
  if (why === 'no cluster') return new Unavailable(`${address} does not answer: ${text}`)
  return new Unavailable(`the connection to Ray was lost: ${text}`)
}

function notInstalled(what: string, cause: unknown): ConfigError {
  const words = `a cluster needs ${what === 'Ray' ? 'Ray for python3' : 'python3 with Ray'}, which is not installed; this line installs it:\n  ${INSTALL}`
  return new ConfigError(words, { cause })
}
