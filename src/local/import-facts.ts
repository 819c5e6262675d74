import type { TickerFacts } from '../feeds/feed.js'
import { formatDay } from '../model/day.js'
import { type FactSheet, type FactSheets, type FactSource, securityOf } from '../model/fact-sheet.js'
import type { FactKind } from '../model/facts.js'
import type { Store, TickerEntry, TickerSheet } from '../store/store.js'
import { Behind } from './behind.js'
import { checkedRecord } from './checked-record.js'
import type { Kept } from './derive.js'
import { countedFacts, sectorKey } from './dossier.js'
import type { SheetReport } from './import-report.js'
import { type MergedSheet, mergeFacts, spanOf } from './merge-facts.js'

/** What a file's facts change, not yet written. */
export interface TakenFacts {
  reports: SheetReport[]
  /** Tickers that have no bars yet. */
  barless: number
  /** Records that are hardly meant so, in words for people. */
  doubts: string[]
  sheets: TickerSheet[]
  /** Tickers whose weeks are other ones now, because they trade at weekends or do no more. */
  changed: Kept[]
  /** What is behind when this is written. */
  behind: Behind
}

/**
 * Merges facts with what is there; what a record may be was checked when it was read.
 * @param replaces whether a ticker's records of a kind are begun again
 */
export async function takeFacts(
  store: Store,
  facts: readonly TickerFacts[],
  source: FactSource,
  replaces: (ticker: string, kind: FactKind) => boolean,
): Promise<TakenFacts> {
  const taken: TakenFacts = {
    reports: [],
    barless: 0,
    doubts: [],
    sheets: [],
    changed: [],
    behind: await Behind.in(store),
  }
  for (const [ticker, given] of byTicker(facts)) {
    const before = await store.sheets(ticker)
    const after: { [Kind in FactKind]?: FactSheet } = { ...before }
    const merged = given.map(({ kind, records }) => {
      const checked = records.map(record => checkedRecord(kind, ticker, record))
      const result = mergeFacts(kind, replaces(ticker, kind) ? undefined : before[kind], checked, source)
      after[kind] = result.sheet
      return { kind, result }
    })
    taken.reports.push(...merged.map(({ kind, result }) => reportOf(ticker, kind, result)))
    const changed = merged.filter(({ kind, result }) => changes(result, before[kind]))
    taken.sheets.push(...changed.map(({ kind, result }) => ({ ticker, kind, sheet: result.sheet })))
    if (given.some(({ kind }) => kind === 'splits')) taken.doubts.push(...doubtsOf(ticker, after as FactSheets))
    const entry = await store.ticker(ticker)
    if (entry === null) taken.barless++
    else if (changed.length > 0) {
      const kinds = changed.map(({ kind }) => kind)
      await fallBehind(store, entry, { before, after: after as FactSheets, kinds }, taken)
    }
  }
  return taken
}

function changes({ added, replaced, sheet }: MergedSheet, before: FactSheet | undefined): boolean {
  return added + replaced > 0 || sheet.rows.length !== (before?.rows.length ?? 0)
}

/** Vendors date a split by different days; two of one ratio that close are hardly two. */
const SAME_SPLIT_DAYS = 10

function doubtsOf(ticker: string, { splits }: FactSheets): string[] {
  const all = (splits?.rows ?? []).map(row => row.record)
  return all.flatMap(({ ex_date, ratio }, i) => {
    const day = formatDay(ex_date)
    const next = all[i + 1]
    if (next?.ex_date === ex_date && next.ratio !== ratio)
      return [`${ticker} is split by ${ratio} and by ${next.ratio} on ${day}, and the one given last counts`]
    const other = all.slice(i + 1).find(later => later.ratio === ratio && isNear(later.ex_date, ex_date))
    if (other === undefined) return []
    const dates = `${day} and ${formatDay(other.ex_date)}`
    return [`${ticker} has two splits of ratio ${ratio} on ${dates}, and both count; --replace starts its splits again`]
  })
}

function isNear(one: number, other: number): boolean {
  return one !== other && Math.abs(one - other) <= SAME_SPLIT_DAYS
}

/** What the comparison within a sector stands on: earnings yields, and who is in it. */
const COMPARED: readonly FactKind[] = ['reports', 'splits', 'securities']

async function fallBehind(
  store: Store,
  entry: TickerEntry,
  { before, after, kinds }: { before: FactSheets; after: FactSheets; kinds: readonly FactKind[] },
  { changed, behind }: TakenFacts,
): Promise<void> {
  behind.tickers.add(entry.ticker)
  const compared = kinds.some(kind => COMPARED.includes(kind))
  for (const sheets of [before, after]) {
    const sector = sectorKey(securityOf(sheets))
    if (sector !== null && compared && countedFacts(sheets) !== null) behind.sectors.add(sector)
  }
  const assetClass = securityOf(after)?.asset_class ?? null
  if ((assetClass === 'crypto') === (entry.assetClass === 'crypto')) return
  changed.push({ entry: { ...entry, assetClass }, bars: (await store.bars(entry.ticker))!, facts: countedFacts(after) })
}

function reportOf(ticker: string, kind: FactKind, { sheet, ...counts }: MergedSheet): SheetReport {
  const span = spanOf(kind, sheet)
  const dates =
    span === null ? { first: null, last: null } : { first: formatDay(span.first), last: formatDay(span.last) }
  return { ticker, kind, ...counts, records: sheet.rows.length, ...dates }
}

function byTicker(facts: readonly TickerFacts[]): Map<string, TickerFacts[]> {
  const found = new Map<string, TickerFacts[]>()
  for (const given of facts) found.set(given.ticker, [...(found.get(given.ticker) ?? []), given])
  return found
}
