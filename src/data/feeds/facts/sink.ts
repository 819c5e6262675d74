import { basename } from 'node:path'
import { BadData, parameter, sentence, typedLineWith, type Words } from '../../../core/errors.js'
import type { Day } from '../../../core/model/day.js'
import {
  FACT_COLUMNS,
  FACT_KINDS,
  type FactKind,
  type FactRecord,
  type FactRecords,
  type Grade,
  opinionOf,
} from '../../../core/model/facts.js'
import { parseTicker } from '../../../core/model/terms.js'
import { firstNames } from '../../../core/numbers.js'
import type { FactsResult, TickerFacts } from '../feed.js'
import { likelySymbol, parseTickerOption, tickerOfSymbol, withoutExtensions } from '../layout.js'
import { normalizedColumnName } from '../names.js'
import { latestBar } from '../price-rows.js'
import { Remarks } from '../refusals.js'
import { BadCell } from './rows.js'

export interface TimedGrade {
  ticker: string
  grade: Grade
  time: string | number
  place: string
}

/** A fact that one file may state only once. */
interface SingleFact<FactOfKind> {
  column: string
  subjectOf(record: FactOfKind): string
  /** null: the record does not state the fact. */
  valueOf(record: FactOfKind): string | null
  /** How a second row contradicts the first, for the message. */
  contradiction: string
}

const SINGLE_FACTS: { readonly [Kind in FactKind]?: SingleFact<FactRecords[Kind]> } = {
  reports: {
    column: 'period_end',
    subjectOf: ({ period_end, known, session }) => `${period_end} ${known} ${session}`,
    valueOf: JSON.stringify,
    contradiction: 'the same report with other figures',
  },
  earnings: {
    column: 'report_date',
    subjectOf: ({ report_date }) => `${report_date}`,
    valueOf: JSON.stringify,
    contradiction: 'the same report with other figures',
  },
  securities: {
    column: 'asset_class',
    subjectOf: () => '',
    valueOf: ({ asset_class }) => asset_class,
    contradiction: 'the ticker another asset class',
  },
}

/** Collects the records and remarks of a file of facts. */
export class FactsSink {
  /** The last day on which anything can be known: tomorrow. */
  readonly latest: Day
  readonly #facts = new Map<string, Map<FactKind, FactRecord[]>>()
  readonly #remarks = new Remarks()
  /** The single facts so far, with their positions. */
  readonly #singleFacts = new Map<string, { value: string; place: string }>()

  constructor(latest: Day = latestBar()) {
    this.latest = latest
  }

  /** Adds a record. Throws BadCell for a single fact that contradicts an earlier row. @param place that of its row */
  add<Kind extends FactKind>(kind: Kind, ticker: string, record: FactRecords[Kind], place = ticker): void {
    const singleFact: SingleFact<FactRecords[Kind]> | undefined = SINGLE_FACTS[kind]
    const value = singleFact?.valueOf(record) ?? null
    if (singleFact !== undefined && value !== null) {
      const key = `${kind} ${ticker} ${singleFact.subjectOf(record)}`
      const first = this.#singleFacts.get(key) ?? { value, place }
      const contradiction = `${first.place} gives ${singleFact.contradiction}; take one of the two rows out`
      if (first.value !== value) throw new BadCell(singleFact.column, contradiction)
      this.#singleFacts.set(key, first)
    }
    const kinds = this.#facts.get(ticker) ?? new Map<FactKind, FactRecord[]>()
    const records = kinds.get(kind)
    if (records !== undefined) records.push(record)
    else this.#facts.set(ticker, kinds.set(kind, [record]))
  }

  /** Counts a remark. @param place the position (`file:line`) or the value that it is about */
  remark(what: Words, place: string): void {
    this.#remarks.add(what, place)
  }

  /** Adds grades in order of their times: of two by one firm on one day the later one counts. */
  addGrades(grades: readonly TimedGrade[], note?: string): void {
    const inOrder = grades.toSorted((a, b) => (a.time < b.time ? -1 : Number(a.time > b.time)))
    for (const { ticker, grade, place } of inOrder) {
      this.add('grades', ticker, grade)
      if (note !== undefined) this.remark(note, place)
    }
    // Grades that do not count share one remark.
    const uncounted = grades.filter(({ grade }) => opinionOf(grade.grade) === null)
    const words = [...new Set(uncounted.map(({ grade }) => grade.grade.toLowerCase()))].sort()
    const what = `grades are words that no list has, kept but not counted: ${firstNames(words, 20)}`
    for (const { place } of uncounted) this.remark(what, place)
  }

  has(kind: FactKind): boolean {
    return [...this.#facts.values()].some(kinds => kinds.has(kind))
  }

  /** The result for a file: by ticker, then in the order of FACT_KINDS; records in the order of adding. */
  result(file: string, format: string, rows: number, more: Partial<FactsResult> = {}): FactsResult {
    const facts = [...this.#facts.keys()].sort().flatMap(ticker =>
      FACT_KINDS.flatMap((kind): TickerFacts[] => {
        const records = this.#facts.get(ticker)!.get(kind)
        return records === undefined ? [] : [{ ticker, kind, records }]
      }),
    )
    const remarks = this.#remarks.all
    return { holds: 'facts', file, format, dialect: {}, header: null, rows, facts, rejected: [], remarks, ...more }
  }
}

// Remarks that several kinds of files share.
export const AS_FILED =
  'figures a share are as filed; they reach the split basis of the bars by the splits that are loaded for the ticker'
export const FILED_LATER = 'trades count as known two weekdays after their date, as no date of filing is given'
export const EARLIER_MONTHS = 'counts of earlier months are not loaded: the day they became known is missing'
export const WITHOUT_SHARES = 'purchases and sales without a number of shares are not loaded'

/** File names that look like a ticker, but are the SEC's company number or the type of document. */
const FILE_NAMES_WITHOUT_TICKER = /^(CIK\d+|COMPANY-?FACTS|SUBMISSIONS)$/

/**
 * The ticker of a document about one company: the user's, the document's own (null if none), or from the file name.
 * Throws BadData if none of them is valid.
 */
export function documentTicker(file: string, ownSymbol: string | null, hint: string | undefined): string {
  const tickerHint = parseTickerOption(hint)
  if (tickerHint !== null) return tickerHint
  const ticker = ownSymbol === null ? tickerOfFileName(file) : tickerOfSymbol(file, ownSymbol)
  if (ticker !== null) return ticker
  const name = withoutExtensions(basename(file))
  const fileText = file === '-' ? 'standard input has no name' : `the file's name (${name}) is none`
  const message = sentence`the document names no ticker, and ${fileText}; give it with ${parameter('ticker')}`
  const suggested = file === '-' ? 'AAPL' : likelySymbol(name)
  throw new BadData({ file }, message, { remedy: typedLineWith('import', [file], { ticker: suggested }) })
}

function tickerOfFileName(file: string): string | null {
  const ticker = file === '-' ? null : parseTicker(withoutExtensions(basename(file)))
  return ticker === null || FILE_NAMES_WITHOUT_TICKER.test(ticker) ? null : ticker
}

const FACT_COLUMN_NAMES = new Set(
  FACT_KINDS.flatMap(kind => FACT_COLUMNS[kind].map(column => normalizedColumnName(column.name))),
)

/** Whether a name is that of a column of facts in the project's own form. */
export function isFactName(name: string): boolean {
  return FACT_COLUMN_NAMES.has(normalizedColumnName(name))
}
