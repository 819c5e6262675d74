import type { TickerFacts } from '../feeds/feed.js'
import { formatDay } from '../model/day.js'
import { type FactSheet, type FactSheets, type FactSource, securityOf } from '../model/fact-sheet.js'
import type { FactKind } from '../model/facts.js'
import type { Amendment, Store, TickerSheet } from '../store/store.js'
import { amendedByFacts } from './amend.js'
import type { Kept } from './derive.js'
import { countedFacts, sectorKey } from './dossier.js'
import type { ImportOptions, SheetReport } from './import-report.js'
import { type MergedSheet, mergeFacts, spanOf } from './merge-facts.js'

/** What a file's facts change, not yet written. */
export interface TakenFacts {
  reports: SheetReport[]
  sheets: TickerSheet[]
  amendments: Amendment[]
  /** Tickers whose weeks are other ones now, because they trade at weekends or do no more. */
  changed: Kept[]
  /** Sectors whose comparisons are behind when this is written. */
  sectors: string[]
}

/** Merges facts with what is there and records the fields that stand on them anew, where there are bars. */
export async function takeFacts(
  store: Store,
  facts: readonly TickerFacts[],
  source: FactSource,
  { replace = false, onProgress }: Pick<ImportOptions, 'replace' | 'onProgress'>,
): Promise<TakenFacts> {
  const taken: TakenFacts = { reports: [], sheets: [], amendments: [], changed: [], sectors: [] }
  const tickers = byTicker(facts)
  let done = 0
  for (const [ticker, given] of tickers) {
    onProgress?.({ file: source.file, stage: 'deriving', done: done++, of: tickers.size, rows: 0 })
    const before = await store.sheets(ticker)
    const after: { [Kind in FactKind]?: FactSheet } = { ...before }
    const merged = given.map(({ kind, records }) => {
      const result = mergeFacts(kind, replace ? undefined : before[kind], records, source)
      after[kind] = result.sheet
      return { kind, result }
    })
    taken.reports.push(...merged.map(({ kind, result }) => reportOf(ticker, kind, result)))
    const changed = merged.filter(({ kind, result }) => changes(result, before[kind]))
    taken.sheets.push(...changed.map(({ kind, result }) => ({ ticker, kind, sheet: result.sheet })))
    if (changed.length > 0) await amend(store, ticker, before, after as FactSheets, taken)
  }
  return taken
}

function changes({ added, replaced, sheet }: MergedSheet, before: FactSheet | undefined): boolean {
  return added + replaced > 0 || sheet.rows.length !== (before?.rows.length ?? 0)
}

async function amend(
  store: Store,
  ticker: string,
  before: FactSheets,
  after: FactSheets,
  taken: TakenFacts,
): Promise<void> {
  const entry = await store.ticker(ticker)
  if (entry === null) return
  const bars = (await store.bars(ticker))!
  const facts = countedFacts(after)
  const assetClass = securityOf(after)?.asset_class ?? null
  if ((assetClass === 'crypto') !== (entry.assetClass === 'crypto'))
    taken.changed.push({ entry: { ...entry, assetClass }, bars, facts })
  else taken.amendments.push(...amendedByFacts(ticker, bars, assetClass, facts))
  for (const sheets of [before, after]) {
    const sector = sectorKey(securityOf(sheets))
    if (sector !== null && countedFacts(sheets) !== null) taken.sectors.push(sector)
  }
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
