import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, copyFileSync, existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { BIN, type scratch, shell } from '../../cli/support/run.js'

type Env = Readonly<Record<string, string>>

/** Real servers on one set of accounts, and clients that ask them again under the same name until they are answered. */
export class Fleet {
  readonly ports: readonly number[]
  readonly answered = new Set<string>()
  /** The bodies that came, by data and question. */
  readonly bodies = new Map<string, Set<string>>()
  readonly #env: Env
  readonly #keys: readonly string[]
  readonly #up: ChildProcess[] = []
  readonly #clients: Promise<void>[] = []
  #asking = true

  private constructor(ports: readonly number[], env: Env, keys: readonly string[]) {
    this.ports = ports
    this.#env = env
    this.#keys = keys
  }

  /** Data and so many accounts with a key are made, and so many servers started. */
  static async begin(folder: ReturnType<typeof scratch>, servers: number, given: Env, accounts = 1): Promise<Fleet> {
    const env = { PATH: process.env.PATH ?? '', HOME: folder.path, BANDS_DB: folder.file('bands.db'), ...given }
    const made = await shell('bands simulate 2 --bars 600 --load', env)
    expect(made.code, made.err).toBe(0)
    // One after the other: many writers at once would wait too long for the file.
    const keys: string[] = []
    for (let number = 0; number < accounts; number++) keys.push(await keyOf(`team${number}`, env))
    const fleet = new Fleet(await Promise.all(Array.from({ length: servers }, freePort)), env, keys)
    await Promise.all(fleet.ports.map((_, at) => fleet.start(at)))
    return fleet
  }

  /** @param more variables of this server alone */
  async start(at: number, more: Env = {}): Promise<void> {
    const words = ['serve', '--port', String(this.ports[at]), '--json', '--log', 'level silent']
    const env = { ...this.#env, BANDS_DB: this.#data(at), ...more }
    const child = spawn(process.execPath, [BIN, ...words], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    this.#up[at] = child
    await Promise.race([once(child.stdout!, 'data'), once(child, 'exit')])
  }

  /** Where accounts are elsewhere, each server has a copy of the data that it only reads. */
  #data(at: number): string {
    const { BANDS_DB: own = '', BANDS_ACCOUNTS } = this.#env
    if (BANDS_ACCOUNTS === undefined) return own
    const copy = own.replace('.db', `.${at}.db`)
    if (!existsSync(copy)) copyFileSync(own, copy)
    chmodSync(copy, 0o444)
    return copy
  }

  async kill(at: number): Promise<void> {
    const child = this.#up[at]!
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }

  ask(clients: number): void {
    for (let number = 0; number < clients; number++) this.#clients.push(this.#client(number))
  }

  /** Waits until so many more requests are answered. Fails if a client has failed. */
  async answers(count: number): Promise<void> {
    const wanted = this.answered.size + count
    const clients = Promise.all(this.#clients)
    while (this.answered.size < wanted) await Promise.race([clients, sleep(20)])
  }

  /** Settles once every request that was begun is answered. */
  async quiet(): Promise<void> {
    this.#asking = false
    await Promise.all(this.#clients)
  }

  /** Each request that was answered is charged, and nothing else. */
  async expectExact(): Promise<void> {
    const { out, err, code } = await shell('bands accounts usage --reconcile --json', this.#env)
    expect(code, err).toBe(0)
    const { size } = this.answered
    expect(JSON.parse(out)).toMatchObject({ rows: size, requests: size, credits: size, discrepancies: [] })
  }

  /**
   * Each row of the ledger is a counted credit. An answer that a kill kept from its caller is charged again if the
   * repeat is from other data, so there may be more rows than answered requests, and never fewer.
   */
  async expectCharged(): Promise<void> {
    const { out, err, code } = await shell('bands accounts usage --reconcile --json', this.#env)
    expect(code, err).toBe(0)
    const { rows, requests, credits, discrepancies } = JSON.parse(out)
    expect({ requests, credits, discrepancies }).toEqual({ requests: rows, credits: rows, discrepancies: [] })
    expect(rows).toBeGreaterThanOrEqual(this.answered.size)
    expect(rows - this.answered.size).toBeLessThanOrEqual(this.broken)
  }

  /** Attempts that ended without an answer. */
  broken = 0

  /** What `/readyz` of a server says. */
  async ready(at: number): Promise<{ data: string; refused?: object }> {
    const answer = await fetch(`http://127.0.0.1:${this.ports[at]}/readyz`)
    return (await answer.json()) as { data: string; refused?: object }
  }

  async until(
    at: number,
    isSo: (ready: { data: string; refused?: object }) => boolean,
  ): Promise<{ data: string; refused?: object }> {
    for (;;) {
      const ready = await this.ready(at)
      if (isSo(ready)) return ready
      await sleep(50)
    }
  }

  async stop(): Promise<void> {
    for (const child of this.#up) {
      child.kill('SIGTERM')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      expect(child.exitCode).toBe(0)
    }
  }

  /** Whatever has become of the test. */
  end(): void {
    this.#asking = false
    for (const child of this.#up) child.kill('SIGKILL')
  }

  async #client(number: number): Promise<void> {
    while (this.#asking) {
      const id = randomUUID()
      const key = this.#keys[Math.floor(Math.random() * this.#keys.length)]!
      while (!(await this.#isAnswered(id, key, number))) await sleep(5 + Math.random() * 20)
      this.answered.add(id)
      await sleep(Math.random() * 40)
    }
  }

  /** One attempt at any server; true when it was answered. Anything but an answer or a broken connection fails. */
  async #isAnswered(id: string, key: string, number: number): Promise<boolean> {
    const port = this.ports[Math.floor(Math.random() * this.ports.length)]!
    const field = ['rsi_zone', 'macd_state'][number % 2]
    try {
      const answer = await fetch(`http://127.0.0.1:${port}/v1/events?ticker=SIM0001&field=${field}`, {
        headers: { Authorization: `Bearer ${key}`, 'Idempotency-Key': id },
      })
      const body = await answer.text()
      if (answer.status === 503) {
        expect(answer.headers.get('retry-after')).not.toBeNull()
        return false
      }
      expect(answer.status, body).toBe(200)
      const name = `${answer.headers.get('x-bands-data')} ${field}`
      this.bodies.set(name, (this.bodies.get(name) ?? new Set()).add(body))
      return true
    } catch (cause) {
      if (cause instanceof TypeError) {
        this.broken++
        return false
      }
      throw cause
    }
  }
}

/** The key of a new account. */
export async function keyOf(account: string, env: Env, tier = 'pro'): Promise<string> {
  const line = `bands accounts create ${account} --tier ${tier} >&2 && bands keys create ${account} --json`
  const { out, code, err } = await shell(line, env)
  expect(code, err).toBe(0)
  return (JSON.parse(out) as { key: string }).key
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
