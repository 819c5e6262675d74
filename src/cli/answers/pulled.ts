import type { PulledTicker } from '../../local/pulled/listing.js'
import { count, whole } from '../render/amounts.js'
import type { Row } from '../render/records.js'
import type { Block } from '../render/table.js'

/** A ticker without bars among those that have some: what it lacks is unknown. */
export function pulledRow({ ticker, source, pulled_at, as_of, events }: PulledTicker): Row {
  const none = { asset_class: null, sector: null, facts: null, prices: null, bars: null, weekly_bars: null }
  const unknown = { ...none, first: null, behind: null, gaps: null }
  return { ...unknown, ticker, last: as_of, events, source, format: 'pulled', imported_at: pulled_at }
}

/** What servers told, apart from what was derived here; nothing where nothing was pulled. */
export function pulledBlocks(pulled: readonly PulledTicker[]): Block[] {
  if (pulled.length === 0) return []
  const unfinished = pulled.filter(ticker => ticker.unfinished > 0)
  return [
    {
      title: [`pulled from servers: ${count(pulled.length, 'ticker')}`],
      table: {
        columns: [
          { title: 'TICKER' },
          { title: 'SERIES', align: 'right', spare: 2 },
          { title: 'EVENTS', align: 'right', spare: 1 },
          { title: 'PULLED' },
          { title: 'AS OF' },
          { title: 'FROM', spare: 3 },
        ],
        rows: pulled.map(({ ticker, series, events, pulled_at, as_of, source }) => [
          ...[ticker, whole(series.length), whole(events)],
          ...[pulled_at.slice(0, 10), as_of ?? '-', source],
        ]),
      },
      notes: unfinished.map(
        ({ ticker, unfinished, series }) =>
          `${ticker}: ${whole(unfinished)} of ${whole(series.length)} series not pulled to the end; bands pull goes on`,
      ),
    },
  ]
}
