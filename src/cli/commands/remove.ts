import { NotFound } from '../../errors.js'
import { tickerValue } from '../../query/values.js'
import { didYouMean, suggest } from '../../suggest.js'
import type { Command } from '../command.js'
import { TICKER } from '../options.js'

export const command: Command = {
  arguments: [TICKER],
  options: [['--wait', 'wait while another process is writing']],
  examples: ['bands remove SIM0001'],
  notes: ['Its bars, events and facts go; the files they came from are not touched.'],
  async run(context, given) {
    const ticker = tickerValue('ticker', given.argument(0)!)
    const importer = await context.importer({ wait: given.flag('wait') })
    if (!(await importer.remove(ticker))) {
      const suggestions = suggest(
        ticker,
        (await importer.store.tickers()).map(entry => entry.ticker),
      )
      throw new NotFound(`no bars and no facts for "${ticker}".${didYouMean(suggestions)}`, suggestions)
    }
    const row = { ticker, removed: true }
    await context.show({
      document: () => ({ schema: 'bands.remove/1', ...row }),
      columns: ['ticker', 'removed'],
      rows: () => [row],
      blocks: () => [{ notes: [`${ticker} is removed`] }],
    })
  },
}
