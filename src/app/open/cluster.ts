import { type ChildProcess, spawn } from 'node:child_process'
import { builtPath, version } from '../../core/built.js'
import { ConfigError, StorageError, Unavailable } from '../../core/errors.js'
import type { Cluster, TaskPool } from '../../core/source.js'
import { deserializeError, type SerializedError } from '../../data/threads.js'
import { deserializeMessage, hostPath, lengthBytes, programIdentity, readFrames, serializeMessage } from './frames.js'

/** The version that the tests use. */
export const TESTED_RAY = '2.58.0'
const INSTALL = `python3 -m pip install 'ray[client]==${TESTED_RAY}'`

/** How often Ray begins a task again whose worker died: a task that kills each of them ends, too. */
const MAX_RETRIES = 10

/** The head of a frame: its kind, the job, the task, its length. */
const HEAD_BYTES = 17

interface PendingTask {
  resolve(results: unknown[]): void
  reject(error: Error): void
}

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
 * Tasks on a Ray cluster, by way of a program in Python that speaks with Ray. It begins with the first job. If the connection
 * is lost, every task that waits fails: nothing hangs.
 */
export class RayCluster implements Cluster {
  readonly #address: string
  readonly #options: ClusterOptions
  readonly #pendingTasks = new Map<number, PendingTask>()
  #connection: Promise<Connection> | null = null
  #jobs = 0
  #tasks = 0

  constructor(address: string, options: ClusterOptions = {}) {
    this.#address = address
    this.#options = options
  }

  async open(start: { job: string; data: unknown }): Promise<TaskPool> {
    this.#connection ??= this.#connect()
    const { child, cpus } = await this.#connection
    const job = this.#jobs++
    const own = new Set<number>()
    this.#send(child, 'D', serializeMessage(start), job)
    return {
      size: Math.max(1, cpus),
      run: tasks => {
        const task = this.#tasks++
        own.add(task)
        const done = new Promise<unknown[]>((resolve, reject) => this.#pendingTasks.set(task, { resolve, reject }))
        if (child.exitCode !== null) this.#rejectAll(CONNECTION_ENDED)
        else this.#send(child, 'T', serializeMessage(tasks), job, task)
        return done
      },
      close: async () => {
        for (const task of own) this.#pendingTasks.delete(task)
        this.#send(child, 'E', NO_BYTES, job)
      },
    }
  }

  /** The end of its input ends the program, which cancels what runs. */
  async close(): Promise<void> {
    const connected = await this.#connection?.catch(() => null)
    if (connected == null) return
    const { child } = connected
    child.stdin!.end()
    child.stdout!.destroy()
    child.unref()
  }

  #send(child: ChildProcess, kind: string, bytes: Uint8Array, job = 0, task = 0): void {
    const head = Buffer.alloc(9)
    head.write(kind, 'latin1')
    head.writeUInt32LE(job, 1)
    head.writeUInt32LE(task, 5)
    child.stdin!.write(Buffer.concat([head, lengthBytes(bytes)]))
    child.stdin!.write(bytes)
  }

  async #connect(): Promise<Connection> {
    const gateway = builtPath('workers/gateway.py')
    const host = hostPath()
    if (gateway === undefined || host === undefined)
      throw new StorageError('the program of a cluster is missing next to this one; build or install bands again')
    // In a session of its own: Ctrl-C at the terminal does not reach it; it ends with its input.
    const { env = process.env } = this.#options
    const child = spawn('python3', ['-u', gateway], { stdio: ['pipe', 'pipe', 'pipe'], detached: true, env })
    const about = { address: this.#address, cpus: this.#options.threads ?? null, retries: MAX_RETRIES }
    let last = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      last = (last + text).slice(-2000)
    })
    // A program that is gone is noticed by the end of its output.
    child.stdin.on('error', () => {})
    this.#send(child, 'S', Buffer.from(JSON.stringify({ ...about, ...workerProgram(host) })))
    const cpus = await new Promise<number>((resolve, reject) => {
      child.once('error', cause => reject(notInstalled('Python', cause)))
      const lose = (error: Error): void => {
        reject(error)
        this.#rejectAll(error)
      }
      this.#readFrames(child, resolve, lose).then(
        () =>
          lose(new Unavailable(`the connection to Ray ended: ${last.trim().split('\n').at(-1) || 'without a reason'}`)),
        lose,
      )
    })
    return { child, cpus }
  }

  async #readFrames(child: ChildProcess, begun: (cpus: number) => void, lost: (error: Error) => void): Promise<void> {
    for await (const { head, bytes } of readFrames(child.stdout!, HEAD_BYTES)) {
      const kind = head.toString('latin1', 0, 1)
      const task = head.readUInt32LE(5)
      if (kind === 'C') {
        const { ray, cpus } = JSON.parse(bytes.toString()) as { ray: string; cpus: number }
        if (ray !== TESTED_RAY)
          this.#options.notice?.(`Ray is ${ray}, and bands was tried with ${TESTED_RAY}; other versions may not work`)
        begun(cpus)
      } else if (kind === 'X') lost(errorOfLoss(JSON.parse(bytes.toString()) as Loss, this.#address))
      else this.#settleTask(task, kind, bytes)
    }
  }

  #settleTask(task: number, kind: string, bytes: Buffer): void {
    const waiting = this.#pendingTasks.get(task)
    this.#pendingTasks.delete(task)
    if (kind === 'F') {
      waiting?.reject(new Unavailable(`a task failed on Ray: ${bytes.toString()}`))
      return
    }
    const answer = deserializeMessage(bytes) as { results: unknown[] } | { refusal: SerializedError } | { fault: Error }
    if ('results' in answer) waiting?.resolve(answer.results)
    else waiting?.reject('refusal' in answer ? deserializeError(answer.refusal) : answer.fault)
  }

  #rejectAll(error: Error): void {
    for (const { reject } of this.#pendingTasks.values()) reject(error)
    this.#pendingTasks.clear()
  }
}

const NO_BYTES = new Uint8Array()
const CONNECTION_ENDED = new Unavailable('the connection to Ray has ended')

function workerProgram(host: string) {
  return { host, node: process.execPath, version: version(), identity: programIdentity(host) }
}

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
