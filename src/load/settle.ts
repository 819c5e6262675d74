import { recordFields } from '../engine/record.js'
import type { Field } from '../fields/field.js'
import type { SectorView } from '../fields/fundamentals.js'
import { BY_SECTOR, FIELDS } from '../fields/index.js'
import { Panel } from '../fields/panel.js'
import type { Behind } from '../local/cache.js'
import { type Company, companyOf, knownOf, Sectors } from '../local/sectors.js'
import { sectorKey } from '../local/view.js'
import { securityOf } from '../model/facts.js'
import { TIMEFRAME_NAMES, type Timeframe } from '../model/terms.js'
import type { Amendment, Store } from '../store/store.js'

/** One step of settling: what it changes, and what is left to do once it is written. */
interface Settlement {
  amendments: Amendment[]
  /** Of all steps, for whoever shows progress. */
  done: number
  of: number
  /** A sector, or nothing for tickers of none. */
  what: string
}

/** Tickers without a sector that are written together. */
const TOGETHER = 50

/**
 * Records anew what is behind, sector by sector, then the tickers of none. `behind` shrinks with each step; a step counts
 * once its amendments are written together with what is left.
 */
export async function* settlements(store: Store, behind: Behind): AsyncGenerator<Settlement> {
  const of = behind.sectors.size + Math.ceil(behind.tickers.size / TOGETHER)
  let done = 0
  for (const key of [...behind.sectors]) {
    const amendments = await amendedBySector(store, key, behind.tickers)
    behind.sectors.delete(key)
    for (const { ticker } of amendments) behind.tickers.delete(ticker)
    yield { amendments, done: done++, of, what: key }
  }
  while (behind.tickers.size > 0) {
    const amendments: Amendment[] = []
    for (const ticker of [...behind.tickers].slice(0, TOGETHER)) {
      amendments.push(...(await amendedByFacts(store, ticker)))
      behind.tickers.delete(ticker)
    }
    yield { amendments, done: done++, of, what: '' }
  }
}

const BY_FACTS = FIELDS.filter(field => field.needs !== 'bars')
const BY_FACTS_ALONE = FIELDS.filter(field => field.needs === 'facts')

/** A sector's tickers beside each other; those whose facts are new in all that stands on facts. */
async function amendedBySector(store: Store, key: string, fresh: ReadonlySet<string>): Promise<Amendment[]> {
  const sectors = new Sectors(store)
  const members = await sectors.members(key)
  const found: Amendment[] = []
  for (const timeframe of TIMEFRAME_NAMES) {
    const sector = await sectors.of(key, timeframe)
    for (const member of members) {
      const { ticker } = member.entry
      found.push(amendment(member, timeframe, sector.seenFrom(ticker), fresh.has(ticker) ? BY_FACTS : BY_SECTOR))
    }
  }
  return found
}

/** A ticker of no sector, of one that is not behind, or without facts that count: then there is nothing to record. */
async function amendedByFacts(store: Store, ticker: string): Promise<Amendment[]> {
  const entry = await store.ticker(ticker)
  if (entry === null) return []
  const sheets = await store.sheets(ticker)
  const company = await companyOf(store, entry, FIELDS)
  // Of a sector that is not behind, the comparison stands.
  const fields = company.facts !== null && sectorKey(securityOf(sheets)) !== null ? BY_FACTS_ALONE : BY_FACTS
  return TIMEFRAME_NAMES.map(timeframe => amendment(company, timeframe, null, fields))
}

function amendment(
  company: Company,
  timeframe: Timeframe,
  sector: SectorView | null,
  fields: readonly Field[],
): Amendment {
  const { series, facts } = knownOf(company, timeframe)
  const recorded = recordFields(new Panel(series, facts, sector), fields)
  return {
    ticker: company.entry.ticker,
    timeframe,
    fields: new Map(fields.map(({ name }) => [name, recorded.get(name) ?? null])),
  }
}
