import { indicesIn } from '../../core/model/calendar.js'
import type { Adjustment } from '../../core/params/studies.js'
import { stationaryIndices } from '../../core/statistics/bootstrap.js'
import type { BarRange } from '../../core/statistics/folds.js'
import { quantile } from '../../core/statistics/moments.js'
import { benjaminiHochberg, benjaminiYekutieli, type Column, holm } from '../../core/statistics/selection.js'
import type { ShareInterval } from '../../core/statistics/shares.js'
import { sharpe } from '../../core/statistics/sharpe.js'
import { type CalendarCell, daysWith } from '../study/cell.js'
import { whyTooFew } from '../study/result.js'
import { dailyReturns } from '../study/subject.js'
import { bootstrapBlocks, defaultTest } from '../study/tests.js'
import {
  type BaseBars,
  baseHitOf,
  cellWithHitRate,
  countNonOverlapping,
  type EventPool,
  holdingsOf,
  poolOf,
  type Sums,
  sumsOf,
} from './pool.js'
import type { KnownSweep, SweepCell } from './result.js'
import {
  type BarMask,
  type Combination,
  conditionsOf,
  namedStream,
  nameOf,
  type TickerData,
  type Timeline,
} from './ticker-data.js'

export interface CellResult {
  key: Combination
  name: string
  events: number
  sums: Sums
  /** Share of gains after any bar of the tickers; each ticker weighs by its events. */
  baseHit: number | null
  /** Windows of one ticker that share no bar, added up. */
  nonOverlapping: number
  /** Hit rate, its interval, and its effective number of independent cases. */
  hit: ShareInterval
  /** Newey-West t of the difference, and its p. */
  t: number | null
  p: number | null
  reason: string | null
  /** null without a test. */
  cell: CalendarCell | null
  pool: EventPool
}

/** One run over the data: which bars count, and the name that is part of the seed. */
export interface SweepRun {
  tickerData: readonly TickerData[]
  timeline: Timeline
  query: KnownSweep
  /** The bars that count, by horizon of the query. */
  masks: readonly BarMask[]
  /** For progress messages; part of the seed. */
  name: string
}

export function cellCount(query: KnownSweep): number {
  const conditions = query.fields.reduce((sum, _, field) => sum + conditionsOf(query, field).length, 0)
  return conditions * query.horizons.length * (query.by === 'pool' ? 1 : query.tickers.length)
}

/** Cells that are computed together: a field and a horizon, each an index into the query's list. */
export interface CellBatch {
  field: number
  horizonIndex: number
  /** A range of tickers. */
  from: number
  to: number
  /** A range of the field's conditions. */
  conditions: BarRange
}

/**
 * Yields the results of a batch of cells (combinations) one by one, because each is small and its data are large. It
 * goes ticker by ticker, because cells of one ticker share their days.
 * @param base of the batch's field, horizon and tickers
 */
export function* cellResults(
  { query }: SweepRun,
  { field, conditions: conditionRange }: CellBatch,
  base: BaseBars,
): Generator<CellResult> {
  const { horizon, tickers } = base
  const conditions = conditionsOf(query, field).slice(conditionRange.from, conditionRange.to)
  if (query.by === 'pool') {
    for (const condition of conditions)
      yield cellResult({ condition, horizon, ticker: null }, poolOf(base, condition), query)
    return
  }
  for (const [i, { ticker }] of tickers.entries())
    for (const condition of conditions)
      yield cellResult({ condition, horizon, ticker }, poolOf(base, condition, i, i + 1), query)
}

/** Counts and tests the events of a cell. Without enough events, or without a p, the result has the reason. */
function cellResult(key: Combination, pool: EventPool, query: KnownSweep): CellResult {
  const name = nameOf(key, query)
  const sums = sumsOf(pool)
  const nonOverlapping = countNonOverlapping(pool)
  const { cell, hit } = cellWithHitRate(pool)
  const untested = { t: null, p: null, cell: null }
  const events = sums.n + pool.lost
  const result = { key, name, events, sums, baseHit: baseHitOf(pool), nonOverlapping, hit, pool, ...untested }
  const tooFewReason = whyTooFew(sums.n, nonOverlapping, query)
  if (tooFewReason !== null) return { ...result, reason: tooFewReason }
  const { statistic: t, p, reason } = defaultTest(cell)
  return p === null ? { ...result, reason } : { ...result, t, p, reason: null, cell }
}

/** Factor between the allowed mean blocks: they are few, so that many cells share one. */
const BLOCK_GROWTH = 1.25

/** Calendars are padded with empty days to a multiple of this number. Empty days add nothing to any sum. */
const DAYS_STEP = 64

/** 64 MB. */
const MAX_CACHE_BYTES = 64 * 2 ** 20

/**
 * Resamples of days by the stationary bootstrap (Politis & Romano 1994). All cells with about as many days and the same
 * mean block share them. The draws depend only on these two and the seed, not on other cells.
 * Drawing them for each cell would take a hundred times as long as using them.
 */
export class Resamples {
  readonly #seed: number
  readonly #reps: number
  readonly #cache = new Map<string, Uint8Array>()
  #bytes = 0

  constructor({ seed, resamples }: { seed: number; resamples: number }) {
    this.#seed = seed
    this.#reps = resamples
  }

  /**
   * 95 % interval of the difference, and its mean block: percentiles of Σ excess / Σ events over the resamples with
   * events, expanded (Hesterberg 2015). Null where one block has most of the events.
   */
  interval(cell: CalendarCell): { low: number; high: number; block: number } | null {
    const blocks = bootstrapBlocks(cell)
    if (blocks === null) return null
    const { tail } = blocks
    const { events, excess } = cell.series
    const days = daysWith(events)
    const block = sharedBlock(cell.horizon, blocks.block)
    const drawn = this.#drawCounts(Math.ceil(events.length / DAYS_STEP) * DAYS_STEP, block)
    // By resample.
    const excessSums = new Float64Array(this.#reps)
    const eventSums = new Float64Array(this.#reps)
    const countsOfDay = (day: number) => drawn.subarray(day * this.#reps, (day + 1) * this.#reps)
    // Two days at a time, because storing the sums takes as long as adding to them. A last single day is added with 0.
    for (let i = 0; i < days.length; i += 2) {
      const day = days[i]!
      const next = days[i + 1] ?? days[i]!
      const dayCounts = countsOfDay(day)
      const nextCounts = countsOfDay(next)
      const dayExcess = excess[day]!
      const dayEvents = events[day]!
      const [nextExcess, nextEvents] = next === day ? [0, 0] : [excess[next]!, events[next]!]
      for (let rep = 0; rep < dayCounts.length; rep++) {
        excessSums[rep] = excessSums[rep]! + dayCounts[rep]! * dayExcess + nextCounts[rep]! * nextExcess
        eventSums[rep] = eventSums[rep]! + dayCounts[rep]! * dayEvents + nextCounts[rep]! * nextEvents
      }
    }
    const ratios = excessSums.map((sum, rep) => sum / eventSums[rep]!).filter(ratio => !Number.isNaN(ratio))
    ratios.sort()
    return ratios.length === 0 ? null : { low: quantile(ratios, tail)!, high: quantile(ratios, 1 - tail)!, block }
  }

  /** How often each resample draws each day, from a cache: day after day, a number for each resample. */
  #drawCounts(days: number, block: number): Uint8Array {
    const name = `${days} ${block}`
    const drawn = this.#cache.get(name) ?? this.#countDraws(days, block, name)
    // The map is in order of last use.
    this.#cache.delete(name)
    this.#cache.set(name, drawn)
    return drawn
  }

  /** Draws the resamples, after older counts have left enough room in the cache. @param name of the random stream */
  #countDraws(days: number, block: number, name: string): Uint8Array {
    const reps = this.#reps
    for (const [oldest, { length }] of this.#cache) {
      if (this.#bytes + days * reps <= MAX_CACHE_BYTES) break
      this.#cache.delete(oldest)
      this.#bytes -= length
    }
    const random = namedStream(this.#seed, `bootstrap ${name}`)
    // A byte is enough for a count: a resample draws each day once on average.
    const drawn = new Uint8Array(days * reps)
    const indices = new Int32Array(days)
    for (let rep = 0; rep < reps; rep++) {
      stationaryIndices(random, days, block, indices)
      for (let i = 0; i < days; i++) drawn[indices[i]! * reps + rep]!++
    }
    this.#bytes += drawn.length
    return drawn
  }
}

/** The mean block that a cell shares with others: the first of horizon, horizon · 1.25, … that is at least `block`. */
function sharedBlock(horizon: number, block: number): number {
  let shared = horizon
  while (shared < block) shared *= BLOCK_GROWTH
  return shared
}

const METHODS: Readonly<Record<Adjustment, (p: readonly number[]) => number[]>> = {
  bh: benjaminiHochberg,
  by: benjaminiYekutieli,
  holm,
  none: p => [...p],
}

/**
 * The p-values `ps` corrected for the number of tests, in their order; null without p. A test without a p-value counts
 * as p = 1.
 * @param others p-values of the rest of the family
 */
export function correctedPs(
  ps: readonly (number | null)[],
  others: readonly (number | null)[],
  adjustment: Adjustment,
): (number | null)[] {
  const family = METHODS[adjustment]([...ps, ...others].map(p => p ?? 1))
  return ps.map((p, i) => (p === null ? null : family[i]!))
}

type Evidence = { q: number | null; p: number | null; name: string }

/** Compares cells for sorting: by corrected p, then by p, nulls last; ties by name. */
export function compareByEvidence(a: Evidence, b: Evidence): number {
  return nullsLast(a.q, b.q) || nullsLast(a.p, b.p) || (a.name < b.name ? -1 : Number(a.name > b.name))
}

function nullsLast(a: number | null, b: number | null): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null)
  return a - b
}

/** Figures of a tested cell for its interval and for the contest. */
export interface CellDetails extends Pick<SweepCell, 'low' | 'high' | 'sharpe'> {
  /** Daily returns of the calendar-time portfolio; `span` is the range in which it could hold something. */
  returns: Float64Array
  span: { from: number; to: number }
  /** Mean block of the interval. */
  block: number
  /** Excess of each day's events, scaled so that its mean over the timeline is the difference. */
  column: Column
}

/** The interval of a tested cell (null ends without one), and its returns and column for the contest of all cells. */
export function detailsOf(
  result: CellResult & { cell: CalendarCell },
  run: SweepRun,
  resamples: Resamples,
): CellDetails {
  const { cell, key, pool } = result
  const { holdings, span } = holdingsOf(pool)
  const returns = dailyReturns(holdings)
  return {
    ...(resamples.interval(cell) ?? { low: null, high: null, block: key.horizon }),
    returns,
    span,
    sharpe: sharpe(returns.subarray(span.from, span.to), 1),
    column: columnOf(cell, run.timeline.days),
  }
}

/** A cell's excess by day, scaled so that its mean over the timeline (`days`) is the cell's mean excess of an event. */
function columnOf({ calendar, series: { events, excess }, n }: CalendarCell, days: Int32Array): Column {
  const indices = indicesIn(days, calendar)
  const eventDays = daysWith(events)
  return {
    indices: eventDays.map(day => indices[day]!),
    values: Float64Array.from(eventDays, day => (excess[day]! * days.length) / n),
  }
}
