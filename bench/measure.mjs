// Runs whole processes and says what each cost; runs several in turn, round by round, so that what the machine does beside
// them meets all alike. Ratios within a round are what counts: machines differ and drift.
import { spawnSync } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { FOLDER } from './folder.mjs'

const LAUNCHER = fileURLToPath(new URL('./usage.c', import.meta.url))
/** Rounds of a row fill about so many seconds, and are neither fewer nor more than this. */
const PATIENCE = 20
const FEWEST = 3
const MOST = 20

/** Runs a command and throws its output away. */
const DRAINED = 'set -o pipefail; "$@" | cat > /dev/null'

let launcher

/** Compiles a program of C, with all that this machine's processor can; null where there is no compiler. */
export function compiled(source, name) {
  const program = join(FOLDER, name)
  if (existsSync(program)) return program
  const made = spawnSync('cc', ['-O3', '-march=native', '-o', program, source, '-lm'], { encoding: 'utf8' })
  return made.status === 0 ? program : null
}

/** A home of its own: neither a configuration nor a database of whoever measures. */
export function environment() {
  const own = Object.entries(process.env).filter(([name]) => !/^(BANDS_|XDG_|NODE_OPTIONS)/.test(name))
  return { ...Object.fromEntries(own), HOME: FOLDER }
}

/**
 * One process and what it cost: seconds of `wall` and of `cpu`, `peak` memory and what was `written`, in bytes; of a
 * machine without a compiler only the first.
 *
 * @param command program and words
 * @param options `out`: a file for its standard output; `capture`: give that output back; `ends`: exit codes that are right
 */
export function measured(command, { cwd, out, capture = false, ends = [0] } = {}) {
  launcher ??= compiled(LAUNCHER, 'usage')
  const report = join(FOLDER, 'usage.json')
  const watched = launcher === null ? command : [launcher, report, ...command]
  const file = out === undefined ? undefined : openSync(out, 'w')
  // To a pipe, as a script asks: /dev/null is a terminal to node.
  const [program, ...words] = capture || out !== undefined ? watched : ['bash', '-c', DRAINED, 'bash', ...watched]
  const stdio = ['ignore', file ?? 'pipe', 'pipe']
  const start = performance.now()
  const child = spawnSync(program, words, { cwd, stdio, env: environment(), maxBuffer: 2 ** 30 })
  const wall = (performance.now() - start) / 1000
  if (file !== undefined) closeSync(file)
  if (!ends.includes(child.status))
    throw new Error(`${command.join(' ')} ended with ${child.status}: ${child.error?.message ?? child.stderr}`)
  const cost = launcher === null ? { wall } : JSON.parse(readFileSync(report, 'utf8'))
  return capture ? { ...cost, text: String(child.stdout) } : cost
}

/** What a process printed. */
export function printed(command, options = {}) {
  return measured(command, { ...options, capture: true }).text
}

/**
 * Samples of each case, taken in turn, A B C, C B A, A B C …; the first round warms caches and does not count.
 *
 * @param cases by name, what takes one sample: an object of figures
 * @param rounds as many; otherwise as many as are worth their time
 */
export async function interleaved(cases, { rounds, isWarm = false } = {}) {
  const samples = Object.fromEntries(Object.keys(cases).map(name => [name, []]))
  let count = rounds ?? MOST
  for (let round = isWarm ? 0 : -1; round < count; round++) {
    const start = performance.now()
    const names = Object.keys(cases)
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const sample = await cases[name]()
      if (round >= 0) samples[name].push(sample)
    }
    const seconds = (performance.now() - start) / 1000
    if (rounds === undefined) count = Math.min(count, Math.max(FEWEST, Math.ceil(PATIENCE / seconds)))
  }
  return samples
}

export function median(values) {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** Median, and the middle half as a share of it: how far apart the rounds were. */
export function summed(values) {
  const sorted = values.toSorted((a, b) => a - b)
  const at = share => sorted[Math.round((sorted.length - 1) * share)]
  const middle = median(values)
  return { median: middle, spread: middle === 0 ? 0 : (at(0.75) - at(0.25)) / middle }
}

/** The figure `of` each round of one case, by that of the same round of another. */
export function ratio(ours, floor, of) {
  const pairs = ours.map((sample, i) => sample[of] / floor[i][of])
  return pairs.every(Number.isFinite) ? summed(pairs) : null
}
