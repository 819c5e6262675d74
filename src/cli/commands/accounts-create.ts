import { nameValue } from '../../accounts/name.js'
import { InvalidParameter } from '../../errors.js'
import { TIER_NAMES } from '../../model/tier.js'
import { tierValue } from '../../query/values.js'
import { withAccounts } from '../accounts.js'
import { accountAnswer } from '../answers/accounts.js'
import type { Command } from '../command.js'

export const command: Command = {
  arguments: [['<NAME>', 'what it is called: 1 to 64 printable characters, not the name of another in other case']],
  options: [['--tier <TIER>', `what it may ask and how often: ${TIER_NAMES.join(', ')}`]],
  examples: ['bands accounts create alice --tier plus', 'bands accounts create bob --tier free --json'],
  notes: [
    'Accounts lie in a file beside the data, bands.accounts.db beside bands.db, that only its owner can read. Credits belong to the account, whatever the number of its keys.',
  ],
  async run(context, given) {
    const name = nameValue('name', given.argument(0)!)
    const tier = given.text('tier')
    if (tier === undefined) {
      throw new InvalidParameter(`--tier is missing: ${TIER_NAMES.join(', ')}.`, { param: 'tier', allowed: TIER_NAMES })
    }
    const chosen = tierValue('tier', tier)
    const at = context.world.now().toISOString()
    const account = await withAccounts(context, accounts => accounts.create(name, chosen, at), { make: true })
    await context.show(accountAnswer('bands.account/1', account, 'is made, tier'))
    await context.hint(`next: bands keys create --account ${shellWord(account.name)}`)
  },
}

/** As it can be pasted. */
function shellWord(text: string): string {
  return /^[\w.@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
