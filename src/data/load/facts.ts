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
  firstUsableDay,
  knownOn,
  type Security,
  securityOf,
} from '../../core/model/facts.js'
import { DAYS } from '../../core/params/arguments.js'
import { MAX_ANALYSTS } from '../feeds/facts/rows.js'
import type { TickerFacts } from '../feeds/feed.js'
import { Pending } from '../local/cache.js'
import { usableFacts } from '../local/view.js'
import { Damaged, type Store, type TickerEntry, type TickerSheet } from '../store/store.js'
import type { TickerData } from './derive.js'
import type { Counts } from './merge.js'
import type { SheetReport } from './report.js'

/** The changes that a file's facts make, not yet written. */
export interface MergedFacts {
  reports: SheetReport[]
  barless: number
  /** Sentences about records that are probably wrong, for people. */
  doubts: Words[]
  sheets: TickerSheet[]
  /** Tickers that became crypto or no longer are: weeks with weekends differ from those without. */
  changedTickers: TickerData[]
  /** What is left to derive once this is written. */
  pending: Pending
}

/**
 * Merges facts with stored ones. Writes nothing: returns the changed sheets, and the tickers whose bars change with
 * them. In `pending` are the tickers and sectors to derive again once these are written. Damaged sheets of replaced
 * kinds count as absent. Throws BadData for a ticker with two asset classes, and Damaged for other damaged sheets.
 * @param replaces whether a ticker's records of a kind are replaced
 */
export async function mergeFactsOfFile(
  store: Store,
  facts: readonly TickerFacts[],
  source: FactSource,
  replaces: (ticker: string, kind: FactKind) => boolean,
): Promise<MergedFacts> {
  const pending = await Pending.read(store)
  const mergedFacts: MergedFacts = { reports: [], barless: 0, doubts: [], sheets: [], changedTickers: [], pending }
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
    mergedFacts.reports.push(...merged.map(({ kind, result }) => sheetReport(ticker, kind, result)))
    const changedSheets = merged.filter(({ kind, result }) => changesSheet(result, before[kind]))
    mergedFacts.sheets.push(...changedSheets.map(({ kind, result }) => ({ ticker, kind, sheet: result.sheet })))
    if (incoming.some(({ kind }) => kind === 'splits'))
      mergedFacts.doubts.push(...splitDoubts(ticker, after as FactSheets))
    const entry = await store.ticker(ticker)
    if (entry === null) mergedFacts.barless++
    else if (changedSheets.length > 0) {
      const kinds = changedSheets.map(({ kind }) => kind)
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
  if (stored === undefined || stored.record.asset_class === null) return
  const storedClass = stored.record.asset_class
  const classes = incoming
    .filter(({ kind }) => kind === 'securities')
    .flatMap(({ records }) => (records as readonly Security[]).map(({ asset_class }) => asset_class))
  const otherClass = classes.find(assetClass => assetClass !== null && assetClass !== storedClass)
  if (otherClass === undefined) return
  const storedFile = securities!.sources[stored.source]!.file
  const what = `${ticker} is of class ${storedClass} by ${storedFile}, and of class ${otherClass} by this file`
  throw new BadData({ file }, sentence`${what}; ${parameter('replace')} starts its securities again from this file`)
}

/**
 * A ticker's facts. Damaged kinds are left out if they may be lost. Then it is unknown which sector they named, so
 * every sector is marked to be derived again. Throws Damaged for other damaged kinds.
 * @param mayBeLost kinds that will be replaced or removed
 */
export async function undamagedSheets(
  store: Store,
  ticker: string,
  mayBeLost: readonly FactKind[],
  pending: Pending,
): Promise<FactSheets> {
  try {
    return await store.sheets(ticker)
  } catch (error) {
    if (!(error instanceof Damaged && mayBeLost.length > 0)) throw error
    const sheets = await store.sheets(ticker, mayBeLost)
    for (const other of await store.factTickers())
      pending.addSectorOf(await store.sheets(other).then(securityOf, nullIfDamaged))
    return sheets
  }
}

function nullIfDamaged(error: unknown): null {
  if (error instanceof Damaged) return null
  throw error
}

function changesSheet({ added, replaced, sheet }: MergedSheet, before: FactSheet | undefined): boolean {
  return added + replaced > 0 || sheet.rows.length !== (before?.rows.length ?? 0)
}

/** Vendors date a split by different days; two of one ratio that close are hardly two. */
const MAX_DAYS_BETWEEN_SAME_SPLIT = 10

/** Doubts about pairs of stored splits of a ticker that are probably the same split. */
function splitDoubts(ticker: string, { splits }: FactSheets): Words[] {
  const records = (splits?.rows ?? []).map(row => row.record)
  const doubts: Words[] = []
  for (const [i, { ex_date, ratio }] of records.entries()) {
    const day = formatDay(ex_date)
    const next = records[i + 1]
    if (next?.ex_date === ex_date && next.ratio !== ratio) {
      doubts.push(`${ticker} is split by ${ratio} and by ${next.ratio} on ${day}, and the one given last counts`)
      continue
    }
    const lastDay = ex_date + MAX_DAYS_BETWEEN_SAME_SPLIT
    const repeat = records.find(later => later.ratio === ratio && later.ex_date > ex_date && later.ex_date <= lastDay)
    if (repeat === undefined) continue
    const what = `${ticker} has two splits of ratio ${ratio} on ${day} and ${formatDay(repeat.ex_date)}, and both count`
    doubts.push(sentence`${what}; ${parameter('replace')} starts its splits again`)
  }
  return doubts
}

/** Kinds of facts that change a sector's comparison: its earnings yields or its members. */
const KINDS_COMPARED_IN_SECTOR: readonly FactKind[] = ['reports', 'splits', 'securities']

/**
 * Notes the work that changed facts leave: in `pending` the ticker and its sectors. A ticker that became crypto, or no
 * longer is, is added to `changedTickers`, because its bars change.
 */
async function markPending(
  store: Store,
  entry: TickerEntry,
  { before, after, kinds }: { before: FactSheets; after: FactSheets; kinds: readonly FactKind[] },
  { changedTickers, pending }: MergedFacts,
): Promise<void> {
  pending.tickers.add(entry.ticker)
  const changesComparison = kinds.some(kind => KINDS_COMPARED_IN_SECTOR.includes(kind))
  for (const sheets of [before, after])
    if (changesComparison && usableFacts(sheets) !== null) pending.addSectorOf(securityOf(sheets))
  const assetClass = securityOf(after)?.asset_class ?? null
  if ((assetClass === 'crypto') === (entry.assetClass === 'crypto')) return
  const daily = (await store.bars(entry.ticker))!
  changedTickers.push({ entry: { ...entry, assetClass }, daily, facts: usableFacts(after) })
}

function sheetReport(ticker: string, kind: FactKind, { sheet: { rows }, ...counts }: MergedSheet): SheetReport {
  const knownDate = (row: Row | undefined): string | null =>
    row === undefined ? null : dateOf(knownOn(kind, row.record))
  return { ticker, kind, ...counts, records: rows.length, first: knownDate(rows[0]), last: knownDate(rows.at(-1)) }
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
  storedSheet: FactSheet | undefined,
  incoming: readonly FactRecord[],
  source: FactSource,
): MergedSheet {
  const rule = RULES[kind] as Rule<FactRecord>
  const newSource = storedSheet?.sources.length ?? 0
  const rowsByKey: Map<string, readonly Row[]> = Map.groupBy(storedSheet?.rows ?? [], row => rule.key(row.record))
  const counts = { added: 0, replaced: 0, unchanged: 0 }
  const incomingRows = incoming.map((record): Row => ({ source: newSource, record }))
  for (const [key, incomingOfKey] of Map.groupBy(incomingRows, row => rule.key(row.record))) {
    const stored = rowsByKey.get(key) ?? []
    const merged = rule.merge(stored, incomingOfKey)
    const newRows = merged.filter(row => row.source === newSource).length
    const droppedRows = stored.filter(row => !merged.includes(row)).length
    // A record that is stored already may be given again, after a newer one: it counts again, which is a replacement.
    const isReordered = newRows === 0 && merged.some((row, i) => !sameRecord(row.record, stored[i]!.record))
    const replaced = Math.min(newRows, droppedRows) + Number(isReordered)
    const added = newRows - Math.min(newRows, droppedRows)
    counts.added += added
    counts.replaced += replaced
    counts.unchanged += Math.max(0, incomingOfKey.length - added - replaced)
    rowsByKey.set(key, merged)
  }
  const rows = [...rowsByKey.values()].flat()
  const knownDay = ({ record }: Row): number => knownOn(kind, record) ?? 0
  rows.sort((a, b) => knownDay(a) - knownDay(b))
  return { sheet: withSources(rows, [...(storedSheet?.sources ?? []), source]), ...counts }
}

interface Rule<Of extends FactRecord> {
  /** The subject of a record: among records with the same key the newest counts. */
  key(record: Of): string
  merge(stored: readonly Row[], incoming: readonly Row[]): readonly Row[]
}

const RULES: { [Kind in FactKind]: Rule<FactRecords[Kind]> } = {
  reports: { key: record => `${record.period_end} ${firstUsableDay(record)} ${record.known}`, merge: appendRows },
  // A corrected result is no further report: four reports make a year.
  earnings: { key: record => `${record.report_date}`, merge: replaceRows },
  schedule: { key: record => `${record.known} ${record.expected_date}`, merge: appendRows },
  ratings: { key: record => `${record.known} ${firstUsableDay(record)}`, merge: appendRows },
  grades: { key: record => `${record.known} ${record.firm.trim().toLowerCase()}`, merge: appendRows },
  insiders: { key: record => JSON.stringify(record), merge: appendRows },
  splits: { key: record => `${record.ex_date}`, merge: appendRows },
  securities: { key: () => '', merge: fillInRows },
}

/** The incoming rows, in place of the stored ones. If all of them are stored already, every stored row stays. */
function replaceRows(stored: readonly Row[], incoming: readonly Row[]): readonly Row[] {
  const rows = appendRows(stored, incoming)
  const newest = rows.slice(rows.length - incoming.length)
  return newest.every(row => stored.includes(row)) ? rows : newest
}

/**
 * The stored rows without an equal in `incoming`, then the incoming ones. For an incoming row with an equal stored one,
 * the stored row itself is listed.
 */
function appendRows(stored: readonly Row[], incoming: readonly Row[]): readonly Row[] {
  const unmatched = [...stored]
  const newest = incoming.map(row => {
    const equalIndex = unmatched.findIndex(({ record }) => sameRecord(record, row.record))
    return equalIndex < 0 ? row : unmatched.splice(equalIndex, 1)[0]!
  })
  return [...unmatched, ...newest]
}

/** One row with the newest known value of each column. A source without a sector does not delete a stored one. */
function fillInRows(stored: readonly Row[], incoming: readonly Row[]): readonly Row[] {
  const records = [...stored, ...incoming].map(row => row.record as object)
  const knownValues = records.map(values =>
    Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null)),
  )
  // The first record has all keys, also those that stay null.
  const record = Object.assign({}, records[0], ...knownValues) as FactRecord
  if (stored.length > 0 && sameRecord(stored.at(-1)!.record, record)) return stored
  return [{ source: incoming[0]!.source, record }]
}

/** Whether two records have the same values. A rare column may be missing in one of them: it is null there. */
function sameRecord(a: FactRecord, b: FactRecord): boolean {
  const valuesA = a as unknown as Record<string, unknown>
  const valuesB = b as unknown as Record<string, unknown>
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...names].every(name => Object.is(valuesA[name] ?? null, valuesB[name] ?? null))
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

/** A value as its column stores it. Throws InvalidParameter for one it cannot hold. @param where `reports of AAPL` */
function valueToStore(column: FactColumn, value: unknown, where: string): unknown {
  const { name, holds, required } = column
  if (value === undefined || value === null) {
    // By default, figures a share count the shares of the bars' prices.
    if (required !== true) return holds === 'basis' ? 'bars' : null
    throw invalidValue(where, name, value, 'a value, which every record needs')
  }
  const { allows, allowed } = RECORD_RULES[holds]
  if (!allows(value)) throw invalidValue(where, name, value, allowed)
  // There is one zero: the other would not come back from the store as it was.
  return typeof value === 'number' ? value + 0 : value
}

function invalidValue(where: string, param: string, value: unknown, allowed: string): InvalidParameter {
  const message = `${where}: ${param} ${describeValue(value)} is not ${allowed}.`
  return new InvalidParameter(message, { param, value, allowed })
}

/** A test of values, and a phrase for the allowed ones. */
type RecordRule = { allows(value: unknown): boolean; allowed: string }

const RECORD_RULES: Readonly<Record<FactColumn['holds'], RecordRule>> = {
  date: { allows: isDay, allowed: DAYS },
  session: wordRule('pre', 'post'),
  number: numberRule(() => true, 'a finite number'),
  amount: numberRule(value => value >= 0, 'a finite number from 0 on'),
  count: numberRule(
    value => value >= 0 && value <= MAX_ANALYSTS && Number.isInteger(value),
    `a whole number from 0 to ${MAX_ANALYSTS}`,
  ),
  positive: numberRule(value => value > 0, 'a finite number above 0'),
  return: numberRule(value => value >= -1, 'a finite number from -1 on'),
  text: { allows: value => typeof value === 'string' && value !== '', allowed: 'text' },
  side: wordRule('buy', 'sell'),
  basis: wordRule('bars', 'filed'),
  asset_class: wordRule('stock', 'crypto', 'etf'),
}

function numberRule(fits: (value: number) => boolean, allowed: string): RecordRule {
  return { allows: value => typeof value === 'number' && Number.isFinite(value) && fits(value), allowed }
}

function wordRule(...words: readonly string[]): RecordRule {
  return { allows: value => words.includes(value as string), allowed: words.join(' or ') }
}
