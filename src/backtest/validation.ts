import { InvalidParameter, invalid } from '../errors.js'
import { countBelow, countUpTo, formatDay, parseDay } from '../model/day.js'
import type { RunOptions, Strategy } from '../params/strategy.js'
import type { WalkForward } from '../params/studies.js'
import { rollingFolds } from '../statistics/folds.js'
import { naiveT } from '../statistics/robust.js'
import { curveOf } from './equity.js'
import { type Part, type Simulation, simulate } from './portfolio.js'
import type { Validation } from './result.js'
import { barsAYearOf, chained, closedOf, equityStatistics, returnsOf, tradeStatistics } from './statistics.js'
import { type Lived, lived, type Member } from './trade.js'
import { differences } from './words.js'

/** A strategy with its tickers loaded. */
export interface Ready {
  strategy: Strategy
  members: readonly Member[]
}

/** What is chosen on, and what it is checked on. */
export interface Fold {
  name: string
  train: Part
  test: Part
}

/** A strategy in one part of the data, begun anew with its capital. */
interface Half {
  simulation: Simulation
  closed: Lived[]
}

interface Tested {
  half: Half
  ready: Ready
}

/** The days that there are, and the last that a run of any of the strategies on all of them has. */
interface Days {
  calendar: Int32Array
  last: number
}

/**
 * The strategy in parts of its calendar, each begun anew with its capital and without the trades that reach out of it. Of
 * several candidates the training part of each fold chooses the one whose mean net return a trade has the highest t
 * statistic. null where no parts were asked for. Throws InvalidParameter for a date or lengths that leave a part empty.
 * @param chosen of each fold the place of the candidate that its training part chooses, where that was looked up before;
 *   null where nothing told one from another: the first is traded there, and counts in no result of all tests
 */
export function validate(
  own: Ready,
  candidates: readonly Ready[],
  { calendar, last }: Days,
  run: RunOptions,
  chosen: readonly (number | null)[] | null = null,
): Validation | null {
  const days = countUpTo(calendar, last)
  const folds = foldsOf(calendar.subarray(0, days), run)
  if (folds === null) return null
  const names = differences(candidates.map(({ strategy }) => strategy))
  const [told, tests]: [Validation['folds'], Tested[]] = [[], []]
  let purged = 0
  for (const [i, { name, train, test }] of folds.entries()) {
    const choice = chosen === null ? null : (chosen[i] ?? null)
    const known = chosen === null ? candidates : [candidates[choice ?? 0]!]
    const { ready, half: trained } = chosenOn(known.length > 0 ? known : [own], calendar, train)
    // The last part goes on until its own trades are closed.
    const tested = halfOf(ready, calendar, test.to === days ? { ...test, to: calendar.length } : test)
    const named = names[candidates.indexOf(ready)] ?? null
    for (const [role, half] of [
      ['train', trained],
      ['test', tested],
    ] as const) {
      purged += half.simulation.purged
      told.push({ name, role, chosen: named, ...statisticsOf(half, ready) })
    }
    if (chosen === null || choice !== null) tests.push({ half: tested, ready })
  }
  const kind = run.split === null ? 'walk_forward' : 'split'
  return { kind, purged, candidates: names, folds: told, test: tests.length === 0 ? null : together(tests, own) }
}

/** @param calendar up to the last day of any run */
export function foldsOf(calendar: Int32Array, run: RunOptions): Fold[] | null {
  if (run.split !== null) return [splitAt(calendar, run.split, run.embargo ?? 0)]
  if (run.walk_forward === null) return null
  refuseOverlap(run.walk_forward)
  const folds = rollingFolds(calendar.length, run.walk_forward)
  if (folds.length === 0) {
    const { train, embargo } = run.walk_forward
    const allowed = `fewer bars of training and embargo than the ${calendar.length} that there are`
    throw new InvalidParameter(`walk_forward: ${train + embargo} bars leave none to test on; it needs ${allowed}.`, {
      param: 'walk_forward',
      value: train + embargo,
      allowed,
    })
  }
  return folds.map((fold, i) => {
    const [train, test] = [fold.train[0]!, fold.test[0]!]
    return { name: `${i + 1}`, train: { from: train.from, to: test.from, signalsTo: train.to }, test }
  })
}

/** Test parts that share bars cannot be put one after the other. */
function refuseOverlap({ test, step }: WalkForward): void {
  if (step >= test) return
  const allowed = `at least the ${test} bars of a test`
  const message = `walk_forward: a step of ${step} bars lets tests overlap; it must be ${allowed}.`
  throw new InvalidParameter(message, { param: 'walk_forward', value: step, allowed })
}

/** Before the date, and from it on; signals of the last `embargo` bars before it count in neither. */
function splitAt(calendar: Int32Array, date: string, embargo: number): Fold {
  const day = parseDay(date)
  const place = day === null ? 0 : countBelow(calendar, day)
  if (place - embargo > 0 && place < calendar.length)
    return {
      name: date,
      train: { from: 0, to: place, signalsTo: place - embargo },
      test: { from: place, to: calendar.length },
    }
  const [first, last] = [calendar[embargo], calendar.at(-1)]
  const allowed =
    first === undefined || last === undefined
      ? 'a date with bars on both of its sides, and there are too few bars'
      : `a date after ${formatDay(first)}, up to ${formatDay(last)}`
  throw invalid('not_allowed', { param: 'split', value: date, allowed })
}

/** The first of equals; one without a t statistic is chosen only where none has one. */
function chosenOn(candidates: readonly Ready[], calendar: Int32Array, train: Part): { ready: Ready; half: Half } {
  const halves = candidates.map(ready => ({ ready, half: halfOf(ready, calendar, train) }))
  const score = ({ half }: { half: Half }): number =>
    naiveT(half.closed.map(({ taken }) => taken.net))?.t ?? Number.NEGATIVE_INFINITY
  return halves.reduce((best, other) => (score(other) > score(best) ? other : best))
}

function halfOf({ strategy, members }: Ready, calendar: Int32Array, part: Part): Half {
  const simulation = simulate(members, strategy, calendar, part)
  return { simulation, closed: closedOf(simulation.trades.map(trade => lived(strategy.fill, trade))) }
}

function statisticsOf({ simulation, closed }: Half, { strategy, members }: Ready) {
  const { days } = simulation
  return {
    from: formatDay(days[0]!),
    to: formatDay(days.at(-1)!),
    trades: closed.length,
    statistics: equityStatistics(curveOf(simulation, strategy, barsAYearOf(members, days))),
    trade_statistics: tradeStatistics(strategy.costs, closed),
  }
}

function together(tests: readonly Tested[], { strategy, members }: Ready): Validation['test'] {
  const { costs, risk_free: riskFree } = strategy
  const all = tests.map(({ half }) => half.simulation.days)
  const barsAYear = barsAYearOf(members, ...all)
  const parts = tests.map(({ half, ready }) => {
    const curve = curveOf(half.simulation, ready.strategy, barsAYear)
    return { curve, returns: returnsOf(curve) }
  })
  return {
    statistics: chained(parts, { barsAYear, riskFree }),
    trade_statistics: tradeStatistics(
      costs,
      tests.flatMap(({ half }) => half.closed),
    ),
  }
}
