import { numbersBetween } from '../model/series.js'
import { ColumnRoom } from '../threads.js'

/**
 * Columns of a market that is looked at for long, in memory that threads share: copied, because a ticker's lie in one piece
 * with those that nobody needs. What many tickers have alike is kept once.
 */
export class MarketColumns {
  readonly #room = new ColumnRoom()
  readonly #alike = new Alike()

  floats(column: Float64Array): Float64Array {
    return this.#room.put(column)
  }

  /** Days or bars, ascending. */
  ascending(column: Int32Array): Int32Array {
    const [first] = column
    if (first !== undefined && first >= 0 && isRun(column)) return numbersBetween(first, first + column.length)
    return this.#alike.of(column, own => this.#room.put(own))
  }
}

/** Ascending columns, of those that are equal the same one. */
export class Alike {
  readonly #known = new Map<string, Int32Array[]>()

  /** @param kept makes of the first of its kind what is kept of it */
  of(column: Int32Array, kept: (column: Int32Array) => Int32Array = own => own): Int32Array {
    const name = `${column.length} ${column[0]} ${column.at(-1)}`
    const known = this.#known.get(name)
    const same = known?.find(other => areEqual(other, column))
    if (same !== undefined) return same
    const own = kept(column)
    if (known === undefined) this.#known.set(name, [own])
    else known.push(own)
    return own
  }
}

function areEqual(a: Int32Array, b: Int32Array): boolean {
  if (a.length !== b.length) return false
  if (a.buffer === b.buffer && a.byteOffset === b.byteOffset) return true
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}

/** Whether ascending numbers have no gap, as nearly all bars of a field from its first band on have none. */
export function isRun(ascending: Int32Array): boolean {
  const { length } = ascending
  return length === 0 || ascending[length - 1]! - ascending[0]! === length - 1
}
