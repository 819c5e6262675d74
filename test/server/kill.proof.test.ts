import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BIN, scratch, shell } from '../cli/support/run.js'
import { draws } from '../support/full.js'

const CLIENTS = 16
const KILLS = draws(60)

const folder = scratch()
const env = { BANDS_DB: folder.file('bands.db') }
const running = new Set<ChildProcess>()

beforeAll(async () => {
  const made = await shell(
    'bands simulate 2 --bars 600 --load && bands accounts create team --tier pro && bands keys create --account team --json',
    env,
  )
  expect(made.code, made.err).toBe(0)
})
afterAll(() => {
  for (const child of running) child.kill('SIGKILL')
  folder.remove()
})

describe('servers that are killed while they charge', () => {
  it(`charge each request once: ${CLIENTS} clients, two servers on one store, ${KILLS} kills`, async () => {
    const key = await newKey()
    const servers = await Promise.all([0, 1].map(freePort))
    const up = await Promise.all(servers.map(started))
    const answered = new Set<string>()
    let killing = true
    const client = async (number: number): Promise<void> => {
      while (killing) {
        const id = randomUUID()
        while (!(await isAnswered(servers, key, id, number))) await sleep(5 + Math.random() * 20)
        answered.add(id)
        await sleep(Math.random() * 40)
      }
    }
    const clients = Array.from({ length: CLIENTS }, (_, number) => client(number))
    for (let kill = 0; kill < KILLS; kill++) {
      const at = kill % 2
      await sleep(20 + Math.random() * 150)
      up[at]!.kill('SIGKILL')
      await once(up[at]!, 'exit')
      up[at] = await started(servers[at]!)
    }
    killing = false
    await Promise.all(clients)
    const { out, code } = await shell('bands accounts usage --reconcile --json', env)
    expect(code).toBe(0)
    const reconciliation: unknown = JSON.parse(out)
    expect(answered.size).toBeGreaterThan(KILLS)
    expect(reconciliation).toMatchObject({
      rows: answered.size,
      requests: answered.size,
      credits: answered.size,
      discrepancies: [],
    })
    await Promise.all(
      up.map(async child => {
        child.kill('SIGTERM')
        if (child.exitCode === null) await once(child, 'exit')
        expect(child.exitCode).toBe(0)
      }),
    )
  })
})

/** One attempt at either server; true when it was answered. Anything but an answer or a broken connection fails. */
async function isAnswered(ports: readonly number[], key: string, id: string, number: number): Promise<boolean> {
  const port = ports[Math.floor(Math.random() * ports.length)]!
  const field = ['rsi_zone', 'macd_state'][number % 2]
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/v1/events?ticker=SIM0001&field=${field}`, {
      headers: { Authorization: `Bearer ${key}`, 'Idempotency-Key': id },
    })
    const body = await answer.text()
    if (answer.status === 503) return false
    expect(answer.status, body).toBe(200)
    return true
  } catch (cause) {
    if (cause instanceof TypeError) return false
    throw cause
  }
}

async function newKey(): Promise<string> {
  const { out } = await shell('bands keys create --account team --name killed --json', env)
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

async function started(port: number): Promise<ChildProcess> {
  const words = ['serve', '--port', String(port), '--json', '--log-level', 'error']
  const child = spawn(process.execPath, [BIN, ...words], {
    env: { PATH: process.env.PATH, HOME: folder.path, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  await once(child.stdout!, 'data')
  return child
}
