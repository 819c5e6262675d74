import { typedLineWith, wrong } from '../../../core/errors.js'
import { dayAt, formatDay } from '../../../core/model/day.js'
import { TIER_NAMES } from '../../../core/model/terms.js'
import { count, numberText } from '../../../core/numbers.js'
import { ACCOUNTS_AT, FILE, integerOf } from '../../../core/params/kinds.js'
import { optional, optionsOf, withDefault } from '../../../core/params/row.js'
import { tierValue } from '../../../core/params/values.js'
import { PLANS } from '../../../core/tiers.js'
import {
  type Account,
  type Accounts,
  DAY_MS,
  type DayUsage,
  keyState,
  parseName,
  RETENTION_DAYS,
} from '../../../server/accounts/accounts.js'
import type { AccountsCopy } from '../../../server/accounts/copy.js'
import { accountsLayoutOf, accountsUpdatePlan, accountsUrl, grantAccountsTo } from '../../open/accounts.js'
import { type Column, column, describeList } from '../../present/description.js'
import type { Args, Command } from '../command.js'
import { quotedLine, withTypedFiles } from '../command-line.js'
import type { Context } from '../context.js'
import { oneRowAnswer } from '../output.js'

const ACCOUNT_ARGUMENT = ['<NAME>', 'the account (bands accounts list); case does not matter'] as const

export const ACCOUNTS = {
  accounts: optional(
    ACCOUNTS_AT,
    'the accounts of the server: a file, or the URL of a PostgreSQL database (default a file next to the database; BANDS_ACCOUNTS)',
  ),
}

export const ACCOUNTS_FILE = {
  accounts: optional(FILE, 'the accounts of the server (default next to the database; BANDS_ACCOUNTS)'),
}

/** Whether the accounts are in PostgreSQL, which a command for files skips. A typed --accounts names a file. */
export function hasAccountsElsewhere({ world }: Context, args: Args): boolean {
  return args.read(ACCOUNTS_FILE).accounts === undefined && accountsUrl({ env: world.env }) !== null
}

export function withAccountsOption(commands: Readonly<Record<string, Command>>): Record<string, Command> {
  const entries = Object.entries(commands).map(([name, command]) => {
    const options = [...(command.options ?? []), ...optionsOf(ACCOUNTS)]
    return [name, { ...command, options }] as const
  })
  return Object.fromEntries(entries)
}

/** Throws InvalidParameter for global options without a meaning here. @param make allows --tier, for the new account */
function refuseGlobalOptions(context: Context, { make = false } = {}): void {
  context.refuseRemote()
  // A user who types a tier here may believe that the key decides it.
  if (make || context.config.from.tier !== '--tier') return
  throw wrong('tier', '--tier does not apply here: a tier belongs to an account (bands accounts set-tier).')
}

/**
 * Opens the chosen accounts.
 * @param make makes the database of accounts if it is missing
 * @param suggestedAccount the account in the line that the error about a missing database suggests
 */
export async function accountsFor(
  context: Context,
  args: Args,
  { make = false, suggestedAccount }: { make?: boolean; suggestedAccount?: string } = {},
): Promise<Accounts> {
  refuseGlobalOptions(context, { make })
  const { openAccounts } = await import('../../open/accounts.js')
  const choice = {
    ...context.databaseChoice,
    ...args.read(ACCOUNTS),
    make,
    ...(suggestedAccount && { suggestedAccount }),
  }

  return context.closeAtEnd(await openAccounts(choice))
}

const create: Command = {
  arguments: [['<NAME>', 'what it is called: 1 to 64 printable characters, not the name of another in other case']],
  options: [
    ['--tier <TIER>', `what it may ask and how often: ${TIER_NAMES.join(', ')}`, 'once', undefined, TIER_NAMES],
  ],
  examples: ['bands accounts create alice --tier plus', 'bands accounts create bob --tier free --json'],
  notes: [
    'Accounts are in a file that only its owner can read: bands.accounts.db next to bands.db. --accounts names another file, or a PostgreSQL database (postgres://user@host/database). Credits belong to the account, not to a key.',
  ],
  async run(context, args) {
    const name = parseName('name', args.argument(0)!)
    const tier = args.text('tier')
    const example = typedLineWith('accounts create', [], { tier: TIER_NAMES[0]! })
    if (tier === undefined)
      throw wrong('tier', `--tier is missing: ${TIER_NAMES.join(', ')}.`, { allowed: TIER_NAMES }, { remedy: example })
    const chosen = tierValue('tier', tier)
    const accounts = await accountsFor(context, args, { make: true })
    const account = await accounts.create(name, chosen, context.world.now().toISOString())
    await showAccount(context, account, 'is made, tier')
    await context.hint(`next: ${quotedLine(withTypedFiles(['keys', 'create', account.name], context.argv))}`)
  },
}

const list: Command = {
  examples: ['bands accounts list', 'bands accounts list --json'],
  /** Shows each account with its active keys, and its used and allowed credits. */
  async run(context, args) {
    const now = context.world.now().getTime()
    const accounts = await accountsFor(context, args)
    const keys = (await accounts.keys()).filter(key => keyState(key, now) === 'active')
    const rows = await Promise.all(
      (await accounts.accounts()).map(async account => {
        const { day, hour } = await accounts.usedCredits(account.id, now)
        const keyCount = keys.filter(key => key.account.id === account.id).length
        return { ...accountRow(account), keys: keyCount, day_used: day, hour_used: hour }
      }),
    )
    const tableColumns: Column<(typeof rows)[number]>[] = [
      column('name'),
      column('tier'),
      column('keys', 'count'),
      column('day_used', 'count', { title: 'today' }),
      column('day_limit', 'count', { title: 'of' }),
      column('hour_used', 'count', { title: 'this hour', hidePriority: 1 }),
      column('hour_limit', 'count', { title: 'of', hidePriority: 1 }),
      { title: 'created', kind: 'date', hidePriority: 2, value: row => row.created.slice(0, 10) },
    ]
    const columns = ['name', 'tier', 'created', 'day_limit', 'hour_limit', 'keys', 'day_used', 'hour_used']
    await context.show(describeList({ schema: 'bands.accounts/1', accounts: rows }, rows, tableColumns, { columns }))
    if (rows.length === 0) await context.remark('no account yet; bands accounts create NAME --tier free makes one.')
  },
}

const setTier: Command = {
  arguments: [ACCOUNT_ARGUMENT, ['<TIER>', TIER_NAMES.join(', ')]],
  examples: ['bands accounts set-tier alice pro'],
  notes: ['A running server uses it from the next request on; credits used today stay used.'],
  async run(context, args) {
    const tier = tierValue('tier', args.argument(1)!)
    const accounts = await accountsFor(context, args)
    await showAccount(context, await accounts.setTier(args.argument(0)!, tier), 'is now')
  },
}

const DAYS = {
  days: withDefault(integerOf(1, RETENTION_DAYS), 30, 'the last days in UTC, today among them', { part: 'limit' }),
}

const usage: Command = {
  arguments: [['[NAME]', 'one account (default all)']],
  options: [...optionsOf(DAYS), ['--reconcile', 'sum the whole ledger and compare it with the counters']],
  examples: ['bands accounts usage', 'bands accounts usage alice --limit 7 --csv', 'bands accounts usage --reconcile'],
  notes: ['--reconcile exits with 5 when a counter is not the sum of its ledger rows.'],
  async run(context, args) {
    if (!args.flag('reconcile')) return showUsage(context, args)
    const value = args.text('days')
    if (value !== undefined)
      throw wrong('limit', '--limit does not go with --reconcile: all of the ledger is added up.', { value })
    await reconcile(context, args)
  },
}

const copy: Command = {
  arguments: [
    [
      '<TO>',
      'a file, or the URL of a PostgreSQL database; made if it is missing, otherwise without accounts',
      ['FILE'],
    ],
  ],
  options: [['--replace', 'replace the accounts that are there']],
  examples: [
    'bands accounts copy postgres://db.example/bands --accounts bands.accounts.db',
    'bands accounts copy bands.accounts.db --accounts postgres://db.example/bands',
  ],
  notes: [
    'Copies accounts, keys, the secret of the tags, the ledger, its days, the counters, and the names of free repeats, in one transaction. Every row is read back and compared; if one differs, nothing is kept. Then the ledger is compared with the counters; exits with 5 if they differ.',
    'What a server charges to the source meanwhile, or afterwards, is not in the copy: stop it before, and start it on the copy.',
  ],
  /** Copies the accounts into another file or PostgreSQL database, and shows the counted rows. */
  async run(context, args) {
    context.refuseRemote()
    const to = ACCOUNTS_AT.parse('to', args.argument(0))
    const [{ openAccounts }, { copyAccounts }] = await Promise.all([
      import('../../open/accounts.js'),
      import('../../../server/accounts/copy.js'),
    ])
    const source = await accountsFor(context, args)
    const target = context.closeAtEnd(await openAccounts({ ...context.databaseChoice, accounts: to, make: true }))
    await showCopy(context, await copyAccounts(source, target, { replace: args.flag('replace') }))
  },
}

const LAYOUT = { partitions: optional(integerOf(1, 1024), 'make the tables, cut into N partitions') }

const layout: Command = {
  options: [...optionsOf(LAYOUT), ['--dry-run', 'show the steps of an update of the tables, without taking them']],
  examples: [
    'bands accounts layout --partitions 8 --accounts postgres://db.example/bands',
    'bands accounts layout --dry-run --accounts postgres://db.example/bands',
  ],
  notes: [
    'In PostgreSQL the tables that grow with every answer may be cut by the account into hash partitions. That is chosen when they are made; bands accounts copy moves accounts into another layout.',
    'A newer bands updates the tables when their owner first opens them. Steps that expand the tables add to them, and servers of the release before continue to charge. Steps that contract them remove what only older servers use.',
  ],
  /** Makes the tables in PostgreSQL, or shows their partitions. With --dry-run it shows the steps of an update. */
  async run(context, args) {
    context.refuseRemote()
    const { partitions: newPartitions } = args.read(LAYOUT)
    const makesTables = newPartitions !== undefined
    const choice = { ...context.databaseChoice, ...args.read(ACCOUNTS) }
    if (args.flag('dry-run')) {
      if (makesTables) throw wrong('dry_run', '--dry-run does not go with --partitions: it makes no tables.')
      return showPlan(context, await accountsUpdatePlan(choice))
    }
    // Accounts in a file are never cut into partitions.
    const isInFile = !makesTables && accountsUrl(choice) === null
    const inFile = async () => ({ accounts: (await accountsFor(context, args)).location, partitions: 1 })
    const { accounts, partitions } = await (isInFile ? inFile() : accountsLayoutOf(choice, newPartitions))
    const tables = partitions === 1 ? 'whole tables' : count(partitions, 'partition')
    const notes = [`${accounts}: ${tables}${makesTables ? ', made now and empty' : ''}`]
    await context.show(oneRowAnswer({ schema: 'bands.accounts-layout/1', accounts, partitions }, notes))
  },
}

async function showPlan(context: Context, plan: Awaited<ReturnType<typeof accountsUpdatePlan>>): Promise<void> {
  const { accounts, schema, known, changes } = plan
  const document = { schema: 'bands.accounts-plan/1', accounts, found: schema, known, changes }
  const tableColumns: Column<(typeof changes)[number]>[] = [
    column('step', 'count'),
    column('phase'),
    column('change'),
    column('servers_from', 'count', { title: 'servers from schema' }),
  ]
  const state = `${accounts}: schema ${schema}, this bands knows ${known}`
  const nextStep =
    schema < known ? 'bands accounts layout as the owner of the tables takes these steps' : 'no step to take'
  await context.show(describeList(document, changes, tableColumns, { notes: [`${state}; ${nextStep}`] }))
}

const grant: Command = {
  arguments: [['<ROLE>', 'a role of PostgreSQL, with which servers connect']],
  examples: ['bands accounts grant web --accounts postgres://db.example/bands'],
  notes: [
    'The role can then read the accounts and charge them. It cannot make a key or change a charge. The tables are made if there are none. An update of the tables keeps these rights.',
  ],
  async run(context, args) {
    refuseGlobalOptions(context)
    const role = args.argument(0)!
    const accounts = await grantAccountsTo({ ...context.databaseChoice, ...args.read(ACCOUNTS) }, role)
    const notes = [`${role} can serve the accounts at ${accounts}`]
    await context.show(oneRowAnswer({ schema: 'bands.accounts-grant/1', accounts, role }, notes))
  },
}

/** Shows the numbers of copied rows. The exit code is 5 if the ledger of the copy does not agree with its counters. */
async function showCopy(context: Context, { from, to, rows, proof }: AccountsCopy): Promise<void> {
  const { accounts, keys, ledger, days } = rows
  const { requests, credits } = proof
  const discrepancies = proof.discrepancies.length
  const row = { from, to, accounts, keys, ledger, days, requests, credits, discrepancies }
  const notes = [
    `copied: ${count(accounts, 'account')}, ${count(keys, 'key')}, ${count(ledger, 'row')} and ${count(days, 'day')} of the ledger`,
    `${to}: every row read again, all as in ${from}; ${count(requests, 'request')}, ${count(credits, 'credit')}: ${verdictText(discrepancies)}`,
  ]
  await context.show(oneRowAnswer({ schema: 'bands.accounts-copy/1', ...row }, notes))
  if (discrepancies > 0) context.exitCode = 5
}

function verdictText(discrepancies: number): string {
  return discrepancies === 0 ? 'the counters say the same' : count(discrepancies, 'discrepancy')
}

export const commands = withAccountsOption({
  'accounts create': create,
  'accounts list': list,
  'accounts set-tier': setTier,
  'accounts usage': usage,
  'accounts grant': grant,
  'accounts layout': layout,
  'accounts copy': copy,
})

function accountRow({ name, tier, created }: Account) {
  const { day, hour } = PLANS[tier].credits
  return { name, tier, created, day_limit: day, hour_limit: hour }
}

/** Shows an account after a change. @param done the change as the sentence names it: `is now` */
async function showAccount(context: Context, account: Account, done: string): Promise<void> {
  const row = accountRow(account)
  const limits = `${numberText(row.day_limit)} credits a day, ${numberText(row.hour_limit)} an hour`
  await context.show(
    oneRowAnswer({ schema: 'bands.account/1', ...row }, [`${row.name} ${done} ${row.tier}: ${limits}`]),
  )
}

/** Shows the credits of one account or of all, for each of the last days. */
async function showUsage(context: Context, args: Args): Promise<void> {
  const name = args.argument(0)
  const now = context.world.now().getTime()
  const from = now - (args.read(DAYS).days - 1) * DAY_MS
  const store = await accountsFor(context, args)
  const selected = name === undefined ? await store.accounts() : [await store.account(name)]
  const accounts = await Promise.all(
    selected.map(async account => {
      const days = await store.usage(account.id, from)
      return { account: account.name, tier: account.tier, ...sumUsage(days), days }
    }),
  )
  const rows = accounts.flatMap(({ account, days }) => days.map(day => ({ account, ...day })))
  const total = sumUsage(rows)
  const first = formatDay(dayAt(from))
  const last = formatDay(dayAt(now))
  const document = { schema: 'bands.usage/1', from: first, to: last, ...total, accounts }
  const tableColumns = [column('account'), column('date'), column('credits', 'count'), column('requests', 'count')]
  const notes = [`${count(total.credits, 'credit')} in ${count(total.requests, 'request')}, ${first} to ${last}`]
  await context.show(describeList(document, rows, tableColumns, { notes }))
}

function sumUsage(days: readonly DayUsage[]): { credits: number; requests: number } {
  return {
    credits: days.reduce((sum, day) => sum + day.credits, 0),
    requests: days.reduce((sum, day) => sum + day.requests, 0),
  }
}

/** Compares the counters of the accounts with the sums of their ledger. Sets exit code 5 if they differ. */
async function reconcile(context: Context, args: Args): Promise<void> {
  const name = args.argument(0)
  const accounts = await accountsFor(context, args)
  const account = name === undefined ? null : await accounts.account(name)
  const result = await accounts.reconcile(account?.id)
  const { rows, requests, credits, discrepancies } = result
  const countedText = `${count(rows, 'row')} of the ledger, ${count(requests, 'request')}, ${count(credits, 'credit')}`
  const tableColumns = [
    ...[column('account'), column('period'), column('start')],
    ...[column('of'), column('counter', 'count'), column('ledger', 'count')],
  ]
  const notes = [`${countedText}: ${verdictText(discrepancies.length)}`]
  const document = { schema: 'bands.reconciliation/1', account: account?.name ?? null, ...result }
  await context.show(describeList(document, discrepancies, tableColumns, { notes }))
  if (discrepancies.length > 0) context.exitCode = 5
}
