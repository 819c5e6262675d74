import { PERFORMANCES } from '../../model/record.js'
import type { EventStudy, StudyWindow, TestResult } from '../../research/study/result.js'
import { whole } from './amounts.js'
import { SIGNS } from './performance.js'
import { probability, ratio, returnCell, returnRange, right, shareRange, shareText, UNKNOWN } from './statistics.js'
import type { Block, Cell, Column } from './table.js'

/** Every other statistic of a study, a table for each kind. */
export function studyDetails(found: EventStudy): Block[] {
  const { windows } = found
  const blocks: Block[] = [
    { title: ['Distribution'], table: { columns: SPREAD, rows: windows.map(spreadRow) } },
    {
      title: ['Tests of the difference against any bar'],
      table: { columns: TESTS, rows: windows.flatMap(testRows), whole: 'json' },
    },
    {
      title: ['Intervals of the difference, 95%'],
      table: { columns: INTERVALS, rows: windows.flatMap(intervalRows), whole: 'json' },
    },
    {
      title: ['Random entry: other dates of the same tickers'],
      table: { columns: RANDOM, rows: windows.map(randomRow) },
    },
    {
      title: [`Other bands of ${found.field}`],
      table: { columns: OTHERS, rows: windows.flatMap(otherRows), whole: 'json' },
    },
    {
      title: ['Cumulative abnormal return'],
      table: { columns: ABNORMAL, rows: windows.flatMap(abnormalRows), whole: 'json' },
    },
    {
      title: ['Aftermath, events against any bar (lift)'],
      table: { columns: AFTERMATH, rows: windows.flatMap(aftermathRow), whole: 'json' },
    },
    { title: ['Why there is nothing'], notes: reasons(windows) },
  ]
  return blocks.filter(({ table, notes }) => (table?.rows.length ?? notes?.length ?? 0) > 0)
}

const WINDOW: Column = { title: 'WINDOW' }

const SPREAD: readonly Column[] = [
  WINDOW,
  right('WORST', 3),
  right('P10', 5),
  right('P25', 0),
  right('P75', 1),
  right('P90', 6),
  right('BEST', 4),
  right('SD', 9),
  right('MFE', 7),
  right('MAE', 8),
  right('HIT'),
  right('HIT 95%', 12),
  right('ANY HIT', 11),
  right('LIFT', 10),
]

function spreadRow(row: StudyWindow): Cell[] {
  const returns = [row.worst, row.p10, row.p25, row.p75, row.p90, row.best, row.deviation, row.mfe, row.mae]
  const lift = ratio(row.lift)
  const { hit, base } = row
  const range = row.grey ? UNKNOWN : shareRange(hit)
  return [row.window, ...returns.map(returnCell), shareText(hit.share), range, shareText(base.hit), lift]
}

const TESTS: readonly Column[] = [WINDOW, right('STATISTIC'), right('DF', 1), right('P'), { title: 'TEST' }]

function testRows({ window, tests }: StudyWindow): Cell[][] {
  return tests.map((test, i) => [i === 0 ? window : '', ...testCells(test)])
}

function testCells({ statistic, df, p, name }: TestResult): Cell[] {
  return [statisticText(statistic), df === null ? UNKNOWN : ratio(df, 0), probability(p), name]
}

/** A difference of returns is far below 1, a t value is not. */
function statisticText(value: number | null): string {
  return ratio(value, value !== null && Math.abs(value) < 0.1 ? 4 : 2)
}

const INTERVALS: readonly Column[] = [WINDOW, right('DIFF 95%'), right('BLOCK', 1), { title: 'METHOD' }]

function intervalRows({ window, intervals }: StudyWindow): Cell[][] {
  return intervals.map((interval, i) => [
    i === 0 ? window : '',
    returnRange(interval),
    interval.block === null ? UNKNOWN : ratio(interval.block, 1),
    interval.method,
  ])
}

const RANDOM: readonly Column[] = [
  WINDOW,
  right('DRAWS', 1),
  right('MEAN'),
  right('95%', 0),
  right('P'),
  right('SAME YEARS', 2),
]

function randomRow({ window, random_entry: random }: StudyWindow): Cell[] {
  const cells = [window, whole(random.draws), returnCell(random.mean), returnRange(random), probability(random.p)]
  return [...cells, returnCell(random.year_matched)]
}

const OTHERS: readonly Column[] = [WINDOW, { title: 'BAND' }, right('N'), right('MEAN'), right('HIT', 0)]

function otherRows({ window, other_bands }: StudyWindow): Cell[][] {
  return other_bands.map((other, i) => [
    i === 0 ? window : '',
    other.band,
    whole(other.n),
    returnCell(other.mean),
    shareText(other.hit),
  ])
}

const ABNORMAL: readonly Column[] = [
  WINDOW,
  right('N'),
  right('CAR'),
  right('STATISTIC'),
  right('P'),
  { title: 'TEST' },
]

function abnormalRows({ window, abnormal }: StudyWindow): Cell[][] {
  if (abnormal === null) return []
  const head = [window, whole(abnormal.n), returnCell(abnormal.car)]
  const told = abnormal.tests.filter(({ statistic }) => statistic !== null)
  const rows = told.map(({ statistic, p, name }) => [statisticText(statistic), probability(p), name])
  const [first = [UNKNOWN, UNKNOWN, abnormal.reason ?? abnormal.tests[0]?.reason ?? ''], ...more] = rows
  return [[...head, ...first], ...more.map(cells => ['', '', '', ...cells])]
}

const AFTERMATH: readonly Column[] = [
  WINDOW,
  ...PERFORMANCES.map((_, i) => right(SIGNS[i]!, 9 - Math.abs(i - 3))),
  right('G', 10),
  right('P'),
]

function aftermathRow({ window, aftermath }: StudyWindow): Cell[][] {
  if (aftermath === null) return []
  const cells = aftermath.counts.map((n, i) => {
    const lift = aftermath.lift[i] ?? null
    return lift === null ? whole(n) : `${whole(n)} (${ratio(lift, 1)})`
  })
  return [[window, ...cells, ratio(aftermath.g, 1), probability(aftermath.p)]]
}

/** Each reason once, with what it is about. */
function reasons(windows: readonly StudyWindow[]): string[] {
  const about = new Map<string, string[]>()
  for (const { window, reasons: own } of windows)
    for (const [statistic, reason] of Object.entries(own))
      about.set(reason, [...(about.get(reason) ?? []), `${window} ${statistic}`])
  return [...about].map(([reason, what]) => `${reason}: ${what.join(', ')}`)
}
