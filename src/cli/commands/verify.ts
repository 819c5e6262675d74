import { verify } from '../../local/verify.js'
import type { Command } from '../command.js'
import { count } from '../render/amounts.js'

export const command: Command = {
  options: [['--deep', 'derive every event again from the bars, and compare']],
  examples: ['bands verify', 'bands verify --deep --json'],
  notes: ['Exits with 5 when something is not as it was written.'],
  async run(context, given) {
    const { cache } = await context.local()
    const deep = given.flag('deep')
    const damages = await verify(cache.store, { deep })
    const tickers = (await cache.store.tickers()).length
    const rows = damages.map(({ ticker, what }) => ({ ticker, what }))
    const checked = `${count(tickers, 'ticker')} checked${deep ? ', every event derived again' : ''}`
    await context.show({
      document: () => ({ schema: 'bands.verify/1', database: context.opened!.path, tickers, deep, damages: rows }),
      columns: ['ticker', 'what'],
      rows: () => rows,
      blocks: () => [
        {
          table: { columns: [{ title: 'TICKER' }, { title: 'DAMAGE' }], rows: rows.map(row => [row.ticker, row.what]) },
          notes: [`${checked}: ${rows.length === 0 ? 'all as it was written' : count(rows.length, 'damage')}`],
        },
      ],
    })
    if (rows.length > 0) context.outcome = 5
  },
}
