import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { BARS, BIN, scratch } from './cli/support/run.js'
import { pathOf } from './support/patroni.js'
import { clusterForAll, describePostgres, freePort, program } from './support/postgres.js'
import { NO_RAY, RAY_ENV } from './support/ray.js'

/**
 * Every block of docs/scale-out.md is run here, in the order of the page, from an empty cluster. All its machines are this
 * one, and its folders lie in a temporary one. parquet-page.test.ts runs the blocks for the data team.
 */
const PAGE = readFileSync('docs/scale-out.md', 'utf8')
const LIMIT = 240_000

/** The blocks under a heading, to the next one. */
function blocks(heading: string, language = 'sh'): string[] {
  const section = PAGE.split(/^(?=##+ )/m).find(text => text.startsWith(`${heading}\n`))!
  return [...section.matchAll(/^```(\w+)\n(.*?)^```/gms)].flatMap(([, of, block]) => (of === language ? [block!] : []))
}

/** Commands that serve until they are stopped, with what they print when they are ready. */
const SERVERS = [
  { line: /^bands serve/, more: '--port 0', ready: /http:\/\/[\d.]+:\d+(?=\D)/ },
  { line: /^ray start/, more: '--block --num-cpus 1', ready: /Ray runtime started/ },
]

/** A shell in which `bands` is this checkout. `export` holds for later lines, and servers run until the end. */
class Shell {
  /** What the last server printed when it was ready. */
  ready = ''
  readonly #env: NodeJS.ProcessEnv
  readonly #here: (line: string) => string
  readonly #servers: ChildProcess[] = []

  /** @param here a line of the page as it is typed on this machine */
  constructor(home: string, env: NodeJS.ProcessEnv, here: (line: string) => string) {
    mkdirSync(join(home, 'bin'), { recursive: true })
    symlinkSync(BIN, join(home, 'bin', 'bands'))
    const PATH = [join(home, 'bin'), dirname(process.execPath), env.PATH].join(delimiter)
    this.#env = { LANG: 'C.UTF-8', ...env, PATH, HOME: home }
    this.#here = here
  }

  /** @returns what the lines print */
  async run(lines: string): Promise<string> {
    let printed = ''
    for (const typed of lines.trim().split('\n')) {
      const line = this.#here(typed)
      const [, name, value] = /^export (\w+)=(\S+)$/.exec(line) ?? []
      const server = SERVERS.find(one => one.line.test(line))
      if (name !== undefined) this.#env[name] = value
      else if (server !== undefined) await this.#serve(line.replace(/ *(#.*)?$/, ` ${server.more}`), server.ready)
      else printed += (await promisify(execFile)('bash', ['--norc', '-ec', line], this.#options)).stdout
    }
    return printed
  }

  async end(): Promise<void> {
    const gone = this.#servers.map(server => once(server, 'exit'))
    for (const server of this.#servers) server.kill('SIGTERM')
    await Promise.all(gone)
  }

  get #options(): { env: NodeJS.ProcessEnv; cwd: string; maxBuffer: number } {
    return { env: this.#env, cwd: this.#env.HOME!, maxBuffer: 2 ** 26 }
  }

  async #serve(line: string, ready: RegExp): Promise<void> {
    const server = spawn('bash', ['--norc', '-ec', `exec ${line} 2>&1`], {
      ...this.#options,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    this.#servers.push(server)
    server.stdout.setEncoding('utf8')
    let printed = ''
    for await (const text of server.stdout.iterator({ destroyOnReturn: false })) {
      printed += text
      this.ready = ready.exec(printed)?.[0] ?? ''
      if (this.ready !== '') return void server.stdout.resume()
    }
    throw new Error(`${line} ends before it is ready: ${printed}`)
  }
}

describePostgres('docs/scale-out.md, for the operator', () => {
  const cluster = clusterForAll()
  const folder = scratch()
  const [data, backups, next] = ['data', 'backups', 'next.db'].map(folder.file) as [string, string, string]
  let shell: Shell

  beforeAll(async () => {
    for (const one of [data, backups]) mkdirSync(one)
    const PATH = [process.env.PATH, dirname(program('psql'))].join(delimiter)
    shell = new Shell(folder.file('home'), { PATH, BANDS_DB: join(data, 'bands.db') }, line =>
      line
        .replaceAll('-h db.example', `-h 127.0.0.1 -p ${cluster.current.port}`)
        .replaceAll('@db.example', `@127.0.0.1:${cluster.current.port}`)
        .replaceAll(/(ssh )?api1\.example[: ]/g, '')
        .replaceAll(/(?<=[ :])\/data\//g, `${data}/`)
        .replaceAll(/(?<=[ :])\/backups\//g, `${backups}/`)
        .replaceAll('bands-20261123T060000.000Z', readdirSync(backups).toSorted().at(-1) ?? ''),
    )
    await shell.run(`bands import ${BARS}/AAPL.csv`)
    // The owner of a cluster has this name everywhere but in these tests.
    await cluster.current.sql('CREATE ROLE postgres SUPERUSER LOGIN')
  })
  afterAll(async () => {
    await shell.end()
    folder.remove()
  })

  /** The hash of the data that a ready server answers from, as soon as it is another one. */
  async function otherData(than: string): Promise<string> {
    for (;;) {
      const response = await fetch(`${shell.ready}/readyz`)
      const { data: hash } = (await response.json()) as { data: string }
      if (response.ok && hash !== than) return hash
      await sleep(20)
    }
  }

  it('makes accounts and a server that charges them', async () => {
    const printed = await shell.run(blocks('### Accounts in PostgreSQL')[0]!)
    const headers = { Authorization: `Bearer ${/^bands_\w{20,}/m.exec(printed)![0]}` }
    const answer = await fetch(`${shell.ready}/v1/events?ticker=AAPL&field=rsi_zone&limit=1`, { headers })
    expect(answer.status).toBe(200)
    expect(await cluster.current.sql('SELECT count(*) FROM bands_accounts.ledger', 'bands')).toEqual(['1'])
  })

  it.skipIf(pathOf('rsync') === null)('brings new data to a running server (with rsync)', async () => {
    const before = await otherData('')
    // The machine that imports has a file of its own.
    await shell.run(`export BANDS_DB=${next}\nbands import ${BARS}\n${blocks('### New data on every server')[0]!}`)
    expect(await otherData(before)).toMatch(/^\w{16,}$/)
  })

  it('has a timer that fetches new data', async () => {
    const before = await otherData('')
    await shell.run(`export BANDS_DB=${next}\nbands remove GSPC\nbands backup ${backups}/`)
    const storage = createServer((_, response) => response.end(readFileSync(next))).listen(0, '127.0.0.1')
    await once(storage, 'listening')
    const [units] = blocks('### New data on every server', 'ini')
    const lines = [...units!.matchAll(/^ExecStart=(.*)/gm)].map(([, line]) => line!)
    expect(lines).toHaveLength(2)
    const url = `http://127.0.0.1:${(storage.address() as AddressInfo).port}`
    await shell.run(lines.join('\n').replace('https://data.example', url))
    storage.close()
    expect(await otherData(before)).toMatch(/^\w{16,}$/)
  })

  it('takes the steps of an update, of which none is left', async () => {
    expect(await shell.run(blocks('### Updates')[0]!)).toContain('no step to take')
  })

  it('moves accounts from a file, and restores a dump of them', async () => {
    const [copy, dump] = blocks('### Moving and backups')
    await shell.run('bands accounts create alice --tier plus --accounts bands.accounts.db')
    await shell.run(copy!)
    expect(await cluster.current.sql('SELECT name FROM bands_accounts.accounts', 'moved')).toEqual(['alice'])
    expect(await shell.run(dump!)).toContain('the counters say the same')
    expect(await cluster.current.sql('SELECT name FROM bands_accounts.accounts', 'restored')).toEqual(['research'])
  })
})

describe.skipIf(NO_RAY !== '')(`docs/scale-out.md, for the researcher${NO_RAY}`, () => {
  const folder = scratch()
  afterAll(() => folder.remove())
  let alone: string

  it('sweeps on a cluster of this machine', { timeout: LIMIT }, async () => {
    const shell = new Shell(folder.file('one'), RAY_ENV, line => line)
    alone = await shell.run(blocks('### A cluster on this machine')[0]!)
    expect(alone).toContain('rsi_zone')
  })

  it('sweeps on a cluster of two nodes to the same answer', { timeout: LIMIT }, async () => {
    const port = await freePort()
    const client = await freePort()
    const shell = new Shell(folder.file('two'), RAY_ENV, line =>
      line
        .replaceAll('head.example:6379', `127.0.0.1:${port}`)
        .replaceAll('head.example:10001', `127.0.0.1:${client}`)
        .replace('--port 6379', `--port ${port}`)
        .replace('--ray-client-server-port 10001', `--ray-client-server-port ${client}`),
    )
    onTestFinished(() => shell.end())
    const printed = await shell.run(blocks('### A cluster of several machines').join(''))
    expect(printed).toContain(alone.slice(alone.indexOf('tested combinations')))
  })
})
