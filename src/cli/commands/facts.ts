import { FACT_KINDS, type FactKind } from '../../model/facts.js'
import { choice } from '../../params/row.js'
import { integerValue, tickerValue, wordValue } from '../../params/values.js'
import { describeFacts } from '../../present/data.js'
import type { Command } from '../command.js'
import { described } from '../draw/described.js'
import { TICKER } from '../options.js'

export const command: Command = {
  arguments: [TICKER],
  options: [
    choice('--kind <KIND>', `the records of one kind: ${FACT_KINDS.join(', ')}`, FACT_KINDS),
    ['--limit <N>', 'with --kind: how many of the newest are shown in a table; 20 unless given'],
  ],
  examples: ['bands facts SIM0001', 'bands facts SIM0001 --kind reports', 'bands facts SIM0001 --kind ratings --csv'],
  notes: [
    'KNOWN is the day on which a fact became public, USABLE FROM the first date on whose bar it counts: the same day when it was known before the session, otherwise the next.',
  ],
  async run(context, given) {
    const ticker = tickerValue('ticker', given.argument(0)!)
    const kind = given.text('kind')
    const limit = integerValue('limit', given.text('limit') ?? '20', 1, 100_000)
    const chosen: FactKind | undefined = kind === undefined ? undefined : wordValue('kind', kind, FACT_KINDS)
    const { facts } = await import('../../local/facts.js')
    const cache = await context.local()
    const found = await facts(cache, chosen === undefined ? { ticker } : { ticker, kind: chosen })
    await context.show(described(describeFacts(found, chosen, limit)))
    if (found.records.length === 0 && !context.config.quiet) {
      const what = chosen === undefined ? 'facts' : chosen
      const by = found.as_of === null ? '' : ` by ${found.as_of}`
      await context.notice(`no ${what} of ${ticker} are known${by}; bands import-facts FILE loads facts.`)
    }
    if (chosen === undefined && found.records.length > 0)
      await context.hint(`next: bands facts ${ticker} --kind ${found.kinds[0]!.kind}`)
  },
}
