import { TIER_NAMES } from '../../model/tier.js'
import { tierValue } from '../../query/values.js'
import { ACCOUNT, withAccounts } from '../accounts.js'
import { accountAnswer } from '../answers/accounts.js'
import type { Command } from '../command.js'

export const command: Command = {
  arguments: [ACCOUNT, ['<TIER>', TIER_NAMES.join(', ')]],
  examples: ['bands accounts set-tier alice pro'],
  notes: ['A running server goes by it from the next request on; what was used today stays used.'],
  async run(context, given) {
    const tier = tierValue('tier', given.argument(1)!)
    const account = await withAccounts(context, accounts => accounts.setTier(given.argument(0)!, tier))
    await context.show(accountAnswer('bands.account/1', account, 'is now'))
  },
}
