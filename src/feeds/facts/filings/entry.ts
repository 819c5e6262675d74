import type { Day } from '../../../model/day.js'
import type { Figure } from './concepts.js'

/** The length of what a figure is of; `day` for a balance. */
export type Term = 'day' | 'quarter' | 'nine_months' | 'year'

/** What a filing states, in its place. */
export interface Item {
  figure: Figure
  concept: string
  term: Term
  start: Day | null
  end: Day
  value: number
}

/** A figure as the filings so far state it. */
export interface Entry {
  value: number
  start: Day | null
  /** The first filing that states this value, and the last. */
  since: Day
  filed: Day
  /** Whether an earlier filing stated another value. */
  restated: boolean
}

/** What stands in a place once a filing has stated it. */
export function entryAfter(item: Item, before: Entry | undefined, filed: Day): Entry {
  const { value, start } = item
  if (before === undefined) return { value, start, since: filed, filed, restated: false }
  if (!isOther(item, before.value)) return { ...before, value, filed }
  if (before.filed === filed) return { ...before, value }
  return { value, start, since: filed, filed, restated: true }
}

/** Whether a value is another one than before, and not the same one rounded. */
export function isOther({ figure, value }: Pick<Item, 'figure' | 'value'>, before: number): boolean {
  const rounding = figure === 'eps' ? 0.006 : 0.001 * Math.max(Math.abs(value), Math.abs(before))
  return value !== before && Math.abs(value - before) >= rounding
}
