import { TIMEFRAME_NAMES, type Timeframe } from '../model/terms.js'
import { checkedSheet, damaged, damagesIn, type KeptTicker, type Place, tickerDamages } from './checked.js'
import { type ChunkList, entryOf, type Hashed, hashesIn, missing, unlisted } from './content.js'
import type { PulledRow } from './pages.js'
import { listName, pulledDamages } from './pulled.js'
import type { Damage, PackedPart, PackedRecord, PackedSeries, SheetRow, TickerCopy } from './store.js'

/** What lies in the tables of a store about a ticker. Nothing of it is checked. */
export interface FoundTicker {
  ticker: string
  bars: KeptTicker | null
  sheets: readonly Hashed<SheetRow>[]
  pulled: readonly PulledRow[]
  /** What the list names of it. */
  listed: readonly string[]
}

/** All of it for another store, packed as it lies there. Throws Damaged where some of it is not what was written. */
export function copyOf(at: Place, found: FoundTicker): TickerCopy {
  const { ticker, bars, sheets, pulled } = found
  const [damage] = damagesOf(at, found)
  if (damage !== undefined) throw damaged(at, damage)
  return { ticker, record: bars === null ? null : packedAsKept(bars), sheets, pulled }
}

function damagesOf(at: Place, { ticker, bars, sheets, pulled, listed }: FoundTicker): Damage[] {
  const there = [...(bars === null ? [] : ['bars']), ...sheets.map(({ kind }) => kind), ...pulled.map(listName)]
  return [
    ...listed.filter(what => !there.includes(what)).map(what => missing(ticker, what)),
    ...there.filter(what => !listed.includes(what)).map(what => unlisted(ticker, what)),
    ...(bars === null ? [] : tickerDamages(at, bars, TIMEFRAME_NAMES)),
    ...sheets.flatMap(row => damagesIn(() => checkedSheet(at, row))),
    ...pulled.flatMap(pulledDamages),
  ]
}

/** Its parts stay in the order in which its rows name them: the hashes of those are over that, too. */
function packedAsKept({ entry, series, chunks }: KeptTicker): PackedRecord {
  const bytes: Buffer[] = []
  const partsOf = (timeframe: Timeframe, row: ChunkList): PackedPart[] =>
    (Object.entries(hashesIn(row)) as [PackedPart['part'], string][]).map(([part, hashes]) => {
      const columns = chunks(timeframe, part).map(row => row.columns)
      bytes.push(...columns)
      return { part, first: 0, sizes: columns.map(({ length }) => length), hashes }
    })
  const bars = partsOf('daily', entry)
  const packed = (timeframe: Timeframe): PackedSeries => {
    const row = series(timeframe)!
    const { bars, final, events, eventsOnLast, fields, marks } = row
    const summary = { bars, final, events, eventsOnLast, fields, marks }
    return { timeframe, summary, parts: partsOf(timeframe, row) }
  }
  const [daily, weekly] = [packed('daily'), packed('weekly')]
  return { entry: entryOf(entry), isTail: false, bars, daily, weekly, bytes: Buffer.concat(bytes) }
}
