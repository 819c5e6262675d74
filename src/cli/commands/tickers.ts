import { formatDay } from '../../model/day.js'
import type { TickerEntry } from '../../store/store.js'
import type { Command } from '../command.js'
import type { Answer } from '../output.js'
import { whole } from '../render/amounts.js'

export const command: Command = {
  examples: ['bands tickers', 'bands tickers --csv'],
  async run(context) {
    const local = await context.local()
    await context.show(tickersAnswer(await local.cache.store.tickers()))
  },
}

function tickersAnswer(entries: readonly TickerEntry[]): Answer {
  const rows = entries.map(entry => ({
    ticker: entry.ticker,
    asset_class: entry.assetClass,
    prices: entry.prices,
    bars: entry.bars,
    first: formatDay(entry.first),
    last: formatDay(entry.last),
    source: entry.source,
    format: entry.format,
    imported_at: entry.importedAt,
  }))
  return {
    document: () => ({ schema: 'bands.tickers/1', tickers: rows }),
    columns: ['ticker', 'asset_class', 'prices', 'bars', 'first', 'last', 'source', 'format', 'imported_at'],
    rows: () => rows,
    blocks: () => [
      {
        table: {
          columns: [
            { title: 'TICKER' },
            { title: 'BARS', align: 'right', spare: 2 },
            { title: 'FIRST' },
            { title: 'LAST' },
            { title: 'PRICES', spare: 3 },
            { title: 'FORMAT', spare: 4 },
            { title: 'SOURCE', spare: 5 },
          ],
          rows: rows.map(row => [row.ticker, whole(row.bars), row.first, row.last, row.prices, row.format, row.source]),
        },
      },
    ],
  }
}
