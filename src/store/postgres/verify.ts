import { TIMEFRAME_NAMES } from '../../model/terms.js'
import { checkedSheet, damagesIn, tickerDamages } from '../checked.js'
import { DAMAGE, type Hashed, type Listed, lostRows, missing, strangeRows, unlisted } from '../content.js'
import type { PulledRow } from '../pages.js'
import { pulledDamages } from '../pulled.js'
import { type Damage, type SheetRow, UNDERIVED } from '../store.js'
import { placementIn } from './misplaced.js'
import { type Reading, wholeTickers } from './read.js'
import { isCutOff, partsElsewhere } from './shards.js'

/**
 * Reads all that there is as questions do, and looks whether it is all that was written; in one transaction, a ticker at a
 * time. Whether pages of the database's own files are as they were written, its checksums tell while it reads them.
 */
export async function verifyContent(db: Reading): Promise<Damage[]> {
  const placement = await placementIn(db)
  // Of a ticker that lies elsewhere too, the tables say one thing and another.
  const others = [...(await listDamages(db)), ...(await dayDamages(db))]
  const damages = [...placement.damages, ...(await strays(db))]
  damages.push(...others.filter(({ ticker }) => !placement.misplaced.has(ticker)))
  const [made] = await db.query<{ value: string }>("SELECT value FROM bands_data.meta WHERE key = 'definitions'")
  const derived = made?.value === UNDERIVED ? [] : TIMEFRAME_NAMES
  for (const { ticker } of await db.query<Named>('SELECT DISTINCT ticker FROM bands_data.tickers ORDER BY ticker')) {
    const [kept] = await wholeTickers(db, [ticker])
    if (kept != null) damages.push(...tickerDamages(db, kept, derived))
  }
  for (const { ticker } of await db.query<Named>('SELECT DISTINCT ticker FROM bands_data.facts ORDER BY ticker')) {
    const rows = await db.query<Hashed<SheetRow>>('SELECT * FROM bands_data.facts WHERE ticker = $1 ORDER BY kind', [
      ticker,
    ])
    for (const row of rows) damages.push(...damagesIn(() => checkedSheet(db, row)))
  }
  for (const { ticker } of await db.query<Named>('SELECT DISTINCT ticker FROM bands_data.pulled ORDER BY ticker')) {
    const rows = await db.query<PulledRow>(
      'SELECT * FROM bands_data.pulled WHERE ticker = $1 ORDER BY timeframe, field',
      [ticker],
    )
    for (const row of rows) damages.push(...pulledDamages(row))
  }
  return damages
}

interface Named {
  ticker: string
}

/** Rows of what is not there. */
async function strays(db: Reading): Promise<Damage[]> {
  const damages: Damage[] = []
  for (const table of ['chunks', 'series']) {
    const found = await db.query(
      `SELECT FROM bands_data.${table} WHERE ticker NOT IN (SELECT ticker FROM bands_data.tickers) LIMIT 1`,
    )
    if (found.length > 0) damages.push({ ticker: '', what: `rows of ${table} belong to none of tickers`, mend: null })
  }
  return damages
}

/** Where it is said beside the shards what they have, and that is not so; where a write was cut off it cannot be, yet. */
async function dayDamages(db: Reading): Promise<Damage[]> {
  if ((await partsElsewhere(db)).length === 0 || (await isCutOff(db))) return []
  const lacking = 'SELECT ticker FROM (SELECT * FROM bands_data.tickers EXCEPT SELECT * FROM bands_data.days) lacking'
  const strange = "SELECT ticker FROM bands_data.days EXCEPT SELECT ticker FROM bands_data.listed WHERE what = 'bars'"
  const [one, other] = [await db.query<Named>(`${lacking} ORDER BY ticker`), await db.query<Named>(strange)]
  return [...one.map(({ ticker }) => DAMAGE.entry(ticker)), ...other.map(({ ticker }) => unlisted(ticker, 'bars'))]
}

/** Where the list and the tables say different things. */
async function listDamages(db: Reading): Promise<Damage[]> {
  const [lost, strange] = [
    await db.query<Listed>(lostRows('bands_data.')),
    await db.query<Listed>(strangeRows('bands_data.')),
  ]
  return [
    ...lost.map(({ ticker, what }) => missing(ticker, what)),
    ...strange.map(({ ticker, what }) => unlisted(ticker, what)),
  ]
}
