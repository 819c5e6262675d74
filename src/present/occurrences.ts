import type { EventStudy, Occurrence } from '../study/result.js'
import { type Column, plain, type Table, tableOf } from './description.js'

/** Each event of a study, and what followed it. */
export function occurrencesTable({ windows, context, occurrences }: EventStudy): Table {
  // Newest first; of one date by ticker.
  const rows = [...occurrences].sort((a, b) =>
    a.date < b.date ? 1 : a.date > b.date ? -1 : a.ticker < b.ticker ? -1 : 1,
  )
  const settled: Column<Occurrence>[] = [
    { title: 'Stability', kind: 'text', of: ({ stability }) => stability },
    { title: 'Flips', kind: 'count', of: ({ flips }) => flips },
  ]
  const of = (
    title: string,
    values: (row: Occurrence) => Record<string, number | null>,
    window: string,
    tone?: typeof plain,
  ) => ({
    title,
    kind: 'return' as const,
    of: (row: Occurrence) => values(row)[window] ?? null,
    ...(tone === undefined ? {} : { tone }),
  })
  const columns: Column<Occurrence>[] = [
    { title: 'Date', kind: 'date', of: ({ date }) => date },
    { title: 'Ticker', kind: 'text', of: ({ ticker }) => ticker },
    { title: 'From', kind: 'text', of: ({ prev_band }) => prev_band },
    { title: 'To', kind: 'text', of: ({ band }) => band },
    ...(occurrences.some(({ stability }) => stability !== null) ? settled : []),
    ...(context === null
      ? []
      : [
          { title: `${context.ticker} was`, kind: 'text' as const, of: ({ context_band }: Occurrence) => context_band },
        ]),
    { title: 'Close', kind: 'price', of: ({ close }) => close },
    ...windows.map(({ window }) => of(window, ({ returns }) => returns, window)),
    ...windows
      .slice(-1)
      .flatMap(({ window }) => [
        of(`MFE ${window}`, ({ mfe }) => mfe, window, plain),
        of(`MAE ${window}`, ({ mae }) => mae, window, plain),
      ]),
  ]
  return tableOf('Events, newest first', columns, rows, {
    sorted: { cut: 'the newest' },
    empty: 'There is no such event.',
  })
}
