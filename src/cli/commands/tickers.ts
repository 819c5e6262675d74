import { formatDay } from '../../model/day.js'

import { whole } from '../../present/numbers.js'
import type { PulledTicker } from '../../remote/beside.js'

import type { TickerEntry } from '../../store/store.js'
import type { Command } from '../command.js'
import type { Block } from '../draw/table.js'
import type { Answer } from '../output.js'
import { pulledBlocks, pulledRow } from '../source-notices.js'

export const command: Command = {
  examples: ['bands tickers', 'bands tickers --csv'],
  async run(context) {
    const { local, bands } = await context.here()
    const { store } = local
    const [securities, known] = [await store.securities(), new Set(await store.factTickers())]
    const rows = (await store.tickers()).map(entry => {
      const sector = securities.get(entry.ticker)?.sector ?? null
      return rowOf(entry, sector, known.has(entry.ticker))
    })
    await context.show(tickersAnswer(rows, await bands.pulled()))
  },
}

type TickerRow = ReturnType<typeof rowOf>

function rowOf(entry: TickerEntry, sector: string | null, facts: boolean) {
  return {
    ticker: entry.ticker,
    asset_class: entry.assetClass,
    sector,
    facts,
    prices: entry.prices,
    bars: entry.bars,
    first: formatDay(entry.first),
    last: formatDay(entry.last),
    source: entry.source,
    format: entry.format,
    imported_at: entry.importedAt,
  }
}

function tickersAnswer(rows: readonly TickerRow[], pulled: readonly PulledTicker[]): Answer {
  return {
    document: () => ({ schema: 'bands.tickers/1', tickers: rows, pulled }),
    columns: [
      ...['ticker', 'asset_class', 'sector', 'facts', 'prices', 'bars', 'first', 'last'],
      ...['source', 'format', 'imported_at'],
    ],
    rows: () => [...rows, ...pulled.map(pulledRow)],
    blocks: () => [...(rows.length > 0 || pulled.length === 0 ? [block(rows)] : []), ...pulledBlocks(pulled)],
  }
}

function block(rows: readonly TickerRow[]): Block {
  return {
    table: {
      columns: [
        { title: 'TICKER' },
        { title: 'BARS', align: 'right', spare: 2 },
        { title: 'FIRST' },
        { title: 'LAST' },
        { title: 'FACTS', spare: 1 },
        { title: 'PRICES', spare: 3 },
        { title: 'FORMAT', spare: 4 },
        { title: 'SOURCE', spare: 5 },
      ],
      rows: rows.map(row => [
        ...[row.ticker, whole(row.bars), row.first, row.last, row.facts ? 'yes' : '-'],
        ...[row.prices, row.format, row.source],
      ]),
    },
  }
}
