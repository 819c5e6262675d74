import { TIMEFRAMES, windowNames } from '../../core/model/terms.js'
import { barsText, count, numberText, probability, ratio, UNKNOWN } from '../../core/numbers.js'
import type { ContextTests } from '../../research/tally/by-context.js'
import type { Dwell } from '../../research/tally/dwell.js'
import type { Leaving, TransitionRow, Transitions } from '../../research/tally/transitions.js'
import {
  type Column,
  column,
  compact,
  type Described,
  type Paragraph,
  type Records,
  type Table,
  tableOf,
  tablePart,
} from './description.js'
import { asOfText, boundsText, tickerColumns, tickersText } from './words.js'

/** The next bands, durations and exits of each band, and whether a context matters. Records are pairs of bands. */
export function describeTransitions(transitions: Transitions): Described {
  const { tickers, field, timeframe, context, events, query_range, bands } = transitions
  const { windows } = TIMEFRAMES[timeframe]
  const middleWindow = windows[Math.floor(windows.length / 2)]!
  const dwellTable = tableOf('How long a band lasts, in bars', [bandColumn(bands), ...DWELL_COLUMNS], transitions.dwell)
  const perBarTable = tableOf('What follows a bar in a band, bar by bar', matrixColumns(bands), transitions.per_bar)
  return {
    document: transitions,
    ...pairRecords(transitions),
    paragraphs: [
      {
        heading: compact([
          `${tickersText(tickers)}  ${field}  ${timeframe}`,
          context && `beside ${context.ticker} ${context.field}`,
          `${count(events, 'transition')} ${boundsText(transitions) ?? `in ${query_range ?? '?'}`}`,
          ...asOfText(transitions),
        ]),
        parts: [tablePart('Which band follows which', matrixColumns(bands), transitions.matrix)],
      },
      tableParagraph(dwellTable),
      tableParagraph(leavingTable(transitions, middleWindow), 'wide'),
      tableParagraph(perBarTable, 'wide'),
      ...contextParagraphs(transitions),
    ],
    notes: transitions.notes,
    method: ['A letter is the band that followed; a dot means never, 0% less than 0.5%.'],
  }
}

function tableParagraph(table: Table, on?: 'wide'): Paragraph {
  return { heading: [table.caption], on, parts: [{ table }] }
}

function bandColumn(bands: readonly string[]): Column<{ band: string }> {
  return letterColumn('Band', bands, ({ band }) => band)
}

/** A column that shows a band of each row, after the letter that heads the column of that band in shareColumns. */
function letterColumn<Row>(title: string, bands: readonly string[], bandOf: (row: Row) => string): Column<Row> {
  return {
    title,
    screenTitle: `  ${title.toUpperCase()}`,
    kind: 'lettered',
    value: row => [letterAt(bands.indexOf(bandOf(row))), bandOf(row)],
  }
}

/** `A` for 0, `B` for 1. */
function letterAt(index: number): string {
  return String.fromCharCode('A'.charCodeAt(0) + index)
}

/** A column of shares for each band, `.` for 0. A letter heads it on a screen; a narrow one hides the last first. */
function shareColumns<Row>(
  bands: readonly string[],
  shareOf: (row: Row, band: string) => number | null,
): Column<Row>[] {
  return bands.map((band, i) => ({
    title: band,
    verbatimTitle: true,
    screenTitle: letterAt(i),
    kind: 'share',
    hidePriority: i,
    value: row => dotForZero(shareOf(row, band)),
  }))
}

/** Writes zero as a dot, so that other numbers are easy to see. */
function dotForZero(share: number | null): number | string | null {
  return share === 0 ? '.' : share
}

function matrixColumns(bands: readonly string[]): Column<TransitionRow>[] {
  return [
    letterColumn('From', bands, ({ from }) => from),
    column('n', 'count'),
    ...shareColumns<TransitionRow>(bands, ({ shares }, to) => shares[to] ?? null),
  ]
}

/**
 * A table of the periods in each band, some bars after their start: the share that is still in the band, and the share
 * that left it for each other band. Later is the share that is too recent to know. @param window bars after the start
 */
function leavingTable({ bands, incidence }: Transitions, window: number): Table {
  const columns: Column<Leaving>[] = [
    bandColumn(bands),
    { title: 'Still', kind: 'share', value: ({ staying }) => dotForZero(staying) },
    ...shareColumns<Leaving>(bands, ({ to }, band) => to[band] ?? null),
  ]
  const rows = incidence.filter(({ bars }) => bars === window)
  if (rows.some(({ unknown }) => (unknown ?? 0) > 0))
    columns.push({ title: 'Later', kind: 'share', hidePriority: bands.length, value: row => dotForZero(row.unknown) })
  return tableOf(`Where stays have gone by bar ${window}`, columns, rows)
}

const DWELL_COLUMNS: readonly Column<Dwell>[] = [
  column('stays', 'count', { hidePriority: 1 }),
  { title: 'Ended', kind: 'count', hidePriority: 6, value: ({ completed }) => completed },
  { title: 'Active', kind: 'count', hidePriority: 7, value: ({ censored }) => censored },
  column('median', 'bars', { hidePriority: 0 }),
  { title: '95%', kind: 'bars', hidePriority: 3, value: medianRange },
  column('p90', 'bars', { hidePriority: 2 }),
  column('mean', 'bars', { hidePriority: 5 }),
  {
    title: 'Longest',
    kind: 'bars',
    hidePriority: 4,
    value: dwell => barsText(dwell.longest) + (dwell.longest_is_active ? '+' : ''),
  },
]

/** `8-12`: the 95% interval of the median duration in bars; `?` for an upper end that is not known. */
function medianRange({ median_low: low, median_high: high }: Dwell): string {
  if (low === null && high === null) return UNKNOWN
  return `${barsText(low)}-${high === null ? '?' : barsText(high)}`
}

/** Does the context matter? Two tests for each band, and the median durations. Empty without a context. */
function contextParagraphs({ bands, context, by_context }: Transitions): Paragraph[] {
  if (context === null || by_context === null) return []
  const { groups, tests } = by_context
  const { chi2, df, p, reason } = tests.equal_rows
  const jointTest = reason ?? `all bands together: chi2 ${ratio(chi2, 1)}, df ${ratio(df, 0)}, p ${probability(p)}`
  const contextName = `${context.ticker} ${context.field}`
  const rows = bands.map((band, i) => ({ band, next: tests.equal_rows.rows[i]!, length: tests.log_rank[i]! }))
  const medians = bands.map((band, i) => ({ band, dwell: groups.map(({ dwell }) => dwell[i]!) }))
  const columns = groups.map(({ context: contextBand }, g): Column<(typeof medians)[number]> => {
    const title = contextBand ?? '(none)'
    return { title, verbatimTitle: true, kind: 'bars', hidePriority: g, value: ({ dwell }) => medianText(dwell[g]!) }
  })
  const testsTitle = `Does ${contextName} matter?`
  const mediansTitle = `Median bars, and stays, by ${contextName}`
  const note = `NEXT: which band follows (Anderson-Goodman; ${jointTest}); LEAST below 5 makes its p a rough guide. LENGTH: how long it lasts (log-rank).`
  const testsPart = tablePart(testsTitle, [bandColumn(bands), ...TEST_COLUMNS], rows)
  return [
    { heading: [testsTitle], parts: [testsPart, { notes: [note] }] },
    { heading: [mediansTitle], parts: [tablePart(mediansTitle, [bandColumn(bands), ...columns], medians)] },
  ]
}

/** `12 (40)`: the median duration in bars, `?` if not known, and the number of periods in the band. */
function medianText({ median, stays }: Dwell): string {
  if (stays === 0) return UNKNOWN
  const medianBars = median === null ? '?' : numberText(median)
  return `${medianBars} (${numberText(stays)})`
}

interface BandTests {
  band: string
  next: ContextTests['equal_rows']['rows'][number]
  length: ContextTests['log_rank'][number]
}

const TEST_COLUMNS: readonly Column<BandTests>[] = [
  { title: 'Next chi2', kind: 'oneDecimal', hidePriority: 1, value: ({ next }) => next.chi2 },
  { title: 'df', kind: 'degrees', hidePriority: 3, value: ({ next }) => next.df },
  { title: 'p', kind: 'probability', value: ({ next }) => next.p },
  { title: 'Least', kind: 'oneDecimal', hidePriority: 2, value: ({ next }) => next.least_expected },
  { title: 'Length chi2', kind: 'oneDecimal', hidePriority: 1, value: ({ length }) => length.chi2 },
  { title: 'df', kind: 'degrees', hidePriority: 3, value: ({ length }) => length.df },
  { title: 'p', kind: 'probability', value: ({ length }) => length.p },
]

/** Records with a row for each pair of bands; with a context one for each pair in each of its bands. */
function pairRecords(transitions: Transitions): Records {
  const { by_context } = transitions
  return {
    columns: [
      ...['ticker', 'tickers', 'field', 'timeframe', 'from', 'to', 'count', 'share'],
      ...['share_low', 'share_high', 'independent'],
      ...['from_stays', 'from_completed', 'from_censored', 'from_median', 'from_p90', 'from_mean', 'from_longest'],
      ...['from_median_low', 'from_median_high', 'per_bar', 'from_per_bar'],
      ...windowNames(transitions.timeframe).map(name => `incidence_${name}`),
      ...['context_ticker', 'context_field', 'context_band', 'equal_rows_p', 'log_rank_p'],
    ],
    rows:
      by_context === null
        ? bandPairRows(transitions, transitions, null)
        : by_context.groups.flatMap(group => bandPairRows(transitions, group, group.context)),
  }
}

/**
 * A row for each pair of bands.
 * @param group the figures of all periods, or of those during `context_band`
 * @param context_band null: all periods, or those in which the context has no band
 */
function bandPairRows(
  { tickers, field, timeframe, bands, context, by_context }: Transitions,
  group: Pick<Transitions, 'matrix' | 'per_bar' | 'dwell' | 'incidence'>,
  context_band: string | null,
): Records['rows'] {
  const windows = windowNames(timeframe)
  return bands.flatMap((from, i) => {
    const { counts, shares, intervals } = group.matrix[i]!
    const dwell = group.dwell[i]!
    const barShares = group.per_bar[i]!.shares
    const incidence = group.incidence.filter(({ band }) => band === from)
    const contextColumns = {
      context_ticker: context?.ticker ?? null,
      context_field: context?.field ?? null,
      context_band,
      equal_rows_p: by_context?.tests.equal_rows.rows[i]?.p ?? null,
      log_rank_p: by_context?.tests.log_rank[i]?.p ?? null,
    }
    return bands
      .filter(to => to !== from)
      .map(to => ({
        ...tickerColumns(tickers),
        field,
        timeframe,
        from,
        to,
        count: counts[to],
        share: shares[to],
        share_low: intervals[to]?.low ?? null,
        share_high: intervals[to]?.high ?? null,
        independent: intervals[to]?.independent ?? null,
        from_stays: dwell.stays,
        from_completed: dwell.completed,
        from_censored: dwell.censored,
        from_median: dwell.median,
        from_p90: dwell.p90,
        from_mean: dwell.mean,
        from_longest: dwell.longest,
        from_median_low: dwell.median_low,
        from_median_high: dwell.median_high,
        per_bar: barShares[to],
        from_per_bar: barShares[from],
        ...Object.fromEntries(windows.map((window, w) => [`incidence_${window}`, incidence[w]!.to[to]])),
        ...contextColumns,
      }))
  })
}
