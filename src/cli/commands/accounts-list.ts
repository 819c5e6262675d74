import { stateOf } from '../../accounts/state.js'
import { withAccounts } from '../accounts.js'
import { type AccountState, accountsAnswer } from '../answers/accounts.js'
import type { Command } from '../command.js'

export const command: Command = {
  examples: ['bands accounts list', 'bands accounts list --json'],
  async run(context) {
    const now = context.world.now().getTime()
    const states = await withAccounts(context, async accounts => {
      const keys = (await accounts.keys()).filter(key => stateOf(key, now) === 'active')
      const found: AccountState[] = []
      for (const account of await accounts.accounts()) {
        const own = keys.filter(key => key.account.id === account.id).length
        found.push({ account, used: await accounts.used(account.id, now), keys: own })
      }
      return found
    })
    await context.show(accountsAnswer(states))
    if (states.length === 0 && !context.config.quiet)
      await context.notice('no account yet; bands accounts create NAME --tier free makes one.')
  },
}
