import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** What lets calls fail below a folder, in a process of that environment; why it cannot be had here. */
export function faultsIn(folder: string): { below: string; control: string; env: NodeJS.ProcessEnv } | string {
  const library = join(folder, 'faults.so')
  const made = spawnSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, 'test/store/faults/faults.c', '-ldl'])
  if (process.platform !== 'linux' || made.status !== 0)
    return `no library can be compiled here that lets calls fail: ${made.error?.message ?? made.stderr}`
  const control = join(folder, 'control')
  const below = join(folder, 'files')
  writeFileSync(control, Buffer.alloc(28))
  mkdirSync(below)
  const env = { ...process.env, LD_PRELOAD: library, FAULTS_CONTROL: control, FAULTS_BELOW: join(below, 'at') }
  return { below, control, env }
}
