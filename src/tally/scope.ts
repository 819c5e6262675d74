import { formatDay } from '../model/day.js'
import type { EventHistory, HistoryQuery } from '../model/event.js'
import { fieldOf, type Source } from '../source.js'

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

/** Told how far a question of many tickers is, often; the text is made when it is asked for. */
export interface TallyWays {
  step?: (text: () => string) => void
}

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

/** Bands of the field and of the context's field in their own order; none of a field that the source does not know. */
export async function ordersOf(
  source: Source,
  { field, context }: { field: string; context?: { field: string } },
): Promise<[field: readonly string[], context: readonly string[]]> {
  const [own, other] = await Promise.all([fieldOf(source, field), fieldOf(source, context?.field)])
  return [own?.bands ?? [], other?.bands ?? []]
}

/** Compares by place in the vocabulary; values that are not in it follow, ascending; null last. */
export function byVocabulary(vocabulary: readonly string[]): (a: string | null, b: string | null) => number {
  const place = (value: string): number => (vocabulary.includes(value) ? vocabulary.indexOf(value) : vocabulary.length)
  return (a, b) => {
    if (a === null || b === null) return Number(a === null) - Number(b === null)
    return place(a) - place(b) || Number(a > b) - Number(a < b)
  }
}
