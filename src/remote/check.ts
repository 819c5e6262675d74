import { Upstream } from '../errors.js'
import { formatDay } from '../model/day.js'
import type { BandEvent, EventsPage, EventsQuery } from '../model/event.js'
import type { OversoldPage, OversoldQuery } from '../model/oversold.js'
import { parseTicker } from '../model/terms.js'
import { EVENTS_PAGE, OVERSOLD_PAGE } from '../wire/schemas.js'
import type { Occasion } from './answer.js'

/**
 * Documents that were sent as answers, held against what an answer is and against what was asked. What is returned is the
 * document as it came, with keys that nobody here knows. Throws Upstream saying what is wrong, in one sentence.
 */

export type Told = Pick<Occasion, 'base' | 'url' | 'repeat'>

export function checkedEvents(document: unknown, query: EventsQuery, told: Told): EventsPage {
  const fault = shapeFault(EVENTS_PAGE, document)
  if (fault !== null) throw wrong('a page of events', fault, told)
  const page = document as EventsPage
  const mismatch = pageFault(page, query) ?? orderFault(page.events, query)
  if (mismatch !== null) throw wrong('the page that was asked for', mismatch, told)
  return page
}

export function checkedOversold(document: unknown, query: OversoldQuery, told: Told): OversoldPage {
  const fault = shapeFault(OVERSOLD_PAGE, document)
  if (fault !== null) throw wrong('a scan', fault, told)
  const page = document as OversoldPage
  const mismatch = scanFault(page, query)
  if (mismatch !== null) throw wrong('the scan that was asked for', mismatch, told)
  return page
}

function wrong(what: string, fault: string, { base, url, repeat }: Told): Upstream {
  return new Upstream(repeat(`${base} answered something that is not ${what}: ${fault}.`), url, 200)
}

function pageFault(page: EventsPage, query: EventsQuery): string | null {
  for (const name of ['ticker', 'field', 'timeframe'] as const)
    if (page[name] !== query[name]) return `${name} is ${shown(page[name])}, not ${query[name]}`
  const { events, total_occurrences: total, context } = page
  if (events.length > query.limit) return `it has ${events.length} events, more than ${query.limit}`
  if (events.length !== Math.min(total, query.limit)) return `it has ${events.length} events of ${total}`
  if (context === undefined && query.context === undefined) return null
  if (query.context === undefined) return 'context is there, and was not asked for'
  if (context === undefined) return 'context is missing'
  for (const name of ['ticker', 'field', 'band'] as const)
    if (context[name] !== query.context[name])
      return `context.${name} is ${shown(context[name])}, not ${query.context[name]}`
  return null
}

/** Newest first without a repetition, which also makes paging come to an end, and all within what was asked for. */
function orderFault(events: readonly BandEvent[], { before, after, bands }: EventsQuery): string | null {
  let limit = before === undefined ? null : formatDay(before)
  const least = after === undefined ? null : formatDay(after)
  for (const [i, event] of events.entries()) {
    const place = `events[${i}]`
    // Dates of this form sort as they follow each other.
    if (limit !== null && event.date >= limit) return `${place}.date is ${event.date}, not before ${limit}`
    if (least !== null && event.date <= least) return `${place}.date is ${event.date}, not after ${least}`
    if (bands !== undefined && !bands.includes(event.band))
      return `${place}.band is ${shown(event.band)}, not ${bands.join(' or ')}`
    if (event.band === event.prev_band) return `${place}.prev_band is the band that was entered`
    limit = event.date
  }
  return null
}

function scanFault({ matches, match_count: count, total_scanned: scanned }: OversoldPage, query: OversoldQuery) {
  if (matches.length !== Math.min(count, query.limit)) return `it has ${matches.length} matches of ${count}`
  if (count > scanned) return `${count} of ${scanned} match`
  const seen = new Set<string>()
  for (const [i, { ticker, rsi_zone }] of matches.entries()) {
    if (parseTicker(ticker) !== ticker) return `matches[${i}].ticker is ${shown(ticker)}`
    if (seen.has(ticker)) return `${ticker} is there twice`
    if (query.min_severity === 'deep_oversold' && rsi_zone !== query.min_severity)
      return `matches[${i}].rsi_zone is ${rsi_zone}`
    seen.add(ticker)
  }
  return null
}

interface Schema {
  safeParse(value: unknown): { success: boolean; error?: { issues: readonly Issue[] } | undefined }
}

interface Issue {
  code?: string | undefined
  path: readonly PropertyKey[]
  message: string
  expected?: unknown
  values?: readonly unknown[]
}

/** The first thing that is not as the schema has it, with its place; null where all is. */
function shapeFault(schema: Schema, document: unknown): string | null {
  const [issue] = schema.safeParse(document).error?.issues ?? []
  if (issue === undefined) return null
  const place = issue.path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`
    return text === '' ? String(key) : `${text}.${String(key)}`
  }, '')
  return `${place === '' ? 'it' : place} ${issueText(issue)}`
}

function issueText({ code, path, message, expected, values }: Issue): string {
  if (path.at(-1) === 'date') return 'is not a calendar date'
  if (code === 'invalid_type') return `is missing or no ${expected === 'record' ? 'object' : String(expected)}`
  if (code === 'invalid_value' && values !== undefined) return `is none of ${values.join(', ')}`
  return `is not as it should be (${message})`
}

function shown(value: string): string {
  return JSON.stringify(value)
}
