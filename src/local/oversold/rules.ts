/**
 * Every length and cut that a scan for oversold tickers adds to the fields' own. They decide nothing that is kept: a scan
 * is computed when it is asked, so they are no part of the definitions that a store is stamped with.
 */
export const OVERSOLD_RULES = {
  /** Calendar days that a ticker's last bar may be older than the date (of a week: than its Sunday). */
  maxAge: 7,
  /** In money, ascending; one fewer than MARKET_CAP_TIERS. */
  marketCapCuts: [50e6, 300e6, 2e9, 10e9, 200e9, 1e12],
  /** Percentiles of the RSI. */
  rarityCuts: [1, 3, 7, 15, 30],
  stochastic: { length: 14, smoothing: 3, cuts: [10, 20, 35, 65, 80, 90] },
  /** Volume ratios, ascending: VOLUME_CONTEXTS is the other way round. */
  volumeCuts: [0.7, 1.5, 2.5],
  /** Shares of the close; a distance equal to one is still the nearer. */
  distanceCuts: [0.005, 0.015, 0.03, 0.07, 0.15],
} as const
