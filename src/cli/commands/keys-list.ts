import { withAccounts } from '../accounts.js'
import { keysAnswer } from '../answers/keys.js'
import type { Command } from '../command.js'

export const command: Command = {
  options: [['--account <NAME>', 'those of one account; all of them unless given']],
  examples: ['bands keys list', 'bands keys list --account alice --csv'],
  notes: ['LAST USED is to the minute. Times are in UTC.'],
  async run(context, given) {
    const account = given.text('account')
    const keys = await withAccounts(context, async accounts =>
      accounts.keys(account === undefined ? undefined : (await accounts.account(account)).id),
    )
    await context.show(keysAnswer(keys, context.world.now()))
    if (keys.length === 0 && !context.config.quiet)
      await context.notice('no key yet; bands keys create --account NAME makes one.')
  },
}
