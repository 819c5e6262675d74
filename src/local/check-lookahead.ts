import { outcomes } from '../engine/outcomes.js'
import { barsAt, entries, transitions } from '../engine/record.js'
import { InvalidParameter } from '../errors.js'
import type { Field } from '../fields/field.js'
import { fieldNamed } from '../fields/index.js'
import { Panel } from '../fields/panel.js'
import { SplitBasis } from '../fields/quarters.js'
import { Sector, type SectorView } from '../fields/sector.js'
import { countUpTo, type Day, formatDay } from '../model/day.js'
import { FACT_KINDS, type FactRecord, type Facts, knownOn, type Report, securityOf } from '../model/facts.js'
import { barsKnownBy, head, type Outcomes, type Series, STABILITIES, UNDEFINED } from '../model/series.js'
import { TIMEFRAMES, type Timeframe, windowNames } from '../model/terms.js'
import { Random } from '../statistics/random.js'
import type { TickerEntry } from '../store/store.js'
import type { Cache } from './cache.js'
import { type Member, Sectors } from './sectors.js'
import { countedFacts, sectorKey, type View, viewOf } from './view.js'

interface LookaheadQuery {
  tickers: readonly string[]
  /** Names. */
  fields: readonly string[]
  timeframe: Timeframe
  /** How many days the data are cut off by, drawn from the days of the tickers' bars. */
  cuts: number
  seed: number
}

export interface CheckWays {
  step?: (text: () => string) => void
  /** What a name stands for; the field of that name unless given. */
  field?: (name: string) => Field
}

/**
 * Cuts bars and facts off by random days, derives everything anew of what is left, and compares it with what the store
 * shows of those days: a difference is a value that knew its future. A cut is the same for all tickers, sectors included.
 * After freqtrade's lookahead-analysis, which runs a strategy on cut-off data likewise. Throws NotFound, Busy,
 * InvalidParameter without a cut.
 */
export async function checkLookahead(
  cache: Cache,
  { tickers, fields: names, timeframe, cuts, seed }: LookaheadQuery,
  { step, field = name => fieldNamed(name)! }: CheckWays = {},
): Promise<CheckLookahead> {
  if (!Number.isInteger(cuts) || cuts < 1) {
    const allowed = 'a whole number from 1 on'
    throw new InvalidParameter(`cuts ${cuts} is not ${allowed}.`, { param: 'cuts', value: cuts, allowed })
  }
  const fields = names.map(field)
  await cache.checkFinished(fields)
  const chosen = [...new Set(tickers)].sort()
  const days = drawn(await daysOf(cache, chosen), cuts, new Random(seed))
  const comparison = new Comparison(fields)
  const sectors = new Sectors(cache.store)
  const standing = new Map(days.map(day => [day, new SectorsBy(sectors, timeframe, day)]))
  for (const [done, ticker] of chosen.entries()) {
    step?.(() => `${ticker}: ${done} of ${chosen.length} tickers`)
    const subject = await subjectOf(cache, ticker, timeframe, fields, sectors)
    const there = days.filter(day => day >= subject.entry.first)
    if (there.length === 0) comparison.skip(ticker, 'its bars begin after every cut')
    for (const day of there) await compare(comparison, subject, day, standing.get(day)!)
  }
  return {
    schema: 'bands.check-lookahead/1',
    tickers: chosen,
    timeframe,
    as_of: cache.asOf === null ? null : formatDay(cache.asOf),
    seed,
    cuts: days.map(formatDay),
    ...comparison.result(),
  }
}

/** A ticker with all that is kept of it, and what the store shows of each field. */
interface Subject {
  entry: TickerEntry
  timeframe: Timeframe
  daily: Series
  facts: Facts | null
  sectorKey: string | null
  fields: readonly { field: Field; codes: Uint8Array; recorded: Recorded }[]
}

type Recorded = NonNullable<Awaited<ReturnType<Cache['store']['recorded']>>>

async function subjectOf(
  cache: Cache,
  ticker: string,
  timeframe: Timeframe,
  fields: readonly Field[],
  sectors: Sectors,
): Promise<Subject> {
  const entry = await cache.entry(ticker)
  const panel = await cache.panel(ticker, timeframe, fields, sectors)
  const { series: daily } = await cache.panel(ticker, 'daily', [])
  const needsFacts = fields.some(field => field.needs !== 'bars')
  const sheets = needsFacts ? await cache.store.sheets(ticker) : {}
  const whole: Subject['fields'][number][] = []
  // Refuses what other definitions derived; that no import is unfinished is known.
  await cache.view(ticker, timeframe, ANY_FIELD)
  for (const field of fields) {
    const recorded = (await cache.store.recorded(ticker, timeframe, field.name))!
    whole.push({ field, codes: field.classify(panel), recorded })
  }
  const facts = needsFacts ? countedFacts(sheets) : null
  return {
    entry,
    timeframe,
    daily,
    facts,
    sectorKey: facts === null ? null : sectorKey(securityOf(sheets)),
    fields: whole,
  }
}

const ANY_FIELD = 'rsi_zone'

async function compare(comparison: Comparison, subject: Subject, day: Day, sectors: SectorsBy): Promise<void> {
  const { entry, timeframe, sectorKey: key } = subject
  const { series, facts } = cutOff(subject, timeframe, day)
  const sector = key === null ? null : await sectors.seenFrom(entry.ticker, key)
  const panel = new Panel(series, facts, sector)
  const place = { ticker: entry.ticker, cut: day }
  for (const { field, codes, recorded } of subject.fields)
    comparison.field(place, viewOf(recorded, timeframe, field.name, day), { field, codes }, field.classify(panel))
  const [first] = subject.fields
  if (first === undefined) return
  const view = viewOf(first.recorded, timeframe, first.field.name, day)
  comparison.aftermath(place, view, outcomes(series))
}

/** All days with a bar of one of the tickers, ascending. */
async function daysOf(cache: Cache, tickers: readonly string[]): Promise<Day[]> {
  const seen = new Set<Day>()
  for (const ticker of tickers) for (const day of (await cache.series(ticker, 'daily')).days) seen.add(day)
  return [...seen].sort((a, b) => a - b)
}

/** So many of the days, without repetition, ascending; all of them when there are no more. */
function drawn(days: Day[], count: number, random: Random): Day[] {
  const most = Math.min(count, days.length)
  for (let i = 0; i < most; i++) {
    const j = i + random.below(days.length - i)
    ;[days[i], days[j]] = [days[j]!, days[i]!]
  }
  return days.slice(0, most).sort((a, b) => a - b)
}

/** Differences that are told one by one. */
const MOST_TOLD = 100

interface Place {
  ticker: string
  cut: Day
}

/** What the store shows of a day beside what the data up to that day give. */
class Comparison {
  readonly #fields: Map<string, FieldLookahead>
  readonly #aftermath = { compared: 0, differences: 0 }
  readonly #differences: LookaheadDifference[] = []
  readonly #skipped: Skipped[] = []

  constructor(fields: readonly Field[]) {
    this.#fields = new Map(
      fields.map(({ name: field }) => [field, { field, series: 0, bars: 0, events: 0, differences: 0 }]),
    )
  }

  skip(ticker: string, reason: string): void {
    this.#skipped.push({ ticker, reason })
  }

  /** @param codes bands by bar of the same bars, from the data up to the cut */
  field(place: Place, view: View, whole: { field: Field; codes: Uint8Array }, codes: Uint8Array): void {
    const { name: field, bands } = whole.field
    const tally = this.#fields.get(field)!
    tally.series++
    tally.bars += view.bars
    const differ = (what: LookaheadDifference['what'], bar: number, one: string | null, other: string | null): void => {
      tally.differences++
      this.#tell({ ...place, field, what, date: view.days[bar]!, whole: one, cutOff: other })
    }
    const band = (code: number | undefined): string | null => bands[code ?? UNDEFINED] ?? null
    for (let t = 0; t < Math.max(view.bars, codes.length); t++)
      if (whole.codes[t] !== codes[t]) differ('band', t, band(whole.codes[t]), band(codes[t]))
    const [shown, anew] = [shownEvents(view), derivedEvents(codes, view)]
    tally.events += shown.size
    for (const bar of new Set([...shown.keys(), ...anew.keys()])) {
      const [one, other] = [shown.get(bar), anew.get(bar)]
      if (one?.event !== other?.event) differ('event', bar, one?.event ?? null, other?.event ?? null)
      else if (one!.entry !== other!.entry) differ('stability', bar, one!.entry, other!.entry)
    }
  }

  /** Windows that end by the last bar of the view, and how they rank in their past. */
  aftermath(place: Place, view: View, cut: Outcomes): void {
    const { windows } = TIMEFRAMES[view.timeframe]
    for (const [w, name] of windowNames(view.timeframe).entries()) {
      const [returns, ranks] = [view.outcomes.returns[w]!, view.outcomes.ranks[w]!]
      for (let t = 0; t + windows[w]! < view.bars; t++) {
        this.#aftermath.compared++
        if (Object.is(returns[t], cut.returns[w]![t]) && ranks[t] === cut.ranks[w]![t]) continue
        this.#aftermath.differences++
        const words = (of: Outcomes): string => `${name}: return ${of.returns[w]![t]}, rank ${of.ranks[w]![t]}`
        const told = { what: 'aftermath' as const, whole: words(view.outcomes), cutOff: words(cut) }
        this.#tell({ ...place, field: null, date: view.days[t]!, ...told })
      }
    }
  }

  result(): Pick<CheckLookahead, 'fields' | 'aftermath' | 'passed' | 'differences' | 'skipped'> {
    const fields = [...this.#fields.values()]
    return {
      fields,
      aftermath: this.#aftermath,
      passed: this.#differences.length === 0 && fields.some(({ bars }) => bars > 0),
      differences: this.#differences,
      skipped: this.#skipped,
    }
  }

  #tell({ ticker, field, cut, what, date, whole, cutOff }: Told): void {
    if (this.#differences.length >= MOST_TOLD) return
    const dates = { cut: formatDay(cut), date: formatDay(date) }
    this.#differences.push({ ticker, field, cut: dates.cut, what, date: dates.date, whole, cut_off: cutOff })
  }
}

interface Told extends Place, Pick<LookaheadDifference, 'field' | 'what' | 'whole'> {
  date: Day
  cutOff: string | null
}

/** By bar. */
type Events = Map<number, { event: string; entry: string }>

function shownEvents({ record, events, bands }: View): Events {
  return record === null ? new Map() : inWords(record, events, bands)
}

function derivedEvents(codes: Uint8Array, { timeframe, bands }: View): Events {
  const changes = transitions(codes)
  const recorded = { ...changes, ...entries(changes, TIMEFRAMES[timeframe].flipsLookback) }
  return inWords(recorded, changes.bars.length, bands)
}

function inWords(record: NonNullable<View['record']>, events: number, bands: readonly string[]): Events {
  const found: Events = new Map()
  for (let i = 0; i < events; i++) {
    const left = i === 0 ? record.initialBand : record.bands[i - 1]!
    found.set(record.bars[i]!, {
      event: `${bands[left]} → ${bands[record.bands[i]!]}`,
      entry: `${STABILITIES[record.stability[i]!]}, flips ${record.flips[i]}`,
    })
  }
  return found
}

/** A ticker's bars that were final by a day, and the facts known by it, as if nothing later had been loaded. */
function cutOff(
  { entry, daily, facts }: Omit<Member, 'facts'> & { facts: Facts | null },
  timeframe: Timeframe,
  day: Day,
): { series: Series; facts: Facts | null } {
  const upTo = barsAt(timeframe, head(daily, countUpTo(daily.days, day)), entry.assetClass)
  const series = head(upTo, barsKnownBy(upTo, day))
  if (facts === null) return { series, facts }
  const basis = new SplitBasis(barsAt(timeframe, daily, entry.assetClass), facts.splits)
  return { series, facts: factsBy(facts, basis, day, series.days.at(-1) ?? day) }
}

/** Sectors as they stood on one day; what was made of one serves all of its tickers. */
class SectorsBy {
  readonly #sectors: Sectors
  readonly #timeframe: Timeframe
  readonly #day: Day
  readonly #made = new Map<string, Promise<Sector>>()

  constructor(sectors: Sectors, timeframe: Timeframe, day: Day) {
    this.#sectors = sectors
    this.#timeframe = timeframe
    this.#day = day
  }

  /** What a ticker of the sector saw of it. */
  async seenFrom(ticker: string, key: string): Promise<SectorView> {
    let sector = this.#made.get(key)
    if (sector === undefined) {
      sector = this.#make(key)
      this.#made.set(key, sector)
    }
    return (await sector).seenFrom(ticker)
  }

  async #make(key: string): Promise<Sector> {
    const members = await this.#sectors.members(key)
    const there = members.filter(({ entry }) => entry.first <= this.#day)
    return new Sector(
      there.map(member => ({ ticker: member.entry.ticker, ...cutOff(member, this.#timeframe, this.#day) })),
    )
  }
}

/**
 * The facts that were known by a day. Bars that are adjusted for a later split have it in all of their prices: that is no
 * knowledge of the future but the unit they are counted in, so figures as filed are brought to it, as they were with all
 * bars there.
 *
 * @param last date of the last bar: splits count up to there
 */
function factsBy(facts: Facts, basis: SplitBasis, day: Day, last: Day): Facts {
  const kinds = FACT_KINDS.filter(kind => kind !== 'securities')
  const known = kinds.map(kind => [
    kind,
    (facts[kind] as readonly FactRecord[]).filter(record => knownOn(kind, record)! <= day),
  ])
  const found = Object.fromEntries(known) as unknown as Facts
  const splits = found.splits.filter(({ ex_date }) => ex_date <= last)
  return { ...found, splits, reports: found.reports.map(report => onBasisOf(basis, report, last)) }
}

function onBasisOf(basis: SplitBasis, report: Report, last: Day): Report {
  const later = basis.dividing(report, last).filter(({ ex_date }) => ex_date > last)
  const divided = (figure: number | null): number | null =>
    figure === null ? null : later.reduce((value, { ratio }) => value / ratio, figure)
  return { ...report, eps: divided(report.eps), book_value_ps: divided(report.book_value_ps) }
}

/** `bands check lookahead`: whether anything that is shown of a day knows what came after it. Dates YYYY-MM-DD. */
export interface CheckLookahead {
  schema: 'bands.check-lookahead/1'
  tickers: string[]
  timeframe: Timeframe
  as_of: string | null
  seed: number
  /** The days by which the data were cut off, ascending. */
  cuts: string[]
  fields: FieldLookahead[]
  /** What followed each bar, as far as it was known by the cut: the same for all fields. */
  aftermath: { compared: number; differences: number }
  /** Nothing differs, and something was compared. */
  passed: boolean
  /** The first of them, by ticker, cut and field. */
  differences: LookaheadDifference[]
  skipped: Skipped[]
}

export interface FieldLookahead {
  field: string
  /** Tickers and cuts of which something was compared. */
  series: number
  /** Bars on which a band was compared, and events with their stability and flips. */
  bars: number
  events: number
  /** Bars and events that the data up to the cut gave otherwise. */
  differences: number
}

interface LookaheadDifference {
  ticker: string
  /** null: what followed a bar. */
  field: string | null
  cut: string
  /** `band` of a bar, `event`, `stability` (and flips) of one, `aftermath` of a bar. */
  what: 'band' | 'event' | 'stability' | 'aftermath'
  date: string
  /** In words; null: nothing. */
  whole: string | null
  cut_off: string | null
}

/** `bands check recursion`: how much the bands depend on where the bars begin. */
export interface CheckRecursion {
  schema: 'bands.check-recursion/1'
  tickers: string[]
  timeframe: Timeframe
  as_of: string | null
  /** How many of the first bars were left out. */
  dropped: number[]
  fields: FieldRecursion[]
  skipped: Skipped[]
}

export interface FieldRecursion {
  field: string
  /** One for each number of bars left out. */
  starts: LateStart[]
}

export interface LateStart {
  dropped: number
  /** Tickers with more bars than that, and a band on one of those that are left. */
  tickers: number
  /** Bars that have a band in both or in one, from the late start on. */
  bars: number
  /** Bars that have a band from the whole and none yet from the late start. */
  warming_up: number
  /** Bars on which the late start gives another band, or one where the whole has none. */
  differing: number
  /** differing / (bars - warming_up); null without any. */
  share: number | null
  /** Bars after the late start from which on the bands agree for good: of the middle ticker and of the slowest. */
  agree_after: { median: number; most: number } | null
  /** Tickers whose bands differ on the last bar still; they are not in the line above. */
  never: number
}

export interface Skipped {
  ticker: string
  reason: string
}
