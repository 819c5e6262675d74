import { TRUTHS } from '../../core/language/as-field.js'
import { count, figureText, numberText, returnText } from '../../core/numbers.js'
import {
  type Backtest,
  type Grid,
  SAME_EXPOSURE,
  type Tests,
  type Trade,
  type Year,
} from '../../research/backtest/result.js'
import {
  type Bars,
  type Case,
  type Chart,
  type ChartPrices,
  type Line,
  line,
  newChart,
  type Shades,
  type Tone,
} from './chart.js'
import {
  binMiddles,
  canBeLogarithmic,
  countInBins,
  dayOf,
  type Mark,
  newMarks,
  priceChart,
  roundBinEdges,
} from './charts.js'
import { changeText } from './long-tables.js'

const BENCHMARK_TONES: readonly Tone[] = ['quiet', 'third', 'second']

/** A chart of the equity and of each benchmark for the same money, with shades over the deepest falls. */
export function equityChart({ equity, benchmarks, drawdowns }: Backtest): Chart {
  const start = equity[0]?.equity ?? 1
  const strategyValues = equity.map(point => point.equity)
  // A benchmark starts at 1 on its own first bar.
  const curves = benchmarks.map(({ name, equity: values }) => {
    return { name, values: values.map(value => (value === null ? null : value * start)) }
  })
  const totalText = (name: string, values: readonly (number | null)[]): string =>
    `${name} ${returnText((values.findLast(value => value !== null) ?? start) / start - 1)}`
  const totals = [totalText('strategy', strategyValues), ...curves.map(({ name, values }) => totalText(name, values))]
  return equityCurveChart(equity, 'equity-curve', 'Equity', start, {
    description: `What became of the capital over ${count(equity.length, 'bar')}: ${totals.join(', ')}.`,
    shades: fallShades(drawdowns, equity),
    lines: [
      ...curves.map(({ name, values }, i) => holdingLine(name, values, i)),
      line('strategy', 'accent', strategyValues, { width: 2, terminal: 'whole' }),
    ],
  })
}

/** A chart of the equity over the test days of a validation, compared with holding over the same days. */
export function testsEquityChart({ equity, statistics, holding }: Tests): Chart {
  const column = (key: 'equity' | 'holding'): number[] => equity.map(point => point[key])
  return equityCurveChart(equity, 'tests-curve', 'Equity on the days of the tests', 1, {
    description: `The tests made ${returnText(statistics.total_return)}, holding over the same days ${returnText(holding.total_return)}.`,
    lines: [
      holdingLine('holding', column('holding'), 0),
      line('strategy', 'accent', column('equity'), { width: 2, terminal: 'whole' }),
    ],
  })
}

export function bestEquityChart({ equity }: NonNullable<Grid['best']>): Chart {
  const values = equity.map(point => point.equity)
  const start = values[0] ?? 1
  return equityCurveChart(equity, 'best-equity', 'Equity of the best combination', start, {
    description: `The best combination made ${returnText((values.at(-1) ?? start) / start - 1)}, chosen with these data in view.`,
    lines: [line('the best', 'accent', values, { width: 2, terminal: 'whole' })],
  })
}

export function testsDrawdownChart({ equity, statistics }: Tests): Chart {
  const worst = returnText(statistics.max_drawdown)
  return fallChart(equity, 'tests-drawdown', 'Drawdown on the days of the tests', {
    description: `How far the tests were below their high; at worst ${worst}.`,
  })
}

/** Shades over the deepest falls, each from its high to the day when equity was as high again, or to the last day. */
function fallShades(drawdowns: Backtest['drawdowns'], equity: Backtest['equity']): Shades[] {
  const last = equity.at(-1)?.date ?? ''
  const spans = drawdowns.map(({ from, low, to, depth }) => ({
    from: dayOf(from),
    to: dayOf(to ?? last),
    note: `fall of ${returnText(depth)} from ${from} to ${low}, ${to === null ? 'not back yet' : `back ${to}`}`,
  }))
  if (spans.length === 0) return []
  return [{ label: spans.length === 1 ? 'deepest fall' : `${spans.length} deepest falls`, tone: 'loss', spans }]
}

export function drawdownChart({ equity, statistics, drawdowns }: Backtest): Chart {
  const worst = returnText(statistics.max_drawdown)
  return fallChart(equity, 'drawdown', 'Drawdown', {
    description: `How far the equity lay below its highest value so far; at worst ${worst}.`,
    shades: fallShades(drawdowns, equity),
  })
}

function fallChart(
  equity: readonly { date: string; drawdown: number }[],
  id: string,
  title: string,
  parts: Pick<Chart, 'description'> & Partial<Pick<Chart, 'shades'>>,
): Chart {
  const drawdowns = equity.map(({ drawdown }) => drawdown)
  const lines = [line('below the high', 'loss', drawdowns, { width: 1.2, area: true })]
  return equityDatesChart(equity, id, title, { height: 150, y: 'return', zero: true, lines, ...parts })
}

/** Charts of the invested share, and of Sharpe ratio, volatility and beta over the year that ends at each bar. */
export function rollingCharts({ equity, benchmarks }: Backtest): Chart[] {
  const small = { height: 150, width: 430 }
  const column = (key: 'gross' | 'rolling_sharpe' | 'rolling_volatility'): Line['values'] =>
    equity.map(point => point[key])
  const market = benchmarks.filter(({ name }) => name !== SAME_EXPOSURE)
  const betas = market.map(({ name, rolling_beta }, i) => ({ name, values: rolling_beta, tone: BENCHMARK_TONES[i]! }))
  const empty = 'Fewer bars than a year has.'
  return [
    equityDatesChart(equity, 'exposure', 'In positions', {
      description: 'The value of all positions as a share of the equity.',
      ...small,
      y: 'share',
      zero: true,
      lines: [line('share of the equity', 'third', column('gross'), { width: 1, area: true })],
    }),
    equityDatesChart(equity, 'rolling-sharpe', 'Sharpe ratio of the last year', {
      description: 'The Sharpe ratio of as many bars as make a year, up to each bar.',
      ...small,
      y: 'ratio',
      lines: [line('strategy', 'accent', column('rolling_sharpe'), { width: 1.2 })],
      rules: { x: [], y: [0] },
      empty,
    }),
    equityDatesChart(equity, 'rolling-volatility', 'Volatility of the last year', {
      description: 'The volatility a year of the returns of as many bars as make a year, up to each bar.',
      ...small,
      y: 'share',
      zero: true,
      lines: [line('strategy', 'accent', column('rolling_volatility'), { width: 1.2 })],
      empty,
    }),
    equityDatesChart(equity, 'rolling-beta', 'Beta of the last year', {
      description: `How much the strategy moved when ${market.map(({ name }) => name).join(' or ')} moved by one, over as many bars as make a year, up to each bar.`,
      ...small,
      y: 'ratio',
      zero: true,
      lines: betas.map(({ name, values, tone }) => line(`against ${name}`, tone, values, { width: 1.2 })),
      rules: { x: [], y: [0] },
      empty,
    }),
  ]
}

/** The returns of several results in each calendar year, side by side. @param tones of the results, in their order */
export function yearsChart(
  results: readonly { name: string; years: readonly Year[] }[],
  tones: readonly Tone[] = ['accent', ...BENCHMARK_TONES],
): Chart {
  const years = [...new Set(results.flatMap(({ years }) => years.map(({ year }) => year)))].sort((a, b) => a - b)
  const edges = [...years, (years.at(-1) ?? 0) + 1].map(year => year - 0.5)
  const bars = results.map(
    (result, i): Bars => ({
      label: result.name,
      tone: tones[i % tones.length]!,
      edges,
      values: years.map(year => result.years.find(yearResult => yearResult.year === year)?.return ?? null),
      counts: [],
      outline: false,
      slot: [i, results.length],
    }),
  )
  return newChart('years-chart', 'Return of each calendar year', {
    description: `The return of ${results.map(({ name }) => name).join(', ')} in each of ${count(years.length, 'calendar year')}.`,
    x: ['year', years],
    y: 'return',
    zero: true,
    height: 220,
    bars: years.length === 0 ? [] : bars,
    rules: { x: [], y: [0] },
    empty: 'There is no year to draw.',
  })
}

/** A chart of curves in money. @param start the equity at the beginning, at which the chart has a rule */
function equityCurveChart(
  equity: readonly { date: string }[],
  id: string,
  title: string,
  start: number,
  parts: Pick<Chart, 'description' | 'lines'> & Partial<Pick<Chart, 'shades'>>,
): Chart {
  const log = canBeLogarithmic(parts.lines.flatMap(({ values }) => values))
  return equityDatesChart(equity, id, title, { height: 300, y: 'money', log, rules: { x: [], y: [start] }, ...parts })
}

/** A chart over the dates of an equity curve. @param parts the other properties of the chart */
function equityDatesChart(
  equity: readonly { date: string }[],
  id: string,
  title: string,
  parts: Omit<Parameters<typeof newChart>[2], 'x'>,
): Chart {
  return newChart(id, title, {
    x: ['date', equity.map(({ date }) => dayOf(date))],
    group: 'dates',
    empty: 'There is no equity curve: the strategy had no bar to trade on.',
    ...parts,
  })
}

/** The line of a benchmark; a terminal draws only the first. @param index among the benchmarks, for the tone */
function holdingLine(name: string, values: Line['values'], index: number): Line {
  const tone = BENCHMARK_TONES[index % BENCHMARK_TONES.length]!
  const style: Partial<Line> = index === 0 ? { terminal: 'dotted' } : { dashed: true }
  return line(name, tone, values, { width: 1.2, ...style })
}

/** The price of one ticker with the entries and exits of its trades. A click on the page shows one trade (`cases`). */
export function priceWithTrades(prices: ChartPrices, trades: readonly Trade[], id: string): Chart {
  const tickerTrades = trades.filter(({ ticker }) => ticker === prices.ticker)
  const closedTrades = tickerTrades.filter(trade => trade.exit !== 'open')
  const [entryLabel, entryShape, exitShape] = tickerTrades[0]?.side === 'short' ? SHORT_MARKS : LONG_MARKS
  const entries = tickerTrades.map(({ entry_date: date, entry_price: price, band }): Mark => {
    return { date, price, note: `in at ${price} after ${band}` }
  })
  const exitMark = ({ exit_date: date, exit_price: price, exit, net }: Trade): Mark => {
    return { date, price, note: `out at ${price}, ${exit}, ${returnText(net)} net` }
  }
  const gains = closedTrades.filter(({ net }) => net > 0).map(exitMark)
  const losses = closedTrades.filter(({ net }) => net <= 0).map(exitMark)
  const chart = priceChart(prices, id, count(tickerTrades.length, 'trade'), [
    newMarks(entryLabel, 'accent', entryShape, entries),
    newMarks('leave with a gain', 'gain', exitShape, gains),
    newMarks('leave with a loss', 'loss', exitShape, losses),
  ])
  return { ...chart, cases: tickerTrades.length === 0 ? null : { name: 'trade', of: tickerTrades.map(tradeCase) } }
}

function tradeCase(trade: Trade): Case {
  const { ticker, side, signal_date, band, bars, gross, net, mfe, mae, exit } = trade
  const { entry_date, entry_price, exit_date, exit_price } = trade
  const isOpen = exit === 'open'
  return {
    title: `${entry_date} to ${isOpen ? 'now' : exit_date}, ${returnText(net)}`,
    from: [dayOf(entry_date), entry_price],
    to: [dayOf(exit_date), exit_price],
    facts: [
      ['Signal', `${signal_date}: ${TRUTHS.includes(band) ? 'the condition became true' : changeText(trade)}`],
      ['Entry', `${side} ${ticker} on ${entry_date} at ${figureText(entry_price)}`],
      [isOpen ? 'Last close' : 'Exit', `${exit_date} at ${figureText(exit_price)}`],
      ['Reason of the exit', EXIT_REASONS[exit] ?? exit],
      ['Bars held', numberText(bars)],
      ['Return', `${returnText(net)} after costs, ${returnText(gross)} before`],
      ['On the way', `at best ${returnText(mfe)}, at worst ${returnText(mae)}`],
    ],
  }
}

const EXIT_REASONS: Readonly<Record<string, string>> = {
  hold: 'it was held for its number of bars',
  leave: 'the band was left',
  on: 'the band of the exit was entered',
  when: 'the condition of the exit became true',
  stop: 'the stop was reached',
  target: 'the target was reached',
  trailing: 'the trailing stop was reached',
  delisted: 'the ticker was delisted',
  data_end: 'the bars of the ticker end',
  open: 'none: it is still open',
}

/** The word for an entry, and the directions of the entry and exit marks. */
const LONG_MARKS = ['buy', 'up', 'down'] as const
const SHORT_MARKS = ['sell short', 'down', 'up'] as const

/** A histogram of the net returns of closed trades, with 6 to 30 bins. */
export function tradeHistogram(trades: readonly Trade[]): Chart {
  const net = trades.filter(({ exit }) => exit !== 'open').map(trade => trade.net)
  const bins = Math.min(30, Math.max(6, Math.ceil(Math.sqrt(net.length) * 1.5)))
  const edges = net.length === 0 ? [] : roundBinEdges(net, bins)
  const values = countInBins(net, edges)
  const ascending = net.toSorted((a, b) => a - b)
  return newChart('trade-returns', 'Net returns of the trades', {
    description: `Net returns of ${count(net.length, 'closed trade')}, from ${returnText(ascending[0])} to ${returnText(ascending.at(-1))}.`,
    x: ['return', binMiddles(edges)],
    y: 'count',
    zero: true,
    height: 200,
    bars: net.length === 0 ? [] : [{ label: 'trades', tone: 'accent', edges, values, counts: values, outline: false }],
    rules: { x: [0], y: [] },
    empty: 'No trade is closed.',
  })
}
