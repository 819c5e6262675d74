import { setImmediate } from 'node:timers/promises'
import { InvalidParameter } from '../errors.js'
import { daysAt, placesIn, rangeOf, unionCalendar } from '../model/calendar.js'
import { formatDay, parseDay } from '../model/day.js'
import type { Series } from '../model/series.js'
import { windowName } from '../model/terms.js'
import { ANY_EVENT, type EventFilter, type SweepQuery } from '../params/studies.js'
import type { BarStates, MarketBars, PricedSource, Step } from '../source.js'
import { type BarRange, cpcv, type Fold, kFolds, purge, rollingFolds } from '../statistics/folds.js'
import { Random } from '../statistics/random.js'
import { type MemberBars, memberBars, placesAmong } from '../study/cell.js'
import { contextOn, eligibleBars, forwardReturns, MarketColumns, signalsIn } from '../study/signals.js'
import { filterWords } from '../trials.js'
import type { KnownSweep, SweepValidation } from './result.js'

/** One ticker's bars of one field and horizon on which the window has elapsed. */
export interface Ground extends MemberBars {
  book: Book
}

/** Which bars count: 1 for each place of the timeline that does; null: all. */
export type Mask = Uint8Array | null

/** The days of all tickers from the first on which a field has a band, and where each ticker's bars lie on it. */
export interface Timeline {
  days: Int32Array
  /** Places up to and without this one have events. */
  end: number
  /** By book; -1 for a bar before the first day. */
  places: ReadonlyMap<Book, Int32Array>
}

/** Without a day where no bar counts. */
export function timelineOf(books: readonly Book[]): Timeline {
  const { first, last } = rangeOf(books.flatMap(book => book.fields.map((_, field) => eligibleDays(book, field))))
  const days = unionCalendar(books.map(book => book.days)).filter(day => first !== null && day >= first)
  const end = last === null ? 0 : days.indexOf(last) + 1
  const placesOf = new Map([...new Set(books.map(book => book.days))].map(own => [own, placesIn(days, own)]))
  return { days, end, places: new Map(books.map(book => [book, placesOf.get(book.days)!])) }
}

/** Days on which a field of a ticker has a band. */
export function eligibleDays({ days, fields }: Book, field: number): Int32Array {
  return daysAt(days, fields[field]!.eligible)
}

export function groundOf(book: Book, field: number, horizon: number, mask: Mask, timeline: Timeline): Ground {
  const { eligible } = book.fields[field]!
  const places = timeline.places.get(book)!
  const counting = mask === null ? eligible : eligible.filter(bar => mask[places[bar]!] === 1)
  return { ...memberBars(book.ticker, book.days, forwardReturns(book.prices, horizon), counting, NO_EVENTS), book }
}

const NO_EVENTS = new Int32Array()

/** The events of a condition on each ticker's ground; `lost` are those that it does not have. */
export interface Pool {
  grounds: Ground[]
  lost: number
}

export function poolOf(grounds: readonly Ground[], signals: ReadonlyMap<Book, Int32Array>): Pool {
  let lost = 0
  const pool: Ground[] = []
  for (const ground of grounds) {
    const bars = signals.get(ground.book)!
    if (bars.length === 0) continue
    const events = placesAmong(ground.bars, bars)
    lost += bars.length - events.length
    if (events.length > 0) pool.push({ ...ground, events })
  }
  return { grounds: pool, lost }
}

export function signalsOn(books: readonly Book[], condition: Condition): ReadonlyMap<Book, Int32Array> {
  return new Map(books.map(book => [book, signalBars(book, condition)]))
}

/** Sums over the events of a pool, of which some gained and some fell, and of the base of each one's ticker. */
export interface Sums {
  n: number
  returns: number
  hits: number
  falls: number
  base: number
}

export const NOTHING: Readonly<Sums> = { n: 0, returns: 0, hits: 0, falls: 0, base: 0 }

export function sumsOf(grounds: readonly Ground[]): Sums {
  const sums = { ...NOTHING }
  for (const { events, returns, base } of grounds) {
    sums.n += events.length
    sums.base += events.length * base
    for (const i of events) {
      sums.returns += returns[i]!
      if (returns[i]! > 0) sums.hits++
      if (returns[i]! < 0) sums.falls++
    }
  }
  return sums
}

/** @param sign -1: of whoever holds them short */
export function signed(sums: Sums, sign: 1 | -1): Sums {
  const { returns, base, hits, falls } = sums
  return sign === 1 ? sums : { ...sums, returns: -returns, base: -base, hits: falls, falls: hits }
}

export function added(a: Sums, b: Sums): Sums {
  const { n, returns, hits, falls, base } = b
  return { n: a.n + n, returns: a.returns + returns, hits: a.hits + hits, falls: a.falls + falls, base: a.base + base }
}

/** How the days are cut: what is chosen on, what is checked on, and in which parts the checks are told apart. */
export interface Plan {
  kind: SweepValidation['kind']
  embargo: number
  folds: (Fold & { name: string })[]
  /** Combinatorial: by path and group, the fold whose check of the group belongs to the path; and each fold's groups. */
  paths: { folds: number[][]; groups: number[][] } | null
}

export function isValidated({ split, walk_forward, cv, cpcv }: SweepQuery): boolean {
  return [split, walk_forward, cv, cpcv].some(way => way !== null)
}

/** null where no validation is asked for, or no bar counts. Throws InvalidParameter for parts that the days do not have. */
export function planOf(query: SweepQuery, timeline: Timeline): Plan | null {
  const { split, walk_forward, cv, cpcv } = query
  if (timeline.end === 0) return null
  if (split !== null) return splitPlan(split, timeline)
  if (walk_forward !== null) return walkForwardPlan(walk_forward, timeline)
  if (cv !== null) return cvPlan(cv, timeline)
  return cpcv === null ? null : cpcvPlan(cpcv, timeline)
}

function splitPlan(split: string, { days, end }: Timeline): Plan {
  const first = parseDay(split)
  const at = first === null ? -1 : days.subarray(0, end).findIndex(day => day >= first)
  if (at <= 0) {
    const allowed = `a day after ${formatDay(days[0]!)}, up to ${formatDay(days[end - 1]!)}`
    throw new InvalidParameter(`split ${split} leaves one of the two parts empty; it must be ${allowed}.`, {
      param: 'split',
      value: split,
      allowed,
    })
  }
  const folds = [{ name: 'split', train: [{ from: 0, to: at }], test: [{ from: at, to: end }] }]
  return { kind: 'split', embargo: 0, folds, paths: null }
}

function walkForwardPlan(asked: NonNullable<SweepQuery['walk_forward']>, { end }: Timeline): Plan {
  const { train, embargo } = asked
  const folds = rollingFolds(end, asked)
  if (folds.length === 0)
    throw tooFew('walk_forward', end, `more than the ${train + embargo} bars of train and embargo`)
  return { kind: 'walk_forward', embargo, folds: named(folds, (_, i) => `part ${i + 1}`), paths: null }
}

function cvPlan({ k, embargo }: NonNullable<SweepQuery['cv']>, { end }: Timeline): Plan {
  if (k > end) throw tooFew('cv', end, `at least one bar for each of ${k} folds`)
  return { kind: 'cv', embargo, folds: named(kFolds(end, k, embargo), (_, i) => `fold ${i + 1} of ${k}`), paths: null }
}

function named<One extends Fold>(folds: readonly One[], name: (fold: One, i: number) => string): Plan['folds'] {
  return folds.map((fold, i) => ({ name: name(fold, i), train: fold.train, test: fold.test }))
}

function cpcvPlan({ n, k }: NonNullable<SweepQuery['cpcv']>, { end }: Timeline): Plan {
  if (n > end) throw tooFew('cpcv', end, `at least one bar for each of ${n} groups`)
  const { splits, paths } = cpcv(end, n, k)
  const folds = named(splits, ({ groups }) => `groups ${groups.map(group => group + 1).join(', ')}`)
  return { kind: 'cpcv', embargo: 0, folds, paths: { folds: paths, groups: splits.map(split => split.groups) } }
}

function tooFew(param: string, bars: number, allowed: string): InvalidParameter {
  return new InvalidParameter(`${param} needs ${allowed}; there are ${bars}.`, { param, value: bars, allowed })
}

/**
 * The bars that a fold may be chosen on, for one horizon: those of its training part whose window meets no test part,
 * nor the windows that begin in one, nor the embargo after it (López de Prado 2018, ch. 7).
 */
export function trainMask(fold: Plan['folds'][number], embargo: number, ends: Int32Array): Uint8Array {
  const windows = Array.from(ends, (end, start) => ({ start, end }))
  const mask = new Uint8Array(ends.length)
  for (const place of purge(windows, fold.test, embargo)) mask[place] = 1
  const train = rangeMask(fold.train, ends.length)
  return mask.map((kept, place) => kept & train[place]!)
}

export function rangeMask(ranges: readonly BarRange[], length: number): Uint8Array {
  const mask = new Uint8Array(length)
  for (const { from, to } of ranges) mask.fill(1, from, to)
  return mask
}

/** For each place of the timeline, where the last window ends that begins there: of any ticker, so that none is missed. */
export function windowEnds({ days, places }: Timeline, horizon: number): Int32Array {
  const ends = Int32Array.from(days.keys())
  for (const own of places.values()) {
    const last = own.length - 1
    for (let bar = 0; bar <= last; bar++) {
      const place = own[bar]!
      if (place >= 0) ends[place] = Math.max(ends[place]!, own[Math.min(last, bar + horizon)]!)
    }
  }
  return ends
}

/** All that a sweep needs of one ticker, read once. */
export interface Book {
  ticker: string
  days: Int32Array
  prices: { series: Pick<Series, 'close'>; delisting: MarketBars['delisting'] }
  /** In the order of the query. */
  fields: BookField[]
}

/** One field: the bars on which it has a band, and its events in columns. */
interface BookField {
  eligible: Int32Array
  bars: Int32Array
  entered: Uint8Array
  left: Uint8Array
  /** Code of the band that each context of the query was in. */
  contexts: Uint8Array[]
}

/** Ascending by ticker, each once, so that the order in which they were named cannot matter. */
export async function booksOf(source: PricedSource, query: SweepQuery, pace: Pace): Promise<Book[]> {
  const tickers = [...new Set(query.tickers)].sort()
  const { fields, timeframe, when, lag } = query
  const contexts = await contextsOf(source, query)
  const columns = new MarketColumns()
  const books: Book[] = []
  for await (const found of source.states({
    tickers,
    fields: when === undefined ? fields : [...fields, when],
    timeframe,
    lag,
  })) {
    books.push(bookOf(found, query, contexts, columns))
    await pace(() => `reading ${found.prices.ticker}, ${books.length} of ${tickers.length}`)
  }
  return books
}

/** Bars of the events that make a condition, ascending. */
function signalBars({ fields }: Book, { field, band, prev_band, context }: Condition): Int32Array {
  const { bars, entered, left, contexts } = fields[field]!
  const codes = context === null ? null : contexts[context.which]!
  return bars.filter(
    (_, i) =>
      entered[i] === band &&
      (prev_band === null || left[i] === prev_band) &&
      (codes === null || codes[i] === context!.band),
  )
}

type ContextCodes = Awaited<ReturnType<typeof contextOn>>['codesOn']

async function contextsOf(source: PricedSource, { contexts, timeframe }: SweepQuery): Promise<ContextCodes[]> {
  return Promise.all(contexts.map(async context => (await contextOn(source, context, timeframe)).codesOn))
}

function bookOf(
  { prices, states: read }: BarStates,
  query: SweepQuery,
  contexts: readonly ContextCodes[],
  columns: MarketColumns,
): Book {
  const { timeframe, after, before, when } = query
  const { ticker, series, delisting } = prices
  const truths = when === undefined ? null : read.at(-1)!.codes
  return {
    ticker,
    days: columns.ascending(series.days),
    prices: { series: { close: columns.floats(series.close) }, delisting },
    fields: read.slice(0, query.fields.length).map(states => {
      const any = { ...ANY_EVENT, field: states.field, timeframe, after, before }
      const { bars, entered, left } = signalsIn(prices, states, any, null, truths)
      const eligible = columns.ascending(eligibleBars(prices, states, query))
      return { eligible, bars, entered, left, contexts: contexts.map(codes => codes(prices.series, bars)) }
    }),
  }
}

/** Which events make a cell, apart from window and ticker: places in the query's lists, codes in the vocabularies. */
interface Condition {
  field: number
  band: number
  prev_band: number | null
  context: { which: number; band: number } | null
}

/** A combination that is looked at. */
export interface Key {
  condition: Condition
  horizon: number
  /** null: all tickers together */
  ticker: string | null
}

type Asked = Pick<
  KnownSweep,
  'fields' | 'bands' | 'when' | 'lag' | 'contexts' | 'prev_band' | 'timeframe' | 'after' | 'before' | 'vocabularies'
>

/** Every combination of one field's bands, with those left and those of a context where they are told apart. */
export function conditionsOf(query: Asked, field: number): Condition[] {
  const words = vocabulary(query, query.fields[field]!)
  const bands = [...words.keys()]
  const contexts: Condition['context'][] = query.contexts.flatMap((context, which) =>
    vocabulary(query, context.field).map((_, band) => ({ which, band })),
  )
  const entered = bands.filter(band => query.bands?.includes(words[band]!) ?? true)
  return entered.flatMap(band =>
    (query.prev_band ? bands.filter(left => left !== band) : [null]).flatMap(prev_band =>
      (contexts.length > 0 ? contexts : [null]).map(context => ({ field, band, prev_band, context })),
    ),
  )
}

/** What a cell is called: its words alone, so that the name stays whatever else is looked at. */
export function nameOf({ condition, horizon, ticker }: Key, query: Asked): string {
  return [...filterWords(filterOf(condition, query)), windowName(horizon, query.timeframe), ticker ?? []]
    .flat()
    .join('; ')
}

/** A condition as an event study asks for it. */
export function filterOf({ field, band, prev_band, context }: Condition, query: Asked): EventFilter {
  const { timeframe, after, before, when, lag } = query
  const name = query.fields[field]!
  const bands = vocabulary(query, name)
  const where = context === null ? null : query.contexts[context.which]!
  return {
    ...{ ...ANY_EVENT, field: name, timeframe, after, before },
    ...(when === undefined ? {} : { when }),
    ...(lag === undefined ? {} : { lag }),
    bands: [bands[band]!],
    prev_bands: prev_band === null ? null : [bands[prev_band]!],
    context: where && { ...where, bands: [vocabulary(query, where.field)[context!.band]!] },
  }
}

function vocabulary({ vocabularies }: Asked, field: string): readonly string[] {
  return vocabularies.get(field) ?? []
}

/** Milliseconds of work after which others get their turn. */
const SPELL = 40

/**
 * Lets long work be watched and broken off: tells how far it is, and lets the event loop turn now and then. To be awaited
 * as often as one likes.
 */
export type Pace = (text: () => string) => Promise<void>

export function paceOf(step: Step | undefined): Pace {
  let next = performance.now() + SPELL
  return async text => {
    if (performance.now() < next) return
    step?.(text)
    await setImmediate()
    next = performance.now() + SPELL
  }
}

/**
 * The generator of whatever has a name: its stream is the hash of the name, so that neither the order of cells nor a cell
 * more or less changes what another one draws. FNV-1a (Fowler, Noll, Vo), 32 bits.
 */
export function namedStream(seed: number, name: string): Random {
  let hash = 0x811c9dc5
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193)
  return Random.stream(new Random(seed).word(), hash)
}
