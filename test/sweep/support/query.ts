import type { SweepQuery } from '../../../src/sweep/sweep.js'

/** A complete question of made tickers; what a test is about is named by the test. */
export function asked(query: Partial<SweepQuery> & Pick<SweepQuery, 'tickers'>): SweepQuery {
  return {
    timeframe: 'daily',
    fields: ['rsi_zone'],
    horizons: [5, 20],
    contexts: [],
    by: 'pool',
    prevBand: false,
    after: null,
    before: null,
    minEvents: 20,
    reps: 999,
    resamples: 99,
    adjust: 'bh',
    family: 'run',
    split: null,
    walkForward: null,
    cv: null,
    cpcv: null,
    pboBlocks: 8,
    seed: 1,
    ...query,
  }
}
