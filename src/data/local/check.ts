import { rankOutcomes } from '../../core/engine/outcomes.js'
import { recordOfCodes } from '../../core/engine/record.js'
import { InvalidParameter } from '../../core/errors.js'
import type { Field } from '../../core/fields/field.js'
import type { FieldSet } from '../../core/fields/index.js'
import type { Panel } from '../../core/fields/panel.js'
import { isRuled } from '../../core/language/as-field.js'
import { type Day, dateOf, formatDay } from '../../core/model/day.js'
import { barsKnownBy, type Outcomes, returnOver, STABILITIES, UNDEFINED } from '../../core/model/series.js'
import { TIMEFRAMES, type Timeframe, windowNames } from '../../core/model/terms.js'
import { Random } from '../../core/statistics/random.js'
import type { Cache } from './cache.js'
import { companyOf, panelOf, Sectors } from './sectors.js'
import { eventColumnsOf, eventIndexes, type View, viewOf } from './view.js'

interface CheckQuery {
  tickers: readonly string[]
  fields: readonly string[]
  timeframe: Timeframe
  /** Number of days to cut at, drawn from the days of the tickers' bars. */
  cuts: number
  seed: number
}

interface CheckOptions {
  step?: (text: () => string) => void
  /** Resolves a name (default: the field of that name). */
  field?: (name: string) => Field
}

/**
 * Cuts bars and facts at random days and derives everything again from the rest. Compares the bands by bar with those
 * derived from all data, and events and outcomes (`aftermath`) with the stored ones. A difference is a value that used
 * later data. A cut applies to all tickers, sectors included. Similar to freqtrade's lookahead-analysis, which runs a
 * strategy on cut data. Throws NotFound, Busy, InvalidParameter without a cut.
 */
export async function checkLookahead(
  cache: Cache,
  { tickers: requested, fields: fieldNames, timeframe, cuts, seed }: CheckQuery,
  { step, field = name => recordedField(cache.fieldSet, name) }: CheckOptions = {},
): Promise<CheckLookahead> {
  const allowed = 'a whole number from 1 on'
  if (!Number.isInteger(cuts) || cuts < 1)
    throw new InvalidParameter(`cuts ${cuts} is not ${allowed}.`, { param: 'cuts', value: cuts, allowed })
  const fields = fieldNames.map(field)
  await cache.refuseWaitingFields(fields)
  const tickers = [...new Set(requested)].sort()
  const days = drawDays(await daysWithBars(cache, tickers), cuts, new Random(seed))
  const sectors = new Sectors(cache.store)
  const comparison = new Comparison(fields)
  const skipped: Skipped[] = []
  for (const [done, ticker] of tickers.entries()) {
    step?.(() => `${ticker}: ${done} of ${tickers.length} tickers`)
    const company = await companyOf(cache.store, await cache.entry(ticker), fields)
    const panelOn = (day?: Day): Promise<Panel> => panelOf(company, timeframe, fields, sectors, day)
    const fullPanel = await panelOn()
    const fullCodes = fields.map(field => field.classify(fullPanel))
    const recorded = await Promise.all(fields.map(({ name }) => cache.recorded(ticker, timeframe, name)))
    const cutDays = days.filter(day => day >= company.entry.first)
    if (cutDays.length === 0) skipped.push({ ticker, reason: 'its bars begin after every cut' })
    for (const day of cutDays) {
      const views = recorded.map((record, f) =>
        viewOf(record, timeframe, fields[f]!.bands, barsKnownBy(record.calendar, day)),
      )
      comparison.compare(views, fullCodes, await panelOn(day), day)
    }
  }
  const { differences, aftermath } = comparison
  return {
    schema: 'bands.check-lookahead/1',
    tickers,
    timeframe,
    as_of: dateOf(cache.asOf),
    seed,
    cuts: days.map(formatDay),
    fields: comparison.fields,
    aftermath,
    passed: differences.length === 0 && comparison.fields.some(({ bars }) => bars > 0),
    differences,
    skipped,
  }
}

/** The field of a name. Throws InvalidParameter for a field that uses other fields: it is checked through those. */
function recordedField(fields: FieldSet, name: string): Field {
  const field = fields.named(name)!
  if (!isRuled(field)) return field
  throw new InvalidParameter(`${name} uses other fields; check those.`, { param: 'field', value: name })
}

/** All days with a bar of one of the tickers, ascending. */
async function daysWithBars(cache: Cache, tickers: readonly string[]): Promise<Day[]> {
  const days = new Set<Day>()
  for (const ticker of tickers) for (const day of (await cache.series(ticker, 'daily')).days) days.add(day)
  return [...days].sort((a, b) => a - b)
}

/** `count` random days, ascending, without repetition; all days if there are no more. Shuffles `days`. */
function drawDays(days: Day[], count: number, random: Random): Day[] {
  const drawnCount = Math.min(count, days.length)
  // Fisher-Yates shuffle, stopped after the needed number.
  for (let i = 0; i < drawnCount; i++) {
    const chosen = i + random.below(days.length - i)
    const day = days[chosen]!
    days[chosen] = days[i]!
    days[i] = day
  }
  return days.slice(0, drawnCount).sort((a, b) => a - b)
}

/** Maximum number of differences listed one by one. */
const MAX_LISTED = 100

/** Compares values of each day with those derived only from the data up to that day. */
class Comparison {
  readonly fields: FieldLookahead[]
  readonly aftermath = { compared: 0, differences: 0 }
  readonly differences: LookaheadDifference[] = []
  readonly #fields: readonly Field[]

  constructor(fields: readonly Field[]) {
    this.#fields = fields
    this.fields = fields.map(({ name }) => ({ field: name, series: 0, bars: 0, events: 0, differences: 0 }))
  }

  /**
   * Derives all fields of a ticker from the data up to one day, and adds to the counts and differences. Compares the
   * bands with those from all data, and the events and later returns with the stored ones.
   * @param views the stored record of each field up to the day
   * @param fullCodes bands by bar of each field, from all data
   * @param cut the data up to the day
   */
  compare(views: readonly View[], fullCodes: readonly Uint8Array[], cut: Panel, day: Day): void {
    for (const [fieldIndex, field] of this.#fields.entries()) {
      const view = views[fieldIndex]!
      const counts = this.fields[fieldIndex]!
      const cutCodes = field.classify(cut)
      counts.series++
      counts.bars += view.bars
      counts.events += view.events
      this.#addDifferences(counts, bandDifferences(view, fullCodes[fieldIndex]!, cutCodes), view, day, field.name)
      this.#addDifferences(counts, eventDifferences(view, viewOfCodes(view, cutCodes)), view, day, field.name)
    }
    const [firstView] = views
    if (firstView === undefined) return
    for (const window of TIMEFRAMES[firstView.timeframe].windows)
      this.aftermath.compared += Math.max(0, firstView.bars - window)
    this.#addDifferences(this.aftermath, outcomeDifferences(firstView, rankOutcomes(cut.series)), firstView, day, null)
  }

  /** Counts differences, and lists them up to MAX_LISTED. @param field null: returns after a bar */
  #addDifferences(
    counts: { differences: number },
    differences: Iterable<Difference>,
    { ticker, days }: View,
    day: Day,
    field: string | null,
  ): void {
    for (const { what, bar, whole, cut_off } of differences) {
      counts.differences++
      if (this.differences.length >= MAX_LISTED) continue
      const cut = formatDay(day)
      const date = formatDay(days[bar]!)
      this.differences.push({ ticker, field, cut, what, date, whole, cut_off })
    }
  }
}

interface Difference extends Pick<LookaheadDifference, 'what' | 'whole' | 'cut_off'> {
  bar: number
}

/** The bars on which the bands from all data and from cut data differ. @param cutCodes bands by bar from cut data */
function* bandDifferences({ bars, bands }: View, fullCodes: Uint8Array, cutCodes: Uint8Array): Generator<Difference> {
  const band = (code: number | undefined): string | null => bands[code ?? UNDEFINED] ?? null
  for (let bar = 0; bar < Math.max(bars, cutCodes.length); bar++)
    if (fullCodes[bar] !== cutCodes[bar])
      yield { what: 'band', bar, whole: band(fullCodes[bar]), cut_off: band(cutCodes[bar]) }
}

/** The view with the events that follow from bands by bar. */
function viewOfCodes(view: View, codes: Uint8Array): View {
  const record = recordOfCodes(codes, view.timeframe)
  return { ...view, record, events: record.bars.length }
}

/** The bars where an event, its stability or its flips differ between the store (`whole`) and cut data (`cut_off`). */
function* eventDifferences(storedView: View, cutView: View): Generator<Difference> {
  const stored = eventWordsByBar(storedView)
  const cut = eventWordsByBar(cutView)
  for (const bar of new Set([...stored.keys(), ...cut.keys()])) {
    const storedEvent = stored.get(bar)
    const cutEvent = cut.get(bar)
    const what = storedEvent?.event === cutEvent?.event ? 'stability' : 'event'
    if (storedEvent?.[what] !== cutEvent?.[what])
      yield { what, bar, whole: storedEvent?.[what] ?? null, cut_off: cutEvent?.[what] ?? null }
  }
}

/** Each event of a view in words, by its bar: the change of band, and its stability with flips. */
function eventWordsByBar(view: View): Map<number, { event: string; stability: string }> {
  const { bands, left, entered, stability, flips } = eventColumnsOf(view, eventIndexes(view))
  const describe = (band: number, i: number) => ({
    event: `${bands[left[i]!]} → ${bands[band]}`,
    stability: `${STABILITIES[stability[i]!]}, flips ${flips[i]}`,
  })
  return new Map(Array.from(entered, (band, i) => [view.record!.bars[i]!, describe(band, i)]))
}

/**
 * Differences in returns and ranks of windows that end by the last bar of the view.
 * @param cut outcomes from cut data
 */
function* outcomeDifferences({ timeframe, bars, outcomes }: View, cut: Outcomes): Generator<Difference> {
  const full = outcomes!
  for (const [windowIndex, name] of windowNames(timeframe).entries()) {
    const window = TIMEFRAMES[timeframe].windows[windowIndex]!
    const returnAt = ({ close }: Outcomes, bar: number): number => returnOver(close, bar, window)
    const rankAt = ({ ranks }: Outcomes, bar: number): number => ranks[windowIndex]![bar]!
    const describe = (data: Outcomes, bar: number): string =>
      `${name}: return ${returnAt(data, bar)}, rank ${rankAt(data, bar)}`
    for (let bar = 0; bar + window < bars; bar++)
      if (!Object.is(returnAt(full, bar), returnAt(cut, bar)) || rankAt(full, bar) !== rankAt(cut, bar))
        yield { what: 'aftermath', bar, whole: describe(full, bar), cut_off: describe(cut, bar) }
  }
}

/** `bands check lookahead`: whether any value of a day uses later data. Dates YYYY-MM-DD. */
export interface CheckLookahead {
  schema: 'bands.check-lookahead/1'
  tickers: string[]
  timeframe: Timeframe
  as_of: string | null
  seed: number
  /** The days at which the data were cut, ascending. */
  cuts: string[]
  fields: FieldLookahead[]
  /** The returns known by the cut: the same for all fields. */
  aftermath: { compared: number; differences: number }
  /** Nothing differs, and something was compared. */
  passed: boolean
  /** The first of them, by ticker, cut and field. */
  differences: LookaheadDifference[]
  skipped: Skipped[]
}

export interface FieldLookahead {
  field: string
  /** Number of compared tickers and cuts. */
  series: number
  /** Bars on which a band was compared, and events with their stability and flips. */
  bars: number
  events: number
  /** Bars and events that the data up to the cut gave otherwise. */
  differences: number
}

interface LookaheadDifference {
  ticker: string
  /** null: returns after a bar. */
  field: string | null
  cut: string
  /** `band` of a bar, `event`, `stability` (and flips) of an event, `aftermath` of a bar. */
  what: 'band' | 'event' | 'stability' | 'aftermath'
  date: string
  /** In words; null: nothing. */
  whole: string | null
  cut_off: string | null
}

export interface Skipped {
  ticker: string
  reason: string
}
