// What checking the hashes of what it reads costs a question: the same questions in one process, in interleaved rounds,
// with SHA-256 and with a stand-in that only remembers what came out.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openBands } from '../dist/index.js'

const TICKERS = 100
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 20)

const folder = mkdtempSync(join(tmpdir(), 'bands-bench-'))
const db = join(folder, 'bands.db')
execFileSync(process.execPath, [
  'bin/bands.js',
  'simulate',
  String(TICKERS),
  '--bars',
  '1260',
  '--load',
  '--db',
  db,
  '-q',
])
const bands = await openBands({ db })
const crypto = process.getBuiltinModule('node:crypto')
const { createHash } = crypto

const known = []
let at = 0
const remembering = name => {
  const hash = createHash(name)
  const digest = hash.digest.bind(hash)
  hash.digest = encoding => {
    const found = digest(encoding)
    known.push(found)
    return found
  }
  return hash
}
const standIn = () => ({ update() {}, digest: () => known[at++ % known.length] })

async function round() {
  const start = performance.now()
  for (let i = 1; i <= TICKERS; i++)
    await bands.events({ ticker: `SIM${String(i).padStart(4, '0')}`, field: 'rsi_zone' })
  return (performance.now() - start) / TICKERS
}

const median = values => values.toSorted((a, b) => a - b)[values.length >> 1]
await round()
crypto.createHash = remembering
await round()
const times = { checked: [], unchecked: [] }
for (let i = 0; i < ROUNDS; i++) {
  crypto.createHash = createHash
  times.checked.push(await round())
  crypto.createHash = standIn
  at = 0
  times.unchecked.push(await round())
}
const [checked, unchecked] = [median(times.checked), median(times.unchecked)]
process.stdout.write(`a question of ${TICKERS} tickers with 1,260 bars each, in turn, in one process
  checked ${checked.toFixed(3)} ms, unchecked ${unchecked.toFixed(3)} ms
  ${(checked / unchecked).toFixed(2)} x; the check takes ${(checked - unchecked).toFixed(3)} ms\n`)
await bands.close()
rmSync(folder, { recursive: true })
