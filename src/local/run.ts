import { BadData } from '../errors.js'
import { formatDay } from '../model/day.js'
import type { Series } from '../model/series.js'
import type { SourcedBars } from './import-report.js'
import { firstContradiction } from './merge.js'

/** What one run has taken in, to find files that contradict each other, and to begin again only once. */
export class Run {
  readonly #begun = new Set<string>()
  readonly #taken = new Map<string, { file: string; bars: Series }[]>()

  /** Throws BadData for a bar that an earlier file of the run has otherwise. */
  check({ ticker, bars, source }: SourcedBars): void {
    for (const earlier of this.#taken.get(ticker) ?? []) {
      const day = firstContradiction(earlier.bars, bars)
      if (day === null || earlier.file === source) continue
      throw new BadData(
        { file: source },
        `${ticker} on ${formatDay(day)} is not the same bar as in ${earlier.file}; leave one of the two files out`,
      )
    }
  }

  /** True when something is asked for the first time. */
  isFirst(what: string): boolean {
    const first = !this.#begun.has(what)
    this.#begun.add(what)
    return first
  }

  add({ ticker, source, bars }: SourcedBars): void {
    this.#taken.set(ticker, [...(this.#taken.get(ticker) ?? []), { file: source, bars }])
  }
}
