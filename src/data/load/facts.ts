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
import { MOST_ANALYSTS } from '../feeds/facts/rows.js'
import type { TickerFacts } from '../feeds/feed.js'
import { Pending } from '../local/cache.js'
import { countedFacts } from '../local/view.js'
import { Damaged, type Store, type TickerEntry, type TickerSheet } from '../store/store.js'
import type { TickerData } from './derive.js'
import type { Counts } from './merge.js'
import type { SheetReport } from './report.js'

/** What a file's facts change, not yet written. */
export interface MergedFacts {
  reports: SheetReport[]
  /** Tickers that have no bars yet. */
  barless: number
  /** Records that are hardly meant so, in words for people. */
  doubts: Words[]
  sheets: TickerSheet[]
  /** Tickers whose weeks are other ones now, because they trade at weekends or do no more. */
  changed: TickerData[]
  /** What is left to derive once this is written. */
  pending: Pending
}

/**
 * Merges facts with stored ones; readers have already validated the records. Throws BadData for a ticker with two asset
 * classes.
 * @param replaces whether a ticker's records of a kind are replaced
 */
export async function takeFacts(
  store: Store,
  facts: readonly TickerFacts[],
  source: FactSource,
  replaces: (ticker: string, kind: FactKind) => boolean,
): Promise<MergedFacts> {
  const pending = await Pending.read(store)
  const taken: MergedFacts = { reports: [], barless: 0, doubts: [], sheets: [], changed: [], pending }
  for (const [ticker, incoming] of Map.groupBy(facts, ({ ticker }) => ticker)) {
    const begun = incoming.map(({ kind }) => kind).filter(kind => replaces(ticker, kind))
    const before = await soundSheets(store, ticker, begun, taken.pending)
    if (!begun.includes('securities')) refuseOtherClass(ticker, before, incoming, source)
    const after: { [Kind in FactKind]?: FactSheet } = { ...before }
    const merged = incoming.map(({ kind, records }) => {
      const checked = records.map(record => checkedRecord(kind, ticker, record))
      const result = mergeFacts(kind, begun.includes(kind) ? undefined : before[kind], checked, source)
      after[kind] = result.sheet
      return { kind, result }
    })
    taken.reports.push(...merged.map(({ kind, result }) => reportOf(ticker, kind, result)))
    const changed = merged.filter(({ kind, result }) => changes(result, before[kind]))
    taken.sheets.push(...changed.map(({ kind, result }) => ({ ticker, kind, sheet: result.sheet })))
    if (incoming.some(({ kind }) => kind === 'splits')) taken.doubts.push(...doubtsOf(ticker, after as FactSheets))
    const entry = await store.ticker(ticker)
    if (entry === null) taken.barless++
    else if (changed.length > 0) {
      const kinds = changed.map(({ kind }) => kind)
      await markPending(store, entry, { before, after: after as FactSheets, kinds }, taken)
    }
  }
  return taken
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
export async function soundSheets(
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

function changes({ added, replaced, sheet }: MergedSheet, before: FactSheet | undefined): boolean {
  return added + replaced > 0 || sheet.rows.length !== (before?.rows.length ?? 0)
}

/** Vendors date a split by different days; two of one ratio that close are hardly two. */
const SAME_SPLIT_DAYS = 10

function doubtsOf(ticker: string, { splits }: FactSheets): Words[] {
  const all = (splits?.rows ?? []).map(row => row.record)
  return all.flatMap(({ ex_date, ratio }, i): Words[] => {
    const day = formatDay(ex_date)
    const next = all[i + 1]
    if (next?.ex_date === ex_date && next.ratio !== ratio)
      return [`${ticker} is split by ${ratio} and by ${next.ratio} on ${day}, and the one given last counts`]
    const last = ex_date + SAME_SPLIT_DAYS
    const other = all.find(later => later.ratio === ratio && later.ex_date > ex_date && later.ex_date <= last)
    if (other === undefined) return []
    const dates = `${day} and ${formatDay(other.ex_date)}`
    const both = `${ticker} has two splits of ratio ${ratio} on ${dates}, and both count`
    return [sentence`${both}; ${parameter('replace')} starts its splits again`]
  })
}

/** What the comparison within a sector uses: earnings yields, and its members. */
const COMPARED: readonly FactKind[] = ['reports', 'splits', 'securities']

async function markPending(
  store: Store,
  entry: TickerEntry,
  { before, after, kinds }: { before: FactSheets; after: FactSheets; kinds: readonly FactKind[] },
  { changed, pending }: MergedFacts,
): Promise<void> {
  pending.tickers.add(entry.ticker)
  const compared = kinds.some(kind => COMPARED.includes(kind))
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
export function mergeFacts(
  kind: FactKind,
  present: FactSheet | undefined,
  incoming: readonly FactRecord[],
  source: FactSource,
): MergedSheet {
  const rule = RULES[kind] as Rule<FactRecord>
  const number = present?.sources.length ?? 0
  const mine: Map<string, readonly Row[]> = Map.groupBy(present?.rows ?? [], row => rule.key(row.record))
  const counts = { added: 0, replaced: 0, unchanged: 0 }
  const theirs = Map.groupBy(
    incoming.map((record): Row => ({ source: number, record })),
    row => rule.key(row.record),
  )
  for (const [key, incoming] of theirs) {
    const had = mine.get(key) ?? []
    const rows = rule.merge(had, incoming)
    const fresh = rows.filter(row => row.source === number).length
    const dropped = had.filter(row => !rows.includes(row)).length
    const moved = fresh === 0 && rows.some((row, i) => !sameRecord(row.record, had[i]!.record))
    const replaced = Math.min(fresh, dropped) + Number(moved)
    const added = fresh - Math.min(fresh, dropped)
    counts.added += added
    counts.replaced += replaced
    counts.unchanged += Math.max(0, incoming.length - added - replaced)
    mine.set(key, rows)
  }
  const rows = [...mine.values()].flat()
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
  reports: { key: it => `${it.period_end} ${usableFrom(it)} ${it.known}`, merge: appended },
  // A corrected result is no further report: four reports make a year.
  earnings: { key: it => `${it.report_date}`, merge: replaced },
  schedule: { key: it => `${it.known} ${it.expected_date}`, merge: appended },
  ratings: { key: it => `${it.known} ${usableFrom(it)}`, merge: appended },
  grades: { key: it => `${it.known} ${it.firm.trim().toLowerCase()}`, merge: appended },
  insiders: { key: it => JSON.stringify(it), merge: appended },
  splits: { key: it => `${it.ex_date}`, merge: appended },
  securities: { key: () => '', merge: filledIn },
}

/** New records replace the stored ones, unless they say nothing new. */
function replaced(had: readonly Row[], incoming: readonly Row[]): readonly Row[] {
  const rows = appended(had, incoming)
  const stated = rows.slice(rows.length - incoming.length)
  return stated.every(row => had.includes(row)) ? rows : stated
}

/** New records come last; a record that both sides have is stored as often as the side with more copies has it. */
function appended(had: readonly Row[], incoming: readonly Row[]): readonly Row[] {
  const left = [...had]
  const last = incoming.map(row => {
    const at = left.findIndex(other => sameRecord(other.record, row.record))
    return at < 0 ? row : left.splice(at, 1)[0]!
  })
  return [...left, ...last]
}

/** One record of all values: the newest that is known. A source without a sector does not delete a stored one. */
function filledIn(had: readonly Row[], incoming: readonly Row[]): readonly Row[] {
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

/** Sources that no record comes from any more are let go. */
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
export function checkedRecord(kind: FactKind, ticker: string, incoming: object): FactRecord {
  const values: Readonly<Record<string, unknown>> = { ...incoming }
  const columns = FACT_COLUMNS[kind].filter(({ name, rare }) => rare !== true || values[name] != null)
  return Object.fromEntries(
    columns.map(column => [column.name, checked(column, values[column.name], `${kind} of ${ticker}`)]),
  ) as unknown as FactRecord
}

function checked(column: FactColumn, value: unknown, where: string): unknown {
  const { name, holds, required } = column
  if (value === undefined || value === null) {
    if (required !== true) return holds === 'basis' ? 'bars' : null
    throw refusal(where, name, value, 'a value, which every record needs')
  }
  const { holds: fits, allowed } = RECORD_RULES[holds]
  if (!fits(value)) throw refusal(where, name, value, allowed)
  // There is one zero: the other would not come back from the store as it was.
  return typeof value === 'number' ? value + 0 : value
}

function refusal(where: string, param: string, value: unknown, allowed: string): InvalidParameter {
  return new InvalidParameter(`${where}: ${param} ${describeValue(value)} is not ${allowed}.`, {
    param,
    value,
    allowed,
  })
}

type RecordRule = { holds(value: unknown): boolean; allowed: string }

const RECORD_RULES: Readonly<Record<FactColumn['holds'], RecordRule>> = {
  date: { holds: isDay, allowed: DAYS },
  session: word('pre', 'post'),
  number: number(() => true, 'a finite number'),
  amount: number(value => value >= 0, 'a finite number from 0 on'),
  count: number(
    value => value >= 0 && value <= MOST_ANALYSTS && Number.isInteger(value),
    `a whole number from 0 to ${MOST_ANALYSTS}`,
  ),
  positive: number(value => value > 0, 'a finite number above 0'),
  return: number(value => value >= -1, 'a finite number from -1 on'),
  text: { holds: value => typeof value === 'string' && value !== '', allowed: 'text' },
  side: word('buy', 'sell'),
  basis: word('bars', 'filed'),
  asset_class: word('stock', 'crypto', 'etf'),
}

function number(fits: (value: number) => boolean, allowed: string): RecordRule {
  return { holds: value => typeof value === 'number' && Number.isFinite(value) && fits(value), allowed }
}

function word(...words: readonly string[]): RecordRule {
  return { holds: value => words.includes(value as string), allowed: words.join(' or ') }
}
