import type { KeyEntry } from '../../accounts/accounts.js'
import { stateOf } from '../../accounts/state.js'
import type { Answer } from '../output.js'
import { count } from '../render/amounts.js'

/** A key as every command shows it; the key itself is not among it. */
export function keyRow(entry: KeyEntry, now: Date) {
  const { identity, account, name, created, expires, lastUsed, revoked } = entry
  const state = stateOf(entry, now.getTime())
  const times = { created, expires, last_used: lastUsed, revoked }
  return { identity, account: account.name, tier: account.tier, name, state, ...times }
}

const KEY_COLUMNS = ['identity', 'account', 'tier', 'name', 'state', 'created', 'expires', 'last_used', 'revoked']

export function keysAnswer(entries: readonly KeyEntry[], now: Date): Answer {
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
export function newKeyAnswer(key: string, entry: KeyEntry, replaced: KeyEntry | null, now: Date): Answer {
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

export function revokedAnswer(entry: KeyEntry, now: Date, before: boolean): Answer {
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
export function minute(time: string | null): string {
  return time === null ? '-' : time.slice(0, 16).replace('T', ' ')
}

/** How long something lasts from now: `23 hours`, `7 days`. */
export function duration(milliseconds: number): string {
  const hours = Math.round(milliseconds / 3_600_000)
  return hours % 24 === 0 ? count(hours / 24, 'day') : count(hours, 'hour')
}
