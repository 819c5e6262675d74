import { remedy, type Sentence, sentence } from '../errors.js'
import { countUpTo, type Day, formatDay } from '../model/day.js'
import type { Series } from '../model/series.js'
import { type AcceptedJump, jumpsOf, type Store, type TickerEntry } from '../store/store.js'

/** What is odd about stored bars, stays until somebody does something about it, and is shown until then. */

const KINDS = ['accepted_jump', 'outside_range', 'to_come', 'far_behind', 'far_beyond'] as const

export interface StoredOddity {
  /**
   * `accepted_jump`: bars on two scales. `outside_range`: bars that open or close outside their high and low. `to_come`: bars later than tomorrow, which do not count. `far_behind`,
   * `far_beyond`: the last bar lies more than 30 days before or after that of the middle one of all tickers; before it is
   * no cause where the ticker is known to be delisted.
   */
  kind: (typeof KINDS)[number]
  ticker: string
  /** Of the jump, or of the last such bar. */
  date: string
  /** How many times the bars before the jump those from it on are; null of what is no jump. */
  factor: number | null
  /** How many bars lie outside their range; null of other kinds. */
  bars: number | null
}

/** A ticker's last bars are far from those of the others when more days lie between. */
const FAR = 30

/** What is seen of a ticker on a day. */
interface Seen {
  ticker: string
  /** null where all of its bars are to come. */
  last: Day | null
  /** The last of its bars to come. */
  toCome: Day | null
  jumps: readonly AcceptedJump[]
  /** Days of the bars that open or close outside their high and low. */
  outside: readonly Day[]
}

/**
 * @param today the day up to which bars count
 * @param lastDay the last day that can have a bar; null where what comes after today is not to be shown
 * @param see is given the days of the known bars of each ticker that has some, for who needs them, too
 */
export async function storedOddities(
  store: Store,
  today: Day,
  lastDay: Day | null,
  see: (entry: TickerEntry, days: Int32Array) => void = () => {},
): Promise<StoredOddity[]> {
  const seen: Seen[] = []
  for (const entry of await store.tickers()) seen.push(...(await seenOf(store, entry, today, lastDay, see)))
  const securities = await store.securities()
  const found = [...seen.flatMap(alone), ...beside(seen, ticker => securities.get(ticker)?.delisted !== undefined)]
  return KINDS.flatMap(kind => found.filter(oddity => oddity.kind === kind))
}

/** Nothing of a ticker without bars by then. */
async function seenOf(
  store: Store,
  entry: TickerEntry,
  today: Day,
  lastDay: Day | null,
  see: (entry: TickerEntry, days: Int32Array) => void,
): Promise<Seen[]> {
  const { ticker, first, last } = entry
  const toCome = lastDay !== null && last > lastDay ? last : null
  if (first > today) return toCome === null ? [] : [{ ticker, last: null, toCome, jumps: [], outside: [] }]
  const series = (await store.bars(ticker))!
  const { days } = series
  const known = days.subarray(0, countUpTo(days, today))
  see(entry, known)
  const jumps = jumpsOf(entry, days).filter(({ day }) => day <= today)
  return [{ ticker, last: known.at(-1)!, toCome, jumps, outside: [...known.filter((_, t) => isOutside(series, t))] }]
}

/** Beyond this share of the price it is no rounding. */
const ROUNDING = 0.001

function isOutside({ open, high, low, close }: Series, t: number): boolean {
  const most = Math.max(open[t]!, close[t]!)
  const least = Math.min(open[t]!, close[t]!)
  return most > high[t]! * (1 + ROUNDING) || least < low[t]! * (1 - ROUNDING)
}

function alone({ ticker, toCome, jumps, outside }: Seen): StoredOddity[] {
  const found = jumps.map(({ day, factor }): StoredOddity => {
    return { kind: 'accepted_jump', ticker, date: formatDay(day), factor, bars: null }
  })
  const last = outside.at(-1)
  if (last !== undefined)
    found.push({ kind: 'outside_range', ticker, date: formatDay(last), factor: null, bars: outside.length })
  if (toCome !== null) found.push({ kind: 'to_come', ticker, date: formatDay(toCome), factor: null, bars: null })
  return found
}

function beside(seen: readonly Seen[], isDelisted: (ticker: string) => boolean): StoredOddity[] {
  const lasts = Int32Array.from(seen.flatMap(({ last }) => last ?? [])).sort()
  const middle = lasts[lasts.length >> 1] ?? 0
  return seen.flatMap(({ ticker, last }): StoredOddity[] => {
    if (last === null) return []
    const far = { ticker, date: formatDay(last), factor: null, bars: null }
    if (last > middle + FAR) return [{ kind: 'far_beyond', ...far }]
    return last < middle - FAR && !isDelisted(ticker) ? [{ kind: 'far_behind', ...far }] : []
  })
}

/** Oddities as people read them, a line a kind: what it is, and what to do about it. */
export function oddityLines(
  oddities: readonly StoredOddity[],
): { kind: StoredOddity['kind']; what: string; mend: Sentence }[] {
  return KINDS.flatMap(kind => {
    const found = oddities.filter(oddity => oddity.kind === kind)
    const [first] = found
    if (first === undefined) return []
    const named = found.slice(0, NAMED).map(shown).join(', ')
    const more = found.length > NAMED ? ` and ${found.length - NAMED} more` : ''
    return [{ kind, what: `${TITLES[kind]}: ${named}${more}`, mend: MENDS[kind](first) }]
  })
}

const NAMED = 3

const TITLES: Readonly<Record<StoredOddity['kind'], string>> = {
  accepted_jump: 'accepted jumps',
  outside_range: 'bars that open or close outside their high and low',
  to_come: 'bars to come, which do not count',
  far_behind: `last bars more than ${FAR} days before those of most tickers`,
  far_beyond: `last bars more than ${FAR} days after those of most tickers`,
}

function shown({ kind, ticker, date, factor, bars }: StoredOddity): string {
  if (bars !== null) return `${ticker} ${bars === 1 ? 'one' : bars}, ${bars === 1 ? 'on' : 'the last on'} ${date}`
  if (factor !== null) return `${ticker} times ${Number(factor.toPrecision(6))} on ${date}`
  return kind === 'to_come' ? `${ticker} up to ${date}` : `${ticker} ${date}`
}

const MENDS: Readonly<Record<StoredOddity['kind'], (first: StoredOddity) => Sentence>> = {
  accepted_jump: () => sentence`import the whole history of each in one file`,
  outside_range: () => sentence`compare them with another source; an import of other values replaces them`,
  to_come: ({ ticker }) => sentence`${remedy('remove', [ticker], { after: 'DATE' })} takes them out`,
  far_behind: () => sentence`import newer bars, or the day on which it was delisted (${remedy('import-facts')})`,
  far_beyond: ({ ticker }) =>
    sentence`look at its dates; ${remedy('remove', [ticker], { after: 'DATE' })} takes bars out`,
}
