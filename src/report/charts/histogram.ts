import type { Trade } from '../../research/backtest/result.js'
import type { StudyWindow } from '../../research/study/result.js'
import type { SweepCell } from '../../research/sweep/result.js'
import { counted, gain, share } from '../format.js'
import { newChart } from './new-chart.js'
import type { Bars, Chart } from './spec.js'
import { roundSteps } from './ticks.js'

/** Returns over one window after the events, with those after any bar behind them; both as shares of their own number. */
export function windowHistogram({ window, histogram, n, mean, base }: StudyWindow): Chart {
  const chart = newChart(`histogram-${window}`, `Returns over ${window}`, 'return', 'share')
  const none = { ...chart, height: 190, width: 430, empty: `No window of ${window} has elapsed.` }
  if (histogram === null || n === 0) return none
  const { edges, events, base: any } = histogram
  return {
    ...none,
    description: `${counted(n, 'return')} after events, mean ${gain(mean)}, and ${counted(base.n, 'return')} after any bar, mean ${gain(base.mean)}.`,
    x: { unit: 'return', values: middles(edges) },
    y: { unit: 'share', log: false, zero: true },
    bars: [
      { label: `after events, n ${n}`, tone: 'accent', edges, values: shares(events), outline: false },
      { label: `after any bar, n ${base.n}`, tone: 'quiet', edges, values: shares(any), outline: true },
    ],
    rules: { x: [0], y: [] },
  }
}

/** Net returns of closed trades. */
export function tradeHistogram(trades: readonly Trade[]): Chart {
  const net = trades.filter(({ exit }) => exit !== 'open').map(trade => trade.net)
  const chart = newChart('trade-returns', 'Net returns of the trades', 'return', 'count')
  const none = { ...chart, height: 200, empty: 'No trade is closed.' }
  if (net.length === 0) return none
  const edges = roundEdges(net, Math.min(30, Math.max(6, Math.ceil(Math.sqrt(net.length) * 1.5))))
  return {
    ...none,
    description: `Net returns of ${counted(net.length, 'closed trade')}, from ${gain(Math.min(...net))} to ${gain(Math.max(...net))}.`,
    x: { unit: 'return', values: middles(edges) },
    y: { unit: 'count', log: false, zero: true },
    bars: [{ label: 'trades', tone: 'accent', edges, values: counts(net, edges), outline: false }],
    rules: { x: [0], y: [] },
  }
}

/** p-values of all tested cells; were there nothing to find, each of the twenty bins would hold as many. */
export function pValueHistogram(cells: readonly SweepCell[]): Chart {
  const p = cells.flatMap(cell => (cell.p === null ? [] : [cell.p]))
  const edges = Array.from({ length: 21 }, (_, i) => i / 20)
  const values = counts(p, edges)
  const bars: Bars[] = [{ label: 'cells', tone: 'accent', edges, values, outline: false }]
  return {
    ...newChart('p-values', 'p-values of all tested cells', 'p', 'count'),
    height: 230,
    description: `p-values of ${counted(p.length, 'tested cell')}: ${share((values[0] ?? 0) / (p.length || 1))} lie below 0.05, where chance alone puts 5.0%.`,
    x: { unit: 'p', values: middles(edges) },
    y: { unit: 'count', log: false, zero: true },
    bars:
      p.length === 0
        ? []
        : [
            ...bars,
            { label: 'by chance alone', tone: 'quiet', edges, values: values.map(() => p.length / 20), outline: true },
          ],
    empty: 'No cell has a p-value.',
  }
}

function shares(counts: readonly number[]): number[] {
  const all = counts.reduce((sum, n) => sum + n, 0)
  return counts.map(n => (all === 0 ? 0 : Number((n / all).toPrecision(5))))
}

function middles(edges: readonly number[]): number[] {
  return edges.slice(1).map((edge, i) => Number(((edge + edges[i]!) / 2).toPrecision(6)))
}

function roundEdges(values: readonly number[], bins: number): number[] {
  const least = values.reduce((a, b) => Math.min(a, b))
  const greatest = values.reduce((a, b) => Math.max(a, b))
  if (least === greatest) return [least - 0.005, least + 0.005]
  const [first = 0, second = 0.01] = roundSteps(least, greatest, bins)
  const step = second - first
  const from = Math.floor(least / step)
  const to = Math.max(Math.ceil(greatest / step), Math.floor(greatest / step) + 1)
  return Array.from({ length: to - from + 1 }, (_, i) => Number(((from + i) * step).toPrecision(12)))
}

/** How many lie in each bin; what lies on an edge belongs to the bin above, the last bin has both its edges. */
function counts(values: readonly number[], edges: readonly number[]): number[] {
  const found = edges.slice(1).map(() => 0)
  for (const value of values) {
    const above = edges.findIndex(edge => edge > value)
    found[above < 0 ? found.length - 1 : Math.max(0, above - 1)]!++
  }
  return found
}
