import { spawn } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { FULL } from '../support/full.js'
import { bundled } from '../support/processes.js'
import { temporaryFolder } from '../support/store.js'
import { faultsIn } from './faults/inject.js'
import { WORKS } from './faults/works.js'

/** All but those of hundreds of tickers, whose calls are those of an import: they are killed, and starved of room. */
const LIGHT = WORKS.map(({ name }) => name).filter(name => !['update', 'first import'].includes(name))
/** In the quick run a few works, a few places. */
const NAMES = FULL ? LIGHT.join(',') : 'import,schema step,charge,backup'
const PLACES = FULL ? 9 : 2

describe('while a write, a sync, a read or a truncation fails, once or from then on', () => {
  it('each work is done or not, never half, says which, and works again afterwards', async ({ skip }) => {
    const folder = temporaryFolder()
    const faults = faultsIn(folder)
    if (typeof faults === 'string') return skip(faults)
    const { below, control, env } = faults
    const program = await bundled('test/store/faults/process.ts', folder)
    const lines = await linesOf([program, below, control, NAMES, String(PLACES)], env)
    const { runs, refused } = lines.at(-1) as { runs: number; refused: number }
    expect(lines.slice(0, -1)).toEqual([])
    expect(runs).toBeGreaterThan(FULL ? 400 : 30)
    expect(refused).toBeGreaterThan(runs / 2)
  })
})

/** What a program writes, a line of JSON after the other. */
function linesOf(words: readonly string[], env: NodeJS.ProcessEnv): Promise<unknown[]> {
  const child = spawn(process.execPath, words, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  return new Promise(resolve =>
    child.on('close', () =>
      resolve(
        text
          .split('\n')
          .filter(Boolean)
          .map(line => JSON.parse(line)),
      ),
    ),
  )
}
