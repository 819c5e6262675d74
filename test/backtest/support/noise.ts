import type { PricedSource } from '../../../src/core/source.js'
import { Random } from '../../../src/core/statistics/random.js'
import { type MadeBar, madeMarket } from './made-market.js'

/** Prices that walk at random, and bands that change by lot: nothing is to be found. @param edge added to each bar in band `a` */
export function noiseMarket(seed: number, bars: number, edge = 0): PricedSource {
  const random = new Random(new Random(seed).word())
  let price = 100
  let band = 0
  let letters = ''
  const prices = Array.from({ length: bars }, (): MadeBar => {
    const open = price
    price *= 1 + 0.012 * random.normal() + (band === 0 ? edge : 0)
    if (random.uniform() < 0.1) band = random.below(7)
    letters += 'abcdefg'[band]
    return [open, Math.max(open, price), Math.min(open, price), price]
  })
  return madeMarket({ A: { bars: prices, bands: { rsi_zone: letters }, barsAYear: 252 } })
}
