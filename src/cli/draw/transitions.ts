import { TIMEFRAMES } from '../../model/terms.js'
import { count, probability, share, whole } from '../../present/numbers.js'
import { whoText } from '../../present/words.js'
import type { ContextTests } from '../../tally/by-context.js'
import type { Dwell } from '../../tally/dwell.js'
import type { TransitionRow, Transitions } from '../../tally/transitions.js'
import { type Block, type Cell, type Column, right, type Screen, type Table } from './table.js'

/** Tables of which band follows which, how long each lasts, and where its stays go; with a context whether that matters. */
export function transitionsBlocks(found: Transitions, { words }: Screen): Block[] {
  const { tickers, field, timeframe, context, events, query_range, as_of, bands } = found
  const { windows } = TIMEFRAMES[timeframe]
  const window = windows[Math.floor(windows.length / 2)]!
  return [
    {
      title: [
        `${whoText(tickers)}  ${field}  ${timeframe}`,
        ...(context === null ? [] : [`beside ${context.ticker} ${context.field}`]),
        `${count(events, 'transition')} in ${query_range ?? '?'}`,
        ...(as_of === null ? [] : [`as of ${as_of}`]),
      ],
      table: matrixTable(bands, found.matrix, words),
    },
    { title: ['How long a band lasts, in bars, and the 95% interval of the median'], table: dwellTable(found, words) },
    { title: [`Where stays have gone by bar ${window}`], table: leavingTable(found, window, words) },
    { title: ['What follows a bar in a band, bar by bar'], table: matrixTable(bands, found.per_bar, words) },
    ...contextBlocks(found, { words, label: i => labelled(bands[i]!, i, words) }),
    { notes: found.notes },
  ]
}

/** Columns have letters on a terminal, because the names of seven bands side by side are wider than it. */
function bandColumns(bands: readonly string[], words: boolean): Column[] {
  return bands.map((band, i) => right(words ? band : letter(i), i))
}

function matrixTable(bands: readonly string[], rows: readonly TransitionRow[], words: boolean): Table {
  return {
    columns: [{ title: words ? 'FROM' : '  FROM' }, right('N'), ...bandColumns(bands, words)],
    rows: rows.map(({ from, n, shares }, i): Cell[] => [
      labelled(from, i, words),
      whole(n),
      ...bands.map(to => shareCell(shares[to] ?? null)),
    ]),
  }
}

function leavingTable({ bands, incidence }: Transitions, window: number, words: boolean): Table {
  const rows = incidence.filter(({ bars }) => bars === window)
  const unknown = rows.some(row => row.unknown !== null && row.unknown > 0)
  return {
    columns: [
      { title: words ? 'BAND' : '  BAND' },
      right('STILL'),
      ...bandColumns(bands, words),
      ...(unknown ? [right('LATER', bands.length)] : []),
    ],
    rows: rows.map((row, i): Cell[] => [
      labelled(row.band, i, words),
      shareCell(row.staying),
      ...bands.map(to => shareCell(row.to[to] ?? null)),
      ...(unknown ? [shareCell(row.unknown)] : []),
    ]),
  }
}

function shareCell(value: number | null): string {
  if (value === null) return '-'
  return value === 0 ? '.' : share(value)
}

function labelled(band: string, i: number, words: boolean): string {
  return words ? band : `${letter(i)} ${band}`
}

function letter(i: number): string {
  return String.fromCharCode('A'.charCodeAt(0) + i)
}

function dwellTable({ dwell }: Transitions, words: boolean): Table {
  return {
    columns: [
      { title: words ? 'BAND' : '  BAND' },
      ...[right('STAYS', 1), right('ENDED', 6), right('ACTIVE', 7)],
      ...[right('MEDIAN', 0), right('95%', 3), right('P90', 2), right('MEAN', 5), right('LONGEST', 4)],
    ],
    rows: dwell.map((stays, i): Cell[] => [labelled(stays.band, i, words), ...dwellCells(stays)]),
  }
}

function dwellCells(stays: Dwell): Cell[] {
  const { median, median_low: low, median_high: high, p90, mean, longest, longest_is_active } = stays
  return [
    ...[stays.stays, stays.completed, stays.censored].map(whole),
    bars(median),
    low === null && high === null ? '-' : `${bars(low)}-${high === null ? '?' : bars(high)}`,
    ...[p90, mean].map(bars),
    `${bars(longest)}${longest_is_active ? '+' : ''}`,
  ]
}

function bars(value: number | null): string {
  return value === null ? '-' : whole(Math.round(value * 10) / 10)
}

/** Whether it matters which band the context is in: two tests a band, and the medians that one of them compares. */
function contextBlocks(
  { bands, context, by_context }: Transitions,
  { words, label }: { words: boolean; label: (band: number) => string },
): Block[] {
  if (context === null || by_context === null) return []
  const { groups, tests } = by_context
  const band: Column = { title: words ? 'BAND' : '  BAND' }
  const { chi2, df, p, reason } = tests.equal_rows
  const all = reason ?? `all bands together: chi2 ${figure(chi2)}, df ${df}, p ${probability(p)}`
  return [
    {
      title: [`Does ${context.ticker} ${context.field} matter?`],
      table: {
        columns: [
          band,
          ...[right('NEXT CHI2', 1), right('DF', 3), right('P'), right('LEAST', 2)],
          ...[right('LENGTH CHI2', 1), right('DF', 3), right('P')],
        ],
        rows: bands.map((_, i): Cell[] => [label(i), ...testCells(tests, i)]),
      },
      notes: [
        `NEXT: which band follows (Anderson-Goodman; ${all}); LEAST below 5 makes its p a rough guide. LENGTH: how long it lasts (log-rank).`,
      ],
    },
    {
      title: [`Median bars, and stays, by ${context.ticker} ${context.field}`],
      table: {
        columns: [band, ...groups.map(({ context }, i) => right(context ?? '(none)', i))],
        rows: bands.map((_, i): Cell[] => [
          label(i),
          ...groups.map(({ dwell }) => {
            const { median, stays } = dwell[i]!
            return stays === 0 ? '-' : `${median === null ? '?' : whole(median)} (${whole(stays)})`
          }),
        ]),
      },
    },
  ]
}

function testCells({ equal_rows, log_rank }: ContextTests, i: number): Cell[] {
  const [next, length] = [equal_rows.rows[i]!, log_rank[i]!]
  return [
    ...[figure(next.chi2), degrees(next.df), probability(next.p), figure(next.least_expected)],
    ...[figure(length.chi2), degrees(length.df), probability(length.p)],
  ]
}

function figure(value: number | null): string {
  return value === null ? '-' : value.toFixed(1)
}

function degrees(df: number | null): string {
  return df === null ? '-' : String(df)
}
