import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  firstBarNeededForLabels,
  firstChangedBars,
  type RecordedEnd,
  record,
  recordTail,
} from '../../src/core/engine/record.js'
import { TECHNICAL_FIELDS } from '../../src/core/fields/index.js'
import {
  bandsByBar,
  type FieldRecord,
  type FieldTail,
  firstBars,
  type Series,
  UNDEFINED,
} from '../../src/core/model/series.js'
import { TIMEFRAME_NAMES, TIMEFRAMES } from '../../src/core/model/terms.js'
import { Random } from '../../src/core/statistics/random.js'
import { seriesOf } from '../support/convert.js'
import { randomFacts } from '../support/random-facts.js'
import { forRandomBars } from './drawn.js'

/** What is at hand of a field where its events before a bar are not, and its runs without a band are cut there. */
function endOf(whole: FieldRecord, from: number): FieldTail {
  const earlier = whole.bars.filter(bar => bar < from).length
  const runs = Array.from({ length: whole.gaps.length / 2 }, (_, g) => [whole.gaps[2 * g]!, whole.gaps[2 * g + 1]!])
  const cut = runs.flatMap(([begin, end]) => (end! > from ? [Math.max(begin!, from), end!] : []))
  return {
    ...whole,
    bars: whole.bars.slice(earlier),
    bands: whole.bands.slice(earlier),
    gaps: Int32Array.from(cut),
    flips: whole.flips.slice(earlier),
    stability: whole.stability.slice(earlier),
    earlier,
  }
}

const endsOf = (fields: ReadonlyMap<string, FieldRecord>, from: number): RecordedEnd =>
  new Map([...fields].map(([name, whole]) => [name, endOf(whole, from)]))

const factsOf = ({ days }: Series, seed: number) =>
  randomFacts(new Random(seed), days[0]!, days.at(-1)!, { price: 50, basis: 'bars', round: false, losses: 0.1 })

/** The same bars up to one; those after it, and how many there are, are of other days' making. */
function otherwise(series: Series, first: number, more: number): Series {
  const other = firstBars(series, Math.min(series.days.length, first + more))
  const close = other.close.map((price, t) => (t < first ? price : price * (t % 3 === 0 ? 1.1 : 0.95)))
  const volume = other.volume.map((units, t) => (t < first || t % 4 > 0 ? units : Number.NaN))
  return { ...other, close, volume }
}

it('goes on from what is recorded as the whole does, wherever it begins, and whatever was recorded from there on', () => {
  let tails = 0
  forRandomBars({ runs: 60, longest: 1_000 }, (bars, { seed }) => {
    const series = seriesOf(bars)
    const random = fc.sample(fc.nat(Math.min(bars.length - 1, seed % 2 === 0 ? 20 : 999)), { numRuns: 3, seed })
    const first = bars.length - 1 - random[0]!
    const assetClass = seed % 3 === 0 ? ('crypto' as const) : null
    const facts = seed % 4 === 0 ? factsOf(series, seed) : null
    const before = record(otherwise(series, first, random[1]!), assetClass, facts)
    const since = firstChangedBars(series.days, first)
    const reach = {
      daily: firstBarNeededForLabels('daily', since.daily),
      weekly: firstBarNeededForLabels('weekly', since.weekly),
    }
    const from = { daily: Math.max(0, reach.daily - random[2]!), weekly: Math.max(0, reach.weekly - (random[2]! % 7)) }
    const recorded = {
      daily: endsOf(before.daily.fields, from.daily),
      weekly: endsOf(before.weekly.fields, from.weekly),
    }
    const tail = recordTail(series, assetClass, facts, { since, recorded })
    if (tail === null) {
      const isUnknown = TIMEFRAME_NAMES.some(timeframe =>
        TECHNICAL_FIELDS.some(({ name }) => hasOlderBand(recorded[timeframe].get(name), since[timeframe])),
      )
      expect(isUnknown).toBe(true)
      return
    }
    tails++
    const whole = record(series, assetClass, facts)
    for (const timeframe of TIMEFRAME_NAMES) {
      const { windows } = TIMEFRAMES[timeframe]
      const ranks = whole[timeframe].outcomes.ranks.map((column, i) =>
        column.map((rank, t) => (t + windows[i]! < since[timeframe] ? -1 : rank)),
      )
      expect(tail[timeframe].outcomes.ranks).toEqual(ranks)
      expect([...tail[timeframe].fields.keys()].sort()).toEqual([...whole[timeframe].fields.keys()].sort())
      for (const [name, field] of tail[timeframe].fields) {
        const own = whole[timeframe].fields.get(name)!
        const isNew = own.initialBar >= since[timeframe]
        const due = 'earlier' in field ? endOf(own, isNew ? 0 : from[timeframe]) : own
        expect(field, `${timeframe} ${name} from ${first}`).toEqual(due)
      }
    }
  })
  expect(tails).toBeGreaterThan(0)
})

/** Whether the band in force before a bar is that of an event which is not at hand. */
function hasOlderBand(recorded: FieldTail | undefined, since: number): boolean {
  if (recorded === undefined || recorded.initialBar >= since || recorded.earlier === 0) return false
  return recorded.bars.every(bar => bar >= since) && bandsByBar(recorded, since)[since - 1] === UNDEFINED
}

it('takes for the first changed week the one that has the first changed day', () => {
  forRandomBars({ runs: 10, longest: 300 }, (bars, { seed }) => {
    const series = seriesOf(bars)
    const first = seed % bars.length
    const { weekly } = record(series)
    const since = firstChangedBars(series.days, first)
    const before = weekly.series.days[since.weekly - 1] ?? Number.NEGATIVE_INFINITY
    expect(before).toBeLessThan(series.days[first]!)
    expect(weekly.series.days[since.weekly]).toBeGreaterThanOrEqual(series.days[first]!)
  })
})
