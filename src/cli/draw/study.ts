import { PERFORMANCES } from '../../model/series.js'
import { type EventStudy, type StudyWindow, shiftsUsed, spreadOf, type TestResult } from '../../study/result.js'
import { drawBars, drawChart, drawingWidth } from './chart.js'
import {
  classLabel,
  conditionTexts,
  fromText,
  greyed,
  probability,
  ratio,
  returnCell,
  returnRange,
  returnText,
  right,
  shareRange,
  shareText,
  UNKNOWN,
  whoText,
} from './statistics.js'
import { type Block, type Cell, type Column, count, type Screen, SIGNS, share, whole } from './table.js'

/** What was assumed, the windows, the average path and one distribution; with `wide` every statistic there is. */
export function studyBlocks(found: EventStudy, screen: Screen, { wide }: { wide: boolean }): Block[] {
  const head: Block = { title: title(found), notes: [assumed(found)] }
  if (found.events === 0) return [head, ...warnings(found)]
  return [
    head,
    windowBlock(found),
    ...contextBlock(found),
    ...(wide ? [] : abnormalBlock(found)),
    ...pathBlock(found, screen),
    ...histogramBlock(found, screen),
    ...(wide ? [...studyDetails(found), { title: ['Assumed'], notes: found.assumptions }] : []),
    ...warnings(found),
  ]
}

function title(found: EventStudy): string[] {
  const { tickers, field, bands, timeframe, events, first, last, as_of, last_bar } = found
  const entered = bands === null ? field : `${field} = ${bands.join(' or ')}`
  return [
    `${whoText(tickers)}  ${entered}${fromText(found)}  ${timeframe}`,
    ...conditionTexts(found),
    count(events, 'event'),
    ...(first === null ? [] : [`${first} to ${last}`]),
    ...(as_of === null
      ? []
      : [`as of ${as_of}${last_bar === null || last_bar >= as_of ? '' : `, last bar ${last_bar}`}`]),
  ]
}

/** The long form stands in the document, in the report, and at the end with `wide`. */
function assumed({ tickers, windows, resamples, seed, trials }: EventStudy): string {
  const same = tickers.length === 1 ? 'ticker' : 'tickers'
  const used = shiftsUsed(windows)
  const ever = trials.ledger === null ? '' : `, ${count(trials.ledger, 'cell')} so far in the ledger of trials`
  return [
    `Close to close, without costs, against any bar of the same ${same} and dates.`,
    `P: joint circular shift${used === null ? '' : ` (${rangeText(used)} shifts)`}; 95%: block bootstrap (${whole(resamples)} draws); seed ${seed}.`,
    `Looked at: ${count(trials.run, 'cell')}${ever}. The tickers are those that were asked for (survivorship).`,
  ].join(' ')
}

const PATH_HEIGHT = 9

/** The mean path as a line, that of any bar as dots. */
function pathBlock({ path }: EventStudy, { width, unicode }: Screen): Block[] {
  const [first, last] = [path[0], path.at(-1)]
  if (first === undefined || last === undefined || first === last) return []
  const at = (bar: number): number => (bar - first.bar) / (last.bar - first.bar)
  const bars = [...new Set([first.bar, 0, Math.round(last.bar / 2), last.bar])].filter(bar => bar >= first.bar)
  const drawing = drawChart(
    [{ values: path.map(point => point.base), dotted: true }, { values: path.map(point => point.mean) }],
    {
      width: drawingWidth(width),
      height: PATH_HEIGHT,
      ascii: !unicode,
      label: value => returnText(value),
      beneath: bars.map(bar => ({ at: at(bar), text: bar > 0 ? `+${bar}` : String(bar) })),
    },
  )
  if (drawing.length === 0) return []
  return [{ title: ['Average path by bar, from the close of the event', 'dots: from any bar'], drawing }]
}

/** Of the window in the middle. */
function histogramBlock({ windows }: EventStudy, { width, unicode }: Screen): Block[] {
  const window = windows[Math.floor((windows.length - 1) / 2)]
  const histogram = window?.histogram ?? null
  if (window === undefined || histogram === null) return []
  const all = sum(histogram.events)
  const any = sum(histogram.base)
  const drawing = drawBars(
    classesOf(histogram).map(({ from, to, events, base }) => ({
      label: classLabel(from, to),
      value: events,
      text: `${whole(events)}  ${percent(events, all)} / ${percent(base, any)}`,
    })),
    { width: Math.min(80, drawingWidth(width)), ascii: !unicode },
  )
  return [
    {
      title: [
        `Returns over ${window.window}`,
        'events / any bar',
        ...(window.grey ? [] : [`${shareRange(window.hit)} above 0 (95%)`]),
      ],
      drawing,
    },
  ]
}

const MOST_CLASSES = 12

/** Neighbours put together until there are few enough to be seen at once. */
function classesOf({ edges, events, base }: NonNullable<StudyWindow['histogram']>) {
  const each = Math.ceil(events.length / MOST_CLASSES)
  return Array.from({ length: Math.ceil(events.length / each) }, (_, i) => {
    const [first, end] = [i * each, Math.min((i + 1) * each, events.length)]
    return {
      from: edges[first]!,
      to: edges[end]!,
      events: sum(events.slice(first, end)),
      base: sum(base.slice(first, end)),
    }
  })
}

function warnings(found: EventStudy): Block[] {
  return found.warnings.length === 0 ? [] : [{ notes: found.warnings }]
}

function rangeText({ least, most }: { least: number; most: number }): string {
  return least === most ? whole(least) : `${whole(least)} to ${whole(most)}`
}

function percent(n: number, of: number): string {
  return of === 0 ? UNKNOWN : share(n / of)
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, n) => total + n, 0)
}

/** Every other statistic of a study, a table for each kind. */
function studyDetails(found: EventStudy): Block[] {
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

/** One column of the windows, and what stands in it. */
type WindowColumn = [column: Column, cell: (window: StudyWindow) => Cell]

/** The windows, the columns of what is asked of some studies only left out of the others. */
function windowBlock({ tickers, windows }: EventStudy): Block {
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
function contextBlock({ context, windows }: EventStudy): Block[] {
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

const ABNORMAL_TESTS: readonly Column[] = [
  { title: 'WINDOW' },
  right('N'),
  right('CAR'),
  right('P'),
  { title: 'LEFT OUT' },
]

/** The abnormal returns in short: `--wide` has every test of them. */
function abnormalBlock({ windows, abnormal, benchmark }: EventStudy): Block[] {
  const told = windows.filter(window => window.abnormal !== null)
  if (told.length === 0) return []
  const model = abnormal === 'market' ? `market model on ${benchmark}` : 'less the mean before'
  return [
    {
      title: [`Cumulative abnormal return, ${model}`, "P: Kolari and Pynnonen's test"],
      table: { columns: ABNORMAL_TESTS, rows: told.map(abnormalRow) },
    },
  ]
}

function abnormalRow({ window, abnormal }: StudyWindow): Cell[] {
  const { n, car, tests, lost } = abnormal!
  const without = Object.entries({ 'too early': lost.too_early, open: lost.not_elapsed, unmatched: lost.no_benchmark })
  const parts = without.filter(([, count]) => count > 0).map(([why, count]) => `${whole(count)} ${why}`)
  return [window, whole(n), returnCell(car), probability(tests[0]?.p ?? null), parts.join(', ')]
}
