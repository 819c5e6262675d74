import { IDENTITY, identityValue, withAccounts } from '../accounts.js'
import { revokedAnswer } from '../answers/keys.js'
import type { Command } from '../command.js'

export const command: Command = {
  arguments: [IDENTITY],
  examples: ['bands keys revoke 4fQz81Lk'],
  notes: [
    'A running server refuses it from the next request on. It stays in the list, and what it used in the ledger.',
  ],
  async run(context, given) {
    const identity = identityValue(given.argument(0)!)
    const now = context.world.now()
    const [entry, before] = await withAccounts(context, async accounts => {
      const before = await accounts.key(identity)
      await accounts.revoke(identity, now.toISOString())
      return [(await accounts.key(identity))!, before?.revoked != null] as const
    })
    await context.show(revokedAnswer(entry, now, before))
  },
}
