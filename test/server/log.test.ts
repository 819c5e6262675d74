import { afterAll, expect, it } from 'vitest'
import { generateKey } from '../../src/server/accounts/key.js'
import { Log } from '../../src/server/http/log.js'
import { LOG_LEVELS, type LogLevel } from '../../src/server/http/options.js'
import type { Service } from '../../src/server/http/question.js'
import { ask, authorization, sendBytes, serve, simulatedGround } from '../support/serve.js'

const QUESTION = '/v1/events?ticker=SIM0001&field=rsi_zone'

const ground = await simulatedGround({ count: 1 })
afterAll(() => ground.remove())

function logAt(level: LogLevel) {
  const lines: string[] = []
  return { lines, log: { level, write: (text: string) => lines.push(text) } }
}

it('has one line of JSON for each request', async () => {
  const { lines, log } = logAt('info')
  const server = await serve(ground, { log })
  const { id, key, identity } = await server.account('logged', 'pro')
  const answer = await server.get(QUESTION, key, { 'X-Request-Id': 'trace-7' })
  await server.get('/nothing')
  await server.stop()
  const [listening, first, second, stopping] = lines.map(line => JSON.parse(line) as Record<string, unknown>)
  expect(lines.every(line => line.indexOf('\n') === line.length - 1)).toBe(true)
  expect(listening).toMatchObject({ level: 'info', message: expect.stringMatching(/^listening at http:/) })
  expect(first).toEqual({
    level: 'info',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    id: answer.headers['x-request-id'],
    method: 'GET',
    url: QUESTION,
    status: 200,
    ms: expect.any(Number),
    account: id,
    key: identity,
    credits: 1,
    called: 'trace-7',
  })
  expect(second).toMatchObject({ status: 401, credits: 0 })
  expect(second).not.toHaveProperty('account')
  expect(stopping).toMatchObject({ message: 'stopping' })
})

it('has no sign that steers a terminal', async () => {
  const { lines, log } = logAt('info')
  const server = await serve(ground, { log })
  const head = 'Host: x\r\nConnection: close\r\nX-Request-Id: a\u009b31m\u0085'
  await sendBytes(server.port, Buffer.from(`GET /nothing HTTP/1.1\r\n${head}\r\n\r\n`, 'latin1'))
  await server.stop()
  new Log(log).add('error', { error: 'turned \u202eround' })
  expect(lines.join('').replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u)
  expect(lines.map(line => JSON.parse(line).called)).toContain('a\u009b31m\u0085')
})

it('never contains a key, at any level, wherever a caller puts one, even after failures', async () => {
  const { lines, log } = logAt('trace')
  const key = generateKey().key
  const secret = key.slice(14)
  const fault = new Error(`cannot do ${key}`, { cause: new Error(key) })
  const around = (service: Service): Service => ({ ...service, today: () => Promise.reject(fault) })
  const server = await serve(ground, { log, around })
  const own = await server.key('pro')
  const odd = [
    `${QUESTION}&key=${key}`,
    `/${key}`,
    `/v1/events?${key}=1`,
    `/v1/events?ticker=${key}&field=rsi_zone`,
    `${QUESTION}&band=%62ands_${key.slice(6)}`,
    `/%${key}`,
    `/v1/events?ticker=${[...key].map(sign => `%${sign.charCodeAt(0).toString(16)}`).join('')}`,
    `/${'x'.repeat(480)}${key}`,
  ]
  const bodies: string[] = []
  for (const path of odd)
    for (const headers of [authorization(key), authorization(own), ['X-Request-Id', key], ['Cookie', key]])
      bodies.push((await ask(server.url + path, { headers })).text)
  for (const headers of [
    authorization(own),
    [...authorization(own), 'Idempotency-Key', `${key} `],
    ['Authorization', key],
  ])
    bodies.push((await ask(server.url + QUESTION, { headers })).text)
  for (const bytes of [
    `GET /${key}\0 HTTP/1.1\r\n\r\n`,
    `${key}\r\n\r\n`,
    `GET / HTTP/1.1\r\nA: ${key.repeat(500)}\r\n\r\n`,
  ])
    bodies.push((await sendBytes(server.port, bytes)).text)
  await server.stop()
  expect(lines.length).toBeGreaterThan(odd.length)
  for (const told of [...lines, ...bodies].map(text => unescaped(unescaped(text)))) {
    expect(told).not.toContain(secret)
    expect(told).not.toContain(own.slice(14))
  }
})

/** As it reads without percent signs. */
function unescaped(text: string): string {
  return text.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

it('cuts what is long', async () => {
  const { lines, log } = logAt('info')
  const server = await serve(ground, { log })
  await server.get(`/${'a,'.repeat(5_000)}`, undefined, { 'X-Request-Id': 'b,'.repeat(2_000) })
  await server.stop()
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(1_500)
})

it('has lines from its level on', () => {
  const levels = LOG_LEVELS.filter(level => level !== 'silent')
  for (const [least, level] of LOG_LEVELS.entries()) {
    const { lines, log } = logAt(level)
    for (const told of levels) new Log(log).add(told, { message: told })
    expect(lines.map(line => JSON.parse(line).level)).toEqual(levels.slice(least))
  }
})
