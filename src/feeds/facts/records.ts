import { basename } from 'node:path'
import type * as z from 'zod'
import { BadData, parameter, sentence, type Words, worded } from '../../errors.js'
import { FACT_COLUMNS, FACT_KINDS, type FactKind, type FactRecord, type FactRecords } from '../../model/facts.js'
import { parseTicker, TICKER_SHAPE } from '../../model/terms.js'
import type { Remark, TickerFacts } from '../feed.js'
import { givenTicker } from '../layout.js'
import { shown } from '../values.js'

const SHOWN = 3

/** Gathers the records of a file and what is to be said about it. */
export class FactsSink {
  readonly #facts = new Map<string, Map<FactKind, FactRecord[]>>()
  readonly #remarks = new Map<string, Remark>()

  add<Kind extends FactKind>(kind: Kind, ticker: string, record: FactRecords[Kind]): void {
    const kinds = this.#facts.get(ticker) ?? new Map<FactKind, FactRecord[]>()
    const records = kinds.get(kind)
    if (records !== undefined) records.push(record)
    else this.#facts.set(ticker, kinds.set(kind, [record]))
  }

  /** Counts something to be said, with the place (`file:line`) or value where it is met. */
  remark(what: Words, first: string): void {
    const text = worded(what)
    const remark = this.#remarks.get(text) ?? { what, count: 0, first: [] }
    this.#remarks.set(text, remark)
    remark.count++
    if (remark.first.length < SHOWN && !remark.first.includes(first)) remark.first.push(first)
  }

  /** Sorted by ticker, then in the order of FACT_KINDS; records as they were added. */
  get facts(): TickerFacts[] {
    const tickers = [...this.#facts.keys()].sort()
    return tickers.flatMap(ticker => {
      const kinds = this.#facts.get(ticker)!
      return FACT_KINDS.flatMap(kind => {
        const records = kinds.get(kind)
        return records === undefined ? [] : [{ ticker, kind, records }]
      })
    })
  }

  get remarks(): Remark[] {
    return [...this.#remarks.values()]
  }
}

/** What several kinds of files leave open alike, as it is told of each. */

export const AS_FILED =
  'figures a share are as filed; they reach the split basis of the bars by the splits that are loaded for the ticker'
export const FILED_LATER = 'trades count as known two weekdays after their date, as no date of filing is given'
export const WITHOUT_SHARES = 'purchases and sales without a number of shares are not loaded'

/** Names of files that look like a ticker: the number that the SEC gives a company, or what the document is. */
const CIK = /^(CIK\d+|COMPANY-?FACTS|SUBMISSIONS)$/

/**
 * The ticker of a document of one company: the one that the user gave, its own symbol (null where it has none), or its
 * file's name. Throws BadData where none of them is a ticker.
 */
export function documentTicker(file: string, own: string | null, given: string | undefined): string {
  const ticker = givenTicker(given) ?? (own === null ? tickerOfName(file) : parseTicker(own))
  if (ticker !== null) return ticker
  if (own !== null)
    throw new BadData(
      { file },
      sentence`its symbol ${shown(own)} is not ${TICKER_SHAPE}; give one with ${parameter('ticker')}`,
    )
  const name = file === '-' ? 'standard input has no name' : `the file's name (${stem(file)}) is none`
  throw new BadData({ file }, sentence`the document names no ticker, and ${name}; give it with ${parameter('ticker')}`)
}

function tickerOfName(file: string): string | null {
  const ticker = file === '-' ? null : parseTicker(stem(file))
  return ticker === null || CIK.test(ticker) ? null : ticker
}

function stem(file: string): string {
  return basename(file).replace(/(\.(json|txt|gz|zip))+$/i, '')
}

/** A part of a vendor's document in the shape that it must have; throws BadData that names the first place that has not. */
export function shaped<Shape extends z.ZodType>(
  file: string,
  shape: Shape,
  value: unknown,
  what: string,
  at: readonly string[] = [],
): z.infer<Shape> {
  const result = shape.safeParse(value)
  if (result.success) return result.data
  const { path, message } = result.error.issues[0]!
  const place = [...at, ...path].join('.')
  throw new BadData({ file }, `this looks like ${what}, but ${place || 'it'} is not as it should be (${message})`)
}

/** A name of a column without case, blanks and signs. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '')
}

const NAMES = new Set(FACT_KINDS.flatMap(kind => FACT_COLUMNS[kind].map(column => plainName(column.name))))

/** Whether a name is that of a column of facts in the project's own form. */
export function isFactName(name: string): boolean {
  return NAMES.has(plainName(name))
}
