import { invalid, remedy, wrong } from '../../../core/errors.js'
import { parseDay } from '../../../core/model/day.js'
import { count } from '../../../core/numbers.js'
import type { OptionSpec } from '../../../core/params/row.js'
import {
  type Accounts,
  DAY_MS,
  HOUR_MS,
  type KeyEntry,
  keyState,
  parseName,
} from '../../../server/accounts/accounts.js'
import { generateKey, parseIdentity } from '../../../server/accounts/key.js'
import { type Column, column, describeList } from '../../present/description.js'
import type { Args, Command } from '../command.js'
import type { Context } from '../context.js'
import { oneRowAnswer } from '../output.js'
import { accountsFor, withAccountsOption } from './accounts.js'

const IDENTITY = ['<IDENTITY>', 'the eight characters that name a key (bands keys list)'] as const
const EXPIRES: OptionSpec = [
  '--expires <WHEN>',
  'after that number of days, or the last valid day in UTC (default never)',
]
const SHOWN_ONCE = 'This key is shown once and kept nowhere: keep it yourself.'

const create: Command = {
  arguments: [['[ACCOUNT]', 'whose key it is (bands accounts list)']],
  options: [['--name <TEXT>', 'its name (default key-1, key-2 and so on)'], EXPIRES],
  examples: ['bands keys create alice', 'bands keys create alice --expires 90 --json | jq -r .key'],
  notes: [
    'The key is written to standard output, this once: only its SHA-256 is kept. Put it where others cannot read it; bands takes it from BANDS_API_KEY, a file or standard input, never from the command line.',
  ],
  /** Makes a key for an account, and shows it this once. */
  async run(context, args) {
    const account = args.argument(0)
    if (account === undefined)
      throw wrong('account', 'ACCOUNT is missing: name the account of the key (bands accounts list).')
    const typedName = args.text('name')
    const name = typedName === undefined ? undefined : parseName('name', typedName)
    const now = context.world.now()
    const created = now.toISOString()
    const expires = expiryValue(args, now)
    const { key, identity, hash } = generateKey()
    const accounts = await accountsFor(context, args, { suggestedAccount: account })
    const { id } = await accounts.account(account)
    await accounts.addKey(id, { identity, hash, name: name ?? (await freeName(accounts, id)), created, expires })
    await showNewKey(context, key, (await accounts.key(identity))!, null)
    await context.remark(SHOWN_ONCE)
  },
}

/** `key-1`, or the first after it that the account has never had. */
async function freeName(accounts: Accounts, account: number): Promise<string> {
  const taken = new Set((await accounts.keys(account)).map(key => key.name))
  for (let i = 1; ; i++) if (!taken.has(`key-${i}`)) return `key-${i}`
}

const list: Command = {
  arguments: [['[ACCOUNT]', 'only one account (default all)']],
  examples: ['bands keys list', 'bands keys list alice --csv'],
  notes: ['LAST USED is to the minute. Times are in UTC.'],
  /** Shows the keys of one account or of all: their names, states and times, never the keys themselves. */
  async run(context, args) {
    const account = args.argument(0)
    const accounts = await accountsFor(context, args)
    const keys = await accounts.keys(account === undefined ? undefined : (await accounts.account(account)).id)
    const rows = keys.map(entry => keyRow(entry, context.world.now()))
    const tableColumns: Column<(typeof rows)[number]>[] = [
      ...[column('identity'), column('account'), column('name'), column('state')],
      { title: 'created', kind: 'date', hidePriority: 2, value: row => minuteText(row.created) },
      { title: 'expires', kind: 'date', hidePriority: 1, value: row => minuteText(row.expires) },
      { title: 'last used', kind: 'date', hidePriority: 3, value: row => minuteText(row.last_used) },
    ]
    const columns = ['identity', 'account', 'tier', 'name', 'state', 'created', 'expires', 'last_used', 'revoked']
    await context.show(describeList({ schema: 'bands.keys/1', keys: rows }, rows, tableColumns, { columns }))
    if (rows.length === 0) await context.remark('no key yet; bands keys create ACCOUNT makes one.')
  },
}

const revoke: Command = {
  arguments: [IDENTITY],
  examples: ['bands keys revoke 4fQz81Lk'],
  notes: [
    'A running server refuses it from the next request on. It stays in the list, and what it used in the ledger.',
  ],
  /** Makes a key invalid from now on, and shows its entry. */
  async run(context, args) {
    const identity = identityValue(args)
    const now = context.world.now()
    const accounts = await accountsFor(context, args)
    const entryBefore = await accounts.key(identity)
    await accounts.revoke(identity, now.toISOString())
    const entry = (await accounts.key(identity))!
    const revokedText = `${identity} of ${entry.account.name} is revoked`
    const wasRevoked = entryBefore?.revoked != null
    const note = wasRevoked ? `${revokedText} since ${minuteText(entry.revoked)}` : revokedText
    await context.show(oneRowAnswer({ schema: 'bands.revoked-key/1', ...keyRow(entry, now) }, [note]))
  },
}

const roll: Command = {
  arguments: [IDENTITY],
  options: [
    ['--grace <TIME>', 'how long the old key stays valid: 0 to 7d, such as 12h (default 1d)'],
    [EXPIRES[0], 'when the new key ends, as in keys create (default when the old one would have ended)'],
  ],
  examples: ['bands keys roll 4fQz81Lk', 'bands keys roll 4fQz81Lk --grace 0 --json | jq -r .key'],
  notes: ['The new key takes over account and name. A key that others have seen: --grace 0.'],
  /** Makes a new key in place of an old one, which stays valid for a while (`grace`). */
  async run(context, args) {
    const identity = identityValue(args)
    const grace = graceValue(args.text('grace') ?? '1d')
    const now = context.world.now()
    const created = now.toISOString()
    const typedExpiry = expiryValue(args, now)
    const { key, ...newKey } = generateKey()
    const accounts = await accountsFor(context, args)
    // An unknown key is refused by `roll`.
    const { name = '', expires = null } = (await accounts.key(identity)) ?? {}
    const graceEnd = new Date(now.getTime() + grace).toISOString()
    await accounts.roll(identity, { ...newKey, name, created, expires: typedExpiry ?? expires }, graceEnd)
    const newEntry = (await accounts.key(newKey.identity))!
    const oldEntry = (await accounts.key(identity))!
    await showNewKey(context, key, newEntry, oldEntry)
    const remainingMs = Date.parse(oldEntry.expires!) - now.getTime()
    const untilText = `is valid until ${minuteText(oldEntry.expires)} UTC, ${durationText(remainingMs)} from now`
    const validity = remainingMs <= 0 ? 'is no longer valid' : untilText
    await context.remark(`${SHOWN_ONCE} The old one, ${identity}, ${validity}.`)
  },
}

export const commands = withAccountsOption({
  'keys create': create,
  'keys list': list,
  'keys revoke': revoke,
  'keys roll': roll,
})

/** The columns of a key that every command shows; never the key itself. */
function keyRow(entry: KeyEntry, now: Date) {
  const { identity, account, name, created, expires, lastUsed, revoked } = entry
  const state = keyState(entry, now.getTime())
  const times = { created, expires, last_used: lastUsed, revoked }
  return { identity, account: account.name, tier: account.tier, name, state, ...times }
}

/** Shows a new key, the only time it is visible. @param replaced the key that it replaces; null for none */
async function showNewKey(context: Context, key: string, entry: KeyEntry, replaced: KeyEntry | null): Promise<void> {
  const row = { key, ...keyRow(entry, context.world.now()) }
  const { account, tier, name } = row
  const replaces = replaced === null ? null : { identity: replaced.identity, expires: replaced.expires }
  const until = row.expires === null ? 'is valid until it is revoked' : `is valid until ${minuteText(row.expires)}`
  const document = { schema: 'bands.key/1', ...row, replaces }
  const columns = Object.keys(row)
  await context.show({
    ...describeList(document, [row], [column('key'), column('identity')], { columns }),
    // A terminal shows the key on a line of its own: a narrow table would cut it.
    blocks: ({ isPiped }) => (isPiped ? null : [{ title: [account, tier, name, until], drawing: [key] }]),
  })
}

/** `2026-11-20 14:05` in UTC; `-` if there is no time. */
function minuteText(time: string | null): string {
  return time === null ? '-' : time.slice(0, 16).replace('T', ' ')
}

/** A duration in whole days or hours: `23 hours`, `7 days`. */
function durationText(milliseconds: number): string {
  const hours = Math.round(milliseconds / HOUR_MS)
  return hours % 24 === 0 ? count(hours / 24, 'day') : count(hours, 'hour')
}

/** Parses the identity of a key. Its InvalidParameter does not repeat the value, which may be a whole key. */
function identityValue(args: Args): string {
  const identity = parseIdentity(args.argument(0)!)
  if (identity !== null) return identity
  const allowed = 'the eight letters and digits after bands_ (bands keys list)'
  throw wrong(
    'identity',
    `identity is not ${allowed}; the rest of a key belongs on no command line.`,
    { allowed },
    {
      remedy: remedy('keys list'),
    },
  )
}

/** `90` → that many days from now; `2027-03-31` → the end of that day in UTC; null: never. Throws InvalidParameter. */
function expiryValue(args: Args, now: Date): string | null {
  const text = args.text('expires')
  if (text === undefined) return null
  if (/^[1-9]\d{0,3}$/.test(text) && Number(text) <= MAX_EXPIRY_DAYS)
    return new Date(now.getTime() + Number(text) * DAY_MS).toISOString()
  const day = parseDay(text)
  const endOfDay = day === null ? 0 : (day + 1) * DAY_MS
  if (endOfDay > now.getTime()) return new Date(endOfDay).toISOString()
  const allowed = `a number of days from 1 to ${MAX_EXPIRY_DAYS}, or a date to come as YYYY-MM-DD`
  throw invalid('not_allowed', { param: 'expires', value: text, allowed })
}

const MAX_EXPIRY_DAYS = 3_650

/** `0`, `12h`, `7d` → milliseconds. Throws InvalidParameter. */
function graceValue(text: string): number {
  const [, number, unit] = /^(0|[1-9]\d{0,2})([hd]?)$/.exec(text) ?? []
  // NaN for a text of another form; NaN is never in the limit.
  const grace = Number(number) * (unit === 'h' ? HOUR_MS : DAY_MS)
  const isInLimit = grace <= MAX_GRACE_MS
  if (isInLimit && (unit !== '' || grace === 0)) return grace
  const allowed = 'a time from 0 to 7d, such as 12h or 2d'
  const suggestions = unit === '' && isInLimit ? [`${text}d`] : []
  throw invalid('not_allowed', { param: 'grace', value: text, allowed, suggestions })
}

const MAX_GRACE_MS = 7 * DAY_MS
