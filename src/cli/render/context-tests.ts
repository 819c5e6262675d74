import type { ContextTests } from '../../study/by-context.js'
import type { Transitions } from '../../study/transitions.js'
import { whole } from './amounts.js'
import { probability, right } from './statistics.js'
import type { Block, Cell, Column } from './table.js'

/** Whether it matters which band the context is in: two tests a band, and the medians that one of them compares. */
export function contextBlocks(
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
