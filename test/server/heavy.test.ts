import { Agent } from 'node:http'
import { expect, it, onTestFinished } from 'vitest'
import type { Service } from '../../src/server/http/question.js'
import { notInQuick } from '../support/full.js'
import { ask, authorization, latch, type Served, type ServeLent, serve, serveFile, spend } from '../support/serve.js'

const SCAN = '/v1/scan/oversold'
const QUESTION = '/v1/events?ticker=SIM0001&field=rsi_zone'
const SEVERITIES = ['oversold', 'deep_oversold']
const SORTS = ['severity', 'days_oversold', 'condition_percentile']
/** Six scans of which none is a part of another. */
const SCANS = SEVERITIES.flatMap(severity => SORTS.map(by => `${SCAN}?min_severity=${severity}&sort_by=${by}`))
const NOON = Date.UTC(2024, 5, 30, 12)

const { ground } = await serveFile()

/** A server whose scans wait until they are let go, one at a time; and which were begun and given up. */
async function slow({ waiting = 100, ...lent }: ServeLent & { waiting?: number } = {}) {
  const begun: string[] = []
  const givenUp: string[] = []
  const held = latch()
  const hasBegun = latch()
  const around = (service: Service): Service => ({
    ...service,
    scansAtOnce: 1,
    async oversold(tier, query, signal) {
      const name = `${query.min_severity} ${query.sort_by}`
      begun.push(name)
      hasBegun.open()
      const gone = new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => {
          givenUp.push(name)
          reject(signal.reason)
        })
      })
      await Promise.race([held.passed, gone])
      return service.oversold(tier, query, signal)
    },
  })
  const server = await serve(ground, { around, ...lent, limits: { waiting, ...lent.limits } })
  onTestFinished(() => {
    held.open()
    return server.stop()
  })
  const scan = (i: number, key: string) => server.get(SCANS[i]!, key)
  /** The same one after the other, each once those before it wait. */
  const scans = async (asked: readonly number[], key: string) => {
    const answers: ReturnType<typeof scan>[] = []
    for (const i of asked) {
      const before = await scansWaiting(server)
      answers.push(scan(i, key))
      while ((await scansWaiting(server)) === before);
    }
    return answers
  }
  return { server, scan, scans, begun, givenUp, letGo: held.open, hasBegun: hasBegun.passed }
}

async function scansWaiting(server: Served): Promise<number> {
  return Number(/^bands_scans_waiting (\d+)$/m.exec((await server.get('/metrics')).text)?.[1])
}

/** Settles when the server has taken in all that was sent before. */
async function taken(server: { url: string }): Promise<void> {
  for (let round = 0; round < 3; round++) await ask(`${server.url}/healthz`)
}

const nameOf = (i: number): string => SCANS[i]!.replace(/.*severity=(.*)&sort_by=/, '$1 ')

notInQuick('answers a customer while someone without credits asks for one scan after the other', async () => {
  const server = await serve(ground, { now: () => NOON })
  onTestFinished(() => server.stop())
  const poor = await server.account('without credits', 'free')
  await spend(server.accounts, poor, 100, NOON)
  const customer = await server.key('pro')
  const attack = Array.from({ length: 150 }, (_, i) => server.get(`${SCANS[i % 6]}${'&'.repeat(i)}`, poor.key))
  const answers = await Promise.all([...SCANS, QUESTION].map(path => server.get(path, customer)))
  expect(answers.map(({ status }) => status)).toEqual(Array(7).fill(200))
  for (const { status } of await Promise.all(attack)) expect(status).toBe(429)
})

it('answers small questions while scans run', async () => {
  const { server, scan, scans, letGo, hasBegun } = await slow()
  const key = await server.key('pro')
  const first = scan(0, key)
  await hasBegun
  const others = await scans([1, 2, 3], key)
  for (const path of ['/healthz', '/readyz', QUESTION]) expect((await server.get(path, key)).status).toBe(200)
  expect(await scansWaiting(server)).toBe(3)
  letGo()
  for (const { status } of await Promise.all([first, ...others])) expect(status).toBe(200)
})

it('refuses with 503 and a time to wait what would wait beyond the bound, and charges nothing for it', async () => {
  const { server, scan, scans, letGo, hasBegun } = await slow({ waiting: 2 })
  const { id, key } = await server.account('asks for much', 'pro')
  const first = scan(0, key)
  await hasBegun
  const others = await scans([1, 2], key)
  for (const i of [3, 4]) {
    const refused = await scan(i, key)
    expect([refused.status, refused.json().error]).toEqual([503, 'data_unavailable'])
    expect(refused.headers['retry-after']).toMatch(/^\d+$/)
  }
  letGo()
  for (const { status } of await Promise.all([first, ...others])) expect(status).toBe(200)
  expect((await server.accounts.usedCredits(id, Date.now())).day).toBe(3)
})

it('lets accounts take turns, and who waits for most gives way', async () => {
  const { server, scan, scans, begun, letGo, hasBegun } = await slow({ waiting: 4 })
  const much = await server.key('pro')
  const little = await server.key('pro')
  const first = scan(0, much)
  await hasBegun
  const many = await scans([1, 2, 3, 4], much)
  const one = scan(5, little)
  expect((await many[3]!).status).toBe(503)
  letGo()
  for (const { status } of await Promise.all([first, one, ...many.slice(0, 3)])) expect(status).toBe(200)
  expect(begun).toEqual([0, 1, 5, 2, 3].map(nameOf))
})

it('answers who asks what another waits for in his own turn, and once for both', async () => {
  const { server, scan, scans, begun, letGo, hasBegun } = await slow()
  const much = await server.key('pro')
  const little = await server.key('pro')
  const first = scan(0, much)
  await hasBegun
  const many = await scans([1, 2, 3], much)
  const same = scan(3, little)
  await taken(server)
  letGo()
  for (const { status } of await Promise.all([first, ...many, same])) expect(status).toBe(200)
  expect(begun).toEqual([0, 1, 3, 2].map(nameOf))
})

it('aborts work without waiting callers, whether it has begun or not', async () => {
  const { server, scan, begun, givenUp, letGo, hasBegun } = await slow({ waiting: 2 })
  const gone = await server.key('pro')
  const stays = await server.key('pro')
  const agent = new Agent()
  const hungUp: Promise<void>[] = []
  for (const i of [0, 1, 2]) {
    const asked = ask(server.url + SCANS[i], { headers: authorization(gone), agent })
    hungUp.push(expect(asked).rejects.toThrow())
    await hasBegun
    while ((await scansWaiting(server)) < i);
  }
  const shared = scan(1, stays)
  await taken(server)
  agent.destroy()
  await Promise.all(hungUp)
  // The one that is shared has its turn then.
  while ((await scansWaiting(server)) > 0);
  const later = scan(4, stays)
  letGo()
  expect([(await shared).status, (await later).status]).toEqual([200, 200])
  expect(givenUp).toEqual([nameOf(0)])
  expect(begun).toEqual([0, 1, 4].map(nameOf))
})

it('computes nothing for who has spent the last credit while waiting', async () => {
  const { server, scan, scans, begun, letGo, hasBegun } = await slow({ now: () => NOON })
  const spender = await server.account('with one credit', 'plus')
  await spend(server.accounts, spender, 4_999, NOON)
  const first = scan(0, await server.key('pro'))
  await hasBegun
  const [waits] = await scans([1], spender.key)
  expect((await server.get(QUESTION, spender.key)).status).toBe(200)
  letGo()
  expect([(await first).status, (await waits!).status]).toEqual([200, 429])
  expect(begun).toEqual([nameOf(0)])
})

notInQuick('does not take an answer that is worked on for an idle connection', async () => {
  const { server, scan, letGo } = await slow({ limits: { connectionTimeout: 50 } })
  const scanned = scan(0, await server.key('pro'))
  setTimeout(letGo, 300)
  expect((await scanned).status).toBe(200)
})

it('refuses a scan that is wrong at once, and not in its turn', async () => {
  const { server, scan, hasBegun, letGo } = await slow({ waiting: 0 })
  const key = await server.key('pro')
  const first = scan(0, key)
  await hasBegun
  expect((await server.get(`${SCAN}?sector=none`, key)).status).toBe(400)
  letGo()
  expect((await first).status).toBe(200)
})
