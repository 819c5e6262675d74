/** Bars for tests: made by hand, seeded random ones, and the real ones of the shared data where they are present. */
export { dateOf, day, series } from './made-bars.js'
export type { Bar } from './oracle/index.js'
export { assortedBars, randomBars, randomNumbers, SHAPES, type Shape } from './random-bars.js'
export { loadPrices, loadUniverse, priceNames, SHARED, universeTickers } from './shared-bars.js'
