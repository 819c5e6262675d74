import type { Account, KeyEntry } from '../../accounts/accounts.js'
import type { Tier } from '../../model/tier.js'

/** Rows of accounts and keys as they lie in the database, and what they are outside. */
export interface AccountRow {
  id: number
  name: string
  tier: Tier
  created: number
}

export interface KeyRow {
  identity: string
  hash: string
  name: string
  created: number
  expires: number | null
  last_used: number | null
  revoked: number | null
  account: number
  account_name: string
  tier: Tier
  account_created: number
}

const KEYS = `SELECT k.identity, k.hash, k.name, k.created, k.expires, k.last_used, k.revoked,
  k.account, a.name AS account_name, a.tier, a.created AS account_created
  FROM keys k JOIN accounts a ON a.id = k.account`

/** Runs at every request, so its text is put together once. */
export const KEY_BY_IDENTITY = `${KEYS} WHERE k.identity = ?`
export const KEYS_OF = `${KEYS} WHERE ? IS NULL OR k.account = ? ORDER BY k.id`
export const INTO_ACCOUNTS = 'INSERT INTO accounts (name, folded, tier, created) VALUES (?, ?, ?, ?)'
export const INTO_KEYS = 'INSERT INTO keys (identity, hash, account, name, created, expires) VALUES (?, ?, ?, ?, ?, ?)'
export const KEYS_NAMED = `${KEYS} WHERE k.account = ? AND k.name = ?`

export function accountOf({ id, name, tier, created }: AccountRow): Account {
  return { id, name, tier, created: time(created) }
}

export function keyOf(row: KeyRow): KeyEntry {
  return {
    identity: row.identity,
    account: { id: row.account, name: row.account_name, tier: row.tier, created: time(row.account_created) },
    name: row.name,
    created: time(row.created),
    expires: timeOrNull(row.expires),
    lastUsed: timeOrNull(row.last_used),
    revoked: timeOrNull(row.revoked),
  }
}

/** Names are compared as people read them: case aside, and however a letter with an accent was typed. */
export const folded = (name: string): string => name.normalize('NFC').toLowerCase()

const time = (at: number): string => new Date(at).toISOString()
const timeOrNull = (at: number | null): string | null => (at === null ? null : time(at))
