import { parameter, sentence, wrong } from '../../core/errors.js'
import { type Day, formatDay } from '../../core/model/day.js'
import type { PoolQuery } from '../../core/model/event.js'
import type { History } from '../../core/model/history.js'
import { STABILITIES } from '../../core/model/series.js'
import type { TallyGrouping } from '../../core/params/studies.js'
import type { Source } from '../../core/source.js'
import { fieldAndContextBands } from './pool.js'

/** How the events of one history are grouped: the code of each event's group, and the value that a code means. */
export interface Grouping {
  /** By row of the history. */
  codes: Int32Array | Uint8Array | number[]
  /** null for events without a value: without a band of the context, without a sector, or without groups. */
  nameOf(code: number): string | null
}

/** The groups of a history's events. @param by null for one group of all events @param sectors used only by `sector` */
export function groupingOf(history: History, by: TallyGrouping | null, sectors: Sectors): Grouping {
  const { ticker, bands, days, entered, left, stability, contexts } = history
  switch (by) {
    case 'band':
      return { codes: entered, nameOf: code => bands[code]! }
    case 'prev_band':
      return { codes: left, nameOf: code => bands[code]! }
    case 'stability':
      return { codes: stability, nameOf: code => STABILITIES[code] ?? null }
    case 'year':
      return { codes: days.map(day => Number(yearText(day))), nameOf: year => String(year).padStart(4, '0') }
    case 'context': {
      const names = [...new Set(contexts)]
      return { codes: (contexts ?? []).map(context => names.indexOf(context)), nameOf: code => names[code]! }
    }
    case 'ticker':
      return { codes: new Uint8Array(days.length), nameOf: () => ticker }
    case 'sector':
      return { codes: new Uint8Array(days.length), nameOf: () => sectors.get(ticker) ?? null }
    case null:
      return { codes: new Uint8Array(days.length), nameOf: () => null }
  }
}

function yearText(day: Day): string {
  return formatDay(day).slice(0, 4)
}

/** The values of groups in display order; empty where they are in alphabetical order. */
export async function groupOrder(
  source: Source,
  by: TallyGrouping | null,
  filter: Pick<PoolQuery, 'field' | 'context'>,
): Promise<readonly string[]> {
  if (by === 'stability') return STABILITIES
  const [fieldBands, contextBands] = await fieldAndContextBands(source, filter)
  if (by === 'band' || by === 'prev_band') return fieldBands
  return by === 'context' ? contextBands : []
}

/** The sector of each ticker that has one. */
export type Sectors = ReadonlyMap<string, string>

/** The sectors for groups by sector; empty for other groups. Throws InvalidParameter if no ticker has a sector. */
export async function sectorsOf(source: Source, by: TallyGrouping | null): Promise<Sectors> {
  if (by !== 'sector') return new Map()
  const sectors = await source.sectors?.()
  if (sectors !== undefined && sectors.size > 0) return sectors
  const why =
    sectors === undefined
      ? 'a server does not report sectors'
      : 'no ticker has a sector; import securities (docs/data.md)'
  throw wrong('by', sentence`${parameter('by', 'sector')} has no groups: ${why}.`, {
    value: 'sector',
    suggestions: ['ticker'],
  })
}
