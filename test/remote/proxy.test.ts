import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, createServer as createRawServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Remote } from '../../src/app/remote/remote.js'
import { openBands, openRemote, type RemoteClient, type RemoteClientOptions } from '../../src/index.js'
import { notInQuick } from '../support/full.js'
import { serveFile } from '../support/serve.js'
import { temporaryFolder } from '../support/store.js'
import { GOOD_PAGE, good, nobody, QUESTION, raw, scripted } from './upstream.js'

/** A proxy that keeps what it was asked, and refuses. */
async function proxy(): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = []
  const server: Server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`)
    response.writeHead(502).end()
  })
  server.on('connect', (request, socket) => {
    asked.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`)
    socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

function remoteTo(url: string, env: NodeJS.ProcessEnv, allowPlainHttp = false): Remote {
  const options = { timeoutMs: 5_000, retries: 0, fields: [], allowPlainHttp }
  const remote = new Remote({ url, key: 'bands_canary', env, ...options })
  onTestFinished(() => remote.close())
  return remote
}

it('uses the proxy of the environment for other machines, without showing it the key', async () => {
  const { url, asked } = await proxy()
  const remote = remoteTo('https://api.bands.invalid', { HTTPS_PROXY: url.replace('//', '//me:secret@') })
  const error = await remote.events(QUESTION).catch((thrown: Error) => thrown)
  expect(error).toMatchObject({ code: 'upstream' })
  expect((error as Error).message).toBe(
    'https://api.bands.invalid is not reached: Proxy response (407) !== 200 when HTTP Tunneling.',
  )
  expect(asked).toHaveLength(1)
  expect(asked[0]).toMatch(/^CONNECT api\.bands\.invalid:443 /)
  expect(asked[0]).not.toContain('canary')
  expect((error as Error).stack).not.toContain('secret')
})

it.each([
  ['https_proxy', 'NO_PROXY', 'bands.invalid'],
  ['HTTPS_PROXY', 'no_proxy', '*'],
])('asks past the proxy of %s where %s=%s says so', async (variable, exception, names) => {
  const { url, asked } = await proxy()
  const remote = remoteTo('https://api.bands.invalid', { [variable]: url, [exception]: names })
  await expect(remote.events(QUESTION)).rejects.toMatchObject({ code: 'upstream' })
  expect(asked).toEqual([])
})

it('asks this machine itself through no proxy', async () => {
  const { url, asked } = await proxy()
  const upstream = await scripted(good)
  const env = { HTTPS_PROXY: url, HTTP_PROXY: url, http_proxy: url }
  expect(await remoteTo(upstream.url, env).events(QUESTION)).toEqual(GOOD_PAGE)
  expect(asked).toEqual([])
})

const canCertify = spawnSync('openssl', ['version']).status === 0
if (!canCertify) it.skip('a certificate cannot be made without openssl', () => {})

it.runIf(canCertify)('sends nothing to a server with an untrusted certificate', async () => {
  const folder = temporaryFolder()
  const key = join(folder, 'key.pem')
  const cert = join(folder, 'cert.pem')
  const form = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1']
  execFileSync('openssl', [...form, '-subj', '/CN=localhost', '-keyout', key, '-out', cert], { stdio: 'ignore' })
  let requests = 0
  const server = createSecureServer({ key: readFileSync(key), cert: readFileSync(cert) }, () => requests++)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  await expect(remoteTo(`https://localhost:${port}`, {}).events(QUESTION)).rejects.toThrow(
    `https://localhost:${port} cannot be trusted: self-signed certificate`,
  )
  expect(requests).toBe(0)
})

it('blames an unreachable proxy, not the server behind it, and hides its address', async () => {
  for (const [proxy, what] of [
    [await nobody(), 'refuses connections'],
    ['http://proxy.bands.invalid:3128', 'is not known: there is no server of that name'],
  ] as const) {
    const remote = remoteTo('https://api.bands.invalid', { HTTPS_PROXY: proxy.replace('//', '//me:secret@') })
    const error = (await remote.events(QUESTION).catch((thrown: Error) => thrown)) as Error
    expect(error.message).toBe(`https://api.bands.invalid is asked through a proxy, and that ${what}.`)
    expect(inspect(error, { depth: 20 })).not.toContain('secret')
  }
})

describe('what is only being connected', () => {
  /** Lets everyone in, and says nothing. */
  async function mute(): Promise<{ port: number; sockets: Socket[] }> {
    const sockets: Socket[] = []
    const server = createRawServer(socket => {
      socket.on('error', () => {}).resume()
      sockets.push(socket)
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy()
      server.close()
    })
    return { port: (server.address() as AddressInfo).port, sockets }
  }

  // Without the deadline both would end after the five seconds in which undici wants to be connected.
  it.each<[string, (port: number) => [string, NodeJS.ProcessEnv]]>([
    ['a server that does not shake hands', port => [`https://127.0.0.1:${port}`, {}]],
    [
      'a proxy that does not answer',
      port => ['https://api.bands.invalid', { HTTPS_PROXY: `http://127.0.0.1:${port}` }],
    ],
  ])('ends with the deadline, and with the remote: %s', async (_, target) => {
    const { port, sockets } = await mute()
    const [url, env] = target(port)
    const remote = new Remote({ url, key: 'bands_canary', env, timeoutMs: 500, fields: [] })
    await expect(remote.events(QUESTION)).rejects.toThrow(`${url} did not answer within 0.5 s.`)
    expect(sockets).not.toHaveLength(0)
    const closed = sockets.map(socket => new Promise(resolve => socket.once('close', resolve)))
    await remote.close()
    await Promise.all(closed)
  })
})

it('fails for a server without TLS', async () => {
  const upstream = await scripted(raw('HTTP/1.1 200 OK\r\n\r\n'))
  const error = await remoteTo(`https://127.0.0.1:${upstream.port}`, {})
    .events(QUESTION)
    .catch((thrown: Error) => thrown)
  expect((error as Error).message).toMatch(
    /^https:\/\/127\.0\.0\.1:\d+ does not speak TLS; its address may begin with http:\/\/\.$/,
  )
  expect(upstream.arrivals).toEqual([])
})

const { ground, server } = await serveFile({ count: 2, bars: 700 })

async function client(options: Partial<RemoteClientOptions> = {}): Promise<RemoteClient> {
  const opened = await openRemote({ url: server.url, key: await server.key('plus'), ...options })
  onTestFinished(() => opened.close())
  return opened
}

describe('openRemote', () => {
  notInQuick('asks a server what openBands asks a database', async () => {
    const far = await client()
    const near = await openBands({ db: ground.db, tier: 'plus' })
    onTestFinished(() => near.close())
    const params = { ticker: 'sim0001', field: 'rsi_zone', limit: '7' }
    expect(await far.events(params)).toEqual(await near.events(params))
    const scan = { date: '2024-03-01', sort_by: 'days_oversold' }
    expect(await far.oversold(scan)).toEqual(await near.oversold(scan))
    const pool = { tickers: ['SIM0001', 'SIM0002'], field: 'macd_state' }
    expect((await far.transitions(pool)).matrix).toEqual((await near.transitions(pool)).matrix)
    const counted = await far.tally(pool)
    const known = await near.tally(pool)
    expect(counted.groups.map(group => [group.group, group.events])).toEqual(
      known.groups.map(group => [group.group, group.events]),
    )
    const present = await far.now({ tickers: ['SIM0002'] })
    const presentHere = await near.now({ tickers: ['SIM0002'] })
    expect(present.states.map(state => state.field)).toEqual(presentHere.states.map(state => state.field))
    const history = { ticker: 'SIM0001', field: 'rsi_zone', band: 'oversold' }
    expect((await far.history(history)).events).toHaveLength((await near.history(history)).events.length)
    expect(far.fields()).toBe(near.fields())
    expect(far.credits?.day?.limit).toBe(50_000)
  })

  it('refuses what cannot be asked before anything is sent', async () => {
    const bands = await client()
    await expect(bands.events({ ticker: 'SIM0001', field: 'rsi_zon' })).rejects.toMatchObject({
      code: 'invalid_parameter',
    })
    await expect(bands.oversold({ limit: 0 })).rejects.toMatchObject({ param: 'limit' })
    await expect(bands.now({ tickers: [] })).rejects.toMatchObject({ code: 'invalid_parameter' })
    expect(bands.credits).toBeNull()
  })

  it.each<[string, Partial<Record<keyof RemoteClientOptions, unknown>>, object]>([
    ['an address that is none', { url: undefined }, { code: 'invalid_parameter', param: 'url' }],
    ['plain http elsewhere', { url: 'http://api.example.com' }, { code: 'invalid_parameter', param: 'url' }],
    ['no key', { key: undefined }, { code: 'config' }],
    ['no time', { timeoutMs: 0 }, { code: 'invalid_parameter', param: 'timeoutMs' }],
    ['no number', { retries: Number.NaN }, { code: 'invalid_parameter', param: 'retries' }],
  ])('refuses %s', async (_, options, error) => {
    await expect(client(options as Partial<RemoteClientOptions>)).rejects.toMatchObject(error)
  })

  it('reports an unknown key', async () => {
    const stranger = await client({ key: 'bands_unknown' })
    await expect(stranger.checkKey()).rejects.toMatchObject({ code: 'unauthorized' })
    await (await client()).checkKey()
  })
})
