import type { EventStudy } from '../../research/study/result.js'
import { counted } from '../format.js'
import { html } from '../html.js'
import type { Section } from '../page.js'
import { occurrenceColumns, occurrenceRows } from '../tables/occurrences.js'
import { table } from '../tables/table.js'

/** Each event. */
export function occurrences(study: EventStudy): Section {
  const rows = occurrenceRows(study)
  const byTicker = new Map(study.tickers.map(ticker => [ticker, 0]))
  for (const { ticker } of rows) byTicker.set(ticker, (byTicker.get(ticker) ?? 0) + 1)
  const without = [...byTicker.values()].filter(n => n === 0).length
  return {
    id: 'events',
    title: 'The events',
    short: 'Events',
    body: html`<p>${counted(rows.length, 'event')} of ${counted(study.tickers.length, 'ticker')}${without > 0 && `, ${without} of them without any`}. Returns are from the close of the event to the close so many bars later; where there is none, the window has not elapsed.</p>
${table({ caption: 'Events, newest first', id: 'sorted', columns: occurrenceColumns(study), rows, cut: 'the newest', empty: 'There is no such event.' })}`,
  }
}
