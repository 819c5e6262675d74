import { spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { BIN, ROOT } from './cli/support/run.js'
import { firstInQuick, notInQuick } from './support/full.js'
import { temporaryFolder } from './support/store.js'

const NEWER = join(ROOT, 'node_modules', '.bin', 'node')
const OLDER = olderNode()

/** The first Node on the path that bands does not run on. */
function olderNode(): string | undefined {
  const paths = (process.env.PATH ?? '').split(delimiter).map(folder => join(folder, 'node'))
  return paths.filter(existsSync).find(path => {
    const [major = 0, minor = 0] = spawnSync(path, ['-p', 'process.versions.node'], { encoding: 'utf8' })
      .stdout.split('.')
      .map(Number)
    return major < 22 || (major === 22 && minor < 14)
  })
}

/** What a command line prints and how it ends, by the older Node and by this one. */
function both(words: string[]): { older: unknown; newer: unknown } {
  const env = { ...process.env, HOME: temporaryFolder() }
  const [older, newer] = [OLDER!, process.execPath].map(node => {
    const about = { env, encoding: 'utf8', maxBuffer: 2 ** 26 } as const
    const { stdout, stderr, status } = spawnSync(node, [BIN, ...words], about)
    return { stdout, stderr, status }
  })
  return { older, newer }
}

function imported(db: string): void {
  const input = readFileSync(join(ROOT, 'data', 'bars', 'AAPL.csv'))
  const { status, stderr } = spawnSync(OLDER!, [BIN, 'import', '-', '--ticker', 'AAPL', '--db', db], { input })
  expect(status, stderr.toString()).toBe(0)
}

const reason = OLDER === undefined ? 'no older Node is on the path' : 'the checkout has no Node of its own'

describe.skipIf(OLDER === undefined)(`an older Node${OLDER === undefined ? ` (${reason})` : ''}`, () => {
  it('ends with one sentence where no newer one is installed', () => {
    const folder = temporaryFolder()
    cpSync(join(ROOT, 'bin'), join(folder, 'bin'), { recursive: true })
    const { stdout, stderr, status } = spawnSync(OLDER!, [join(folder, 'bin', 'bands.js')], { encoding: 'utf8' })
    expect(stderr).toMatch(
      /^error: bands needs Node 22\.14, 24 or newer, and this is Node \d+\.\d+\.\d+; install Node 24\.\n$/,
    )
    expect({ stdout, status }).toEqual({ stdout: '', status: 6 })
  })

  describe.skipIf(!existsSync(NEWER))(`in a checkout${existsSync(NEWER) ? '' : ` (${reason})`}`, () => {
    const lines: [string, string[]][] = [
      ['an error', ['now', 'NONE']],
      ['an answer', ['now', 'AAPL', '--json']],
      ['a long answer', ['export', 'bars', 'AAPL', '--csv']],
      ['a wrong option', ['now', '--no-such-option']],
    ]

    it.each(firstInQuick(lines))('prints %s and ends as a newer one does', (_what, words) => {
      const { older, newer } = both(words)
      expect(older).toEqual(newer)
    })

    notInQuick('reads standard input', () => {
      const db = join(temporaryFolder(), 'bands.db')
      imported(db)
      expect(existsSync(db)).toBe(true)
    })

    notInQuick.each(['SIGTERM', 'SIGINT'] as const)('passes %s on, and waits for the end', async signal => {
      const db = join(temporaryFolder(), 'bands.db')
      imported(db)
      const child = spawn(OLDER!, [BIN, 'serve', '--port', '0', '--json', '--db', db], {
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      const ended = new Promise(resolve => child.on('close', (code, killedBy) => resolve({ code, killedBy })))
      await new Promise(resolve => child.stdout.once('data', resolve))
      child.kill(signal)
      expect(await ended).toEqual({ code: 0, killedBy: null })
    })
  })
})
