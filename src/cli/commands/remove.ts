import { didYouMean, NotFound, suggest } from '../../errors.js'
import { tickerValue } from '../../params/values.js'
import type { Command } from '../command.js'
import { TICKER } from '../options.js'
import { oneRow } from '../output.js'

export const command: Command = {
  arguments: [TICKER],
  options: [['--wait', 'wait while another process is writing']],
  examples: ['bands remove SIM0001'],
  notes: ['Its bars, events and facts go, and what was pulled of it; the files they came from are not touched.'],
  async run(context, given) {
    const ticker = tickerValue('ticker', given.argument(0)!)
    const importer = await context.importer({ wait: given.flag('wait') })
    if (!(await importer.remove(ticker))) {
      const suggestions = suggest(ticker, await importer.tickers())
      const lack = `nothing is loaded for "${ticker}".`
      throw new NotFound(lack + didYouMean(suggestions), suggestions, { missing: { kind: 'ticker', name: ticker } })
    }
    const row = { schema: 'bands.remove/1', ticker, removed: true }
    await context.show(oneRow(row, { notes: [`${ticker} is removed`] }))
  },
}
