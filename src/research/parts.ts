import { invalid, wrong } from '../core/errors.js'
import { countBelow, formatDay, parseDay } from '../core/model/day.js'
import type { WalkForward } from '../core/params/studies.js'
import { type Fold, rollingFolds } from '../core/statistics/folds.js'

/*
 * Choosing on some days and testing on others: the parts, and the choice. Sweep, grid and backtest share it.
 */

/**
 * The index of the first bar from a date on. Throws InvalidParameter where there is none, or where no more than
 * `embargo` bars come before it.
 */
export function splitIndex(calendar: Int32Array, date: string, embargo = 0): number {
  const day = parseDay(date)
  // Index 0, for text that is no date, is refused below.
  const index = day === null ? 0 : countBelow(calendar, day)
  if (index - embargo > 0 && index < calendar.length) return index
  const first = calendar[embargo]
  const last = calendar.at(-1)
  const allowed =
    first === undefined || last === undefined
      ? 'a date with bars on both of its sides, and there are too few bars'
      : `a date after ${formatDay(first)}, up to ${formatDay(last)}`
  throw invalid('not_allowed', { param: 'split', value: date, allowed })
}

/** The folds of a walk-forward, at least one. Throws InvalidParameter where the bars leave none to test on. */
export function walkForwardFolds(bars: number, walkForward: WalkForward): Fold[] {
  const folds = rollingFolds(bars, walkForward)
  if (folds.length > 0) return folds
  const needed = walkForward.train + walkForward.embargo
  const allowed = `fewer bars of training and embargo than the ${bars} that there are`
  throw wrong('walk_forward', `walk_forward: ${needed} bars leave none to test on; it needs ${allowed}.`, {
    value: needed,
    allowed,
  })
}

/** The score of a candidate on a training part, and of each draw; empty where no choice among signals is open. */
export interface Score {
  value: number | null
  values: readonly (number | null)[]
}

/** The index of the candidate that a training part chooses; null where none has a score. */
export interface Choice {
  candidate: number | null
  /** The share of the draws that choose the same; null where no choice among signals is open. */
  agreement: number | null
}

/**
 * The candidate with the greatest score, and the share of draws in which it has the greatest, too. Draw d of one
 * candidate is compared with draw d of the others; a candidate without draws takes part with its own value.
 */
export function choiceOf(scores: readonly Score[]): Choice {
  const candidate = indexOfGreatest(scores.map(({ value }) => value))
  const draws = Math.max(0, ...scores.map(({ values }) => values.length))
  if (candidate === null || draws === 0) return { candidate, agreement: null }
  let agreeing = 0
  for (let draw = 0; draw < draws; draw++) {
    const drawn = scores.map(({ value, values }) => (values.length === 0 ? value : values[draw]!))
    if (indexOfGreatest(drawn) === candidate) agreeing++
  }
  return { candidate, agreement: agreeing / draws }
}

/** The first index of the greatest value that is not null; null without any. */
export function indexOfGreatest(values: readonly (number | null)[]): number | null {
  return values.reduce<number | null>((best, value, i) => {
    return value !== null && (best === null || value > values[best]!) ? i : best
  }, null)
}
