import { fieldNamed } from '../../fields/index.js'
import { type Tally, tally } from '../../study/tally.js'
import { TALLY_GROUPINGS } from '../../study/tally-groups.js'
import { allWithoutFacts, tellNothing } from '../answers/nothing.js'
import { tallyAnswer, tallyHints } from '../answers/tally.js'
import type { Command } from '../command.js'
import type { Context } from '../context.js'
import { FILTERS, POOLED } from '../options.js'
import { POOL_ARGUMENTS } from '../pool-query.js'
import { tallyQuery } from '../tally-query.js'
import { watched } from '../watched.js'

export const command: Command = {
  arguments: POOL_ARGUMENTS,
  options: [
    ...FILTERS,
    ...POOLED,
    ['--by <WHAT>', `split by ${TALLY_GROUPINGS.join(', ')}; by band unless --band is given`],
    ['--fail-empty', 'exit with 3 when no event matches'],
  ],
  examples: [
    'bands tally AAPL rsi_zone --band oversold',
    'bands tally AAPL rsi_zone --band oversold --by stability',
    'bands tally rsi_zone --all --band oversold --by ticker --csv',
    'bands tally AAPL macd_state --context GSPC:trend_direction --by context',
  ],
  async run(context, given) {
    const { query, context: other } = await tallyQuery(context, given)
    const bandsOf = (field: string | undefined): readonly string[] => fieldNamed(field ?? '')?.bands ?? []
    const found = await tally(watched(await context.bands(), context, 'tally'), query, {
      field: bandsOf(query.field),
      context: bandsOf(other),
    })
    await context.show(tallyAnswer(found))
    if (found.events > 0) return context.hint(...tallyHints(found))
    const [only, second] = found.tickers
    if (second === undefined) await tellNothing(context, { ...query, ticker: only! })
    else await tellNothingOfMany(context, found)
    if (given.flag('fail-empty')) context.outcome = 3
  },
}

async function tellNothingOfMany(context: Context, { tickers, field, band, query_range, as_of }: Tally): Promise<void> {
  if (context.config.quiet) return
  const what = band === null ? `changed its ${field}` : `became ${band}`
  const range = `in ${query_range}${as_of === null ? '' : ` to ${as_of}`}, as it was asked for`
  const lack = await allWithoutFacts(context, tickers, field)
  await context.notice(`No event: ${lack ?? `none of ${tickers.length} tickers ${what} ${range}`}.`)
}
