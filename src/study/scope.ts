import { formatDay } from '../model/day.js'
import type { EventHistory } from '../model/event.js'
import type { HistoryQuery } from '../model/query.js'

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
