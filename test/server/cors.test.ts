import { expect, it } from 'vitest'
import { ask, authorization, serve, serveFile } from '../support/serve.js'

const QUESTION = '/v1/events?ticker=SIM0001&field=rsi_zone'
const APP = 'https://app.example.com'
const CREDITS = ['X-Request', 'X-Hourly-Request'].flatMap(name => {
  return [`${name}-Limit`, `${name}s-Used`, `${name}s-Remaining`, `${name}-Reset`]
})

const { ground, server } = await serveFile({ cors: APP })

const preflight = (url: string, origin: string) =>
  ask(url + QUESTION, {
    method: 'OPTIONS',
    headers: [
      'Origin',
      origin,
      'Access-Control-Request-Method',
      'GET',
      'Access-Control-Request-Headers',
      'authorization',
    ],
  })

it('lets pages of the origin send a key, and read answers with their credits', async () => {
  const asked = await preflight(server.url, APP)
  expect([asked.status, asked.text]).toEqual([204, ''])
  expect(asked.headers).toMatchObject({
    'access-control-allow-origin': APP,
    'access-control-allow-methods': 'GET, HEAD, POST, DELETE',
    'access-control-allow-headers':
      'Authorization, Content-Type, If-None-Match, Idempotency-Key, X-Bands-Errors, X-TickerDB-Client',
    vary: 'Origin',
  })
  expect(asked.headers).not.toHaveProperty('content-length')
  const { status, headers } = await server.get(QUESTION, await server.key('pro'), { Origin: APP })
  expect([status, headers['access-control-allow-origin']]).toEqual([200, APP])
  expect(headers.vary).toContain('Origin')
  const exposed = headers['access-control-expose-headers']?.split(', ')
  expect(exposed).toEqual(expect.arrayContaining([...CREDITS, 'X-Request-Id', 'X-Bands-As-Of', 'ETag']))
})

it('lets them read refusals, too', async () => {
  const { status, headers } = await server.get(QUESTION, undefined, { Origin: APP })
  expect([status, headers['access-control-allow-origin']]).toEqual([401, APP])
  expect(headers['access-control-expose-headers']).toContain('WWW-Authenticate')
})

it.each([
  'https://app.example.com.evil.example',
  'https://evil.example',
  'http://app.example.com',
  'https://APP.example.com',
  'null',
  '*',
])('lets no page of %s', async origin => {
  expect((await preflight(server.url, origin)).status).toBe(401)
  const { headers } = await server.get(QUESTION, await server.key('pro'), { Origin: origin })
  expect(Object.keys(headers).filter(name => name.startsWith('access-control'))).toEqual([])
  expect(headers.vary).toContain('Origin')
})

it('answers OPTIONS as any other method where no page asks', async () => {
  const headers = [...authorization(await server.key('pro')), 'Origin', APP]
  expect((await ask(server.url + QUESTION, { method: 'OPTIONS', headers })).status).toBe(405)
})

it('is off unless an origin is named', async () => {
  const plain = await serve(ground)
  expect((await preflight(plain.url, APP)).status).toBe(401)
  const { headers } = await plain.get(QUESTION, await plain.key('pro'), { Origin: APP })
  expect(Object.keys(headers).filter(name => name.startsWith('access-control'))).toEqual([])
  expect(headers.vary).not.toContain('Origin')
  await plain.stop()
})
