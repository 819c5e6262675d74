import { fieldNamed } from '../fields/index.js'
import type { Day } from '../model/day.js'
import type { HistoryQuery } from '../model/event.js'
import type { WhyEmpty } from '../source.js'
import type { Cache } from './cache.js'
import { bandEnteredBy, countedFacts, lackOf, search, stayOn, type View } from './view.js'

/**
 * Why a question found no event: the first that holds of what it stands on, of the dates that are asked for, of the bands,
 * and of the context. Of events beyond the range of a tier nothing is told, not even whether there are any. Throws as
 * the question does.
 */
export async function whyEmpty(cache: Cache, query: HistoryQuery): Promise<WhyEmpty> {
  const { ticker, field } = query
  const { view, context, today, plan, rangeStart } = await cache.find(query)
  const { first, last } = await cache.entry(ticker)
  const lack = await lackOfFacts(cache, ticker, field)
  if (lack !== null) return { code: 'no_facts', lack }
  if (first > today) return { code: 'not_begun', as_of: today }
  const stay = stayOn(view, view.bars - 1)
  if (stay === null)
    return { code: 'no_band_yet', bars: view.bars, lack: await lackOfBand(cache, query, view.bars), as_of: today }
  const range = Number.isFinite(rangeStart) ? { name: plan.range, from: rangeStart + 1, to: today } : null
  const after = query.after ?? Number.NEGATIVE_INFINITY
  const before = query.before ?? Number.POSITIVE_INFINITY
  if (after + 1 > before - 1 || (range !== null && before <= range.from)) return { code: 'no_day', range }
  const from = Math.max(rangeStart, after) + 1
  const to = Math.min(today, before - 1)
  // The last bar as it was known on the day.
  const end = Math.min(last, view.days[view.bars - 1]!)
  if (range !== null && end < range.from) return { code: 'ended_before', last: end, range }
  if (end < from) return { code: 'bars_end', last: end }
  if (first > to) return { code: 'bars_begin', first }
  return ofEvents(cache, query, { view, context, rangeStart, from, to, range, band: stay.band })
}

/** What is known of a question whose dates have bars. */
interface Asked {
  view: View
  context: View | null
  rangeStart: Day
  from: Day
  to: Day
  range: Extract<WhyEmpty, { code: 'no_day' }>['range']
  /** In force at the end. */
  band: string
}

async function ofEvents(cache: Cache, query: HistoryQuery, asked: Asked): Promise<WhyEmpty> {
  const { view, context, rangeStart, from, to, range, band } = asked
  const { after: _after, before: _before, context: beside, ...anytime } = query
  const inRange = search(view, anytime, rangeStart, null)
  if (inRange.length === 0) {
    const { bands: _bands, ...anything } = anytime
    const seen = bandsEntered(view, search(view, anything, rangeStart, null))
    if (range !== null) return { code: 'not_in_range', range, seen }
    return query.bands === undefined ? { code: 'never_changed', band } : { code: 'never_entered', seen }
  }
  const { context: _context, ...dated } = query
  const inDates = search(view, dated, rangeStart, null)
  if (inDates.length === 0 || context === null || beside === undefined) {
    const days = Array.from(inRange, i => view.days[view.record!.bars[i]!]!)
    return { code: 'outside_dates', events: days.length, nearest: nearestTo(days, from, to) }
  }
  const lack = await lackOfFacts(cache, beside.ticker, beside.field)
  if (lack !== null) return { code: 'context_lacks', lack }
  const codes = Array.from(inDates, i => bandEnteredBy(context, view, view.record!.bars[i]!))
  const bands = context.bands.filter((_, code) => codes.includes(code))
  return { code: 'context_never', events: inDates.length, bands }
}

function bandsEntered({ record, bands }: View, found: Int32Array): string[] {
  const entered = new Set(found.map(i => record!.bands[i]!))
  return bands.filter((_, code) => entered.has(code))
}

/** The day outside of some dates that lies nearest to them. */
function nearestTo(days: readonly Day[], from: Day, to: Day): Day {
  const distance = (day: Day): number => Math.max(from - day, day - to)
  return days.reduce((nearest, day) => (distance(day) < distance(nearest) ? day : nearest))
}

/** What a field would need to have a band on any of the bars of a ticker; null where it cannot be told in a word. */
async function lackOfBand(cache: Cache, { ticker, timeframe, field: name }: HistoryQuery, bars: number) {
  const field = fieldNamed(name)!
  const panel = await cache.panel(ticker, timeframe, [field])
  if (bars <= field.warmUp(panel)) return 'bars'
  const isOnVolume = field.readings(panel, bars - 1).some(({ name }) => name === 'volume')
  return isOnVolume && !panel.series.volume.subarray(0, bars).some(volume => volume > 0) ? 'volumes' : null
}

async function lackOfFacts(cache: Cache, ticker: string, field: string) {
  if (fieldNamed(field)!.needs === 'bars') return null
  const sheets = await cache.store.sheets(ticker)
  return countedFacts(sheets) === null ? lackOf(field, ticker, sheets) : null
}
