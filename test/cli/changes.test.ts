import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { firstInQuick, notInQuick } from '../support/full.js'
import { BARS, expectEnd, type Lent, type Ran, scratch, typed } from './support/run.js'

const folder = scratch()
const env = { BANDS_DB: folder.file('market.db') }
const ask = (line: string, lent: Lent = {}): Promise<Ran> => typed(line, { ...lent, env: { ...env, ...lent.env } })

beforeAll(async () => {
  const { code, err } = await ask(`import ${BARS}/AAPL.csv ${BARS}/GSPC.csv`)
  expect(code, err).toBe(0)
})
afterAll(() => folder.remove())

interface Row {
  ticker: string
  field: string
  timeframe: string
  date: string
  band: string
}

async function rows(line: string): Promise<Row[]> {
  const { code, out, err } = await ask(`${line} --ndjson`)
  expect(code, err).toBe(0)
  return out
    .trim()
    .split('\n')
    .filter(text => text !== '')
    .map(text => JSON.parse(text))
}

const nameOf = ({ date, ticker, timeframe, field }: Row): string => `${date} ${ticker} ${timeframe} ${field}`

describe('bands changes', () => {
  it('--since D tells the events of all fields on bars that became final after D, as an export has them (Q4)', async () => {
    const all = await rows('export events')
    for (const since of firstInQuick(['2018-05-04', '2018-05-10', '2018-04-28', '2018-02-04', '2013-06-01'], 2)) {
      const found = await rows(`changes --since ${since}`)
      // The sample trades from Monday to Friday: a week is final on its Friday, or on the Saturday after a shorter one.
      const isAfter = ({ date, timeframe }: Row): boolean => {
        const day = new Date(`${date}T00:00:00Z`)
        const short = timeframe === 'weekly' && day.getUTCDay() !== 5
        if (short) day.setUTCDate(day.getUTCDate() + 6 - day.getUTCDay())
        return day.toISOString().slice(0, 10) > since
      }
      const expected = all.filter(isAfter)
      expect(found.length).toBe(expected.length)
      expect(found.toSorted(byName)).toEqual(expected.toSorted(byName))
      expect(found.map(({ date }) => date)).toEqual(
        found
          .map(({ date }) => date)
          .toSorted()
          .reverse(),
      )
    }
  })

  it('shows the events of the newest final day without --since', async () => {
    expect(await rows('changes')).toEqual(await rows('changes --since 2018-05-10'))
    const then = await rows('changes --as-of 2018-02-08')
    expect(then.length).toBeGreaterThan(0)
    expect(new Set(then.map(({ date }) => date))).toEqual(new Set(['2018-02-08']))
  })

  it('keeps to fields, a timeframe, tickers, and to bars on which a condition holds', async () => {
    const found = await rows('changes --since 2017-01-01 --field rsi_zone --timeframe daily --tickers AAPL')
    const events = await rows('export events --tickers AAPL --field rsi_zone --timeframe daily')
    expect(found.map(nameOf)).toEqual(
      events
        .filter(({ date }) => date > '2017-01-01')
        .map(nameOf)
        .reverse(),
    )
    const held = JSON.parse(
      (await ask('changes --since 2017-01-01 --field rsi_zone --timeframe daily --when rsi_zone!=neutral --json')).out,
    )
    expect(held.changes.length).toBeGreaterThan(0)
    for (const { band } of held.changes) expect(band).not.toBe('neutral')
  })

  it('exits with 3 under --fail-empty when nothing changed, and says so', async () => {
    const line = 'changes --tickers GSPC --field earnings_surprise'
    expectEnd(await ask(line), 0, 'No change')
    expectEnd(await ask(`${line} --fail-empty`), 3, 'No change')
  })
})

describe('another name for a ticker', () => {
  it('goes with it in lists and in shown changes; a removed ticker stays in its lists', async () => {
    const own = { env: { BANDS_DB: folder.file('renamed.db') } }
    await typed(`import ${BARS}/AAPL.csv ${BARS}/GSPC.csv`, own)
    expectEnd(await typed('rename AAPL PEAR', own), 0, '')
    for (const line of ['watch add tech GSPC,PEAR', 'changes --since last --watch tech --as-of 2018-05-08'])
      expectEnd(await typed(line, own), 0, '')
    const { out } = await typed('rename PEAR APPLE', own)
    expect(out).toContain('PEAR is APPLE now')
    expect(out).toContain('in the list tech, too')
    expect(JSON.parse((await typed('watch show tech --json', own)).out).tickers).toEqual(['GSPC', 'APPLE'])
    const found = JSON.parse((await typed('changes --since last --watch tech --json', own)).out)
    expect(found.since).toBe('last')
    const named = (row: Row): string => nameOf({ ...row, ticker: row.ticker.replace('APPLE', 'AAPL') })
    const all = (await rows('changes --since 2018-05-08')).map(nameOf)
    expect(found.changes.map(named).toSorted()).toEqual(all.toSorted())
    expectEnd(await typed('remove APPLE', own), 0, '')
    expect(JSON.parse((await typed('watch show tech --json', own)).out).tickers).toEqual(['GSPC', 'APPLE'])
  })
})

describe('--webhook', () => {
  const received: { body: string; headers: Record<string, unknown> }[] = []
  let statuses: number[] = []
  let retryAfter = 0
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', chunk => {
      body += chunk
    })
    request.on('end', () => {
      received.push({ body, headers: { ...request.headers } })
      const wait: Record<string, number> = retryAfter > 0 ? { 'retry-after': retryAfter } : {}
      response.writeHead(statuses.shift() ?? 204, { location: 'http://127.0.0.1:1/', ...wait }).end()
    })
  })
  let url = ''
  beforeAll(async () => {
    await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?token=hidden`
  })
  afterAll(() => server.close())
  const secret = { BANDS_WEBHOOK_SECRET: 'a secret' }

  it('posts the JSON that --json prints, signed with its name and time, and shows the answer without the path', async () => {
    received.length = 0
    const ran = await ask(`changes --since 2018-05-01 --json --allow-private --webhook ${url}`, { env: secret })
    expectEnd(ran, 0, 'which answered 204')
    expect(ran.err).not.toContain('hidden')
    const [{ body, headers }] = received as [(typeof received)[number]]
    expect(JSON.parse(body)).toEqual(JSON.parse(ran.out))
    const { 'x-bands-delivery': name, 'x-bands-time': time, 'x-bands-signature': signature } = headers
    const signed = createHmac('sha256', 'a secret').update(`${name}.${time}.${body}`)
    expect(signature).toBe(`sha256=${signed.digest('hex')}`)
    expect(Math.abs(Number(time) - Date.now() / 1000)).toBeLessThan(60)
    expect(headers['content-type']).toBe('application/json')
  })

  notInQuick('tries again after a 503 under the same name, and moves last on only after a 2xx', async () => {
    const line = `changes --since last --watch none --json --retries 1 --allow-private --webhook ${url}`
    await ask('watch add none AAPL')
    await ask('changes --since last --watch none --as-of 2018-05-08')
    received.length = 0
    statuses = [503, 500]
    expectEnd(await ask(line, { env: secret }), 7, 'answered 500 (tried 2 times)')
    expect(new Set(received.map(({ headers }) => headers['x-bands-delivery'])).size).toBe(1)
    statuses = [503, 200]
    const found = JSON.parse((await ask(line, { env: secret })).out)
    expect(found.changes.length).toBeGreaterThan(0)
    expect(JSON.parse((await ask('changes --since last --watch none --json')).out).changes).toEqual([])
  })

  it.each([120, 9_999_999])(
    'is not asked again before the %i seconds for which it wants to be left alone',
    async wait => {
      received.length = 0
      statuses = [503]
      retryAfter = wait
      const ran = await ask(`changes --since 2018-05-01 --allow-private --webhook ${url}`, { env: secret })
      retryAfter = 0
      expectEnd(ran, 7, 'answered 503')
      expect(received).toHaveLength(1)
    },
  )

  it('follows no redirect, and goes to no private address unless that is allowed', async () => {
    statuses = [302]
    expectEnd(
      await ask(`changes --allow-private --webhook ${url}`, { env: secret }),
      7,
      'a redirect, which is not followed',
    )
    const before = received.length
    for (const host of ['127.0.0.1', 'localhost', '10.1.2.3', '[::1]', '[::ffff:127.0.0.1]'])
      expectEnd(await ask(`changes --webhook http://${host}:9/`, { env: secret }), 2, '--allow-private')
    expect(received.length).toBe(before)
  })

  it('needs a secret, and an address', async () => {
    expectEnd(await ask(`changes --allow-private --webhook ${url}`), 6, 'BANDS_WEBHOOK_SECRET')
    expectEnd(await ask('changes --webhook nowhere', { env: secret }), 2, 'is no address of a server')
    expectEnd(await ask('changes --webhook http://u:p@example.com/', { env: secret }), 2, 'user name or a password')
    expectEnd(await ask('changes --allow-private'), 2, 'is for --webhook')
  })

  it('posts the answer of a screen, too', async () => {
    received.length = 0
    const ran = await ask(`screen rsi_zone!=oversold --json --allow-private --webhook ${url}`, { env: secret })
    expect(JSON.parse(received[0]!.body)).toEqual(JSON.parse(ran.out))
    expect(JSON.parse(ran.out).matches.length).toBe(2)
  })
})

function byName(a: Row, b: Row): number {
  return nameOf(a) < nameOf(b) ? -1 : 1
}
