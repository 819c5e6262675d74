import { type ChildProcess, execFileSync, execSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LogLines } from '../../src/app/cli/commands/serve.js'
import { ClosedPipe, type Stream } from '../../src/app/cli/world.js'
import { firstInQuick, notInQuick, QUICK } from '../support/full.js'
import { BIN, type Lent, scratch, typed, wordsOf } from './support/run.js'

const folder = scratch()
const DB = { BANDS_DB: folder.file('bands.db') }
/** A run that is asked to end as soon as it listens for that. */
const serve = (words: string, lent: Lent = {}) =>
  typed(`serve --port 0 ${words}`, { signal: 'SIGTERM', ...lent, env: { ...DB, ...lent.env } })

beforeAll(async () => {
  await typed('simulate 2 --bars 60 --load', { env: DB })
})
afterAll(folder.remove)

describe('bands serve', () => {
  test('shows its address, logs to stderr, and ends cleanly at a signal', async () => {
    const { code, out, err } = await serve('--json')
    expect(code).toBe(0)
    const told = JSON.parse(out)
    expect(told).toMatchObject({
      schema: 'bands.serve/1',
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      docs: `${told.url}/docs`,
      today: '2025-12-31',
      today_from: 'data',
      tickers: 2,
      sample: false,
      database: DB.BANDS_DB,
      accounts: 0,
      accounts_file: folder.file('bands.accounts.db'),
      errors: 'flat',
      metrics: 'loopback',
      tls: false,
    })
    const lines = err
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(lines.map(({ message }) => message)).toEqual([`listening at ${told.url}`, 'stopping'])
  })

  test('shows people how to make an account and a key while there is none', async () => {
    const before = await serve('--log "level silent"', { terminal: 80 })
    expect(before.out).toContain('bands accounts create NAME --tier pro\n')
    expect(before.out).toContain('bands keys create NAME\n')
    expect(before.err).toBe('')
    await typed('accounts create alice --tier free', { env: DB })
    const after = await serve('--log "level silent"', { terminal: 80 })
    expect(after.out).toContain('1 account\n')
    expect(after.out).not.toContain('accounts create')
  })

  test('shows the day that ranges count back from, and its source', async () => {
    const today = async (words: string): Promise<string[]> => {
      const { today, today_from } = JSON.parse((await serve(`--json ${words}`)).out)
      return [today, today_from]
    }
    expect(await today('--today clock')).toEqual(['2026-01-01', 'clock'])
    expect(await today('--as-of 2025-11-03')).toEqual(['2025-11-03', 'as_of'])
    expect(await today('--today data')).toEqual(['2025-12-31', 'data'])
  })

  test('takes its accounts from the file of --accounts', async () => {
    const file = folder.file('elsewhere.db')
    await typed(`accounts create alice --tier free --accounts ${file}`, { env: DB })
    expect(JSON.parse((await serve(`--json --accounts ${file}`)).out)).toMatchObject({
      accounts: 1,
      accounts_file: file,
      database: DB.BANDS_DB,
    })
  })

  test('serves the sample while there is no database, and says so', async () => {
    const env = { BANDS_DB: '', HOME: folder.path, XDG_DATA_HOME: folder.file('data') }
    const { code, out, err } = await serve('--json --log "level error"', { env })
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({ sample: true, accounts_file: folder.file('data/bands/bands.accounts.db') })
    expect(err).toMatch(/^the sample is served; .*bands import FILE\.csv\n$/)
  })

  test.each([
    ['--host 0.0.0.0', 6, /Other machines reach 0\.0\.0\.0.*--tls CERT,KEY.*127\.0\.0\.1.*--allow-plain-http/s],
    ['--host :: ', 6, /Other machines reach ::/],
    ['--host 192.0.2.1 --allow-plain-http', 6, /192\.0\.2\.1 is no address of this machine/],
    ['--tls a.pem', 2, /--tls "a\.pem" is not two files: cert\.pem,key\.pem/],
    ['--tls no.pem,no.pem', 6, /there is no file no\.pem/],
    ['--tier pro', 2, /--tier does not apply to serve/],
    ['--remote http://127.0.0.1:1', 2, /--remote asks a server/],
    ['--errors round', 2, /flat, nested/],
    ['--today tomorrow', 2, /data, clock/],
    ['--metrics all', 2, /loopback, any/],
    ['--cors app.example.com', 2, /--cors "app\.example\.com".*https:\/\/app\.example\.com/s],
    ['--cors https://app.example.com/', 2, /--cors/],
    ['--cors *', 2, /--cors/],
    ['--log "level loud"', 2, /trace, debug, info/],
    ['--connections "max 0"', 2, /an integer from 1/],
  ])('refuses %s in one sentence', async (words, code, sentence) => {
    const ran = await serve(words)
    expect([ran.code, ran.out]).toEqual([code, ''])
    expect(ran.err).toMatch(sentence)
    expect(ran.err).toMatch(/^error: /)
  })

  test('refuses a port that is no port, and one that is in use', async () => {
    expect((await typed('serve --port 65536', { env: DB })).err).toMatch(/port.*an integer from 0 to 65535/)
    const other = createServer()
    await new Promise<void>(resolve => other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as AddressInfo
    const ran = await typed(`serve --port ${port}`, { env: DB })
    other.close()
    expect(ran).toMatchObject({ code: 6, out: '' })
    expect(ran.err).toMatch(new RegExp(`^error: port ${port} of 127\\.0\\.0\\.1 is in use`))
  })

  test('refuses files that are no certificate and key', async () => {
    const cert = folder.file('cert.pem')
    const key = folder.file('key.pem')
    for (const file of [cert, key]) writeFileSync(file, 'not PEM\n', { mode: 0o600 })
    const ran = await serve(`--tls ${cert},${key}`)
    expect(ran).toMatchObject({ code: 6, out: '' })
    expect(ran.err.replace(/\s+/g, ' ')).toContain('are no certificate and its key')
  })

  test.skipIf(process.platform === 'win32').each(['0640', '0604', '0666'])(
    'refuses a key of TLS, and accounts, that others can read or change: %s',
    async mode => {
      const [cert, key, accounts] = ['c.pem', 'k.pem', 'bands.accounts.db'].map(folder.file) as [string, string, string]
      for (const file of [cert, key]) writeFileSync(file, 'not PEM\n')
      await typed('accounts list', { env: DB })
      for (const [file, words] of [
        [key, `--tls ${cert},${key}`],
        [accounts, ''],
      ] as const) {
        chmodSync(file, Number.parseInt(mode, 8))
        const ran = await serve(words)
        chmodSync(file, 0o600)
        expect(ran).toMatchObject({ code: 6, out: '' })
        const sentence = ran.err.replace(/\s+/g, ' ')
        const done = mode === '0666' ? 'read or changed' : 'read'
        expect(sentence).toContain(`${file} can be ${done} by others (mode ${mode}); chmod 600 ${file}`)
      }
      expect((await serve('--json')).code).toBe(0)
    },
  )

  test.skipIf(!hasOpenssl())('listens for other machines with TLS, or when that is allowed without', async () => {
    const cert = folder.file('cert.pem')
    const key = folder.file('key.pem')
    certify('x', cert, key)
    const secure = await serve(`--json --host 0.0.0.0 --tls ${cert},${key}`)
    expect(JSON.parse(secure.out)).toMatchObject({ tls: true, url: expect.stringMatching(/^https:\/\/0\.0\.0\.0:/) })
    expect((await serve('--json --host 0.0.0.0 --allow-plain-http')).code).toBe(0)
  })
})

describe('the built program', () => {
  /** A server as a process of its own, and what it told first. */
  async function started(words = '--log "level silent"'): Promise<{
    child: ChildProcess
    url: string
    ended: Promise<unknown>
  }> {
    const run = [process.execPath, BIN, 'serve', '--port', '0', '--json', ...wordsOf(words)]
    const env = { PATH: process.env.PATH, HOME: folder.path, ...DB }
    // A file that may not grow is an error of its writer, and not the end of it.
    const child = spawn('sh', ['-c', `trap '' XFSZ; exec "$@"`, 'sh', ...run], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child.stderr!.pipe(process.stderr)
    const ended = once(child, 'exit')
    const failed = ended.then(() => Promise.reject(new Error('the server ended before it listened')))
    const [line] = (await Promise.race([once(child.stdout!, 'data'), failed])) as [Buffer]
    failed.catch(() => {})
    return { child, url: (JSON.parse(line.toString()) as { url: string }).url, ended }
  }

  test.each(firstInQuick(['SIGTERM', 'SIGINT']))('serves until %s, and ends well', async signal => {
    const { child, url, ended } = await started()
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    child.kill(signal)
    expect(await ended).toEqual([0, null])
  })

  test('makes scans in a thread of the packed program, and answers the one that is under way when it ends', async () => {
    await typed('accounts create scans --tier pro', { env: DB })
    const { key } = JSON.parse((await typed('keys create scans --json', { env: DB })).out)
    const { child, url, ended } = await started()
    const scan = (query = '') =>
      fetch(`${url}/v1/scan/oversold${query}`, { headers: { Authorization: `Bearer ${key}` } })
    expect(await (await scan()).json()).toMatchObject({ total_scanned: 2, data_status: 'eod' })
    const last = scan('?timeframe=weekly')
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    child.kill('SIGTERM')
    expect((await last).status).toBe(200)
    expect(await ended).toEqual([0, null])
  })

  const SHARES = [
    ['as many as it takes, over plain HTTP', '--connections "max 8"', 8],
    ['those of one address', '--connections "max 8, per-address 3"', 3],
    ['a quarter, over TLS', '--connections "max 8" --tls CERT,KEY', 2],
    ['those of one address, over TLS', '--connections "max 8, per-address 8" --tls CERT,KEY', 8],
  ] as const

  test.each(firstInQuick(SHARES))('gives one address %s', async (_, words, share) => {
    const cert = folder.file('share.pem')
    const key = folder.file('share.key')
    if (words.includes('CERT') && !hasOpenssl()) return
    if (words.includes('CERT')) certify('share', cert, key)
    const { child, url, ended } = await started(
      `--log "level silent" ${words.replace('CERT', cert).replace('KEY', key)}`,
    )
    const sockets = Array.from({ length: 10 }, () => connect(Number(new URL(url).port), '127.0.0.1').resume())
    for (const socket of sockets) socket.on('error', () => {})
    await Promise.all(sockets.map(socket => once(socket, 'connect')))
    await expect.poll(() => sockets.filter(socket => socket.readyState === 'open').length).toBe(share)
    child.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
  })

  test.skipIf(QUICK || !hasOpenssl())(
    'shows another certificate at SIGHUP, and keeps that one if the next is none',
    async () => {
      const cert = folder.file('new.pem')
      const key = folder.file('new.key')
      certify('one', cert, key)
      const { child, url, ended } = await started(`--tls ${cert},${key}`)
      let log = ''
      child.stderr!.on('data', chunk => {
        log += chunk
      })
      expect(await nameShown(url)).toBe('one')
      certify('two', cert, key)
      expect(await nameShown(url)).toBe('one')
      child.kill('SIGHUP')
      await expect.poll(() => nameShown(url)).toBe('two')
      writeFileSync(cert, 'no certificate\n')
      child.kill('SIGHUP')
      await expect.poll(() => log).toMatch(/"level":"error".*the certificate stays as it was: /)
      certify('three', cert, key)
      chmodSync(key, 0o644)
      child.kill('SIGHUP')
      await expect.poll(() => log).toMatch(/the certificate stays as it was: \S+ can be read by others/)
      expect(await nameShown(url)).toBe('two')
      child.kill('SIGTERM')
      expect(await ended).toEqual([0, null])
    },
  )

  notInQuick('ends at once at a second signal, even with running work', async () => {
    const { child, url, ended } = await started()
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.on('error', () => {})
    // Answers that nobody takes.
    socket.write('GET /docs HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1_000))
    await once(socket, 'readable')
    child.kill('SIGINT')
    while ((await fetch(`${url}/readyz`)).status !== 503) await new Promise(resolve => setTimeout(resolve, 10))
    child.kill('SIGTERM')
    expect(await ended).toEqual([null, 'SIGTERM'])
    socket.destroy()
  })
})

describe('lines of a log', () => {
  const stream = (write: (text: string) => Promise<void>): Stream => ({
    terminal: false,
    columns: () => null,
    write: chunk => write(String(chunk)),
  })

  test('are written in order, many at a time', async () => {
    const written: string[] = []
    const log = new LogLines(stream(async text => void written.push(text)))
    for (let i = 0; i < 1_000; i++) log.add(`${i}\n`)
    await log.flushed()
    log.add('last\n')
    await log.flushed()
    expect(written.join('')).toBe(`${Array.from({ length: 1_000 }, (_, i) => `${i}\n`).join('')}last\n`)
    expect(written).toHaveLength(2)
  })

  test('are left out and counted when their reader is too slow', async () => {
    const written: string[] = []
    const log = new LogLines(stream(async text => void written.push(text)))
    const line = `${'x'.repeat(1_000)}\n`
    for (let i = 0; i < 5_000; i++) log.add(line)
    await log.flushed()
    const lines = written.join('').trimEnd().split('\n')
    const { level, message } = JSON.parse(lines.pop()!)
    expect([level, message]).toEqual([
      'warn',
      `${5_000 - lines.length} lines of the log were left out: its reader is too slow`,
    ])
    expect(lines.length).toBeLessThan(5_000)
  })

  test('are left out and counted while they cannot be written, and written again once they can', async () => {
    const written: string[] = []
    let full = true
    const log = new LogLines(
      stream(async text => {
        if (full) throw new Error('ENOSPC: no space left on device, write')
        written.push(text)
      }),
    )
    log.add('one\n')
    log.add('two\n')
    await log.flushed()
    full = false
    log.add('three\n')
    await log.flushed()
    expect(written.join('')).toMatch(/^three\n\{.*"2 lines of the log were left out: ENOSPC: no space[^"]*"\}\n$/)
  })

  test('are forgotten when their reader has gone', async () => {
    let tried = 0
    const log = new LogLines(
      stream(async () => {
        tried++
        throw new ClosedPipe()
      }),
    )
    for (let i = 0; i < 3; i++) {
      log.add('line\n')
      await log.flushed()
    }
    expect(tried).toBe(1)
  })
})

/** Makes a certificate of a name, and its key. */
function certify(name: string, cert: string, key: string): void {
  const words = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=${name} -keyout ${key} -out ${cert}`
  execFileSync('openssl', words.split(' '), { stdio: 'ignore' })
}

/** The name in the certificate that a server shows. */
async function nameShown(url: string): Promise<string> {
  const socket = connectTls({ port: Number(new URL(url).port), host: '127.0.0.1', rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const { subject } = socket.getPeerCertificate()
  socket.destroy()
  return String(subject.CN)
}

function hasOpenssl(): boolean {
  return has('openssl version', 'serving with TLS, as there is no openssl to make a certificate')
}

function has(command: string, skipped: string): boolean {
  try {
    execSync(command, { stdio: 'ignore' })
    return true
  } catch {
    process.stderr.write(`skipped: ${skipped}\n`)
    return false
  }
}
