import { checkRecursion, DROPPED } from '../../local/check/recursion.js'
import { integerValue } from '../../query/values.js'
import { recursionAnswer } from '../answers/recursion.js'
import { CHECK_OPTIONS, CHECKED, checkedOf } from '../checking.js'
import type { Command } from '../command.js'

export const command: Command = {
  arguments: CHECKED,
  options: [
    ...CHECK_OPTIONS,
    ['--drop <BARS>', `leave out so many of the first bars; ${DROPPED.join(',')} unless given`, 'repeatable'],
  ],
  examples: ['bands check recursion AAPL', 'bands check recursion --all --fields rsi_zone,macd_state --drop 50,200'],
  notes: [
    'How many bars a history needs before its bands can be trusted: recursive indicators forget their begin slowly. The bars of each ticker are made to begin later, and the bands compared with those of the whole.',
  ],
  async run(context, given) {
    const drops = given.list('drop').map(text => integerValue('drop', text, 1, 1_000_000))
    const { cache, ...asked } = await checkedOf(context, given, 'recursion')
    const dropped = drops.length > 0 ? drops : DROPPED
    const found = await checkRecursion(cache, { ...asked, dropped }, { step: text => context.step(text) })
    await context.show(recursionAnswer(found))
  },
}
