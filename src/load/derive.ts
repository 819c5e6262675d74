import { record } from '../engine/record.js'
import { recordTail } from '../engine/tail.js'
import type { Field } from '../fields/field.js'
import { ALONE, FIELDS } from '../fields/index.js'
import type { Facts } from '../model/facts.js'
import type { Series } from '../model/series.js'
import { decodeTail } from '../store/codec.js'
import type { PackedRecord, PackedTail, TickerEntry, TickerRecord } from '../store/store.js'
import { inOrder, moved, type Work } from '../threads.js'

/** A ticker's whole series, the facts that count, and what the store says of it. */
export interface Kept {
  entry: TickerEntry
  bars: Series
  facts: Facts | null
  /** Bars before these are as they are stored, and so is all that was derived from them; unless given, none is. */
  stored?: PackedTail
  /** Its sector is behind, and what compares with that is recorded when it is settled: until then there is none of it. */
  compared?: boolean
}

/** All that is recorded of a ticker. */
export function derived(kept: Kept): TickerRecord {
  const { entry, bars, facts, stored, compared = false } = kept
  const fields = compared ? ALONE : FIELDS
  const tail = tailOf(kept, fields)
  if (tail !== null) return { entry, ...tail, stored }
  return { entry, ...record(bars, entry.assetClass, facts, fields) }
}

/** null where not only the last bars are new, and where what is stored does not tell what they need. */
function tailOf({ entry, bars, facts, stored }: Kept, fields: readonly Field[]): ReturnType<typeof recordTail> {
  if (stored === undefined) return null
  const [daily, weekly] = [decodeTail(stored.daily), decodeTail(stored.weekly)]
  if (daily === null || weekly === null) return null
  const recorded = { daily, weekly }
  return recordTail(bars, entry.assetClass, facts, { since: stored.since, recorded, fields })
}

/** So many tickers are derived together and written as one, or so many bars: some 64 MB of what is recorded. */
const TICKERS = 200
const BARS = 400_000

/** So many bars are derived as one piece of work. */
const PIECE = 20_000

/** Pieces that are on their way while some are written, for each thread. */
const AHEAD = 6

/** So many bars are derived in about a millisecond. */
const BARS_A_MS = 600

/** Where only the last bars are new, what comes before them costs as much as so many. */
const BARS_BEFORE = 360

/** A ticker of so many bars. */
export interface ToDerive {
  bars: number
  /** The first of them that is new or has changed; 0 unless given. */
  since?: number
}

/** How many bars cost as much to derive. */
function costOf({ bars, since = 0 }: ToDerive): number {
  return Math.min(bars, bars - since + BARS_BEFORE)
}

/** Tickers in their order, as many at a time as are written as one. */
export function together<T>(tickers: readonly T[], barsOf: (ticker: T) => number, most = BARS): T[][] {
  const groups: T[][] = []
  let bars = most
  for (const ticker of tickers) {
    bars += barsOf(ticker)
    const group = groups.at(-1)
    if (group !== undefined && group.length < TICKERS && bars <= most) group.push(ticker)
    else {
      groups.push([ticker])
      bars = barsOf(ticker)
    }
  }
  return groups
}

/** Tickers that are written as one. */
export interface Derived<Ticker> {
  group: readonly Ticker[]
  records: readonly (TickerRecord | PackedRecord)[]
  /** Whether there are no more. */
  isLast: boolean
}

/**
 * Groups of tickers with all that is recorded of them, in their order; of the next, some are derived in threads while one
 * is written. Groups are taken from the list, so that what is written is let go.
 * @param keptOf reads what is kept of tickers
 */
export async function* deriveGroups<Ticker extends ToDerive>(
  groups: Ticker[][],
  keptOf: (tickers: readonly Ticker[]) => Promise<Kept[]>,
  { threads, onTicker }: { threads: number | undefined; onTicker: (ticker: Kept) => void },
): AsyncGenerator<Derived<Ticker>> {
  let [bars, cost] = [0, 0]
  for (const ticker of groups.flat()) {
    bars += ticker.bars
    cost += costOf(ticker)
  }
  /** What was given, and the group that is whole with it. */
  const given: { kept: Kept[]; whole: Pick<Derived<Ticker>, 'group' | 'isLast'> | null }[] = []
  async function* pieces(): AsyncGenerator<Kept[]> {
    for (let group = groups.shift(); group !== undefined; group = groups.shift()) {
      const parts = group.length === 0 ? [[]] : together(group, ticker => ticker.bars, PIECE)
      for (const [i, part] of parts.entries()) {
        const kept = await keptOf(part)
        given.push({ kept, whole: i === parts.length - 1 ? { group, isLast: groups.length === 0 } : null })
        yield kept
      }
    }
  }
  let records: (TickerRecord | PackedRecord)[] = []
  const work: Work<Kept[], (TickerRecord | PackedRecord)[]> = {
    ...{ job: 'derive', data: () => null, tasks: pieces(), ms: cost / BARS_A_MS, ahead: AHEAD },
    // Columns may be parts of larger ones, all of which would be sent.
    sent: moved,
    here: piece => piece.map(derived),
  }
  // To derive the last bars takes a sixth of an update: to send them to a thread and back costs as much.
  for await (const found of inOrder(work, 2 * cost < bars ? 1 : threads)) {
    const piece = given.shift()!
    piece.kept.forEach(onTicker)
    records.push(...found)
    if (piece.whole === null) continue
    yield { ...piece.whole, records }
    records = []
  }
}
