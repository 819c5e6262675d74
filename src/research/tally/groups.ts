import { parameter, sentence, wrong } from '../../core/errors.js'
import { type Day, formatDay } from '../../core/model/day.js'
import type { PoolQuery } from '../../core/model/event.js'
import type { History } from '../../core/model/history.js'
import { STABILITIES } from '../../core/model/series.js'
import type { TallyGrouping } from '../../core/params/studies.js'
import type { Source } from '../../core/source.js'
import { ordersOf } from './pool.js'

/** How the events of one history are grouped: by number, and the value of each number. */
export interface Grouping {
  /** By row of the history. */
  codes: Int32Array | Uint8Array | number[]
  /** null for events without a value: without a band of the context, without a sector, or without groups. */
  name(code: number): string | null
}

/** @param by null for one group of all events @param sectors of the tickers, where events are grouped by sector */
export function groupingOf(history: History, by: TallyGrouping | null, sectors: Sectors): Grouping {
  const { ticker, bands, days, entered, left, stability, contexts } = history
  switch (by) {
    case 'band':
      return { codes: entered, name: code => bands[code]! }
    case 'prev_band':
      return { codes: left, name: code => bands[code]! }
    case 'stability':
      return { codes: stability, name: code => STABILITIES[code] ?? null }
    case 'year':
      return { codes: days.map(day => Number(yearText(day))), name: year => String(year).padStart(4, '0') }
    case 'context': {
      const names = [...new Set(contexts)]
      return { codes: (contexts ?? []).map(context => names.indexOf(context)), name: code => names[code]! }
    }
    case 'ticker':
      return { codes: new Uint8Array(days.length), name: () => ticker }
    case 'sector':
      return { codes: new Uint8Array(days.length), name: () => sectors.get(ticker) ?? null }
    case null:
      return { codes: new Uint8Array(days.length), name: () => null }
  }
}

function yearText(day: Day): string {
  return formatDay(day).slice(0, 4)
}

/** The values of groups in their order; none where they have no order but the alphabet. */
export async function orderOf(
  source: Source,
  by: TallyGrouping | null,
  filter: Pick<PoolQuery, 'field' | 'context'>,
): Promise<readonly string[]> {
  if (by === 'stability') return STABILITIES
  const [field, context] = await ordersOf(source, filter)
  if (by === 'band' || by === 'prev_band') return field
  return by === 'context' ? context : []
}

/** The sector of each ticker that has one. */
export type Sectors = ReadonlyMap<string, string>

/** Throws InvalidParameter where no ticker of the source has a sector. */
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
