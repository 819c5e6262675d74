import { BadData, describeValue, InvalidParameter, parameter, sentence, type Words } from '../../core/errors.js'
import { dateOf, formatDay, isDay } from '../../core/model/day.js'
import {
  FACT_COLUMNS,
  type FactColumn,
  type FactKind,
  type FactRecord,
  type FactRecords,
  type FactSheet,
  type FactSheets,
  type FactSource,
  knownOn,
  type Security,
  securityOf,
  usableFrom,
} from '../../core/model/facts.js'
import { DAYS } from '../../core/params/arguments.js'
import { MAX_ANALYSTS } from '../feeds/facts/rows.js'
import type { TickerFacts } from '../feeds/feed.js'
import { Pending } from '../local/cache.js'
import { countedFacts } from '../local/view.js'
import { Damaged, type Store, type TickerEntry, type TickerSheet } from '../store/store.js'
import type { TickerData } from './derive.js'
import type { Counts } from './merge.js'
import type { SheetReport } from './report.js'

/** The changes that a file's facts make, not yet written. */
export interface MergedFacts {
  reports: SheetReport[]
  /** Tickers that have no bars yet. */
  barless: number
  /** Sentences about records that are probably wrong, for people. */
  doubts: Words[]
  sheets: TickerSheet[]
  /** Tickers that became crypto or no longer are: weeks with weekends differ from those without. */
  changed: TickerData[]
  /** What is left to derive once this is written. */
  pending: Pending
}

/**
 * Merges facts with stored ones; readers have already validated the records. Throws BadData for a ticker with two asset
 * classes.
 * @param replaces whether a ticker's records of a kind are replaced
 */
export async function mergeFactsOfFile(
  store: Store,
  facts: readonly TickerFacts[],
  source: FactSource,
  replaces: (ticker: string, kind: FactKind) => boolean,
): Promise<MergedFacts> {
  const pending = await Pending.read(store)
  const mergedFacts: MergedFacts = { reports: [], barless: 0, doubts: [], sheets: [], changed: [], pending }
  for (const [ticker, incoming] of Map.groupBy(facts, ({ ticker }) => ticker)) {
    const replacedKinds = incoming.map(({ kind }) => kind).filter(kind => replaces(ticker, kind))
    const before = await undamagedSheets(store, ticker, replacedKinds, mergedFacts.pending)
    if (!replacedKinds.includes('securities')) refuseOtherClass(ticker, before, incoming, source)
    const after: { [Kind in FactKind]?: FactSheet } = { ...before }
    const merged = incoming.map(({ kind, records }) => {
      const newRecords = records.map(record => recordToStore(kind, ticker, record))
      const result = mergeSheet(kind, replacedKinds.includes(kind) ? undefined : before[kind], newRecords, source)
      after[kind] = result.sheet
      return { kind, result }
    })
    mergedFacts.reports.push(...merged.map(({ kind, result }) => reportOf(ticker, kind, result)))
    const changed = merged.filter(({ kind, result }) => isChanged(result, before[kind]))
    mergedFacts.sheets.push(...changed.map(({ kind, result }) => ({ ticker, kind, sheet: result.sheet })))
    if (incoming.some(({ kind }) => kind === 'splits'))
      mergedFacts.doubts.push(...splitDoubts(ticker, after as FactSheets))
    const entry = await store.ticker(ticker)
    if (entry === null) mergedFacts.barless++
    else if (changed.length > 0) {
      const kinds = changed.map(({ kind }) => kind)
      await markPending(store, entry, { before, after: after as FactSheets, kinds }, mergedFacts)
    }
  }
  return mergedFacts
}

/** Throws BadData if the store has another asset class for a ticker: it is unknown which one is right. */
function refuseOtherClass(
  ticker: string,
  { securities }: FactSheets,
  incoming: readonly TickerFacts[],
  { file }: FactSource,
): void {
  const stored = securities?.rows.at(-1)
  const classes = incoming.flatMap(({ kind, records }) =>
    kind === 'securities' ? (records as readonly Security[]).map(({ asset_class }) => asset_class) : [],
  )
  const other = classes.find(found => found !== null && found !== stored?.record.asset_class)
  if (stored === undefined || stored.record.asset_class === null || other === undefined) return
  const from = securities!.sources[stored.source]!.file
  const what = `${ticker} is of class ${stored.record.asset_class} by ${from}, and of class ${other} by this file`
  throw new BadData({ file }, sentence`${what}; ${parameter('replace')} starts its securities again from this file`)
}

/**
 * A ticker's facts. Damaged kinds that may be lost are left out, and every sector becomes pending: their content is
 * unknown. Throws Damaged for other kinds.
 */
export async function undamagedSheets(
  store: Store,
  ticker: string,
  mayGo: readonly FactKind[],
  pending: Pending,
): Promise<FactSheets> {
  try {
    return await store.sheets(ticker)
  } catch (error) {
    if (!(error instanceof Damaged && mayGo.length > 0)) throw error
    const sheets = await store.sheets(ticker, mayGo)
    for (const other of await store.factTickers())
      pending.addSectorOf(await store.sheets(other).then(securityOf, nullIfDamaged))
    return sheets
  }
}

function nullIfDamaged(error: unknown): null {
  if (error instanceof Damaged) return null
  throw error
}

function isChanged({ added, replaced, sheet }: MergedSheet, before: FactSheet | undefined): boolean {
  return added + replaced > 0 || sheet.rows.length !== (before?.rows.length ?? 0)
}

/** Vendors date a split by different days; two of one ratio that close are hardly two. */
const MAX_DAYS_BETWEEN_SAME_SPLIT = 10

function splitDoubts(ticker: string, { splits }: FactSheets): Words[] {
  const records = (splits?.rows ?? []).map(row => row.record)
  return records.flatMap(({ ex_date, ratio }, i): Words[] => {
    const day = formatDay(ex_date)
    const next = records[i + 1]
    if (next?.ex_date === ex_date && next.ratio !== ratio)
      return [`${ticker} is split by ${ratio} and by ${next.ratio} on ${day}, and the one given last counts`]
    const last = ex_date + MAX_DAYS_BETWEEN_SAME_SPLIT
    const other = records.find(later => later.ratio === ratio && later.ex_date > ex_date && later.ex_date <= last)
    if (other === undefined) return []
    const dates = `${day} and ${formatDay(other.ex_date)}`
    const both = `${ticker} has two splits of ratio ${ratio} on ${dates}, and both count`
    return [sentence`${both}; ${parameter('replace')} starts its splits again`]
  })
}

/** Kinds of facts that change a sector's comparison: its earnings yields or its members. */
const KINDS_COMPARED_IN_SECTOR: readonly FactKind[] = ['reports', 'splits', 'securities']

async function markPending(
  store: Store,
  entry: TickerEntry,
  { before, after, kinds }: { before: FactSheets; after: FactSheets; kinds: readonly FactKind[] },
  { changed, pending }: MergedFacts,
): Promise<void> {
  pending.tickers.add(entry.ticker)
  const compared = kinds.some(kind => KINDS_COMPARED_IN_SECTOR.includes(kind))
  for (const sheets of [before, after])
    if (compared && countedFacts(sheets) !== null) pending.addSectorOf(securityOf(sheets))
  const assetClass = securityOf(after)?.asset_class ?? null
  if ((assetClass === 'crypto') === (entry.assetClass === 'crypto')) return
  changed.push({
    entry: { ...entry, assetClass },
    daily: (await store.bars(entry.ticker))!,
    facts: countedFacts(after),
  })
}

function reportOf(ticker: string, kind: FactKind, { sheet: { rows }, ...counts }: MergedSheet): SheetReport {
  const dateAt = (place: number): string | null =>
    dateOf(rows.length === 0 ? null : knownOn(kind, rows.at(place)!.record))
  return { ticker, kind, ...counts, records: rows.length, first: dateAt(0), last: dateAt(-1) }
}

interface MergedSheet extends Counts {
  sheet: FactSheet
}

type Row = FactSheet['rows'][number]

/**
 * Merges records of one kind with the stored ones. Among records about the same thing the newest come last and count;
 * the others stay, as a restated figure does not delete the old one. Only single facts (a report's result, the kind of
 * security) replace earlier ones.
 */
export function mergeSheet(
  kind: FactKind,
  present: FactSheet | undefined,
  incoming: readonly FactRecord[],
  source: FactSource,
): MergedSheet {
  const rule = RULES[kind] as Rule<FactRecord>
  const newSource = present?.sources.length ?? 0
  const rowsByKey: Map<string, readonly Row[]> = Map.groupBy(present?.rows ?? [], row => rule.key(row.record))
  const counts = { added: 0, replaced: 0, unchanged: 0 }
  const incomingByKey = Map.groupBy(
    incoming.map((record): Row => ({ source: newSource, record })),
    row => rule.key(row.record),
  )
  for (const [key, incoming] of incomingByKey) {
    const had = rowsByKey.get(key) ?? []
    const rows = rule.merge(had, incoming)
    const newRows = rows.filter(row => row.source === newSource).length
    const dropped = had.filter(row => !rows.includes(row)).length
    const moved = newRows === 0 && rows.some((row, i) => !sameRecord(row.record, had[i]!.record))
    const replaced = Math.min(newRows, dropped) + Number(moved)
    const added = newRows - Math.min(newRows, dropped)
    counts.added += added
    counts.replaced += replaced
    counts.unchanged += Math.max(0, incoming.length - added - replaced)
    rowsByKey.set(key, rows)
  }
  const rows = [...rowsByKey.values()].flat()
  const knownDay = ({ record }: Row): number => knownOn(kind, record) ?? 0
  rows.sort((a, b) => knownDay(a) - knownDay(b))
  return { sheet: withSources(rows, [...(present?.sources ?? []), source]), ...counts }
}

interface Rule<Of extends FactRecord> {
  /** The subject of a record: among records with the same key the newest counts. */
  key(record: Of): string
  merge(had: readonly Row[], incoming: readonly Row[]): readonly Row[]
}

const RULES: { [Kind in FactKind]: Rule<FactRecords[Kind]> } = {
  reports: { key: it => `${it.period_end} ${usableFrom(it)} ${it.known}`, merge: appendRows },
  // A corrected result is no further report: four reports make a year.
  earnings: { key: it => `${it.report_date}`, merge: replaceRows },
  schedule: { key: it => `${it.known} ${it.expected_date}`, merge: appendRows },
  ratings: { key: it => `${it.known} ${usableFrom(it)}`, merge: appendRows },
  grades: { key: it => `${it.known} ${it.firm.trim().toLowerCase()}`, merge: appendRows },
  insiders: { key: it => JSON.stringify(it), merge: appendRows },
  splits: { key: it => `${it.ex_date}`, merge: appendRows },
  securities: { key: () => '', merge: fillInRows },
}

/** The rows after a merge in which new records replace the stored ones, unless all of them are stored already. */
function replaceRows(had: readonly Row[], incoming: readonly Row[]): readonly Row[] {
  const rows = appendRows(had, incoming)
  const stated = rows.slice(rows.length - incoming.length)
  return stated.every(row => had.includes(row)) ? rows : stated
}

/**
 * The stored rows without an equal in `incoming`, then the incoming ones. Each of these takes the place of one equal
 * stored row, which is kept in its stead.
 */
function appendRows(had: readonly Row[], incoming: readonly Row[]): readonly Row[] {
  const unmatched = [...had]
  const kept = incoming.map(row => {
    const at = unmatched.findIndex(other => sameRecord(other.record, row.record))
    return at < 0 ? row : unmatched.splice(at, 1)[0]!
  })
  return [...unmatched, ...kept]
}

/** One row with the newest known value of each column. A source without a sector does not delete a stored one. */
function fillInRows(had: readonly Row[], incoming: readonly Row[]): readonly Row[] {
  const all = [...had, ...incoming].map(row => row.record as object)
  const known = all.map(record => Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null)))
  // The first record has all keys, also those that stay null.
  const record = Object.assign({}, all[0], ...known) as FactRecord
  if (had.length > 0 && sameRecord(had.at(-1)!.record, record)) return had
  return [{ source: incoming[0]!.source, record }]
}

function sameRecord(a: FactRecord, b: FactRecord): boolean {
  const [one, other] = [a, b] as unknown as Record<string, unknown>[]
  // Rare columns may be missing in one of them: unknown there.
  const names = new Set([...Object.keys(one!), ...Object.keys(other!)])
  return [...names].every(name => Object.is(one![name] ?? null, other![name] ?? null))
}

/** A sheet of these rows, without the sources that no row comes from. */
function withSources(rows: readonly Row[], sources: readonly FactSource[]): FactSheet {
  const used = [...new Set(rows.map(row => row.source))].sort((a, b) => a - b)
  return {
    sources: used.map(i => sources[i]!),
    rows: rows.map(({ source, record }) => ({ source: used.indexOf(source), record })),
  }
}

/**
 * A record as stored: only its own columns, in order, so that equal records are stored equally. Throws InvalidParameter
 * for a value that its column cannot hold. File readers check that with line numbers, but records also come from
 * programs.
 */
export function recordToStore(kind: FactKind, ticker: string, incoming: object): FactRecord {
  const values: Readonly<Record<string, unknown>> = { ...incoming }
  const columns = FACT_COLUMNS[kind].filter(({ name, rare }) => rare !== true || values[name] != null)
  return Object.fromEntries(
    columns.map(column => [column.name, valueToStore(column, values[column.name], `${kind} of ${ticker}`)]),
  ) as unknown as FactRecord
}

function valueToStore(column: FactColumn, value: unknown, where: string): unknown {
  const { name, holds, required } = column
  if (value === undefined || value === null) {
    if (required !== true) return holds === 'basis' ? 'bars' : null
    throw invalidValue(where, name, value, 'a value, which every record needs')
  }
  const { holds: fits, allowed } = RECORD_RULES[holds]
  if (!fits(value)) throw invalidValue(where, name, value, allowed)
  // There is one zero: the other would not come back from the store as it was.
  return typeof value === 'number' ? value + 0 : value
}

function invalidValue(where: string, param: string, value: unknown, allowed: string): InvalidParameter {
  return new InvalidParameter(`${where}: ${param} ${describeValue(value)} is not ${allowed}.`, {
    param,
    value,
    allowed,
  })
}

type RecordRule = { holds(value: unknown): boolean; allowed: string }

const RECORD_RULES: Readonly<Record<FactColumn['holds'], RecordRule>> = {
  date: { holds: isDay, allowed: DAYS },
  session: wordRule('pre', 'post'),
  number: numberRule(() => true, 'a finite number'),
  amount: numberRule(value => value >= 0, 'a finite number from 0 on'),
  count: numberRule(
    value => value >= 0 && value <= MAX_ANALYSTS && Number.isInteger(value),
    `a whole number from 0 to ${MAX_ANALYSTS}`,
  ),
  positive: numberRule(value => value > 0, 'a finite number above 0'),
  return: numberRule(value => value >= -1, 'a finite number from -1 on'),
  text: { holds: value => typeof value === 'string' && value !== '', allowed: 'text' },
  side: wordRule('buy', 'sell'),
  basis: wordRule('bars', 'filed'),
  asset_class: wordRule('stock', 'crypto', 'etf'),
}

function numberRule(fits: (value: number) => boolean, allowed: string): RecordRule {
  return { holds: value => typeof value === 'number' && Number.isFinite(value) && fits(value), allowed }
}

function wordRule(...words: readonly string[]): RecordRule {
  return { holds: value => words.includes(value as string), allowed: words.join(' or ') }
}
