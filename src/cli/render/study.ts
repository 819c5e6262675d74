import type { EventStudy, StudyWindow } from '../../research/study/result.js'
import { shiftsUsed } from '../../research/study/shifts.js'
import { count, whole } from './amounts.js'
import { drawBars } from './bars.js'
import { drawChart, drawingWidth } from './chart.js'
import { conditionTexts, fromText } from './conditions.js'
import type { Screen } from './layout.js'
import { share } from './performance.js'
import { classLabel, returnText, shareRange, UNKNOWN, whoText } from './statistics.js'
import { studyDetails } from './study-details.js'
import { abnormalBlock, contextBlock, windowBlock } from './study-windows.js'
import type { Block } from './table.js'

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
