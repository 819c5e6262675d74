// For: the words of the trade as types, and every length, cut and threshold.
// In: nothing.
// Out: types, dates and constants of the specification.

/**
 * Every length, cut and threshold of bands, events and aftermaths, as `spec/fields.md` defines them. A store contains
 * derived data of one version of this file and is never mixed with another.
 */
export const DEFINITIONS = {
  timeframes: {
    daily: {
      /** Suffix of lookbacks and windows in names: `30d`, `4w`. */
      unit: 'd',
      /** Lookahead windows of the aftermath, in bars. */
      windows: [5, 10, 20, 50, 100],
      /** Bars over which flips are counted, the entry bar included. */
      flipsLookback: 30,
      /** Returns that must have ended before one is ranked. */
      minReference: 252,
      /** Rolling percentiles: bars of history, and the least number of defined values. */
      history: 1260,
      minHistory: 252,
      /** Support and resistance: bars on each side of a pivot, and the greatest age of a pivot. */
      pivotReach: 10,
      pivotLookback: 252,
      /** The resource key of a band's length. */
      duration: 'duration_days',
    },
    weekly: {
      unit: 'w',
      windows: [2, 4, 8, 12, 16],
      flipsLookback: 12,
      minReference: 52,
      history: 260,
      minHistory: 52,
      pivotReach: 4,
      pivotLookback: 104,
      duration: 'duration_weeks',
    },
  },
  rsi: { length: 14, cuts: [20, 30, 40, 60, 70, 80] },
  averages: { short: 20, middle: 50, long: 200 },
  slope: { length: 20 },
  atr: { length: 14 },
  macd: { fast: 12, slow: 26, signal: 9 },
  volumeRatio: { length: 50, minPositive: 25, cuts: [0.3, 0.7, 1.5, 2.5, 4.0] },
  accumulation: { length: 20, minPositive: 10, cuts: [10, 30, 70, 90] },
  volatility: { cuts: [20, 60, 80, 95] },
  levels: { approachingAtr: 1.0, breaches: 3 },
  stability: { volatileFlips: 4, holdingFrom: 3, establishedFrom: 10 },
  performance: { cuts: [5, 20, 40, 60, 80, 95] },
  /** Counting quarters, all in days: greatest age of the newest, and allowed distances between period ends. */
  quarters: { maxAge: 200, leastGap: 70, mostGap: 110 },
  valuation: { historicalCuts: [10, 30, 70, 90], cuts: [15, 35, 65, 85], growth: [10, 5, 0, -5, -10] },
  peers: { least: 5, maxAge: 7, cuts: [2, 1.25, 0.8, 0.5] },
  growth: { cuts: [0, 0.03, 0.1, 0.2] },
  /** Least change of a growth rate to be faster or slower; least earnings a share to compare with. */
  directions: { revenue: 0.02, eps: 0.05, leastEps: 0.01 },
  surprise: { maxAge: 200, leastEstimate: 0.01, met: 0.02, big: 0.15 },
  proximity: { cuts: [3, 7, 30, 60], reports: 4, cycle: 364, maxLate: 14 },
  consensus: { least: 3, cuts: [1.5, 2.5, 3.5, 4.5], lookback: 90, change: 0.1, gradeLife: 365 },
  /** Without a filing date, a trade is known this number of weekdays after it. */
  insiders: { filing: 2, lookback: 90, directionCuts: [0.2, 0.6], valueCuts: [0.2, 0.6], leastHeavy: 3 },
} as const

/**
 * Stored in every store. The number rises when a rule changes outside the table above; the letters are the table's
 * digest (test/model/words.test.ts prints the new one when they differ).
 */
export const DEFINITIONS_VERSION = '2-0a2bd18f'
