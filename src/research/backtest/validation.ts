import { countBelow } from '../../ascending.js'
import { InvalidParameter, quoted } from '../../errors.js'
import { formatDay, parseDay } from '../../model/day.js'
import { walkForwardFolds } from '../../statistics/folds.js'
import { naiveT } from '../../statistics/robust.js'
import type { Part } from './candidates.js'
import { curveOf } from './curve.js'
import { chained, equityStatistics, returnsOf } from './equity-statistics.js'
import type { Member } from './member.js'
import { type Simulation, simulate } from './portfolio.js'
import type { Validation } from './result.js'
import type { RunOptions, Strategy, WalkForward } from './strategy.js'
import { type Closed, closedOf, tradeStatistics } from './trade-statistics.js'
import { differences } from './words.js'
import { barsAYearOf } from './years.js'

/** A strategy with its tickers loaded. */
export interface Ready {
  strategy: Strategy
  members: readonly Member[]
}

/** What is chosen on, and what it is checked on. */
interface Fold {
  name: string
  train: Part
  test: Part
}

/** A strategy in one part of the data, begun anew with its capital. */
interface Half {
  simulation: Simulation
  closed: Closed[]
}

interface Tested {
  half: Half
  ready: Ready
}

/**
 * The strategy in parts of its calendar, each begun anew with its capital and without the trades that reach out of it. Of
 * several candidates the training part of each fold chooses the one whose mean net return a trade has the highest t
 * statistic. null where no parts were asked for. Throws InvalidParameter for a date or lengths that leave a part empty.
 */
export function validate(
  own: Ready,
  candidates: readonly Ready[],
  calendar: Int32Array,
  run: RunOptions,
): Validation | null {
  const folds = foldsOf(calendar, run)
  if (folds === null) return null
  const names = differences(candidates.map(({ strategy }) => strategy))
  const [told, tests]: [Validation['folds'], Tested[]] = [[], []]
  let purged = 0
  for (const { name, train, test } of folds) {
    const { ready, half: trained } = chosenOn(candidates.length > 0 ? candidates : [own], calendar, train)
    const tested = halfOf(ready, calendar, test)
    const chosen = names[candidates.indexOf(ready)] ?? null
    for (const [role, half] of [
      ['train', trained],
      ['test', tested],
    ] as const) {
      purged += half.simulation.purged
      told.push({ name, role, chosen, ...statisticsOf(half, ready) })
    }
    tests.push({ half: tested, ready })
  }
  const kind = run.split === null ? 'walk_forward' : 'split'
  return { kind, purged, candidates: names, folds: told, test: together(tests, own) }
}

function foldsOf(calendar: Int32Array, run: RunOptions): Fold[] | null {
  if (run.split !== null) return [splitAt(calendar, run.split, run.embargo ?? 0)]
  if (run.walkForward === null) return null
  refuseOverlap(run.walkForward)
  const folds = walkForwardFolds(calendar.length, run.walkForward)
  if (folds.length === 0) {
    const { train, embargo } = run.walkForward
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
  throw new InvalidParameter(`split ${quoted(date)} is not ${allowed}.`, { param: 'split', value: date, allowed })
}

/** The first of equals; one without a t statistic is chosen only where none has one. */
function chosenOn(candidates: readonly Ready[], calendar: Int32Array, train: Part): { ready: Ready; half: Half } {
  const halves = candidates.map(ready => ({ ready, half: halfOf(ready, calendar, train) }))
  const score = ({ half }: { half: Half }): number =>
    naiveT(half.closed.map(({ net }) => net))?.t ?? Number.NEGATIVE_INFINITY
  return halves.reduce((best, other) => (score(other) > score(best) ? other : best))
}

function halfOf({ strategy, members }: Ready, calendar: Int32Array, part: Part): Half {
  const simulation = simulate(members, strategy, calendar, part)
  return { simulation, closed: closedOf(strategy, simulation.trades) }
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
  const { costs, riskFree } = strategy
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
