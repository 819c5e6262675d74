import type { Backtest, Interval, MonteCarlo } from '../backtest/result.js'
import { parseDay } from '../model/day.js'
import { type Chart, line, newChart } from './chart.js'
import { isPositive } from './charts.js'
import { type Cell, cell, type Kind, type Section, type Table } from './description.js'
import { count, percentage, ratio, returnText, shareText } from './numbers.js'

/** What else could have come of the same returns; nothing where it was not asked for. */
export function resampledSections(found: Backtest): Section[] {
  const { monte_carlo: drawn, seed } = found
  if (drawn === null) return []
  const title = 'The same returns in other orders'
  const head = { id: 'resampled', title, short: 'Monte Carlo' }
  if (drawn.reason !== null) return [{ ...head, parts: [{ notes: [`No draw was made: ${drawn.reason}.`] }] }]
  return [
    {
      ...head,
      phrases: [count(drawn.draws, 'draw'), `blocks of ${ratio(drawn.block, 1)} bars on average`, `seed ${seed}`],
      parts: [
        { table: intervalsTable(found, drawn) },
        { notes: [lostText(drawn)] },
        {
          on: 'page',
          notes: [
            'The returns of the bars were redrawn in blocks, so that neighbouring days stay together (stationary bootstrap, Politis and Romano 1994; mean block by Politis and White). The intervals are expanded percentiles of the draws (Hesterberg 2015). What never happened on these days is in no draw, and neither is that the strategy was chosen because it did well.',
          ],
        },
        { on: 'page', chart: fanChart(found, drawn) },
      ],
    },
  ]
}

function intervalsTable({ statistics, strategy }: Backtest, { cagr, sharpe, max_drawdown }: MonteCarlo): Table {
  const row = (name: string, kind: Kind, own: number | null, { low, median, high }: Interval): Cell[] => [
    cell('text', name),
    { kind, content: own },
    { kind, content: median },
    { kind, content: [low, high] },
  ]
  return {
    caption: 'What the draws have where the strategy has one number',
    columns: [
      { title: '', kind: 'text' },
      { title: 'It had', kind: 'return' },
      { title: 'Median', kind: 'return', spare: 0 },
      { title: '95%', kind: 'return', hint: 'Of 100 draws 95 lie between' },
    ],
    rows: [
      row('a year (CAGR)', 'return', statistics.cagr, cagr),
      row(`Sharpe, rf ${percentage(strategy.risk_free)}`, 'ratio', statistics.sharpe, sharpe),
      row('worst drawdown', 'return', statistics.max_drawdown, max_drawdown),
    ],
    whole: 'json',
  }
}

function lostText({ lost, draws }: MonteCarlo): string {
  return `${shareText(lost)} of ${count(draws, 'draw')} end below where they began.`
}

/** The equity among what its returns could have made of the money. */
function fanChart({ equity, statistics }: Backtest, { fan }: MonteCarlo): Chart {
  const last = fan.at(-1)
  const places = new Map(equity.map(({ date }, i) => [date, i]))
  const own = fan.map(({ date }) => equity[places.get(date)!]?.equity ?? null)
  const column = (key: 'p5' | 'p25' | 'median' | 'p75' | 'p95'): number[] => fan.map(point => point[key])
  const start = fan[0]?.median ?? 1
  const ending =
    last === undefined
      ? ''
      : ` Nine of ten draws end between ${returnText(last.p5 / start - 1)} and ${returnText(last.p95 / start - 1)}.`
  return newChart('fan', 'The equity among the draws', {
    description: `The strategy made ${returnText(statistics.total_return)}.${ending}`,
    x: ['date', fan.map(({ date }) => parseDay(date) ?? 0)],
    y: 'money',
    height: 300,
    group: 'dates',
    log: isPositive([...column('p5'), ...column('p95'), ...own]),
    ribbons: [
      { label: 'nine of ten draws', tone: 'accent', strength: 0.14, low: column('p5'), high: column('p95') },
      { label: 'half of the draws', tone: 'accent', strength: 0.24, low: column('p25'), high: column('p75') },
    ],
    lines: [
      line('middle draw', 'quiet', column('median'), { width: 1.3, dashed: true }),
      line('strategy', 'accent', own, { width: 2 }),
    ],
    rules: { x: [], y: [start] },
  })
}
