import fc from 'fast-check'
import { it } from 'vitest'
import { loadPrices, loadUniverse, randomBars, SHAPES, SHARED } from '../support/bars.js'
import { draws, FULL } from '../support/full.js'
import type { Bar } from '../support/oracle/index.js'

/** What a random series is made from; a failure prints it. */
export interface Draw {
  shape: string
  seed: number
  length: number
}

export function barsOfDraw({ shape, seed, length }: Draw): Bar[] {
  return randomBars(seed, { ...SHAPES[shape]!, length })
}

/** Runs a check on random series of all shapes, always the same ones; fast-check prints and shrinks what fails. */
export function forRandomBars(
  { runs, longest, shortest = 1 }: { runs: number; longest: number; shortest?: number },
  check: (bars: Bar[], draw: Draw) => void,
): void {
  const drawn = fc.record({
    shape: fc.constantFrom(...Object.keys(SHAPES)),
    seed: fc.nat(1_000_000),
    length: fc.integer({ min: shortest, max: longest }),
  })
  fc.assert(
    fc.property(drawn, draw => check(barsOfDraw(draw), draw)),
    { numRuns: draws(runs), seed: 20_240_229 },
  )
}

/** Registers a check on every real stretch, and one on random series; `seed` is for the check's own choices. */
export function everywhere(
  check: (bars: Bar[], what: string, seed: number) => void,
  { runs = 26, longest = 1_000 } = {},
): void {
  onRealBars((bars, name) => check(bars, name, 1))
  it('random bars', () => {
    forRandomBars({ runs, longest }, (bars, { shape, seed }) => check(bars, `shape ${shape}, seed ${seed}`, seed))
  })
}

/**
 * Registers a check on real stretches that each bring a trouble: seven days a week, a crash of 98 %, no volume for two
 * years, highs equal to lows, holes, a short listing. The quick run takes the two shortest.
 */
export function onRealBars(check: (bars: Bar[], name: string) => void): void {
  if (SHARED === null) it.skip('real bars (skipped: the folder of shared data is absent)')
  else it.each(FULL ? STRETCHES : STRETCHES.slice(0, 2))('%s', (name, load) => check(load()!, name))
}

const STRETCHES: [string, () => Bar[] | null][] = [
  ['APTV', () => loadUniverse('APTV')],
  ['MSFT 1990-1995', () => loadPrices('MSFT')?.slice(0, 1_400) ?? null],
  ['AAPL', () => loadPrices('AAPL')],
  ['BTCUSD', () => loadPrices('BTCUSD')],
  ['AIG 2005-2011', () => loadPrices('AIG')?.slice(1_800, 3_400) ?? null],
  ['GSPC 1958-1966', () => loadPrices('GSPC_1950_2012')?.slice(2_200, 4_200) ?? null],
  ['BMY', () => loadUniverse('BMY')],
]
