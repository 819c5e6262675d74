import type { FactSheet, FactSource } from '../model/fact-sheet.js'
import { FACT_COLUMNS, type FactKind, type FactRecord, type FactRecords, usableFrom } from '../model/facts.js'

export interface MergedSheet {
  sheet: FactSheet
  /** Records that are new, that take another's place, that were there alike. */
  added: number
  replaced: number
  unchanged: number
}

type Row = FactSheet['rows'][number]

/**
 * Puts records of one kind into those that are there. What is said again about the same thing (a quarter as known on a
 * day, the report of a date) takes the place of what was said before; versions that became known on another day stay.
 */
export function mergeFacts(
  kind: FactKind,
  present: FactSheet | undefined,
  incoming: readonly FactRecord[],
  source: FactSource,
): MergedSheet {
  const rule = RULES[kind] as Rule<FactRecord>
  const number = present?.sources.length ?? 0
  const mine = grouped(present?.rows ?? [], rule.key)
  const counts = { added: 0, replaced: 0, unchanged: 0 }
  const theirs = grouped(
    incoming.map(record => ({ source: number, record })),
    rule.key,
  )
  for (const [key, given] of theirs) {
    const had = mine.get(key) ?? []
    const rows = rule.merge(had, given)
    const fresh = rows.filter(row => row.source === number).length
    counts.unchanged += given.length - Math.min(fresh, given.length)
    counts[had.length === 0 || rows.length > had.length ? 'added' : 'replaced'] += fresh
    mine.set(key, rows)
  }
  const rows = [...mine.values()].flat()
  rows.sort((a, b) => rule.date(a.record) - rule.date(b.record))
  return { sheet: withSources(rows, [...(present?.sources ?? []), source]), ...counts }
}

interface Rule<Of extends FactRecord> {
  /** What a record speaks about: of several with one key those given last count. */
  key(record: Of): string
  /** Where it stands in the sheet. */
  date(record: Of): number
  merge(had: readonly Row[], given: readonly Row[]): readonly Row[]
}

const RULES: { [Kind in FactKind]: Rule<FactRecords[Kind]> } = {
  reports: { key: it => `${it.period_end} ${usableFrom(it)} ${it.known}`, date: it => it.known, merge: replaced },
  earnings: { key: it => `${it.report_date}`, date: it => it.report_date, merge: replaced },
  schedule: { key: it => `${it.known} ${it.expected_date}`, date: it => it.known, merge: replaced },
  ratings: { key: it => `${it.known} ${usableFrom(it)}`, date: it => it.known, merge: replaced },
  grades: { key: it => `${it.known} ${it.firm.toLowerCase()}`, date: it => it.known, merge: replaced },
  // Two equal trades of one file are two trades; given again they are the same two.
  insiders: { key: it => JSON.stringify(it), date: it => it.known, merge: more },
  splits: { key: it => `${it.ex_date}`, date: it => it.ex_date, merge: replaced },
  securities: { key: () => '', date: () => 0, merge: completed },
}

function replaced(had: readonly Row[], given: readonly Row[]): readonly Row[] {
  const same = had.length === given.length && had.every((row, i) => sameRecord(row.record, given[i]!.record))
  return same ? had : given
}

function more(had: readonly Row[], given: readonly Row[]): readonly Row[] {
  return [...had, ...given.slice(had.length)]
}

/** A source that does not tell the sector does not take it away. */
function completed(had: readonly Row[], given: readonly Row[]): readonly Row[] {
  const all = [...had, ...given].map(row => row.record as object)
  const told = all.map(record => Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null)))
  const record = Object.assign({}, ...all.slice(0, 1), ...told) as FactRecord
  if (had.length > 0 && sameRecord(had.at(-1)!.record, record)) return had
  return [{ source: given[0]!.source, record }]
}

function sameRecord(a: FactRecord, b: FactRecord): boolean {
  const [one, other] = [a, b] as unknown as Record<string, unknown>[]
  return Object.keys(one!).every(name => Object.is(one![name], other![name]))
}

function grouped<Of extends FactRecord>(
  rows: readonly Row[],
  key: (record: Of) => string,
): Map<string, readonly Row[]> {
  const groups = new Map<string, Row[]>()
  for (const row of rows) {
    const name = key(row.record as Of)
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [row])
    else group.push(row)
  }
  return groups
}

/** Sources that no record comes from any more are let go. */
function withSources(rows: readonly Row[], sources: readonly FactSource[]): FactSheet {
  const used = [...new Set(rows.map(row => row.source))].sort((a, b) => a - b)
  return {
    sources: used.map(i => sources[i]!),
    rows: rows.map(({ source, record }) => ({ source: used.indexOf(source), record })),
  }
}

/** First and last of the dates by which a sheet is kept in order; null for what is undated. */
export function spanOf(kind: FactKind, { rows }: FactSheet): { first: number; last: number } | null {
  if (!FACT_COLUMNS[kind].some(({ holds }) => holds === 'date') || rows.length === 0) return null
  const date = (RULES[kind] as Rule<FactRecord>).date
  return { first: date(rows[0]!.record), last: date(rows.at(-1)!.record) }
}
