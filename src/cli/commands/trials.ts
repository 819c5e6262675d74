import { integerOf, oneOf } from '../../params/kinds.js'
import { open, given as optional, optionsOf } from '../../params/row.js'
import { describeTrials } from '../../present/data.js'
import type { TrialKind } from '../../source.js'
import type { Command } from '../command.js'
import { described } from '../draw/described.js'
import { ledger } from '../research.js'

const KINDS = ['cell', 'strategy'] as const satisfies readonly TrialKind[]

const TRIALS = {
  kind: open(oneOf(KINDS, 'WHAT'), `only ${KINDS.join(' or ')}`),
  limit: optional(integerOf(1, 1_000_000), 20, 'how many of the newest'),
}

export const command: Command = {
  options: optionsOf(TRIALS),
  examples: ['bands trials', 'bands trials --kind strategy --json'],
  notes: [
    'A cell is a band of a field over a window (study, sweep), a strategy is what backtest trades. Every distinct one that was looked at is noted once, with the range of the data, in a file beside the database. So many looks are what a best result has to be deflated by (--family ledger). Nothing is noted of the bundled sample.',
  ],
  async run(context, given) {
    const { kind, limit } = given.read(TRIALS)
    const kinds = kind === undefined ? KINDS : [kind]
    const found = await ledger(context, kinds)
    await context.show(described(describeTrials(found, kinds, limit)))
  },
}
