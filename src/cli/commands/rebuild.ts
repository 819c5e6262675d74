import { count } from '../../present/numbers.js'
import type { Command } from '../command.js'
import { oneRow } from '../output.js'

export const command: Command = {
  options: [['--wait', 'wait while another process is writing']],
  examples: ['bands rebuild', 'bands rebuild --wait'],
  notes: ['For a database that another version of the definitions has derived; the bars stay as they are.'],
  async run(context, given) {
    const importer = await context.importer({ wait: given.flag('wait') })
    const tickers = await importer.rebuild(({ done, of }) =>
      context.step(() => `deriving  ${done}/${of ?? '?'} tickers`),
    )
    const row = { schema: 'bands.rebuild/1', database: importer.store.location, tickers }
    await context.show(oneRow(row, { notes: [`derived ${count(tickers, 'ticker')} again from the bars`] }))
  },
}
