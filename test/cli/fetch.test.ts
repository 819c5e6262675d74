import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openBands } from '../../src/app/client.js'
import { notInQuick } from '../support/full.js'
import { fakeVendor, KEYS, walk } from '../support/vendors.js'
import { BIN, expectEnd, expectRefusal, type Lent, type Ran, scratch, typed } from './support/run.js'

/** Fetching as a user does it, from a vendor at a local address. */

const TICKERS = ['AAPL', 'MSFT', 'GE', 'F', 'KO', 'PG']
const KEY = KEYS.tiingo!

interface Home {
  vendor: Awaited<ReturnType<typeof fakeVendor>>
  env: Record<string, string>
  file(name: string): string
  /** The user's own row, in place of the built-in one. */
  write(base: string, more?: string): void
  ask(line: string, lent?: Lent): Promise<Ran>
}

/** A user with a configuration of his own, and Tiingo at a local address. */
async function home({ pace = '[1000, 1]' } = {}): Promise<Home> {
  const { path, file, remove } = scratch()
  onTestFinished(remove)
  const history = (symbol: string) => (TICKERS.includes(symbol) ? walk(symbol, { last: '2025-11-20' }) : null)
  const vendor = await fakeVendor('tiingo', { history })
  onTestFinished(() => vendor.close())
  const env = { HOME: path, XDG_CONFIG_HOME: file('config'), BANDS_DB: file('bands.db'), LANG: 'C.UTF-8' }
  const write = (base: string, more = ''): void => {
    mkdirSync(file('config/bands'), { recursive: true })
    writeFileSync(
      file('config/bands/providers.yaml'),
      `tiingo:\n  like: tiingo\n  base: ${base}\n  pace: ${pace}\n${more}`,
    )
  }
  write(vendor.base)
  const ask = (line: string, lent: Lent = {}): Promise<Ran> => typed(line, { ...lent, env: { ...env, ...lent.env } })
  return { vendor, env, file, write, ask }
}

/** The same, after `bands login`. */
async function loggedIn(options: { pace?: string } = {}): Promise<Home> {
  const found = await home(options)
  expect((await found.ask('login --from tiingo', { stdin: `${KEY}\n` })).code).toBe(0)
  return found
}

async function storedIn({ env }: Home): Promise<string[]> {
  const bands = await openBands({ db: env.BANDS_DB! })
  const entries = await bands.tickers()
  await bands.close()
  return entries.map(({ ticker }) => ticker).sort()
}

const documentOf = ({ out }: Ran) => JSON.parse(out)

describe('the key of a vendor', () => {
  test('is not needed to plan, and a line without a vendor ends in one that works', async () => {
    const { vendor, ask } = await home()
    const planned = await ask('fetch AAPL MSFT --from tiingo --dry-run')
    expect(planned).toMatchObject({ code: 0, err: '' })
    expect(planned.out).toContain('about 2 calls')
    expectRefusal(await ask('fetch AAPL --from tiingo'), 4, 'tiingo needs a key')
    const { code, err } = await ask('fetch BTC-USD')
    expect([code, err]).toEqual([2, expect.stringMatching(/try: +bands fetch BTC-USD --from coinbase\n/)])
    // Coinbase has no stocks.
    expect((await ask('fetch AAPL')).err).toMatch(/try: +bands fetch AAPL --from tiingo\n/)
    expect(vendor.calls).toEqual([])
  })

  test('is kept by its address, for its owner only, and shown as being there', async () => {
    const { vendor, file, ask } = await home()
    const keyShown = async (): Promise<unknown> => {
      const { providers } = documentOf(await ask('providers --json'))
      return providers.find(({ name }: { name: string }) => name === 'tiingo')
    }
    expect(await keyShown()).toMatchObject({ has_key: false, is_own: true })
    const ran = await ask('login --from tiingo', { stdin: `${KEY}\n` })
    expect([ran.code, ran.err]).toEqual([0, ''])
    expect(ran.out).toContain(`only for ${vendor.base}`)
    expect(ran.out).not.toContain(KEY)
    const credentials = file('config/bands/credentials.json')
    const { keys } = JSON.parse(readFileSync(credentials, 'utf8'))
    expect(keys).toEqual({ 'provider tiingo': { origin: vendor.base, key: KEY } })
    expect(statSync(credentials).mode & 0o777).toBe(0o600)
    expect(await keyShown()).toMatchObject({ has_key: true })
    expect(vendor.calls).toEqual([])
    expect((await ask('fetch AAPL --from tiingo -q')).code).toBe(0)
    expect(vendor.offences).toEqual([])
    expect((await ask('logout --from tiingo')).code).toBe(0)
    expect(await keyShown()).toMatchObject({ has_key: false })
  })

  test('of the environment comes before the kept one', async () => {
    const { vendor, ask } = await loggedIn()
    const ran = await ask('fetch AAPL --from tiingo', { env: { BANDS_TIINGO_KEY: 'another-secret' } })
    expectRefusal(ran, 4, 'refuses the key (401)')
    expect(vendor.calls.map(({ headers }) => headers.authorization)).toEqual(['Token another-secret'])
    const right = await home()
    expect((await right.ask('fetch AAPL --from tiingo', { env: { BANDS_TIINGO_KEY: KEY } })).code).toBe(0)
    expect(right.vendor.offences).toEqual([])
  })

  test('is not sent to another address of the same vendor', async () => {
    const { vendor, write, ask } = await loggedIn()
    const other = await fakeVendor('tiingo', { history: () => null })
    onTestFinished(() => other.close())
    write(other.base)
    expectRefusal(await ask('fetch AAPL --from tiingo'), 4, 'tiingo needs a key')
    expect([...vendor.calls, ...other.calls]).toEqual([])
  })

  test('is in no output, whatever the vendor repeats', async () => {
    const { vendor, ask } = await loggedIn()
    for (const status of [200, 400, 401, 429]) {
      vendor.faults.splice(0, 9, { status, body: `{"detail":"bad ${KEY}"}`, headers: { 'retry-after': '9999' } })
      for (const line of ['fetch AAPL --from tiingo --debug', 'fetch AAPL --from tiingo --json']) {
        const { code, out, err } = await ask(line)
        expect(code).not.toBe(0)
        expect(out + err, line).not.toContain(KEY)
        expect(out + err, line).toContain('****')
        vendor.faults.push({ status, body: `{"detail":"bad ${KEY}"}`, headers: { 'retry-after': '9999' } })
      }
    }
    vendor.faults.length = 0
    for (const line of ['fetch AAPL --from tiingo --debug', 'providers tiingo --json', 'config --json', 'status']) {
      const { out, err } = await ask(line)
      expect(out + err, line).not.toContain(KEY)
    }
  })
})

describe('bands fetch', () => {
  test('names unknown tickers at the end, with 5, and loads the others', async () => {
    const user = await loggedIn()
    const { ask } = user
    const ran = await ask('fetch AAPL NONE MSFT NADA --from tiingo --json')
    expectEnd(ran, 5, 'tiingo has nothing of NONE, NADA')
    expect(documentOf(ran).tickers.map((one: { outcome: string }) => one.outcome)).toEqual([
      ...['loaded', 'unknown', 'loaded', 'unknown'],
    ])
    expect(await storedIn(user)).toEqual(['AAPL', 'MSFT'])
  })

  test('makes no call for a plan', async () => {
    const { vendor, ask } = await loggedIn({ pace: '[2, 60]' })
    const ran = await ask('fetch AAPL,MSFT,GE --from tiingo --dry-run --json')
    expect([ran.code, ran.err]).toEqual([0, ''])
    expect(documentOf(ran).plans).toMatchObject([{ provider: 'tiingo', tickers: 3, done: 0, calls: 3, seconds: 60 }])
    expect(vendor.calls).toEqual([])
  })

  test('says how many calls it makes, and with -q says nothing but an error', async () => {
    const { ask } = await loggedIn()
    const ran = await ask('fetch AAPL MSFT --from tiingo')
    expectEnd(ran, 0, '2 tickers of tiingo: 1962-01-02 to ')
    expect(ran.out).toContain('2 tickers are up to date')
    const again = await ask('fetch AAPL MSFT --from tiingo -q')
    expect([again.code, again.err]).toEqual([0, ''])
    const quiet = await ask('fetch NONE --from tiingo -q')
    expectEnd(quiet, 5, 'NONE')
  })

  test('takes the vendor of the ticker the last time, or the only one with a key', async () => {
    const { vendor, ask } = await home()
    expectRefusal(await ask('fetch AAPL'), 2, 'from')
    await ask('login --from tiingo', { stdin: KEY })
    expect((await ask('fetch AAPL')).code).toBe(0)
    await ask('login --from eodhd', { stdin: 'eodhd-secret' })
    expect((await ask('fetch AAPL')).code).toBe(0)
    expect((await ask('update AAPL')).code).toBe(0)
    expect(new Set(vendor.calls.map(({ path }) => path))).toEqual(new Set(['/tiingo/daily/AAPL/prices']))
  })

  notInQuick('is ended between tickers by Ctrl-C, and the same line goes on', async () => {
    const user = await loggedIn()
    const { vendor, env, ask } = user
    const words = ['fetch', ...TICKERS, '--from', 'tiingo', '-q']
    // The vendor wants a pause before the fourth answer, and the signal comes in it.
    let isHeld = false
    vendor.faults.push(...[0, 1, 2].map(() => (sent: { status: number; body: string }) => sent), sent => {
      isHeld = true
      return { ...sent, status: 503, headers: { 'retry-after': '9' } }
    })
    const child = spawn(process.execPath, [BIN, ...words], { env: { ...process.env, ...env }, stdio: 'ignore' })
    const ended = new Promise(resolve => child.on('close', (code, signal) => resolve(code ?? signal)))
    while (!isHeld && child.exitCode === null) await sleep(2)
    child.kill('SIGINT')
    // On a busy machine the signal itself ends the run, half a second later.
    expect(await ended).toBeOneOf([130, 'SIGINT'])
    const before = vendor.calls.length
    expect(await storedIn(user)).toEqual(['AAPL', 'GE', 'MSFT'])
    expect((await ask(words.join(' '))).code).toBe(0)
    expect(vendor.calls.slice(before)).toHaveLength(3)
    expect((await ask('verify -q')).code).toBe(0)
  })
})

describe('bands providers', () => {
  test('says what is wrong with a file, at the place', async () => {
    const { file, ask } = await home()
    writeFileSync(file('own.yaml'), 'mine:\n  like: tiingo\n  pace: fast\n')
    expectRefusal(
      await ask(`providers check ${file('own.yaml')}`),
      5,
      `${file('own.yaml')}:3:9: pace: it is [calls, seconds]`,
    )
    writeFileSync(file('own.yaml'), 'mine:\n  like: tiingo\n  pace: [8, 60]\n')
    const right = await ask(`providers check ${file('own.yaml')} --json`)
    expect([right.code, documentOf(right).vendors]).toEqual([0, 'mine'])
    expect((await ask('providers check')).code).toBe(0)
    expectRefusal(await ask(`providers check ${file('none.yaml')}`), 3, 'there is no file')
    expectRefusal(await ask('providers tiingu'), 3, 'tiingo')
  })

  test('shows the terms of one, with the first steps', async () => {
    const { ask } = await home()
    const { out } = await ask('providers alpaca')
    for (const words of ['redistribution is not allowed', 'https://alpaca.markets', 'bands login --from alpaca'])
      expect(out.replaceAll('\n', ' ')).toContain(words)
  })
})
