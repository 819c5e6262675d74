import type { TickerStatus } from '../../local/status.js'
import { type WholeStatus as Status, statusOf } from '../../open.js'
import { count, whole } from '../../present/numbers.js'

import type { Command } from '../command.js'
import type { Cell, Row, Table } from '../draw/table.js'
import type { Answer } from '../output.js'
import { pulledBlocks, pulledRow } from '../source-notices.js'

export const command: Command = {
  examples: ['bands status', 'bands status --json'],
  async run(context) {
    await context.show(statusAnswer(await statusOf(await context.here())))
  },
}

/** How fresh and how whole the loaded data is. */
function statusAnswer(found: Status): Answer {
  return {
    document: () => found,
    columns: [
      'ticker',
      'asset_class',
      'prices',
      'bars',
      'weekly_bars',
      'first',
      'last',
      'behind',
      'events',
      'gaps',
      'source',
      'format',
      'imported_at',
    ],
    rows: (): Row[] => [
      ...found.tickers.map(ticker => ({ ...ticker, gaps: ticker.gaps.length })),
      ...found.pulled.map(pulledRow),
    ],
    blocks: () => [
      { title: title(found), table: tickerTable(found.tickers), notes: notes(found) },
      ...pulledBlocks(found.pulled),
    ],
  }
}

function title({ database, tickers, bars, events, first, last }: Status): string[] {
  const range = first === null ? 'no bars' : `${first} to ${last}`
  return [database, count(tickers.length, 'ticker'), count(bars, 'bar'), count(events, 'event'), range]
}

function tickerTable(tickers: readonly TickerStatus[]): Table {
  return {
    columns: [
      { title: 'TICKER' },
      { title: 'BARS', align: 'right', spare: 4 },
      { title: 'WEEKS', align: 'right', spare: 7 },
      { title: 'FIRST', spare: 3 },
      { title: 'LAST' },
      { title: 'BEHIND', align: 'right', spare: 1 },
      { title: 'GAPS', align: 'right', spare: 2 },
      { title: 'EVENTS', align: 'right', spare: 6 },
      { title: 'PRICES', spare: 5 },
      { title: 'SOURCE', spare: 8 },
    ],
    rows: tickers.map((ticker): Cell[] => [
      ticker.ticker,
      whole(ticker.bars),
      whole(ticker.weekly_bars),
      ticker.first,
      ticker.last,
      `${ticker.behind}d`,
      whole(ticker.gaps.length),
      whole(ticker.events),
      ticker.prices,
      ticker.source,
    ]),
  }
}

function notes(found: Status): string[] {
  const { bytes, schema_version, as_of, unfinished, tickers } = found
  const lines = [[`${(bytes / 1e6).toFixed(1)} MB`, `schema ${schema_version}`, ...definedBy(found)].join(', ')]
  if (unfinished > 0)
    lines.push(
      `an import is not finished (${count(unfinished, 'step')}); if none is running, bands rebuild finishes it`,
    )
  if (as_of !== null) lines.push(`as of ${as_of}: what came later is not counted`)
  const gap = tickers
    .flatMap(({ ticker, gaps }) => gaps.map(found => ({ ticker, ...found })))
    .sort((a, b) => b.days - a.days)[0]
  if (gap !== undefined)
    lines.push(`longest gap: ${gap.ticker}, ${gap.days} days between ${gap.after} and ${gap.before} (--json has all)`)
  return lines
}

/** A database that nothing was derived in yet, such as one whose first import was stopped, has no definitions. */
function definedBy({ definitions, definitions_current }: Status): string[] {
  if (definitions === '') return []
  return [`definitions ${definitions}${definitions_current ? '' : ': of another version, run bands rebuild'}`]
}
