import type { Day } from '../../model/day.js'
import {
  type EarningsResult,
  FACT_COLUMNS,
  type FactKind,
  type FactRecord,
  type Grade,
  type Report,
  type Security,
} from '../../model/facts.js'
import type { FactsFormat } from './format.js'
import { remarkWeekend } from './formats/earnings.js'
import { remarkWords } from './formats/ratings.js'
import type { FactRow } from './row.js'
import type { FactsSink } from './sink.js'
import { BadCell } from './values.js'

/** The project's own table of one kind; `known` stands in for a column of that name which the table lacks. */
export function ownFormat(kind: FactKind, known?: Day): FactsFormat {
  const columns = FACT_COLUMNS[kind]
  return {
    name: `${kind} csv`,
    told: neededColumns(kind, known),
    reads: Object.fromEntries(columns.map(({ name, holds }) => [name, holds])),
    begin: out => {
      const graded: { grade: Grade; place: string }[] = []
      return {
        row(row) {
          const { ticker, place } = row
          const record = recordOf(kind, row, known)
          CHECKS[kind]?.(record, place, out)
          out.add(kind, ticker, record)
          if (kind === 'grades') graded.push({ grade: record as Grade, place })
        },
        end: () => remarkWords(graded, out),
      }
    },
  }
}

/** The columns that a table of a kind must have beside the ticker. */
export function neededColumns(kind: FactKind, known?: Day): string[] {
  const needed = FACT_COLUMNS[kind].filter(({ required }) => required).map(({ name }) => name)
  return known === undefined ? needed : needed.filter(name => name !== 'known')
}

/** What a record has that a table without the column, or an empty field, leaves open. */
const DEFAULTS: Readonly<Record<string, unknown>> = { basis: 'bars' }

function recordOf(kind: FactKind, row: FactRow, known: Day | undefined): FactRecord {
  const values = FACT_COLUMNS[kind].map(({ name, required, rare }) => {
    if (name === 'known' && known !== undefined && !row.has(name)) return { name, value: known, rare }
    return { name, rare, value: required ? row.required(name) : (row.optional(name) ?? DEFAULTS[name] ?? null) }
  })
  const told = values.filter(({ value, rare }) => value !== null || rare !== true)
  return Object.fromEntries(told.map(({ name, value }) => [name, value])) as unknown as FactRecord
}

/** What a record's values say about each other; throws BadCell. */
const CHECKS: { readonly [Kind in FactKind]?: (record: FactRecord, place: string, out: FactsSink) => void } = {
  reports: (record, place, out) => {
    const { known, period_end } = record as Report
    if (known < period_end)
      out.remark('reports were known before their period ended, which may be dates in the wrong column', place)
  },
  earnings: (record, place, out) => remarkWeekend(record as EarningsResult, place, out),
  securities: record => {
    const { delisted, delisting_price, delisting_return } = record as Security
    const told = [delisting_price, delisting_return].filter(figure => figure !== undefined).length
    if (told === 2)
      throw new BadCell('delisting_return', 'delisting_price and delisting_return tell the same; give one of them')
    if (told === 1 && delisted === undefined)
      throw new BadCell('delisted', 'delisted is empty; what a share was worth in the end needs the day of the end')
  },
}
