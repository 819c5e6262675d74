import { record, recordFields, recordTail } from '../../core/engine/record.js'
import type { Field } from '../../core/fields/field.js'
import type { SectorView } from '../../core/fields/fundamentals.js'
import { BY_SECTOR, FIELDS, WITHOUT_SECTOR } from '../../core/fields/index.js'
import { Panel } from '../../core/fields/panel.js'
import { securityOf } from '../../core/model/facts.js'
import { TIMEFRAME_NAMES, type Timeframe } from '../../core/model/terms.js'
import type { Cluster } from '../../core/source.js'
import type { Pending } from '../local/cache.js'
import { type Company, companyAsOf, companyOf, Sectors } from '../local/sectors.js'
import { sectorKey } from '../local/view.js'
import { decodeTail } from '../store/codec.js'
import { pack } from '../store/packed.js'
import type { Amendment, PackedRecord, PackedTail, Store, TickerEntry } from '../store/store.js'
import { runInOrder, type Work } from '../threads.js'
import type { ImportOptions, ImportProgress } from './report.js'

export interface TickerData extends Company {
  /** Stored data before some bars that stay unchanged, with everything derived from them (default: none). */
  stored?: PackedTail
  /** Its sector, if that is pending: fields that compare with it are derived later, and have no data until then. */
  sector?: string | null
}

/** Derives everything that the store keeps of a ticker, in chunks, which take less memory until they are written. */
export function deriveRecord(data: TickerData): PackedRecord {
  const { entry, daily, facts, stored, sector = null } = data
  const fields = sector === null ? FIELDS : WITHOUT_SECTOR
  const tail = deriveTail(data, fields)
  if (tail !== null) return pack({ entry, ...tail, stored })
  return pack({ entry, ...record(daily, entry.assetClass, facts, fields) })
}

/** Derives only the last bars; null if earlier bars changed, or if the stored data do not suffice to continue. */
function deriveTail(
  { entry, daily, facts, stored }: TickerData,
  fields: readonly Field[],
): ReturnType<typeof recordTail> {
  if (stored === undefined) return null
  const days = decodeTail(stored.daily)
  const weeks = decodeTail(stored.weekly)
  if (days === null || weeks === null) return null
  const recorded = { daily: days, weekly: weeks }
  return recordTail(daily, entry.assetClass, facts, { since: stored.since, recorded, fields })
}

/** The most tickers derived and written together, and the most bars: some 64 MB of records. */
const MAX_GROUP_TICKERS = 200
const MAX_GROUP_BARS = 400_000

/** Splits tickers, in their order, into the groups that are derived and written together. */
export function groupTickers<T>(tickers: readonly T[], barsOf: (ticker: T) => number, maxBars = MAX_GROUP_BARS): T[][] {
  const groups: T[][] = []
  let bars = 0
  for (const ticker of tickers) {
    bars += barsOf(ticker)
    const group = groups.at(-1)
    if (group !== undefined && group.length < MAX_GROUP_TICKERS && bars <= maxBars) group.push(ticker)
    else {
      groups.push([ticker])
      bars = barsOf(ticker)
    }
  }
  return groups
}

export interface DerivedGroup<Ticker> {
  group: readonly Ticker[]
  records: readonly PackedRecord[]
  /** Whether there are no more. */
  isLast: boolean
}

/**
 * Groups of tickers with their records, in order. Groups are removed from the list, so that written ones can be freed.
 * @param recordOf derives the record of a ticker
 */
export async function* deriveGroups<Ticker>(
  groups: Ticker[][],
  recordOf: (ticker: Ticker) => Promise<PackedRecord>,
  onTicker: (bars: number) => void,
): AsyncGenerator<DerivedGroup<Ticker>> {
  for (let group = groups.shift(); group !== undefined; group = groups.shift()) {
    const records: PackedRecord[] = []
    for (const ticker of group) {
      const record = await recordOf(ticker)
      records.push(record)
      onTicker(record.entry.bars)
    }
    yield { group, records, isLast: groups.length === 0 }
  }
}

/** Returns a function to call after each ticker with its number of bars. It reports how many are done, and all bars. */
export function progressReporter(
  { file, stage, of }: Pick<ImportProgress, 'file' | 'stage' | 'of'>,
  onProgress: ImportOptions['onProgress'],
) {
  let done = 0
  let rows = 0
  return (bars: number): void => {
    rows += bars
    onProgress?.({ file, stage, done: ++done, of, rows })
  }
}

/** The speed of one thread, for the estimate of how long the work takes. */
const BARS_DERIVED_PER_MS = 300

/** Bars of a task for other machines, about a second's, and the most such tasks whose records wait to be written. */
const TASK_BARS = 100_000
const TASKS_AHEAD = 32

/** Groups of stored tickers with their records, in order. @param cluster derives them; otherwise this thread */
export async function* deriveStored(
  store: Store,
  entries: readonly TickerEntry[],
  onTicker: (bars: number) => void,
  cluster?: Cluster,
): AsyncGenerator<DerivedGroup<TickerEntry>> {
  const dataOf = (entry: TickerEntry): Promise<TickerData> => companyOf(store, entry)
  const recordOf = async (entry: TickerEntry): Promise<PackedRecord> => deriveRecord(await dataOf(entry))
  const groups = groupTickers(entries, ({ bars }) => bars, cluster === undefined ? MAX_GROUP_BARS : TASK_BARS)
  if (cluster === undefined) return yield* deriveGroups(groups, recordOf, onTicker)
  const dataOfGroup = (group: readonly TickerEntry[]): Promise<TickerData[]> => Promise.all(group.map(dataOf))
  const work: Work<TickerEntry[], PackedRecord[]> = {
    job: 'derive',
    // The tasks share no data: each message to a machine has those of its group.
    data: () => null,
    withOwnData: dataOfGroup,
    tasks: groups,
    ms: 1 + entries.reduce((sum, { bars }) => sum + bars, 0) / BARS_DERIVED_PER_MS,
    here: async group => (await dataOfGroup(group)).map(deriveRecord),
    maxMessages: TASKS_AHEAD,
  }
  let done = 0
  for await (const records of runInOrder(work, { threads: 1, cluster })) {
    const group = groups[done++]!
    for (const { bars } of group) onTicker(bars)
    yield { group, records, isLast: done === groups.length }
  }
}

/** One step: its changes, and what is left to derive once they are written. */
interface PendingStep {
  amendments: Amendment[]
  /** Finished steps, for progress. */
  done: number
  of: number
  /** A sector, or nothing for tickers of none. */
  what: string
}

/** Tickers without a sector that are written together. */
const MAX_STEP_TICKERS = 50

/**
 * Derives what is pending, sector by sector, then tickers without a sector. `pending` shrinks with each step; a step
 * counts once its amendments are written together with the remainder.
 */
export async function* pendingSteps(store: Store, pending: Pending): AsyncGenerator<PendingStep> {
  const of = pending.sectors.size + Math.ceil(pending.tickers.size / MAX_STEP_TICKERS)
  let done = 0
  for (const sector of [...pending.sectors]) {
    const amendments = await amendSector(store, sector, pending.tickers)
    pending.sectors.delete(sector)
    for (const { ticker } of amendments) pending.tickers.delete(ticker)
    yield { amendments, done: done++, of, what: sector }
  }
  while (pending.tickers.size > 0) {
    const amendments: Amendment[] = []
    for (const ticker of [...pending.tickers].slice(0, MAX_STEP_TICKERS)) {
      amendments.push(...(await amendTicker(store, ticker)))
      pending.tickers.delete(ticker)
    }
    yield { amendments, done: done++, of, what: '' }
  }
}

const FIELDS_BY_FACTS = FIELDS.filter(field => field.needs !== 'bars')
const FIELDS_BY_OWN_FACTS = FIELDS.filter(field => field.needs === 'facts')

/**
 * Derives the fields that compare the tickers of a sector with each other.
 * @param withNewFacts tickers whose other fields that use facts are derived as well
 */
async function amendSector(store: Store, key: string, withNewFacts: ReadonlySet<string>): Promise<Amendment[]> {
  const sectors = new Sectors(store)
  const members = await sectors.members(key)
  const amendments: Amendment[] = []
  for (const timeframe of TIMEFRAME_NAMES) {
    const sector = await sectors.sectorOf(key, timeframe)
    for (const member of members) {
      const { ticker } = member.entry
      const fields = withNewFacts.has(ticker) ? FIELDS_BY_FACTS : BY_SECTOR
      const otherMembers = sector.seenFrom(ticker)
      amendments.push(amendment(member, timeframe, otherMembers, fields))
    }
  }
  return amendments
}

/**
 * Derives a ticker's fields that use facts, once no sector is pending any more. Its comparison with its sector stays as
 * stored; without a sector or facts it becomes null. Returns an empty list for a ticker without bars.
 */
async function amendTicker(store: Store, ticker: string): Promise<Amendment[]> {
  const entry = await store.ticker(ticker)
  if (entry === null) return []
  const sheets = await store.sheets(ticker)
  const company = await companyOf(store, entry)
  const isCompared = company.facts !== null && sectorKey(securityOf(sheets)) !== null
  const fields = isCompared ? FIELDS_BY_OWN_FACTS : FIELDS_BY_FACTS
  return TIMEFRAME_NAMES.map(timeframe => amendment(company, timeframe, null, fields))
}

/** Derives some fields of a company, as a change of its record; a field without data becomes null. */
function amendment(
  company: Company,
  timeframe: Timeframe,
  sector: SectorView | null,
  fields: readonly Field[],
): Amendment {
  const { series, facts } = companyAsOf(company, timeframe)
  const recorded = recordFields(new Panel(series, facts, sector), fields)
  return {
    ticker: company.entry.ticker,
    timeframe,
    fields: new Map(fields.map(({ name }) => [name, recorded.get(name) ?? null])),
  }
}
