// Runs whole processes and sums them up. Ratios within one interleaved run are what counts: machines differ and drift.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const BANDS = fileURLToPath(new URL('../bin/bands.js', import.meta.url))
const PEAK = new URL('./peak.mjs', import.meta.url).href

/** One process: seconds of wall clock, and what it printed. Throws when it fails. */
export function run(args, env = {}) {
  const start = performance.now()
  const child = spawnSync(process.execPath, args, { env: { ...process.env, ...env }, maxBuffer: 2 ** 30 })
  const seconds = (performance.now() - start) / 1000
  if (child.status !== 0) throw new Error(`node ${args.join(' ')} ended with ${child.status}: ${child.stderr}`)
  return { seconds, stdout: child.stdout }
}

/** The same with its peak memory in bytes. */
export function runWithPeak(args, env = {}) {
  const file = join(mkdtempSync(join(tmpdir(), 'bands-bench-')), 'peak')
  const result = run(['--import', PEAK, ...args], { ...env, BENCH_PEAK: file })
  return { ...result, peak: Number(readFileSync(file, 'utf8')) }
}

/** Medians of seconds over interleaved rounds A B C A B C …, and each one's median ratio to the first in its round. */
export function interleaved(cases, rounds) {
  const names = Object.keys(cases)
  const seconds = Object.fromEntries(names.map(name => [name, []]))
  const ratios = Object.fromEntries(names.map(name => [name, []]))
  for (let round = -1; round < rounds; round++) {
    const times = names.map(name => run(cases[name]).seconds)
    // The first round only warms the disk cache.
    if (round < 0) continue
    names.forEach((name, i) => {
      seconds[name].push(times[i])
      ratios[name].push(times[i] / times[0])
    })
  }
  return names.map(name => ({ name, seconds: median(seconds[name]), ratio: median(ratios[name]) }))
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
