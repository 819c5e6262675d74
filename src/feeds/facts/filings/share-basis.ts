import type { Day } from '../../../model/day.js'

/**
 * Which filings of a company count the same shares. Filings tell it themselves: one after a split states the share
 * counts and per-share figures of earlier periods anew, one that repeats them unchanged has seen no split.
 */
export class ShareBasis {
  readonly #splits: Split[] = []
  readonly #calm: Span[] = []

  /** Whether no split is known to lie, or can lie, between two filing dates. */
  same(one: Day, other: Day): boolean {
    const between = { after: Math.min(one, other), upTo: Math.max(one, other) }
    return !this.#splits.some(split => overlap(split, between))
  }

  /** A figure of the same period was stated on both dates: `ratio` shares now for each one then. */
  observe(span: Span, ratio: number): void {
    if (Math.abs(ratio - 1) < 0.02) this.#calm.push(span)
    else this.#add({ ...span, ratio })
    for (const calm of this.#calm) for (const split of this.#splits) narrow(split, calm)
  }

  /** Comparisons over spans that overlap, of the same ratio, saw one and the same split: it lies where they overlap. */
  #add(seen: Split): void {
    const overlapping = this.#splits.filter(split => overlap(split, seen))
    const known = overlapping.find(split => near(split.ratio, seen.ratio))
    if (known !== undefined) {
      known.after = Math.max(known.after, seen.after)
      known.upTo = Math.min(known.upTo, seen.upTo)
    } else if (
      !near(
        overlapping.reduce((product, split) => product * split.ratio, 1),
        seen.ratio,
      )
    )
      this.#splits.push(seen)
  }
}

/** Later than one filing date and not later than another. */
export interface Span {
  after: Day
  upTo: Day
}

interface Split extends Span {
  ratio: number
}

function overlap(one: Span, other: Span): boolean {
  return Math.max(one.after, other.after) < Math.min(one.upTo, other.upTo)
}

/** A split does not lie in a span without one; where the span has all of it, the two contradict and the split stays. */
function narrow(split: Split, calm: Span): void {
  if (!overlap(split, calm)) return
  const startsInside = calm.after <= split.after
  const endsInside = calm.upTo >= split.upTo
  if (startsInside && !endsInside) split.after = calm.upTo
  else if (endsInside && !startsInside) split.upTo = calm.after
}

/** Ratios of figures that are rounded to cents are not exact. */
function near(one: number, other: number): boolean {
  return Math.abs(one / other - 1) < 0.15
}
