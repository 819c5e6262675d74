import { describe, expect, it } from 'vitest'
import {
  type AbnormalEvent,
  abnormalEvent,
  averageCorrelation,
  bmp,
  corradoRank,
  cowanSign,
  crossSection,
  type DatedEvent,
  type EventTest,
  kolariPynnonen,
  marketModel,
  meanAbnormalReturn,
  meanAdjusted,
  patell,
  sharedRanks,
} from '../../src/core/statistics/event-tests.js'
import { Random } from '../../src/core/statistics/random.js'
import { madeEvents } from './support/made-events.js'
import { golden } from './support/numpy.js'

const TESTS: Record<string, (events: readonly DatedEvent[]) => EventTest> = {
  aggregate: meanAbnormalReturn,
  'cross section': crossSection,
  patell,
  bmp,
  'kolari pynnonen': events => kolariPynnonen(events, averageCorrelation(events)),
  corrado: corradoRank,
  cowan: cowanSign,
}

describe('event tests', () => {
  for (const model of ['market', 'mean'] as const) {
    it(`are those of an independent implementation, ${model} model`, () => {
      const known = golden('event-tests.txt')
      const events = eventsOf(model)
      for (const [i, { car, carVariance }] of events.entries()) {
        expect(car).toBeCloseTo(known[`${model} car`]![i]!, 12)
        expect(carVariance).toBeCloseTo(known[`${model} car variance`]![i]!, 12)
      }
      expect(averageCorrelation(events)).toBeCloseTo(known[`${model} correlation`]![0]!, 10)
      for (const [name, test] of Object.entries(TESTS)) {
        const [statistic, p] = known[`${model} ${name}`]!
        const found = test(events)
        expect(found.statistic, name).toBeCloseTo(statistic!, 10)
        expect(found.p, name).toBeCloseTo(p!, 10)
      }
    })
  }

  it('have the quotients of MacKinlay 1997, day 0 of good, no and bad news', () => {
    for (const [car, se, z] of [
      [0.965, 0.104, 9.28],
      [-0.091, 0.098, -0.93],
      [-0.679, 0.098, -6.93],
    ] as const) {
      const found = meanAbnormalReturn([madeEvent([car], se ** 2)])
      expect(found).toMatchObject({ car, df: null })
      expect(found.se).toBeCloseTo(se, 12)
      expect(found.statistic).toBeCloseTo(z, 2)
    }
  })

  it('are null with the reason without events, or with one that has no spread', () => {
    for (const test of Object.values(TESTS)) {
      expect(test([])).toMatchObject({ statistic: null, p: null, reason: expect.stringContaining('no event') })
    }
    const one = eventsOf('market').slice(0, 1)
    expect(crossSection(one).reason).toBe('one event has no spread')
    expect(kolariPynnonen(one, 0).reason).toBe('one event has no spread')
    expect(patell(one).statistic).not.toBeNull()
    expect(kolariPynnonen(eventsOf('market'), -0.5).reason).toContain('leaves no variance')
    const short = { ...one[0]!, estimation: new Float64Array(3) }
    expect(corradoRank([...one, short]).reason).toBe('the windows of the events differ in length')
  })

  it('rank equal returns alike', () => {
    expect([...sharedRanks(Float64Array.of(3, 1, 3, 2, 3))]).toEqual([4, 1, 4, 2, 4])
  })
})

describe('the average correlation', () => {
  it('is that of Kolari and Pynnönen 2010 for one event date, and 0 for events that share no day', () => {
    const events = sample(1, 6, 0.8)
    let sum = 0
    for (const [i, a] of events.entries())
      for (const b of events.slice(i + 1)) sum += pearson(a.estimation, b.estimation)
    expect(averageCorrelation(events)).toBeCloseTo(sum / 15, 12)
    const apart = events.map((event, i) => ({ ...event, eventDays: event.eventDays.map(day => day + 10 * i) }))
    expect(averageCorrelation(apart)).toBe(0)
    expect(averageCorrelation(events.slice(0, 1))).toBe(0)
  })
})

describe('return models', () => {
  it('are null where nothing can be estimated', () => {
    const flat = new Float64Array(20)
    const moving = Float64Array.from({ length: 20 }, (_, i) => (i % 3) / 100)
    expect(marketModel(moving, flat)).toBeNull()
    expect(marketModel(moving.slice(0, 2), moving.slice(0, 2))).toBeNull()
    expect(meanAdjusted(flat)).toBeNull()
    expect(meanAdjusted(moving.slice(0, 1))).toBeNull()
  })

  it('find alpha and beta where returns are exactly those of a line, apart from what is told', () => {
    const random = new Random(9)
    const market = Float64Array.from({ length: 50 }, () => random.normal() / 100)
    const noise = Float64Array.from({ length: 50 }, () => random.normal() / 1e6)
    const model = marketModel(
      market.map((value, i) => 0.001 + 1.3 * value + noise[i]!),
      market,
    )!
    expect(model.alpha).toBeCloseTo(0.001, 5)
    expect(model.beta).toBeCloseTo(1.3, 4)
    expect(model.residuals.reduce((sum, value) => sum + value, 0)).toBeCloseTo(0, 14)
  })
})

function eventsOf(kind: 'market' | 'mean'): DatedEvent[] {
  return madeEvents().map(({ estimation, event, marketEstimation, marketEvent, estimationDays, eventDays }) => {
    const model = kind === 'market' ? marketModel(estimation, marketEstimation) : meanAdjusted(estimation)
    const found = abnormalEvent(model!, event, kind === 'market' ? marketEvent : undefined)
    return { ...found, estimationDays, eventDays }
  })
}

/** Events of one date, mean-adjusted, whose returns share a part: 0 none, 1 all. */
function sample(run: number, n: number, shared: number): DatedEvent[] {
  const length = 60
  const h = 5
  const random = Random.stream(new Random(79).word(), run)
  const common = Float64Array.from({ length: length + h }, () => random.normal())
  const days = Int32Array.from(common.keys())
  return Array.from({ length: n }, () => {
    const returns = common.map(value => 0.01 * (Math.sqrt(shared) * value + Math.sqrt(1 - shared) * random.normal()))
    const model = meanAdjusted(returns.slice(0, length))!
    const event = abnormalEvent(model, returns.slice(length))
    return { ...event, estimationDays: days.slice(0, length), eventDays: days.slice(length) }
  })
}

function madeEvent(event: number[], carVariance: number): AbnormalEvent {
  const car = event.reduce((sum, value) => sum + value, 0)
  return { estimation: new Float64Array(30), event: Float64Array.from(event), car, carVariance, df: 28 }
}

function pearson(x: Float64Array, y: Float64Array): number {
  const [mx, my] = [x, y].map(values => values.reduce((sum, value) => sum + value, 0) / values.length)
  const sum = (of: (i: number) => number): number => x.reduce((total, _, i) => total + of(i), 0)
  const product = sum(i => (x[i]! - mx!) * (y[i]! - my!))
  return product / Math.sqrt(sum(i => (x[i]! - mx!) ** 2) * sum(i => (y[i]! - my!) ** 2))
}
