import type { Backtest, TradeStatistics } from '../../research/backtest/result.js'
import { figure } from '../charts/figure.js'
import { tradeHistogram } from '../charts/histogram.js'
import { count, counted, decimal, gain, share, shareRange, words } from '../format.js'
import { html } from '../html.js'
import type { Section } from '../page.js'
import type { Column } from '../tables/column.js'
import { table } from '../tables/table.js'
import { tradeColumns, tradeRows } from '../tables/trades.js'
import { reasons } from './reasons.js'

/** What each trade brought. */
export function trades(backtest: Backtest): Section {
  const { trade_statistics: statistics, signals } = backtest
  return {
    id: 'trades',
    title: 'Trades',
    body: html`<p>${counted(signals.closed, 'closed trade')}${signals.open > 0 && ` and ${signals.open} still open, which the statistics leave out and the equity contains`}.</p>
${table({ caption: 'Statistics of the closed trades, net of costs', columns: TRADE_COLUMNS, rows: tradeFigures(statistics) })}
${reasons([{ where: 'trades', reasons: statistics.reasons }])}
${figure(tradeHistogram(backtest.trades))}
${table({ caption: 'Trades, newest first', id: 'sorted', columns: tradeColumns(backtest), rows: tradeRows(backtest), cut: 'the newest', empty: 'There was no trade.' })}`,
  }
}

/** What became of each signal. */
export function signals({ signals, skipped }: Backtest): Section {
  const rows: [string, number][] = [
    ['closed trades', signals.closed],
    ['still open', signals.open],
    ['no bar after them yet', signals.pending],
    ...Object.entries(signals.skipped).map(([reason, n]): [string, number] => [
      `skipped: ${SKIPPED[reason] ?? words(reason)}`,
      n,
    ]),
    ...(signals.extended > 0 ? [['put off the exit of a trade', signals.extended] as [string, number]] : []),
  ]
  const left = [...skipped].sort((a, b) => (a.date < b.date ? 1 : a.date > b.date ? -1 : 0))
  return {
    id: 'signals',
    title: 'Signals',
    body: html`${table({
      caption: `What became of ${counted(signals.total, 'signal')}`,
      columns: [
        { title: 'Signals', text: ([what]) => what },
        { title: 'n', numeric: true, text: ([, n]) => count(n) },
      ] satisfies Column<[string, number]>[],
      rows,
    })}
${left.length > 0 && table({ caption: 'Signals that were skipped, newest first', columns: SKIPPED_COLUMNS, rows: left, cut: 'the newest' })}`,
  }
}

const SKIPPED: Readonly<Record<string, string>> = {
  in_trade: 'the ticker was in a trade',
  no_place: 'no place was free',
  no_cash: 'there was no cash',
  no_price: 'there was no price to fill at',
  no_size: 'the size came to nothing',
}

const SKIPPED_COLUMNS: readonly Column<Backtest['skipped'][number]>[] = [
  { title: 'Date', text: ({ date }) => date },
  { title: 'Ticker', text: ({ ticker }) => ticker },
  { title: 'Why', text: ({ reason }) => SKIPPED[reason] ?? words(reason) },
]

type Figure = readonly [name: string, text: string, note: string]

function tradeFigures(of: TradeStatistics): Figure[] {
  return [
    ['n', count(of.n), `${count(of.wins)} of them won`],
    ['Hit rate', share(of.hit_rate), `95% ${shareRange(of.hit_low, of.hit_high)}, Wilson`],
    ['Mean', gain(of.mean), `gross ${gain(of.mean_gross)}`],
    ['Median', gain(of.median), ''],
    ['Best', gain(of.best), ''],
    ['Worst', gain(of.worst), ''],
    ['Deviation', share(of.deviation, 2), 'n − 1'],
    ['Profit factor', decimal(of.profit_factor), 'gains / losses'],
    ['Expectancy', gain(of.expectancy), 'a trade'],
    ['SQN', decimal(of.sqn), '√n · mean / deviation'],
    ['Longest losing run', count(of.longest_losing_run), 'trades'],
    ['Average length', decimal(of.average_bars, 1), 'bars'],
    ['Mean MFE', gain(of.mean_mfe), 'greatest gain on the way'],
    ['Mean MAE', gain(of.mean_mae), 'greatest loss on the way'],
    ['Break-even cost', share(of.break_even_cost, 3), 'a side, at which the mean is 0'],
  ]
}

const TRADE_COLUMNS: readonly Column<Figure>[] = [
  { title: 'Statistic', text: ([name]) => name },
  { title: 'Value', numeric: true, text: ([, text]) => text },
  { title: '', text: ([, , note]) => html`<span class="quiet">${note}</span>` },
]
