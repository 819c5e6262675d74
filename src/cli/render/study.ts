import type { EventStudy, StudyWindow } from '../../research/study/result.js'
import { count, whole } from './amounts.js'
import { drawBars } from './bars.js'
import { drawChart, drawingWidth } from './chart.js'
import type { Screen } from './layout.js'
import { share } from './performance.js'
import {
  classLabel,
  greyed,
  probability,
  returnCell,
  returnRange,
  returnText,
  right,
  shareRange,
  shareText,
  UNKNOWN,
  whoText,
} from './statistics.js'
import { studyDetails } from './study-details.js'
import type { Block, Cell, Column } from './table.js'

/** What was assumed, the windows, the average path and one distribution; with `wide` every statistic there is. */
export function studyBlocks(found: EventStudy, screen: Screen, { wide }: { wide: boolean }): Block[] {
  const head: Block = { title: title(found), notes: [assumed(found)] }
  if (found.events === 0) return [head, ...warnings(found)]
  return [
    head,
    { table: { columns: COLUMNS, rows: found.windows.map(windowRow) } },
    ...pathBlock(found, screen),
    ...histogramBlock(found, screen),
    ...(wide ? [...studyDetails(found), { title: ['Assumed'], notes: found.assumptions }] : []),
    ...warnings(found),
  ]
}

function title({ tickers, field, bands, prev_bands, timeframe, context, events, first, last, as_of }: EventStudy) {
  const entered = bands === null ? field : `${field} = ${bands.join(' or ')}`
  const left = prev_bands === null ? '' : ` from ${prev_bands.join(' or ')}`
  const state = context === null || context.bands === null ? '' : ` = ${context.bands.join(' or ')}`
  return [
    `${whoText(tickers)}  ${entered}${left}  ${timeframe}`,
    ...(context === null ? [] : [`${state === '' ? 'beside' : 'while'} ${context.ticker} ${context.field}${state}`]),
    count(events, 'event'),
    ...(first === null ? [] : [`${first} to ${last}`]),
    ...(as_of === null ? [] : [`as of ${as_of}`]),
  ]
}

/** The long form stands in the document, in the report, and at the end with `wide`. */
function assumed({ tickers, reps, resamples, seed, trials }: EventStudy): string {
  const same = tickers.length === 1 ? 'ticker' : 'tickers'
  const shifts = reps === null ? 'every one' : `every one up to 2,000, else ${whole(reps)} drawn`
  const ever = trials.ledger === null ? '' : `, ${whole(trials.ledger)} so far in the ledger of trials`
  return [
    `Close to close, without costs, against any bar of the same ${same} and dates.`,
    `P: joint circular shift (${shifts}); 95%: block bootstrap (${whole(resamples)} draws); seed ${seed}.`,
    `Looked at: ${count(trials.run, 'cell')}${ever}. The tickers are those that were asked for (survivorship).`,
  ].join(' ')
}

const COLUMNS: readonly Column[] = [
  { title: 'WINDOW' },
  right('N'),
  right('INDEP'),
  right('LOST', 5),
  right('MEAN'),
  right('MEDIAN', 4),
  right('HIT', 1),
  right('ANY BAR', 2),
  right('DIFF'),
  right('95%', 0),
  right('P'),
]

function windowRow(window: StudyWindow): Cell[] {
  const { n, n_indep, lost, mean, median, hit, base, diff, intervals, tests, grey } = window
  const cells: Cell[] = [
    window.window,
    whole(n),
    whole(n_indep),
    whole(lost.not_elapsed + lost.too_early + lost.delisted),
    returnCell(mean),
    returnCell(median),
    shareText(hit.share),
    returnText(base.mean),
    returnCell(diff),
    intervals[0] === undefined ? UNKNOWN : returnRange(intervals[0]),
    probability(tests[0]?.p ?? null),
  ]
  return greyed(cells, grey)
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
      title: [`Returns over ${window.window}`, 'events / any bar', `${shareRange(window.hit)} above 0 (95%)`],
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

function percent(n: number, of: number): string {
  return of === 0 ? UNKNOWN : share(n / of)
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, n) => total + n, 0)
}
