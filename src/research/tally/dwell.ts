import { type BandPeriods, NO_NUMBER } from '../../core/model/history.js'
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
  /** By everything but the length, then by length. */
  readonly #stays = new Map<number, Map<number, Dated<BandPeriod>>>()

  get changes(): Dated<Change>[] {
    return [...this.#changes.values()]
  }

  get stays(): Dated<BandPeriod>[] {
    return [...this.#stays.values()].flatMap(alike => [...alike.values()])
  }

  /** Of one field. @param stays of only that field, without a filter on bands */
  add({ bands: [bands], present, transitions }: BandPeriods): void {
    const { days, entered, left, lasted, contexts } = transitions()
    const codes = this.#bands.codesOf(bands!)
    for (let i = 0; i < entered.length; i++) {
      const band = codes[entered[i]!]!
      const prev = codes[left[i]!]!
      const context = contexts === null ? NO_NAME : this.#contexts.codeOf(contexts[i]!)
      this.#change(band, prev, context, days[i]!)
      const ended = lasted[i] !== -1
      const next = ended && i + 1 < entered.length ? codes[entered[i + 1]!]! : NO_NAME
      this.#stay(band, next, context, ended, ended ? lasted[i]! : barsSoFar(present, days[i]!), days[i]!)
    }
  }

  #change(band: number, prev: number, context: number, day: number): void {
    const key = (context * MOST_NAMES + prev) * MOST_NAMES + band
    const known = this.#changes.get(key)
    if (known !== undefined) {
      known.times++
      known.days.push(day)
    } else {
      const name = this.#bands.named(band)
      const prev_band = this.#bands.named(prev)
      this.#changes.set(key, {
        band: name!,
        prev_band: prev_band!,
        context_band: this.#contexts.named(context),
        times: 1,
        days: [day],
      })
    }
  }

  /** @param bars NO_NUMBER where the length of an active period is unknown */
  #stay(band: number, next: number, context: number, ended: boolean, bars: number, day: number): void {
    const key = ((context * MOST_NAMES + next) * MOST_NAMES + band) * 2 + Number(ended)
    let alike = this.#stays.get(key)
    if (alike === undefined) {
      alike = new Map()
      this.#stays.set(key, alike)
    }
    const known = alike.get(bars)
    if (known !== undefined) {
      known.times++
      known.days.push(day)
    } else {
      const of = {
        band: this.#bands.named(band)!,
        next: this.#bands.named(next),
        context: this.#contexts.named(context),
      }
      alike.set(bars, { ...of, ended, bars: bars === NO_NUMBER ? null : bars, times: 1, days: [day] })
    }
  }
}

/** The number for no name. */
const NO_NAME = 0
/** More than the bands of any field. */
const MOST_NAMES = 2 ** 16

/** Numbers names in the order of their first use. */
class Names {
  readonly #names: (string | null)[] = [null]
  #last: { bands: readonly string[]; codes: number[] } = { bands: [], codes: [] }

  /** The numbers of a vocabulary; nearly always the same as for the previous ticker. */
  codesOf(bands: readonly string[]): readonly number[] {
    if (this.#last.bands !== bands) this.#last = { bands, codes: bands.map(band => this.codeOf(band)) }
    return this.#last.codes
  }

  codeOf(name: string | null): number {
    const known = this.#names.indexOf(name)
    return known === -1 ? this.#names.push(name) - 1 : known
  }

  named(code: number): string | null {
    return this.#names[code] ?? null
  }
}

function barsSoFar({ initial, since, bars }: BandPeriods['present'], day: number): number {
  return initial[0] === 0 && since[0] === day ? bars[0]! : NO_NUMBER
}

/**
 * How long periods in a band last, by Kaplan and Meier. A period whose length is not known counts only as `unknown`, one
 * that has not ended as `censored`. A figure is null where too few periods have ended; `reasons` says so.
 * @param stays the periods, all of one band
 */
export function dwell(band: string, stays: readonly BandPeriod[]): Dwell {
  const knownStays = spellsOf(stays)
  const completed = knownStays.filter(stay => stay.ended)
  const all = totalCount(stays)
  const known = totalCount(knownStays)
  const ended = totalCount(completed)
  const steps = kaplanMeier(knownStays)
  const effects = designEffects(
    stays,
    steps.map(({ length }) => length),
  )
  const errors = survivalErrors(steps, effects)
  const interval = lengthInterval(steps, 0.5, effects)
  const longest = knownStays.reduce<Spell | null>((best, stay) => (isLonger(stay, best) ? stay : best), null)
  const total = completed.reduce((sum, { length, times = 1 }) => sum + length * times, 0)
  const figures = {
    median: lengthOfShare(steps, 0.5),
    median_low: interval.low,
    median_high: interval.high,
    p90: lengthOfShare(steps, 0.9),
    mean: ended === 0 ? null : total / ended,
    longest: longest?.length ?? null,
    longest_is_active: longest === null ? null : !longest.ended,
  }
  return {
    band,
    stays: all,
    completed: ended,
    censored: known - ended,
    unknown: all - known,
    ...figures,
    survival: steps.map(({ length, at_risk, ended, survival }, i) => ({
      bars: length,
      at_risk,
      ended,
      share: survival,
      ...errors[i]!,
    })),
    reasons: reasonsFor(figures, () => whyNone(all, ended)),
  }
}

/** Calendar days within which periods that begin may share a cause, in one ticker or in several. */
const MONTH = 30

/** Counts by day of a calendar that begins with `first`. */
class Daily {
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

/** First and last day; null where one has no days. */
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

/** Periods per independent one, by length; only those count that may last longer. Never below 1. */
function designEffects(stays: readonly BandPeriod[], lengths: readonly number[]): number[] {
  const span = spanOf(stays)
  if (span === null) return lengths.map(() => 1)
  const longer = new Daily(span)
  const all = new Daily(span)
  const ascending = stays.filter(({ bars }) => bars !== null).sort((a, b) => a.bars! - b.bars!)
  let n = 0
  for (const { days } of ascending) {
    longer.add(days!)
    all.add(days!)
    n += days!.length
  }
  let shorter = 0
  return lengths.map(length => {
    for (; shorter < ascending.length && ascending[shorter]!.bars! <= length; shorter++) {
      const { ended, days } = ascending[shorter]!
      longer.add(days!, -1)
      if (ended) continue
      // An active period may or may not last longer.
      all.add(days!, -1)
      n -= days!.length
    }
    const cases = effectiveCases(longer.counts, all.counts, MONTH)
    return cases > 0 ? Math.max(1, n / cases) : 1
  })
}

/** The number of changes on each day; null without changes, or where their days are unknown. */
export function countByDay(changes: readonly Change[]): Daily | null {
  const span = spanOf(changes)
  if (span === null) return null
  const daily = new Daily(span)
  for (const { days } of changes) daily.add(days!)
  return daily
}

/** The share of some changes among all, with its interval. @param all as `countByDay` counts them */
export function shareAmong(changes: readonly Change[], all: Daily): ShareInterval {
  const held = new Daily(all.span)
  for (const { days } of changes) held.add(days!)
  return dailyShare(held.counts, all.counts, MONTH)
}

/** The periods of known length. */
export function spellsOf(stays: readonly BandPeriod[]): Spell[] {
  const spells: Spell[] = []
  for (const { bars, ended, times = 1 } of stays) if (bars !== null) spells.push({ length: bars, ended, times })
  return spells
}

/** Of two equally long periods the active one, because it will last longer. */
function isLonger(spell: Spell, best: Spell | null): boolean {
  return best === null || spell.length > best.length || (spell.length === best.length && !spell.ended)
}

function whyNone(stays: number, completed: number): string {
  if (stays === 0) return 'never entered in range'
  return completed === 0 ? 'no stay has ended' : 'not reached: too few stays have ended'
}
