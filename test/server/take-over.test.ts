import { chmodSync, copyFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, it, vi } from 'vitest'
import { connect } from '../../src/data/store/sqlite/connection.js'
import { ask, type Ground, type Served, serve, simulatedGround } from '../support/serve.js'

const QUESTION = '/v1/events?ticker=SIM0001&field=rsi_zone'
const SCAN = '/v1/scan/oversold'

const grounds = [await simulatedGround({ count: 2 }), await simulatedGround({ count: 2, seed: 8 })]
afterAll(() => {
  for (const ground of grounds) ground.remove()
})
const [first, second] = grounds as [Ground, Ground]

/** A server on a copy of the first data, and what puts a copy of others in their place, changed by some statements. */
async function following() {
  const ground = await simulatedGround({ count: 1 })
  const put = (from: string, ...changes: string[]): void => {
    const next = `${ground.db}.next`
    copyFileSync(from, next)
    if (changes.length > 0) {
      const db = connect(next, {})
      db.pragma('journal_mode = DELETE')
      for (const change of changes) db.exec(change)
      db.close()
    }
    renameSync(next, ground.db)
  }
  put(first.db)
  const server = await serve(ground, { follows: true })
  const key = await server.key('pro')
  const end = async (): Promise<void> => {
    await server.stop()
    ground.remove()
  }
  return { ground, server, key, put, end }
}

async function seen(server: Served, key: string, path = QUESTION) {
  const { status, headers, text } = await server.get(path, key)
  return { status, body: text, data: headers['x-bands-data'], etag: headers.etag }
}

interface Readiness {
  status: string
  data: string
  refused?: { why: string; since: string }
}

const ready = async ({ url }: Served) => (await ask(`${url}/readyz`)).json() as unknown as Readiness

it('answers from a new file once it is there, and nothing of the old one is left', async () => {
  const { server, key, put, end } = await following()
  const before = [await seen(server, key), await seen(server, key, SCAN)]
  expect(before.map(({ status }) => status)).toEqual([200, 200])
  expect((await ready(server)).data).toBe(before[0]!.data)
  put(second.db)
  await server.look()
  const after = [await seen(server, key), await seen(server, key, SCAN)]
  expect(after.map(({ status }) => status)).toEqual([200, 200])
  expect(new Set([...before, ...after].map(({ data }) => data)).size).toBe(2)
  expect(after[0]!.body).not.toBe(before[0]!.body)
  expect((await ready(server)).data).toBe(after[0]!.data)
  const old = await server.get(QUESTION, key, { 'If-None-Match': before[0]!.etag! })
  expect([old.status, old.headers['x-bands-data']]).toEqual([200, after[0]!.data])
  put(first.db)
  await server.look()
  expect(await seen(server, key)).toEqual(before[0])
  await end()
})

it.each([
  ['damaged', ["UPDATE chunks SET columns = zeroblob(length(columns)) WHERE part = 'outcomes'"], 'is damaged'],
  ['of a newer schema', ['PRAGMA user_version = 99'], 'made by a newer bands'],
  ['of other definitions', ["UPDATE meta SET value = 'old' WHERE key = 'definitions'"], 'is damaged'],
] as const)('refuses a file that is %s, and keeps answering', async (_what, changes, why) => {
  const { server, key, put, ground, end } = await following()
  const before = await seen(server, key)
  // The thread of scans has opened the file.
  expect((await seen(server, key, SCAN)).status).toBe(200)
  put(second.db, ...changes)
  await server.look()
  expect(await seen(server, key)).toEqual(before)
  expect(await seen(server, key, SCAN)).toMatchObject({ status: 200, data: before.data })
  const { refused, ...rest } = await ready(server)
  expect(rest).toEqual({ status: 'ready', data: before.data })
  expect(refused?.why).toContain(why)
  expect(refused?.why).not.toContain(ground.db)
  expect(server.logged()).toContain(why)
  put(second.db)
  await server.look()
  expect((await ready(server)).refused).toBeUndefined()
  expect((await seen(server, key)).data).not.toBe(before.data)
  await end()
})

it('refuses what is no database, and answers again when the next file comes', async () => {
  const { server, key, put, ground, end } = await following()
  const before = await seen(server, key)
  writeFileSync(`${ground.db}.next`, 'no database\n'.repeat(100))
  renameSync(`${ground.db}.next`, ground.db)
  await server.look()
  expect((await ready(server)).refused?.why).toContain('is not a SQLite database')
  expect(await seen(server, key)).toEqual(before)
  put(second.db)
  await server.look()
  expect((await ready(server)).refused).toBeUndefined()
  await end()
})

it('looks again at a refused file once its restore has ended', async () => {
  const { server, key, put, ground, end } = await following()
  const before = await seen(server, key)
  writeFileSync(`${ground.db}.restore`, '')
  put(second.db)
  await server.look()
  expect((await ready(server)).refused?.why).toContain('was stopped before its end')
  rmSync(`${ground.db}.restore`)
  await vi.waitFor(async () => expect((await ready(server)).refused).toBeUndefined(), 10_000)
  expect((await seen(server, key)).data).not.toBe(before.data)
  await end()
})

it('logs a refusal once, and again only after a change of the file or its rights', async () => {
  const { server, put, ground, end } = await following()
  const refusals = (): number => server.logged().split('made by a newer bands').length - 1
  put(second.db, 'PRAGMA user_version = 99')
  await vi.waitFor(() => expect(refusals()).toBe(1), 10_000)
  await sleep(2_500)
  expect(refusals()).toBe(1)
  chmodSync(ground.db, 0o600)
  await vi.waitFor(() => expect(refusals()).toBe(2), 10_000)
  await end()
})

it('mixes no commits of the replaced file into the new one', async () => {
  const { server, key, put, ground, end } = await following()
  // As an import does while the server runs: the commit stays in the -wal.
  const writer = connect(ground.db, {})
  writer.exec("DELETE FROM tickers WHERE ticker = 'SIM0002'")
  writer.close()
  expect((await seen(server, key, QUESTION.replace('SIM0001', 'SIM0002'))).status).not.toBe(200)
  put(second.db)
  await server.look()
  expect((await seen(server, key, QUESTION.replace('SIM0001', 'SIM0002'))).status).toBe(200)
  expect((await ready(server)).refused).toBeUndefined()
  await end()
})
