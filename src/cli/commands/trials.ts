import { choice } from '../../params/row.js'
import { integerValue, wordValue } from '../../params/values.js'
import { describeTrials } from '../../present/data.js'
import type { TrialKind } from '../../source.js'
import type { Command } from '../command.js'
import { described } from '../draw/described.js'
import { ledger } from '../research.js'

const KINDS = ['cell', 'strategy'] as const satisfies readonly TrialKind[]

export const command: Command = {
  options: [
    choice('--kind <WHAT>', `only ${KINDS.join(' or ')}`, KINDS),
    ['--limit <N>', 'how many of the newest; 20 unless given'],
  ],
  examples: ['bands trials', 'bands trials --kind strategy --json'],
  notes: [
    'A cell is a band of a field over a window (study, sweep), a strategy is what backtest trades. Every distinct one that was looked at is noted once, with the range of the data, in a file beside the database. So many looks are what a best result has to be deflated by (--family ledger). Nothing is noted of the bundled sample.',
  ],
  async run(context, given) {
    const kind = given.text('kind')
    const limit = integerValue('limit', given.text('limit') ?? '20', 1, 1_000_000)
    const kinds: readonly TrialKind[] = kind === undefined ? KINDS : [wordValue('kind', kind, KINDS)]
    const found = await ledger(context, kinds)
    await context.show(described(describeTrials(found, kinds, limit)))
  },
}
