import { formatDay } from '../model/day.js'
import type { EventHistory, HistoryQuery } from '../model/event.js'

/** What a study looked at, as every result tells it: events lie after the first date and up to the last. */
export interface Scope {
  query_range: string | null
  after: string | null
  /** Exclusive; null where the question sets none. */
  before: string | null
  as_of: string | null
}

/** What every answer says of the range that it was taken from. */
export type Answered = Pick<EventHistory, 'query_range' | 'after' | 'as_of'>

/** The scope of a question from what the answers say; null where there was nobody to answer. */
export function scopeOf(answers: readonly Answered[], query: Pick<HistoryQuery, 'after' | 'before'>): Scope {
  const [first] = answers
  const asked = query.after === undefined ? null : formatDay(query.after)
  const granted = first?.after ?? null
  return {
    query_range: first?.query_range ?? null,
    // Dates of this form sort as they follow each other.
    after: asked !== null && (granted === null || asked > granted) ? asked : granted,
    before: query.before === undefined ? null : formatDay(query.before),
    as_of: first?.as_of ?? null,
  }
}

/** Tickers once each, ascending, so that the order in which they were named changes nothing. */
export function tickersInOrder(tickers: readonly string[]): string[] {
  return [...new Set(tickers)].sort()
}

/** Compares by place in the vocabulary; values that are not in it follow, ascending; null last. */
export function byVocabulary(vocabulary: readonly string[]): (a: string | null, b: string | null) => number {
  const place = (value: string): number => (vocabulary.includes(value) ? vocabulary.indexOf(value) : vocabulary.length)
  return (a, b) => {
    if (a === null || b === null) return Number(a === null) - Number(b === null)
    return place(a) - place(b) || Number(a > b) - Number(a < b)
  }
}

/** Questions under way at once: enough to hide a server's latency, few enough not to trip its limits. */
const WIDTH = 8

/**
 * Asks every item, at most eight at a time; results in the order of the items. When some fail, throws the error of the
 * first of them in that order, whichever failed earliest, so that the same question has the same answer.
 */
export async function concurrently<Item, Result>(
  items: readonly Item[],
  ask: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = new Array(items.length)
  const failures: { at: number; error: unknown }[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < items.length && failures.length === 0) {
      const at = next++
      try {
        results[at] = await ask(items[at]!)
      } catch (error) {
        failures.push({ at, error })
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(WIDTH, items.length) }, worker))
  const [first] = failures.sort((a, b) => a.at - b.at)
  if (first !== undefined) throw first.error
  return results
}
