import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect } from 'vitest'
import { main } from '../../../src/app/cli/main.js'
import type { Signal, World } from '../../../src/app/cli/world.js'

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
export const BIN = join(ROOT, 'bin/bands.js')
export const BARS = join(ROOT, 'data/bars')

export interface Ran {
  code: number
  out: string
  err: string
}

export interface Lent {
  /** Columns of the terminal that is lent; without, both streams are pipes. */
  terminal?: number
  env?: Record<string, string>
  stdin?: string | Readable
  /** Milliseconds that pass at every look at the clock. */
  pace?: number
  /** Heard as soon as the command listens for it. */
  signal?: Signal
}

/** Runs a command line in this process, with streams, environment and clock lent. */
export async function run(words: readonly string[], lent: Lent = {}): Promise<Ran> {
  const ran = { out: '', err: '' }
  let now = Date.UTC(2026, 0, 1)
  const stream = (name: 'out' | 'err'): World['out'] => ({
    terminal: lent.terminal !== undefined,
    columns: () => lent.terminal ?? null,
    write: async chunk => {
      ran[name] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('latin1')
    },
  })
  const code = await main(words, {
    out: stream('out'),
    err: stream('err'),
    env: { LANG: 'C.UTF-8', HOME: '/nonexistent', ...lent.env },
    stdin: () => (typeof lent.stdin === 'object' ? lent.stdin : Readable.from([lent.stdin ?? ''])),
    now: () => {
      now += lent.pace ?? 0
      return new Date(now)
    },
    onStop: stop => {
      if (lent.signal !== undefined) stop(lent.signal)
      return () => {}
    },
  })
  return { code, ...ran }
}

/** One command line as a person types it. */
export function typed(line: string, lent: Lent = {}): Promise<Ran> {
  return run(wordsOf(line), lent)
}

/** The words of a line as a shell hands them over: split at blanks, but for those between quotes. */
export function wordsOf(line: string): string[] {
  const words = line.match(/(?:'[^']*'|"[^"]*"|[^\s'"])+|['"]/g) ?? []
  return words.map(word => word.replace(/'([^']*)'|"([^"]*)"/g, '$1$2'))
}

/** That a run ended with a code, and said something on stderr, wherever its lines were broken. */
export function expectEnd({ code, err }: Ran, expected: number, said: string): void {
  expect([code, err.replaceAll('\n', ' ')]).toEqual([expected, expect.stringContaining(said)])
}

/** The same, with nothing on stdout. */
export function expectRefusal(ran: Ran, expected: number, said: string): void {
  expectEnd(ran, expected, said)
  expect(ran.out).toBe('')
}

/** Runs a shell line in which `bands` stands for the built program, and `$NODE $BIN` where a process id is needed. */
export function shell(line: string, env: Record<string, string> = {}): Promise<Ran & { signal: string | null }> {
  const bands = `"${process.execPath}" "${BIN}"`
  const script = `bands() { ${bands} "$@"; }\n${line}`
  const own = { PATH: process.env.PATH ?? '', HOME: '/nonexistent', NODE: process.execPath, BIN }
  const child = spawn('bash', ['-c', script], { env: { ...own, ...env } })
  const parts = { out: [] as Buffer[], err: [] as Buffer[] }
  child.stdout.on('data', chunk => parts.out.push(chunk))
  child.stderr.on('data', chunk => parts.err.push(chunk))
  const text = (name: 'out' | 'err'): string => Buffer.concat(parts[name]).toString('utf8')
  return new Promise(resolve => {
    child.on('close', (code, signal) => resolve({ code: code ?? -1, signal, out: text('out'), err: text('err') }))
  })
}

/** A folder that is gone when the test file is done; call `remove` in afterAll. */
export function scratch(): { path: string; file(name: string): string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'bands-cli-'))
  return { path, file: name => join(path, name), remove: () => rmSync(path, { recursive: true, force: true }) }
}

/** Signs that a terminal obeys, or that turn its text round. */
export const UNPRINTABLE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u

/** Without the codes that colour it. */
export function unpainted(text: string): string {
  return text.replaceAll(new RegExp(`${String.fromCharCode(27)}\\[\\d+m`, 'g'), '')
}

let bundled: Buffer | undefined

/** Makes a database of the bundled bars. They are imported once in each worker, and copied after that. */
export async function importBundledBars(db: string): Promise<void> {
  if (bundled !== undefined) return writeFileSync(db, bundled)
  expect((await typed(`import ${BARS} --db ${db}`)).code).toBe(0)
  bundled = readFileSync(db)
}

/** A database of the bundled bars in a folder of its own, asked by lines as a person types them; gone when the file is done. */
export function bundledBars() {
  const folder = scratch()
  const ask = (line: string, lent: Lent = {}): Promise<Ran> =>
    typed(line, { ...lent, env: { BANDS_DB: folder.file('bands.db'), ...lent.env } })
  beforeAll(() => importBundledBars(folder.file('bands.db')))
  afterAll(folder.remove)
  return {
    folder,
    ask,
    json: async <Found>(line: string, lent: Lent = {}): Promise<Found> =>
      JSON.parse((await ask(`${line} --json`, lent)).out) as Found,
    table: async (line: string, width = 100): Promise<string> => unpainted((await ask(line, { terminal: width })).out),
    /** What was said on stderr, as one line. */
    told: async (line: string): Promise<string> => (await ask(line)).err.replace(/\s+/g, ' '),
  }
}
