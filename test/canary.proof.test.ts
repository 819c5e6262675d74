import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { BIN, scratch, shell } from './cli/support/run.js'
import { provenInFull } from './support/full.js'

/**
 * A real key goes the whole way, as its owner would use it and misuse it: made, logged in with, asked with, pulled with,
 * refused. Everything that any of it left behind is then searched for the key's secret part.
 */
const folder = scratch()
const server = folder.file('server.db')
const env = { HOME: folder.path, BANDS_DB: folder.file('own.db'), BANDS_CONFIG_DIR: folder.file('config') }
const heard: string[] = []
const commandLines: string[] = []
let running: ChildProcess
let url: string
let key: string

beforeAll(async () => {
  const made = ['simulate 2 --bars 600 --load', 'accounts create canary --tier pro', 'keys create canary --json'].map(
    line => `bands ${line} --db "${server}"`,
  )
  const { out, code, err } = await shell(made.join(' && '), env)
  expect(code, err).toBe(0)
  key = (JSON.parse(out.slice(out.indexOf('{'))) as { key: string }).key
  running = spawn(process.execPath, [BIN, 'serve', '--port', '0', '--json', '--log', 'level trace', '--db', server], {
    env: { PATH: process.env.PATH, HOME: folder.path },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.stderr!.on('data', chunk => heard.push(String(chunk)))
  const [line] = (await once(running.stdout!, 'data')) as [Buffer]
  heard.push(line.toString())
  url = (JSON.parse(line.toString()) as { url: string }).url
})
afterAll(() => {
  running.kill('SIGKILL')
  folder.remove()
})

describe('a key', () => {
  provenInFull('is nowhere after a day of use and misuse, but in the one file that keeps it', async () => {
    writeFileSync(folder.file('key'), key, { mode: 0o600 })
    const wrong = `${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`
    const login = `bands login --remote ${url} < "${folder.file('key')}"`
    const lines: [string, Record<string, string>?][] = [
      [login],
      [`bands login --profile other --remote ${url} --debug < "${folder.file('key')}"`],
      [`bands config --json --debug`],
      [`bands events SIM0001 rsi_zone --remote ${url} --debug`],
      [`bands events SIM0001 rsi_zone --profile other --json`],
      [`bands pull SIM0001 SIM0002 rsi_zone macd_state --remote ${url}`],
      [`bands events SIM0001 rsi_zone --tier pro`],
      [`bands events NOSUCH rsi_zone --remote ${url} --debug`, { BANDS_API_KEY: key }],
      [`bands events SIM0001 rsi_zone --remote ${url} --debug --json`, { BANDS_API_KEY: wrong }],
      // Into places where it does not belong.
      [`bands events SIM0001 rsi_zone --remote "http://${key}@127.0.0.1:1/" --debug`, { BANDS_API_KEY: key }],
      [`bands events SIM0001 rsi_zone --remote http://127.0.0.1:1 --debug --timeout 2`, { BANDS_API_KEY: key }],
      [`bands events "${key}" rsi_zone --debug`],
      [`bands events SIM0001 rsi_zone --band "${key}" --json`],
      [`bands keys revoke "${key}" --debug --db "${server}"`],
      [`bands --api-key "${key}" events SIM0001 rsi_zone`],
    ]
    for (const [line, extra] of lines) {
      const { out, err } = await shell(line, { ...env, ...extra })
      heard.push(out, err)
    }
    await misuse(['Authorization', `Bearer ${key}`])
    await misuse(['Authorization', `Basic ${key}`])
    await misuse(['X-API-Key', key])
    await misuse(['Idempotency-Key', key, 'Authorization', `Bearer ${key}`])
    await misuse(['X-Request-Id', key])
    for (const path of [`/v1/events?ticker=${key}`, `/v1/events?api_key=${key}`, `/${key}`]) {
      heard.push(await (await fetch(url + path)).text())
      heard.push(await (await fetch(url + path, { headers: { Authorization: `Bearer ${key}` } })).text())
    }
    for (const path of ['/metrics', '/openapi.json', '/docs', '/readyz'])
      heard.push(await (await fetch(url + path)).text())
    commandLines.push(commandLineOf(running.pid!))
    running.kill('SIGTERM')
    await once(running, 'exit')
    expect(heard.join('').length).toBeGreaterThan(10_000)
    expect(placesOf(heard.join(''))).toEqual([])
    expect(placesOf(commandLines.join(''))).toEqual([])
    const holding = filesBelow(folder.path).filter(file => placesOf(readFileSync(file, 'latin1')).length > 0)
    expect(holding.sort()).toEqual([folder.file('config/credentials.json'), folder.file('key')].sort())
  })
})

/** Requests with a key where a client may put one by mistake, with and without a question that is right. */
async function misuse(pairs: readonly string[]): Promise<void> {
  const headers = Object.fromEntries(pairs.flatMap((name, i) => (i % 2 === 0 ? [[name, pairs[i + 1]!]] : [])))
  for (const path of ['/v1/events?ticker=SIM0001&field=rsi_zone', '/v1/events', '/nothing']) {
    const answer = await fetch(url + path, { headers })
    heard.push(JSON.stringify([...answer.headers]), await answer.text())
  }
}

/** Its random part, which nothing but its owner may know, in the forms in which it might be written. */
function placesOf(text: string): string[] {
  const secret = key.slice(14)
  const forms = [secret, Buffer.from(secret).toString('base64').slice(4, -4), Buffer.from(secret).toString('hex')]
  return forms.filter(form => text.includes(form))
}

/** Where there is a process table of files. */
function commandLineOf(pid: number): string {
  const file = `/proc/${pid}/cmdline`
  return existsSync(file) ? readFileSync(file, 'latin1') : ''
}

function filesBelow(path: string): string[] {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
}
