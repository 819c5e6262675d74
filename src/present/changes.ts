import type { ExportedEvent } from '../model/event.js'
import { windowNames } from '../model/terms.js'
import type { Changes } from '../screen/changes.js'
import { type Column, column, type Described, tableOf } from './description.js'
import { count } from './numbers.js'

/** Every transition since a day; for machines a row an event, as an export has it. */
export function describeChanges(found: Changes, tickers: number): Described {
  const { since, as_of, changes } = found
  const after = since === 'last' ? 'since it was last asked' : `since ${since}`
  const isMixed = new Set(changes.map(({ timeframe }) => timeframe)).size > 1
  return {
    document: found,
    columns: COLUMNS,
    rows: changes.map(event => ({ ...event })),
    paragraphs: [
      {
        heading: [`${count(changes.length, 'change')} ${after}`, `of ${count(tickers, 'ticker')}`, `as of ${as_of}`],
        parts: [{ table: tableOf('Changes', columnsOf(isMixed), changes, { grouped: true }) }],
      },
    ],
  }
}

const COLUMNS = [
  ...['date', 'ticker', 'timeframe', 'field', 'band', 'prev_band'],
  ...['stability_at_entry', 'flips_recent_at_entry', 'flips_lookback', 'duration_days', 'duration_weeks'],
  ...(['daily', 'weekly'] as const).flatMap(timeframe =>
    windowNames(timeframe).flatMap(window => [
      `aftermath_${window}_performance`,
      `returns_${window}`,
      `percentiles_${window}`,
    ]),
  ),
]

function columnsOf(isMixed: boolean): Column<ExportedEvent>[] {
  return [
    column('date', 'date'),
    column('ticker'),
    { title: 'Bars', kind: 'text', spare: 1, ...(isMixed ? {} : { on: 'pipe' }), of: ({ timeframe }) => timeframe },
    column('field'),
    { title: 'From', kind: 'text', spare: 2, of: ({ prev_band }) => prev_band },
    column('band'),
    { title: 'Stability', kind: 'text', spare: 3, of: ({ stability_at_entry: stability }) => stability ?? null },
  ]
}
