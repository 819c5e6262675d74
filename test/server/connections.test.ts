import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { request } from 'node:https'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Connections, networkOf } from '../../src/server/http/connections.js'
import { type Limits, LIMITS as USUAL_LIMITS } from '../../src/server/http/options.js'
import { ERROR_SHAPES } from '../../src/server/wire/format.js'
import { notInQuick } from '../support/full.js'
import {
  ask,
  authorization,
  type Ground,
  latch,
  type Served,
  type ServeLent,
  sendBytes,
  serve,
  serveFile,
} from '../support/serve.js'

const QUESTION = '/v1/events?ticker=SIM0001&field=rsi_zone'
/** Far shorter than in earnest, so that the tests do not take as long. */
const LIMITS = {
  headersTimeout: 300,
  requestTimeout: 600,
  checkInterval: 50,
  connectionTimeout: 900,
  keepAliveTimeout: 200,
}

/** A day: a test that waits for the end of it fails. */
const DAY = 86_400_000
const PATIENT = { headersTimeout: DAY, requestTimeout: DAY, connectionTimeout: DAY, keepAliveTimeout: DAY }

const { ground, server } = await serveFile({ count: 1, limits: LIMITS })
/** For what is no matter of time; only a connection that has its answer ends soon. */
const patient = await serve(ground, { limits: { ...PATIENT, keepAliveTimeout: LIMITS.keepAliveTimeout } })
afterAll(() => patient.stop())
const key = await patient.key('pro')

/** The answer in what came back, which must be one, and the last thing on its connection. */
function answerIn(text: string): { status: number; headers: string; body: Record<string, unknown> } {
  const [headers = '', body = ''] = text.split('\r\n\r\n')
  expect(headers.match(/^HTTP\/1\.1 /gm)).toHaveLength(1)
  expect(headers).toMatch(/^connection: close$/im)
  expect(headers).toMatch(/^x-request-id: [0-9a-f-]{36}$/im)
  expect(headers).toMatch(new RegExp(`^content-length: ${Buffer.byteLength(body)}$`, 'im'))
  return { status: Number(headers.slice(9, 12)), headers, body: JSON.parse(body) }
}

const PLAIN = 'GET / HTTP/1.1\r\nHost: x\r\n'

describe('what is no proper HTTP is told so, and the connection ends', () => {
  it.each([
    ['other protocols', 'EHLO example.org\r\n\r\n', 400],
    ['bytes of any kind', Buffer.from([0, 255, 254, 13, 10, 13, 10]).toString('latin1'), 400],
    ['the greeting of TLS', '\x16\x03\x01\x02\x00\x01\x00\x01', 400],
    ['a method that there is not', 'SUMMON / HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['a header without a name', 'GET / HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n', 400],
    ['a header with a NUL', 'GET / HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n', 400],
    ['a folded header', 'GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n', 400],
    ['two lengths', 'GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab', 400],
    ['a length and chunks', `${PLAIN}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 400],
    ['two Hosts', 'GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n', 400],
    ['no Host', 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['more headers than there is room for', `GET / HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
    ['a URL for which there is no room at all', `GET /${'a'.repeat(40_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
    ['a URL that is too long', `GET /${'a'.repeat(13_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 414],
  ])('%s', async (_, bytes, status) => {
    const { text } = await sendBytes(patient.port, Buffer.from(bytes, 'latin1'))
    const answer = answerIn(text)
    expect(answer.status).toBe(status)
    expect(answer.body).toMatchObject({ error: 'invalid_parameter', message: expect.stringMatching(/^[^\n]+\.$/) })
  })

  it.each(ERROR_SHAPES)('in the shape %s', async errors => {
    const shaped = await serve(ground, { errors })
    const { body } = answerIn((await sendBytes(shaped.port, 'no\r\n\r\n')).text)
    expect(typeof body.error).toBe(errors === 'flat' ? 'string' : 'object')
    await shaped.stop()
  })

  it('and the next one is answered as ever', async () => {
    expect((await patient.get(QUESTION, key)).status).toBe(200)
  })
})

describe('a body', () => {
  const head = (method: string): string =>
    `${method} ${QUESTION} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`

  it.each([
    ['of a length', 'Content-Length: 5\r\n\r\nhello'],
    ['in chunks', 'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n'],
  ])('%s is refused, and not taken for the next request', async (_, rest) => {
    for (const [method, status] of [
      ['GET', 400],
      ['POST', 405],
      ['DELETE', 405],
    ] as const) {
      const { text } = await sendBytes(patient.port, `${head(method)}${rest}${head('GET')}\r\n`)
      const answer = answerIn(text)
      expect(answer.status).toBe(status)
      if (method === 'GET') expect(answer.body).toMatchObject({ error: 'invalid_parameter', param: 'body' })
    }
    expect(answerIn((await sendBytes(patient.port, `GET /v1/events HTTP/1.1\r\nHost: x\r\n${rest}`)).text).status).toBe(
      401,
    )
  })

  it('of no length is none', async () => {
    const headers = [...authorization(key), 'Content-Length', '0', 'Content-Type', 'application/json']
    expect((await ask(patient.url + QUESTION, { headers })).status).toBe(200)
  })
})

describe('slow callers', () => {
  it('are told after a while, and hung up on: head by drips', async () => {
    const more = Array.from({ length: 50 }, (_, i) => `X-${i}: y\r\n`)
    const asked = Array.from({ length: 20 }, () =>
      sendBytes(server.port, 'GET /healthz HTTP/1.1\r\nHost: x\r\n', { more, pause: 40 }),
    )
    for (const { text } of await Promise.all(asked)) expect(answerIn(text).status).toBe(408)
  })

  it('are told after a while, and hung up on: a body by drips', async () => {
    const head = 'POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n'
    const { text } = await sendBytes(server.port, head, { more: Array.from({ length: 50 }, () => 'x'), pause: 40 })
    expect(answerIn(text).status).toBe(401)
  })

  it('are hung up on when they say nothing', async () => {
    const { text } = await sendBytes(server.port, '')
    if (text !== '') expect(answerIn(text).status).toBe(408)
  })

  notInQuick('are hung up on between two requests', async () => {
    const { text } = await sendBytes(server.port, 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
    expect(text).toMatch(/^HTTP\/1\.1 200 /)
  })

  notInQuick('are hung up on when they do not take their answers', async () => {
    const socket = connect(server.port, '127.0.0.1')
    socket.on('error', () => {})
    socket.pause()
    const closed = new Promise<void>(resolve => socket.once('close', () => resolve()))
    const question = `GET ${QUESTION}&limit=100 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${await server.key('pro')}\r\n\r\n`
    await pushed(socket, question, 3_000)
    socket.resume()
    await closed
  })
})

/** Writes a text again and again as long as there is room, and leaves it at that when there is none any more. */
async function pushed(socket: Socket, text: string, times: number): Promise<void> {
  for (let i = 0; i < times && !socket.destroyed; i++) {
    if (socket.write(text)) continue
    const drained = new Promise<boolean>(resolve => {
      socket.once('drain', () => resolve(true))
      socket.once('close', () => resolve(false))
      setTimeout(() => resolve(false), 2 * LIMITS.connectionTimeout)
    })
    if (!(await drained)) return
  }
}

it('answers requests that were sent at once in their order', async () => {
  const one = (limit: number): string =>
    `GET ${QUESTION}&limit=${limit} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n${limit === 9 ? 'Connection: close\r\n' : ''}\r\n`
  const { text } = await sendBytes(patient.port, [1, 0, 2, 3, 4, 5, 6, 7, 8, 9].map(one).join(''))
  const bodies = text.split(/HTTP\/1\.1 \d+ [\w ]+\r\n(?:[^\r\n]+\r\n)+\r\n/).slice(1)
  const lengths = bodies.map(body => (JSON.parse(body).events as unknown[] | undefined)?.length)
  expect(lengths).toEqual([1, undefined, 2, 3, 4, 5, 6, 7, 8, 9])
})

describe('a full house', () => {
  const ask = (port: number, key?: string): Promise<{ text: string }> => {
    const bearer = key === undefined ? '' : `Authorization: Bearer ${key}\r\n`
    return sendBytes(port, `GET ${QUESTION} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${bearer}\r\n`)
  }
  const opened = servers(ground, { connections: 8, ...PATIENT })

  it('of connections that say nothing answers who has a key, and closes those that have waited longest', async () => {
    const { port, key } = await opened()
    const silent = await idle(port, 20)
    const { text } = await ask(port, key)
    expect(text).toMatch(/^HTTP\/1\.1 200 /)
    await expect.poll(() => silent.map(isClosed)).toEqual(silent.map((_, i) => i < 13))
  })

  it('closes one on which a key was seen after all on which none was', async () => {
    const { port, key } = await opened()
    const [customer] = await idle(port, 1)
    customer!.write(`GET ${QUESTION} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`)
    await once(customer!, 'data')
    const silent = await idle(port, 12)
    await expect.poll(() => silent.filter(isClosed).length).toBe(5)
    expect(isClosed(customer!)).toBe(false)
  })

  it('turns the new one away while all others are being answered', async () => {
    const { passed, open } = latch()
    const { port, key } = await opened({}, service => ({ ...service, version: () => passed.then(service.version) }))
    const customers = await idle(port, 8)
    for (const customer of customers) {
      const question = `GET ${QUESTION} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`
      customer.write(`GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n${question}`)
      // The question has arrived with the other, whose answer comes first.
      expect(String(await once(customer, 'data'))).toMatch(/^HTTP\/1\.1 200 .*"ok"/s)
    }
    expect((await ask(port, key)).text).toBe('')
    const answers = Promise.all(customers.map(customer => once(customer, 'data')))
    open()
    for (const [answer] of await answers) expect(String(answer)).toMatch(/^HTTP\/1\.1 200 .*"events"/s)
  })

  it('says from three quarters on that an answer is the last of its connection', async () => {
    const { port, key } = await opened()
    const question = `GET ${QUESTION} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`
    const [customer] = await idle(port, 1)
    const isLast = async (): Promise<boolean> => {
      customer!.write(question)
      return /^connection: close\r$/im.test(String((await once(customer!, 'data'))[0]))
    }
    expect(await isLast()).toBe(false)
    await idle(port, 4)
    expect(await isLast()).toBe(false)
    await idle(port, 1)
    expect(await isLast()).toBe(true)
  })

  it('gives one address its share alone, and counts what it closed', async () => {
    const { port, url, key } = await opened({ connectionsPerAddress: 3 })
    const elsewhere = await idle(port, 2, '127.0.0.2')
    const silent = await idle(port, 6)
    await expect.poll(() => silent.map(isClosed)).toEqual([true, true, true, false, false, false])
    expect((await ask(port, key)).text).toMatch(/^HTTP\/1\.1 200 /)
    expect(elsewhere.map(isClosed)).toEqual([false, false])
    const metrics = await (await fetch(`${url}/metrics`)).text()
    expect(metrics).toMatch(/^bands_connections_crowded_total\{limit="address"\} 4$/m)
    expect(metrics).toMatch(/^bands_connections_crowded_total\{limit="all"\} 0$/m)
  })

  it.each([
    ['203.0.113.9', '203.0.113.9'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['2001:db8:0:7::1', '2001:db8:0:7'],
    ['2001:db8::1', '2001:db8:0:0'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['::1', '0:0:0:0'],
  ])('takes %s for one caller, %s', (address, network) => {
    expect(networkOf(address)).toBe(network)
  })
})

/** Servers that end with the test that opened them, each with a key of a customer. */
function servers(ground: Ground, house: Partial<Limits>) {
  return async (limits: Partial<Limits> = {}, around?: ServeLent['around']) => {
    const server = await serve(ground, { limits: { ...house, ...limits }, ...(around && { around }) })
    onTestFinished(() => server.stop())
    return { ...server, key: await server.key('pro') }
  }
}

/** Connections on which nothing is said; they go with the test. @param from the address that they come from */
async function idle(port: number, count: number, from = '127.0.0.1'): Promise<Socket[]> {
  const sockets: Socket[] = []
  for (let i = 0; i < count; i++) {
    const socket = connect({ port, host: '127.0.0.1', localAddress: from })
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => {})
    await once(socket, 'connect')
    // In the order in which the server is to see them.
    sockets.push(socket.resume())
  }
  return sockets
}

function isClosed(socket: Socket): boolean {
  return socket.closed || socket.readyState !== 'open'
}

it('answers HTTP/1.0 without a Host', async () => {
  const { text } = await sendBytes(patient.port, 'GET /healthz HTTP/1.0\r\n\r\n')
  expect(text).toMatch(/^HTTP\/1\.1 200 /)
})

const OPENSSL = hasOpenssl()
if (!OPENSSL) process.stderr.write('skipped: TLS, as there is no openssl to make a certificate\n')

describe.skipIf(!OPENSSL)('over TLS', () => {
  let folder: string
  let secure: Served
  let tls: { cert: string; key: string }
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'bands-tls-'))
    tls = certificate('ec -pkeyopt ec_paramgen_curve:prime256v1')
    secure = await serve(ground, { limits: LIMITS, tls })
  })
  afterAll(async () => {
    await secure.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  function certificate(kind: string): { cert: string; key: string } {
    const certFile = join(folder, 'cert.pem')
    const keyFile = join(folder, 'key.pem')
    const words = `req -x509 -newkey ${kind} -nodes -days 2 -subj /CN=localhost`
    execFileSync('openssl', [...words.split(' '), '-keyout', keyFile, '-out', certFile], { stdio: 'ignore' })
    return { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') }
  }

  const headersOf = (url: string): Promise<IncomingHttpHeaders> =>
    new Promise((resolve, reject) => {
      const asked = request(url, { rejectUnauthorized: false, agent: false }, answer => {
        answer.resume()
        resolve(answer.headers)
      })
      asked.on('error', reject).end()
    })

  const statusOf = (url: string, key: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const headers = { Authorization: `Bearer ${key}` }
      const asked = request(url, { headers, rejectUnauthorized: false, agent: false }, answer => {
        answer.resume()
        resolve(answer.statusCode)
      })
      asked.on('error', reject).end()
    })

  it('says in every answer that a browser must not guess its type, and must come back over TLS', async () => {
    for (const path of ['/healthz', '/nothing', '/docs', `/healthz?${'x'.repeat(20_000)}`]) {
      const headers = await headersOf(secure.url + path)
      expect(headers, path).toMatchObject({
        'x-content-type-options': 'nosniff',
        'strict-transport-security': 'max-age=31536000',
      })
    }
  })

  notInQuick('takes no cipher without forward secrecy, neither at the start nor with a new certificate', async () => {
    const rsa = certificate('rsa:2048')
    const served = await serve(ground, { limits: LIMITS, tls: rsa })
    onTestFinished(() => served.stop())
    const shakes = (options: ConnectionOptions): Promise<string | null> =>
      new Promise(resolve => {
        const socket = connectTls({ port: served.port, rejectUnauthorized: false, ...options }, () => {
          resolve(socket.getProtocol())
          socket.destroy()
        })
        socket.on('error', () => resolve(null))
      })
    const checked = async () => {
      const ciphers = ['AES128-GCM-SHA256', 'AES256-SHA', 'ECDHE-RSA-AES128-SHA', 'ECDHE-RSA-AES128-GCM-SHA256']
      const found = ciphers.map(name => shakes({ ciphers: name, maxVersion: 'TLSv1.2' }))
      return [...(await Promise.all(found)), await shakes({})]
    }
    expect(await checked()).toEqual([null, null, null, 'TLSv1.2', 'TLSv1.3'])
    served.setCertificate(rsa)
    expect(await checked()).toEqual([null, null, null, 'TLSv1.2', 'TLSv1.3'])
  })

  it('closes the longest idle of a full house, and answers', async () => {
    const full = await serve(ground, { limits: { connections: 4, ...PATIENT }, tls })
    onTestFinished(() => full.stop())
    const silent = await idle(full.port, 3)
    const shaken = connectTls({ port: full.port, rejectUnauthorized: false })
    onTestFinished(() => void shaken.destroy())
    await once(shaken, 'secureConnect')
    silent.push(...(await idle(full.port, 2)))
    const key = await full.key('pro')
    expect(await statusOf(full.url + QUESTION, key)).toBe(200)
    await expect.poll(() => silent.map(isClosed)).toEqual([true, true, true, false, false])
    shaken.write(`GET ${QUESTION} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`)
    expect(String(await once(shaken, 'data'))).toMatch(/^HTTP\/1\.1 200 /)
    // The two that had their answer have left room for one.
    silent.push(...(await idle(full.port, 2)))
    await expect.poll(() => silent.map(isClosed)).toEqual([true, true, true, false, false, false, false])
  })

  it('ends at once, whoever has not shaken hands', async () => {
    const waiting = await serve(ground, { limits: PATIENT, tls })
    const silent = await idle(waiting.port, 2)
    // Taken in after those two.
    expect(await statusOf(`${waiting.url}/healthz`, 'none')).toBe(200)
    await waiting.stop()
    await expect.poll(() => silent.map(isClosed)).toEqual([true, true])
  })

  it('takes no older protocol than 1.2', async () => {
    const refused = await new Promise<boolean>(resolve => {
      const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1' } as const
      const socket = connectTls({ port: secure.port, ...old, rejectUnauthorized: false }, () => resolve(false))
      socket.on('error', () => resolve(true))
    })
    expect(refused).toBe(true)
  })

  notInQuick('hangs up on who speaks plain HTTP, and on who does not shake hands', async () => {
    expect((await sendBytes(secure.port, 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')).text).not.toMatch(/200 OK/)
    await sendBytes(secure.port, '')
    expect((await sendBytes(secure.port, '\x16\x03\x01\x02\x00\x01')).text).not.toContain('HTTP')
  })
})

function hasOpenssl(): boolean {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

it('counts a connection once whose caller uses its port again before its end was seen', async () => {
  const crowds: string[] = []
  // Who does not read does not see the end of a connection.
  const listener = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1')
  const limits = { ...USUAL_LIMITS, connectionsPerAddress: 2 }
  const connections = new Connections(limits, crowd => crowds.push(crowd))
  connections.watch(listener)
  onTestFinished(() => void listener.close())
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo
  const accepted: Socket[] = []
  // Below the ports that systems hand out: another test would get it between two connections.
  const localPort = 20_000 + (process.pid % 10_000)
  for (let time = 0; time < 4; time++) {
    const caller = connect({ port, host: '127.0.0.1', localPort })
    const [[socket]] = (await Promise.all([once(listener, 'connection'), once(caller, 'connect')])) as [
      [Socket],
      unknown,
    ]
    accepted.push(socket)
    const ended = once(caller, 'close')
    caller.resetAndDestroy()
    await ended
  }
  expect(new Set(accepted.map(({ remotePort }) => remotePort))).toEqual(new Set([localPort]))
  expect(crowds).toEqual([])
  // Nor does the end of the old ones count for the new one.
  for (const socket of accepted.slice(0, -1)) {
    const ended = once(socket, 'close')
    socket.destroy()
    await ended
  }
  for (let other = 0; other < 2; other++) {
    const caller = connect({ port, host: '127.0.0.1' })
    onTestFinished(() => void caller.destroy())
    await once(listener, 'connection')
  }
  expect(crowds).toEqual(['address'])
  connections.close()
})
