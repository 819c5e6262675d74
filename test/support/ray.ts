import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { delimiter, dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** Ray of the Python that PYTHON names, or of python3; REQUIRE_RAY=1 where it must be there. */
const PYTHON = process.env.PYTHON ?? 'python3'
const REQUIRED = process.env.REQUIRE_RAY === '1'
const found = spawnSync(PYTHON, ['-c', 'import ray, grpc, sys; print(sys.executable)'], { encoding: 'utf8' })

/** Why there is no Ray; empty if there is one. */
export const NO_RAY =
  found.status === 0 ? '' : ` (no Ray: ${found.stderr?.trim().split('\n').at(-1) || 'there is no Python'})`
if (NO_RAY !== '' && REQUIRED) throw new Error(`Ray is required${NO_RAY}`)

/** The environment in which python3 has Ray. */
export const RAY_ENV: NodeJS.ProcessEnv = {
  ...process.env,
  PATH: [dirname(found.stdout?.trim() || '.'), process.env.PATH].join(delimiter),
}

/** A cluster on loopback: a head that does no task, and raylets of one core each. */
export class RayOnLoopback {
  readonly address: string
  readonly #child: ChildProcess
  readonly #reports: AsyncIterator<string>
  #raylets: readonly number[]

  private constructor(child: ChildProcess, reports: AsyncIterator<string>, { port, raylets }: Report) {
    this.address = `ray://127.0.0.1:${port}`
    this.#child = child
    this.#reports = reports
    this.#raylets = raylets
  }

  static async start(raylets: number): Promise<RayOnLoopback> {
    const program = fileURLToPath(new URL('python/ray_cluster.py', import.meta.url))
    const child = spawn('python3', [program, String(raylets)], { env: RAY_ENV, stdio: ['pipe', 'pipe', 'ignore'] })
    const reports = createInterface(child.stdout)[Symbol.asyncIterator]()
    return new RayOnLoopback(child, reports, await nextOf(reports))
  }

  async stop(): Promise<void> {
    const gone = once(this.#child, 'exit')
    this.#child.stdin!.end()
    await gone
  }

  /** The workers that do a task now; each is a process of Ray. */
  workers(): number[] {
    return this.#raylets.flatMap(childrenOf).filter(pid => commandOf(pid).startsWith('ray::ask'))
  }

  async killHost(): Promise<void> {
    await killSome(() => this.workers().flatMap(childrenOf))
  }

  async killWorker(): Promise<void> {
    await killSome(() => this.workers())
  }

  /** Kills a raylet while tasks are done, and starts another. */
  async killRaylet(): Promise<void> {
    await some(() => this.workers())
    this.#child.stdin!.write('\n')
    this.#raylets = (await nextOf(this.#reports)).raylets
  }
}

interface Report {
  port: number
  raylets: number[]
}

async function nextOf(reports: AsyncIterator<string>): Promise<Report> {
  const { value } = await reports.next()
  return JSON.parse(value) as Report
}

/** One of the processes, as soon as there are any. */
async function some(of: () => number[]): Promise<number> {
  for (;;) {
    const all = of()
    if (all.length > 0) return all[Math.floor(Math.random() * all.length)]!
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

/** Kills one of the processes; one that ends in between is no longer there, and another is killed. */
async function killSome(of: () => number[]): Promise<void> {
  for (;;)
    try {
      process.kill(await some(of), 'SIGKILL')
      return
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
}

function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name) && parentOf(name) === parent)
    .map(Number)
}

function parentOf(pid: string): number {
  return Number(
    textOf(`/proc/${pid}/stat`)
      .replace(/^.*\) \S /s, '')
      .split(' ')[0],
  )
}

function commandOf(pid: number): string {
  return textOf(`/proc/${pid}/cmdline`).replaceAll('\0', ' ')
}

/** Empty for a process that has ended. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
