import { TIER_NAMES } from '../../../core/model/terms.js'
import { damagedRows } from '../../../data/store/sqlite/row-hash.js'
import { fileDamage, type VerifiedFile, verifyFile } from '../../../data/store/sqlite/verify.js'
import type { Discrepancy } from '../accounts.js'
import { parseIdentity } from '../key.js'
import { type AccountRow, foldName, isStorableTime, type KeyRow } from '../rows.js'
import { ACCOUNTS } from './accounts.js'
import { reconcileLedger } from './charging.js'

/** Checks accounts, keys and credits, and that the counters are the sums of the ledger. */
export function verifyAccounts(file: string): VerifiedFile {
  return verifyFile('accounts', file, ACCOUNTS, db => {
    const { rows, discrepancies } = reconcileLedger(db, null)
    const keys = db.all<Pick<KeyRow, 'identity' | 'hash'>>('SELECT identity, hash FROM keys ORDER BY id')
    const misshapen = keys.filter(({ identity, hash }) => parseIdentity(identity) !== identity || !SHA256.test(hash))
    const accounts = db.all<FiledAccount>('SELECT name, folded, tier, created FROM accounts ORDER BY id')
    const strangeAccounts = accounts.filter(
      row => isFiledWrongly(row) || isOfNoTier(row) || !isStorableTime(row.created),
    )
    const times = db.all<Record<string, number | null>>('SELECT created, expires, last_used, revoked FROM keys')
    const secrets = db.all<{ bytes: number }>("SELECT length(secret) AS bytes FROM secrets WHERE use = 'tags'")
    const strange = db.get<{ rows: number }>(STRANGE_CHARGES)!.rows
    // Each row is named once.
    const known = new Set(strangeAccounts.map(({ name }) => name))
    const knownKeys = new Set(misshapen.map(key => key.identity))
    const changed = damagedRows<AccountRow>(db, 'accounts').filter(({ name }) => !known.has(name))
    const changedKeys = damagedRows<KeyRow>(db, 'keys').filter(({ identity }) => !knownKeys.has(identity))
    return {
      rows,
      damages: [
        ...changed.map(({ name }) => `the account ${name} is not what was written`),
        ...changedKeys.map(({ identity }) => `the key ${identity} is not what was written`),
        ...misshapen.map(({ identity }) => `the key ${identity} is not formed like one`),
        ...accounts.filter(isFiledWrongly).map(({ name }) => `the account ${name} is filed wrongly`),
        ...accounts
          .filter(({ created }) => !isStorableTime(created))
          .map(({ name }) => `the account ${name} has a time that is none`),
        ...(times.every(row => Object.values(row).every(at => at === null || isStorableTime(at)))
          ? []
          : ['a key has a time that is none']),
        ...accounts.filter(isOfNoTier).map(({ name, tier }) => `the account ${name} is of no tier, but of ${tier}`),
        ...(secrets.length === 1 && secrets[0]!.bytes === 32 ? [] : ['the secret of the tags is not what was made']),
        ...(strange === 0
          ? []
          : [`${strange} rows of the ledger name a key that is not there, or is another account’s`]),
        ...discrepancies.map(discrepancyWords),
      ].map(fileDamage),
    }
  })
}

type FiledAccount = Pick<AccountRow, 'name' | 'tier' | 'created'> & { folded: string }

const isFiledWrongly = (row: FiledAccount): boolean => foldName(row.name) !== row.folded
const isOfNoTier = ({ tier }: FiledAccount): boolean => !TIER_NAMES.includes(tier)

const SHA256 = /^[0-9a-f]{64}$/
const STRANGE_CHARGES = `SELECT count(*) AS rows FROM ledger
  WHERE NOT EXISTS (SELECT 1 FROM keys WHERE identity = ledger.key AND keys.account = ledger.account)`

function discrepancyWords({ account, of, period, start, counter, ledger }: Discrepancy): string {
  return `${account}: the counter of the ${period} ${start} says ${counter} ${of}, and the ledger ${ledger}`
}
