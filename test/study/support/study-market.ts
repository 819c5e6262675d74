import { labelEntries, transitions, weekly } from '../../../src/core/engine/record.js'
import { BUILT_IN_FIELDS, FIELDS } from '../../../src/core/fields/index.js'
import { conditionField, isCondition } from '../../../src/core/language/as-field.js'
import type { Subject } from '../../../src/core/language/condition.js'
import { type Column, truthOf } from '../../../src/core/language/truth.js'
import { type Day, weekdayOf } from '../../../src/core/model/day.js'
import { firstBars, type Series, UNDEFINED } from '../../../src/core/model/series.js'
import { TIMEFRAMES, type Timeframe } from '../../../src/core/model/terms.js'
import { ANY_EVENT, type EventFilter, type StudyQuery } from '../../../src/core/params/studies.js'
import type { MarketBars, PricedSource, States } from '../../../src/core/source.js'
import { Random } from '../../../src/core/statistics/random.js'
import { fieldStates, marketFrom, pricesFrom, statesFrom } from '../../support/source.js'

/** A ticker of a market that lies in memory. */
export interface Listing extends Partial<Omit<MarketBars, 'ticker' | 'series'>> {
  ticker: string
  /** Daily bars. */
  series: Series
  /** Bands of the field `made` by bar, 0..2 or UNDEFINED; other fields are classified by the engine. */
  codes?: Uint8Array
}

/** Bands of the field `made`. */
export const MADE_BANDS = ['low', 'middle', 'high']

/** The market of these tickers; as of the newest bar. Made by the engine from bars, without a store; fields may be conditions. */
export function marketOf(listings: readonly Listing[]): PricedSource {
  const found = (ticker: string): Listing => listings.find(listing => listing.ticker === ticker)!
  const bars = (ticker: string, timeframe: Timeframe): MarketBars => barsOf(found(ticker), timeframe)
  const states = (ticker: string, field: string, timeframe: Timeframe): States =>
    isCondition(field)
      ? conditionStates({ ticker, field, timeframe }, bars, states)
      : statesOf(found(ticker), field, timeframe)
  const made = { name: 'made', tier: 'free', needs: 'facts', bands: MADE_BANDS, summary: '' } as const
  const fields = async (asked: readonly string[] = []) => [
    made,
    ...FIELDS,
    ...asked.filter(isCondition).map(text => conditionField(text, BUILT_IN_FIELDS)),
  ]
  return marketFrom(
    listings.map(({ ticker }) => ticker),
    bars,
    states,
    { fields },
  )
}

/** Where a condition holds, on the bands of the fields and tickers that it names. */
function conditionStates(
  head: Pick<States, 'ticker' | 'field' | 'timeframe'>,
  bars: (ticker: string, timeframe: Timeframe) => MarketBars,
  states: (ticker: string, field: string, timeframe: Timeframe) => States,
): States {
  const columnOf = ({ ticker, timeframe, field }: Subject): Column => {
    const whose = ticker ?? head.ticker
    const when = timeframe ?? head.timeframe
    const { days, known } = bars(whose, when).series
    const { bands, codes } = states(whose, field, when)
    return { days, known, bands, codes, transitions: transitions(codes) }
  }
  const { condition, bands } = conditionField(head.field, BUILT_IN_FIELDS)
  const { series } = bars(head.ticker, head.timeframe)
  return statesFrom({ ...head, bands }, truthOf(condition, { on: series, columnOf }))
}

/** The same ticker with its first bars alone. */
export function cut({ series, codes, ...rest }: Listing, bars: number): Listing {
  return { ...rest, series: firstBars(series, bars), ...(codes === undefined ? {} : { codes: codes.slice(0, bars) }) }
}

function barsOf({ ticker, series, codes: _, ...rest }: Listing, timeframe: Timeframe): MarketBars {
  const isDaily = timeframe === 'daily'
  return pricesFrom(ticker, isDaily ? series : weekly(series), { barsAYear: isDaily ? 252 : 52, ...rest })
}

function statesOf(listing: Listing, field: string, timeframe: Timeframe): States {
  const { ticker, codes } = listing
  const made =
    field === 'made'
      ? statesFrom({ ticker, field, timeframe, bands: MADE_BANDS }, codes!)
      : fieldStates(ticker, field, barsOf(listing, timeframe).series)
  const { stability, flips } = labelEntries(transitions(made.codes), TIMEFRAMES[timeframe].flipsLookback)
  return { ...made, stability, flips }
}

/** Codes of `made` that enter `high` on some bars, for one bar each, and are `middle` otherwise; none before `from`. */
export function codesWith(bars: number, events: readonly number[], from = 0): Uint8Array {
  const codes = new Uint8Array(bars).fill(1)
  codes.fill(UNDEFINED, 0, from)
  for (const bar of events) codes[bar] = 2
  return codes
}

/** A complete query with the defaults of the command line; filter and the rest may be named side by side. */
export function queryOf(given: Partial<StudyQuery> & Partial<EventFilter> = {}): StudyQuery {
  const { field, timeframe, bands, prev_bands, stability, max_flips, context, after, before, ...rest } = {
    ...ANY_EVENT,
    field: 'rsi_zone',
    timeframe: 'daily' as const,
    ...given,
  }
  return {
    tickers: ['SIM'],
    filter: { field, timeframe, bands, prev_bands, stability, max_flips, context, after, before },
    horizons: [5, 10, 20, 50, 100],
    path: { before: 20, after: 100 },
    benchmark: null,
    abnormal: 'none',
    min_events: 20,
    reps: 999,
    resamples: 1999,
    seed: 1,
    naive: false,
    hansen_hodrick: false,
    ...rest,
  }
}

export interface WalkForm {
  tickers: number
  bars: number
  /** Share of a day's move that all tickers have in common, 0..1. */
  common?: number
  /** Volatility that comes in spells (GARCH(1,1), .1 and .85). */
  garch?: boolean
  /** Chance a bar of an event of the field `made`, and that another follows two bars later. */
  chance?: number
  again?: number
  /** 5: weekdays only, 7: every day. */
  daysAWeek?: 5 | 7
  /** Days of each ticker that are missing. */
  holidays?: number
}

const FIRST: Day = 14_000
const VOLATILITY = 0.012

/** Tickers that go nowhere, with bands of `made` that know nothing: no edge by construction. */
export function randomWalks(seed: number, form: WalkForm): Listing[] {
  const random = Random.stream(new Random(seed).word(), 7)
  const { tickers, bars, daysAWeek = 5, common = 0 } = form
  const days = calendarOf(bars, daysAWeek)
  const shared = Float64Array.from(days, () => random.normal())
  return Array.from({ length: tickers }, (_, i) => {
    const kept = days.filter(() => random.uniform() >= (form.holidays ?? 0))
    const moves = kept.map((_, t) => Math.sqrt(common) * shared[t]! + Math.sqrt(1 - common) * random.normal())
    const series = seriesOf(kept, common === 0 ? moves.map(() => random.normal()) : moves, random, form.garch === true)
    return { ticker: `W${String(i).padStart(2, '0')}`, series, codes: codesOf(random, kept.length, form) }
  })
}

function calendarOf(bars: number, daysAWeek: 5 | 7): Float64Array {
  const days: Day[] = []
  for (let day = FIRST; days.length < bars; day++) if (weekdayOf(day) < daysAWeek) days.push(day)
  return Float64Array.from(days)
}

function seriesOf(days: Float64Array, moves: Float64Array, random: Random, garch: boolean): Series {
  const close = new Float64Array(days.length)
  let price = 100
  let variance = 1
  for (let t = 0; t < close.length; t++) {
    const move = moves[t]!
    price *= Math.exp(VOLATILITY * (garch ? Math.sqrt(variance) : 1) * move)
    variance = 0.05 + 0.1 * variance * move * move + 0.85 * variance
    close[t] = price
  }
  const open = close.map(value => value * (1 + 0.003 * random.normal()))
  const high = close.map((value, t) => Math.max(value, open[t]!) * (1 + 0.004 * random.uniform()))
  const low = close.map((value, t) => Math.min(value, open[t]!) * (1 - 0.004 * random.uniform()))
  const column = Int32Array.from(days)
  return { timeframe: 'daily', days: column, known: column, open, high, low, close, volume: close.map(() => 1e6) }
}

/** Undefined at first, as fields are. */
function codesOf(random: Random, bars: number, { chance = 0.03, again = 0.3 }: WalkForm): Uint8Array {
  const codes = new Uint8Array(bars).fill(UNDEFINED, 0, Math.min(20, bars)).fill(1, 20)
  for (let t = 21; t < bars; t++) {
    const follows = t > 22 && codes[t - 2] === 2 && random.uniform() < again
    if (follows || random.uniform() < chance) codes[t] = random.uniform() < 0.8 ? 2 : 0
  }
  return codes
}
