import { twoSidedNormal } from '../../../src/core/statistics/distributions.js'
import { Random } from '../../../src/core/statistics/random.js'
import { verdictOf } from '../../../src/core/statistics/verdict.js'
import type { Sweep, SweepCell } from '../../../src/research/sweep/result.js'
import { BANDS } from './prices.js'

/** A sweep of made cells: what is drawn from no edge but for a few. */
export function madeSweep(
  more: Partial<Sweep> = {},
  fields = ['rsi_zone', 'trend', 'volume_regime', 'macd_state'],
  tickers = ['AAPL'],
): Sweep {
  const random = new Random(7)
  const cells: SweepCell[] = []
  const by = more.by ?? 'pool'
  for (const ticker of by === 'ticker' ? tickers : [null])
    for (const field of fields)
      for (const band of BANDS)
        for (const horizon of [5, 10, 20, 50, 100]) cells.push(cell(random, ticker, field, band, horizon))
  const tested = cells.filter(({ p }) => p !== null).sort((a, b) => a.p! - b.p!)
  tested.forEach((cell, i) => {
    cell.q = Math.min(1, (cell.p! * tested.length) / (i + 1))
  })
  for (let i = tested.length - 2; i >= 0; i--) tested[i]!.q = Math.min(tested[i]!.q!, tested[i + 1]!.q!)
  for (const cell of tested) cell.verdict = verdictOf(cell.q, cell.diff)
  const ordered = [...tested, ...cells.filter(({ p }) => p === null)]
  return {
    schema: 'bands.sweep/2',
    tickers,
    timeframe: 'daily',
    fields,
    horizons: [5, 10, 20, 50, 100],
    contexts: [],
    by,
    prev_band: false,
    first: '2016-11-21',
    last: '2026-11-20',
    as_of: '2026-11-20',
    seed: 1,
    resamples: 1000,
    min_events: 20,
    adjust: 'bh',
    family: 'run',
    tried: { cells: cells.length, tested: tested.length, ledger: 4210 },
    found: tested.filter(({ q }) => q! < 0.05).length,
    log: null,
    best: {
      cells: tested.length,
      resamples: 1000,
      best_cell: tested.length === 0 ? null : 'rsi_zone oversold 20d',
      best_sharpe_cell: null,
      block: tested.length === 0 ? null : 21.4,
      reality_check: tested.length === 0 ? null : 0.043,
      spa: tested.length === 0 ? null : { lower: 0.021, consistent: 0.028, upper: 0.039 },
      deflated_sharpe: tested.length === 0 ? null : 0.71,
      best_sharpe: tested.length === 0 ? null : 0.081,
      pbo: tested.length === 0 ? null : { probability: 0.31, splits: 12870, blocks: 16 },
      reasons: tested.length === 0 ? { spa: 'no cell could be tested' } : {},
    },
    cells: ordered,
    validation: null,
    assumptions: ['Every cell that was looked at is listed, those too small for a test included.'],
    warnings: [],
    ...more,
  }
}

function cell(random: Random, ticker: string | null, field: string, band: string, horizon: number): SweepCell {
  const n = 4 + random.below(160)
  const indep = Math.max(2, Math.round(n / (1 + horizon / 25)))
  const grey = indep < 10
  const edge = random.uniform() < 0.06 ? 4 : 0
  const error = (0.02 * Math.sqrt(horizon)) / Math.sqrt(indep)
  const t = random.normal() + edge
  const base = 0.0004 * horizon
  const p = Math.max(0.001, twoSidedNormal(t))
  return {
    ticker,
    field,
    band,
    prev_band: null,
    context: null,
    window: `${horizon}d`,
    horizon,
    events: n + 2,
    n,
    n_indep: indep,
    n_independent: indep,
    lost: 2,
    mean: base + t * error,
    base,
    diff: t * error,
    hit: 0.5 + t * 0.03,
    hit_low: 0.4 + t * 0.03,
    hit_high: 0.6 + t * 0.03,
    base_hit: 0.54,
    low: grey ? null : (t - 2) * error,
    high: grey ? null : (t + 2) * error,
    p: grey ? null : p,
    q: null,
    log_q: null,
    verdict: 'too few',
    t: grey ? null : t,
    sharpe: grey ? null : 0.01 * t,
    grey,
    reason: grey ? 'fewer than ten independent windows' : null,
  }
}
