import { PERFORMANCES } from '../../../src/core/model/series.js'
import { wilson } from '../../../src/core/statistics/counts.js'
import type { Tally, TallyGroup } from '../../../src/research/tally/tally.js'

/** Of how many of a hundred events and of any bars which performance band followed, in the order of PERFORMANCES. */
const COUNTS = [8, 14, 18, 17, 18, 15, 10]
const ANY = [0.05, 0.15, 0.2, 0.22, 0.19, 0.14, 0.05]
const FIGURES = { reason: null, hit_rate: 0.55, mean: 0.006, median: 0.005, p10: -0.03, p90: 0.04 }

/** A tally of two tickers with a hundred events in each group; not grouped unless groups are named. */
export function madeTally(groups: readonly string[] = []): Tally {
  const by = groups.length === 0 ? null : 'band'
  const values = by === null ? [null] : groups
  return {
    schema: 'bands.tally/2',
    tickers: ['AAPL', 'MSFT'],
    field: 'rsi_zone',
    timeframe: 'daily',
    band: by === null ? 'oversold' : null,
    context: null,
    by,
    query_range: 'all',
    after: null,
    before: null,
    as_of: '2018-05-11',
    events: 100 * values.length,
    groups: values.map(groupOf),
    log: null,
    warnings: ['Tickers move together.'],
  }
}

function groupOf(group: string | null): TallyGroup {
  const record = (of: readonly number[]) => Object.fromEntries(PERFORMANCES.map((name, i) => [name, of[i]!]))
  const { low, high } = wilson(43, 100)!
  const windows = ['5d', '10d', '20d', '50d', '100d'].map(window => ({
    window,
    events: 106,
    n: 102,
    n_independent: 61,
    pending: 4,
    no_history: 2,
    reason: null,
    overlapping: 12,
    counts: record(COUNTS),
    shares: record(COUNTS.map(n => n / 100)),
    returns: { n: 102, ...FIGURES },
    hit_low: 0.42,
    hit_high: 0.67,
    top_share: 0.43,
    top_low: low,
    top_high: high,
    base: { kind: 'measured', n: 2400, shares: record(ANY), returns: { n: 2400, ...FIGURES }, top_share: 0.38 },
  }))
  return { group, events: 106, windows: windows as unknown as TallyGroup['windows'], warnings: [] }
}
