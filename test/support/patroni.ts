import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { describe } from 'vitest'
import { freePort, OWNER, own, ownFolder, program } from './postgres.js'

const PROGRAMS = ['patroni', 'etcd', 'haproxy'] as const
type Program = (typeof PROGRAMS)[number]

/** Where the tests must show it, the absence of these programs is a failure and no reason to skip them. */
const REQUIRED = process.env.BANDS_PATRONI === 'required'

/** A suite on a database that stays up, skipped with the reason in its name where its programs are not there. */
export function describePatroni(name: string, suite: () => void): void {
  const lacking = PROGRAMS.filter(one => pathOf(one) === null)
  const reason = lacking.length === 0 ? '' : ` (here is no ${lacking.join(', no ')})`
  describe.skipIf(reason !== '' && !REQUIRED)(name + reason, suite)
}

/** Their names are on the page as well: db1 has the address 10.0.0.1. */
const NUMBERS = [1, 2, 3] as const
const DATA = 'var/lib/postgresql/15/bands'
/** Whatever a configuration that is at fault does. */
const PATIENCE = 180_000

/** What Patroni tells of one machine. */
interface Member {
  name: string
  role: string
  state: string
}

/**
 * Three machines on loopback with etcd, Patroni and PostgreSQL each, and HAProxy before them, configured as
 * docs/scale-out.md says. All of it lies in one folder, and is gone with it, however this process ends.
 */
export class Machines {
  readonly folder = ownFolder('bands-patroni-')
  /** Of every user of the database. */
  readonly password = randomBytes(12).toString('hex')
  /** Where an address of the page is here. */
  readonly #ports: ReadonlyMap<string, number>
  readonly #guard: ChildProcess

  private constructor(ports: ReadonlyMap<string, number>) {
    this.#ports = ports
    this.#guard = guardOf(this.folder)
  }

  /** Settles once there is a primary, and a standby that has all that is acknowledged. */
  static async begin(): Promise<Machines> {
    const addresses = [PROXY, ...NUMBERS.flatMap(number => PORTS.map(port => `10.0.0.${number}:${port}`))]
    const ports = await Promise.all(addresses.map(freePort))
    const machines = new Machines(new Map(addresses.map((address, i) => [address, ports[i]!])))
    try {
      for (const number of NUMBERS) machines.start(`db${number}`)
      machines.#run('proxy', 'haproxy', ['-db', '-f', machines.#write('proxy', 'haproxy.cfg', FILES['haproxy.cfg'])])
      await machines.whole()
    } catch (error) {
      await machines.end()
      throw error
    }
    return machines
  }

  /** The address behind which the primary is found. */
  url(user: string, database: string): string {
    return `postgres://${user}@127.0.0.1:${this.#port(PROXY)}/${database}`
  }

  /** What a statement prints there: a line a row, columns apart by |. */
  async sql(statement: string, database = 'postgres'): Promise<string[]> {
    const words = ['-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-c', statement, this.url('postgres', database)]
    const env = { ...process.env, PGPASSWORD: this.password, PGCONNECT_TIMEOUT: '5' }
    const { stdout } = await promisify(execFile)(program('psql'), words, { env, maxBuffer: 1e9 })
    return stdout.split('\n').filter(line => line !== '')
  }

  /** Starts all that runs on a machine. */
  start(name: string): void {
    const number = name.slice(2)
    // The page shows the first: its name, and the addresses that are its own.
    const files = (['etcd.yml', 'patroni.yml'] as const).map(file => {
      const named = FILES[file].replace(/^name: db1$/m, `name: ${name}`)
      return this.#write(name, file, named.replace(/^(.*(?:listen|advertise|connect).*10\.0\.0\.)1/gm, `$1${number}`))
    })
    this.#run(name, 'etcd', ['--config-file', files[0]!])
    this.#run(name, 'patroni', [files[1]!])
  }

  /** Kills all that runs on a machine, as a power cut does. */
  async kill(name: string): Promise<void> {
    const folder = join(this.folder, name)
    for (let left = processesIn(folder); left.length > 0; left = processesIn(folder)) {
      for (const pid of left) {
        try {
          process.kill(pid, 'SIGKILL')
        } catch {
          // It has ended by itself.
        }
      }
      await sleep(5)
    }
    // Where nobody waits for the dead, its number stays taken; after a power cut it would not.
    rmSync(join(folder, DATA, 'postmaster.pid'), { force: true })
  }

  /** The name of the machine that is written to, once there is one. */
  async primary(): Promise<string> {
    return this.#until(members => members.find(({ role }) => role === 'leader')?.name)
  }

  /** Settles once all three run: a primary that HAProxy has found, a synchronous standby, and another one. */
  async whole(): Promise<void> {
    await this.#until(async members => {
      const roles = members.filter(({ state }) => ['running', 'streaming'].includes(state)).map(({ role }) => role)
      if (String(roles.sort()) !== 'leader,replica,sync_standby') return undefined
      const [standby] = await this.sql('SELECT pg_is_in_recovery()').catch(() => [])
      return standby === 'f' || undefined
    })
  }

  /** Ends all of it, and has its folder taken away. */
  async end(): Promise<void> {
    await dismissed(this.#guard)
  }

  async #until<T>(found: (members: Member[]) => T | undefined | Promise<T | undefined>): Promise<T> {
    for (const deadline = performance.now() + PATIENCE; ; await sleep(100)) {
      const members = await this.#members()
      const result = await found(members)
      if (result !== undefined) return result
      if (performance.now() > deadline) throw new Error(`${JSON.stringify(members)}\n${this.#logs()}`)
    }
  }

  /** As the first machine that answers sees them. */
  async #members(): Promise<Member[]> {
    for (const number of NUMBERS) {
      try {
        const url = `http://127.0.0.1:${this.#port(`10.0.0.${number}:8008`)}/cluster`
        const answer = await fetch(url, { signal: AbortSignal.timeout(2_000) })
        if (answer.ok) return ((await answer.json()) as { members: Member[] }).members
      } catch {
        // It is not up, or not yet.
      }
    }
    return []
  }

  /** The end of what each program has said. */
  #logs(): string {
    const files = readdirSync(this.folder).filter(name => name.endsWith('.log'))
    return files.map(name => `${name}:\n${readFileSync(join(this.folder, name), 'utf8').slice(-2_000)}`).join('\n')
  }

  #port(address: string): number {
    const port = this.#ports.get(address)
    if (port === undefined) throw new Error(`docs/deploy has an address that is not expected: ${address}`)
    return port
  }

  /** A file of the page with what is different here, which is addresses and folders. @returns its path */
  #write(machine: string, file: string, text: string): string {
    const folder = join(this.folder, machine)
    for (const part of ['', 'var', 'var/lib', 'var/lib/etcd', 'var/lib/postgresql', 'var/lib/postgresql/15', 'run']) {
      mkdirSync(join(folder, part), { recursive: true })
      own(join(folder, part))
    }
    const path = join(folder, file)
    const here = text
      // In one line of HAProxy's, what is asked is another port of the same machine.
      .replace(/(10\.0\.0\.\d):5432 port 8008/g, (both, host: string) =>
        both.replace('8008', `${this.#port(`${host}:8008`)}`),
      )
      .replace(/(?:10\.0\.0\.\d|127\.0\.0\.1):\d+/g, address => `127.0.0.1:${this.#port(address)}`)
      .replaceAll('10.0.0.0/24', '127.0.0.1/32')
      .replace('/usr/lib/postgresql/15/bin', dirname(program('postgres')))
      .replace(/\/(?:var\/lib|run)\//g, part => folder + part)
      .replace(`${folder}/run/postgresql`, join(folder, 'run'))
    writeFileSync(path, here)
    own(path)
    return path
  }

  #run(machine: string, name: Program, words: readonly string[]): void {
    const cwd = join(this.folder, machine)
    const log = openSync(join(this.folder, `${machine}-${name}.log`), 'a')
    const passwords = { PATRONI_SUPERUSER_PASSWORD: this.password, PATRONI_REPLICATION_PASSWORD: this.password }
    const env = { PATH: process.env.PATH, HOME: cwd, LANG: 'C.UTF-8', ...passwords }
    spawn(pathOf(name)!, words, { env, cwd, stdio: ['ignore', log, log], ...OWNER }).unref()
    closeSync(log)
  }
}

/** Of the page: where HAProxy listens, and the ports of a machine of the database. */
const PROXY = '127.0.0.1:5000'
const PORTS = [2379, 2380, 5432, 8008]

/** The files that docs/scale-out.md speaks of. */
const FILES = documented('etcd.yml', 'patroni.yml', 'haproxy.cfg')

/** Files of docs/deploy, by their names. */
export function documented<Name extends string>(...names: Name[]): Record<Name, string> {
  const folder = new URL('../../docs/deploy/', import.meta.url)
  const texts = names.map(name => [name, readFileSync(new URL(name, folder), 'utf8')] as const)
  return Object.fromEntries(texts) as Record<Name, string>
}

/** Numbers of the processes that live in a folder: those of PostgreSQL stay where Patroni has started it. */
function processesIn(folder: string): number[] {
  const isWithin = (pid: string): boolean => {
    try {
      return `${readlinkSync(`/proc/${pid}/cwd`)}/`.startsWith(`${folder}/`)
    } catch {
      // It has ended, or is another user's.
      return false
    }
  }
  return existsSync('/proc')
    ? readdirSync('/proc')
        .filter(name => /^\d+$/.test(name) && isWithin(name))
        .map(Number)
    : []
}

/** Outlives this process, however that ends, by as long as it takes to end what lives in a folder and take that away. */
export function guardOf(folder: string): ChildProcess {
  const guard = spawn('sh', ['-c', GUARD, 'guard', folder], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  guard.unref()
  return guard
}

/** Has a guard do at once what it is there for. */
export async function dismissed(guard: ChildProcess): Promise<void> {
  const ended = once(guard, 'exit')
  guard.stdin!.end()
  await ended
}

/** Reads until whoever started it is gone, then ends what lives in the folder and takes that away. */
const GUARD = `trap '' INT TERM HUP
  cat >/dev/null
  for i in 1 2 3 4 5 6 7 8 9 10; do
    left=$(find /proc -maxdepth 2 -name cwd \\( -lname "$1" -o -lname "$1/*" \\) 2>/dev/null | cut -d / -f 3)
    [ -n "$left" ] || break
    kill -KILL $left 2>/dev/null
  done
  rm -rf "$1"`

/** Where a program lies; null: nowhere. */
export function pathOf(name: string): string | null {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/bin']
  return folders.map(folder => join(folder, name)).find(path => existsSync(path)) ?? null
}
