import type { HistoricEvent } from '../model/event.js'
import { STABILITIES } from '../model/record.js'
import { byVocabulary } from './order.js'
import type { TickerSource } from './tally-source.js'

/** What events can be split by. */
export const TALLY_GROUPINGS = ['band', 'prev_band', 'stability', 'year', 'context', 'ticker'] as const
export type TallyGrouping = (typeof TALLY_GROUPINGS)[number]

/** Bands of the field and of the context field in their own order, which groups then follow. */
export interface Vocabularies {
  field?: readonly string[]
  context?: readonly string[]
}

/** The events of one value, ticker by ticker. */
export interface Group {
  /** null: not grouped, or the context ticker had no band yet */
  value: string | null
  members: Member[]
}

/** One ticker's events of a group: their rows in its columns. */
export interface Member {
  source: TickerSource
  rows: readonly number[]
}

/**
 * Splits events by what they are grouped by; every event lies in exactly one group. Groups stand in the order of the
 * vocabulary where there is one, otherwise ascending; null last.
 */
export function groupsOf(
  sources: readonly TickerSource[],
  by: TallyGrouping | null,
  vocabularies: Vocabularies,
): Group[] {
  if (by === null) {
    const entered = sources.filter(source => source.values.length > 0)
    const members = entered.length > 0 ? entered : sources
    return [{ value: null, members: members.map(source => ({ source, rows: [...source.values.keys()] })) }]
  }
  const groups = new Map<string | null, Member[]>()
  for (const source of sources) {
    for (const [value, rows] of split(source)) {
      const members = groups.get(value)
      if (members === undefined) groups.set(value, [{ source, rows }])
      else members.push({ source, rows })
    }
  }
  const compare = byVocabulary(vocabulary(by, vocabularies))
  return Array.from(groups, ([value, members]) => ({ value, members })).sort((a, b) => compare(a.value, b.value))
}

/** What an event is grouped by. */
export function groupValue(event: HistoricEvent, ticker: string, by: TallyGrouping | null): string | null {
  switch (by) {
    case 'band':
      return event.band
    case 'prev_band':
      return event.prev_band
    case 'stability':
      return event.stability_at_entry ?? null
    case 'year':
      return event.date.slice(0, 4)
    case 'context':
      return event.context_band ?? null
    case 'ticker':
      return ticker
    case null:
      return null
  }
}

function split({ values }: TickerSource): Map<string | null, number[]> {
  const parts = new Map<string | null, number[]>()
  values.forEach((value, row) => {
    const part = parts.get(value)
    if (part === undefined) parts.set(value, [row])
    else part.push(row)
  })
  return parts
}

function vocabulary(by: TallyGrouping, { field = [], context = [] }: Vocabularies): readonly string[] {
  if (by === 'band' || by === 'prev_band') return field
  if (by === 'stability') return STABILITIES
  return by === 'context' ? context : []
}
