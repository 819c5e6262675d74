import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  kernelRanks,
  movingRanks,
  plainRanks,
  type Ranks,
  type Subset,
  sortedColumn,
} from '../../src/core/indicators/rank.js'
import { plainSums, sumMoves } from '../../src/core/statistics/moves.js'
import { draws, FULL } from '../support/full.js'

const pathOf = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url))

/** What is written in AssemblyScript, and where it is kept compiled. */
const MODULES = [
  ['assembly/ranks.ts', 'src/core/indicators/ranks.wasm.ts'],
  ['assembly/checksum.ts', 'src/data/store/checksum.wasm.ts'],
  ['assembly/moves.ts', 'src/core/statistics/moves.wasm.ts'],
] as const
const WRITES = process.env.BANDS_WRITE === '1'

it.each(MODULES)('keeps what %s compiles to, and names its source', (from, to) => {
  const digest = createHash('sha256')
    .update(readFileSync(pathOf(from), 'utf8'))
    .digest('hex')
  if (!WRITES) expect(readFileSync(pathOf(to), 'utf8')).toContain(`${from} (SHA-256 ${digest})`)
})

// The compiler takes seconds to load.
it.runIf(FULL || WRITES).each(MODULES)('compiles %s to the bytes that are kept', async (from, to) => {
  const { default: asc } = await import('assemblyscript/asc')
  const source = readFileSync(pathOf(from), 'utf8')
  let compiled = ''
  const { error, stderr } = await asc.main(
    ['module.ts', '-O3', '--runtime', 'stub', '--noAssert', '--enable', 'simd', '--outFile', 'module.wasm'],
    {
      readFile: name => (name === 'module.ts' ? source : null),
      writeFile: (_, content) => {
        compiled = Buffer.from(content).toString('base64')
      },
      listFiles: () => [],
    },
  )
  expect(error, stderr.toString()).toBeNull()
  const digest = createHash('sha256').update(source).digest('hex')
  const file = `/** ${from} (SHA-256 ${digest}), compiled. */\nexport const WASM =\n  '${compiled}'\n`
  if (WRITES) writeFileSync(pathOf(to), file)
  expect(readFileSync(pathOf(to), 'utf8')).toBe(file)
})

/** Values that meet: few different ones, ones a hair apart, both zeros, both infinities, undefined ones. */
const value = fc.oneof(
  fc.double({ noNaN: true }),
  fc.double({ min: -0.3, max: 0.3, noNaN: true }),
  fc.integer({ min: -3, max: 3 }).map(n => n / 100),
  fc.integer({ min: -9, max: 9 }).map(n => 0.01 + n * 2.5e-11),
  fc.constantFrom(0, -0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN, 5e-324),
)
const column = fc.oneof(
  fc.array(value, { maxLength: 400 }),
  // In reverse order and alike to ten digits: nothing of it is ordered by the upper halves.
  fc.integer({ min: 1, max: 300 }).map(length => Array.from({ length }, (_, i) => 1 + (length - i) * 1e-13)),
)
const subset: fc.Arbitrary<Subset> = fc.record({
  lag: fc.integer({ min: 0, max: 30 }),
  history: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.constant(1_000)),
  least: fc.integer({ min: 1, max: 20 }),
})

/** Vitest takes its time over columns, and none over texts. */
function inWords(ranks: Ranks | null): string {
  return ranks === null ? 'none' : `${ranks.rank} among ${ranks.size}`
}

it('ranks by the compiled module as in plain TypeScript, to the last one', () => {
  fc.assert(
    fc.property(fc.array(column, { minLength: 1, maxLength: 3 }), subset, (columns, subset) => {
      for (const values of columns.map(values => Float64Array.from(values)))
        expect(inWords(kernelRanks(values, subset, 1e-10))).toBe(inWords(plainRanks(values, subset)))
    }),
    { numRuns: draws(2_000), seed: 20_261_123 },
  )
})

it('puts values in the order in which the language does, to the sign of a zero', () => {
  fc.assert(
    fc.property(column, values => {
      const given = Float64Array.from(values)
      expect(sortedColumn(given).join()).toBe(given.toSorted().join())
      expect([...sortedColumn(given)].map(x => Object.is(x, -0))).toEqual(
        [...given.toSorted()].map(x => Object.is(x, -0)),
      )
    }),
    { numRuns: draws(2_000), seed: 20_261_123 },
  )
})

it.each<[string, (i: number) => number]>([
  ['distinct values', i => Math.sin(i * i)],
  ['values in order', i => i],
  ['equal values', () => 1],
  ['few values, with both zeros', i => (i % 3) * (i % 2 === 0 ? 1 : -0)],
  ['undefined values among others', i => (i % 7 === 0 ? Number.NaN : Math.cos(i * i))],
  ['no defined value', () => Number.NaN],
])('sorts a column that is too long for the module: %s', (_, value) => {
  const values = Float64Array.from({ length: 300_000 }, (_, i) => value(i))
  const bytes = ({ buffer }: Float64Array) => Buffer.from(buffer)
  const sorted = bytes(values.toSorted())
  expect(bytes(sortedColumn(values)).equals(sorted)).toBe(true)
  expect(sortedColumn(values, values)).toBe(values)
  expect(bytes(values).equals(sorted)).toBe(true)
})

it('ranks columns of any length, whatever came before', () => {
  for (const length of [3_000, 1, 0, 63, 64, 65, 1_226, 5_000]) {
    const values = Float64Array.from({ length }, (_, t) => Math.sin(t * t))
    const subset = { lag: 3, history: 1_260, least: 2 }
    expect(inWords(movingRanks(values, subset))).toBe(inWords(plainRanks(values, subset)))
  }
})

it('sums the moves of a path by the compiled module as in plain TypeScript, to the last bit', () => {
  const close = fc.array(fc.double({ min: 1e-3, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 80 })
  const isBar = fc.array(fc.boolean(), { minLength: 80, maxLength: 80 })
  fc.assert(
    fc.property(
      close,
      isBar,
      fc.integer({ min: -90, max: 90 }),
      fc.integer({ min: 1, max: 90 }),
      (given, is, from, n) => {
        const closes = Float64Array.from(given)
        const bars = Int32Array.from(closes.keys()).filter(bar => is[bar]!)
        const [compiled, plain] = [new Float64Array(n).fill(9), new Float64Array(n).fill(9)]
        sumMoves(closes, bars, from, compiled)
        plainSums(closes, bars, from, plain)
        expect(compiled.join()).toBe(plain.join())
      },
    ),
    { numRuns: draws(1_000), seed: 20_261_129 },
  )
})
