import type { Backtest, Benchmark, EquityStatistics, Trade, TradeStatistics } from '../../backtest/result.js'
import { type Bar, drawBars, drawChart, drawingWidth, scaleOf, sparkline } from './chart.js'
import {
  type Conditions,
  classLabel,
  conditionTexts,
  fromText,
  money,
  percentage,
  probability,
  ratio,
  returnCell,
  returnText,
  right,
  shareRange,
  shareText,
  UNKNOWN,
  whoText,
} from './statistics.js'
import { type Block, type Cell, type Column, count, figure, type Screen, whole } from './table.js'

/**
 * What was assumed; what came of it out of the sample; the strategy beside buy and hold; its equity; its trades; what luck
 * would have done.
 */
export function backtestBlocks(found: Backtest, screen: Screen, style: BacktestStyle): Block[] {
  return [
    { title: title(found), notes: [assumedText(found)] },
    ...outOfSampleBlocks(found),
    statisticsBlock(found, style),
    { drawing: curves(found, screen), notes: sentences(found) },
    ...validationBlocks(found),
    ...backtestDetails(found, screen, style),
    ...(style.wide ? [{ title: ['Assumed'], notes: found.assumptions }] : []),
    ...(found.warnings.length === 0 ? [] : [{ notes: found.warnings }]),
  ]
}

function title({ tickers, strategy, timeframe, first, last, as_of }: Backtest): string[] {
  const entry = strategy.entry as Conditions & { field: string; bands: string[] | null }
  const { field, bands } = entry
  const event = bands === null ? `${field} changes` : `${field} becomes ${bands.join(' or ')}`
  const name = typeof strategy.name === 'string' ? [strategy.name] : []
  return [
    ...name,
    `${whoText(tickers)}  ${strategy.side} when ${event}${fromText(entry)}  ${timeframe}`,
    ...conditionTexts(entry),
    ...(first === null ? [] : [`${first} to ${last}`]),
    ...(as_of === null ? [] : [`as of ${as_of}`]),
  ]
}

type Row = readonly [name: string, value: (statistics: EquityStatistics) => Cell, wide?: 'wide']

function rowsFor(found: Backtest): readonly Row[] {
  return [
    ['total return', one => returnCell(one.total_return)],
    ['a year (CAGR)', one => returnCell(one.cagr)],
    ['volatility a year', one => returnText(one.volatility).replace('+', '')],
    [`Sharpe, rf ${percentage(Number(found.strategy.risk_free))}`, one => ratio(one.sharpe)],
    ['Sortino', one => ratio(one.sortino), 'wide'],
    ['worst drawdown', one => returnCell(one.max_drawdown)],
    ['average drawdown', one => returnCell(one.average_drawdown), 'wide'],
    ['longest fall, bars', one => wholeOr(one.longest_drawdown_bars), 'wide'],
    ['Calmar', one => ratio(one.calmar), 'wide'],
    ['Ulcer index', one => returnText(one.ulcer_index).replace('+', ''), 'wide'],
    ['best bar', one => returnCell(one.best_bar), 'wide'],
    ['worst bar', one => returnCell(one.worst_bar), 'wide'],
    ['skewness', one => ratio(one.skewness), 'wide'],
    ['kurtosis, plain', one => ratio(one.kurtosis), 'wide'],
    ['time in market', one => shareText(one.exposure)],
    ['turnover a year', one => ratio(one.turnover), 'wide'],
    ['P(Sharpe > 0)', one => probability(one.probabilistic_sharpe), 'wide'],
    ['track record, bars', one => wholeOr(one.min_track_record_bars), 'wide'],
  ]
}

/** Of the strategy against each benchmark. */
const AGAINST: readonly (readonly [string, (benchmark: Benchmark) => Cell])[] = [
  ['alpha a year', one => returnCell(one.alpha)],
  ['beta', one => ratio(one.beta)],
  ['correlation', one => ratio(one.correlation)],
  ['information ratio', one => ratio(one.information_ratio)],
]

function statisticsBlock(found: Backtest, { wide }: BacktestStyle): Block {
  const { statistics, benchmarks } = found
  const all = [statistics, ...benchmarks.map(benchmark => benchmark.statistics)]
  const rows = rowsFor(found)
    .filter(([, , only]) => wide || only === undefined)
    .map(([name, value]): Cell[] => [name, ...all.map(value)])
  const against = wide ? AGAINST.map(([name, value]): Cell[] => [name, '', ...benchmarks.map(value)]) : []
  const columns = [
    { title: '' },
    right('STRATEGY'),
    ...benchmarks.map(({ name }, i) => right(name.toUpperCase().replace(' AND ', ' & '), i === 0 ? undefined : i)),
  ]
  const title = wholeTitle(found)
  return {
    ...(title === null ? {} : { title }),
    table: { columns, rows: [...rows, ...(benchmarks.length === 0 ? [] : against)], whole: 'json' },
  }
}

/** Equity and drawdown, a line each. */
function curves({ equity, statistics }: Backtest, { width, unicode }: Screen): string[] {
  const [first, last] = [equity[0], equity.at(-1)]
  if (first === undefined || last === undefined) return []
  const range = `first ${money(first.equity)}, last ${money(last.equity)}`
  const worst = `worst ${returnText(statistics.max_drawdown)}`
  const room = Math.max(4, Math.min(60, drawingWidth(width) - 10 - 2 - Math.max(range.length, worst.length)))
  const line = (name: string, values: number[], text: string): string =>
    `${name.padEnd(10)}${sparkline(values, { width: room, ascii: !unicode })}  ${text}`
  return [
    line(
      'equity',
      equity.map(point => point.equity),
      range,
    ),
    line(
      'drawdown',
      equity.map(point => point.drawdown),
      worst,
    ),
  ]
}

function sentences(found: Backtest): string[] {
  return [tradesSentence(found.trade_statistics), signalsSentence(found.signals), ...luck(found)]
}

function tradesSentence(trades: TradeStatistics): string {
  const { n, wins, mean, mean_gross, median, best, worst, break_even_cost, mean_mfe, mean_mae } = trades
  if (n === 0) return 'No closed trade.'
  const hit = `${whole(wins)} won (${shareText(trades.hit_rate)}, 95% ${shareRange({ low: trades.hit_low, high: trades.hit_high })})`
  const means = `mean ${returnText(mean)} net and ${returnText(mean_gross)} gross, median ${returnText(median)}`
  const reach = `best ${returnText(best)}, worst ${returnText(worst)}`
  const excursions = `on the way ${returnText(mean_mfe)} and ${returnText(mean_mae)}`
  const even =
    break_even_cost === null ? '' : `; costs of ${(break_even_cost * 10_000).toFixed(0)} bp a side would eat it up`
  return `${count(n, 'trade')}: ${hit}, ${means}, ${reach}, ${excursions}${even}.`
}

function signalsSentence({ total, closed, open, pending, skipped, extended }: Backtest['signals']): string {
  const left = Object.entries(skipped).filter(([, n]) => n > 0)
  const parts = [
    `${count(closed, 'closed trade')}`,
    ...(open > 0 ? [`${whole(open)} still open`] : []),
    ...(pending > 0 ? [`${whole(pending)} waiting for the next bar`] : []),
    ...(extended > 0 ? [`${whole(extended)} that put an exit off`] : []),
    ...left.map(([reason, n]) => `${whole(n)} skipped (${SKIPPED[reason] ?? reason.replaceAll('_', ' ')})`),
  ]
  return `${count(total, 'signal')}: ${parts.join(', ')}.`
}

const SKIPPED: Readonly<Record<string, string>> = {
  in_trade: 'in a trade',
  no_place: 'no place left',
  no_cash: 'no cash left',
  no_price: 'no price',
  no_size: 'no size',
}

/** What random entry did, and what the number of looks leaves. */
function luck({ random_entry: random, trials, seed }: Backtest): string[] {
  const lines: string[] = []
  if (random.p !== null)
    lines.push(
      `Random entry, all signals moved to other dates together: p ${probability(random.p)} (${count(random.draws, 'draw')}, seed ${seed}), mean ${returnText(random.mean)} a trade.`,
    )
  else if (random.reason !== null) lines.push(`Random entry: ${random.reason}`)
  const looks = trials.run === 1 ? '1 strategy in this run' : `${whole(trials.run)} strategies in this run`
  const ever =
    trials.ledger === null
      ? ''
      : `, ${trials.ledger === 1 ? '1 strategy' : `${whole(trials.ledger)} strategies`} in the ledger of trials`
  const by = trials.family === 'ledger' ? 'the ledger' : 'this run'
  const left =
    trials.deflated_sharpe === null
      ? (trials.reason ?? UNKNOWN)
      : `${probability(trials.deflated_sharpe)}, by the ${whole(trials.n)} of ${by}`
  lines.push(`Tried: ${looks}${ever}. Deflated Sharpe ratio: ${left}`)
  return lines.map(line => (line.endsWith('.') ? line : `${line}.`))
}

function wholeOr(value: number | null): string {
  return value === null ? UNKNOWN : whole(Math.round(value))
}

/** The long form stands in the document, in the report, and at the end with `wide`. */
function assumedText({ strategy, bars_a_year, seed, validation }: Backtest): string {
  const { side, fill, exit, costs, portfolio, overlap } = strategy as unknown as StrategyWords
  const ends = Object.entries(exit).flatMap(([rule, value]) => exitWords(rule, value) ?? [])
  // What the tests below chose may be another one.
  const of = (validation?.candidates.length ?? 0) > 0 ? ' (the first candidate)' : ''
  const cash = portfolio.cash_rate === 0 ? '' : ` Cash earns ${percentage(portfolio.cash_rate)} a year.`
  return [
    `${FILLS[fill] ?? fill}, ${costWords(costs, side)}; out ${ends.join(', or ')}${of}.`,
    `At most ${count(portfolio.max_positions, 'position')}, ${sizeWords(portfolio)}; ${OVERLAPS[overlap] ?? overlap}.${cash}`,
    `${Number(bars_a_year.toFixed(1))} bars a year, seed ${seed}. Buy and hold: the same tickers, without costs.`,
    'The tickers are those that were asked for (survivorship).',
  ].join(' ')
}

/** What is read of the document of a strategy. */
interface StrategyWords {
  side: string
  fill: string
  exit: Record<string, unknown>
  overlap: string
  costs: { bps: number; slippage_bps: number; per_share: number; fixed: number; borrow: number }
  portfolio: {
    max_positions: number
    sizing: { method: string; fraction?: number; target?: number; cap?: number }
    whole_shares: boolean
    cash_rate: number
  }
}

const FILLS: Readonly<Record<string, string>> = {
  'next-open': 'Fills at the next open',
  'next-close': 'Fills at the next close',
  close: 'Fills at the close of the signal (not tradable on end-of-day data)',
}

/** What a side costs; borrow is of what is short alone. */
function costWords({ bps, slippage_bps, per_share, fixed, borrow }: StrategyWords['costs'], side: string): string {
  return [
    `${Number((bps + slippage_bps).toFixed(6))} bp a side${slippage_bps > 0 ? ` (${slippage_bps} of it slippage)` : ''}`,
    ...(per_share > 0 ? [`${per_share} a share`] : []),
    ...(fixed > 0 ? [`${fixed} a fill`] : []),
    ...(side === 'short' && borrow > 0 ? [`${percentage(borrow)} a year for borrowed shares`] : []),
  ].join(' and ')
}

function sizeWords({ sizing, max_positions, whole_shares }: StrategyWords['portfolio']): string {
  const { method, fraction = 0, target = 0, cap = 0 } = sizing
  const whole = whole_shares ? ', whole shares' : ''
  if (method === 'fixed-fraction') return `each ${percentage(fraction)} of equity${whole}`
  if (method === 'vol-target')
    return `each sized to ${percentage(target)} volatility a year, at most ${percentage(cap)}${whole}`
  return `${max_positions === 1 ? 'all of equity' : `each 1/${max_positions} of equity`}${whole}`
}

const OVERLAPS: Readonly<Record<string, string>> = {
  skip: 'one a ticker, signals while it is on are skipped',
  allow: 'several a ticker',
  extend: 'one a ticker, held on by further signals',
}

function exitWords(rule: string, value: unknown): string | null {
  if (value === null || value === false) return null
  if (rule === 'hold') return `after ${count(Number(value), 'bar')}`
  if (rule === 'leave') return 'when the band is left'
  if (rule === 'on') {
    const { field, bands } = value as { field: string; bands: string[] }
    return `when ${field} becomes ${bands.join(' or ')}`
  }
  return `at a ${rule === 'trailing' ? 'trailing stop' : rule} of ${distance(value)}`
}

function distance(value: unknown): string {
  if (typeof value === 'number') return percentage(value)
  return `${(value as { atr: number }).atr} ATR`
}

export interface BacktestStyle {
  wide: boolean
  explain: boolean
}

/** The equity as a curve, how trades ended, the deepest falls; with `explain` what became of every signal. */
function backtestDetails(found: Backtest, screen: Screen, { wide, explain }: BacktestStyle): Block[] {
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

/** What came of it on data that it was not chosen on: before everything else, which was seen when choosing. */
function outOfSampleBlocks({ validation }: Backtest): Block[] {
  if (validation === null || validation.test === null) return []
  const { statistics: equity, trade_statistics: trades } = validation.test
  const tests = validation.folds.filter(({ role }) => role === 'test')
  const rows: Cell[][] = [
    ['total return', returnCell(equity.total_return)],
    ['a year (CAGR)', returnCell(equity.cagr)],
    ['Sharpe', ratio(equity.sharpe)],
    ['P(Sharpe > 0)', probability(equity.probabilistic_sharpe)],
    ['worst drawdown', returnCell(equity.max_drawdown)],
    ['time in market', shareText(equity.exposure)],
    ['trades', whole(trades.n)],
    ['mean a trade, net', returnCell(trades.mean)],
    ['won', `${shareText(trades.hit_rate)} (95% ${shareRange({ low: trades.hit_low, high: trades.hit_high })})`],
  ]
  return [
    {
      title: [
        'Out of sample',
        partsText(validation.kind, tests.length),
        ...(tests.length === 0 ? [] : [`${tests[0]!.from} to ${tests.at(-1)!.to}`]),
      ],
      table: { columns: [{ title: '' }, right('TESTS')], rows, whole: 'json' },
    },
  ]
}

function partsText(kind: 'split' | 'walk_forward', tests: number): string {
  if (kind === 'split') return 'the part after the split'
  return tests === 1 ? 'the only test' : `all ${whole(tests)} tests, one after the other`
}

/** What the rest of the answer is of, where a part of the data was kept apart. */
function wholeTitle({ validation }: Pick<Backtest, 'validation'>): string[] | null {
  if (validation === null) return null
  const [first, ...more] = validation.candidates
  return first === undefined
    ? ['All data', 'the parts to check on among them']
    : [`First of ${more.length + 1} candidates (${first})`, 'all data', 'not what was chosen']
}

/** The parts of the data, one line each, and all test parts together. */
function validationBlocks({ validation }: Backtest): Block[] {
  if (validation === null) return []
  const { kind, folds, purged, test } = validation
  const rows = folds.map(({ name, role, from, to, trades, statistics, trade_statistics: own, chosen }): Cell[] => [
    `${name} ${role}`,
    from,
    to,
    whole(trades),
    returnCell(own.mean),
    shareText(own.hit_rate),
    returnCell(statistics.total_return),
    ratio(statistics.sharpe),
    chosen ?? '',
  ])
  if (test !== null)
    rows.push([
      'all tests',
      '',
      '',
      whole(test.trade_statistics.n),
      returnCell(test.trade_statistics.mean),
      shareText(test.trade_statistics.hit_rate),
      returnCell(test.statistics.total_return),
      ratio(test.statistics.sharpe),
      '',
    ])
  const what = kind === 'split' ? 'Before and after the split' : 'Walk-forward'
  const chose = validation.candidates.length > 0
  return [
    {
      title: [what, `${count(purged, 'trade')} left out between the parts`],
      table: {
        columns: chose ? [...FOLDS, { title: 'CHOSEN' }] : FOLDS,
        rows: chose ? rows : rows.map(row => row.slice(0, -1)),
        whole: 'json',
      },
    },
  ]
}

const FOLDS: readonly Column[] = [
  { title: 'PART' },
  { title: 'FROM', spare: 3 },
  { title: 'TO', spare: 4 },
  right('TRADES'),
  right('MEAN'),
  right('HIT', 1),
  right('RETURN', 2),
  right('SHARPE', 0),
]
