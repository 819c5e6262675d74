import type { Distance, Exit, Strategy } from '../research/backtest/strategy.js'
import type { ContextFilter, EventFilter } from '../research/filter.js'
import type { EventStudy } from '../research/study/result.js'
import type { Sweep } from '../research/sweep/result.js'
import { counted, either, listed, share } from './format.js'

/** The question of a study as a sentence. */
export function studyQuestion(study: EventStudy): string {
  const { tickers, field, bands, prev_bands, context } = study
  const more = [
    prev_bands === null ? '' : ` from ${either(prev_bands)}`,
    ` (${field}${study.timeframe === 'weekly' ? ', weekly' : ''})`,
    context === null ? '' : ` while ${context.ticker} ${contextWords(context)}`,
    settled(study.stability, study.max_flips),
  ]
  return `What followed when ${listed(tickers)} ${bands === null ? 'changed band' : `entered ${either(bands)}`}${more.join('')}?`
}

/** The rules of a strategy as a sentence. */
export function strategyQuestion({ tickers, side, entry, exit, timeframe }: Strategy): string {
  const verb = side === 'long' ? 'buying' : 'selling short'
  return `${verb[0]!.toUpperCase()}${verb.slice(1)} ${listed(tickers)} when ${entryWords(entry)}, leaving ${exitWords(exit)}${
    timeframe === 'weekly' ? ', on weekly bars' : ''
  }`
}

/** The question of a sweep as a sentence. */
export function sweepQuestion({ tickers, fields, tried }: Sweep): string {
  const combinations = counted(tried.cells, 'combination')
  return `Which of ${combinations} of ${listed(fields, 2, 'fields')} was followed by unusual returns of ${listed(tickers, 3)}?`
}

function entryWords({ field, bands, prevBands, context, stability, maxFlips }: EventFilter): string {
  const from = prevBands === null ? '' : ` from ${either(prevBands)}`
  const entered = bands === null ? `${field} changes band` : `${field} becomes ${either(bands)}`
  const beside = context === null ? '' : ` while ${context.ticker} ${contextWords(context)}`
  return `${entered}${from}${beside}${settled(stability, maxFlips)}`
}

function contextWords({ field, bands, lag }: Pick<ContextFilter, 'field' | 'bands' | 'lag'>): string {
  const before = lag === 1 ? ', as of its bar before' : ''
  return bands === null ? `is in any ${field}${before}` : `is ${either(bands)} (${field}${before})`
}

function settled(stability: readonly string[] | null, maxFlips: number | null): string {
  const parts = [
    stability !== null && `the band left was ${either(stability)}`,
    maxFlips !== null && `there were at most ${counted(maxFlips, 'flip')} before`,
  ].filter(part => part !== false)
  return parts.length === 0 ? '' : `, where ${parts.join(' and ')}`
}

function exitWords({ hold, leave, on, stop, target, trailing }: Exit): string {
  const ways = [
    hold !== null && `after ${counted(hold, 'bar')}`,
    leave && 'when the band ends',
    on !== null && `when ${on.field} becomes ${either(on.bands)}`,
    stop !== null && `at a stop of ${distanceWords(stop)}`,
    target !== null && `at a target of ${distanceWords(target)}`,
    trailing !== null && `at a trailing stop of ${distanceWords(trailing)}`,
  ].filter(way => way !== false)
  return ways.length === 0 ? 'at the last bar' : either(ways)
}

function distanceWords(distance: Distance): string {
  return 'fraction' in distance ? share(distance.fraction) : `${distance.atr} ATR`
}
