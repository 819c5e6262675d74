import type { EventStudy, StudyWindow } from '../../research/study/result.js'
import { spreadOf } from '../../research/study/spread.js'
import { whole } from './amounts.js'
import { conditionTexts } from './conditions.js'
import { greyed, probability, returnCell, returnRange, returnText, right, shareText, UNKNOWN } from './statistics.js'
import type { Block, Cell, Column } from './table.js'

/** One column of the windows, and what stands in it. */
type WindowColumn = [column: Column, cell: (window: StudyWindow) => Cell]

/** The windows, the columns of what is asked of some studies only left out of the others. */
export function windowBlock({ tickers, windows }: EventStudy): Block {
  const misled = windows.some(window => spreadOf(window) !== null)
  const columns: WindowColumn[] = [
    ...COUNTS,
    ...(tickers.length > 1 ? [STRETCHES] : []),
    ...RETURNS,
    [right('P'), window => probability(window.tests[0]?.p ?? null) + (misled ? markOf(window) : '')],
    ...(misled ? [STUDENTISED] : []),
  ]
  const rows = windows.map(window =>
    greyed(
      columns.map(([, cell]) => cell(window)),
      window.grey,
    ),
  )
  return { table: { columns: columns.map(([column]) => column), rows } }
}

const COUNTS: readonly WindowColumn[] = [
  [{ title: 'WINDOW' }, ({ window }) => window],
  [right('N'), ({ n }) => whole(n)],
  [right('INDEP'), ({ n_indep }) => whole(n_indep)],
]

/** Of pools, where INDEP counts a day once for each ticker. */
const STRETCHES: WindowColumn = [right('DATES'), ({ n_stretches }) => whole(n_stretches)]

const RETURNS: readonly WindowColumn[] = [
  [right('LOST', 5), ({ lost }) => whole(lost.not_elapsed + lost.too_early + lost.delisted)],
  [right('MEAN'), ({ mean }) => returnCell(mean)],
  [right('MEDIAN', 4), ({ median }) => returnCell(median)],
  [right('HIT', 1), ({ hit }) => shareText(hit.share)],
  [right('ANY BAR', 2), ({ base }) => returnText(base.mean)],
  [right('DIFF'), ({ diff }) => returnCell(diff)],
  [right('95%', 0), ({ intervals: [interval] }) => (interval === undefined ? UNKNOWN : returnRange(interval))],
]

const STUDENTISED: WindowColumn = [
  right('P(T)', -1),
  ({ tests }) => probability(tests.find(({ test }) => test === 'shift_studentised')?.p ?? null),
]

/** A P that misleads is marked; the others leave room for the mark. */
function markOf(window: StudyWindow): string {
  return spreadOf(window) === null ? ' ' : '!'
}

const CONTEXT: readonly WindowColumn[] = [
  [{ title: 'WINDOW' }, ({ window }) => window],
  [right('BARS'), ({ context_base: base }) => whole(base?.n ?? 0)],
  [right('MEAN'), ({ context_base: base }) => returnText(base?.mean ?? null)],
  [right('HIT'), ({ context_base: base }) => shareText(base?.hit ?? null)],
  [right('DIFF'), ({ context_base: base }) => returnCell(base?.diff ?? null)],
]

/** What such times bring anyway. */
export function contextBlock({ context, windows }: EventStudy): Block[] {
  const told = windows.filter(({ context_base }) => context_base !== null)
  if (told.length === 0) return []
  const [state] = conditionTexts({ context, stability: null, max_flips: null })
  return [
    {
      title: [`Against any bar ${state}`],
      table: {
        columns: CONTEXT.map(([column]) => column),
        rows: told.map(window => CONTEXT.map(([, cell]) => cell(window))),
      },
    },
  ]
}

const ABNORMAL: readonly Column[] = [{ title: 'WINDOW' }, right('N'), right('CAR'), right('P'), { title: 'LEFT OUT' }]

/** The abnormal returns in short: `--wide` has every test of them. */
export function abnormalBlock({ windows, abnormal, benchmark }: EventStudy): Block[] {
  const told = windows.filter(window => window.abnormal !== null)
  if (told.length === 0) return []
  const model = abnormal === 'market' ? `market model on ${benchmark}` : 'less the mean before'
  return [
    {
      title: [`Cumulative abnormal return, ${model}`, "P: Kolari and Pynnonen's test"],
      table: { columns: ABNORMAL, rows: told.map(abnormalRow) },
    },
  ]
}

function abnormalRow({ window, abnormal }: StudyWindow): Cell[] {
  const { n, car, tests, lost } = abnormal!
  const without = Object.entries({ 'too early': lost.too_early, open: lost.not_elapsed, unmatched: lost.no_benchmark })
  const parts = without.filter(([, count]) => count > 0).map(([why, count]) => `${whole(count)} ${why}`)
  return [window, whole(n), returnCell(car), probability(tests[0]?.p ?? null), parts.join(', ')]
}
