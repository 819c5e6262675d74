import type { Backtest, Interval, MonteCarlo } from '../backtest/result.js'
import { idlePlaces } from '../backtest/sizing.js'
import { parseDay } from '../model/day.js'
import { backtestAnswer, deflatedText } from './answer.js'
import { type Chart, line, newChart, type PriceChart } from './chart.js'
import { besideEquity, equityChart, isPositive, pricesSection, tradedPrice } from './charts.js'
import {
  assumedSection,
  type Cell,
  type Column,
  cell,
  type Description,
  type Kind,
  type Section,
  type Table,
  type Tile,
  tableOf,
} from './description.js'
import { EVERY } from './long-tables.js'
import {
  count,
  money,
  percentage,
  probability,
  ratio,
  returnText,
  shareRange,
  shareText,
  whole,
  words,
} from './numbers.js'
import {
  outOfSampleSections,
  outOfSampleTiles,
  partsOf,
  statisticsSection,
  validationSections,
  wholeWords,
  wonText,
  yearsSection,
  yearsTrend,
} from './performance.js'
import { assumedText, headingOf, questionOf, SKIPPED, signalsSection, tradesSection } from './trades.js'
import { originFacts, readingSection } from './words.js'

/** What became of money that followed the rules, beside what holding made of it. */
export function describeBacktest(found: Backtest, prices: readonly PriceChart[] = []): Description {
  const candidates = found.validation?.candidates ?? []
  const named = found.strategy.name ?? questionOf(found)
  const of = candidates.length === 0 ? '' : ` (the first of ${candidates.length} candidates: ${candidates.join('; ')})`
  return {
    document: found,
    kind: 'Backtest',
    question: `${named}${of}`,
    answer: backtestAnswer(found),
    heading: headingOf(found),
    assumed: [assumedText(found)],
    lead: [{ chart: equityChart(found), note: wholeWords(found) ?? '' }],
    warnings: found.warnings,
    tiles: tilesOf(found),
    facts: [['Rules', `${questionOf(found)}.`], ['How it is traded', assumedText(found)], ...originFacts(found)],
    sections: [
      ...outOfSampleSections(found),
      statisticsSection(found),
      equitySection(found),
      ...validationSections(found),
      curveSection(found),
      yearsSection(found),
      ...resampledSections(found),
      tradesSection(found),
      ...drawdownSections(found),
      pricesSection(prices, found.tickers, (chart, id) => tradedPrice(chart, found.trades, id)),
      signalsSection(found),
      settingsSection(found),
      readingSection('backtest'),
    ],
    long: [
      { key: 'skipped', keep: 'last', whole: EVERY.skipped },
      { key: 'trades', keep: 'last', whole: EVERY.trades },
    ],
  }
}

/** What came of it out of the sample, if a part of the data was kept apart; then what all data gave. */
function tilesOf(found: Backtest): Tile[] {
  const ofAll = wholeWords(found)
  const [first, ...more] = wholeTiles(found)
  if (ofAll === null || first === undefined) return wholeTiles(found)
  return [
    ...outOfSampleTiles(found),
    { ...first, label: `${first.label}, ${ofAll}` },
    ...more.map(tile => ({ ...tile, label: `${tile.label}, all data` })),
  ]
}

function wholeTiles(found: Backtest): Tile[] {
  const { statistics, benchmarks, trade_statistics: trades, random_entry: random } = found
  const held = benchmarks[0]?.statistics
  const beside = (label: string, key: 'total_return' | 'cagr' | 'sharpe' | 'max_drawdown', text = returnText): Tile => {
    return { label, value: text(statistics[key]), note: `holding ${text(held?.[key])}` }
  }
  const total = beside('Total return', 'total_return')
  return [
    { ...total, note: `${total.note}${investedNote(found)}`, ...tone(statistics.total_return) },
    { ...beside('A year', 'cagr'), ...tone(statistics.cagr) },
    beside('Sharpe', 'sharpe', ratio),
    beside('Worst drawdown', 'max_drawdown'),
    {
      label: 'In the market',
      value: shareText(statistics.exposure),
      note: `turnover ${ratio(statistics.turnover, 1)} a year, entries and exits`,
    },
    {
      label: 'Trades',
      value: whole(trades.n),
      note: wonText(trades),
    },
    {
      label: 'Mean trade, net',
      value: returnText(trades.mean),
      note: `gross ${returnText(trades.mean_gross)}`,
      ...tone(trades.mean),
    },
    {
      label: 'Random entry, p',
      value: probability(random.p),
      note: random.reason ?? `${count(random.draws, 'draw')}, mean ${returnText(random.mean)} a trade`,
    },
  ]
}

/** How much of the equity can be in positions at all, where tickers are fewer than places. */
function investedNote({ strategy, tickers }: Backtest): string {
  const idle = idlePlaces(strategy, tickers.length)
  return idle === null ? '' : `; ${idle.most}/${idle.places} invested at most`
}

function tone(value: number | null): Pick<Tile, 'tone'> {
  return value === null ? { tone: 'faint' } : value > 0 ? { tone: 'good' } : value < 0 ? { tone: 'bad' } : {}
}

/** Equity and drawdown, a line each; then the trades, the signals and what luck would have done. */
function equitySection(found: Backtest): Section {
  const { equity, statistics } = found
  const [first, last] = [equity[0], equity.at(-1)]
  const trends =
    first === undefined || last === undefined
      ? []
      : [
          {
            name: 'equity',
            values: equity.map(point => point.equity),
            text: `first ${money(first.equity)}, last ${money(last.equity)}`,
          },
          {
            name: 'drawdown',
            values: equity.map(point => point.drawdown),
            text: `worst ${returnText(statistics.max_drawdown)}`,
          },
          ...yearsTrend(found),
        ]
  return {
    id: 'chance',
    title: 'In short',
    short: 'In short',
    untitled: true,
    parts: [
      { on: 'terminal', trend: trends },
      { notes: [tradesSentence(found), signalsSentence(found), ...luckSentences(found)] },
      {
        on: 'page',
        notes: [
          'Random entry: how often the signals of all trades, moved to other dates together and traded by the same rules, had a mean as many of its own Newey-West errors above that of all such moves, or more. The more strategies were tried, the better the best of them looks by luck alone: the deflated Sharpe ratio is the probability that the true one is above what the best of so many would reach by luck (Bailey and López de Prado 2014).',
        ],
      },
    ],
  }
}

function tradesSentence({ trade_statistics: trades }: Backtest): string {
  const { n, wins, hit_rate, hit_low, hit_high, mean, mean_gross, median, best, worst } = trades
  const { break_even_cost, mean_mfe, mean_mae } = trades
  if (n === 0) return 'No closed trade.'
  const hit = `${whole(wins)} won (${shareText(hit_rate)}, 95% ${shareRange({ low: hit_low, high: hit_high })})`
  const means = `mean ${returnText(mean)} net and ${returnText(mean_gross)} gross, median ${returnText(median)}`
  const reach = `best ${returnText(best)}, worst ${returnText(worst)}`
  const excursions = `on the way ${returnText(mean_mfe)} and ${returnText(mean_mae)}`
  const even = break_even_cost === null ? '' : `; break-even cost: ${(break_even_cost * 10_000).toFixed(0)} bp per side`
  return `${count(n, 'trade')}: ${hit}, ${means}, ${reach}, ${excursions}${even}.`
}

function signalsSentence({ signals: { total, closed, open, pending, skipped, extended, late } }: Backtest): string {
  const left = Object.entries(skipped).filter(([, n]) => n > 0)
  const parts = [
    `${count(closed, 'closed trade')}`,
    ...(open > 0 ? [`${whole(open)} still open`] : []),
    ...(pending > 0 ? [`${whole(pending)} waiting for the next bar`] : []),
    ...(extended > 0 ? [`${whole(extended)} that put an exit off`] : []),
    ...left.map(([reason, n]) => `${whole(n)} skipped (${SKIPPED[reason] ?? words(reason)})`),
  ]
  const after = late === 0 ? '' : ` ${whole(late)} of the trades filled more than 5 days late.`
  return `${count(total, 'signal')}: ${parts.join(', ')}.${after}`
}

/** What random entry did, and what the number of looks leaves. */
function luckSentences({ random_entry: random, trials, seed }: Backtest): string[] {
  const lines: string[] = []
  if (random.p !== null)
    lines.push(
      `Random entry, all signals moved to other dates together: p ${probability(random.p)} (${count(random.draws, 'draw')}, seed ${seed}), mean ${returnText(random.mean)} a trade.`,
    )
  else if (random.reason !== null) lines.push(`Random entry: ${random.reason}`)
  const strategies = (n: number): string => count(n, 'strategy', 'strategies')
  const ever = trials.ledger === null ? '' : `, ${strategies(trials.ledger)} in the ledger of trials`
  lines.push(`Tried: ${strategies(trials.run)} in this run${ever}. Deflated Sharpe ratio: ${deflatedText(trials)}`)
  return lines.map(text => (text.endsWith('.') ? text : `${text}.`))
}

function curveSection(found: Backtest): Section {
  const { equity, months } = found
  const chart = equityChart(found)
  const ofAll = wholeWords(found)
  return {
    id: 'equity',
    title: 'Equity',
    on: 'wide',
    parts: [
      ...(ofAll === null ? [] : [{ on: 'page' as const, notes: [`Here and below: ${ofAll}.`] }]),
      ...(equity.length === 0 ? [] : [{ on: 'terminal' as const, chart }]),
      ...besideEquity(found).map(chart => ({ on: 'page' as const, chart })),
      { on: 'page', months },
    ],
  }
}

function drawdownSections({ drawdowns }: Backtest): Section[] {
  if (drawdowns.length === 0) return []
  const columns: Column<Backtest['drawdowns'][number]>[] = [
    { title: 'Depth', kind: 'return', of: ({ depth }) => depth },
    { title: 'High', kind: 'date', of: ({ from }) => from },
    { title: 'Low', kind: 'date', of: ({ low }) => low },
    { title: 'Back', kind: 'date', spare: 1, of: ({ to }) => to ?? 'not yet' },
    { title: 'Bars', kind: 'count', spare: 0, of: ({ bars }) => bars },
  ]
  const title = 'Deepest falls from a high'
  return [
    { id: 'drawdowns', title, short: 'Drawdowns', on: 'wide', parts: [{ table: tableOf(title, columns, drawdowns) }] },
  ]
}

/** What was assumed, and how to run it again. */
function settingsSection({ assumptions, strategy, validation }: Backtest): Section {
  const parts = validation === null ? '' : partsOf(validation)
  const candidates = validation?.candidates ?? []
  const beside = candidates.length === 0 ? parts : `the candidates (${candidates.join('; ')}) and ${parts}`
  return assumedSection(assumptions, [
    {
      on: 'page',
      notes: [
        beside === ''
          ? 'This is the strategy file of the run, complete; kept in a file, it makes the run again.'
          : `This is the strategy file of the run. Not in it are ${beside}: they are given on the command line.`,
      ],
    },
    { on: 'page', code: JSON.stringify(strategy, null, 2) },
  ])
}

/** What else could have come of the same returns; nothing where it was not asked for. */
function resampledSections(found: Backtest): Section[] {
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
