import { InvalidParameter, quoted } from '../../errors.js'
import { fieldNamed } from '../../fields/index.js'
import { transitionsOf } from '../../study/transitions.js'
import { tellNothing } from '../answers/nothing.js'
import { transitionsAnswer } from '../answers/transitions.js'
import type { Command } from '../command.js'
import type { Given } from '../given.js'
import { POOLED, TIMEFRAME } from '../options.js'
import { POOL_ARGUMENTS, pooledQuery } from '../pool-query.js'
import { watched } from '../watched.js'

export const command: Command = {
  arguments: POOL_ARGUMENTS,
  options: [
    TIMEFRAME,
    ['--before <DATE>', 'only transitions before this day'],
    ['--after <DATE>', 'only transitions after this day'],
    ['--context <T:F>', 'compare by the band that a second ticker was in: GSPC:trend_direction'],
    ['--context-ticker <TICKER>', 'the same in two: the second ticker'],
    ['--context-field <FIELD>', 'the field that is looked at there'],
    ...POOLED,
  ],
  examples: [
    'bands transitions AAPL rsi_zone',
    'bands transitions AAPL,GSPC macd_state --timeframe weekly --json',
    'bands transitions AAPL rsi_zone --context GSPC:trend_direction',
    'bands transitions rsi_zone --all --csv',
  ],
  async run(context, given) {
    checkContext(given)
    const query = await pooledQuery(context, given, 'transitions')
    const bandsOf = (field: string | undefined): readonly string[] => fieldNamed(field ?? '')?.bands ?? []
    const found = await transitionsOf(watched(await context.bands(), context, 'transitions'), query, {
      field: bandsOf(query.field),
      context: bandsOf(query.context?.field),
    })
    await context.show(transitionsAnswer(found))
    const [only, second] = found.tickers
    if (found.events === 0 && second === undefined) await tellNothing(context, { ...query, ticker: only! })
  },
}

/** Said here in its own words, because a search may name a band of the context, too. */
function checkContext(given: Given): void {
  const short = given.text('context')
  if (short?.includes('='))
    throw new InvalidParameter(
      `context ${quoted(short)} names a band, and all of them are compared: write T:F alone.`,
      {
        param: 'context',
        value: short,
      },
    )
  const names = ['context-ticker', 'context-field'] as const
  const [missing, other] = names.filter(name => given.text(name) === undefined)
  if (missing === undefined || other !== undefined) return
  const there = names.find(name => name !== missing)!
  throw new InvalidParameter(`--${missing} is missing beside --${there}.`, { param: missing.replace('-', '_') })
}
