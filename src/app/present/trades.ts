import { title } from '../../core/errors.js'
import { isCondition, lagInWords } from '../../core/language/as-field.js'
import {
  count,
  joinWithOr,
  keyInWords,
  listNames,
  numberText,
  percent,
  ratio,
  returnText,
  UNKNOWN,
} from '../../core/numbers.js'
import type { Distance, SignalChoice } from '../../core/params/figures.js'
import type { Strategy } from '../../core/params/strategy.js'
import type { Backtest, Trade } from '../../research/backtest/result.js'
import { costsInWords, positionsInWords, rankInWords } from '../../research/backtest/words.js'
import {
  type Column,
  compact,
  reasonsPart,
  type Section,
  section,
  type Table,
  tableOf,
  tablePart,
} from './description.js'
import { rankColumn, tradesTable } from './long-tables.js'
import { tradeHistogram } from './strategy-charts.js'
import { compareTexts, conditionTexts, eventTitle, fromBandsText, rangeTexts, tickersText } from './words.js'

export function rulesSentence(backtest: Backtest): string {
  const { side, entry, exit, lag } = backtest.strategy
  const verb = side === 'long' ? 'Buying' : 'Selling short'
  const weeklyText = backtest.timeframe === 'weekly' ? ', on weekly bars' : ''
  const event = becomesText(entry, 'changes band', joinWithOr)
  const conditions = [fromBandsText(entry), ...conditionTexts(entry).map(text => `, ${text}`)].join('')
  const exits = exitTexts(exit)
  const exitText = exits.length === 0 ? 'at the last bar' : joinWithOr(exits)
  const outText = [`${exitText}${weeklyText}`, ...lagInWords(lag)].join('; ')
  return `${verb} ${listNames(backtest.tickers)} when ${event}${conditions}; out ${outText}`
}

/** `Buying when rsi_zone turned oversold`, or the strategy's own name. */
export function strategyTitle({ strategy: { name, side, entry } }: Backtest): string {
  return name ?? `${side === 'long' ? 'Buying' : 'Selling short'} when ${eventTitle(entry.field, entry.bands)}`
}

/** The rules of a strategy as phrases below the title. */
export function rulesHeading(backtest: Backtest): string[] {
  const { name, side, entry, lag } = backtest.strategy
  const event = becomesText(entry, 'changes', bands => bands.join(' or '))
  return [
    ...(typeof name === 'string' ? [name] : []),
    `${tickersText(backtest.tickers)}  ${side} when ${event}${fromBandsText(entry)}  ${backtest.timeframe}`,
    ...conditionTexts(entry),
    ...lagInWords(lag),
    ...rangeTexts(backtest),
  ]
}

/** `rsi_zone becomes oversold`, or `it becomes true that …`. @param anyChange the verb if the bands may be any */
function becomesText(
  { field, bands }: Pick<Strategy['entry'], 'field' | 'bands'>,
  anyChange: string,
  joinBands: (bands: readonly string[]) => string,
): string {
  const becomes = bands === null ? anyChange : `becomes ${joinBands(bands)}`
  return isCondition(field) ? `it ${becomes} that ${field}` : `${field} ${becomes}`
}

/** The assumptions of a backtest as sentences: fills, costs, exits, positions, cash and benchmarks. */
export function assumedText(backtest: Backtest): string {
  const { portfolio, rank, overlap } = backtest.strategy
  const cash = portfolio.cash_rate === 0 ? '' : ` Cash earns ${percent(portfolio.cash_rate, '')} a year.`
  const text = [
    `${fillsAndExits(backtest)}.`,
    `At most ${positionsInWords(portfolio)}${portfolio.whole_shares ? ', whole shares' : ''}; ${OVERLAP_TEXTS[overlap] ?? overlap}.${cash}`,
    ...(rank === undefined ? [] : [`${title(rankInWords(backtest.strategy))}.`]),
    `${Number(backtest.bars_a_year.toFixed(1))} bars a year, seed ${backtest.seed}. Buy and hold: the same tickers, without costs. Same exposure: throughout as much of it as the strategy held on average.`,
    'The tickers are those that were asked for (survivorship).',
  ].join(' ')
  // Percentages are written as in the other texts.
  return text.replaceAll(' %', '%')
}

/** Fills, costs and exits. If a validation chose among candidates, the exits are those of the first one. */
function fillsAndExits({ strategy: { side, fill, exit, costs }, validation }: Backtest): string {
  const hasCandidates = (validation?.candidates.length ?? 0) > 0
  const remark = hasCandidates ? ' (the first candidate; each training part chose its own)' : ''
  return `${FILL_TEXTS[fill] ?? fill}, ${costsInWords(costs, side)}; out ${exitTexts(exit).join(', or ')}${remark}`
}

/** The assumptions in short: `Fills at the next open, 5 bp a side; out after 20 bars; 10 positions of 1/10; seed 1.` */
export function shortRules(backtest: Backtest): string {
  const { strategy, seed } = backtest
  return `${fillsAndExits(backtest)}; ${positionsInWords(strategy.portfolio)}; seed ${seed}.`.replaceAll(' %', '%')
}

const FILL_TEXTS: Readonly<Record<string, string>> = {
  'next-open': 'Fills at the next open',
  'next-close': 'Fills at the next close',
  close: 'Fills at the close of the signal (not tradable on end-of-day data)',
}

const OVERLAP_TEXTS: Readonly<Record<string, string>> = {
  skip: 'one a ticker, signals while it is on are skipped',
  allow: 'several a ticker',
  extend: 'one a ticker, held on by further signals',
}

/** The exits of a strategy in words, `after 20 bars` and `at a stop of 8%`; only those that are set. */
function exitTexts({ hold, leave, on, when, stop, target, trailing }: Strategy['exit']): string[] {
  return compact([
    hold !== null && `after ${count(hold, 'bar')}`,
    leave && 'when the band is left',
    on !== null && `when ${becomesText(on, 'changes', bands => bands.join(' or '))}`,
    when !== undefined && `when it becomes true that ${when}`,
    stop !== null && `at a stop of ${distanceText(stop)}`,
    target !== null && `at a target of ${distanceText(target)}`,
    trailing !== null && `at a trailing stop of ${distanceText(trailing)}`,
  ])
}

/** `8%` of the entry price, or `2 ATR`. */
function distanceText(distance: Distance): string {
  return typeof distance === 'number' ? percent(distance, '') : `${distance.atr} ATR`
}

/** A histogram of the trades; on a page also their statistics and a table of all. */
export function tradesSection(backtest: Backtest): Section {
  const { trades, trade_statistics: statistics } = backtest
  return section({ id: 'trades', title: 'Trades', on: 'wide' }, [
    { chart: tradeHistogram(trades) },
    {
      on: 'page',
      facts: [
        ['Deviation (n − 1)', returnText(statistics.deviation).replace('+', '')],
        ['Profit factor (gains / losses)', ratio(statistics.profit_factor)],
        ['Expectancy, a trade', returnText(statistics.expectancy)],
        ['SQN (√n · mean / deviation)', ratio(statistics.sqn)],
        [
          'Longest losing run, trades',
          statistics.longest_losing_run === null ? UNKNOWN : numberText(statistics.longest_losing_run),
        ],
        ['Average length, bars', ratio(statistics.average_bars, 1)],
      ],
    },
    reasonsPart([{ where: 'trades', reasons: statistics.reasons }], 'page'),
    { on: 'page', table: tradesTable(backtest) },
  ])
}

/** A signal and its outcome: a trade and the reason of its exit, or null and the reason why it was skipped. */
interface Outcome {
  date: string
  ticker: string
  rank: number | string | null
  trade: Trade | null
  why: string
}

const signalColumns = (ranking: Backtest['ranking']): Column<Outcome>[] => [
  { title: 'Signal', kind: 'date', value: ({ date }) => date },
  { title: 'Ticker', kind: 'text', value: ({ ticker }) => ticker },
  ...rankColumn<Outcome>(ranking),
  { title: 'In', kind: 'date', hidePriority: 1, value: ({ trade }) => trade?.entry_date ?? '' },
  { title: 'In at', kind: 'price', hidePriority: 2, value: ({ trade }) => trade?.entry_price ?? '' },
  { title: 'Out', kind: 'date', hidePriority: 0, value: ({ trade }) => trade?.exit_date ?? '' },
  { title: 'Out at', kind: 'price', hidePriority: 3, value: ({ trade }) => trade?.exit_price ?? '' },
  { title: 'Bars', kind: 'count', hidePriority: 4, value: ({ trade }) => trade?.bars ?? '' },
  { title: 'Net', kind: 'return', value: ({ trade }) => trade?.net ?? '' },
  { title: 'Why', kind: 'text', value: ({ why }) => why },
]

/** A count of each outcome, and in a fold each signal of the ticker and date (default all). Shown with --explain. */
export function signalsSection(backtest: Backtest, { ticker, date }: SignalChoice = EVERY_SIGNAL): Section {
  const { trades, skipped, ranking } = backtest
  const outcomes = [
    ...trades.map((trade): Outcome => ({ ...trade, date: trade.signal_date, trade, why: trade.exit })),
    ...skipped.map((signal): Outcome => ({ ...signal, trade: null, why: `skipped: ${keyInWords(signal.reason)}` })),
  ].sort((a, b) => compareTexts(a.date, b.date) || compareTexts(a.ticker, b.ticker))
  const outcomesOfTicker = outcomes.filter(row => ticker === null || row.ticker === ticker)
  const rows = outcomesOfTicker.filter(row => date === null || row.date === date)
  const notes = [signalsSentence(backtest)]
  if (rows.length === 0 && outcomes.length > 0) notes.push(noSignalText(outcomesOfTicker, { ticker, date }))
  const title = 'Outcome of each signal'
  const signalsTable = tablePart(title, signalColumns(ranking), rows, { allColumnsIn: 'json' })
  return section({ id: 'signals', folded: true, title, short: 'Signals', on: 'explain' }, [
    { on: 'page', table: outcomeCountsTable(backtest) },
    { on: 'terminal', notes },
    rows.length > 0 && {
      fold: { title: `Each of ${count(rows.length, 'signal')}`, parts: [signalsTable], isTooLongForPaper: true },
    },
  ])
}

const EVERY_SIGNAL: SignalChoice = { ticker: null, date: null }

/** `No signal of AAPL on 2016-01-06. The nearest: 2016-01-05, 2016-04-27.` @param outcomesOfTicker sorted by date */
function noSignalText(outcomesOfTicker: readonly Outcome[], { ticker, date }: SignalChoice): string {
  const before = outcomesOfTicker.findLast(row => date !== null && row.date < date)
  const after = outcomesOfTicker.find(row => date !== null && row.date > date)
  const nearestDates = compact([before, after]).map(row => row.date)
  const nearestText = nearestDates.length === 0 ? '' : ` The nearest: ${nearestDates.join(', ')}.`
  const ofTicker = ticker === null ? '' : ` of ${ticker}`
  const onDate = date === null ? '' : ` on ${date}`
  return `No signal${ofTicker}${onDate}.${nearestText}`
}

/** `12 signals: 8 closed trades, 1 still open, 3 skipped (in a trade).` */
export function signalsSentence(backtest: Pick<Backtest, 'signals' | 'draws'>): string {
  const { total, closed, open, pending, skipped, extended, late } = backtest.signals
  const parts = compact([
    count(closed, 'closed trade'),
    open > 0 && `${numberText(open)} still open`,
    pending > 0 && `${numberText(pending)} waiting for the next bar`,
    extended > 0 && `${numberText(extended)} that put an exit off`,
    ...Object.entries(skipped).map(([reason, n]) => n > 0 && `${numberText(n)} skipped (${skippedText(reason)})`),
  ])
  const lateText = late === 0 ? '' : ` ${numberText(late)} of the trades filled more than 5 days late.`
  const { draws } = backtest
  // Chance chooses where a day has more signals than free positions.
  const drawsText =
    draws === null
      ? ''
      : ` Of signals of the same day, chance chose those that found a place; this is choice ${draws.shown} of ${draws.n}.`
  return `${count(total, 'signal')}: ${parts.join(', ')}.${lateText}${drawsText}`
}

/** A table with the number of signals of each outcome. Outcomes that no signal had are omitted, except the first. */
function outcomeCountsTable({ signals: { total, closed, open, pending, skipped, extended } }: Backtest): Table {
  const outcomes: [text: string, n: number][] = [
    ['made a trade that is closed', closed],
    ['made a trade that is still open', open],
    ['wait for the next bar', pending],
    ['put off the exit of a trade', extended],
    ...Object.entries(skipped).map(([reason, n]): [string, number] => [`were skipped: ${skippedText(reason)}`, n]),
  ]
  const columns: readonly Column<(typeof outcomes)[number]>[] = [
    { title: 'Signals that', kind: 'text', value: ([text]) => text },
    { title: 'How many', kind: 'count', value: ([, n]) => n },
    { title: 'Of all', kind: 'share', value: ([, n]) => (total === 0 ? null : n / total) },
  ]
  const rows = outcomes.filter(([, n], i) => i === 0 || n > 0)
  return tableOf('How many of each', columns, rows)
}

function skippedText(reason: string): string {
  return SKIP_REASONS[reason] ?? keyInWords(reason)
}

const SKIP_REASONS: Readonly<Record<string, string>> = {
  in_trade: 'in a trade',
  no_place: 'no place left',
  no_cash: 'no cash left',
  no_price: 'no price',
  no_size: 'no size',
}
