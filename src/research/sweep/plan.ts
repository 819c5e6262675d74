import { InvalidParameter } from '../../errors.js'
import { formatDay, parseDay } from '../../model/day.js'
import { type BarRange, cpcv, kFolds, purge, walkForwardFolds } from '../../statistics/folds.js'
import type { Timeline } from './ground.js'
import type { SweepQuery } from './query.js'
import type { SweepValidation } from './result.js'

/** How the days are cut: what is chosen on, what is checked on, and in which parts the checks are told apart. */
export interface Plan {
  kind: SweepValidation['kind']
  embargo: number
  folds: { name: string; train: BarRange[]; parts: BarRange[] }[]
  /** Combinatorial: by path and group, the fold whose check of the group belongs to the path; and each fold's groups. */
  paths: { folds: number[][]; groups: number[][] } | null
}

/** null where no validation is asked for, or no bar counts. Throws InvalidParameter for parts that the days do not have. */
export function planOf(query: SweepQuery, timeline: Timeline): Plan | null {
  const { split, walkForward, cv, cpcv } = query
  if (timeline.end === 0) return null
  if (split !== null) return splitPlan(split, timeline)
  if (walkForward !== null) return walkForwardPlan(walkForward, timeline)
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
  const folds = [{ name: 'split', train: [{ from: 0, to: at }], parts: [{ from: at, to: end }] }]
  return { kind: 'split', embargo: 0, folds, paths: null }
}

function walkForwardPlan(asked: NonNullable<SweepQuery['walkForward']>, { end }: Timeline): Plan {
  const folds = walkForwardFolds(end, asked).map(({ train, test }, i) => {
    return { name: `part ${i + 1}`, train, parts: test }
  })
  if (folds.length === 0)
    throw tooFew('walk_forward', end, `more than the ${asked.train + asked.embargo} bars of train and embargo`)
  return { kind: 'walk_forward', embargo: asked.embargo, folds, paths: null }
}

function cvPlan({ k, embargo }: NonNullable<SweepQuery['cv']>, { end }: Timeline): Plan {
  if (k > end) throw tooFew('cv', end, `at least one bar for each of ${k} folds`)
  const folds = kFolds(end, k, embargo).map(({ train, test }, i) => {
    return { name: `fold ${i + 1} of ${k}`, train, parts: test }
  })
  return { kind: 'cv', embargo, folds, paths: null }
}

function cpcvPlan({ n, k }: NonNullable<SweepQuery['cpcv']>, { end }: Timeline): Plan {
  if (n > end) throw tooFew('cpcv', end, `at least one bar for each of ${n} groups`)
  const { groups, splits, paths } = cpcv(end, n, k)
  const folds = splits.map(split => ({
    name: `groups ${split.groups.map(group => group + 1).join(', ')}`,
    train: split.train,
    parts: split.groups.map(group => groups[group]!),
  }))
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
  for (const place of purge(windows, fold.parts, embargo)) mask[place] = 1
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
