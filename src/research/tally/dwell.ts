import { type BandPeriods, NO_NUMBER, NOT_ENDED } from '../../core/model/history.js'
import { reasonsFor } from '../../core/statistics/moments.js'
import { dailyShare, effectiveCases, type ShareInterval } from '../../core/statistics/shares.js'
import {
  type Counted,
  kaplanMeier,
  lengthInterval,
  lengthOfShare,
  type Spell,
  type SurvivalError,
  survivalErrors,
  totalCount,
} from '../../core/statistics/survival.js'

/** How long periods in one band last, in bars of the timeframe. stays = completed + censored + unknown. */
export interface Dwell {
  band: string
  stays: number
  completed: number
  /** Active periods: they last longer than their bars so far. */
  censored: number
  /** Active periods of unknown length; not counted below. */
  unknown: number
  /** Kaplan-Meier of completed and censored periods: the length by which half, and nine tenths, have ended. */
  median: number | null
  /** 95 % interval of the median: where the log-log interval of the survival reaches a half. */
  median_low: number | null
  median_high: number | null
  p90: number | null
  /** Only completed periods. */
  mean: number | null
  /** The longest of completed and censored periods, and whether it is active. */
  longest: number | null
  longest_is_active: boolean | null
  /** One entry for each length at which some ended. */
  survival: SurvivalPoint[]
  /** Why a value above is null, by its name. */
  reasons: Record<string, string>
}

/** The share of periods that last longer than this number of bars. */
interface SurvivalPoint extends SurvivalError {
  bars: number
  /** Periods that lasted this long, and how many of them ended then. */
  at_risk: number
  ended: number
  share: number
}

/** Equal periods, each of which began with an event. */
export interface BandPeriod extends Counted {
  band: string
  ended: boolean
  /** Bars from the entry to the next event, or so far; null where unknown. */
  bars: number | null
  /** The next band; null while active, or where the next event lies outside the query's dates. */
  next: string | null
  /** Band of the context on the first day; null without one. */
  context: string | null
  /** The first day of each period; without it they count as independent. */
  days?: readonly number[]
}

/** Equal changes from one band to another. */
export interface Change extends Counted {
  band: string
  prev_band: string
  /** Band of the context; null or absent without one. */
  context_band?: string | null
  /** The day of each change; without it they count as independent. */
  days?: readonly number[]
}

type Dated<One> = Required<One> & { days: number[] }

/**
 * The changes and periods of many tickers, equal ones counted together: a whole market has ten times fewer distinct
 * ones. The band before the first event is no period, because its first day is unknown.
 */
export class CollectedChanges {
  readonly #bands = new Names()
  readonly #contexts = new Names()
  readonly #changes = new Map<number, Dated<Change>>()
  /** Periods by a key of all but their length, then by length. */
  readonly #periods = new Map<number, Map<number, Dated<BandPeriod>>>()

  get changes(): Dated<Change>[] {
    return [...this.#changes.values()]
  }

  get periods(): Dated<BandPeriod>[] {
    return [...this.#periods.values()].flatMap(byLength => [...byLength.values()])
  }

  /**
   * Adds the transitions of one field of a ticker, not filtered by band. Each is a change, and begins a period.
   * @param periods of one field only
   */
  add({ bands: [bandsOfField], present, transitions }: BandPeriods): void {
    const { days, entered, left, lasted, contexts } = transitions()
    const codes = this.#bands.codesOf(bandsOfField!)
    for (let i = 0; i < entered.length; i++) {
      const band = codes[entered[i]!]!
      const prev = codes[left[i]!]!
      const context = contexts === null ? NO_NAME : this.#contexts.codeOf(contexts[i]!)
      this.#addChange(band, prev, context, days[i]!)
      const ended = lasted[i] !== NOT_ENDED
      const next = ended && i + 1 < entered.length ? codes[entered[i + 1]!]! : NO_NAME
      const bars = ended ? lasted[i]! : barsSoFar(present, days[i]!)
      this.#addPeriod(band, next, context, ended, bars, days[i]!)
    }
  }

  /** Counts a change by its names; the arguments are their numbers. */
  #addChange(band: number, prev: number, context: number, day: number): void {
    // One number for the three names.
    const key = (context * MAX_NAMES + prev) * MAX_NAMES + band
    let change = this.#changes.get(key)
    if (change === undefined) {
      const names = { band: this.#bands.nameOf(band)!, prev_band: this.#bands.nameOf(prev)! }
      change = { ...names, context_band: this.#contexts.nameOf(context), times: 0, days: [] }
      this.#changes.set(key, change)
    }
    change.times++
    change.days.push(day)
  }

  /**
   * Counts a period by its names; the arguments are their numbers.
   * @param bars the length, or the bars so far of an active period; NO_NUMBER if unknown
   */
  #addPeriod(band: number, next: number, context: number, ended: boolean, bars: number, day: number): void {
    const key = ((context * MAX_NAMES + next) * MAX_NAMES + band) * 2 + Number(ended)
    let byLength = this.#periods.get(key)
    if (byLength === undefined) {
      byLength = new Map()
      this.#periods.set(key, byLength)
    }
    let period = byLength.get(bars)
    if (period === undefined) {
      const names = { band: this.#bands.nameOf(band)!, next: this.#bands.nameOf(next) }
      const knownBars = bars === NO_NUMBER ? null : bars
      period = { ...names, context: this.#contexts.nameOf(context), ended, bars: knownBars, times: 0, days: [] }
      byLength.set(bars, period)
    }
    period.times++
    period.days.push(day)
  }
}

/** The number for no name. */
const NO_NAME = 0
/** More than the names of all bands of a query. */
const MAX_NAMES = 2 ** 16

/** Numbers names in the order of their first use, from 1 on; 0 is NO_NAME. */
class Names {
  readonly #names: (string | null)[] = [null]
  #latest: { bands: readonly string[]; codes: number[] } = { bands: [], codes: [] }

  /** The number of each band of a vocabulary. The latest are kept: the next ticker nearly always has the same. */
  codesOf(bands: readonly string[]): readonly number[] {
    if (this.#latest.bands !== bands) this.#latest = { bands, codes: bands.map(band => this.codeOf(band)) }
    return this.#latest.codes
  }

  codeOf(name: string | null): number {
    const known = this.#names.indexOf(name)
    return known === -1 ? this.#names.push(name) - 1 : known
  }

  nameOf(code: number): string | null {
    return this.#names[code] ?? null
  }
}

/** The bars so far of the current period of field 0, if a transition on the day began it; otherwise NO_NUMBER. */
function barsSoFar({ initial, since, bars }: BandPeriods['present'], day: number): number {
  return initial[0] === 0 && since[0] === day ? bars[0]! : NO_NUMBER
}

/**
 * How long periods in a band last, by Kaplan and Meier. A period whose length is not known counts only as `unknown`,
 * one that has not ended as `censored`. A figure is null where too few periods have ended; `reasons` says so.
 * @param periods all in `band`
 */
export function dwell(band: string, periods: readonly BandPeriod[]): Dwell {
  const knownPeriods = spellsOf(periods)
  const completed = knownPeriods.filter(period => period.ended)
  const periodCount = totalCount(periods)
  const knownCount = totalCount(knownPeriods)
  const completedCount = totalCount(completed)
  const steps = kaplanMeier(knownPeriods)
  const lengths = steps.map(({ length }) => length)
  const effects = designEffects(periods, lengths)
  const errors = survivalErrors(steps, effects)
  const interval = lengthInterval(steps, 0.5, effects)
  const longest = knownPeriods.reduce<Spell | null>((best, period) => (isLonger(period, best) ? period : best), null)
  const completedBars = completed.reduce((sum, { length, times = 1 }) => sum + length * times, 0)
  const figures = {
    median: lengthOfShare(steps, 0.5),
    median_low: interval.low,
    median_high: interval.high,
    p90: lengthOfShare(steps, 0.9),
    mean: completedCount === 0 ? null : completedBars / completedCount,
    longest: longest?.length ?? null,
    longest_is_active: longest === null ? null : !longest.ended,
  }
  return {
    band,
    stays: periodCount,
    completed: completedCount,
    censored: knownCount - completedCount,
    unknown: periodCount - knownCount,
    ...figures,
    survival: steps.map(({ length: bars, at_risk, ended, survival: share }, i) => {
      return { bars, at_risk, ended, share, ...errors[i]! }
    }),
    reasons: reasonsFor(figures, () => whyNull(periodCount, completedCount)),
  }
}

/** Calendar days within which periods that begin may share a cause, in one ticker or in several. */
const MONTH = 30

/** Counts by day of a calendar that begins with `first`. */
class DailyCounts {
  readonly span: Span
  readonly counts: Float64Array

  constructor(span: Span) {
    this.span = span
    this.counts = new Float64Array(span.last - span.first + 1)
  }

  add(days: readonly number[], each = 1): void {
    const { counts, span } = this
    for (let i = 0; i < days.length; i++) counts[days[i]! - span.first]! += each
  }
}

interface Span {
  first: number
  last: number
}

/** The first and the last day of some changes or periods; null without any, or if the days of one are unknown. */
function spanOf(counted: readonly { days?: readonly number[] }[]): Span | null {
  let first = Number.POSITIVE_INFINITY
  let last = Number.NEGATIVE_INFINITY
  for (const { days } of counted) {
    if (days === undefined) return null
    for (let i = 0; i < days.length; i++) {
      const day = days[i]!
      if (day < first) first = day
      if (day > last) last = day
    }
  }
  return first <= last ? { first, last } : null
}

/**
 * For each length, how many periods count as one independent case in the share of those that last longer; at least 1.
 * @param lengths in bars, ascending
 */
function designEffects(periods: readonly BandPeriod[], lengths: readonly number[]): number[] {
  const span = spanOf(periods)
  if (span === null) return lengths.map(() => 1)
  // By first day: the periods that are known to last longer than the length, and those known to last longer or not.
  const longer = new DailyCounts(span)
  const decided = new DailyCounts(span)
  let decidedCount = 0
  const ascending = periods.filter(({ bars }) => bars !== null).sort((a, b) => a.bars! - b.bars!)
  for (const { days } of ascending) {
    longer.add(days!)
    decided.add(days!)
    decidedCount += days!.length
  }
  let next = 0
  return lengths.map(length => {
    for (; next < ascending.length && ascending[next]!.bars! <= length; next++) {
      const { ended, days } = ascending[next]!
      longer.add(days!, -1)
      if (ended) continue
      // Undecided: an active period may or may not last longer.
      decided.add(days!, -1)
      decidedCount -= days!.length
    }
    const cases = effectiveCases(longer.counts, decided.counts, MONTH)
    return cases > 0 ? Math.max(1, decidedCount / cases) : 1
  })
}

/** The number of changes on each day; null without changes, or where their days are unknown. */
export function countByDay(changes: readonly Change[]): DailyCounts | null {
  const span = spanOf(changes)
  if (span === null) return null
  const daily = new DailyCounts(span)
  for (const { days } of changes) daily.add(days!)
  return daily
}

/** The share of some changes among all, with its interval. @param all the counts of `countByDay` */
export function shareAmong(changes: readonly Change[], all: DailyCounts): ShareInterval {
  const some = new DailyCounts(all.span)
  for (const { days } of changes) some.add(days!)
  return dailyShare(some.counts, all.counts, MONTH)
}

/** The periods of known length. */
export function spellsOf(periods: readonly BandPeriod[]): Spell[] {
  const spells: Spell[] = []
  for (const { bars, ended, times = 1 } of periods) if (bars !== null) spells.push({ length: bars, ended, times })
  return spells
}

/** Whether a period is longer than the longest so far. Of equal bars, an active one is longer than a completed one. */
function isLonger(spell: Spell, longest: Spell | null): boolean {
  if (longest === null || spell.length > longest.length) return true
  return spell.length === longest.length && !spell.ended
}

function whyNull(periods: number, completed: number): string {
  if (periods === 0) return 'never entered in range'
  return completed === 0 ? 'no stay has ended' : 'not reached: too few stays have ended'
}
