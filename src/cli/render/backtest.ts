import type { Backtest, Benchmark, EquityStatistics, TradeStatistics } from '../../research/backtest/result.js'
import { count, whole } from './amounts.js'
import { assumedText } from './backtest-assumed.js'
import { type BacktestStyle, backtestDetails } from './backtest-details.js'
import { outOfSampleBlocks, validationBlocks, wholeTitle } from './backtest-validation.js'
import { drawingWidth } from './chart.js'
import { type Conditions, conditionTexts, fromText } from './conditions.js'
import type { Screen } from './layout.js'
import { sparkline } from './sparkline.js'
import {
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
import type { Block, Cell } from './table.js'

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
