// For: find the tickers that meet a condition, and what changed since.
// In: conditions, a universe and a day.
// Out: rows of tickers, sorted.

import { createHash } from 'node:crypto'
import { InvalidParameter } from '../../core/errors.js'
import { type ConditionField, isConditionField, isRuled, TRUE } from '../../core/language/as-field.js'
import { printSubject, type Subject, testsOf } from '../../core/language/condition.js'
import { type Column, testReadings } from '../../core/language/truth.js'
import { type Day, formatDay, parseDay } from '../../core/model/day.js'
import type { ExportedEvent } from '../../core/model/event.js'
import { type BandPeriods, dateIn, eventsOf } from '../../core/model/history.js'
import { barsKnownBy } from '../../core/model/series.js'
import type { Timeframe } from '../../core/model/terms.js'
import { fieldsFor, type Mark, type Omitted } from '../../core/source.js'
import type { Local } from '../../data/local/local.js'
import { type Tally, type TallyGroup, tally } from '../tally/tally.js'

interface ScreenQuery {
  /** In canonical form. */
  condition: string
  /** Each counts once, in any order. */
  tickers: readonly string[]
  timeframe: Timeframe
  /** The condition became true within this number of last bars; null: it holds on the last one. */
  since: number | null
  /** Lag in bars of the tickers that the condition names. */
  lag?: number | undefined
  /** Whether to add the outcomes after such onsets. */
  tally: boolean
}

/** The tickers whose condition holds, or became true lately. */
export interface Screen {
  schema: 'bands.screen/3'
  /** In canonical form. */
  when: string
  /** The condition became true within this number of last bars; null: it holds on the last one. */
  within: number | null
  as_of: string
  /** The subjects of the condition in canonical form, in its order: the keys of a match's bands. */
  subjects: string[]
  /** The newest onset first, then by ticker. */
  matches: ScreenMatch[]
  /** Number of tickers in the query. */
  scanned: number
  /** Number of tickers whose last final bar is older than seven days: they say nothing about today. */
  stale: number
  /** Outcomes after all onsets of the query's tickers, on request. */
  tally?: Tally
}

export interface ScreenMatch {
  ticker: string
  timeframe: Timeframe
  /** The last final bar. */
  date: string
  /** The first bar of the current truth, or the newest onset; null where that lies before the range of a tier. */
  since: string | null
  /** From that bar to the last, both counted. */
  bars: number | null
  /** The band of each subject of the condition on that bar; null without a band. */
  bands: Record<string, string | null>
  /** As stored. */
  close: number
  /** Days from the bar to the day of the answer. */
  age_days: number
  /** Outcomes after the onsets of this ticker, on request. */
  tally?: Pick<TallyGroup, 'events' | 'windows'>
}

interface ScreenOptions {
  step?: (text: () => string) => void
}

/** Days after which a last bar says nothing about today. */
const MAX_AGE_DAYS = 7

/**
 * The tickers whose condition holds on their last final bar, or became true lately. Tickers with an old last bar are
 * only counted (`stale`). Throws TierRestricted, and NotFound for an unknown ticker.
 */
export async function screen(local: Local, query: ScreenQuery, { step }: ScreenOptions = {}): Promise<Screen> {
  const { condition, timeframe, since: within, lag } = query
  const tickers = [...new Set(query.tickers)].sort()
  const today = await local.today()
  const onsets: Onset[] = []
  let scanned = 0
  let stale = 0
  for await (const periods of local.bandPeriods({ tickers, timeframe, fields: [condition], ...(lag && { lag }) })) {
    step?.(() => `screen  ${periods.ticker}  ${scanned} of ${tickers.length} tickers`)
    scanned++
    const isFresh = periods.last !== null && today - periods.last.known <= MAX_AGE_DAYS
    if (!isFresh) {
      stale++
      continue
    }
    const onset = within === null ? currentOnset(periods) : recentOnset(periods, within)
    if (onset !== null) onsets.push(onset)
  }
  const readMatch = await matchReader(local, query)
  const matches: ScreenMatch[] = []
  for (const onset of onsets) matches.push(await readMatch(onset, today))
  matches.sort((a, b) => (a.bars ?? Number.POSITIVE_INFINITY) - (b.bars ?? Number.POSITIVE_INFINITY))
  const answer: Screen = {
    schema: 'bands.screen/3',
    when: condition,
    within,
    as_of: formatDay(today),
    subjects: subjectNames(local, condition),
    matches,
    scanned,
    stale,
  }
  return query.tally ? withTallies(local, query, answer, step) : answer
}

/** The subjects of a condition in canonical form, each once. */
export function subjectNames(local: Local, condition: string): string[] {
  return conditionFieldOf(local, condition).subjects.map(printSubject)
}

/** The field of a condition. Throws RangeError for any other text. */
function conditionFieldOf(local: Local, condition: string): ConditionField {
  const field = local.field(condition)
  if (isRuled(field) && isConditionField(field)) return field
  throw new RangeError(`${condition} is no condition`)
}

/** The bar on which a condition became true: its date, and the number of bars from it to the last, both counted. */
interface Onset {
  ticker: string
  since: string | null
  bars: number | null
}

/** The bar since which the condition, the only field, is true; null if it is not true on the last bar. */
function currentOnset({ ticker, present }: BandPeriods): Onset | null {
  if (present.onLast?.[0] !== TRUE) return null
  const since = dateIn(present.since, 0)
  return { ticker, since, bars: since === null ? null : present.bars[0]! + 1 }
}

/** The newest bar on which the condition, the only field, became true; null if not among the last `within` bars. */
function recentOnset({ ticker, present, transitions }: BandPeriods, within: number): Onset | null {
  const { days, entered, lasted } = transitions()
  // Transitions enter true and false in turn: the newest onset is the last transition, or the one before it.
  const last = entered.length - 1
  const row = entered[last] === TRUE ? last : last - 1
  if (row < 0) return null
  // The present period counts from 0. A true period before it lasted until it began.
  const presentLength = present.bars[0]! + 1
  const bars = presentLength + (row === last ? 0 : lasted[row]!)
  return bars > within ? null : { ticker, since: dateIn(days, row), bars }
}

/** Returns a function that reads a match on a ticker's last bar. Tickers that the condition names are read once. */
async function matchReader(local: Local, { condition, timeframe, lag = 0 }: ScreenQuery) {
  const field = conditionFieldOf(local, condition)
  const { dataOfNamedTickers, subjectColumns } = await import('../../data/local/derived.js')
  const tests = testsOf(field.condition)
  const namedTickers = await dataOfNamedTickers(local, field, timeframe)
  return async ({ ticker, since, bars }: Onset, today: Day): Promise<ScreenMatch> => {
    const series = await local.series(ticker, timeframe)
    const columns = await subjectColumns(local, field, ticker, timeframe, namedTickers)
    const columnOf = (subject: Subject): Column => columns.get(printSubject(subject))!
    const lastBar = series.days.length - 1
    const bands: ScreenMatch['bands'] = {}
    for (const { test, band } of testReadings(tests, { on: series, columnOf, lag }, lastBar))
      bands[printSubject(test.subject)] = band
    const day = series.days[lastBar]!
    const close = series.close[lastBar]!
    return { ticker, timeframe, date: formatDay(day), since, bars, bands, close, age_days: today - day }
  }
}

/** Adds the outcomes after the bars on which the condition became true, for each match and for all tickers together. */
async function withTallies(
  local: Local,
  { condition, tickers, timeframe, lag }: ScreenQuery,
  answer: Screen,
  step: ScreenOptions['step'],
): Promise<Screen> {
  const query = { field: condition, bands: ['true'], timeframe, ...(lag && { lag }) }
  const options = step === undefined ? {} : { step }
  const tallyOfAll = await tally(local, { ...query, tickers }, options)
  const matched = answer.matches.map(({ ticker }) => ticker)
  const groupByTicker = new Map<string | null, TallyGroup>()
  if (matched.length > 0) {
    const { groups } = await tally(local, { ...query, tickers: matched, by: 'ticker' }, options)
    for (const group of groups) groupByTicker.set(group.group, group)
  }
  const matches = answer.matches.map(match => {
    const { events = 0, windows = [] } = groupByTicker.get(match.ticker) ?? {}
    return { ...match, tally: { events, windows } }
  })
  return { ...answer, matches, tally: tallyOfAll }
}

interface ChangesQuery {
  /** Each counts once, in any order. */
  tickers: readonly string[]
  /** Absent: all fields of the tier; a field that needs an import is left out, and its mark stays. */
  fields?: readonly string[] | undefined
  timeframes: readonly Timeframe[]
  /** Transitions on bars that became final after this day. */
  since: Day
  /** The marks of earlier answers: only later changes count. A ticker without one begins at the timeframe's newest. */
  marks?: readonly Mark[]
  /** Only where this condition holds on the bar. */
  when?: string | undefined
  /** Lag in bars of the tickers that the condition names. */
  lag?: number | undefined
}

/** Every transition on bars that became final after a day. */
export interface Changes {
  schema: 'bands.changes/1'
  /** That day. With `last`, each ticker continues after its last reported bar. */
  since: string
  as_of: string
  /** Newest first, then by ticker, timeframe and field. */
  changes: ExportedEvent[]
  /** Fields left out; absent without any. `--since last` reports their changes the next time. */
  omitted?: Omitted[]
}

export interface Changed {
  found: Changes
  marks: Mark[]
}

/** The parts of a query with `last` that have marks of their own. */
export interface MarkedQuery extends Pick<ChangesQuery, 'fields' | 'when' | 'lag'> {
  /** Names of lists, in any order and case; none: no list. */
  lists: readonly string[]
}

/** The key of a query's marks (the last bars that it reported): its lists, and a hash of its filters if any. */
export function marksName({ lists, fields, when, lag = 0 }: MarkedQuery, availableFields: readonly string[]): string {
  const listNames = [...new Set(lists.map(name => name.toLowerCase()))].sort().join(',')
  const queried = [...new Set(fields ?? availableFields)].sort()
  const hasAllFields = availableFields.every(name => queried.includes(name))
  if (hasAllFields && when === undefined) return listNames
  const filters = JSON.stringify({ fields: hasAllFields ? null : queried, when: when ?? null, lag })
  return `${listNames}#${createHash('sha256').update(filters).digest('hex').slice(0, 16)}`
}

/** A bar is final at most this number of days after its date: a week may end with a short session. */
const MAX_DAYS_TO_FINAL = 7

/**
 * The events of the query, and the marks for the next query with `last`: the last reported bar of each ticker. Throws
 * TierRestricted, NotFound for an unknown ticker, InvalidParameter for no field.
 */
export async function changes(local: Local, query: ChangesQuery, { step }: ScreenOptions = {}): Promise<Changed> {
  const { since, marks: earlierMarkList = [] } = query
  const tickers = [...new Set(query.tickers)].sort()
  const { fields, omitted } = await fieldsFor(local, query.fields)
  if (fields.length === 0) throw new InvalidParameter('changes are of a field.', { param: 'field' })
  // Queried fields that cannot be read now, for lack of data or by tier: each keeps its earlier mark.
  const unread = (query.fields ?? local.fieldSet.names).filter(name => !fields.includes(name))
  const today = await local.today()
  const events: ExportedEvent[] = []
  const marks: Mark[] = []
  for (const timeframe of query.timeframes) {
    const earlierMarks = new EarlierMarks(earlierMarkList.filter(mark => mark.timeframe === timeframe))
    // A bar may have become final after `since` if it is dated less than MAX_DAYS_TO_FINAL before.
    const range = { fields, timeframe, after: Math.min(since - MAX_DAYS_TO_FINAL - 1, earlierMarks.earliest) }
    // Without earlier marks, unread fields begin at the last bar that was final on `since`.
    const needsFirstMarks = !earlierMarks.hasMarks && unread.length > 0
    const series = { tickers, timeframe, fields: fields.slice(0, 1) }
    const firstMarks = needsFirstMarks ? await lastBarsBy(local, since, series) : null
    const changedTickers: ChangedFields[] = []
    for await (const periods of local.bandPeriods({ ...range, tickers })) {
      step?.(() => `changes  ${periods.ticker}  ${timeframe}`)
      const { ticker, last } = periods
      if (last !== null) {
        marks.push({ ticker, timeframe, day: last.day })
        for (const field of unread) {
          const day = earlierMarks.markOf(ticker, field) ?? firstMarks!.get(ticker)!
          marks.push({ ticker, timeframe, day: Math.min(day, last.day), field })
        }
      }
      const daysByField = changedFields(periods, since, earlierMarks)
      if (daysByField.size > 0) changedTickers.push({ ticker, fields: daysByField })
    }
    const condition = { ...(query.when !== undefined && { when: query.when }), ...(query.lag && { lag: query.lag }) }
    for (const fieldsOfTicker of changedTickers)
      events.push(...(await eventsOfFields(local, fieldsOfTicker, { ...range, ...condition })))
  }
  const document: Changes = {
    schema: 'bands.changes/1',
    since: earlierMarkList.length === 0 ? formatDay(since) : 'last',
    as_of: formatDay(today),
    // Events of one day are in the order of the fields.
    changes: events.sort(newestFirst),
    ...(omitted.length > 0 && { omitted }),
  }
  return { found: document, marks }
}

interface ChangedFields {
  ticker: string
  /** The days of the changes, by field. */
  fields: ReadonlyMap<string, ReadonlySet<Day>>
}

/** The marks of earlier answers in one timeframe: the day of the last reported bar of each ticker, or of a field. */
class EarlierMarks {
  readonly earliest: Day
  readonly #newest: Day | undefined
  readonly #days: ReadonlyMap<string, Day>

  constructor(marks: readonly Mark[]) {
    const days = marks.filter(({ field }) => field === undefined).map(({ day }) => day)
    this.earliest = marks.reduce((least, { day }) => Math.min(least, day), Number.POSITIVE_INFINITY)
    this.#newest = days.length === 0 ? undefined : days.reduce((most, day) => Math.max(most, day))
    this.#days = new Map(marks.map(({ ticker, field, day }) => [markKey(ticker, field), day]))
  }

  /** Whether there was an answer. */
  get hasMarks(): boolean {
    return this.#newest !== undefined
  }

  /** The mark of a field, else of its ticker, else the newest mark of any ticker; undefined without earlier answers. */
  markOf(ticker: string, field: string): Day | undefined {
    return this.#days.get(markKey(ticker, field)) ?? this.#days.get(markKey(ticker)) ?? this.#newest
  }
}

/** The key of a mark of a ticker, or of one of its fields. No ticker has a space in its name. */
function markKey(ticker: string, field?: string): string {
  return field === undefined ? ticker : `${ticker} ${field}`
}

/** The date of each ticker's last bar that is final by a day; else the day before its first bar, or the day itself. */
async function lastBarsBy(
  local: Local,
  day: Day,
  series: { tickers: readonly string[]; timeframe: Timeframe; fields: readonly string[] },
): Promise<ReadonlyMap<string, Day>> {
  const lastDays = new Map<string, Day>()
  for await (const { series: stored } of local.eachSeries({ ...series, outcomes: false })) {
    const { days } = stored.calendar
    const knownBars = barsKnownBy(stored.calendar, day)
    const dayBefore = days.length > 0 ? days[0]! - 1 : day
    lastDays.set(stored.entry.ticker, knownBars > 0 ? days[knownBars - 1]! : dayBefore)
  }
  return lastDays
}

/**
 * The days of the transitions of each field that are not yet reported: those after its mark. Without a mark, those on
 * bars that became final after `since`. Fields without such a transition are left out.
 */
function changedFields(
  { ticker, fields, transitions }: BandPeriods,
  since: Day,
  earlierMarks: EarlierMarks,
): ChangedFields['fields'] {
  const { first, days, known } = transitions()
  const finalDays = known ?? days
  const daysByField = new Map<string, ReadonlySet<Day>>()
  for (const [fieldIndex, field] of fields.entries()) {
    const mark = earlierMarks.markOf(ticker, field)
    const unreported = new Set<Day>()
    // The transitions of field fieldIndex are the rows from first[fieldIndex] to the one before first[fieldIndex + 1].
    for (let row = first[fieldIndex]!; row < first[fieldIndex + 1]!; row++)
      if (mark === undefined ? finalDays[row]! > since : days[row]! > mark) unreported.add(days[row]!)
    if (unreported.size > 0) daysByField.set(field, unreported)
  }
  return daysByField
}

/** The events of a ticker's changed fields on the days of their changes, as an export has them. */
async function eventsOfFields(
  local: Local,
  { ticker, fields }: ChangedFields,
  range: { timeframe: Timeframe; after: Day; when?: string; lag?: number },
): Promise<ExportedEvent[]> {
  const events: ExportedEvent[] = []
  const query = { ...range, tickers: [ticker], fields: [...fields.keys()], outcomes: 'known' } as const
  for await (const history of local.histories(query)) {
    const { field, timeframe } = history
    for (const { missing: _missing, returns = {}, percentiles = {}, ...event } of eventsOf(history))
      if (fields.get(field)!.has(parseDay(event.date)!))
        events.push({ ticker, field, timeframe, ...event, returns, percentiles })
  }
  return events
}

/** Compares two events: the newest first, then by ticker, daily before weekly. */
function newestFirst(a: ExportedEvent, b: ExportedEvent): number {
  if (a.date !== b.date) return a.date < b.date ? 1 : -1
  if (a.ticker !== b.ticker) return a.ticker < b.ticker ? -1 : 1
  return Number(a.timeframe === 'weekly') - Number(b.timeframe === 'weekly')
}
