/** GET /v1/events as a linear search over all events, for well-formed questions that the tier may ask. */
import { type Bar, dayAfter, finalOn, type Options, type Timeframe, weekday } from './bars.js'
import { type Event, eventsOfEveryField } from './events.js'
import type { FieldName } from './fields.js'

export type Tier = 'free' | 'plus' | 'pro'

/** Ticker → timeframe → field → events, oldest first. */
export type Archive = Record<string, Record<Timeframe, Record<FieldName, Event[]>> & { weekFinal?: OfDate }>

/** The day from which on the week of a last session is final. */
type OfDate = (date: string) => string

export interface Query {
  ticker: string
  field: FieldName
  timeframe?: Timeframe | undefined
  band?: string | undefined
  limit?: number | undefined
  before?: string | undefined
  after?: string | undefined
  context_ticker?: string | undefined
  context_field?: FieldName | undefined
  context_band?: string | undefined
  tier?: Tier | undefined
  /** The as-of date, or else the date of the newest bar in the store. */
  today: string
}

interface Listed {
  bars: Bar[]
  assetClass?: Options['assetClass']
}

/**
 * The body of the answer, its keys in the order of the specification. With an as-of date, `all` is the archive of that
 * date. Throws `tier_restricted` where the tier may not ask.
 */
export function search(all: Archive, query: Query): Record<string, unknown> {
  const { ticker, field, timeframe = 'daily', band, limit = 10, before, after, tier = 'pro', today } = query
  const { context_ticker, context_field, context_band } = query
  if (context_ticker !== undefined && tier === 'free') throw new Error('tier_restricted')
  const start = rangeStart(today, tier)
  const matching = all[ticker.toUpperCase()]![timeframe][field].filter(event => {
    if (event.date <= start || event.date > today) return false
    if (band !== undefined && event.band !== band) return false
    if (before !== undefined && !(event.date < before)) return false
    if (after !== undefined && !(event.date > after)) return false
    if (context_ticker === undefined) return true
    const context = all[context_ticker.toUpperCase()]![timeframe][context_field!]
    const day = finalIn(all, ticker, timeframe)(event.date)
    const final = finalIn(all, context_ticker, timeframe)
    return context.filter(({ date }) => date <= event.date && final(date) <= day).at(-1)?.band === context_band
  })
  const newestFirst = [...matching].reverse()
  const body: Record<string, unknown> = {
    ticker: ticker.toUpperCase(),
    field,
    timeframe,
    events: newestFirst.slice(0, limit).map(event => asSeenBy(tier, timeframe, event)),
    total_occurrences: matching.length,
    query_range: { free: '90d', plus: '2y', pro: '5y' }[tier],
  }
  if (context_ticker !== undefined) {
    body.context = { ticker: context_ticker.toUpperCase(), field: context_field, band: context_band }
  }
  return body
}

function finalIn(all: Archive, ticker: string, timeframe: Timeframe): OfDate {
  return (timeframe === 'weekly' && all[ticker.toUpperCase()]!.weekFinal) || (date => date)
}

/** Every event of every ticker, daily and weekly; with an as-of date, of a store whose bars end there. */
export function archive(tickers: Record<string, Listed>, asOf?: string): Archive {
  const all: Archive = {}
  for (const [ticker, { bars, assetClass }] of Object.entries(tickers)) {
    const options = { asOf, assetClass }
    const atWeekends = bars.filter(({ date }) => weekday(date) > 5).slice(0, 1)
    all[ticker] = {
      daily: eventsOfEveryField(bars, 'daily', options),
      weekly: eventsOfEveryField(bars, 'weekly', options),
      weekFinal: date => finalOn(date, atWeekends, assetClass),
    }
  }
  return all
}

/** "Today" when no as-of date is given: the date of the newest bar of all tickers. */
export function newestDate(tickers: Record<string, Listed>): string {
  const dates = Object.values(tickers).flatMap(({ bars }) => bars.map(bar => bar.date))
  return dates.sort().at(-1)!
}

/** An event is in range when its date is after this one. */
export function rangeStart(today: string, tier: Tier): string {
  if (tier === 'free') return dayAfter(today, -90)
  const year = Number(today.slice(0, 4)) - (tier === 'plus' ? 2 : 5)
  // Neither two nor five years before a leap year is another one.
  const monthAndDay = today.slice(5) === '02-29' ? '02-28' : today.slice(5)
  return `${String(year).padStart(4, '0')}-${monthAndDay}`
}

function asSeenBy(tier: Tier, timeframe: Timeframe, event: Event): Record<string, unknown> {
  const seen: Record<string, unknown> = { date: event.date, band: event.band, prev_band: event.prev_band }
  if (tier !== 'free') {
    seen.stability_at_entry = event.stability_at_entry
    seen.flips_recent_at_entry = event.flips_recent_at_entry
    seen.flips_lookback = event.flips_lookback
  }
  seen[timeframe === 'daily' ? 'duration_days' : 'duration_weeks'] = event.duration
  seen.aftermath = tier === 'free' ? null : performances(event)
  return seen
}

function performances(event: Event): Record<string, { performance: string } | null> {
  const pairs = Object.entries(event.aftermath).map(([window, band]) => [
    window,
    band === null ? null : { performance: band },
  ])
  return Object.fromEntries(pairs) as Record<string, { performance: string } | null>
}
