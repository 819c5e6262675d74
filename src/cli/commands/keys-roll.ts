import { makeKey } from '../../accounts/key.js'
import { EXPIRES, IDENTITY, identityValue, withAccounts } from '../accounts.js'
import { duration, minute, newKeyAnswer } from '../answers/keys.js'
import type { Command } from '../command.js'
import { expiryValue, graceValue } from '../expiry.js'

export const command: Command = {
  arguments: [IDENTITY],
  options: [
    ['--grace <TIME>', 'how long the old key still counts: 0 to 7d, such as 12h; 1d unless given'],
    [EXPIRES[0], 'when the new key ends, as in keys create; when the old one would have, unless given'],
  ],
  examples: ['bands keys roll 4fQz81Lk', 'bands keys roll 4fQz81Lk --grace 0 --json | jq -r .key'],
  notes: ['The new key takes over account and name. A key that others have seen: --grace 0.'],
  async run(context, given) {
    const identity = identityValue(given.argument(0)!)
    const grace = graceValue(given.text('grace') ?? '1d')
    const now = context.world.now()
    const until = given.text('expires')
    const wanted = until === undefined ? null : expiryValue(until, now).toISOString()
    const made = makeKey()
    const [entry, old] = await withAccounts(context, async accounts => {
      const before = await accounts.key(identity)
      const { name = '', expires = null } = before ?? {}
      const next = { identity: made.identity, hash: made.hash, name, created: now.toISOString() }
      const end = new Date(now.getTime() + grace).toISOString()
      await accounts.roll(identity, { ...next, expires: wanted ?? expires }, end)
      return [(await accounts.key(made.identity))!, (await accounts.key(identity))!] as const
    })
    await context.show(newKeyAnswer(made.key, entry, old, now))
    if (context.config.quiet) return
    const left = Date.parse(old.expires!) - now.getTime()
    const end = left <= 0 ? 'counts no more' : `counts until ${minute(old.expires)} UTC, ${duration(left)} from now`
    await context.notice(`This key is shown once and kept nowhere: keep it yourself. The old one, ${identity}, ${end}.`)
  },
}
