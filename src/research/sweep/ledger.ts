import type { Day } from '../../model/day.js'
import type { Trial, Trials } from '../../model/trials.js'
import { cellTrial } from '../cell/trial.js'
import type { Book } from './books.js'
import { filterOf, type Key } from './conditions.js'
import type { SweepQuery } from './query.js'

/** A look as the ledger keeps it. */
export interface Tried {
  key: Key
  p: number | null
  sharpe: number | null
}

/** How many cells the ledger knows, and those of them that this run did not look at. */
export interface Ledger {
  cells: number
  others: readonly Trial[]
}

/** Notes every cell; null without a ledger. */
export async function noted(
  tried: readonly Tried[],
  query: SweepQuery,
  books: readonly Book[],
  trials: Trials | null,
): Promise<Ledger | null> {
  if (trials === null) return null
  const ranges = new Map<string, Range>()
  const own = tried.map(({ key, p, sharpe }) => {
    const { condition, horizon, ticker } = key
    const group = ticker === null ? books : books.filter(book => book.ticker === ticker)
    const name = `${condition.field} ${ticker}`
    const range = ranges.get(name) ?? rangeOf(group, condition.field)
    ranges.set(name, range)
    const tickers = group.map(book => book.ticker)
    return cellTrial({ tickers, filter: filterOf(condition, query), horizon, ...range }, { p, sharpe })
  })
  const { ofKind } = await trials.note('cell', own)
  if (query.family === 'run') return { cells: ofKind, others: [] }
  const hashes = new Set(own.map(({ hash }) => hash))
  return { cells: ofKind, others: (await trials.of('cell')).filter(({ hash }) => !hashes.has(hash)) }
}

export interface Range {
  first: Day | null
  last: Day | null
}

/** First and last day on which a field has a band on a bar that counts. */
export function rangeOf(books: readonly Book[], field: number): Range {
  const range: Range = { first: null, last: null }
  for (const { days, fields } of books) {
    const { eligible } = fields[field]!
    if (eligible.length === 0) continue
    range.first = Math.min(range.first ?? days[eligible[0]!]!, days[eligible[0]!]!)
    range.last = Math.max(range.last ?? days[eligible.at(-1)!]!, days[eligible.at(-1)!]!)
  }
  return range
}
