import type { Backtest } from '../backtest/result.js'
import { costsInWords, FILLS_IN_WORDS, sizingInWords } from '../backtest/words.js'
import type { ContextFilter, Distance, EventFilter, Exit, Strategy } from '../params/strategy.js'
import type { EventStudy } from '../study/result.js'
import type { Sweep } from '../sweep/result.js'
import { count, counted, either, listed, share } from './html.js'
import { page, type ReportAbout } from './page.js'
import type { PriceChart } from './pictured.js'
import {
  besideStrategy,
  equity,
  months,
  ofCandidates,
  performance,
  signals,
  trades,
  validation,
} from './sections/backtest.js'
import { foot, opening, originFacts, reading, settings } from './sections/opening.js'
import { aftermath, distribution, occurrences, otherBands, path, prices, windows } from './sections/study.js'
import { best, cells, chance, leading, pValues, sweepValidation, tests } from './sections/sweep.js'
import { backtestTiles, studyTiles, sweepTiles } from './sections/tiles.js'

export type { ReportAbout } from './page.js'

/**
 * The page of an event study: one HTML document that needs nothing else.
 *
 * @param charts prices of some of its tickers, as `priceCharts` gives them
 */
export function studyReport(study: EventStudy, charts: readonly PriceChart[], about: ReportAbout): string {
  return page({
    kind: 'Event study',
    title: studyQuestion(study),
    opening: opening(study.warnings, studyTiles(study), [
      ['Looks', looks(study)],
      ...originFacts(about, study),
      ...lastBar(study),
    ]),
    sections: [
      windows(study),
      path(study),
      prices(charts, study.tickers),
      distribution(study),
      tests(study),
      aftermath(study),
      otherBands(study),
      occurrences(study),
      settings(
        study.assumptions,
        [
          ['Fewest events', `${study.min_events}: below that a cell is told, not trusted`],
          ...study.hints.map((hint): [string, string] => ['Left out', hint]),
        ],
        null,
      ),
      reading('study'),
    ],
    result: study,
    foot: foot(about),
  })
}

/** Where the tickers end before what is known ends. */
function lastBar({ last_bar, as_of }: EventStudy): [string, string][] {
  return last_bar === null || as_of === null || last_bar >= as_of ? [] : [['Last bar of the tickers', last_bar]]
}

/** The page of a backtest. `strategy` is the one it was run with: the result keeps its document only. */
export function backtestReport(
  backtest: Backtest,
  strategy: Strategy,
  charts: readonly PriceChart[],
  about: ReportAbout,
): string {
  const question = strategyQuestion(strategy)
  return page({
    kind: 'Backtest',
    title: `${strategy.name ?? question}${ofCandidates(backtest)}`,
    opening: opening(backtest.warnings, backtestTiles(backtest), [
      ['Rules', `${question}.`, 'wide'],
      ['Fills', FILLS_IN_WORDS[strategy.fill]],
      ['Costs', costsInWords(strategy.costs, strategy.side)],
      ['A position is', sizingInWords(strategy.portfolio.sizing, strategy.portfolio.maxPositions)],
      ...originFacts(about, backtest),
    ]),
    sections: [
      validation(backtest),
      equity(backtest),
      performance(backtest),
      months(backtest),
      prices(charts, backtest.tickers, backtest.trades),
      trades(backtest),
      signals(backtest),
      chance(backtest),
      settings(backtest.assumptions, [], backtest.strategy, besideStrategy(backtest)),
      reading('backtest'),
    ],
    result: backtest,
    foot: foot(about),
  })
}

/** The page of a sweep. */
export function sweepReport(sweep: Sweep, about: ReportAbout): string {
  return page({
    kind: 'Sweep',
    title: sweepQuestion(sweep),
    opening: opening(sweep.warnings, sweepTiles(sweep), [
      ['Fields', sweep.fields.join(', '), 'wide'],
      ['Windows', `${sweep.horizons.join(', ')} bars`],
      ...originFacts(about, sweep),
    ]),
    sections: [
      best(sweep),
      leading(sweep),
      pValues(sweep),
      cells(sweep),
      sweepValidation(sweep),
      settings(
        sweep.assumptions,
        [
          ['Fewest events', `${sweep.min_events}: below that a cell is told, not trusted`],
          [
            'Correction',
            `${ADJUSTMENTS[sweep.adjust]}, over ${sweep.family === 'run' ? 'this run' : 'all cells ever tried on this database'}`,
          ],
          [
            'Shifts',
            sweep.reps === null
              ? 'every possible one'
              : `every possible one up to ${count(2000)}, else ${count(sweep.reps)} drawn`,
          ],
        ],
        null,
      ),
      reading('sweep'),
    ],
    result: sweep,
    foot: foot(about),
  })
}

function looks({ trials: { run, ledger } }: EventStudy): string {
  return `${counted(run, 'cell')} in this run${ledger === null ? '' : `, ${counted(ledger, 'cell')} ever tried on this database`}`
}

const ADJUSTMENTS: Readonly<Record<Sweep['adjust'], string>> = {
  bh: 'Benjamini and Hochberg 1995',
  by: 'Benjamini and Yekutieli 2001',
  holm: 'Holm 1979',
  none: 'none: the p-values stand as they are',
}

/** The question of a study as a sentence. */
function studyQuestion(study: EventStudy): string {
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
function strategyQuestion({ tickers, side, entry, exit, timeframe }: Strategy): string {
  const verb = side === 'long' ? 'buying' : 'selling short'
  return `${verb[0]!.toUpperCase()}${verb.slice(1)} ${listed(tickers)} when ${entryWords(entry)}, leaving ${exitWords(exit)}${
    timeframe === 'weekly' ? ', on weekly bars' : ''
  }`
}

/** The question of a sweep as a sentence. */
function sweepQuestion({ tickers, fields, tried }: Sweep): string {
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
