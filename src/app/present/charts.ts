import { TRUTHS } from '../../core/language/as-field.js'
import { parseDay } from '../../core/model/day.js'
import { count, listed, returnText, share } from '../../core/numbers.js'
import type { EventStudy, PathPoint, StudyWindow } from '../../research/study/result.js'
import type { SweepCell } from '../../research/sweep/result.js'
import {
  type Bars,
  type Chart,
  line,
  type Marks,
  newChart,
  type PriceChart,
  roundSteps,
  type Stripes,
  type Tone,
} from './chart.js'
import { type Part, pageNote, type Section, section } from './description.js'
import { bySpelling } from './words.js'

/** The prices with the marked events. */
export function pricesSection(
  prices: readonly PriceChart[],
  tickers: readonly string[],
  chartOf: (prices: PriceChart, id: string) => Chart,
): Section {
  const left = tickers.length - prices.length
  const charts = prices.map((chart, i) => chartOf(chart, `price-${i}`))
  const drawn = charts.map((chart): Part => ({ chart }))
  const hasStrip = charts.some(({ stripes }) => stripes !== null)
  const others =
    left > 0 ? ` The tickers with most events are drawn; ${count(left, 'other')} are only in the numbers.` : ''
  const names = prices.length === 1 ? { title: 'The price', short: 'Price' } : { title: 'The prices', short: 'Prices' }
  return section({ id: 'prices', ...names, on: 'page' }, [
    pageNote(
      prices.length === 0
        ? 'There are no prices to draw.'
        : `${hasStrip ? 'The strip under the line shows the band on each bar.' : ''}${others}`.trim(),
    ),
    ...drawn.slice(0, 1),
    drawn.length > 1 && {
      fold: { title: `The prices of ${listed(prices.slice(1).map(({ ticker }) => ticker))}`, parts: drawn.slice(1) },
    },
  ])
}

/** The price of one ticker with the band on each bar and the events that the study is about. */
export function eventPrice(prices: PriceChart, id: string): Chart {
  const { events, dates, close } = prices
  const marked = events.map(({ at, band }) => ({ date: dates[at]!, price: close[at]!, note: `enters ${band}` }))
  return closes(prices, id, count(events.length, 'event'), [marksOf('event', 'second', 'dot', marked)])
}

/** The closes of a ticker with marks on them. */
export function closes(prices: PriceChart, id: string, marked: string, marks: Marks[]): Chart {
  const { ticker, field, close, dates } = prices
  const days = dates.map(dayOf)
  return newChart(id, `${ticker}, close and ${field}`, {
    description: `Close of ${ticker} with ${marked} marked, and the band on each bar.`,
    x: ['date', days],
    y: 'price',
    log: isPositive(close),
    height: 300,
    group: 'dates',
    lines: [line('close', 'accent', close, { width: 1.4 })],
    stripes: stripesOf(prices, days),
    marks,
    empty: `There are no bars of ${ticker} to draw.`,
  })
}

/** Whether a logarithmic scale is possible: it has no place for zero or negative values. */
export function isPositive(values: readonly (number | null)[]): boolean {
  return values.every(value => value === null || value > 0)
}

function stripesOf({ codes, bands, field }: PriceChart, days: readonly number[]): Stripes | null {
  // A condition is true on few bars, and the marks show where it turns true.
  if (codes.every(code => code < 0) || bands.every(band => TRUTHS.includes(band))) return null
  const starts = codes.flatMap((code, i) => (i === 0 || code !== codes[i - 1] ? [i] : []))
  return {
    label: field,
    bands,
    starts: starts.map(i => days[i]!),
    codes: starts.map(i => codes[i]!),
    end: (days.at(-1) ?? 0) + 1,
  }
}

export interface Mark {
  date: string
  price: number
  note: string
}

export function marksOf(label: string, tone: Tone, shape: Marks['shape'], all: readonly Mark[]): Marks {
  const marks = all.toSorted((a, b) => bySpelling(a.date, b.date))
  return {
    label,
    tone,
    shape,
    at: marks.map(({ date }) => dayOf(date)),
    values: marks.map(mark => mark.price),
    notes: marks.map(({ date, note }) => `${date} ${note}`),
  }
}

export function dayOf(date: string): number {
  return parseDay(date) ?? 0
}

/** The average price around the events, with how sure that average is and how far single events lie from it. */
export function pathChart({ path, benchmark }: EventStudy): Chart {
  const column = (key: Exclude<keyof PathPoint, 'bar' | 'n'>): (number | null)[] => path.map(point => point[key])
  const abnormal = column('abnormal')
  const most = path.reduce((n, point) => Math.max(n, point.n), 0)
  return newChart('path-mean', 'The price around the event', {
    description: `The average change of the price from the close of the event, over ${count(most, 'event')}, with its 95% interval and the middle half of the events.`,
    x: ['bars', path.map(({ bar }) => bar)],
    y: 'return',
    height: 320,
    ribbons: [
      { label: 'middle half of the events', tone: 'quiet', strength: 0.16, low: column('p25'), high: column('p75') },
      { label: '95% interval of the mean', tone: 'accent', strength: 0.24, low: column('low'), high: column('high') },
    ],
    lines: [
      line('mean', 'accent', column('mean'), { width: 2.2, terminal: 'whole' }),
      line('median', 'second', column('median'), { width: 1.3 }),
      line('from any bar', 'quiet', column('base'), { width: 1.4, dashed: true, terminal: 'dotted' }),
      ...(abnormal.some(value => value !== null)
        ? [line(`abnormal${benchmark === null ? '' : `, against ${benchmark}`}`, 'third', abnormal, { dashed: true })]
        : []),
    ],
    rules: { x: [0], y: [0] },
    empty: 'No event has bars around it to be averaged.',
  })
}

/** The number of events in each bar of the average. */
export function pathCountChart({ path }: EventStudy): Chart {
  const n = path.map(point => point.n)
  return newChart('path-n', 'Events behind each bar', {
    description: 'How many events had a price that many bars before or after.',
    x: ['bars', path.map(({ bar }) => bar)],
    y: 'count',
    zero: true,
    height: 120,
    lines: n.every(count => count === 0) ? [] : [line('events', 'quiet', n, { area: true, width: 1.2 })],
    rules: { x: [0], y: [] },
    empty: 'No event has bars around it to be counted.',
  })
}

/** Returns over one window after the events, in front of those after any bar; both as shares of their own number. */
export function windowHistogram({ window, histogram, n, mean, base }: StudyWindow): Chart {
  const { edges, events, base: any } = n === 0 || histogram === null ? NO_BINS : histogram
  const bars: Bars[] = [
    { label: `after events, n ${n}`, tone: 'accent', edges, values: shares(events), counts: events, outline: false },
    { label: `after any bar, n ${base.n}`, tone: 'quiet', edges, values: shares(any), counts: any, outline: true },
  ]
  return newChart(`histogram-${window}`, `Returns over ${window}`, {
    description: `${count(n, 'return')} after events, mean ${returnText(mean)}, and ${count(base.n, 'return')} after any bar, mean ${returnText(base.mean)}.`,
    x: ['return', middles(edges)],
    y: 'share',
    zero: true,
    height: 190,
    width: 430,
    bars: edges.length === 0 ? [] : bars,
    rules: { x: [0], y: [] },
    empty: `No window of ${window} has elapsed.`,
  })
}

const NO_BINS = { edges: [], events: [], base: [] }

/** p-values of all tested combinations; without any effect, each of the twenty bins would hold the same number. */
export function pValueHistogram(cells: readonly SweepCell[]): Chart {
  const p = cells.flatMap(cell => cell.p ?? [])
  const edges = Array.from({ length: 21 }, (_, i) => i / 20)
  const values = counts(p, edges)
  const byChance = values.map(() => p.length / 20)
  const bars: Bars[] = [
    { label: 'combinations', tone: 'accent', edges, values, counts: values, outline: false },
    { label: 'by chance', tone: 'quiet', edges, values: byChance, counts: byChance, outline: true },
  ]
  return newChart('p-values', 'p-values of all tested combinations', {
    description: `p-values of ${count(p.length, 'tested cell')}: ${share((values[0] ?? 0) / (p.length || 1))} are below 0.05, where chance puts 5%.`,
    x: ['p', middles(edges)],
    y: 'count',
    zero: true,
    height: 230,
    bars: p.length === 0 ? [] : bars,
    empty: 'No cell has a p-value.',
  })
}

function shares(counts: readonly number[]): number[] {
  const all = counts.reduce((sum, n) => sum + n, 0)
  return counts.map(n => (all === 0 ? 0 : Number((n / all).toPrecision(5))))
}

export function middles(edges: readonly number[]): number[] {
  return edges.slice(1).map((edge, i) => Number(((edge + edges[i]!) / 2).toPrecision(6)))
}

export function roundEdges(values: readonly number[], bins: number): number[] {
  const least = values.reduce((a, b) => Math.min(a, b))
  const greatest = values.reduce((a, b) => Math.max(a, b))
  if (least === greatest) return [least - 0.005, least + 0.005]
  const [first = 0, second = 0.01] = roundSteps(least, greatest, bins)
  const step = second - first
  const from = Math.floor(least / step)
  const to = Math.max(Math.ceil(greatest / step), Math.floor(greatest / step) + 1)
  return Array.from({ length: to - from + 1 }, (_, i) => Number(((from + i) * step).toPrecision(12)))
}

/** The number of values in each bin; a value on an edge belongs to the upper bin. The last bin includes both edges. */
export function counts(values: readonly number[], edges: readonly number[]): number[] {
  const found = edges.slice(1).map(() => 0)
  for (const value of values) {
    const above = edges.findIndex(edge => edge > value)
    found[above < 0 ? found.length - 1 : Math.max(0, above - 1)]!++
  }
  return found
}
