import { loadedTickers } from '../../local/status.js'
import { describeTickers } from '../../present/data.js'
import type { Command } from '../command.js'
import { described } from '../draw/described.js'

export const command: Command = {
  examples: ['bands tickers', 'bands tickers --csv'],
  async run(context) {
    const { local, bands } = await context.here()
    await context.show(described(describeTickers(await loadedTickers(local), await bands.pulled())))
  },
}
