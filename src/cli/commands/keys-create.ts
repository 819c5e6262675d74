import type { Accounts } from '../../accounts/accounts.js'
import { makeKey } from '../../accounts/key.js'
import { nameValue } from '../../accounts/name.js'
import { InvalidParameter } from '../../errors.js'
import { EXPIRES, withAccounts } from '../accounts.js'
import { newKeyAnswer } from '../answers/keys.js'
import type { Command } from '../command.js'
import { expiryValue } from '../expiry.js'

export const command: Command = {
  options: [
    ['--account <NAME>', 'whose key it is (bands accounts list)'],
    ['--name <TEXT>', 'what its owner calls it; key-1, key-2 and so on unless given'],
    EXPIRES,
  ],
  examples: [
    'bands keys create --account alice',
    'bands keys create --account alice --name laptop --expires 90 --json | jq -r .key',
  ],
  notes: [
    'The key is written to standard output, this once: only its SHA-256 is kept. Put it where others cannot read it; bands takes it from BANDS_API_KEY, a file or standard input, never from the command line.',
  ],
  async run(context, given) {
    const accountName = given.text('account')
    if (accountName === undefined)
      throw new InvalidParameter('--account is missing: say whose key it is to be (bands accounts list).', {
        param: 'account',
      })
    const named = given.text('name')
    const name = named === undefined ? undefined : nameValue('name', named)
    const now = context.world.now()
    const until = given.text('expires')
    const expires = until === undefined ? null : expiryValue(until, now).toISOString()
    const { key, identity, hash } = makeKey()
    const entry = await withAccounts(context, async accounts => {
      const { id } = await accounts.account(accountName)
      const own = name ?? (await freeName(accounts, id))
      await accounts.addKey(id, { identity, hash, name: own, created: now.toISOString(), expires })
      return (await accounts.key(identity))!
    })
    await context.show(newKeyAnswer(key, entry, null, now))
    if (!context.config.quiet) await context.notice('This key is shown once and kept nowhere: keep it yourself.')
  },
}

/** `key-1`, or the first after it that the account has never had. */
async function freeName(accounts: Accounts, account: number): Promise<string> {
  const taken = new Set((await accounts.keys(account)).map(key => key.name))
  for (let i = 1; ; i++) if (!taken.has(`key-${i}`)) return `key-${i}`
}
