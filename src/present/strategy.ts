import type { Backtest } from '../backtest/result.js'
import { costsInWords, positionsInWords, rankInWords } from '../backtest/words.js'
import { isCondition, lagInWords } from '../language/as-field.js'
import type { Distance } from '../params/figures.js'
import type { Strategy } from '../params/strategy.js'
import { count, either, listed, percentage } from './numbers.js'
import { conditionTexts, fromText, narrowed, rangeTexts, whoText } from './words.js'

/** The rules of a strategy as a sentence. */
export function questionOf(found: Backtest): string {
  const { side, entry, exit, lag } = found.strategy
  const verb = side === 'long' ? 'Buying' : 'Selling short'
  const weekly = found.timeframe === 'weekly' ? ', on weekly bars' : ''
  const entered = becomesText(entry, 'changes band', either)
  const ends = exitTexts(exit)
  const left = ends.length === 0 ? 'at the last bar' : either(ends)
  return `${verb} ${listed(found.tickers)} when ${entered}${narrowed(entry)}; out ${[left + weekly, ...lagInWords(lag)].join('; ')}`
}

/** The same in phrases. */
export function headingOf(found: Backtest): string[] {
  const { name, side, entry, lag } = found.strategy
  const event = becomesText(entry, 'changes', bands => bands.join(' or '))
  return [
    ...(typeof name === 'string' ? [name] : []),
    `${whoText(found.tickers)}  ${side} when ${event}${fromText(entry)}  ${found.timeframe}`,
    ...conditionTexts(entry),
    ...lagInWords(lag),
    ...rangeTexts(found),
  ]
}

/** `rsi_zone becomes oversold`; of a condition `it becomes true that …`. */
function becomesText(
  { field, bands }: Pick<Strategy['entry'], 'field' | 'bands'>,
  changes: string,
  oneOf: (bands: readonly string[]) => string,
): string {
  const becomes = bands === null ? changes : `becomes ${oneOf(bands)}`
  return isCondition(field) ? `it ${becomes} that ${field}` : `${field} ${becomes}`
}

/** The long form stands in the document, in the report, and at the end with all details. */
export function assumedText(found: Backtest): string {
  const { side, fill, exit, costs, portfolio, rank, overlap } = found.strategy
  // What the tests below chose may be another one.
  const of = (found.validation?.candidates.length ?? 0) > 0 ? ' (the first candidate)' : ''
  const cash = portfolio.cash_rate === 0 ? '' : ` Cash earns ${percentage(portfolio.cash_rate)} a year.`
  const text = [
    `${FILLS[fill] ?? fill}, ${costsInWords(costs, side)}; out ${exitTexts(exit).join(', or ')}${of}.`,
    `At most ${positionsInWords(portfolio)}${portfolio.whole_shares ? ', whole shares' : ''}; ${OVERLAPS[overlap] ?? overlap}.${cash}`,
    ...(rank === undefined ? [] : [`${rankText(found.strategy)}.`]),
    `${Number(found.bars_a_year.toFixed(1))} bars a year, seed ${found.seed}. Buy and hold: the same tickers, without costs. Same exposure: throughout as much of it as the strategy held on average.`,
    'The tickers are those that were asked for (survivorship).',
  ].join(' ')
  // As everywhere beside it.
  return text.replaceAll(' %', '%')
}

/** `Of a day's signals those with the highest rsi_zone on their own bar come first, …` */
function rankText(strategy: Strategy): string {
  const words = rankInWords(strategy)
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`
}

const FILLS: Readonly<Record<string, string>> = {
  'next-open': 'Fills at the next open',
  'next-close': 'Fills at the next close',
  close: 'Fills at the close of the signal (not tradable on end-of-day data)',
}

const OVERLAPS: Readonly<Record<string, string>> = {
  skip: 'one a ticker, signals while it is on are skipped',
  allow: 'several a ticker',
  extend: 'one a ticker, held on by further signals',
}

function exitTexts({ hold, leave, on, when, stop, target, trailing }: Strategy['exit']): string[] {
  return [
    ...(hold === null ? [] : [`after ${count(hold, 'bar')}`]),
    ...(leave ? ['when the band is left'] : []),
    ...(on === null ? [] : [`when ${becomesText(on, 'changes', bands => bands.join(' or '))}`]),
    ...(when === undefined ? [] : [`when it becomes true that ${when}`]),
    ...(stop === null ? [] : [`at a stop of ${distanceText(stop)}`]),
    ...(target === null ? [] : [`at a target of ${distanceText(target)}`]),
    ...(trailing === null ? [] : [`at a trailing stop of ${distanceText(trailing)}`]),
  ]
}

function distanceText(distance: Distance): string {
  return typeof distance === 'number' ? percentage(distance) : `${distance.atr} ATR`
}
