import { PERFORMANCES } from '../../model/record.js'
import type { Tally } from '../../study/tally.js'
import type { Answer } from '../output.js'
import type { Row } from '../render/records.js'
import { tallyBlocks } from '../render/tally.js'

/** What followed, counted: for machines a row for every group and window. */
export function tallyAnswer(found: Tally): Answer {
  return {
    document: () => found,
    columns: COLUMNS,
    rows: () => rows(found),
    blocks: screen => tallyBlocks(found, screen),
  }
}

/** What the short words of the table mean. */
export function tallyHints({ field, timeframe, tickers, band, groups }: Tally): string[] {
  const base = groups[0]?.windows[0]?.base
  const usual = base?.kind === 'measured' ? 'after any bar of the same range' : 'by the way the bands are cut'
  const hints = [`GAIN is the share of + ++ +++, with its 95% interval (Wilson); USUAL is the same ${usual}.`]
  const [only, second] = tickers
  if (only !== undefined && second === undefined && band !== null) {
    const weekly = timeframe === 'weekly' ? ' --timeframe weekly' : ''
    hints.push(`next: bands tally ${only} ${field} --band ${band}${weekly} --by stability`)
  }
  return hints
}

function rows({ tickers, field, timeframe, band, by, groups }: Tally): Row[] {
  const ticker = tickers.length === 1 ? tickers[0]! : null
  return groups.flatMap(({ group, windows }) =>
    windows.map(window => ({ ticker, tickers: tickers.length, field, timeframe, band, by, group, ...window })),
  )
}

const RETURNS = ['n', 'hit_rate', 'mean', 'median', 'p10', 'p90']

const COLUMNS = [
  ...['ticker', 'tickers', 'field', 'timeframe', 'band', 'by', 'group'],
  ...['window', 'events', 'n', 'pending', 'no_history'],
  ...PERFORMANCES.map(name => `counts_${name}`),
  ...PERFORMANCES.map(name => `shares_${name}`),
  ...['gain_share', 'gain_low', 'gain_high'],
  ...RETURNS.map(name => `returns_${name}`),
  ...['overlapping', 'independent', 'base_kind', 'base_n'],
  ...PERFORMANCES.map(name => `base_shares_${name}`),
  'base_gain_share',
  ...RETURNS.map(name => `base_returns_${name}`),
]
