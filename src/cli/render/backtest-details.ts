import type { Backtest, Trade } from '../../research/backtest/result.js'
import { figure, whole } from './amounts.js'
import { type Bar, drawBars } from './bars.js'
import { drawChart, drawingWidth } from './chart.js'
import type { Screen } from './layout.js'
import { scaleOf } from './line.js'
import { classLabel, money, returnCell, right } from './statistics.js'
import type { Block, Cell, Column } from './table.js'

export interface BacktestStyle {
  wide: boolean
  explain: boolean
}

/** The equity as a curve, how trades ended, the deepest falls; with `explain` what became of every signal. */
export function backtestDetails(found: Backtest, screen: Screen, { wide, explain }: BacktestStyle): Block[] {
  const blocks = wide ? [curve(found, screen), histogram(found, screen), drawdowns(found)] : []
  if (explain) blocks.push(signals(found))
  return blocks.filter(({ table, drawing }) => (table?.rows.length ?? drawing?.length ?? 0) > 0)
}

const CURVE_HEIGHT = 10

/** From this many times the lowest value on, the highest would flatten everything else (as in the report). */
const WIDE = 5

function curve({ equity, benchmarks }: Backtest, { width, unicode }: Screen): Block {
  const start = equity[0]?.equity ?? 1
  const [held] = benchmarks
  const own = equity.map(point => point.equity)
  const other = held?.equity.map(value => value && value * start) ?? []
  const { low, high } = scaleOf([{ values: own }, { values: other }])
  const isLog = low > 0 && high >= WIDE * low
  const place = (value: number | null): number | null => (isLog && value !== null ? Math.log(value) : value)
  const dotted = held === undefined ? [] : [{ values: other.map(place), dotted: true }]
  const ends = [equity[0], equity[Math.round((equity.length - 1) / 2)], equity.at(-1)]
  const drawing = drawChart([...dotted, { values: own.map(place) }], {
    width: drawingWidth(width),
    height: CURVE_HEIGHT,
    ascii: !unicode,
    label: value => money(isLog ? Math.exp(value) : value),
    beneath: ends.flatMap((point, i) => (point === undefined ? [] : [{ at: i / 2, text: point.date }])),
  })
  const scale = isLog ? ['logarithmic scale'] : []
  return { title: ['Equity', ...(held === undefined ? [] : [`dots: ${held.name}`]), ...scale], drawing }
}

/** Net returns of closed trades in classes of equal breadth. */
function histogram({ trades }: Backtest, { width, unicode }: Screen): Block {
  const nets = trades.filter(({ exit }) => exit !== 'open').map(({ net }) => net)
  return {
    title: ['Net return a trade'],
    drawing: drawBars(classes(nets), { width: Math.min(80, drawingWidth(width)), ascii: !unicode }),
  }
}

const MOST_CLASSES = 9
const STEPS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

function classes(values: readonly number[]): Bar[] {
  if (values.length === 0) return []
  const low = values.reduce((a, b) => Math.min(a, b))
  const high = values.reduce((a, b) => Math.max(a, b))
  const spans = (step: number): number => Math.floor(high / step) - Math.floor(low / step) + 1
  const step = STEPS.find(step => spans(step) <= MOST_CLASSES) ?? (high - low) / MOST_CLASSES
  const first = Math.floor(low / step)
  return Array.from({ length: spans(step) }, (_, i) => {
    const n = values.filter(value => Math.floor(value / step) === first + i).length
    const [from, to] = [(first + i) * step, (first + i + 1) * step]
    return { label: classLabel(from, to), value: n, text: whole(n) }
  })
}

function drawdowns({ drawdowns: falls }: Backtest): Block {
  return {
    title: ['Deepest falls from a high'],
    table: {
      columns: [right('DEPTH'), { title: 'HIGH' }, { title: 'LOW' }, { title: 'BACK', spare: 1 }, right('BARS', 0)],
      rows: falls.map(fall => [returnCell(fall.depth), fall.from, fall.low, fall.to ?? 'not yet', whole(fall.bars)]),
    },
  }
}

function signals({ trades, skipped }: Backtest): Block {
  const taken = trades.map((trade): [string, string, Cell[]] => [trade.signal_date, trade.ticker, tradeRow(trade)])
  const left = skipped.map(({ date, ticker, reason }): [string, string, Cell[]] => [
    date,
    ticker,
    [date, ticker, '', '', '', '', '', '', `skipped: ${reason.replaceAll('_', ' ')}`],
  ])
  const rows = [...taken, ...left].sort(([a, x], [b, y]) => (a === b ? (x < y ? -1 : 1) : a < b ? -1 : 1))
  return {
    title: ['What became of each signal'],
    table: { columns: SIGNALS, rows: rows.map(([, , row]) => row), whole: 'json' },
  }
}

const SIGNALS: readonly Column[] = [
  { title: 'SIGNAL' },
  { title: 'TICKER' },
  { title: 'ENTRY', spare: 2 },
  right('AT', 1),
  { title: 'EXIT', spare: 3 },
  right('AT', 1),
  right('BARS', 4),
  right('NET'),
  { title: 'WHY' },
]

function tradeRow(trade: Trade): Cell[] {
  return [
    trade.signal_date,
    trade.ticker,
    trade.entry_date,
    figure(trade.entry_price),
    trade.exit_date,
    figure(trade.exit_price),
    whole(trade.bars),
    returnCell(trade.net),
    trade.exit,
  ]
}
