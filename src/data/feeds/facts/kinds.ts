import { BadData, parameter, quoted, sentence, suggest, type Words } from '../../../core/errors.js'
import type { Day } from '../../../core/model/day.js'
import {
  type EarningsResult,
  FACT_COLUMNS,
  FACT_KINDS,
  type FactKind,
  type FactRecord,
  type Grade,
  type Report,
  type Security,
  type Split,
} from '../../../core/model/facts.js'
import { layoutOf } from '../layout.js'
import { normalizedColumnName } from '../names.js'
import { hasOnePriceADay, startsWithDate, unknownLayoutError } from '../refusals.js'
import type { TextTable } from '../text-table.js'
import { addEarnings, FACTS_FORMATS, type FactsFormat, refuseKnownBeforeEnd } from './formats.js'
import { BadCell, type FactRow, refuseImpossibleRatio } from './rows.js'
import { type FactsSink, isFactName, type TimedGrade } from './sink.js'

/**
 * The layout of a table of facts, recognised by its header: a known one, or the project's own of one kind. Throws
 * BadData that names the nearest kind and the missing columns, or what the table is instead. The option `known` is the
 * day on which the facts became known, where no column gives it.
 */
export function factsFormatOf({ file, dialect, top: place, options: { known } }: TextTable): FactsFormat {
  const header = new Header(dialect.names)
  const vendorFormat = FACTS_FORMATS.find(({ identifiedBy }) => header.hasAll(identifiedBy))
  if (vendorFormat !== undefined && 'refusal' in vendorFormat) throw new BadData(place, vendorFormat.refusal)
  if (vendorFormat !== undefined) return vendorFormat
  // No vendor's: the project's own kinds whose required columns are all there.
  const layout = layoutOf(file, dialect.headerLine, dialect.names)
  const barColumnCount = Object.keys(layout.columns).filter(role => role !== 'ticker').length
  const completeKinds = FACT_KINDS.filter(kind => {
    const needed = neededColumns(kind, known)
    // Securities require no particular column; but a table of prices with a name column has no securities.
    return needed.length > 0 ? header.hasAll(needed) : header.countColumnsOf(kind) > barColumnCount
  })
  const withoutSecurities = completeKinds.filter(complete => complete !== 'securities')
  const [kind, otherKind] = completeKinds.length > 1 ? withoutSecurities : completeKinds
  if (kind !== undefined && otherKind !== undefined) throw new BadData(place, ambiguityText(kind, otherKind, known))
  if (kind !== undefined) return ownFormatOfKind(kind, header.has('known') ? undefined : known)
  // No kind is complete: a table of the nearest kind with missing columns, or no facts at all.
  const nearest = header.nearestKind(known)
  const isRow = dialect.names.some(startsWithDate)
  const similarColumns = header.countWithMisspellings(nearest)
  // One or two similar names may be chance.
  const arePrices = similarColumns <= barColumnCount || (similarColumns < 3 && hasOnePriceADay(layout, dialect.samples))
  if (isRow || arePrices) throw unknownLayoutError(file, dialect.headerLine, layout, dialect.samples)
  throw new BadData(place, missingColumnsText(header, nearest, known))
}

/** The missing columns that a header seems to misspell, with the misspelt word. @param wanted columns of a layout */
export function misspeltColumns(names: readonly string[], wanted: readonly string[]) {
  const header = new Header(names)
  return wanted
    .filter(column => !header.has(column))
    .flatMap(column => header.misspellingsOf(column).map(word => ({ word, column })))
}

class Header {
  readonly #names: ReadonlySet<string>
  /** Names that no column of facts has: the ones that may be misspelt. */
  readonly #unknownNames: readonly string[]

  constructor(names: readonly string[]) {
    this.#names = new Set(names.map(normalizedColumnName))
    this.#unknownNames = names.filter(name => !isFactName(name))
  }

  has(column: string): boolean {
    return this.#names.has(normalizedColumnName(column))
  }

  hasAll(columns: readonly string[]): boolean {
    return columns.every(column => this.has(column))
  }

  countColumnsOf(kind: FactKind): number {
    return FACT_COLUMNS[kind].filter(({ name }) => this.has(name)).length
  }

  /** Names in the header that are within two slips of a column. */
  misspellingsOf(column: string): string[] {
    return suggest(column, this.#unknownNames, 1)
  }

  /** How many columns of a kind there are, misspelt ones included. */
  countWithMisspellings(kind: FactKind): number {
    return FACT_COLUMNS[kind].filter(({ name }) => this.has(name) || this.misspellingsOf(name).length > 0).length
  }

  /**
   * The kind of facts whose table the header resembles most: the most columns, then the fewest missing ones, then the
   * shortest table. @param known the user's day, which replaces a column of that name
   */
  nearestKind(known: Day | undefined): FactKind {
    const missingColumns = (kind: FactKind) => neededColumns(kind, known).filter(column => !this.has(column)).length
    const order = (a: FactKind, b: FactKind) =>
      this.countWithMisspellings(b) - this.countWithMisspellings(a) ||
      missingColumns(a) - missingColumns(b) ||
      FACT_COLUMNS[a].length - FACT_COLUMNS[b].length
    return FACT_KINDS.toSorted(order)[0]!
  }
}

/**
 * Text about the required columns that a header lacks, and the names that may be misspellings of them.
 * @param known the user's day, which replaces a column of that name
 */
function missingColumnsText(header: Header, kind: FactKind, known: Day | undefined): Words {
  const missing = neededColumns(kind, known).filter(column => !header.has(column))
  const misspellings = missing.flatMap(column => header.misspellingsOf(column).map(quoted))
  const question = misspellings.length === 0 ? ';' : `; did you mean ${misspellings.join(' and ')}?`
  const noun = missing.length === 1 ? 'column' : 'columns'
  const missingText = missing.length === 0 ? 'no columns of its own' : `no ${noun} ${missing.join(', ')}`
  const isOnlyKnownMissing = misspellings.length === 0 && missing.join() === 'known'
  const help = isOnlyKnownMissing ? sentence` (give one day for all rows with ${parameter('known', 'DATE')})` : ''
  return sentence`${missingText}${help}${question} ${requiredText(kind, known)}`
}

function ambiguityText(kind: FactKind, other: FactKind, known: Day | undefined): string {
  const first = `its columns are those of ${kind} (${neededColumns(kind, known).join(', ')}) and of ${other}`
  return `${first} (${neededColumns(other, known).join(', ')}); one file holds one kind`
}

function requiredText(kind: FactKind, known: Day | undefined): string {
  const needed = neededColumns(kind, known)
  const others = FACT_COLUMNS[kind].map(({ name }) => name).filter(name => !needed.includes(name))
  const more = others.length === 0 ? '' : `, and may have ${others.join(', ')}`
  return `${kind} need ${['ticker', ...needed].join(', ')}${more}`
}

/**
 * The project's own table of one kind; `known` replaces a missing column of that name. Grades are added after the last
 * row: of two by one firm on one day the later row counts.
 */
function ownFormatOfKind(kind: FactKind, known: Day | undefined): FactsFormat {
  const columns = FACT_COLUMNS[kind].map(
    ({ name, holds, required }) => [name, required ? (`${holds}!` as const) : holds] as const,
  )
  return {
    name: `${kind} csv`,
    reads: Object.fromEntries(columns),
    row(row, out): TimedGrade | undefined {
      const { ticker, place } = row
      const record = recordFromRow(kind, row, known)
      if (kind === 'grades') return { ticker, grade: record as Grade, time: 0, place }
      addRecord(kind, ticker, record, place, out)
      return undefined
    },
    end: (results, out) => out.addGrades(results as TimedGrade[]),
  }
}

/** Adds a record. Throws BadCell for one that is impossible, or contradicts an earlier one. */
export function addRecord(kind: FactKind, ticker: string, record: FactRecord, place: string, out: FactsSink): void {
  if (kind === 'earnings') addEarnings(out, ticker, record as EarningsResult, place)
  else {
    if (kind === 'reports') refuseKnownBeforeEnd(record as Report, 'known')
    if (kind === 'splits') refuseImpossibleRatio((record as Split).ratio, 'ratio')
    if (kind === 'securities') refuseContradictoryDelisting(record as Security)
    out.add<FactKind>(kind, ticker, record, place)
  }
}

/** The required columns of a kind's table, besides the ticker. */
function neededColumns(kind: FactKind, known?: Day): string[] {
  const needed = FACT_COLUMNS[kind].filter(({ required }) => required).map(({ name }) => name)
  return known === undefined ? needed : needed.filter(name => name !== 'known')
}

const DEFAULT_VALUES: Readonly<Record<string, unknown>> = { basis: 'bars' }

/** The record of a row. A missing value is its default or null; a rare column without a value has no key. */
function recordFromRow(kind: FactKind, row: FactRow, known: Day | undefined): FactRecord {
  const values = FACT_COLUMNS[kind].map(({ name, rare }) => {
    const value = name === 'known' && known !== undefined ? known : (row[name] ?? DEFAULT_VALUES[name] ?? null)
    return { name, value, rare }
  })
  const storedValues = values.filter(({ value, rare }) => value !== null || rare !== true)
  return Object.fromEntries(storedValues.map(({ name, value }) => [name, value])) as unknown as FactRecord
}

/** Throws BadCell for a final price and a final return together, or for one of them without the day. */
function refuseContradictoryDelisting({ delisted, delisting_price, delisting_return }: Security): void {
  const statedCount = [delisting_price, delisting_return].filter(figure => figure !== undefined).length
  if (statedCount === 2)
    throw new BadCell('delisting_return', 'delisting_price and delisting_return say the same; give one of them')
  if (statedCount === 1 && delisted === undefined)
    throw new BadCell('delisted', 'delisted is empty; what a share was worth in the end needs the day of the end')
}
