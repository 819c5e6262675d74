import { count, returnText } from '../../core/numbers.js'
import { type Backtest, SAME_EXPOSURE, type Tests, type Year } from '../../research/backtest/result.js'
import { type Bars, type Chart, type Line, line, newChart, type Shades, type Tone } from './chart.js'
import { dayOf, isPositive } from './charts.js'

const TONES: readonly Tone[] = ['quiet', 'third', 'second']

/** The equity compared with holding for the same money. */
export function equityChart({ equity, benchmarks, drawdowns }: Backtest): Chart {
  const start = equity[0]?.equity ?? 1
  const own = equity.map(point => point.equity)
  // A benchmark starts at 1 on its own first bar.
  const others = benchmarks.map(({ name, equity }) => ({ name, values: equity.map(value => value && value * start) }))
  const total = (name: string, values: readonly (number | null)[]): string =>
    `${name} ${returnText((values.findLast(value => value !== null) ?? start) / start - 1)}`
  const totals = [total('strategy', own), ...others.map(({ name, values }) => total(name, values))]
  return over(equity, 'equity-curve', 'Equity', {
    description: `What became of the capital over ${count(equity.length, 'bar')}: ${totals.join(', ')}.`,
    height: 300,
    y: 'money',
    log: isPositive([own, ...others.map(({ values }) => values)].flat()),
    shades: fallShades(drawdowns, equity),
    lines: [
      ...others.map(({ name, values }, i) => holdingLine(name, values, i)),
      line('strategy', 'accent', own, { width: 2, terminal: 'whole' }),
    ],
    rules: { x: [], y: [start] },
  })
}

/** The tests one after the other, next to holding over the same days. */
export function testsChart({ equity, statistics, holding }: Tests): Chart {
  const column = (key: 'equity' | 'holding'): number[] => equity.map(point => point[key])
  return over(equity, 'tests-curve', 'Equity on the days of the tests', {
    description: `The tests made ${returnText(statistics.total_return)}, holding over the same days ${returnText(holding.total_return)}.`,
    height: 300,
    y: 'money',
    log: isPositive([...column('equity'), ...column('holding')]),
    lines: [
      holdingLine('holding', column('holding'), 0),
      line('tests', 'accent', column('equity'), { width: 2, terminal: 'whole' }),
    ],
    rules: { x: [], y: [1] },
  })
}

export function testsDrawdown({ equity, statistics }: Tests): Chart {
  return over(equity, 'tests-drawdown', 'Drawdown on the days of the tests', {
    description: `How far the tests were below their high; at worst ${returnText(statistics.max_drawdown)}.`,
    height: 150,
    y: 'return',
    zero: true,
    lines: [
      line(
        'below the high',
        'loss',
        equity.map(({ drawdown }) => drawdown),
        { width: 1.2, area: true },
      ),
    ],
  })
}

/** The deepest falls, each from its high to the day on which the equity was as high again, or to the last day. */
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

/** How far the equity was below its high. */
export function drawdownChart({ equity, statistics, drawdowns }: Backtest): Chart {
  const fall = equity.map(({ drawdown }) => drawdown)
  return over(equity, 'drawdown', 'Drawdown', {
    description: `How far the equity lay below its highest value so far; at worst ${returnText(statistics.max_drawdown)}.`,
    height: 150,
    y: 'return',
    zero: true,
    shades: fallShades(drawdowns, equity),
    lines: [line('below the high', 'loss', fall, { width: 1.2, area: true })],
  })
}

/** What changed with time: the invested share, and risk and return of the latest year at each bar. */
export function rollingCharts({ equity, benchmarks }: Backtest): Chart[] {
  const small = { height: 150, width: 430 }
  const column = (key: 'gross' | 'rolling_sharpe' | 'rolling_volatility'): Line['values'] =>
    equity.map(point => point[key])
  const market = benchmarks.filter(({ name }) => name !== SAME_EXPOSURE)
  const betas = market.map(({ name, rolling_beta }, i) => ({ name, values: rolling_beta, tone: TONES[i]! }))
  const empty = 'Fewer bars than a year has.'
  return [
    over(equity, 'exposure', 'In positions', {
      description: 'The value of all positions as a share of the equity.',
      ...small,
      y: 'share',
      zero: true,
      lines: [line('share of the equity', 'third', column('gross'), { width: 1, area: true })],
    }),
    over(equity, 'rolling-sharpe', 'Sharpe ratio of the last year', {
      description: 'The Sharpe ratio of as many bars as make a year, up to each bar.',
      ...small,
      y: 'ratio',
      lines: [line('strategy', 'accent', column('rolling_sharpe'), { width: 1.2 })],
      rules: { x: [], y: [0] },
      empty,
    }),
    over(equity, 'rolling-volatility', 'Volatility of the last year', {
      description: 'The volatility a year of the returns of as many bars as make a year, up to each bar.',
      ...small,
      y: 'share',
      zero: true,
      lines: [line('strategy', 'accent', column('rolling_volatility'), { width: 1.2 })],
      empty,
    }),
    over(equity, 'rolling-beta', 'Beta of the last year', {
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

/** The return of each calendar year, side by side. @param tones of the names, in their order */
export function yearsChart(
  all: readonly { name: string; years: readonly Year[] }[],
  tones: readonly Tone[] = ['accent', ...TONES],
): Chart {
  const years = [...new Set(all.flatMap(({ years }) => years.map(({ year }) => year)))].sort((a, b) => a - b)
  const edges = [...years, (years.at(-1) ?? 0) + 1].map(year => year - 0.5)
  const returnIn = (own: readonly Year[], year: number): number | null =>
    own.find(one => one.year === year)?.return ?? null
  const bars = all.map(
    ({ name, years: own }, i): Bars => ({
      label: name,
      tone: tones[i % tones.length]!,
      edges,
      values: years.map(year => returnIn(own, year)),
      counts: [],
      outline: false,
      slot: [i, all.length],
    }),
  )
  return newChart('years-chart', 'Return of each calendar year', {
    description: `The return of ${all.map(({ name }) => name).join(', ')} in each of ${count(years.length, 'calendar year')}.`,
    x: ['year', years],
    y: 'return',
    zero: true,
    height: 220,
    bars: years.length === 0 ? [] : bars,
    rules: { x: [], y: [0] },
    empty: 'There is no year to draw.',
  })
}

function over(
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

function holdingLine(name: string, values: Line['values'], place: number): Line {
  const first: Partial<Line> = place === 0 ? { terminal: 'dotted' } : {}
  return line(name, TONES[place % TONES.length]!, values, { width: 1.2, dashed: place > 0, ...first })
}
