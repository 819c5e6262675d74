import { spawn, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { BandsError } from '../../src/errors.js'
import { FULL } from '../support/full.js'
import { bundled } from '../support/processes.js'
import { remount, smallDisk, temporaryFolder } from '../support/store.js'
import { begin, look, WORKS } from './faults/works.js'

/** All but one of hundreds of tickers, whose calls are those of an import: it is killed, and starved of room. */
const LIGHT = WORKS.map(({ name }) => name).filter(name => name !== 'update')
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

describe('a process that is killed at a write, a sync or a truncation', () => {
  const works = WORKS.filter(({ name }) => FULL || ['restore', 'schema step'].includes(name))

  it.for(works)('has done $name or not, never half, and the next does it', async ({ name, prepare, run }, { skip }) => {
    const folder = temporaryFolder()
    const faults = faultsIn(folder)
    if (typeof faults === 'string') return skip(faults)
    const program = await bundled('test/store/faults/once.ts', folder)
    const [ready, at] = [join(folder, 'ready'), join(faults.below, 'at')]
    mkdirSync(ready)
    await begin(ready)
    await prepare?.(ready)
    const fresh = (): void => {
      rmSync(at, { recursive: true, force: true })
      cpSync(ready, at, { recursive: true })
    }
    fresh()
    const before = (await look(at)).state
    await run(at)
    const after = (await look(at)).state
    let killed = 0
    for (const kind of [1, 2, 4])
      for (let call = 1; call < 400; call = nextCall(kind, call)) {
        fresh()
        writeFileSync(faults.control, Buffer.from(Int32Array.of(kind, call, 1, 0, 0, 0, 0).buffer))
        const { signal } = spawnSync(process.execPath, [program, name, at], { env: faults.env })
        if (signal !== 'SIGKILL') break
        killed++
        const where = `${['', 'write', 'sync', '', 'truncation'][kind]} ${call}`
        const found = await look(at)
        expect(found.wrong, where).toEqual([])
        if (found.unsettled === 0) expect([before, after], where).toContain(found.state)
        await run(at)
        expect(await look(at), where).toMatchObject({ state: after, wrong: [], left: [] })
      }
    expect(killed).toBeGreaterThan(0)
  })
})

describe('on a disk of 64 to 512 kB', () => {
  const works = WORKS.filter(({ name }) => FULL || ['create', 'import', 'schema step', 'restore'].includes(name))

  it.for(works)('$name is done or not, never half, and is done once there is room', async (work, { skip }) => {
    const { prepare, run } = work
    const disk = smallDisk('4m')
    if (disk === null) return skip('no disk of its own can be had here')
    const ready = temporaryFolder()
    await begin(ready)
    await prepare?.(ready)
    const at = join(disk, 'at')
    const fresh = (): void => {
      rmSync(at, { recursive: true, force: true })
      cpSync(ready, at, { recursive: true })
    }
    fresh()
    const before = (await look(at)).state
    await run(at)
    const after = (await look(at)).state
    let refused = 0
    for (let kilobytes = 64; kilobytes <= 512; kilobytes += FULL ? 16 : 64) {
      fresh()
      // What is there already has its room, however small the disk.
      remount(disk, `size=${Math.max(kilobytes, usedIn(disk))}k`)
      const error = await run(at).then(
        () => null,
        (thrown: unknown) => thrown,
      )
      remount(disk, 'size=4m')
      const where = `${kilobytes} kB: ${String(error)}`
      if (error !== null) expect(error, where).toBeInstanceOf(BandsError)
      const found = await look(at)
      expect(found.wrong, where).toEqual([])
      if (found.unsettled === 0) expect([before, after], where).toContain(found.state)
      if (error === null) expect(found.state, where).toBe(after)
      else refused++
      await run(at)
      expect(await look(at), where).toMatchObject({ state: after, wrong: [], left: [] })
    }
    expect(refused).toBeGreaterThan(0)
  })
})

/** Before and after each change of a name there is a sync: none of them is left out. */
function nextCall(kind: number, call: number): number {
  return FULL && kind === 2 ? call + 1 : Math.ceil(call * (FULL ? 1.5 : 6))
}

/** What lets calls fail below a folder, in a process of that environment; why it cannot be had here. */
function faultsIn(folder: string): { below: string; control: string; env: NodeJS.ProcessEnv } | string {
  const library = join(folder, 'faults.so')
  const made = spawnSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, 'test/store/faults/faults.c', '-ldl'])
  if (process.platform !== 'linux' || made.status !== 0)
    return `no library can be compiled here that lets calls fail: ${made.error?.message ?? made.stderr}`
  const [control, below] = [join(folder, 'control'), join(folder, 'files')]
  writeFileSync(control, Buffer.alloc(28))
  mkdirSync(below)
  const env = { ...process.env, LD_PRELOAD: library, FAULTS_CONTROL: control, FAULTS_BELOW: join(below, 'at') }
  return { below, control, env }
}

/** In kilobytes. */
function usedIn(disk: string): number {
  const [, line = ''] = spawnSync('df', ['-k', '--output=used', disk]).stdout.toString().split('\n')
  return Number(line)
}

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
