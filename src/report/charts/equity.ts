import { parseDay } from '../../model/day.js'
import type { Backtest } from '../../research/backtest/result.js'
import { counted, gain } from '../format.js'
import { line, MOST_POINTS, newChart } from './new-chart.js'
import { isWide } from './price.js'
import type { Chart, Line, Tone } from './spec.js'
import { shortened, thinned } from './thin.js'

const TONES: readonly Tone[] = ['quiet', 'third', 'second']

/**
 * The equity beside what holding would have made of the same money, how far it lay below its high, and how much of it
 * was in positions: three charts of the same dates, so that one pointer reads all of them.
 */
export function equityCharts(backtest: Backtest): Chart[] {
  const { equity, benchmarks, statistics } = backtest
  const own = fromOne(equity.map(point => point.equity))
  // A benchmark starts at 1 on its own first bar.
  const others = benchmarks.map(({ name, equity }) => ({ name, values: equity }))
  const depths = equity.map(point => point.drawdown)
  const shares = equity.map(point => point.gross)
  const curves = [own, ...others.map(({ values }) => values)]
  const kept = thinned([...curves, depths, shares], equity.length, MOST_POINTS)
  const at = (values: readonly (number | null)[]): (number | null)[] => kept.map(i => shortened(values[i]))
  const dates = kept.map(i => parseDay(equity[i]!.date) ?? 0)
  const total = (name: string, values: readonly (number | null)[]): string =>
    `${name} ${gain((values.findLast(value => value !== null) ?? 1) - 1)}`
  return [
    over(dates, 'equity-curve', 'Equity, from 1', 300, {
      description: `What 1 became over ${counted(equity.length, 'bar')}: ${total('strategy', own)}${others
        .map(({ name, values }) => `, ${total(name, values)}`)
        .join('')}.`,
      y: { unit: 'multiple', log: isWide(curves.flat()), zero: false },
      lines: [
        ...others.map(({ name, values }, i) => holding(name, at(values), i)),
        line('strategy', 'accent', at(own), { width: 2 }),
      ],
      rules: { x: [], y: [1] },
    }),
    over(dates, 'drawdown', 'Drawdown', 150, {
      description: `How far the equity lay below its highest value so far; at worst ${gain(statistics.max_drawdown)}.`,
      y: { unit: 'return', log: false, zero: true },
      lines: [line('below the high', 'loss', at(depths), { width: 1.2, area: true })],
    }),
    over(dates, 'exposure', 'In positions', 120, {
      description: 'The value of all positions as a share of the equity.',
      y: { unit: 'share', log: false, zero: true },
      lines: [line('share of the equity', 'third', at(shares), { width: 1, area: true })],
    }),
  ]
}

function over(dates: number[], id: string, title: string, height: number, more: Partial<Chart>): Chart {
  return {
    ...newChart(id, title, 'date', 'multiple'),
    height,
    group: 'dates',
    x: { unit: 'date', values: dates },
    empty: 'There is no equity curve: the strategy had no bar to trade on.',
    ...more,
  }
}

function holding(name: string, values: Line['values'], place: number): Line {
  return line(name, TONES[place % TONES.length]!, values, { width: 1.2, dashed: place > 0 })
}

function fromOne(values: readonly number[]): number[] {
  const [first = 1] = values
  return values.map(value => value / first)
}
