import { type ChildProcess, spawn } from 'node:child_process'
import { builtPath, version } from '../../core/built.js'
import { ConfigError, StorageError, Unavailable } from '../../core/errors.js'
import type { Cluster, TaskPool } from '../../core/source.js'
import { deserializeError, type SerializedError } from '../../data/threads.js'
import { framesOf, hostPath, identity, lengthOf, packed, unpacked } from './frames.js'

/** The version that the tests use. */
export const TRIED = '2.58.0'
const INSTALL = `python3 -m pip install 'ray[client]==${TRIED}'`

/** How often Ray begins a task again whose worker died: a task that kills each of them ends, too. */
const RETRIES = 10

/** The head of a frame: its kind, the job, the task, its length. */
const HEAD = 17

interface Waiting {
  resolve(results: unknown[]): void
  reject(error: Error): void
}

interface Connected {
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
  readonly #waiting = new Map<number, Waiting>()
  #connected: Promise<Connected> | null = null
  #jobs = 0
  #tasks = 0

  constructor(address: string, options: ClusterOptions = {}) {
    this.#address = address
    this.#options = options
  }

  async open(start: { job: string; data: unknown }): Promise<TaskPool> {
    this.#connected ??= this.#connect()
    const { child, cpus } = await this.#connected
    const job = this.#jobs++
    const own = new Set<number>()
    this.#send(child, 'D', packed(start), job)
    return {
      size: Math.max(1, cpus),
      run: tasks => {
        const task = this.#tasks++
        own.add(task)
        const done = new Promise<unknown[]>((resolve, reject) => this.#waiting.set(task, { resolve, reject }))
        if (child.exitCode !== null) this.#lose(GONE)
        else this.#send(child, 'T', packed(tasks), job, task)
        return done
      },
      close: async () => {
        for (const task of own) this.#waiting.delete(task)
        this.#send(child, 'E', NOTHING, job)
      },
    }
  }

  /** The end of its input ends the program, which cancels what runs. */
  async close(): Promise<void> {
    const connected = await this.#connected?.catch(() => null)
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
    child.stdin!.write(Buffer.concat([head, lengthOf(bytes)]))
    child.stdin!.write(bytes)
  }

  async #connect(): Promise<Connected> {
    const gateway = builtPath('workers/gateway.py')
    const host = hostPath()
    if (gateway === undefined || host === undefined)
      throw new StorageError('the program of a cluster is missing next to this one; build or install bands again')
    // In a session of its own: Ctrl-C at the terminal does not reach it; it ends with its input.
    const { env = process.env } = this.#options
    const child = spawn('python3', ['-u', gateway], { stdio: ['pipe', 'pipe', 'pipe'], detached: true, env })
    const about = { address: this.#address, cpus: this.#options.threads ?? null, retries: RETRIES }
    let last = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      last = (last + text).slice(-2000)
    })
    // A program that is gone is noticed by the end of its output.
    child.stdin.on('error', () => {})
    this.#send(child, 'S', Buffer.from(JSON.stringify({ ...about, ...ownProgram(host) })))
    const cpus = await new Promise<number>((resolve, reject) => {
      child.once('error', cause => reject(missing('Python', cause)))
      const lose = (error: Error): void => {
        reject(error)
        this.#lose(error)
      }
      this.#read(child, resolve, lose).then(
        () =>
          lose(new Unavailable(`the connection to Ray ended: ${last.trim().split('\n').at(-1) || 'without a reason'}`)),
        lose,
      )
    })
    return { child, cpus }
  }

  async #read(child: ChildProcess, begun: (cpus: number) => void, lost: (error: Error) => void): Promise<void> {
    for await (const { head, bytes } of framesOf(child.stdout!, HEAD)) {
      const kind = head.toString('latin1', 0, 1)
      const task = head.readUInt32LE(5)
      if (kind === 'C') {
        const { ray, cpus } = JSON.parse(bytes.toString()) as { ray: string; cpus: number }
        if (ray !== TRIED)
          this.#options.notice?.(`Ray is ${ray}, and bands was tried with ${TRIED}; other versions may not work`)
        begun(cpus)
      } else if (kind === 'X') lost(lossOf(JSON.parse(bytes.toString()) as Loss, this.#address))
      else this.#settle(task, kind, bytes)
    }
  }

  #settle(task: number, kind: string, bytes: Buffer): void {
    const waiting = this.#waiting.get(task)
    this.#waiting.delete(task)
    if (kind === 'F') {
      waiting?.reject(new Unavailable(`a task failed on Ray: ${bytes.toString()}`))
      return
    }
    const answer = unpacked(bytes) as { results: unknown[] } | { refusal: SerializedError } | { fault: Error }
    if ('results' in answer) waiting?.resolve(answer.results)
    else waiting?.reject('refusal' in answer ? deserializeError(answer.refusal) : answer.fault)
  }

  #lose(error: Error): void {
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }
}

const NOTHING = new Uint8Array()
const GONE = new Unavailable('the connection to Ray has ended')

function ownProgram(host: string) {
  return { host, node: process.execPath, version: version(), identity: identity(host) }
}

/** Why the program in Python gave up. */
interface Loss {
  why: 'no ray' | 'no cluster' | 'lost'
  text: string
}

function lossOf({ why, text }: Loss, address: string): Error {
  if (why === 'no ray') return missing('Ray', text)
  if (why === 'no cluster') return new Unavailable(`${address} does not answer: ${text}`)
  return new Unavailable(`the connection to Ray was lost: ${text}`)
}

function missing(what: string, cause: unknown): ConfigError {
  const words = `a cluster needs ${what === 'Ray' ? 'Ray for python3' : 'python3 with Ray'}, which is not installed; this line installs it:\n  ${INSTALL}`
  return new ConfigError(words, { cause })
}
