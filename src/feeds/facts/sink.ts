import { FACT_KINDS, type FactKind, type FactRecord, type FactRecords } from '../../model/facts.js'
import type { Remark, TickerFacts } from '../feed.js'

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
  remark(what: string, first: string): void {
    const remark = this.#remarks.get(what) ?? { what, count: 0, first: [] }
    this.#remarks.set(what, remark)
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
