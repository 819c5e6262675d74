import {
  type Account,
  DAY_MS,
  type DayUsage,
  nameValue,
  type Reconciliation,
  stateOf,
  type Used,
} from '../../accounts/accounts.js'
import { InvalidParameter } from '../../errors.js'
import { TIER_NAMES } from '../../model/terms.js'
import { integerValue, tierValue } from '../../params/values.js'
import { count, whole } from '../../present/numbers.js'
import { PLANS } from '../../tiers.js'
import { ACCOUNT, withAccounts } from '../accounts-file.js'
import type { Command } from '../command.js'
import type { Context } from '../context.js'
import type { Row } from '../draw/table.js'
import type { Answer } from '../output.js'

export const accountsCreateCommand: Command = {
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
    await context.show(accountAnswer(account, 'is made, tier'))
    await context.hint(`next: bands keys create --account ${shellWord(account.name)}`)
  },
}

/** As it can be pasted. */
function shellWord(text: string): string {
  return /^[\w.@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

export const accountsListCommand: Command = {
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

export const accountsSetTierCommand: Command = {
  arguments: [ACCOUNT, ['<TIER>', TIER_NAMES.join(', ')]],
  examples: ['bands accounts set-tier alice pro'],
  notes: ['A running server goes by it from the next request on; what was used today stays used.'],
  async run(context, given) {
    const tier = tierValue('tier', given.argument(1)!)
    const account = await withAccounts(context, accounts => accounts.setTier(given.argument(0)!, tier))
    await context.show(accountAnswer(account, 'is now'))
  },
}

export const accountsUsageCommand: Command = {
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

/** An account as every command shows it. */
function accountRow({ name, tier, created }: Account) {
  const { day, hour } = PLANS[tier].credits
  return { name, tier, created, day_limit: day, hour_limit: hour }
}

const ACCOUNT_COLUMNS = ['name', 'tier', 'created', 'day_limit', 'hour_limit']

/** One account, after something was done to it. */
function accountAnswer(account: Account, done: string): Answer {
  const row = accountRow(account)
  const { name, tier, day_limit, hour_limit } = row
  const limits = `${whole(day_limit)} credits a day, ${whole(hour_limit)} an hour`
  return {
    document: () => ({ schema: 'bands.account/1', ...row }),
    columns: ACCOUNT_COLUMNS,
    rows: () => [row],
    blocks: () => [{ notes: [`${name} ${done} ${tier}: ${limits}`] }],
  }
}

interface AccountState {
  account: Account
  used: Used
  /** Keys that count. */
  keys: number
}

function accountsAnswer(states: readonly AccountState[]): Answer {
  const rows = states.map(({ account, used, keys }) => ({
    ...accountRow(account),
    keys,
    day_used: used.day,
    hour_used: used.hour,
  }))
  return {
    document: () => ({ schema: 'bands.accounts/1', accounts: rows }),
    columns: [...ACCOUNT_COLUMNS, 'keys', 'day_used', 'hour_used'],
    rows: () => rows,
    blocks: () => [
      {
        table: {
          columns: [
            { title: 'NAME' },
            { title: 'TIER' },
            { title: 'KEYS', align: 'right' },
            { title: 'TODAY', align: 'right' },
            { title: 'OF', align: 'right' },
            { title: 'THIS HOUR', align: 'right', spare: 1 },
            { title: 'OF', align: 'right', spare: 1 },
            { title: 'CREATED', spare: 2 },
          ],
          rows: rows.map(row => [
            ...[row.name, row.tier, whole(row.keys)],
            ...[row.day_used, row.day_limit, row.hour_used, row.hour_limit].map(whole),
            row.created.slice(0, 10),
          ]),
        },
      },
    ],
  }
}

interface AccountUsage {
  account: Account
  days: readonly DayUsage[]
}

/** @param from the first day that was asked for, YYYY-MM-DD */
function usageAnswer(used: readonly AccountUsage[], from: string, to: string): Answer {
  const rows = used.flatMap(({ account, days }): Row[] => days.map(day => ({ account: account.name, ...day })))
  const accounts = used.map(({ account, days }) => ({ account: account.name, tier: account.tier, ...sums(days), days }))
  const total = sums(used.flatMap(({ days }) => days))
  return {
    document: () => ({ schema: 'bands.usage/1', from, to, ...total, accounts }),
    columns: ['account', 'date', 'credits', 'requests'],
    rows: () => rows,
    blocks: () => [
      {
        table: {
          columns: [
            { title: 'ACCOUNT' },
            { title: 'DATE' },
            { title: 'CREDITS', align: 'right' },
            { title: 'REQUESTS', align: 'right' },
          ],
          rows: used.flatMap(({ account, days }) =>
            days.map(day => [account.name, day.date, whole(day.credits), whole(day.requests)]),
          ),
        },
        notes: [`${count(total.credits, 'credit')} in ${count(total.requests, 'request')}, ${from} to ${to}`],
      },
    ],
  }
}

function sums(days: readonly DayUsage[]): { credits: number; requests: number } {
  return {
    credits: days.reduce((sum, day) => sum + day.credits, 0),
    requests: days.reduce((sum, day) => sum + day.requests, 0),
  }
}

/** @param account its name; null: of all */
function reconciliationAnswer(found: Reconciliation, account: string | null): Answer {
  const { rows, requests, credits, discrepancies } = found
  const counted = `${count(rows, 'row')} of the ledger, ${count(requests, 'request')}, ${count(credits, 'credit')}`
  const verdict = discrepancies.length === 0 ? 'the counters say the same' : count(discrepancies.length, 'discrepancy')
  return {
    document: () => ({ schema: 'bands.reconciliation/1', account, rows, requests, credits, discrepancies }),
    columns: ['account', 'period', 'start', 'of', 'counter', 'ledger'],
    rows: () => discrepancies.map(discrepancy => ({ ...discrepancy })),
    blocks: () => [
      {
        table: {
          columns: [
            { title: 'ACCOUNT' },
            { title: 'PERIOD' },
            { title: 'START' },
            { title: 'OF' },
            { title: 'COUNTER', align: 'right' },
            { title: 'LEDGER', align: 'right' },
          ],
          rows: discrepancies.map(({ account, period, start, of, counter, ledger }) => [
            ...[account, period, start, of],
            ...[counter, ledger].map(whole),
          ]),
        },
        notes: [`${counted}: ${verdict}`],
      },
    ],
  }
}
