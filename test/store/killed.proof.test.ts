import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { FULL } from '../support/full.js'
import { bundled } from '../support/processes.js'
import { temporaryFolder } from '../support/store.js'
import { faultsIn } from './faults/inject.js'
import { begin, broken, WORKS } from './faults/works.js'

describe('a process that is killed at a write, a sync or a truncation', () => {
  const works = WORKS.filter(({ name }) => FULL || ['restore', 'schema step'].includes(name))

  it.for(works)('has done $name or not, never half, and the next does it', async (work, { skip }) => {
    const folder = temporaryFolder()
    const faults = faultsIn(folder)
    if (typeof faults === 'string') return skip(faults)
    const program = await bundled('test/store/faults/once.ts', folder)
    const ready = join(folder, 'ready')
    const at = join(faults.below, 'at')
    mkdirSync(ready)
    await begin(ready)
    const { fresh, amiss } = await broken(work, ready, at)
    let killed = 0
    for (const kind of [1, 2, 4])
      for (let call = 1; call < 400; call = nextCall(kind, call)) {
        fresh()
        writeFileSync(faults.control, Buffer.from(Int32Array.of(kind, call, 1, 0, 0, 0, 0).buffer))
        const { signal } = spawnSync(process.execPath, [program, work.name, at], { env: faults.env })
        if (signal !== 'SIGKILL') break
        killed++
        const where = `${['', 'write', 'sync', '', 'truncation'][kind]} ${call}`
        expect(await amiss('killed'), where).toEqual([])
      }
    expect(killed).toBeGreaterThan(0)
  })
})

/** Before and after each change of a name there is a sync: none of them is left out. */
function nextCall(kind: number, call: number): number {
  return FULL && kind === 2 ? call + 1 : Math.ceil(call * (FULL ? 1.5 : 6))
}
