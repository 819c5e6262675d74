import { DAY_MS } from '../../accounts/periods.js'
import { InvalidParameter } from '../../errors.js'
import { integerValue } from '../../query/values.js'
import { withAccounts } from '../accounts.js'
import { reconciliationAnswer, usageAnswer } from '../answers/accounts.js'
import type { Command } from '../command.js'
import type { Context } from '../context.js'

export const command: Command = {
  arguments: [['[NAME]', 'one account; all of them unless given']],
  options: [
    ['--days <N>', 'the last days in UTC, today among them; 30 unless given'],
    ['--reconcile', 'add the whole ledger up and hold it against the counters'],
  ],
  examples: ['bands accounts usage', 'bands accounts usage alice --days 7 --csv', 'bands accounts usage --reconcile'],
  notes: ['--reconcile exits with 5 when a counter is not the sum of its ledger rows.'],
  async run(context, given) {
    const name = given.argument(0)
    const days = given.text('days')
    if (!given.flag('reconcile')) return showUsage(context, name, integerValue('days', days ?? '30', 1, 3_650))
    if (days !== undefined)
      throw new InvalidParameter('--days does not go with --reconcile: all of the ledger is added up.', {
        param: 'days',
        value: days,
      })
    await reconcile(context, name)
  },
}

async function showUsage(context: Context, name: string | undefined, days: number): Promise<void> {
  const now = context.world.now().getTime()
  const from = now - (days - 1) * DAY_MS
  const used = await withAccounts(context, async accounts => {
    const chosen = name === undefined ? await accounts.accounts() : [await accounts.account(name)]
    return Promise.all(chosen.map(async account => ({ account, days: await accounts.usage(account.id, from) })))
  })
  await context.show(usageAnswer(used, dateOf(from), dateOf(now)))
}

async function reconcile(context: Context, name: string | undefined): Promise<void> {
  const [found, account] = await withAccounts(context, async accounts => {
    const account = name === undefined ? null : await accounts.account(name)
    return [await accounts.reconcile(account?.id), account?.name ?? null] as const
  })
  await context.show(reconciliationAnswer(found, account))
  if (found.discrepancies.length > 0) context.outcome = 5
}

const dateOf = (at: number): string => new Date(at).toISOString().slice(0, 10)
