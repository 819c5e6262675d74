import { type Accounts, DAY_MS, HOUR_MS, type KeyEntry, nameValue, stateOf } from '../../accounts/accounts.js'
import { makeKey } from '../../accounts/key.js'
import { InvalidParameter, invalid, quoted } from '../../errors.js'
import { parseDay } from '../../model/day.js'
import { count } from '../../present/numbers.js'
import { EXPIRES, IDENTITY, identityValue, withAccounts } from '../accounts-file.js'
import type { Command } from '../command.js'
import type { Answer } from '../output.js'

export const keysCreateCommand: Command = {
  options: [
    ['--account <NAME>', 'whose key it is (bands accounts list)'],
    ['--name <TEXT>', 'what its owner calls it; key-1, key-2 and so on unless given'],
    EXPIRES,
  ],
  examples: ['bands keys create --account alice', 'bands keys create --account alice --expires 90 --json | jq -r .key'],
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

export const keysListCommand: Command = {
  options: [['--account <NAME>', 'those of one account; all of them unless given']],
  examples: ['bands keys list', 'bands keys list --account alice --csv'],
  notes: ['LAST USED is to the minute. Times are in UTC.'],
  async run(context, given) {
    const account = given.text('account')
    const keys = await withAccounts(context, async accounts =>
      accounts.keys(account === undefined ? undefined : (await accounts.account(account)).id),
    )
    await context.show(keysAnswer(keys, context.world.now()))
    if (keys.length === 0 && !context.config.quiet)
      await context.notice('no key yet; bands keys create --account NAME makes one.')
  },
}

export const keysRevokeCommand: Command = {
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

export const keysRollCommand: Command = {
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

/** A key as every command shows it; the key itself is not among it. */
function keyRow(entry: KeyEntry, now: Date) {
  const { identity, account, name, created, expires, lastUsed, revoked } = entry
  const state = stateOf(entry, now.getTime())
  const times = { created, expires, last_used: lastUsed, revoked }
  return { identity, account: account.name, tier: account.tier, name, state, ...times }
}

const KEY_COLUMNS = ['identity', 'account', 'tier', 'name', 'state', 'created', 'expires', 'last_used', 'revoked']

function keysAnswer(entries: readonly KeyEntry[], now: Date): Answer {
  const rows = entries.map(entry => keyRow(entry, now))
  return {
    document: () => ({ schema: 'bands.keys/1', keys: rows }),
    columns: KEY_COLUMNS,
    rows: () => rows,
    blocks: () => [
      {
        table: {
          columns: [
            { title: 'IDENTITY' },
            { title: 'ACCOUNT' },
            { title: 'NAME' },
            { title: 'STATE' },
            { title: 'CREATED', spare: 2 },
            { title: 'EXPIRES', spare: 1 },
            { title: 'LAST USED', spare: 3 },
          ],
          rows: rows.map(row => [
            ...[row.identity, row.account, row.name, row.state],
            ...[minute(row.created), minute(row.expires), minute(row.last_used)],
          ]),
        },
      },
    ],
  }
}

/**
 * A key that was made, the only time it is seen.
 *
 * @param replaced the key whose place it takes
 */
function newKeyAnswer(key: string, entry: KeyEntry, replaced: KeyEntry | null, now: Date): Answer {
  const row = { key, ...keyRow(entry, now) }
  const { identity, account, tier, name } = row
  const replaces = replaced === null ? null : { identity: replaced.identity, expires: replaced.expires }
  const until = row.expires === null ? 'counts until it is revoked' : `counts until ${minute(row.expires)}`
  return {
    document: () => ({ schema: 'bands.key/1', ...row, replaces }),
    columns: ['key', ...KEY_COLUMNS],
    rows: () => [row],
    blocks: ({ words }) => {
      const table = { columns: [{ title: 'KEY' }, { title: 'IDENTITY' }], rows: [[key, identity]] }
      // A key that is cut is no key, so on a terminal it is a line of its own, however narrow that is.
      return words ? [{ table }] : [{ title: [account, tier, name, until], drawing: [key] }]
    },
  }
}

function revokedAnswer(entry: KeyEntry, now: Date, before: boolean): Answer {
  const row = keyRow(entry, now)
  const since = `${row.identity} of ${row.account} counts no more`
  return {
    document: () => ({ schema: 'bands.revoked-key/1', ...row }),
    columns: KEY_COLUMNS,
    rows: () => [row],
    blocks: () => [{ notes: [before ? `${since}; it was revoked ${minute(row.revoked)}` : since] }],
  }
}

/** `2026-11-20 14:05` in UTC; `-` where there is no time. */
function minute(time: string | null): string {
  return time === null ? '-' : time.slice(0, 16).replace('T', ' ')
}

/** How long something lasts from now: `23 hours`, `7 days`. */
function duration(milliseconds: number): string {
  const hours = Math.round(milliseconds / 3_600_000)
  return hours % 24 === 0 ? count(hours / 24, 'day') : count(hours, 'hour')
}

/** `90` → that many days from now; `2027-03-31` → the end of that day in UTC. Throws InvalidParameter. */
function expiryValue(text: string, now: Date): Date {
  const days = /^[1-9]\d{0,3}$/.test(text) ? Number(text) : Number.NaN
  if (days <= LONGEST_DAYS) return new Date(now.getTime() + days * DAY_MS)
  const day = parseDay(text)
  const allowed = `a number of days from 1 to ${LONGEST_DAYS}, or a date to come as YYYY-MM-DD`
  if (day !== null && (day + 1) * DAY_MS > now.getTime()) return new Date((day + 1) * DAY_MS)
  throw invalid('not_allowed', { param: 'expires', value: text, allowed })
}

const LONGEST_DAYS = 3_650

/** `0`, `12h`, `7d` → milliseconds. Throws InvalidParameter. */
function graceValue(text: string): number {
  const [, number, unit] = /^(0|[1-9]\d{0,2})([hd]?)$/.exec(text) ?? []
  const length = Number(number) * (unit === 'h' ? HOUR_MS : DAY_MS)
  if (length <= LONGEST_GRACE && (unit !== '' || length === 0)) return length
  const allowed = 'a time from 0 to 7d, such as 12h or 2d'
  const suggestions = unit === '' && length <= LONGEST_GRACE ? [`${text}d`] : []
  throw new InvalidParameter(`grace ${quoted(text)} is not ${allowed}.`, {
    param: 'grace',
    value: text,
    allowed,
    suggestions,
  })
}

const LONGEST_GRACE = 7 * DAY_MS
