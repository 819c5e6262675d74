import type { Day } from '../../model/day.js'
import { type Session, usableFrom } from '../../model/facts.js'

/**
 * Records of one kind in the order in which they become usable, so that the latest of the usable ones is the last of
 * them: by the usable date, then the date on which they became known, then as they were given.
 */
export class Timeline<Item> {
  readonly records: readonly Item[]
  /** The first date on whose bar each record counts; ascending. */
  readonly usable: Int32Array

  /** @param when the date on which a record became known, and its session */
  constructor(given: readonly Item[], when: (record: Item) => { known: Day; session?: Session }) {
    const dated = given.map(record => ({ record, known: when(record).known, usable: usableFrom(when(record)) }))
    dated.sort((a, b) => a.usable - b.usable || a.known - b.known)
    this.records = dated.map(({ record }) => record)
    this.usable = Int32Array.from(dated, ({ usable }) => usable)
  }

  /** How many records are usable on each of the ascending days, or so many days before each. */
  counts(days: Int32Array, before = 0): Int32Array {
    const counts = new Int32Array(days.length)
    let count = 0
    for (let t = 0; t < days.length; t++) {
      while (count < this.usable.length && this.usable[count]! <= days[t]! - before) count++
      counts[t] = count
    }
    return counts
  }
}
