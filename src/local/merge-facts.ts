import type { FactSheet, FactSource } from '../model/fact-sheet.js'
import { type FactKind, type FactRecord, type FactRecords, knownOn, usableFrom } from '../model/facts.js'

export interface MergedSheet {
  sheet: FactSheet
  /** Records that are new, that take another's place, that were there alike. */
  added: number
  replaced: number
  unchanged: number
}

type Row = FactSheet['rows'][number]

/**
 * Puts records of one kind into those that are there. Of several about the same thing those given last come last, and
 * count; the others stay, as a restated figure leaves the older one standing. Only what can be said once (a report's
 * result, what a security is) takes the place of what was said before.
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
    const dropped = had.filter(row => !rows.includes(row)).length
    const moved = fresh === 0 && rows.some((row, i) => !sameRecord(row.record, had[i]!.record))
    const replaced = Math.min(fresh, dropped) + Number(moved)
    const added = fresh - Math.min(fresh, dropped)
    counts.added += added
    counts.replaced += replaced
    counts.unchanged += Math.max(0, given.length - added - replaced)
    mine.set(key, rows)
  }
  const rows = [...mine.values()].flat()
  rows.sort((a, b) => placeOf(kind, a.record) - placeOf(kind, b.record))
  return { sheet: withSources(rows, [...(present?.sources ?? []), source]), ...counts }
}

interface Rule<Of extends FactRecord> {
  /** What a record speaks about: of several with one key those given last count. */
  key(record: Of): string
  merge(had: readonly Row[], given: readonly Row[]): readonly Row[]
}

const RULES: { [Kind in FactKind]: Rule<FactRecords[Kind]> } = {
  reports: { key: it => `${it.period_end} ${usableFrom(it)} ${it.known}`, merge: followed },
  // A corrected result is no further report: four reports make a year.
  earnings: { key: it => `${it.report_date}`, merge: replaced },
  schedule: { key: it => `${it.known} ${it.expected_date}`, merge: followed },
  ratings: { key: it => `${it.known} ${usableFrom(it)}`, merge: followed },
  grades: { key: it => `${it.known} ${it.firm.trim().toLowerCase()}`, merge: followed },
  insiders: { key: it => JSON.stringify(it), merge: followed },
  splits: { key: it => `${it.ex_date}`, merge: followed },
  securities: { key: () => '', merge: completed },
}

/** What is given takes the place of what was there, unless it says nothing new. */
function replaced(had: readonly Row[], given: readonly Row[]): readonly Row[] {
  const rows = followed(had, given)
  const told = rows.slice(rows.length - given.length)
  return told.every(row => had.includes(row)) ? rows : told
}

/** What is given stands last; a record that was there already is the same one, as often as one side has it. */
function followed(had: readonly Row[], given: readonly Row[]): readonly Row[] {
  const left = [...had]
  const last = given.map(row => {
    const at = left.findIndex(other => sameRecord(other.record, row.record))
    return at < 0 ? row : left.splice(at, 1)[0]!
  })
  return [...left, ...last]
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
  // A rare column that one of them lacks is not known there.
  const names = new Set([...Object.keys(one!), ...Object.keys(other!)])
  return [...names].every(name => Object.is(one![name] ?? null, other![name] ?? null))
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
  const [first, last] = [rows[0], rows.at(-1)].map(row => (row === undefined ? null : knownOn(kind, row.record)))
  return first == null || last == null ? null : { first, last }
}

/** Where a record stands in its sheet. */
function placeOf(kind: FactKind, record: FactRecord): number {
  return knownOn(kind, record) ?? 0
}
