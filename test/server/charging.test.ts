import { createHash } from 'node:crypto'
import { Agent } from 'node:http'
import { describe, expect, it } from 'vitest'
import { openAccounts } from '../../src/app/open/accounts.js'
import { parseDay } from '../../src/core/model/day.js'
import type { Service } from '../../src/server/http/question.js'
import { notInQuick } from '../support/full.js'
import { ask, authorization, serve, serveFile, withCharges } from '../support/serve.js'

const QUESTION = '/v1/events?ticker=SIM0001&field=rsi_zone'
const CONTEXT = '&context_ticker=SIM0002&context_field=rsi_zone&context_band=oversold'
const NOON = Date.UTC(2024, 5, 30, 12)
const HOUR = 3_600_000

let now = NOON
/** What each commit was asked to write. */
const commits: number[] = []
const around = (service: Service): Service =>
  withCharges(service, charges => {
    commits.push(charges.length)
    return service.accounts.charge(charges)
  })
const pro = { day: 1_000, hour: 1_000 }
const credits = { free: { day: 250, hour: 100 }, plus: { day: 120, hour: 100 }, pro }
const { ground, server } = await serveFile({ now: () => now, credits, around })

async function usedBy(key: string): Promise<number> {
  return Number((await server.get('/nothing', key)).headers['x-requests-used'])
}

describe('an answer', () => {
  it('costs a credit, two with a context, one for a scan', async () => {
    const key = await server.key('pro')
    for (const [path, used] of [
      [QUESTION, 1],
      [QUESTION + CONTEXT, 3],
      ['/v1/scan/oversold', 4],
    ] as const) {
      const { status, headers } = await server.get(path, key)
      expect([status, headers['x-requests-used']]).toEqual([200, String(used)])
    }
    expect(await usedBy(key)).toBe(4)
  })

  it('is charged when it is asked for by HEAD', async () => {
    const key = await server.key('pro')
    await ask(server.url + QUESTION, { method: 'HEAD', headers: authorization(key) })
    expect(await usedBy(key)).toBe(1)
  })

  it('is charged again when it was kept', async () => {
    const key = await server.key('pro')
    for (let i = 0; i < 3; i++) await server.get(QUESTION, key)
    expect(await usedBy(key)).toBe(3)
  })

  it('is charged to the account, whichever of its keys asks', async () => {
    const { id, key } = await server.account('of two keys', 'pro')
    const other = await server.keyOf(id, 'other')
    await server.get(QUESTION, key)
    expect((await server.get(QUESTION, other)).headers['x-requests-used']).toBe('2')
  })

  it('costs nothing when it is a refusal', async () => {
    const key = await server.key('free')
    const refused = [`${QUESTION}&limit=0`, '/v1/events?ticker=NOSUCH&field=rsi_zone', QUESTION + CONTEXT, '/nothing']
    for (const path of refused) expect((await server.get(path, key)).status).toBeGreaterThanOrEqual(400)
    expect(await usedBy(key)).toBe(0)
  })

  it('costs nothing to who has it, and is given again to who has another', async () => {
    const key = await server.key('pro')
    const { headers } = await server.get(QUESTION, key)
    const again = await server.get(QUESTION, key, { 'If-None-Match': `"other, too", ${headers.etag},"more"` })
    expect([again.status, again.text, again.headers['content-length']]).toEqual([304, '', undefined])
    expect(again.headers).toMatchObject({ etag: headers.etag, vary: 'Authorization', 'x-requests-used': '1' })
    expect(await usedBy(key)).toBe(1)
    expect((await server.get(QUESTION, key, { 'If-None-Match': 'W/"another"' })).status).toBe(200)
  })

  it('has one tag as long as account and body are the same, whichever key asks and whichever server answers', async () => {
    const other = await serve(ground, { now: () => now })
    const { id, key } = await server.account('of one tag', 'pro')
    const { etag } = (await server.get(QUESTION, key)).headers
    expect((await server.get(QUESTION, await server.keyOf(id, 'another'))).headers.etag).toBe(etag)
    expect((await other.get(QUESTION, key)).headers.etag).toBe(etag)
    expect((await server.get(`${QUESTION}&limit=1`, key)).headers.etag).not.toBe(etag)
    await server.accounts.setTier('of one tag', 'free')
    expect((await server.get(QUESTION, key)).headers.etag).not.toBe(etag)
    await other.stop()
  })

  it('has a tag that cannot be forged: not by another account, not by hashing the body, not by guessing', async () => {
    const [key, other] = await Promise.all([server.key('pro'), server.key('pro')])
    const { headers, text } = await server.get(QUESTION, key)
    const hashed = createHash('sha256').update(text).digest('base64url')
    for (const tag of [headers.etag!, `"${hashed}"`, '*', ' * ', `*, ${headers.etag}`]) {
      const { status, text: told } = await server.get(QUESTION, other, { 'If-None-Match': tag })
      expect([status, told], tag).toEqual([200, text])
    }
    expect(await usedBy(other)).toBe(5)
  })
})

describe('a limit', () => {
  notInQuick('of a thousand is spent to exactly a thousand by 64 clients at once', async () => {
    const { id, key } = await server.account('quota', 'pro')
    commits.length = 0
    const statuses: number[] = []
    const client = async (number: number): Promise<void> => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      const lent = { headers: authorization(key), agent }
      for (let i = 0; i < 20; i++)
        statuses.push((await ask(`${server.url}${QUESTION}&limit=${number + 1}`, lent)).status)
      agent.destroy()
    }
    await Promise.all(Array.from({ length: 64 }, (_, number) => client(number)))
    expect(statuses.filter(status => status === 200)).toHaveLength(1_000)
    expect(statuses.filter(status => status === 429)).toHaveLength(280)
    expect(await server.accounts.usedCredits(id, now)).toEqual({ day: 1_000, hour: 1_000 })
    expect(await server.accounts.reconcile(id)).toMatchObject({ rows: 1_000, credits: 1_000, discrepancies: [] })
    expect(commits.reduce((sum, charges) => sum + charges, 0)).toBe(1_280)
    expect(commits.length).toBeLessThan(1_280 / 2)
  })

  it('holds for two servers on one store', async () => {
    const other = await serve(ground, { now: () => now })
    const { id, key } = await server.account('of two servers', 'free')
    const asked = Array.from({ length: 130 }, (_, i) => (i % 2 === 0 ? server : other).get(QUESTION, key))
    const statuses = (await Promise.all(asked)).map(({ status }) => status)
    expect(statuses.filter(status => status === 200)).toHaveLength(100)
    expect(await server.accounts.usedCredits(id, now)).toEqual({ day: 100, hour: 100 })
    await other.stop()
  })

  notInQuick('tells when there are new credits: of the hour, and of the day once that is spent too', async () => {
    now = NOON + 10 * 60_000 + 1
    const key = await server.key('plus')
    await spend(key, 99)
    const tooDear = await server.get(QUESTION + CONTEXT, key)
    expect(tooDear.status).toBe(429)
    expect((await server.get(QUESTION, key)).status).toBe(200)
    const ofHour = await server.get(QUESTION, key)
    expect(ofHour.json()).toMatchObject({ error: 'rate_limit_exceeded', reset: '2024-06-30T13:00:00Z' })
    expect(ofHour.json().upgrade_url).toBeNull()
    expect(ofHour.headers).toMatchObject({
      'retry-after': String(50 * 60),
      'x-hourly-requests-remaining': '0',
      'x-requests-remaining': '20',
    })
    now = NOON + HOUR
    await spend(key, 20)
    const ofDay = await server.get(QUESTION, key)
    expect(ofDay.json()).toMatchObject({ reset: '2024-07-01T00:00:00Z' })
    expect(ofDay.headers).toMatchObject({ 'retry-after': String(11 * 3600), 'x-hourly-requests-remaining': '80' })
    now = Date.UTC(2024, 6, 1)
    expect((await server.get(QUESTION, key)).headers['x-requests-used']).toBe('1')
    now = NOON
  })

  notInQuick('that was lowered below what is used leaves nothing', async () => {
    const { key } = await server.account('lowered', 'pro')
    await spend(key, 130)
    await server.accounts.setTier('lowered', 'plus')
    const refused = await server.get(QUESTION, key)
    expect(refused.status).toBe(429)
    expect(refused.headers).toMatchObject({ 'x-requests-used': '130', 'x-requests-remaining': '0' })
  })

  async function spend(key: string, credits: number): Promise<void> {
    for (let i = 0; i < credits; i++) expect((await server.get(QUESTION, key)).status).toBe(200)
  }
})

describe('Idempotency-Key', () => {
  it('makes the same question free for 48 hours, however it is spelled', async () => {
    const key = await server.key('pro')
    const named = { 'Idempotency-Key': 'retry-1' }
    await server.get(QUESTION, key, named)
    for (const path of [QUESTION, '/v1/events?field=rsi_zone&ticker=sim0001&limit=10&timeframe=daily'])
      expect((await server.get(path, key, named)).status).toBe(200)
    expect(await usedBy(key)).toBe(1)
    now = NOON + 48 * HOUR - 1
    expect((await server.get(QUESTION, key, named)).headers['x-requests-used']).toBe('0')
    now = NOON + 48 * HOUR
    expect((await server.get(QUESTION, key, named)).headers['x-requests-used']).toBe('1')
    now = NOON
  })

  it('is charged again once newer data have made the answer another one', async () => {
    let day = parseDay('2024-06-28')!
    const clocked = await serve(ground, { now: () => now, clock: () => day })
    const key = await clocked.key('free')
    const named = { 'Idempotency-Key': 'of-a-day' }
    const first = await clocked.get(QUESTION, key, named)
    expect((await clocked.get(QUESTION, key, named)).headers['x-requests-used']).toBe('1')
    day += 60
    const later = await clocked.get(QUESTION, key, named)
    expect(later.text).not.toBe(first.text)
    expect([later.status, later.headers['x-requests-used']]).toEqual([200, '2'])
    expect((await clocked.get(QUESTION, key, named)).headers['x-requests-used']).toBe('2')
    await clocked.stop()
  })

  it('is free also when all credits are spent, and belongs to the account', async () => {
    const { id, key } = await server.account('named', 'free')
    const other = await server.keyOf(id, 'other')
    const named = { 'Idempotency-Key': 'x' }
    await server.get(QUESTION, key, named)
    for (let i = 0; i < 99; i++) await server.get(QUESTION, key)
    expect((await server.get(QUESTION, key)).status).toBe(429)
    expect((await server.get(QUESTION, other, named)).status).toBe(200)
    expect((await server.get(QUESTION, await server.key('free'), named)).headers['x-requests-used']).toBe('1')
  })

  it('is refused for another question', async () => {
    const key = await server.key('pro')
    const named = { 'Idempotency-Key': 'same' }
    await server.get(QUESTION, key, named)
    for (const path of [`${QUESTION}&limit=11`, '/v1/scan/oversold']) {
      const refused = await server.get(path, key, named)
      expect([refused.status, refused.json().param]).toEqual([400, 'Idempotency-Key'])
    }
    expect(await usedBy(key)).toBe(1)
  })

  it('charges once when it is sent many times at once', async () => {
    const key = await server.key('pro')
    const answers = Array.from({ length: 30 }, () => server.get(QUESTION, key, { 'Idempotency-Key': 'all-at-once' }))
    for (const { status } of await Promise.all(answers)) expect(status).toBe(200)
    expect(await usedBy(key)).toBe(1)
  })

  it.each([
    ['empty', ['Idempotency-Key', '']],
    ['too long', ['Idempotency-Key', 'x'.repeat(256)]],
    ['with a blank inside', ['Idempotency-Key', 'a b']],
    ['of other signs', ['Idempotency-Key', 'caf\u00e9']],
    ['given twice', ['Idempotency-Key', 'a', 'idempotency-key', 'a']],
  ])('is refused when it is %s', async (_, headers) => {
    const key = await server.key('free')
    const refused = await ask(server.url + QUESTION, { headers: [...authorization(key), ...headers] })
    expect([refused.status, refused.json().param]).toEqual([400, 'Idempotency-Key'])
    expect(await usedBy(key)).toBe(0)
  })

  it('may have 255 signs', async () => {
    const longest = { 'Idempotency-Key': '~'.repeat(255) }
    expect((await server.get(QUESTION, await server.key('free'), longest)).status).toBe(200)
  })
})

it('writes a charge down before its answer leaves', async () => {
  const { id, key } = await server.account('durable', 'free')
  const others = await openAccounts({ db: ground.db })
  for (let used = 1; used <= 5; used++) {
    await server.get(QUESTION, key)
    expect(await others.usedCredits(id, now)).toEqual({ day: used, hour: used })
  }
  await others.close()
})
