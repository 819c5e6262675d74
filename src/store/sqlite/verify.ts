import type { Discrepancy } from '../../accounts/accounts.js'
import { parseIdentity } from '../../accounts/key.js'
import { TIER_NAMES, TIMEFRAME_NAMES } from '../../model/terms.js'
import { type AccountRow, folded, isTime, type KeyRow } from '../account-rows.js'
import { checkedSheet, damagesIn, tickerDamages } from '../checked.js'
import { type Hashed, type ListedItem, listDamages, lostRows, strangeRows } from '../content.js'
import type { PulledRow } from '../pages.js'
import { pulledDamages } from '../pulled.js'
import { type Damage, type SheetRow, UNDERIVED } from '../store.js'
import { ACCOUNTS } from './accounts.js'
import { reconciled } from './charging.js'
import { checkWasRead, faultOf, openForReading, Session } from './connection.js'
import { damagedLists, damagedTrials, LISTS, strangeLists, TRIALS } from './lists.js'
import { metaDamages } from './meta.js'
import type { DatabaseKind } from './migrations.js'
import { rawTicker, SHEETS } from './read.js'
import { damagedRows } from './row-hash.js'
import { DATA, TICKERS, type TickerRow } from './schema.js'

/** Reads all data as questions do, and checks that nothing is missing. */
export function verifySession(db: Session): Damage[] {
  const damages = structureOf(db)
  damages.push(...metaDamages(db))
  damages.push(...listDamages(db.all<ListedItem>(lostRows()), db.all<ListedItem>(strangeRows())))
  const derived = db.get<{ value: string }>(DEFINITIONS)?.value === UNDERIVED ? [] : TIMEFRAME_NAMES
  for (const entry of db.all<TickerRow>(`${TICKERS} ORDER BY ticker`))
    damages.push(...tickerDamages(db, rawTicker(db, entry), derived))
  for (const row of db.all<Hashed<SheetRow>>(`${SHEETS} ORDER BY ticker, kind`))
    damages.push(...damagesIn(() => checkedSheet(db, row)))
  // One by one: a whole market does not fit into memory.
  for (const { rowid } of db.all<{ rowid: number }>('SELECT rowid FROM pulled ORDER BY ticker, timeframe, field'))
    damages.push(...pulledDamages(db.get<PulledRow>('SELECT * FROM pulled WHERE rowid = ?', rowid)!))
  return damages
}

const DEFINITIONS = "SELECT value FROM meta WHERE key = 'definitions'"

/** Faults that SQLite itself finds, and rows that refer to missing rows. */
export function structureOf(db: Session): Damage[] {
  const lines = (db.pragma('integrity_check(10)') as { integrity_check: string }[]).map(line => line.integrity_check)
  const faults = lines.filter(line => line !== 'ok')
  checkWasRead(db.location, faults)
  const strays = db.pragma('foreign_key_check') as { table: string; parent: string }[]
  const kinds = new Set(strays.map(({ table, parent }) => `rows of ${table} belong to none of ${parent}`))
  return [...faults, ...kinds].map(fileDamage)
}

/** The damages of a file of some kind. */
export function damagesOf(kind: 'data' | Verified['kind'], file: string): Damage[] {
  const beside = COMPANION_FILES.find(([name]) => name === kind)
  if (beside !== undefined) return beside[1](file).damages
  const db = new Session(file, openForReading(file, DATA), DATA)
  try {
    // Data of an older bands are checked when they are upgraded.
    return db.schema === DATA.migrations.length ? verifySession(db) : structureOf(db)
  } finally {
    db.close()
  }
}

/** The checked rows of a file next to the data, and their damages. */
export interface Verified {
  kind: 'accounts' | 'trials' | 'lists'
  file: string
  /** Rows that are stored nowhere else: ledger of credits, trials, or lists. */
  rows: number
  damages: Damage[]
}

/** Checks accounts, keys and credits, and that the counters are the sums of the ledger. */
export function verifyAccounts(file: string): Verified {
  return verified('accounts', file, ACCOUNTS, db => {
    const { rows, discrepancies } = reconciled(db, null)
    const keys = db.all<Pick<KeyRow, 'identity' | 'hash'>>('SELECT identity, hash FROM keys ORDER BY id')
    const misshapen = keys.filter(({ identity, hash }) => parseIdentity(identity) !== identity || !SHA256.test(hash))
    const accounts = db.all<FiledAccount>('SELECT name, folded, tier, created FROM accounts ORDER BY id')
    const strangeAccounts = accounts.filter(row => isFiledWrongly(row) || isOfNoTier(row) || !isTime(row.created))
    const times = db.all<Record<string, number | null>>('SELECT created, expires, last_used, revoked FROM keys')
    const secrets = db.all<{ bytes: number }>("SELECT length(secret) AS bytes FROM secrets WHERE use = 'tags'")
    const strange = db.get<{ rows: number }>(STRANGE_CHARGES)!.rows
    // Each row is named once.
    const [known, knownKeys] = [
      new Set(strangeAccounts.map(({ name }) => name)),
      new Set(misshapen.map(key => key.identity)),
    ]
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
          .filter(({ created }) => !isTime(created))
          .map(({ name }) => `the account ${name} has a time that is none`),
        ...(times.every(row => Object.values(row).every(at => at === null || isTime(at)))
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

const isFiledWrongly = (row: FiledAccount): boolean => folded(row.name) !== row.folded
const isOfNoTier = ({ tier }: FiledAccount): boolean => !TIER_NAMES.includes(tier)

const SHA256 = /^[0-9a-f]{64}$/
const STRANGE_CHARGES = `SELECT count(*) AS rows FROM ledger
  WHERE NOT EXISTS (SELECT 1 FROM keys WHERE identity = ledger.key AND keys.account = ledger.account)`

function discrepancyWords({ account, of, period, start, counter, ledger }: Discrepancy): string {
  return `${account}: the counter of the ${period} ${start} says ${counter} ${of}, and the ledger ${ledger}`
}

/** Checks every row of the trial log. Nothing says how many there were. */
export function verifyTrials(file: string): Verified {
  return verified('trials', file, TRIALS, db => {
    const { rows } = db.get<{ rows: number }>('SELECT count(*) AS rows FROM trials')!
    return { rows, damages: damagedTrials(db) }
  })
}

/** Checks every row of a user's lists, and that each list is one. */
export function verifyLists(file: string): Verified {
  return verified('lists', file, LISTS, db => {
    const { rows } = db.get<{ rows: number }>('SELECT count(*) AS rows FROM lists')!
    const strange = db.all<{ what: string }>(strangeLists(db.schema)).map(({ what }) => fileDamage(what))
    return { rows, damages: [...damagedLists(db), ...strange] }
  })
}

/** The files next to the data, and the check of each. */
export const COMPANION_FILES: readonly (readonly [Verified['kind'], (file: string) => Verified])[] = [
  ['accounts', verifyAccounts],
  ['trials', verifyTrials],
  ['lists', verifyLists],
]

function verified(
  kind: Verified['kind'],
  file: string,
  database: DatabaseKind,
  look: (db: Session) => Pick<Verified, 'rows' | 'damages'>,
): Verified {
  try {
    const db = new Session(file, openForReading(file, database), database)
    try {
      const damages = structureOf(db)
      // An older schema lacks some checked columns, and a torn file cannot be queried.
      if (damages.length > 0 || db.schema < database.migrations.length) return { kind, file, rows: 0, damages }
      return { kind, file, ...look(db) }
    } finally {
      db.close()
    }
  } catch (error) {
    const fault = faultOf(error)
    if (fault === null) throw error
    return { kind, file, rows: 0, damages: [fileDamage(fault)] }
  }
}

/** Only a backup mends it. */
function fileDamage(what: string): Damage {
  return { ticker: '', what, mend: null }
}
