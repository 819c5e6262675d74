/**
 * q-values of Benjamini & Hochberg, "Controlling the false discovery rate" (1995), in the order of `p`: rejecting where
 * q <= a keeps the expected share of false findings at a, for tests that are independent or positively dependent.
 * @param p p-values, each in 0..1
 */
export function benjaminiHochberg(p: readonly number[]): number[] {
  return stepUp(p, 1)
}

/**
 * q-values of Benjamini & Yekutieli, "The control of the false discovery rate in multiple testing under dependency"
 * (2001): those of Benjamini & Hochberg times Σ 1/i, valid under any dependence.
 */
export function benjaminiYekutieli(p: readonly number[]): number[] {
  let harmonic = 0
  for (let i = 1; i <= p.length; i++) harmonic += 1 / i
  return stepUp(p, harmonic)
}

/**
 * Adjusted p-values of Holm, "A simple sequentially rejective multiple test procedure" (1979): rejecting where they are
 * <= a keeps the chance of any false finding at a.
 */
export function holm(p: readonly number[]): number[] {
  const adjusted = new Array<number>(p.length)
  let greatest = 0
  ascendingOrder(p).forEach((place, rank) => {
    greatest = Math.max(greatest, Math.min(1, (p.length - rank) * p[place]!))
    adjusted[place] = greatest
  })
  return adjusted
}

/** From the greatest p down: p · m / rank, and never above that of a greater p. */
function stepUp(p: readonly number[], factor: number): number[] {
  const order = ascendingOrder(p)
  const adjusted = new Array<number>(p.length)
  let least = 1
  for (let rank = p.length; rank > 0; rank--) {
    const place = order[rank - 1]!
    least = Math.min(least, p[place]! * ((p.length * factor) / rank))
    adjusted[place] = least
  }
  return adjusted
}

function ascendingOrder(p: readonly number[]): number[] {
  return p.map((_, i) => i).sort((a, b) => p[a]! - p[b]!)
}
