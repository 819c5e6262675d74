import type { Strategy } from './strategy.js'
import { type Taken, worthOf } from './trade.js'

interface Position {
  taken: Taken
  /** Place in the calendar of each bar of its ticker. */
  places: Int32Array
  /** Bar by which it was marked last. */
  bar: number
  isOver: boolean
}

/** The positions of a portfolio. Each is filed under the day on which it ends, so that a day looks at its own only. */
export class Positions {
  readonly #strategy: Strategy
  /** In the order of their entries; those that are over go with the next marks. */
  #held: Position[] = []
  readonly #ending = new Map<number, Position[]>()
  #count = 0

  constructor(strategy: Strategy) {
    this.#strategy = strategy
  }

  get count(): number {
    return this.#count
  }

  /** @param exitPlace of the calendar; not a finite one for a trade that stays open */
  add(taken: Taken, places: Int32Array, exitPlace: number): void {
    const position = { taken, places, bar: taken.entryBar, isOver: false }
    this.#held.push(position)
    this.#count++
    if (!Number.isFinite(exitPlace)) return
    const ending = this.#ending.get(exitPlace)
    if (ending === undefined) this.#ending.set(exitPlace, [position])
    else ending.push(position)
  }

  /** Those that are left at a place, in the order of their entries: at its open alone, or all that are still there. */
  leave(place: number, atOpen: boolean): Taken[] {
    const left: Taken[] = []
    for (const position of this.#ending.get(place) ?? []) {
      if (position.isOver || (atOpen && !position.taken.left.atOpen)) continue
      position.isOver = true
      left.push(position.taken)
    }
    this.#count -= left.length
    return left
  }

  /**
   * At the close of a day, by the last close of each: what all of them add to the equity, and the value of the shares, of
   * shorts too counted as it is.
   */
  mark(place: number, day: number): { worth: number; gross: number } {
    let [worth, gross] = [0, 0]
    let kept = 0
    for (const position of this.#held) {
      if (position.isOver) continue
      this.#held[kept++] = position
      const { taken, places } = position
      while (position.bar + 1 < places.length && places[position.bar + 1]! <= place) position.bar++
      const close = taken.member.bars.close[position.bar]!
      worth += worthOf(this.#strategy, taken, close, day)
      gross += taken.shares * close
    }
    this.#held.length = kept
    return { worth, gross }
  }
}
