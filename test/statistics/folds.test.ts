import { describe, expect, it } from 'vitest'
import { type BarRange, cpcv, indicesToTrainOn, kFolds, rollingFolds } from '../../src/core/statistics/folds.js'
import { Random } from '../../src/core/statistics/random.js'
import { notInQuick } from '../support/full.js'

describe('walk-forward folds', () => {
  it('roll or stay anchored, and end with the last bar', () => {
    const rolling = { train: 10, test: 4, step: 4, anchored: false, embargo: 0 }
    expect(rollingFolds(21, rolling)).toEqual([
      { train: [{ from: 0, to: 10 }], test: [{ from: 10, to: 14 }] },
      { train: [{ from: 4, to: 14 }], test: [{ from: 14, to: 18 }] },
      { train: [{ from: 8, to: 18 }], test: [{ from: 18, to: 21 }] },
    ])
    const anchored = rollingFolds(21, { ...rolling, anchored: true, embargo: 2 })
    expect(anchored).toEqual([
      { train: [{ from: 0, to: 10 }], test: [{ from: 12, to: 16 }] },
      { train: [{ from: 0, to: 14 }], test: [{ from: 16, to: 20 }] },
      { train: [{ from: 0, to: 18 }], test: [{ from: 20, to: 21 }] },
    ])
    expect(rollingFolds(10, rolling)).toEqual([])
  })

  it('test every bar after the first training part once when they step by the test length', () => {
    const random = new Random(1)
    for (let run = 0; run < 200; run++) {
      const train = 1 + random.below(40)
      const test = 1 + random.below(20)
      const bars = 1 + random.below(300)
      const folds = rollingFolds(bars, { train, test, step: test, anchored: run % 2 === 0, embargo: 0 })
      expect(folds.flatMap(fold => barsOf(fold.test))).toEqual(rangeOf(Math.min(train, bars), bars))
      for (const fold of folds) expect(fold.train[0]!.to).toBe(fold.test[0]!.from)
    }
  })
})

describe('k folds', () => {
  it('partition the bars, each trained on all others without the embargo after it', () => {
    for (const [bars, k, embargo] of [
      [100, 5, 0],
      [101, 7, 3],
      [12, 4, 5],
      [9, 9, 1],
    ] as const) {
      const folds = kFolds(bars, k, embargo)
      expect(folds).toHaveLength(k)
      expect(folds.flatMap(fold => barsOf(fold.test))).toEqual(rangeOf(0, bars))
      for (const { train, test } of folds) {
        const closed = rangeOf(test[0]!.from, test[0]!.to + embargo)
        expect(barsOf(train)).toEqual(rangeOf(0, bars).filter(bar => !closed.includes(bar)))
      }
    }
  })
})

describe('combinatorial purged cross-validation', () => {
  it('has 15 splits and 5 paths of six groups, each tested five times', () => {
    const { groups, splits, paths } = cpcv(120, 6, 2)
    expect(splits).toHaveLength(15)
    expect(paths).toHaveLength(5)
    for (const group of groups.keys()) expect(splits.filter(split => split.groups.includes(group))).toHaveLength(5)
  })

  it('tests every group once on every path, and uses every test of every split once', () => {
    for (const [n, k] of [
      [4, 1],
      [5, 3],
      [6, 2],
      [8, 4],
    ] as const) {
      const { groups, splits, paths } = cpcv(200, n, k)
      expect(paths).toHaveLength((splits.length * k) / n)
      expect(new Set(splits.map(split => split.groups.join())).size).toBe(splits.length)
      const used = paths.flatMap(path => path.map((split, group) => `${split}/${group}`))
      expect(new Set(used).size).toBe(splits.length * k)
      for (const path of paths)
        for (const [group, split] of path.entries()) expect(splits[split]!.groups).toContain(group)
      for (const split of splits) {
        expect(barsOf(split.test)).toEqual(split.groups.flatMap(group => barsOf([groups[group]!])))
        const tested = new Set(split.test.flatMap(({ from, to }) => rangeOf(from, to)))
        expect(barsOf(split.train)).toEqual(rangeOf(0, 200).filter(bar => !tested.has(bar)))
      }
    }
  })

  it('is k-fold with one tested group', () => {
    expect(cpcv(50, 5, 1).splits.map(({ train, test }) => ({ train, test }))).toEqual(kFolds(50, 5, 0))
  })
})

describe('purging', () => {
  it('drops what a tested window, or the embargo after it, meets', () => {
    const events = [
      { start: 0, end: 9 },
      { start: 1, end: 10 },
      { start: 12, end: 21 },
      { start: 24, end: 25 },
      { start: 25, end: 30 },
    ]
    expect(indicesToTrainOn(events, [{ from: 10, to: 15 }], 0)).toEqual([0, 3, 4])
    expect(indicesToTrainOn(events, [{ from: 10, to: 15 }], 3)).toEqual([0, 4])
    expect(indicesToTrainOn(events, [{ from: 10, to: 15 }], 4)).toEqual([0])
  })

  notInQuick('leaves no training window that meets a tested one with its embargo', () => {
    const random = new Random(2)
    for (let run = 0; run < 100; run++) {
      const h = random.below(20)
      const embargo = random.below(10)
      const events = rangeOf(0, 300).flatMap(start => (random.uniform() < 0.2 ? [{ start, end: start + h }] : []))
      const { splits } = cpcv(300, 6, 1 + random.below(3))
      const { test } = splits[random.below(splits.length)]!
      const isTested = (bar: number): boolean => test.some(({ from, to }) => bar >= from && bar < to)
      const kept = indicesToTrainOn(events, test, embargo).map(i => events[i]!)
      for (const { start, end } of kept) {
        expect(isTested(start)).toBe(false)
        for (const tested of events.filter(event => isTested(event.start))) {
          expect(end < tested.start || start > tested.end + embargo).toBe(true)
        }
      }
    }
  })

  it('of windows of one bar without embargo is the plain fold', () => {
    const events = rangeOf(0, 60).map(bar => ({ start: bar, end: bar }))
    for (const { train, test } of kFolds(60, 7, 0)) expect(indicesToTrainOn(events, test, 0)).toEqual(barsOf(train))
  })
})

function rangeOf(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i)
}

function barsOf(ranges: readonly BarRange[]): number[] {
  return ranges.flatMap(({ from, to }) => rangeOf(from, to))
}
