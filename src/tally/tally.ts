import { InvalidParameter, listed, sentence, TierRestricted } from '../errors.js'
import { type Day, formatDay } from '../model/day.js'
import type { PoolQuery } from '../model/event.js'
import type { History, WindowOutcomes } from '../model/history.js'
import { PERFORMANCES, type Performance, STABILITIES, UNDEFINED } from '../model/series.js'
import { TIMEFRAMES, type Timeframe, windowNames } from '../model/terms.js'
import type { HistoriesQuery, Source } from '../source.js'
import { overlap, wilson } from '../statistics/counts.js'
import {
  type Base,
  type BaseShare,
  byPerformance,
  gainCount,
  measuredBase,
  NO_PRICES,
  type ReturnFigures,
  returnFigures,
  type Shares,
  type TickerBase,
  theoreticalBase,
  tickerBase,
} from './base.js'
import { type Answered, byVocabulary, ordersOf, type Scope, scopeOf, type TallyWays, tickersInOrder } from './scope.js'

/** Which events of which tickers to count; each ticker counts once, whatever the order. */
export interface TallyQuery extends PoolQuery {
  /** Without it and without a band: by band. */
  by?: TallyGrouping
}

/** How often each performance band followed, and the raw returns, beside what usually follows. Returns are fractions. */
export interface Tally extends Scope {
  schema: 'bands.tally/1'
  tickers: string[]
  field: string
  timeframe: Timeframe
  /** Several with commas between. */
  band: string | null
  context: { ticker: string; field: string; band: string | null } | null
  by: TallyGrouping | null
  /** Of all groups together. */
  events: number
  groups: TallyGroup[]
  /** What the whole must be read with, in sentences. */
  warnings: string[]
}

export interface TallyGroup {
  /** The value of `by` that the events share; null when not grouped, or without a value (no context band yet). */
  group: string | null
  events: number
  windows: TallyWindow[]
  /** What these figures must be read with, in sentences. */
  warnings: string[]
}

/**
 * Counts what followed. Every event of the pool counts once in its group; a pool's base weights each ticker by its
 * number of events there. Throws TierRestricted where aftermath is above the tier, NotFound for a ticker that is not
 * there, InvalidParameter for no ticker or a grouping by a context that is not given.
 */
export async function tally(source: Source, query: TallyQuery, { step }: TallyWays = {}): Promise<Tally> {
  const { tickers, by: asked, ...filter } = query
  const names = tickersInOrder(tickers)
  if (names.length === 0) throw new InvalidParameter('a tally needs a ticker.', { param: 'ticker' })
  if (asked === 'context' && filter.context === undefined) {
    const context = listed(['context_ticker', 'context_field'])
    throw new InvalidParameter(sentence`to group by context, give ${context}.`, { param: 'context_ticker' })
  }
  const by = asked ?? (filter.bands === undefined ? 'band' : null)
  const sources: TickerSource[] = []
  for await (const found of tickerSources(source, { ...filter, tickers: names }, by)) {
    step?.(() => `tally  ${found.ticker}  ${sources.length + 1} of ${names.length} tickers`)
    sources.push(found)
  }
  const order = await orderOf(source, by, filter)
  const { context, timeframe } = filter
  const groups = groupsOf(sources, by, order).map(({ value, members }): TallyGroup => {
    const windows = TIMEFRAMES[timeframe].windows.map((_, w) => tallyWindow(members, timeframe, w))
    const events = members.reduce((sum, { rows }) => sum + rows.length, 0)
    return { group: value, events, windows, warnings: groupWarnings(events, windows) }
  })
  return {
    schema: 'bands.tally/1',
    tickers: names,
    field: filter.field,
    timeframe,
    band: filter.bands?.join(',') ?? null,
    context: context === undefined ? null : { ...context, band: context.band ?? null },
    by,
    ...scopeOf(sources, filter),
    events: groups.reduce((sum, group) => sum + group.events, 0),
    groups,
    warnings: tallyWarnings(sources),
  }
}

/** What events can be split by. */
export const TALLY_GROUPINGS = ['band', 'prev_band', 'stability', 'year', 'context', 'ticker'] as const
export type TallyGrouping = (typeof TALLY_GROUPINGS)[number]

/** The events of one value, ticker by ticker. */
interface Group {
  /** null: not grouped, or the context ticker had no band yet */
  value: string | null
  members: Member[]
}

/** One ticker's events of a group: their rows in its columns. */
interface Member {
  source: TickerSource
  rows: number[]
}

/**
 * Splits events by what they are grouped by; every event lies in exactly one group. Groups stand in the order given
 * where they are in it, otherwise ascending; null last.
 */
function groupsOf(sources: readonly TickerSource[], by: TallyGrouping | null, order: readonly string[]): Group[] {
  if (by === null) {
    const entered = sources.filter(source => source.values.length > 0)
    const members = entered.length > 0 ? entered : sources
    return [{ value: null, members: members.map(source => ({ source, rows: [...source.values.keys()] })) }]
  }
  const groups = new Map<string | null, Member[]>()
  for (const source of sources) {
    for (const [row, value] of source.values.entries()) {
      const members = groups.get(value)
      const last = members?.at(-1)
      if (last?.source === source) last.rows.push(row)
      else if (members === undefined) groups.set(value, [{ source, rows: [row] }])
      else members.push({ source, rows: [row] })
    }
  }
  const compare = byVocabulary(order)
  return Array.from(groups, ([value, members]) => ({ value, members })).sort((a, b) => compare(a.value, b.value))
}

/** What events are grouped by: a value for each row of a history. */
function groupValues(history: History, by: TallyGrouping | null): (row: number) => string | null {
  const { ticker, bands, days, entered, left, stability, contexts } = history
  switch (by) {
    case 'band':
      return row => bands[entered[row]!]!
    case 'prev_band':
      return row => bands[left[row]!]!
    case 'stability':
      return row => STABILITIES[stability[row]!] ?? null
    case 'year':
      return row => formatDay(days[row]!).slice(0, 4)
    case 'context':
      return row => contexts?.[row] ?? null
    case 'ticker':
      return () => ticker
    case null:
      return () => null
  }
}

/** The order that groups stand in, as far as their values have one. */
async function orderOf(
  source: Source,
  by: TallyGrouping | null,
  filter: Pick<TallyQuery, 'field' | 'context'>,
): Promise<readonly string[]> {
  if (by === 'stability') return STABILITIES
  const [field, context] = await ordersOf(source, filter)
  if (by === 'band' || by === 'prev_band') return field
  return by === 'context' ? context : []
}

/**
 * All that a tally needs of one ticker: columns of one row an event, oldest first, because the events themselves of
 * hundreds of tickers fill the memory and are slow to walk through.
 */
interface TickerSource extends Answered {
  ticker: string
  /** What each event is grouped by. */
  values: (string | null)[]
  /** Where each lies among the ticker's events, in bars. */
  bars: Int32Array
  /** By window, in the order of the timeframe. */
  outcomes: OutcomeColumns[]
  /** By window; null where no prices are known. */
  base: TickerBase[] | null
}

type OutcomeColumns = Pick<WindowOutcomes, 'ended' | 'performances'> & { returns: Float64Array | null }

/** Ticker by ticker. Throws TierRestricted where the tier shows no aftermath. */
async function* tickerSources(
  source: Source,
  { tickers, field, timeframe, bands, after, before, context }: PoolQuery,
  by: TallyGrouping | null,
): AsyncGenerator<TickerSource> {
  const dated = { ...(after === undefined ? {} : { after }), ...(before === undefined ? {} : { before }) }
  // All events of the field, because only their unbroken chain of durations tells how many bars lie between two of them.
  const all: HistoriesQuery = { tickers, fields: [field], timeframe, ...dated }
  const narrowed = context === undefined ? {} : { context, ...(bands === undefined ? {} : { bands }) }
  const whole = context === undefined ? null : source.histories(all)[Symbol.asyncIterator]()
  try {
    for await (const history of source.histories({ ...all, ...narrowed, outcomes: 'needed', base: true })) {
      const codes = bands?.map(band => history.bands.indexOf(band)) ?? null
      const rows = [...history.entered.keys()].filter(row => codes === null || codes.includes(history.entered[row]!))
      yield tickerSource(history, rows, placesOf(whole === null ? history : (await whole.next()).value), by)
    }
  } finally {
    await whole?.return?.()
  }
}

/** @param rows those of the history that are counted */
function tickerSource(
  history: History,
  rows: readonly number[],
  places: ReadonlyMap<Day, number>,
  by: TallyGrouping | null,
): TickerSource {
  const { ticker, query_range, after, as_of, days, outcomes, base, timeframe } = history
  if (outcomes === null) throw new TierRestricted('aftermath', 'free', 'plus')
  return {
    ...{ ticker, query_range, after, as_of },
    values: rows.map(groupValues(history, by)),
    bars: Int32Array.from(rows, row => places.get(days[row]!)!),
    outcomes: outcomes.map(({ ended, performances, exact }) => ({
      ended: picked(ended, rows, new Uint8Array(rows.length)),
      performances: picked(performances, rows, new Uint8Array(rows.length)),
      returns: exact === null ? null : picked(exact.returns, rows, new Float64Array(rows.length)),
    })),
    base: base === null ? null : windowNames(timeframe).map(window => tickerBase(base.windows[window]!)),
  }
}

/** Rows of a column, put into another. */
function picked<Column extends Uint8Array | Float64Array>(
  column: Column,
  rows: readonly number[],
  into: Column,
): Column {
  for (let i = 0; i < rows.length; i++) into[i] = column[rows[i]!]!
  return into
}

/** Day of each event → its place in bars, counted from the first event. */
function placesOf({ days, lasted }: History): Map<Day, number> {
  const places = new Map<Day, number>()
  let bar = 0
  for (const [row, day] of days.entries()) {
    places.set(day, bar)
    bar += Math.max(0, lasted[row]!)
  }
  return places
}

/** What followed over one window. events = n + pending + no_history. */
export interface TallyWindow {
  /** `20d` */
  window: string
  events: number
  /** Events that have a performance band. */
  n: number
  /** Windows that have not ended; from a server also those without enough history, which it does not tell apart. */
  pending: number
  /** Windows that have ended, after too little history to rank their return in. */
  no_history: number
  counts: Record<Performance, number>
  /** counts / n */
  shares: Shares
  /** Share of the three gain bands with its Wilson 95 % interval. */
  gain: { share: number | null; low: number | null; high: number | null }
  /** Why shares and gain are null; null when they are not. */
  reason: string | null
  /** Of all windows that have ended, those without enough history too. */
  returns: ReturnFigures
  /** Ended windows that share bars with another event's of the same ticker. */
  overlapping: number
  /** Ended windows left when none may share a bar with one before it, added up over the tickers. */
  independent: number
  base: Base
}

/** @param members at least one; of several, those with an event where there are any
 * @param w number of the window in the timeframe */
function tallyWindow(members: readonly Member[], timeframe: Timeframe, w: number): TallyWindow {
  const parts = members.map(member => countMember(member, w, TIMEFRAMES[timeframe].windows[w]!))
  const add = (of: (part: Part) => number): number => parts.reduce((sum, part) => sum + of(part), 0)
  const counts = PERFORMANCES.map((_, i) => add(part => part.counts[i]!))
  const n = add(part => part.ranked)
  const gains = gainCount(counts)
  const interval = wilson(gains, n)
  const events = add(part => part.events)
  return {
    window: windowNames(timeframe)[w]!,
    events,
    n,
    pending: add(part => part.events - part.ended),
    no_history: add(part => part.ended - part.ranked),
    counts: byPerformance(i => counts[i]!),
    shares: byPerformance(i => (n === 0 ? null : counts[i]! / n)),
    gain: { share: n === 0 ? null : gains / n, low: interval?.low ?? null, high: interval?.high ?? null },
    reason: n > 0 ? null : events === 0 ? 'no event' : 'no event has a performance band for this window yet',
    returns: returnFigures(
      parts.map(part => part.returns),
      parts.some(part => part.ended > 0) ? NO_PRICES : events === 0 ? 'no event' : 'no window has ended yet',
    ),
    overlapping: add(part => part.overlapping),
    independent: add(part => part.independent),
    base: baseOf(members, parts, w),
  }
}

interface Part {
  events: number
  /** Windows known to have ended. */
  ended: number
  ranked: number
  counts: number[]
  returns: Float64Array
  overlapping: number
  independent: number
}

function countMember({ source, rows }: Member, w: number, length: number): Part {
  const { ended, performances, returns } = source.outcomes[w]!
  const counts = PERFORMANCES.map(() => 0)
  const known = new Float64Array(rows.length)
  const bars = new Int32Array(rows.length)
  const found = { ended: 0, known: 0, ranked: 0 }
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!
    const performance = performances[row]!
    if (performance !== UNDEFINED) {
      counts[performance]!++
      found.ranked++
    }
    if (ended[row] === 1) bars[found.ended++] = source.bars[row]!
    if (returns !== null && !Number.isNaN(returns[row]!)) known[found.known++] = returns[row]!
  }
  return {
    ...{ events: rows.length, ended: found.ended, ranked: found.ranked, counts },
    returns: known.subarray(0, found.known),
    ...overlap(bars.subarray(0, found.ended), length),
  }
}

function baseOf(members: readonly Member[], parts: readonly Part[], w: number): Base {
  if (members.some(({ source }) => source.base === null)) return theoreticalBase()
  const pool: BaseShare[] = members.map(({ source }, i) => ({
    base: source.base![w]!,
    ranked: parts[i]!.ranked,
    ended: parts[i]!.returns.length,
  }))
  return measuredBase(pool)
}

/** Fewer complete windows than this say little as percentages. */
const FEW = 10

/** As many tickers as a sentence names. */
const NAMED = 5

function groupWarnings(events: number, windows: readonly TallyWindow[]): string[] {
  if (events === 0) return []
  const few = windows.filter(({ n }) => n < FEW)
  const overlapping = windows.filter(({ overlapping }) => overlapping > 0)
  const warnings: string[] = []
  if (few.length > 0) {
    const list = few.map(({ window, n }) => `${window}: ${n}`).join(', ')
    warnings.push(`Fewer than ${FEW} complete windows (${list}): read the counts, not the shares.`)
  }
  if (overlapping.length > 0) {
    const list = overlapping.map(row => `${row.window}: ${row.overlapping} of ${row.n + row.no_history}`).join(', ')
    warnings.push(
      `Windows of neighbouring events of one ticker overlap (${list}), so the true uncertainty is larger than shown.`,
    )
  }
  return warnings
}

function tallyWarnings(sources: readonly TickerSource[]): string[] {
  if (sources.length === 1) return []
  const empty = sources.filter(source => source.values.length === 0).map(source => source.ticker)
  const warnings = [
    'Tickers move together: events of several tickers on the same dates are not independent, so the true uncertainty is larger than shown.',
    'The tickers are those that were asked for; ones that no longer trade may be missing among them.',
  ]
  if (empty.length > 0) {
    const names = empty.slice(0, NAMED).join(', ')
    const more = empty.length > NAMED ? ` and ${empty.length - NAMED} more` : ''
    warnings.push(`${empty.length} of ${sources.length} tickers have no such event: ${names}${more}.`)
  }
  return warnings
}
