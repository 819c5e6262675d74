import type { TrialKind } from '../../model/trials.js'
import { integerValue, wordValue } from '../../query/values.js'
import { trialsAnswer } from '../answers/trials.js'
import type { Command } from '../command.js'
import { ledger } from '../market.js'

const KINDS = ['cell', 'strategy'] as const satisfies readonly TrialKind[]

export const command: Command = {
  options: [
    ['--kind <WHAT>', `only ${KINDS.join(' or ')}`],
    ['--limit <N>', 'how many of the newest; 20 unless given'],
  ],
  examples: ['bands trials', 'bands trials --kind strategy --json'],
  notes: [
    'study, backtest and sweep note every distinct cell and strategy that they look at, with the range of the data, beside the database. So many looks are what a best result has to be deflated by (--family ledger). Nothing is noted of the bundled sample.',
  ],
  async run(context, given) {
    const kind = given.text('kind')
    const limit = integerValue('limit', given.text('limit') ?? '20', 1, 1_000_000)
    const kinds = kind === undefined ? KINDS : [wordValue('kind', kind, KINDS)]
    const found = await ledger(context, kinds)
    await context.show(trialsAnswer(found, limit))
  },
}
