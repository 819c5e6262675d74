/** Consecutive bars from `from` up to, but not including, `to`. */
export interface BarRange {
  from: number
  to: number
}

/** A choice on `train` is checked on `test`. Ranges ascend and do not touch. */
export interface Fold {
  train: BarRange[]
  test: BarRange[]
}

/** The bars behind an event's label, both ends included: t and t + h. */
interface LabelWindow {
  start: number
  end: number
}

interface CpcvFold extends Fold {
  /** The tested groups, ascending. */
  groups: number[]
}

/** Combinatorial purged cross-validation: every way to test `k` of `n` groups. */
interface Cpcv {
  groups: BarRange[]
  splits: CpcvFold[]
  /** By path and group: the split whose test of the group belongs to the path. Each path tests every group once. */
  paths: number[][]
}

type Rolling = { train: number; test: number; step: number; anchored: boolean; embargo: number }

/**
 * Rolling folds: a training part, `embargo` bars left out, a test part; each fold `step` bars later. With `anchored`,
 * training always starts at the first bar.
 * Test parts continue to the last bar, so the last may be shorter. There are none where the bars end within the first
 * training part.
 */
export function rollingFolds(bars: number, { train, test, step, anchored, embargo }: Rolling): Fold[] {
  const folds: Fold[] = []
  for (let start = 0; start + train + embargo < bars; start += step) {
    const trainEnd = start + train
    const testStart = trainEnd + embargo
    const testEnd = Math.min(bars, testStart + test)
    folds.push({ train: [{ from: anchored ? 0 : start, to: trainEnd }], test: [{ from: testStart, to: testEnd }] })
    if (testEnd === bars) break
  }
  return folds
}

/**
 * `k` test parts of equal length (they differ by at most one bar) that together cover all bars. Each trains on the rest
 * without the `embargo` bars after it (López de Prado, "Advances in financial machine learning", 2018, ch. 7). `purge`
 * removes events whose windows reach into the test part.
 */
export function kFolds(bars: number, k: number, embargo: number): Fold[] {
  return equalGroups(bars, k).map(test => ({ train: trainingRanges(bars, [test], embargo), test: [test] }))
}

/**
 * All C(n, k) ways to test `k` of `n` groups of bars, and the C(n, k) · k / n paths that their tests form (López de
 * Prado 2018, ch. 12). The i-th test of each group belongs to path i.
 * @param k fewer than the `n` groups; there are at most as many groups as bars
 */
export function cpcv(bars: number, n: number, k: number): Cpcv {
  const groups = equalGroups(bars, n)
  const splits = combinations(n, k).map((testGroups): CpcvFold => {
    const test = testGroups.map(group => groups[group]!)
    return { groups: testGroups, train: trainingRanges(bars, test, 0), test }
  })
  // Each group is tested by equally many splits; the i-th of each group make up path i.
  const splitIndices = [...splits.keys()]
  const splitsByGroup = groups.map((_, group) => splitIndices.filter(i => splits[i]!.groups.includes(group)))
  const paths = splitsByGroup[0]!.map((_, path) => splitsByGroup.map(splitsOfGroup => splitsOfGroup[path]!))
  return { groups, splits, paths }
}

/**
 * Indices of the events that may be trained on, ascending: those whose window meets no test part. A test part extends
 * to the end of the last window that begins in it, plus `embargo` bars (López de Prado 2018, ch. 7). Training must not
 * know the outcomes of tested events.
 */
export function indicesToTrainOn(
  events: readonly LabelWindow[],
  testRanges: readonly BarRange[],
  embargo: number,
): number[] {
  const extended = testRanges.map(({ from, to }) => {
    const tested = events.filter(({ start }) => start >= from && start < to)
    const lastEnd = tested.reduce((latest, { end }) => Math.max(latest, end), to - 1)
    return { from, last: lastEnd + embargo }
  })
  return [...events.keys()].filter(i => {
    const { start, end } = events[i]!
    return extended.every(({ from, last }) => start > last || end < from)
  })
}

/** n consecutive groups that cover all bars. */
function equalGroups(bars: number, n: number): BarRange[] {
  const edge = (i: number): number => Math.floor((i * bars) / n)
  return Array.from({ length: n }, (_, i) => ({ from: edge(i), to: edge(i + 1) }))
}

/** The bars that are neither tested nor in the `embargo` after a tested part. */
function trainingRanges(bars: number, test: readonly BarRange[], embargo: number): BarRange[] {
  const rest: BarRange[] = []
  let from = 0
  for (const part of test) {
    if (part.from > from) rest.push({ from, to: part.from })
    from = Math.max(from, part.to + embargo)
  }
  if (from < bars) rest.push({ from, to: bars })
  return rest
}

/** All ways to choose k of the numbers from `from` up to n - 1, each ascending, in lexicographic order. */
function combinations(n: number, k: number, from = 0): number[][] {
  if (k === 0) return [[]]
  const chosen: number[][] = []
  for (let first = from; first <= n - k; first++)
    for (const rest of combinations(n, k - 1, first + 1)) chosen.push([first, ...rest])
  return chosen
}
