import { type Day, parseDay } from '../../core/model/day.js'
import { FACT_COLUMNS, FACT_KINDS, type FactKind } from '../../core/model/facts.js'
import type { AccountPage } from '../../core/model/pages.js'
import { count, keyInWords, numberText, ratio } from '../../core/numbers.js'
import type { Trial, TrialKind } from '../../core/source.js'
import type { KnownFact, KnownFacts } from '../../data/local/facts.js'
import { oddityLines } from '../../data/local/known.js'
import type { Status, TickerStatus } from '../../data/local/status.js'
import { UNDERIVED } from '../../data/store/store.js'
import { countedTrials, countsOf, isStrategy } from '../../research/trials.js'
import type { PulledTicker } from '../remote/database-source.js'
import {
  type Column,
  column,
  compact,
  type Described,
  type Paragraph,
  type Part,
  type Records,
  tablePart,
  type Value,
} from './description.js'
import { onlyProblems } from './problems.js'
import { asOfText, fileText } from './words.js'

/** The record of a ticker with pulled events only; all values that need bars are null. */
function pulledRow({ ticker, source, pulled_at, as_of, events }: PulledTicker): Described['rows'][number] {
  const company = { asset_class: null, sector: null, facts: null }
  const bars = { prices: null, bars: null, weekly_bars: null, first: null, behind: null, gaps: null }
  return { ...company, ...bars, ticker, last: as_of, events, source, format: 'pulled', imported_at: pulled_at }
}

function pulledParagraphs(pulled: readonly PulledTicker[]): Paragraph[] {
  if (pulled.length === 0) return []
  const notes = pulled
    .filter(({ unfinished }) => unfinished > 0)
    .map(
      ({ ticker, unfinished, series }) =>
        `${ticker}: ${numberText(unfinished)} of ${numberText(series.length)} series not pulled to the end; bands pull goes on`,
    )
  const heading = [`pulled from servers: ${count(pulled.length, 'ticker')}`]
  return [{ heading, parts: [tablePart('Pulled', PULLED_COLUMNS, pulled), { notes }] }]
}

const PULLED_COLUMNS: readonly Column<PulledTicker>[] = [
  column('ticker'),
  { title: 'Series', kind: 'count', hidePriority: 2, value: ({ series }) => series.length },
  column('events', 'count', { hidePriority: 1 }),
  { title: 'Pulled', kind: 'date', value: ({ pulled_at }) => pulled_at.slice(0, 10) },
  column('as_of', 'date'),
  { title: 'From', kind: 'text', hidePriority: 3, value: ({ source }) => source },
]

/** The loaded data by ticker, pulled tickers and notes. With many tickers, only a wide terminal lists each. */
export function describeStatus(status: Status & { pulled: readonly PulledTicker[] }, today: Day): Described {
  const { database, tickers, bars, events, first, last, pulled } = status
  const hasManyTickers = tickers.length > MANY_TICKERS
  return {
    document: status,
    columns: [
      ...['ticker', 'asset_class', 'sector', 'facts', 'prices', 'bars', 'weekly_bars', 'first', 'last', 'behind'],
      ...['events', 'gaps'],
      ...['source', 'format', 'imported_at', 'oddities', 'outside_range'],
    ],
    get rows() {
      return [...statusRows(status), ...pulled.map(pulledRow)]
    },
    get paragraphs() {
      const dates = first === null ? 'no bars' : `${first} to ${last}`
      const heading = [database, count(tickers.length, 'ticker'), count(bars, 'bar'), count(events, 'event'), dates]
      const table = tablePart('Tickers', TICKER_COLUMNS, tickers)
      const parts: Part[] = hasManyTickers
        ? [
            { on: 'short', notes: [freshnessText(tickers), moreText(status)] },
            { on: 'wide', ...table },
          ]
        : [table]
      const notes = compact([ageNote(status, today), ...statusNotes(status)])
      return [{ heading, parts: [...parts, { notes }] }, ...pulledParagraphs(pulled)]
    },
  }
}

/** The account of a key at a server, and the credits that it has left. */
export function describeAccount(page: AccountPage, url: string): Described {
  const { name, tier, limits, usage } = page
  const { hourly_requests_used, hourly_requests_remaining, daily_requests_used, daily_requests_remaining } = usage
  const rows = [
    { period: 'hour', used: hourly_requests_used, left: hourly_requests_remaining, limit: limits.hourly_requests },
    { period: 'day', used: daily_requests_used, left: daily_requests_remaining, limit: limits.daily_requests },
  ]
  const heading = [url, name, tier, `events of the last ${count(limits.history_days, 'day')}`]
  return {
    document: page,
    columns: ['period', 'used', 'left', 'limit'],
    rows,
    paragraphs: [{ heading, parts: [tablePart('Credits', CREDIT_COLUMNS, rows)] }],
  }
}

const CREDIT_COLUMNS: readonly Column<{ period: string; used: number; left: number; limit: number }>[] = [
  column('period', 'text', { title: 'Credits of the' }),
  column('used', 'count'),
  column('left', 'count'),
  column('limit', 'count'),
]

/** `the newest bar is of 2018-05-11, 20 days ago`; null for a bar of the last days, and if an as-of day is set. */
function ageNote({ last, as_of }: Status, today: Day): string | null {
  const days = last === null ? 0 : today - parseDay(last)!
  return as_of !== null || days <= DAYS_FRESH ? null : `the newest bar is of ${last}, ${numberText(days)} days ago`
}

const DAYS_FRESH = 7

/** A list of more tickers does not fit a screen. */
const MANY_TICKERS = 12
const MOST_NAMED = 5

/** How to see what a short list of many tickers leaves out. */
function moreText(status: Status): string {
  const problems = onlyProblems(status).tickers.length === 0 ? '' : 'problems: --problems; '
  return `${problems}one ticker: bands status ${status.tickers[0]!.ticker}; every ticker: --wide or --csv`
}

/** `all end on the same day; 2 have gaps: DHR, O` */
function freshnessText(tickers: readonly TickerStatus[]): string {
  const behindTickers = tickers.filter(({ behind }) => behind > 0)
  const tickersWithGaps = tickers.filter(({ gaps }) => gaps.length > 0).map(({ ticker }) => ticker)
  let endsText = 'all end on the same day'
  if (behindTickers.length > 0) {
    const furthestBehind = behindTickers.toSorted((a, b) => b.behind - a.behind).slice(0, 3)
    const names = furthestBehind.map(({ ticker, behind }) => `${ticker} by ${count(behind, 'day')}`)
    endsText = `${numberText(behindTickers.length)} end earlier: ${names.join(', ')}`
  }
  if (tickersWithGaps.length === 0) return endsText
  const gapNames = tickersWithGaps.length > MOST_NAMED ? '' : `: ${tickersWithGaps.join(', ')}`
  return `${endsText}; ${numberText(tickersWithGaps.length)} have gaps${gapNames}`
}

/** A row for each ticker, with the number of its gaps and the kinds of its odd bars. */
function statusRows({ tickers, oddities }: Status): Records['rows'] {
  const odditiesByTicker = Map.groupBy(oddities, ({ ticker }) => ticker)
  return tickers.map(({ gaps, ...ticker }) => {
    const odditiesOfTicker = odditiesByTicker.get(ticker.ticker) ?? []
    const kinds = [...new Set(odditiesOfTicker.map(({ kind }) => kind))].join(' ')
    const barsOutsideRange = odditiesOfTicker.find(({ kind }) => kind === 'outside_range')?.bars ?? 0
    return { ...ticker, gaps: gaps.length, oddities: kinds, outside_range: barsOutsideRange }
  })
}

const TICKER_COLUMNS: readonly Column<TickerStatus>[] = [
  column('ticker'),
  column('bars', 'count', { hidePriority: 4 }),
  { title: 'Weeks', kind: 'count', hidePriority: 7, value: ({ weekly_bars }) => weekly_bars },
  column('first', 'date', { hidePriority: 3 }),
  column('last', 'date'),
  { title: 'Behind', kind: 'count', hidePriority: 1, value: ({ behind }) => `${behind}d` },
  { title: 'Gaps', kind: 'count', hidePriority: 2, value: ({ gaps }) => gaps.length },
  column('events', 'count', { hidePriority: 6 }),
  { title: 'Facts', kind: 'text', hidePriority: 9, value: ({ facts }) => (facts ? 'yes' : null) },
  { title: 'Sector', kind: 'text', hidePriority: 10, value: ({ sector }) => sector },
  column('prices', 'text', { hidePriority: 5 }),
  { title: 'Source', kind: 'text', hidePriority: 8, value: sourcesText },
]

/** The source file of each range of bars, in the order of the bars; only the number of ranges if there are many. */
function sourcesText({ bars, sources }: TickerStatus): string {
  if (sources.length > MOST_SOURCES) return `${count(sources.length, 'range')} of several files`
  let from = 0
  const texts: string[] = []
  for (const range of sources) {
    texts.push(sourceText(fileText(range), from, range.bars, bars))
    from += range.bars
  }
  return texts.join('; ')
}

const MOST_SOURCES = 3

/** `new.csv, the last 5 of 1,260 bars`; only the name if all bars are from it. @param from index of its first bar */
function sourceText(fileName: string, from: number, bars: number, total: number): string {
  if (bars === total) return fileName
  const barsText = `${numberText(bars)} of ${numberText(total)} bars`
  if (from === 0) return `${fileName}, the first ${barsText}`
  return from + bars === total ? `${fileName}, the last ${barsText}` : `${fileName}, ${barsText}`
}

/** Notes about the database: size, versions, unfinished imports, odd bars, and the longest gap. */
function statusNotes(status: Status): string[] {
  const { bytes, schema_version, as_of, unfinished, unfinished_since: since, part_loaded = [], tickers } = status
  const gapsOfAll = tickers.flatMap(({ ticker, gaps }) => gaps.map(gap => ({ ticker, ...gap })))
  const longestGap = gapsOfAll.sort((a, b) => b.days - a.days)[0]
  return compact([
    compact([`${(bytes / 1e6).toFixed(1)} MB`, `schema ${schema_version}`, definitionsText(status)]).join(', '),
    unfinished > 0 &&
      `an import is not finished (${count(unfinished, 'step')}), fields wait${since === undefined ? '' : ` since ${since}`}; if none is running, the next write or bands rebuild finishes it`,
    ...part_loaded.map(
      ({ file, tickers, of }) =>
        `${numberText(tickers)} of ${count(of, 'ticker')} of ${file} are loaded; if no import is running, the same again goes on, and bands rebuild leaves it at that`,
    ),
    as_of !== null && `as of ${as_of}: what came later is not counted`,
    ...oddityLines(status.oddities).map(({ what }) => `warning: ${what}; bands doctor shows the remedy`),
    longestGap &&
      `longest gap: ${longestGap.ticker}, ${longestGap.days} days between ${longestGap.after} and ${longestGap.before} (--json has all)`,
  ])
}

/** The version of the definitions, and the advice to rebuild if it is old; empty for a database without one. */
function definitionsText({ definitions, definitions_current: isCurrent }: Status): string {
  if (definitions === '') return ''
  if (definitions === UNDERIVED) return 'events not made yet: run bands rebuild'
  return `definitions ${definitions}${isCurrent ? '' : ': of another version, run bands rebuild'}`
}

/** The facts of a ticker: an overview of kinds, or the newest records of one kind. @param limit their number */
export function describeFacts(facts: KnownFacts, kind: FactKind | undefined, limit: number): Described {
  const { ticker, security, records } = facts
  const factColumns = (kind === undefined ? FACT_KINDS : [kind]).flatMap(factKind => FACT_COLUMNS[factKind])
  const factNames = new Set(factColumns.map(({ name }) => name).filter(name => name !== 'known'))
  const { name, sector, asset_class, market_cap: cap } = security ?? {}
  const capText = cap != null && `market capitalisation ${numberText(cap)}`
  const heading = compact([ticker, name, sector, asset_class, capText, ...asOfText(facts)])
  return {
    document: facts,
    columns: ['ticker', 'kind', 'known', 'usable_from', ...factNames, 'file', 'format', 'imported_at'],
    rows: records.map(record => ({ ticker, ...record })),
    paragraphs: [{ heading, parts: kind === undefined ? kindParts(facts) : recordParts(records, kind, limit) }],
  }
}

/** The table of the kinds of facts, with a note if the ticker is no stock. */
function kindParts({ kinds, security }: KnownFacts): Part[] {
  const assetClass = security?.asset_class ?? 'stock'
  const unusedNote = `No field uses these: only stocks have fundamentals, not ${assetClass}.`
  return [tablePart('Kinds', KIND_COLUMNS, kinds), { notes: assetClass === 'stock' ? [] : [unusedNote] }]
}

const KIND_COLUMNS: readonly Column<KnownFacts['kinds'][number]>[] = [
  column('kind'),
  column('records', 'count'),
  { title: 'First known', kind: 'date', hidePriority: 1, value: ({ first_known }) => first_known ?? '' },
  { title: 'Last known', kind: 'date', value: ({ last_known }) => last_known ?? '' },
  {
    title: 'File',
    kind: 'text',
    hidePriority: 2,
    value: ({ files }) => (files.length > 2 ? `${files[0]} and ${files.length - 1} more` : files.join(', ')),
  },
]

/** The table of the newest records of a kind, with a note if there are older ones. */
function recordParts(records: readonly KnownFact[], kind: FactKind, limit: number): Part[] {
  const shownColumns = FACT_COLUMNS[kind].filter(({ name }) => name !== 'known')
  const recordColumns = shownColumns.map(({ name, holds }, i): Column<KnownFact> => {
    const value = (record: KnownFact): Value => withAllDigits(record[name] ?? null)
    // The format of prices shows any number.
    const format = NUMERIC_COLUMNS.has(holds) ? 'price' : 'text'
    const recordColumn = { title: keyInWords(name), kind: format, value } as const
    // A narrow terminal keeps the first three columns.
    return i < 3 ? recordColumn : { ...recordColumn, hidePriority: i }
  })
  const dateColumns = kind === 'securities' ? [] : [column('known', 'date'), column('usable_from', 'date')]
  const columns = [...dateColumns, ...recordColumns, column('file', 'text', { hidePriority: shownColumns.length })]
  const omitted = records.length - limit
  return [
    tablePart('Newest first', columns, records.slice(-limit).reverse()),
    { notes: omitted > 0 ? [`${count(omitted, 'older record')}: --limit ${records.length}`] : [] },
  ]
}

const NUMERIC_COLUMNS: ReadonlySet<string> = new Set(['number', 'amount', 'count', 'positive', 'return'])

/** A whole number as text with all its digits; any other value unchanged. */
function withAllDigits(value: string | number | null): string | number | null {
  return typeof value === 'number' && Number.isInteger(value) ? numberText(value) : value
}

export type NotedTrial = Trial & { kind: TrialKind }

/** Trials of some kinds, oldest first; `none` if there is no log yet, null for the sample. */
export type TrialLog = readonly NotedTrial[] | 'none' | null

interface TrialsShown {
  kinds: readonly TrialKind[]
  /** How many of each kind people see. */
  limit: number
  /** The day from which on they were first tried; null: any. */
  since: string | null
}

/** The newest trials: windows of studies and tallies (`cell`), and strategies without their test parts. */
export function describeTrials(log: TrialLog, { kinds, limit, since }: TrialsShown): Described {
  const trials = log === 'none' || log === null ? [] : log
  const byKind: Readonly<Record<TrialKind, NotedTrial[]>> = {
    cell: trials.filter(({ kind }) => kind === 'cell'),
    strategy: trials.filter(({ kind }) => kind === 'strategy'),
  }
  const strategies = byKind.strategy.filter(isStrategy).length
  const { questions, windows: cells } = countsOf(byKind.cell)
  // Only strategies with a p count as tested.
  const testedStrategies = countsOf(countedTrials([], byKind.strategy)).questions
  const untested = strategies - testedStrategies
  const untestedText = untested > 0 ? `, ${numberText(untested)} more without a test` : ''
  const kindTexts = {
    cell: `${numberText(questions)} about events`,
    strategy: `${numberText(testedStrategies)} about strategies${untestedText}`,
  }
  const trialsIfShown = (kind: TrialKind): readonly NotedTrial[] => (kinds.includes(kind) ? byKind[kind] : [])
  const counted = countsOf(countedTrials(trialsIfShown('cell'), trialsIfShown('strategy')))
  const isCut = kinds.some(kind => byKind[kind].length > limit)
  return {
    document: {
      schema: 'bands.trials/1',
      since,
      questions,
      cells,
      strategies,
      trials: trials.map(({ kind, hash, spec, p, test, sharpe }) => ({ kind, hash, spec, p, test, sharpe })),
    },
    columns: ['kind', 'hash', 'spec', 'p', 'test', 'sharpe'],
    rows: trials,
    paragraphs: [
      {
        heading: [
          `tried: ${count(counted.questions, 'question')} (${count(counted.windows, 'window')})`,
          kinds.map(kind => kindTexts[kind]).join(', '),
          ...(since === null ? [] : [`since ${since}`]),
        ],
        parts: [{ notes: trialLogNotes(log, isCut ? limit : null) }],
      },
      ...kinds
        .filter(kind => byKind[kind].length > 0)
        .map(kind => ({ heading: [], parts: [trialsPart(kind, byKind[kind], limit)] })),
    ],
  }
}

/** Why no trial is shown, or that only the newest are. @param limit how many of a kind are shown; null if all are */
function trialLogNotes(log: TrialLog, limit: number | null): string[] {
  const noted = 'bands study, tally, sweep and backtest note what they try.'
  if (log === null) return ['Nothing is noted of the bundled sample.']
  if (log === 'none') return [`This database has no trial log yet: ${noted}`]
  if (log.length === 0) return [`The trial log has no such trial: ${noted}`]
  return limit === null ? [] : [`The newest ${numberText(limit)} of each kind; --limit N shows more, --json has all.`]
}

/** The newest trials of a kind. Trials with equal text show the first digits of their hash. */
function trialsPart(kind: TrialKind, trials: readonly NotedTrial[], limit: number): Part {
  const bySpec = Map.groupBy(trials, ({ spec }) => spec)
  const distinctText = ({ spec, hash }: NotedTrial): string =>
    bySpec.get(spec)!.length > 1 ? `${spec}; #${hash.slice(0, 7)}` : spec
  const columns: Column<NotedTrial>[] = [
    column('p', 'probability'),
    { title: 'Sharpe a bar', kind: 'ratio', value: ({ sharpe }) => ratio(sharpe, 3) },
    { title: kind === 'cell' ? 'combination' : kind, kind: 'text', wraps: true, value: distinctText },
  ]
  return tablePart('Trials', columns, trials.slice(-limit).reverse())
}
