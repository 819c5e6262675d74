import type { Backtest } from '../research/backtest/result.js'
import type { Strategy } from '../research/backtest/strategy.js'
import { costsInWords, FILLS_IN_WORDS, sizingInWords } from '../research/backtest/words.js'
import type { PriceChart } from '../research/chart.js'
import type { EventStudy } from '../research/study/result.js'
import type { Sweep } from '../research/sweep/result.js'
import type { ReportAbout } from './about.js'
import { count, counted } from './format.js'
import { page } from './page.js'
import { aftermath, otherBands } from './sections/aftermath.js'
import { best, sweepValidation } from './sections/best.js'
import { cells, leading, pValues } from './sections/cells.js'
import { chance } from './sections/chance.js'
import { months } from './sections/months.js'
import { occurrences } from './sections/occurrences.js'
import { foot, opening, originFacts } from './sections/opening.js'
import { path } from './sections/path.js'
import { equity, performance } from './sections/performance.js'
import { prices } from './sections/prices.js'
import { reading } from './sections/reading.js'
import { settings } from './sections/settings.js'
import { tests } from './sections/tests.js'
import { backtestTiles, studyTiles, sweepTiles } from './sections/tiles.js'
import { signals, trades } from './sections/trades.js'
import { besideStrategy, ofCandidates, validation } from './sections/validation.js'
import { distribution, windows } from './sections/windows.js'
import { strategyQuestion, studyQuestion, sweepQuestion } from './words.js'

export type { ReportAbout } from './about.js'

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
