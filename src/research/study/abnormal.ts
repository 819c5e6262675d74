import { corradoRank } from '../../statistics/corrado.js'
import { averageCorrelation, type DatedEvent } from '../../statistics/event-correlation.js'
import {
  aggregate,
  bmp,
  cowanSign,
  crossSection,
  type EventTest,
  kolariPynnonen,
  NO_EVENT,
  patell,
} from '../../statistics/event-tests.js'
import { tooFew } from './enough.js'
import { eventOver, type ModelledEvent } from './models.js'
import type { AbnormalReturns, TestResult } from './result.js'

/** What events and window say once what the model expected is taken off, with the tests of the literature. */
export function abnormalOver(
  events: readonly ModelledEvent[],
  horizon: number,
  about: Pick<AbnormalReturns, 'model' | 'benchmark'> & { minEvents: number },
): AbnormalReturns {
  const { model, benchmark, minEvents } = about
  const whole: DatedEvent[] = []
  const lost = { too_early: 0, not_elapsed: 0, no_benchmark: 0 }
  for (const event of events) {
    const found = eventOver(event, horizon)
    if (found === null) lost[whyLost(event, horizon)]++
    else whole.push(found)
  }
  const n = whole.length
  const { car } = aggregate(whole)
  const apart = sharingNoDay(whole)
  const few = n === 0 ? NO_EVENT : tooFew(n, apart.length, minEvents)
  const tests = few === null ? testsOf(whole, apart) : TESTS.map(([test, name]) => without(test, name, few))
  return { model, benchmark, n, lost, car, tests, reason: car === null ? NO_EVENT : null }
}

/** Of events by date and ticker: the first, then each that begins after the last bar of the one before. */
function sharingNoDay(events: readonly DatedEvent[]): DatedEvent[] {
  let free = Number.NEGATIVE_INFINITY
  return events
    .toSorted((a, b) => a.eventDays[0]! - b.eventDays[0]!)
    .filter(({ eventDays }) => {
      if (eventDays[0]! <= free) return false
      free = eventDays.at(-1)!
      return true
    })
}

type Test = readonly [test: string, name: string, run: (events: readonly DatedEvent[]) => EventTest]

/** It allows for events that share days and takes them all; the others take events for independent. */
const JOINT: Test = ['kolari_pynnonen', 'Kolari-Pynnonen', events => kolariPynnonen(events, averageCorrelation(events))]

const TESTS: readonly Test[] = [
  JOINT,
  ['car', 'mean CAR (MacKinlay)', aggregate],
  ['cross_section', 'cross-section t', crossSection],
  ['patell', 'Patell', patell],
  ['bmp', 'Boehmer-Musumeci-Poulsen', bmp],
  ['corrado', 'Corrado rank', corradoRank],
  ['cowan', 'Cowan sign', cowanSign],
]

function testsOf(all: readonly DatedEvent[], apart: readonly DatedEvent[]): TestResult[] {
  return TESTS.map(one => {
    const [test, name, run] = one
    const { statistic, df, p, reason } = run(one === JOINT ? all : apart)
    const thinned = one === JOINT || apart.length === all.length
    const title = thinned ? name : `${name}, ${apart.length} events that share no day`
    return { test, name: title, statistic, df, p, reason }
  })
}

function without(test: string, name: string, reason: string): TestResult {
  return { test, name, statistic: null, df: null, p: null, reason }
}

function whyLost({ bar, days, lost }: ModelledEvent, horizon: number): keyof AbnormalReturns['lost'] {
  if (lost !== null) return lost
  return bar + horizon >= days.length ? 'not_elapsed' : 'no_benchmark'
}
