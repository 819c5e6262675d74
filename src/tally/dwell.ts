import { type Day, formatDay } from '../model/day.js'
import type { History } from '../model/history.js'
import { kaplanMeier, lengthInterval, lengthReached, type Spell, survivalErrors } from '../statistics/survival.js'

/** How long stays in one band last, in bars of the timeframe. stays = completed + censored + unknown. */
export interface Dwell {
  band: string
  stays: number
  completed: number
  /** Active ones: they last longer than the bars they have lasted so far. */
  censored: number
  /** Active ones of which nobody says how long they have lasted; not counted below. */
  unknown: number
  /** Kaplan-Meier, of completed and censored stays: the length by which half, and nine tenths, have ended. */
  median: number | null
  /** 95 % interval of the median: where the log-log interval of the survival gets to a half. */
  median_low: number | null
  median_high: number | null
  p90: number | null
  /** Of completed stays. */
  mean: number | null
  /** Of completed and censored stays, and whether it is an active one. */
  longest: number | null
  longest_is_active: boolean | null
  /** Length by length, where any ended. */
  survival: SurvivalPoint[]
  /** Why a figure above is null, by its name. */
  reasons: Record<string, string>
}

/** The share of stays that last longer than so many bars. */
interface SurvivalPoint {
  bars: number
  /** Stays that had lasted so long, and how many of them ended then. */
  at_risk: number
  ended: number
  share: number
  /** Greenwood's standard error and the log-log 95 % interval; null where the last stay at risk ended. */
  se: number | null
  low: number | null
  high: number | null
}

/** A stay that began with an event. */
export interface Stay {
  band: string
  ended: boolean
  /** Bars from entry to the next event, or so far; null where not known. */
  bars: number | null
  /** The band after it; null while it is active, or where the next event lies beyond the dates asked for. */
  next: string | null
  /** The band that the context was in when it began; null without one. */
  context: string | null
}

/** One band followed another. */
export interface Change {
  band: string
  prev_band: string
  /** The band that the context was in; null or absent without one. */
  context_band?: string | null
}

/** Adds the changes of a history to those of others: to make a list of each ticker costs as much as what is in it. */
export function addChanges(into: Change[], { bands, entered, left, contexts }: History): void {
  for (let i = 0; i < entered.length; i++) {
    into.push({ band: bands[entered[i]!]!, prev_band: bands[left[i]!]!, context_band: contexts?.[i] ?? null })
  }
}

/**
 * Adds the stays of a history without filter on bands. The band in force before the first event is no stay: when it began
 * is not known.
 */
export function addStays(into: Stay[], { bands, days, entered, lasted, contexts, present }: History): void {
  for (let i = 0; i < entered.length; i++) {
    const band = bands[entered[i]!]!
    const context = contexts?.[i] ?? null
    const ended = lasted[i] !== -1
    const next = ended && i + 1 < entered.length ? bands[entered[i + 1]!]! : null
    into.push({ band, ended, bars: ended ? lasted[i]! : barsSoFar(present, days[i]!), next, context })
  }
}

/** null where nobody says how long a stay of that day has lasted. */
function barsSoFar(present: History['present'], day: Day): number | null {
  return present !== null && !present.initial && present.since === formatDay(day) ? present.bars : null
}

/** @param stays all of one band */
export function dwell(band: string, stays: readonly Stay[]): Dwell {
  const spells = spellsOf(stays)
  const completed = spells.filter(spell => spell.ended)
  const steps = kaplanMeier(spells)
  const errors = survivalErrors(steps)
  const interval = lengthInterval(steps, 0.5)
  const longest = spells.reduce<Spell | null>(
    (best, spell) => (best === null || longer(spell, best) ? spell : best),
    null,
  )
  const total = completed.reduce((sum, spell) => sum + spell.length, 0)
  const figures = {
    median: lengthReached(steps, 0.5),
    median_low: interval.low,
    median_high: interval.high,
    p90: lengthReached(steps, 0.9),
    mean: completed.length === 0 ? null : total / completed.length,
    longest: longest?.length ?? null,
    longest_is_active: longest === null ? null : !longest.ended,
  }
  return {
    band,
    stays: stays.length,
    completed: completed.length,
    censored: spells.length - completed.length,
    unknown: stays.length - spells.length,
    ...figures,
    survival: steps.map(({ length, at_risk, ended, survival }, i) => ({
      ...{ bars: length, at_risk, ended, share: survival },
      ...errors[i]!,
    })),
    reasons: reasonsOf(figures, stays.length, completed.length),
  }
}

/** The stays of which it is known how long they have lasted. */
export function spellsOf(stays: readonly Stay[]): Spell[] {
  const spells: Spell[] = []
  for (const { bars, ended } of stays) if (bars !== null) spells.push({ length: bars, ended })
  return spells
}

/** Of two equally long ones the active one, because it will last longer. */
function longer(spell: Spell, best: Spell): boolean {
  return spell.length > best.length || (spell.length === best.length && !spell.ended)
}

function reasonsOf(figures: object, stays: number, completed: number): Record<string, string> {
  const reason =
    stays === 0
      ? 'never entered in range'
      : completed === 0
        ? 'no stay has ended'
        : 'not reached: too few stays have ended'
  const missing = Object.entries(figures).filter(([, value]) => value === null)
  return Object.fromEntries(missing.map(([name]) => [name, reason]))
}
