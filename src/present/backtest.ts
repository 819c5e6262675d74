import type { Backtest, Benchmark, EquityStatistics } from '../backtest/result.js'
import type { PriceChart } from './chart.js'
import { besideEquity, equityChart, pricesSection, tradedPrice } from './charts.js'
import {
  assumedSection,
  type Cell,
  type Column,
  type Content,
  type Description,
  type Kind,
  reasonsPart,
  type Section,
  type Table,
  type Tile,
  tableOf,
} from './description.js'
import {
  count,
  money,
  percentage,
  probability,
  ratio,
  returnText,
  shareRange,
  shareText,
  UNKNOWN,
  whole,
  words,
} from './numbers.js'
import { assumedText, headingOf, questionOf } from './strategy.js'
import { signalsSection, tradesSection } from './trades.js'
import { outOfSampleSections, outOfSampleTiles, validationSections, wholeTitle, wholeWords } from './validation.js'
import { originFacts, readingOf } from './words.js'

/** What became of money that followed the rules, beside what holding made of it. */
export function describeBacktest(found: Backtest, prices: readonly PriceChart[] = []): Description {
  const candidates = found.validation?.candidates ?? []
  const named = found.strategy.name ?? questionOf(found)
  const of = candidates.length === 0 ? '' : ` (the first of ${candidates.length} candidates: ${candidates.join('; ')})`
  return {
    document: found,
    kind: 'Backtest',
    question: `${named}${of}`,
    heading: headingOf(found),
    assumed: [assumedText(found)],
    warnings: found.warnings,
    tiles: tilesOf(found),
    facts: [['Rules', `${questionOf(found)}.`], ['How it is traded', assumedText(found)], ...originFacts(found)],
    sections: [
      ...outOfSampleSections(found),
      statisticsSection(found),
      equitySection(found),
      ...validationSections(found),
      curveSection(found),
      tradesSection(found),
      ...drawdownSections(found),
      pricesSection(prices, found.tickers, (chart, id) => tradedPrice(chart, found.trades, id)),
      signalsSection(found),
      settingsSection(found),
      {
        id: 'reading',
        title: 'How to read this, and when not to',
        short: 'How to read this',
        on: 'page',
        parts: [{ facts: readingOf('backtest') }],
      },
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
  return [
    {
      label: 'Total return',
      value: returnText(statistics.total_return),
      note: `holding ${returnText(held?.total_return)}${investedNote(found)}`,
      ...tone(statistics.total_return),
    },
    {
      label: 'A year',
      value: returnText(statistics.cagr),
      note: `holding ${returnText(held?.cagr)}`,
      ...tone(statistics.cagr),
    },
    { label: 'Sharpe', value: ratio(statistics.sharpe), note: `holding ${ratio(held?.sharpe)}` },
    {
      label: 'Worst drawdown',
      value: returnText(statistics.max_drawdown),
      note: `holding ${returnText(held?.max_drawdown)}`,
    },
    {
      label: 'In the market',
      value: shareText(statistics.exposure),
      note: `turnover ${ratio(statistics.turnover, 1)} a year`,
    },
    {
      label: 'Trades',
      value: whole(trades.n),
      note: `${shareText(trades.hit_rate)} won (95% ${shareRange({ low: trades.hit_low, high: trades.hit_high })})`,
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
function investedNote(found: Backtest): string {
  const { overlap, portfolio } = found.strategy
  if (overlap === 'allow' || portfolio.sizing.method !== 'equal') return ''
  const [tickers, places] = [found.tickers.length, portfolio.max_positions]
  return tickers < places ? `; ${tickers}/${places} invested at most` : ''
}

function tone(value: number | null): Pick<Tile, 'tone'> {
  return value === null ? { tone: 'faint' } : value > 0 ? { tone: 'good' } : value < 0 ? { tone: 'bad' } : {}
}

/** A statistic of an equity curve; `wide` ones are not what a terminal shows first. */
interface Statistic {
  name: string
  kind: Kind
  of(one: EquityStatistics): Content
  formula: string
  wide?: true
}

function statisticsOf(found: Backtest): Statistic[] {
  const m = Number(found.bars_a_year.toFixed(1))
  const rate = percentage(found.strategy.risk_free)
  const wide = true
  return [
    { name: 'total return', kind: 'return', of: one => one.total_return, formula: 'last equity / first − 1' },
    { name: 'a year (CAGR)', kind: 'return', of: one => one.cagr, formula: `(last / first)^(${m} / bars) − 1` },
    {
      name: 'volatility a year',
      kind: 'deviation',
      of: one => one.volatility,
      formula: `deviation of bar returns (n − 1) · √${m}`,
    },
    { name: `Sharpe, rf ${rate}`, kind: 'ratio', of: one => one.sharpe, formula: `mean excess / deviation · √${m}` },
    { name: 'Sortino', kind: 'ratio', of: one => one.sortino, formula: `mean / √mean(min(r, 0)²) · √${m}`, wide },
    {
      name: 'worst drawdown',
      kind: 'return',
      of: one => one.max_drawdown,
      formula: 'least of equity / running maximum − 1',
    },
    { name: 'average drawdown', kind: 'return', of: one => one.average_drawdown, formula: 'mean of the same', wide },
    {
      name: 'longest fall, bars',
      kind: 'count',
      of: one => one.longest_drawdown_bars,
      formula: 'bars from a high to the next',
      wide,
    },
    { name: 'Calmar', kind: 'ratio', of: one => one.calmar, formula: 'CAGR / |maximum drawdown|', wide },
    { name: 'Ulcer index', kind: 'deviation', of: one => one.ulcer_index, formula: '√mean(drawdown²)', wide },
    { name: 'best bar', kind: 'return', of: one => one.best_bar, formula: '', wide },
    { name: 'worst bar', kind: 'return', of: one => one.worst_bar, formula: '', wide },
    { name: 'skewness', kind: 'ratio', of: one => one.skewness, formula: 'm₃ / m₂^1.5 of bar returns', wide },
    {
      name: 'kurtosis, plain',
      kind: 'ratio',
      of: one => one.kurtosis,
      formula: 'm₄ / m₂² of bar returns; a normal one has 3',
      wide,
    },
    {
      name: 'time in market',
      kind: 'share',
      of: one => one.exposure,
      formula: 'share of bars on which a position was on',
    },
    {
      name: 'turnover a year',
      kind: 'ratio',
      of: one => one.turnover,
      formula: 'traded value / mean equity, a year',
      wide,
    },
    {
      name: 'P(Sharpe > 0)',
      kind: 'probability',
      of: one => one.probabilistic_sharpe,
      formula: 'Bailey and López de Prado 2012',
      wide,
    },
    {
      name: 'track record, bars',
      kind: 'count',
      of: one => one.min_track_record_bars,
      formula: 'bars for that to reach 95%',
      wide,
    },
  ]
}

/** Of the strategy against each benchmark. */
const AGAINST: readonly { name: string; kind: Kind; of(one: Benchmark): Content; formula: string }[] = [
  { name: 'alpha a year', kind: 'return', of: one => one.alpha, formula: 'of the strategy, on bars that both have' },
  { name: 'beta', kind: 'ratio', of: one => one.beta, formula: '' },
  { name: 'correlation', kind: 'ratio', of: one => one.correlation, formula: '' },
  {
    name: 'information ratio',
    kind: 'ratio',
    of: one => one.information_ratio,
    formula: 'mean difference / its deviation',
  },
  { name: 'from', kind: 'date', of: one => one.first, formula: 'its first bar within the dates of the strategy' },
  { name: 'to', kind: 'date', of: one => one.last, formula: 'its last bar within them' },
]

/** The strategy beside what holding made of the same money. */
function statisticsSection(found: Backtest): Section {
  const { statistics, benchmarks } = found
  const title = wholeTitle(found)
  const reasons = [
    { where: 'strategy', reasons: statistics.reasons },
    ...benchmarks.flatMap(({ name, statistics, reasons }) => [
      { where: name, reasons: statistics.reasons },
      { where: `against ${name}`, reasons },
    ]),
  ]
  const all = statisticsOf(found)
  return {
    id: 'performance',
    title: title?.[0] ?? 'Performance',
    short: 'Performance',
    ...(title === null ? { untitled: true as const } : { phrases: title.slice(1) }),
    parts: [
      {
        on: 'short',
        table: beside(
          found,
          all.filter(({ wide }) => wide === undefined),
          [],
        ),
      },
      { on: 'wide', table: beside(found, all, benchmarks.length === 0 ? [] : AGAINST) },
      ...reasonsPart(reasons).map(part => ({ ...part, on: 'page' as const })),
    ],
  }
}

function beside(found: Backtest, statistics: readonly Statistic[], against: typeof AGAINST): Table {
  const { benchmarks } = found
  const cell = (kind: Kind, content: Content): Cell => {
    const sign = kind === 'return' && typeof content === 'number' ? Math.sign(content) : 0
    return { kind, content, ...(sign === 0 ? {} : { tone: sign > 0 ? 'good' : 'bad' }) }
  }
  const text = (content: string): Cell => ({ kind: 'text', content })
  return {
    caption: `Statistics of the equity over ${count(found.statistics.bars, 'bar')}`,
    columns: [
      { title: '', kind: 'text' },
      { title: 'Strategy', kind: 'return' },
      ...benchmarks.map(({ name }, i) => ({
        title: name.replace(' and ', ' & '),
        kind: 'return' as const,
        ...(i === 0 ? {} : { spare: i }),
      })),
      { title: 'How it is made', kind: 'text', on: 'page' },
    ],
    rows: [
      ...statistics.map(({ name, kind, of, formula }) => [
        text(name),
        cell(kind, of(found.statistics)),
        ...benchmarks.map(({ statistics }) => cell(kind, of(statistics))),
        text(formula),
      ]),
      ...against.map(({ name, kind, of, formula }) => [
        text(name),
        text(''),
        ...benchmarks.map(benchmark => cell(kind, of(benchmark))),
        text(formula),
      ]),
    ],
    whole: 'json',
  }
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
          'Random entry: how often the signals of all trades, moved to other dates together and traded by the same rules, had as high a mean or a higher one. The more strategies were tried, the better the best of them looks by luck alone: the deflated Sharpe ratio is the probability that the true one is above what the best of so many would reach by luck (Bailey and López de Prado 2014).',
        ],
      },
    ],
  }
}

function tradesSentence({ trade_statistics: trades }: Backtest): string {
  const { n, wins, mean, mean_gross, median, best, worst, break_even_cost, mean_mfe, mean_mae } = trades
  if (n === 0) return 'No closed trade.'
  const hit = `${whole(wins)} won (${shareText(trades.hit_rate)}, 95% ${shareRange({ low: trades.hit_low, high: trades.hit_high })})`
  const means = `mean ${returnText(mean)} net and ${returnText(mean_gross)} gross, median ${returnText(median)}`
  const reach = `best ${returnText(best)}, worst ${returnText(worst)}`
  const excursions = `on the way ${returnText(mean_mfe)} and ${returnText(mean_mae)}`
  const even = break_even_cost === null ? '' : `; break-even cost: ${(break_even_cost * 10_000).toFixed(0)} bp per side`
  return `${count(n, 'trade')}: ${hit}, ${means}, ${reach}, ${excursions}${even}.`
}

function signalsSentence({ signals: { total, closed, open, pending, skipped, extended } }: Backtest): string {
  const left = Object.entries(skipped).filter(([, n]) => n > 0)
  const parts = [
    `${count(closed, 'closed trade')}`,
    ...(open > 0 ? [`${whole(open)} still open`] : []),
    ...(pending > 0 ? [`${whole(pending)} waiting for the next bar`] : []),
    ...(extended > 0 ? [`${whole(extended)} that put an exit off`] : []),
    ...left.map(([reason, n]) => `${whole(n)} skipped (${SKIPPED[reason] ?? words(reason)})`),
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
function luckSentences({ random_entry: random, trials, seed }: Backtest): string[] {
  const lines: string[] = []
  if (random.p !== null)
    lines.push(
      `Random entry, all signals moved to other dates together: p ${probability(random.p)} (${count(random.draws, 'draw')}, seed ${seed}), mean ${returnText(random.mean)} a trade.`,
    )
  else if (random.reason !== null) lines.push(`Random entry: ${random.reason}`)
  const strategies = (n: number): string => count(n, 'strategy', 'strategies')
  const ever = trials.ledger === null ? '' : `, ${strategies(trials.ledger)} in the ledger of trials`
  const by = trials.family === 'ledger' ? 'the ledger' : 'this run'
  const left =
    trials.deflated_sharpe === null
      ? (trials.reason ?? UNKNOWN)
      : `${probability(trials.deflated_sharpe)}, by the ${whole(trials.n)} of ${by}`
  lines.push(`Tried: ${strategies(trials.run)} in this run${ever}. Deflated Sharpe ratio: ${left}`)
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
      ...(equity.length === 0 ? [] : [{ chart }]),
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
  const parts = validation === null ? '' : validation.kind === 'split' ? 'the split' : 'the walk-forward'
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
