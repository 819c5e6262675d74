import type { Cell } from '../cell/cell.js'
import { noInterval, stationaryInterval, unitInterval } from '../cell/intervals.js'
import { noDraws, type RandomEntry, randomEntry } from '../cell/random-entry.js'
import { streamOf } from '../cell/streams.js'
import {
  calendarTimeTest,
  clusterTest,
  hansenHodrickTest,
  naiveTest,
  neweyWestTest,
  noTest,
  shiftTest,
  studentisedShiftTest,
  type TestKey,
} from '../cell/tests.js'
import type { Held } from './held.js'
import type { StudyQuery } from './query.js'
import type { Interval, TestResult } from './result.js'

type Asked = Pick<StudyQuery, 'seed' | 'reps' | 'resamples'>

/** @param few why there is to be none; null where there may be */
export function intervalsOf(cell: Cell, { seed, resamples: reps }: Asked, few: string | null): Interval[] {
  if (few !== null) return [noInterval('stationary bootstrap', few), noInterval('bca', few)]
  const { horizon } = cell
  return [
    stationaryInterval(cell, { reps, random: streamOf(seed, 'bootstrap', horizon) }),
    unitInterval(cell, { reps, random: streamOf(seed, 'bca', horizon) }),
  ]
}

/** The default first, the naive one last. */
export function testsOf(cell: Cell, held: Held, query: StudyQuery, few: string | null): TestResult[] {
  const shifts = () => ({ reps: query.reps, random: streamOf(query.seed, 'shift', cell.horizon) })
  const tests: [test: TestKey, run: () => TestResult, wanted: boolean][] = [
    ['shift', () => shiftTest(cell, shifts()), true],
    ['shift_studentised', () => studentisedShiftTest(cell, shifts()), true],
    ['newey_west', () => neweyWestTest(cell), true],
    ['hansen_hodrick', () => hansenHodrickTest(cell), query.hansenHodrick],
    ['cluster', () => clusterTest(cell), true],
    ['calendar_time', () => calendarTimeTest(held.portfolio, held.benchmark), true],
    ['naive', () => naiveTest(cell), query.naive],
  ]
  return tests.filter(([, , wanted]) => wanted).map(([test, run]) => (few === null ? run() : noTest(test, few)))
}

/** Of few events there are no draws. */
export function randomEntries(cell: Cell, { seed, reps, resamples }: Asked, few: string | null): RandomEntry {
  const draws = reps === 'all' ? resamples : reps
  const found = few === null ? randomEntry(cell, draws, streamOf(seed, 'random_entry', cell.horizon)) : null
  return found ?? noDraws(cell, few ?? 'no event whose window has elapsed')
}
