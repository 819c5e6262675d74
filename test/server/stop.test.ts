import { Agent } from 'node:http'
import { connect } from 'node:net'
import { afterAll, expect, it } from 'vitest'
import { openAccounts } from '../../src/app/open/accounts.js'
import type { Service } from '../../src/server/http/question.js'
import { ask, authorization, latch, sendBytes, serve, simulatedGround, withCharges } from '../support/serve.js'

const QUESTION = '/v1/events?ticker=SIM0001&field=rsi_zone'

const ground = await simulatedGround({ count: 1 })
afterAll(() => ground.remove())

/** A gate before the accounts are charged, shut at first; `waiting` settles when someone stands before it. */
function gate() {
  const opened = latch()
  const arrived = latch()
  const around = (service: Service): Service =>
    withCharges(service, async charges => {
      arrived.open()
      await opened.passed
      return service.accounts.charge(charges)
    })
  return { open: opened.open, waiting: arrived.passed, around }
}

it('answers what runs, refuses what comes, and has everything written down', async () => {
  const { open, waiting, around } = gate()
  const server = await serve(ground, { around })
  const { id, key } = await server.account('stopping', 'pro')
  const kept = new Agent({ keepAlive: true, maxSockets: 1 })
  expect((await ask(`${server.url}/readyz`, { agent: kept })).status).toBe(200)
  const running = ask(server.url + QUESTION, { headers: authorization(key) })
  await waiting
  const stopped = server.stop()

  const refused = await ask(server.url + QUESTION, { headers: authorization(key), agent: kept })
  expect([refused.status, refused.json().error, refused.headers.connection]).toEqual([503, 'data_unavailable', 'close'])
  expect((await ask(`${server.url}/readyz`)).status).toBe(503)
  expect((await ask(`${server.url}/healthz`)).status).toBe(200)

  open()
  const answer = await running
  expect([answer.status, answer.headers.connection, answer.headers['x-requests-used']]).toEqual([200, 'close', '1'])
  await stopped
  await expect(ask(`${server.url}/healthz`)).rejects.toThrow('ECONNREFUSED')
  const accounts = await openAccounts({ db: ground.db })
  expect(await accounts.reconcile(id)).toMatchObject({ rows: 1, credits: 1, discrepancies: [] })
  await accounts.close()
  kept.destroy()
})

it('waits no longer than the grace for what does not end, and still writes down what was to be charged', async () => {
  const { open, waiting, around } = gate()
  const server = await serve(ground, { around, limits: { grace: 50 } })
  const { id, key } = await server.account('lingering', 'pro')
  const running = ask(server.url + QUESTION, { headers: authorization(key) })
  const failed = expect(running).rejects.toThrow('socket hang up')
  await waiting
  const stopped = server.stop()
  await failed
  open()
  await stopped
  const accounts = await openAccounts({ db: ground.db })
  expect(await accounts.reconcile(id)).toMatchObject({ rows: 1, discrepancies: [] })
  await accounts.close()
})

it('lets what a caller has given up be worked off before it closes what that stands on', async () => {
  const { open, waiting, around } = gate()
  const server = await serve(ground, { around, log: { level: 'error', write: line => errors.push(line) } })
  const errors: string[] = []
  const hangingUp = new Agent()
  const given = ask(server.url + QUESTION, { headers: authorization(await server.key('pro')), agent: hangingUp })
  const failed = expect(given).rejects.toThrow()
  await waiting
  hangingUp.destroy()
  await failed
  let hasStopped = false
  const stopped = server.stop().then(() => {
    hasStopped = true
  })
  for (let turn = 0; turn < 50; turn++) await new Promise(resolve => setImmediate(resolve))
  expect(hasStopped).toBe(false)
  open()
  await stopped
  expect(errors).toEqual([])
})

it('counts as gone, and charges for nothing, what was asked behind another question by a caller who has hung up', async () => {
  const opened = latch()
  const arrived = latch()
  const bothGone = latch()
  let asked = 0
  let gone = 0
  const around = (service: Service): Service => ({
    ...service,
    async today() {
      if (++asked === 2) arrived.open()
      await opened.passed
      return service.today()
    },
  })
  const write = (line: string): void => {
    if (line.includes('"status":499') && ++gone === 2) bothGone.open()
  }
  const server = await serve(ground, { around, log: { level: 'info', write } })
  const { key } = await server.account('impatient', 'pro')
  const one = (limit: number): string =>
    `GET ${QUESTION}&limit=${limit} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`
  const socket = connect(server.port, '127.0.0.1')
  socket.write(one(1) + one(2))
  await arrived.passed
  socket.destroy()
  await bothGone.passed
  // They join those that are under way, and are charged after them.
  const again = [1, 2].map(limit => ask(`${server.url}${QUESTION}&limit=${limit}`, { headers: authorization(key) }))
  opened.open()
  const used = (await Promise.all(again)).map(({ headers }) => headers['x-requests-used'])
  expect(used.sort()).toEqual(['1', '2'])
  await server.stop()
})

it('is not held up by connections that ask nothing, or only begin to', async () => {
  const server = await serve(ground)
  const idle = connect(server.port, '127.0.0.1')
  idle.on('error', () => {})
  const closed = new Promise(resolve => idle.once('close', resolve))
  const begun = sendBytes(server.port, 'GET /healthz HTTP/1.1\r\nHost: x\r\n')
  const between = sendBytes(server.port, 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
  await ask(`${server.url}/healthz`)
  await server.stop()
  await Promise.all([closed, begun, between])
})
