import { countBelow, countUpTo, type Day, parseDay } from '../../core/model/day.js'
import type { History } from '../../core/model/history.js'
import { UNDEFINED } from '../../core/model/series.js'
import { firstNames } from '../../core/numbers.js'
import { type PricedSource, type Source, type States, tickerBars } from '../../core/source.js'
import { mapKeyOf } from '../../data/store/pages.js'

/** The figures of a field's history that the remarks need. */
interface FieldHistory extends Pick<History, 'ticker' | 'after' | 'as_of'> {
  events: number
  /** Whether an event has no stability. */
  lacksStability: boolean
  /** The numbers of events without a bar, in the order of WITHOUT_BAR. */
  withoutBar: readonly number[]
}

/**
 * Combines two sources: bands and events from one (a server, or its stored pages) on bars from another. Events go to
 * the bars of their dates. A band lasts until the next event. The band before the first event reaches back to the start
 * of the range, because event sources do not report bars without a band.
 */
export function eventsOnBars(events: Source, prices: PricedSource): PricedSource {
  /** By ticker, field and timeframe: queries may repeat. */
  const fieldHistories = new Map<string, FieldHistory>()
  // Returns the bands of a field on a ticker's bars, and remembers the figures of its history for the remarks.
  const bandsOnBars = (history: History, days: Int32Array): States => {
    const { ticker, after, as_of, stability } = history
    const { states, withoutBar } = eventsOnDates(history, days)
    const figures = { events: stability.length, lacksStability: stability.includes(UNDEFINED), withoutBar }
    fieldHistories.set(mapKeyOf(history), { ticker, after, as_of, ...figures })
    return states
  }
  return {
    fields: names => events.fields(names),
    get server() {
      return events.server
    },
    tickers: () => events.tickers(),
    sectors: async () => (await prices.sectors?.()) ?? new Map(),
    bars: query => prices.bars(query),
    async *states({ copiesBars: _, ...query }) {
      const iterator = events.histories(query)[Symbol.asyncIterator]()
      try {
        for (const ticker of query.tickers) {
          const histories: History[] = []
          // A refusal by tier comes before a missing ticker.
          for (const _field of query.fields) histories.push((await iterator.next()).value)
          const bars = await tickerBars(prices, ticker, query.timeframe)
          yield { prices: bars, states: histories.map(history => bandsOnBars(history, bars.series.days)) }
        }
      } finally {
        await iterator.return?.()
      }
    },
    /** Tickers with local bars that also have events, as far as known. */
    async withBars() {
      const [withEvents, bars] = await Promise.all([events.tickers(), prices.withBars()])
      return withEvents === null ? bars : bars.filter(ticker => withEvents.includes(ticker))
    },
    /** The as-of day of the bars, or the earliest of the events if that is before it. */
    async asOfDay() {
      const days = [...fieldHistories.values()].flatMap(({ as_of }) => (as_of === null ? [] : [parseDay(as_of)!]))
      const day = await prices.asOfDay()
      return day === null ? null : Math.min(day, ...days)
    },
    threads: prices.threads,
    cluster: prices.cluster,
    remarks: () => [...remarksAbout([...fieldHistories.values()]), ...prices.remarks()],
    async close() {
      await Promise.all([events.close(), prices.close()])
    },
  }
}

/** Notes about bands and events from another source, once for all tickers. */
function remarksAbout(fieldHistories: readonly FieldHistory[]): string[] {
  if (fieldHistories.length === 0) return []
  const remarks = [rangeText(fieldHistories), BAND_NOTE, ...leftOutNotes(fieldHistories)]
  if (fieldHistories.some(({ lacksStability }) => lacksStability)) remarks.push(NO_STABILITY_NOTE)
  return remarks
}

/** A sentence with the widest range of dates of all fields. An unknown day counts as the widest. */
function rangeText(fieldHistories: readonly FieldHistory[]): string {
  // An unknown day is '', which sorts first.
  const starts = [...new Set(fieldHistories.map(({ after }) => after ?? ''))].sort()
  const ends = [...new Set(fieldHistories.map(({ as_of }) => as_of ?? ''))].sort()
  const after = starts[0] === '' ? 'from the first event on' : `after ${starts[0]}`
  const until = ends[0] === '' ? 'to the last event' : `up to ${ends.at(-1)}`
  const differ = starts.length > 1 || ends.length > 1 ? ', at the widest; that differs by ticker or field' : ''
  return `Bands and events are as received, of dates ${after} ${until}${differ}; bars are those of the database here.`
}

/** A list with one sentence about the events that have no bar on their date; empty if there are none. */
function leftOutNotes(fieldHistories: readonly FieldHistory[]): string[] {
  const incomplete = fieldHistories.filter(({ withoutBar }) => sum(withoutBar) > 0)
  if (incomplete.length === 0) return []
  const places: string[] = []
  for (const [i, place] of WITHOUT_BAR.entries()) {
    const count = sum(incomplete.map(({ withoutBar }) => withoutBar[i]!))
    if (count > 0) places.push(`${count} ${place}`)
  }
  const where = places.join(', ')
  const leftOut = sum(incomplete.map(({ withoutBar }) => sum(withoutBar)))
  const tickers = firstNames([...new Set(incomplete.map(({ ticker }) => ticker))].sort(), 3)
  const total = sum(fieldHistories.map(({ events }) => events))
  return [
    `${leftOut} of ${total} events are left out, because there is no bar here on their date (${where}): ${tickers}.`,
  ]
}

/** Where events have no bar on their date. */
const WITHOUT_BAR = ['before the first bar', 'after the last', 'between two'] as const

function sum(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0)
}

const BAND_NOTE =
  'A band is assumed to last until the next event. The band before the first event is assumed from the begin of that range. Bars without a band are not known.'
const NO_STABILITY_NOTE = 'This key does not give stability and flips of events.'

/**
 * Puts the events of a history on the bars of their dates. An unknown start of its range is the first event, an unknown
 * end the last event.
 * @param barDays days of the local bars, ascending
 * @returns the band of each bar with the events, and the numbers of events without a bar, in the order of WITHOUT_BAR
 */
function eventsOnDates(history: History, barDays: Int32Array): { states: States; withoutBar: readonly number[] } {
  const { ticker, field, timeframe, bands, days: eventDays } = history
  const { after, upTo } = rangeOf(history)
  // The bars in the range are those from `from` to before `to`.
  const from = countUpTo(barDays, after)
  const to = Math.max(from, countUpTo(barDays, upTo))
  const barOfEvent = eventDays.map(day => barIndexOn(barDays, day))
  const eventsInRange = [...barOfEvent.keys()].filter(event => barOfEvent[event]! >= from && barOfEvent[event]! < to)
  const valuesInRange = (values: Uint8Array): Uint8Array => Uint8Array.from(eventsInRange, event => values[event]!)
  const startBand = startBandOf(history)
  const states: States = {
    ticker,
    field,
    timeframe,
    bands,
    codes: bandCodesOf(history, { barDays, from, to }, startBand),
    from,
    to,
    bars: Int32Array.from(eventsInRange, event => barOfEvent[event]!),
    entered: valuesInRange(history.entered),
    left: valuesInRange(history.left),
    stability: valuesInRange(history.stability),
    flips: valuesInRange(history.flips),
    upTo,
  }
  // The band at the start counts as entered, and known, on the first day of the range.
  if (startBand !== null && history.after !== null)
    states.earlier = { band: startBand, since: after + 1, known: after + 1 }
  return { states, withoutBar: countWithoutBar(barDays, barOfEvent, eventDays) }
}

/** The range of a history: its events lie after `after` and up to `upTo`. Without events and known days it is empty. */
function rangeOf({ after, as_of, days }: History): { after: Day; upTo: Day } {
  const first = days[0] ?? Number.POSITIVE_INFINITY
  const last = days.at(-1) ?? Number.NEGATIVE_INFINITY
  return { after: after === null ? first - 1 : parseDay(after)!, upTo: as_of === null ? last : parseDay(as_of)! }
}

/** The index of the band at the start of the range: that before the first event, or the present one; null: unknown. */
function startBandOf({ left, present, bands }: History): number | null {
  if (left.length > 0) return left[0]!
  return present !== null && present.since === null ? bands.indexOf(present.band) : null
}

/**
 * The band on each bar as an index of the history's bands, UNDEFINED outside the range. A change on a date without a
 * bar counts from the next bar on. The range has the bars from `from` to before `to`.
 * @param startBand the band at the start of the range; null: not known
 */
function bandCodesOf(
  { days: eventDays, entered, present, bands }: History,
  { barDays, from, to }: { barDays: Int32Array; from: number; to: number },
  startBand: number | null,
): Uint8Array {
  const codes = new Uint8Array(barDays.length).fill(UNDEFINED)
  // The first bar in the range that is on a day or after it.
  const firstBarFrom = (day: Day): number => Math.max(from, countBelow(barDays, day))
  if (startBand !== null) codes.fill(startBand, from, to)
  // No event enters a ticker's first band. Without events in the range, a last band (`present`) that began within it is
  // that first band. No bar before it has a band.
  if (eventDays.length === 0 && present !== null && present.since !== null)
    codes.fill(bands.indexOf(present.band), firstBarFrom(parseDay(present.since)!), to)
  const starts = eventDays.map(firstBarFrom)
  for (const [i, band] of entered.entries()) codes.fill(band, starts[i]!, Math.min(to, starts[i + 1] ?? to))
  return codes
}

/** The index of the bar on a day; -1 if there is none. */
function barIndexOn(barDays: Int32Array, day: Day): number {
  const index = countBelow(barDays, day)
  return barDays[index] === day ? index : -1
}

/** How many events have no bar: before the first bar, after the last, between two. @param barOfEvent -1 for none */
function countWithoutBar(barDays: Int32Array, barOfEvent: Int32Array, eventDays: Int32Array): number[] {
  // Without any bar, all events count as before the first one.
  const firstBar = barDays[0] ?? Number.POSITIVE_INFINITY
  const lastBar = barDays.at(-1) ?? Number.POSITIVE_INFINITY
  let before = 0
  let after = 0
  let between = 0
  for (const [event, day] of eventDays.entries()) {
    if (barOfEvent[event]! >= 0) continue
    if (day < firstBar) before++
    else if (day > lastBar) after++
    else between++
  }
  return [before, after, between]
}
