import { checkLookahead } from '../../local/check/lookahead.js'
import { integerValue } from '../../query/values.js'
import { integerOf, LARGEST_SEED } from '../../research/backtest/values.js'
import { lookaheadAnswer } from '../answers/check.js'
import { CHECK_OPTIONS, CHECKED, checkedOf } from '../checking.js'
import type { Command } from '../command.js'

export const command: Command = {
  arguments: CHECKED,
  options: [
    ...CHECK_OPTIONS,
    ['--cuts <N>', 'days at which the data are cut off; 5 unless given'],
    ['--seed <N>', 'other days for another number; 1 unless given'],
  ],
  examples: ['bands check lookahead AAPL', 'bands check lookahead --all --fields rsi_zone --cuts 20'],
  notes: [
    'Bars and facts are cut off at random days and everything is derived anew: bands, events and what followed must be those that the whole shows of these days. Exits with 5 where one is not.',
  ],
  async run(context, given) {
    const cuts = integerValue('cuts', given.text('cuts') ?? '5', 1, 10_000)
    const seed = integerOf('seed', given.text('seed') ?? '1', 0, LARGEST_SEED)
    const { cache, ...asked } = await checkedOf(context, given, 'lookahead')
    const found = await checkLookahead(cache, { ...asked, cuts, seed }, { step: text => context.step(text) })
    await context.show(lookaheadAnswer(found))
    if (!found.passed) context.outcome = 5
  },
}
