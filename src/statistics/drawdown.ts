/** What an equity curve fell short of its highs. Fractions, 0 or below; bars are places in the curve. */
export interface Drawdowns {
  /** equity / running maximum - 1, bar by bar. */
  series: Float64Array
  /** The deepest; null of an empty curve. */
  maximum: number | null
  /** Mean depth of the spells; null where it never fell. */
  average: number | null
  /** Bars of the longest spell, from the high to the bar that reaches it again, or to the last one; 0 where it never fell. */
  longest: number
  /** √mean(drawdown²) (Martin & McCann, "The investor's guide to Fidelity funds", 1989); null of an empty curve. */
  ulcer: number | null
  /** In the order in which they happened. */
  spells: DrawdownSpell[]
}

/** From a high until it is reached again. */
export interface DrawdownSpell {
  /** The last bar at the high. */
  from: number
  /** The (first) lowest one. */
  low: number
  /** The first at or above the high again; null where that has not come. */
  to: number | null
  depth: number
}

/** Measures an equity curve, whose first value is the capital at the start, against its own highs. */
export function drawdowns(equity: Float64Array): Drawdowns {
  const series = new Float64Array(equity.length)
  const spells: DrawdownSpell[] = []
  let high = 0
  let current: DrawdownSpell | null = null
  let squares = 0
  for (let bar = 0; bar < equity.length; bar++) {
    if (equity[bar]! >= equity[high]!) {
      high = bar
      if (current !== null) current.to = bar
      current = null
      continue
    }
    const depth = equity[bar]! / equity[high]! - 1
    series[bar] = depth
    squares += depth * depth
    if (current === null) {
      current = { from: high, low: bar, to: null, depth }
      spells.push(current)
    } else if (depth < current.depth) {
      current.low = bar
      current.depth = depth
    }
  }
  const lengths = spells.map(({ from, to }) => (to ?? equity.length - 1) - from)
  const total = spells.reduce((sum, { depth }) => sum + depth, 0)
  return {
    series,
    maximum: equity.length === 0 ? null : spells.reduce((least, { depth }) => Math.min(least, depth), 0),
    average: spells.length === 0 ? null : total / spells.length,
    longest: lengths.reduce((longest, length) => Math.max(longest, length), 0),
    ulcer: equity.length === 0 ? null : Math.sqrt(squares / equity.length),
    spells,
  }
}
