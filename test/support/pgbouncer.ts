import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe } from 'vitest'
import { dismissed, documented, guardOf, pathOf } from './patroni.js'
import { type Cluster, describePostgres, freePort, OWNER, own, ownFolder } from './postgres.js'

/** Where the tests must show it, the absence of the program is a failure and no reason to skip them. */
const REQUIRED = process.env.BANDS_PGBOUNCER === 'required'

/** A suite on a real PgBouncer, skipped with the reason in its name where there is none. */
export function describePgBouncer(name: string, suite: () => void): void {
  if (pathOf('pgbouncer') === null && !REQUIRED) describe.skip(`${name} (here is no pgbouncer)`, suite)
  else describePostgres(name, suite)
}

/** Of the one user there is, who is `bands`. */
const PASSWORD = 'of-the-pooler'

/** PgBouncer on a free port of loopback before a database server, as docs/scale-out.md configures it; gone with this process. */
export class Pooler {
  readonly env = { PGPASSWORD: PASSWORD }
  readonly #folder = ownFolder('bands-pgbouncer-')
  readonly #guard: ChildProcess = guardOf(this.#folder)
  readonly #port: number

  private constructor(port: number) {
    this.#port = port
  }

  /**
   * @param database the name of the one that is asked, as `bands` and as `bands_import`
   * @param settings what is said otherwise than on the page
   */
  static async begin(
    cluster: Cluster,
    database: string,
    settings: Readonly<Record<string, string>> = {},
  ): Promise<Pooler> {
    const pooler = new Pooler(await freePort())
    try {
      await pooler.#start(cluster, database, settings)
      return pooler
    } catch (error) {
      await pooler.end()
      throw error
    }
  }

  url(database: 'bands' | 'bands_import'): string {
    return `postgres://bands@127.0.0.1:${this.#port}/${database}`
  }

  async end(): Promise<void> {
    await dismissed(this.#guard)
    // The kernel may close the port of a killed process a moment later.
    for (let waits = 0; await isListening(this.#port); waits++) {
      if (waits === 100) throw new Error('PgBouncer goes on after its end')
      await sleep(20)
    }
  }

  async #start(cluster: Cluster, database: string, settings: Readonly<Record<string, string>>): Promise<void> {
    const file = (name: string, text: string): string => {
      const path = join(this.#folder, name)
      writeFileSync(path, text)
      own(path)
      return path
    }
    const users = file('userlist.txt', `"bands" "${PASSWORD}"\n`)
    let text = documented('pgbouncer.ini')
      ['pgbouncer.ini'].replace(
        /host=\S+ port=\d+ dbname=\w+/g,
        `host=127.0.0.1 port=${cluster.port} dbname=${database}`,
      )
      .replace(/^listen_port = .*$/m, `listen_port = ${this.#port}`)
      .replace(/^auth_file = .*$/m, `auth_file = ${users}`)
      .replace(/^unix_socket_dir = .*$/m, `unix_socket_dir = ${this.#folder}`)
    for (const [name, value] of Object.entries(settings)) {
      const changed = text.replace(new RegExp(`^${name} = .*$`, 'm'), `${name} = ${value}`)
      text = changed === text ? `${text}\n${name} = ${value}\n` : changed
    }
    const path = join(this.#folder, 'log')
    const log = openSync(path, 'a')
    const words = [file('pgbouncer.ini', text)]
    const child = spawn(pathOf('pgbouncer')!, words, { cwd: this.#folder, stdio: ['ignore', log, log], ...OWNER })
    closeSync(log)
    child.unref()
    while (!(await isListening(this.#port))) {
      if (child.exitCode !== null) throw new Error(`PgBouncer does not start: ${readFileSync(path, 'utf8')}`)
      await sleep(20)
    }
  }
}

function isListening(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
