import { InvalidParameter, quoted } from '../../errors.js'
import { FILTERS } from '../../params/parameters.js'
import { parseTransitions } from '../../params/parse.js'
import { optionsOf } from '../../params/row.js'
import { WHEN } from '../../params/when.js'
import { describeTransitions } from '../../present/transitions.js'
import { transitionsOf } from '../../tally/transitions.js'
import type { Command } from '../command.js'
import { described } from '../draw/described.js'
import type { Given } from '../given.js'
import { noticeNoEvent, noticeNoEventOfAny } from '../notices.js'
import { POOLED } from '../options.js'
import { POOL_ARGUMENTS, pooledQuery } from '../questions.js'

export const command: Command = {
  arguments: POOL_ARGUMENTS,
  options: [
    ...optionsOf(FILTERS, ['timeframe', 'before', 'after']),
    ...optionsOf(WHEN),
    [
      '--context <T:F>',
      'compare by the band that a second ticker was in: GSPC:trend_direction; short for the two below',
    ],
    ...optionsOf(FILTERS, ['context_ticker', 'context_field']),
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
    const query = await pooledQuery(context, given, 'transitions', parseTransitions)
    const found = await transitionsOf(await context.bands(), query, { step: text => context.step(text) })
    await context.show(described(describeTransitions(found)))
    const [only, second] = found.tickers
    if (found.events > 0) return
    if (second === undefined) await noticeNoEvent(context, await context.bands(), { ...query, ticker: only! })
    else await noticeNoEventOfAny(context, await context.bands(), query, found)
  },
}

/** Said here in its own words, because a search may name a band of the context, too. */
function checkContext(given: Given): void {
  const short = given.text('context')
  if (short !== undefined && /:.*=/.test(short))
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
