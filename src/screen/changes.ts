import { createHash } from 'node:crypto'
import { InvalidParameter } from '../errors.js'
import type { Local } from '../local/local.js'
import { type Day, formatDay, parseDay } from '../model/day.js'
import type { ExportedEvent } from '../model/event.js'
import { eventsOf } from '../model/history.js'
import type { Stays, TransitionColumns } from '../model/stays.js'
import type { Timeframe } from '../model/terms.js'
import type { Mark } from '../source.js'

export interface ChangesQuery {
  /** Each counts once, whatever the order. */
  tickers: readonly string[]
  fields: readonly string[]
  timeframes: readonly Timeframe[]
  /** Transitions on bars that became final after this day. */
  since: Day
  /**
   * How far the same question was told: on bars after these instead. A ticker that is not among them begins where the
   * newest of its timeframe is: it came to the question later.
   */
  marks?: readonly Mark[]
  /** Only where this condition holds on the bar. */
  when?: string | undefined
  /** How many bars earlier tickers that the condition names are looked at. */
  lag?: number | undefined
}

/** Every transition on bars that became final after a day. */
export interface Changes {
  schema: 'bands.changes/1'
  /** That day; of a list that was asked about before `last`: each ticker goes on after the last bar that was told. */
  since: string
  as_of: string
  /** Newest first, then by ticker, timeframe and field. */
  changes: ExportedEvent[]
}

/** What was found, and how far each ticker was told. */
export interface Changed {
  found: Changes
  marks: Mark[]
}

/** What tells one question of `last` from the others; each goes on from its own marks. */
export interface Asked extends Pick<ChangesQuery, 'fields' | 'when' | 'lag'> {
  /** Names of lists, in any order and case; none: of no list. */
  lists: readonly string[]
}

/**
 * The name under which marks of a question are kept: that of its lists, and what narrows it. Its tickers and timeframes do
 * not count: a mark is of each by itself.
 * @param all what the fields are chosen from
 */
export function questionOf({ lists, fields, when, lag = 0 }: Asked, all: readonly string[]): string {
  const names = [...new Set(lists.map(name => name.toLowerCase()))].sort().join(',')
  const chosen = [...new Set(fields)].sort()
  const isWhole = all.every(name => chosen.includes(name))
  if (isWhole && when === undefined) return names
  const narrowed = JSON.stringify({ fields: isWhole ? null : chosen, when: when ?? null, lag })
  return `${names}#${createHash('sha256').update(narrowed).digest('hex').slice(0, 16)}`
}

/** A bar is final at most so many days after its date: a week that ended with a short session. */
const LATEST = 7

/** Throws TierRestricted, NotFound for a ticker that is not there, InvalidParameter for no ticker or field. */
export async function changes(
  local: Local,
  query: ChangesQuery,
  { step }: { step?: (text: () => string) => void } = {},
): Promise<Changed> {
  const { since, marks: told } = query
  const tickers = [...new Set(query.tickers)].sort()
  if (query.fields.length === 0) throw new InvalidParameter('changes are of a field.', { param: 'field' })
  const today = await local.today()
  const found: (ExportedEvent & { place: number })[] = []
  const marks: Mark[] = []
  for (const timeframe of query.timeframes) {
    const days = new Map(told?.filter(mark => mark.timeframe === timeframe).map(({ ticker, day }) => [ticker, day]))
    const newest = days.size === 0 ? undefined : Math.max(...days.values())
    const asked = { fields: query.fields, timeframe, after: earliest(since, days) }
    const changed: Changing[] = []
    for await (const stays of local.stays({ ...asked, tickers })) {
      step?.(() => `changes  ${stays.ticker}  ${timeframe}`)
      const { ticker, last } = stays
      if (last !== null) marks.push({ ticker, timeframe, day: last.day })
      const fields = changing(stays, since, days.get(ticker) ?? newest)
      if (fields.size > 0) changed.push({ ticker, fields })
    }
    const beside = { ...(query.when !== undefined && { when: query.when }), ...(query.lag && { lag: query.lag }) }
    for (const one of changed) found.push(...(await eventsIn(local, one, { ...asked, ...beside })))
  }
  const inOrder = found.sort(newestFirst).map(({ place: _place, ...event }) => event)
  const document: Changes = {
    schema: 'bands.changes/1',
    since: told === undefined || told.length === 0 ? formatDay(since) : 'last',
    as_of: formatDay(today),
    changes: inOrder,
  }
  return { found: document, marks }
}

/** The days on which fields of a ticker changed. */
interface Changing {
  ticker: string
  fields: ReadonlyMap<string, ReadonlySet<Day>>
}

/** The day after which every bar lies that may be told. */
function earliest(since: Day, days: ReadonlyMap<string, Day>): Day {
  return [...days.values()].reduce((least, day) => Math.min(least, day), since - LATEST - 1)
}

function changing({ fields, transitions }: Stays, since: Day, mark: Day | undefined): Changing['fields'] {
  const columns = transitions()
  const found = new Map<string, ReadonlySet<Day>>()
  for (const [f, field] of fields.entries()) {
    const days = daysIn(columns, f, since, mark)
    if (days.size > 0) found.set(field, days)
  }
  return found
}

function daysIn({ first, days, known }: TransitionColumns, f: number, since: Day, mark: Day | undefined): Set<Day> {
  const found = new Set<Day>()
  for (let row = first[f]!; row < first[f + 1]!; row++) {
    const isNew = mark === undefined ? (known ?? days)[row]! > since : days[row]! > mark
    if (isNew) found.add(days[row]!)
  }
  return found
}

/** Those events as an export has them. */
async function eventsIn(
  local: Local,
  { ticker, fields }: Changing,
  asked: { timeframe: Timeframe; after: Day; when?: string; lag?: number },
): Promise<(ExportedEvent & { place: number })[]> {
  const found: (ExportedEvent & { place: number })[] = []
  const names = [...fields.keys()]
  for await (const history of local.histories({ ...asked, tickers: [ticker], fields: names, outcomes: 'known' })) {
    const { field, timeframe } = history
    for (const { missing: _missing, returns = {}, percentiles = {}, ...event } of eventsOf(history))
      if (fields.get(field)!.has(parseDay(event.date)!))
        found.push({ ticker, field, timeframe, ...event, returns, percentiles, place: names.indexOf(field) })
  }
  return found
}

function newestFirst(a: ExportedEvent & { place: number }, b: ExportedEvent & { place: number }): number {
  if (a.date !== b.date) return a.date < b.date ? 1 : -1
  if (a.ticker !== b.ticker) return a.ticker < b.ticker ? -1 : 1
  if (a.timeframe !== b.timeframe) return a.timeframe === 'daily' ? -1 : 1
  return a.place - b.place
}
