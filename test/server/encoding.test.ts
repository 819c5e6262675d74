import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { codingOf } from '../../src/server/http/encoding.js'
import { authorization, raw, serveFile } from '../support/serve.js'

const LONG = '/v1/events?ticker=SIM0001&field=rsi_zone&limit=100'

const { server } = await serveFile()

async function inCoding(path: string, coding: string, key?: string, more: readonly string[] = []) {
  const headers = [...authorization(key), 'Accept-Encoding', coding, ...more]
  return raw(server.url + path, { headers })
}

it.each([
  ['br', brotliDecompressSync],
  ['gzip', gunzipSync],
] as const)('sends answers above 1 kB in %s to who reads that, the same once it is read', async (coding, read) => {
  const key = await server.key('pro')
  for (const path of [LONG, '/docs', '/openapi.json']) {
    const { headers: plainly, text } = await server.get(path, key)
    const { status, headers, body } = await inCoding(path, coding, key)
    expect([status, headers['content-encoding'], plainly['content-encoding']]).toEqual([200, coding, undefined])
    expect(headers['content-length']).toBe(String(body.length))
    expect(body.length).toBeLessThan(text.length / 2)
    expect(read(body).toString('utf8')).toBe(text)
    for (const { vary } of [headers, plainly]) expect(vary).toMatch(/Accept-Encoding$/)
  }
})

it('has a weak tag then, which is as good for a 304', async () => {
  const key = await server.key('pro')
  const { etag } = (await server.get(LONG, key)).headers
  const { headers } = await inCoding(LONG, 'gzip', key)
  expect(headers.etag).toBe(`W/${etag}`)
  for (const tag of [headers.etag!, etag!]) {
    const again = await inCoding(LONG, 'gzip', key, ['If-None-Match', tag])
    expect([again.status, again.body.length, again.headers['content-encoding']]).toEqual([304, 0, undefined])
  }
})

it('leaves short answers as they are', async () => {
  const { headers, body } = await inCoding('/healthz', 'gzip, br')
  expect([headers['content-encoding'], headers.vary, body.toString()]).toEqual([
    undefined,
    undefined,
    '{"status":"ok"}',
  ])
})

it.each([
  ['gzip, deflate, br', 'br'],
  ['GZIP', 'gzip'],
  ['br;q=0.5, gzip;q=0.8', 'gzip'],
  ['br;q=0, gzip', 'gzip'],
  ['gzip; q=0', null],
  ['gzip;q=x', null],
  ['identity, *', null],
  ['deflate', null],
  ['', null],
])('takes of Accept-Encoding %s: %s', (accepted, coding) => {
  expect(codingOf(accepted)).toBe(coding)
})
