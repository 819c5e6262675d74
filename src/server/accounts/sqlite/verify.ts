import { TIER_NAMES } from '../../../core/model/terms.js'
import type { Session } from '../../../data/store/sqlite/connection.js'
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
    const damages = [
      ...accountAndKeyDamages(db),
      ...secretDamages(db),
      ...ledgerDamages(db),
      ...discrepancies.map(discrepancyMessage),
    ]
    return { rows, damages: damages.map(fileDamage) }
  })
}

/**
 * Messages about damaged accounts and keys. A row that no longer has the hash it was written with is reported only if
 * no other message names it.
 */
function accountAndKeyDamages(db: Session): string[] {
  const accounts = db.all<StoredAccount>('SELECT name, folded, tier, created FROM accounts ORDER BY id')
  const wronglyFolded = accounts.filter(({ name, folded }) => foldName(name) !== folded)
  const withBadTime = accounts.filter(({ created }) => !isStorableTime(created))
  const withUnknownTier = accounts.filter(({ tier }) => !TIER_NAMES.includes(tier))
  const reportedNames = new Set([...wronglyFolded, ...withBadTime, ...withUnknownTier].map(({ name }) => name))
  const changedAccounts = damagedRows<AccountRow>(db, 'accounts').filter(({ name }) => !reportedNames.has(name))

  const keys = db.all<Pick<KeyRow, 'identity' | 'hash'>>('SELECT identity, hash FROM keys ORDER BY id')
  const malformed = keys.filter(({ identity, hash }) => parseIdentity(identity) !== identity || !SHA256.test(hash))
  const reportedKeys = new Set(malformed.map(({ identity }) => identity))
  const changedKeys = damagedRows<KeyRow>(db, 'keys').filter(({ identity }) => !reportedKeys.has(identity))
  const times = db.all<Record<string, number | null>>('SELECT created, expires, last_used, revoked FROM keys')
  const areKeyTimesPossible = times.flatMap(row => Object.values(row)).every(at => at === null || isStorableTime(at))
  return [
    ...changedAccounts.map(({ name }) => `the account ${name} is not what was written`),
    ...changedKeys.map(({ identity }) => `the key ${identity} is not what was written`),
    ...malformed.map(({ identity }) => `the key ${identity} is not formed like one`),
    ...wronglyFolded.map(({ name }) => `the account ${name} is filed under another name`),
    ...withBadTime.map(({ name }) => `the account ${name} has an impossible time`),
    ...(areKeyTimesPossible ? [] : ['a key has an impossible time']),
    ...withUnknownTier.map(({ name, tier }) => `the account ${name} has the unknown tier ${tier}`),
  ]
}

/** A message if the secret of the tags is missing or has another length. */
function secretDamages(db: Session): string[] {
  const secrets = db.all<{ bytes: number }>("SELECT length(secret) AS bytes FROM secrets WHERE use = 'tags'")
  const isSound = secrets.length === 1 && secrets[0]!.bytes === 32
  return isSound ? [] : ['the secret of the tags is not what was made']
}

/** A message if ledger rows have an unknown key, or one of another account. */
function ledgerDamages(db: Session): string[] {
  const { rows } = db.get<{ rows: number }>(ROWS_WITHOUT_KEY)!
  return rows === 0 ? [] : [`${rows} rows of the ledger name a key that is not there, or is another account’s`]
}

type StoredAccount = Pick<AccountRow, 'name' | 'tier' | 'created'> & { folded: string }

const SHA256 = /^[0-9a-f]{64}$/
const ROWS_WITHOUT_KEY = `SELECT count(*) AS rows FROM ledger
  WHERE NOT EXISTS (SELECT 1 FROM keys WHERE identity = ledger.key AND keys.account = ledger.account)`

function discrepancyMessage({ account, of, period, start, counter, ledger }: Discrepancy): string {
  return `${account}: the counter of the ${period} ${start} says ${counter} ${of}, and the ledger ${ledger}`
}
