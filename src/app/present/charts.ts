import { TRUTHS } from '../../core/language/as-field.js'
import { parseDay } from '../../core/model/day.js'
import { count, listNames, returnText, share } from '../../core/numbers.js'
import type { EventStudy, PathPoint, StudyWindow } from '../../research/study/result.js'
import type { SweepCell } from '../../research/sweep/result.js'
import {
  type Bars,
  type Chart,
  type ChartPrices,
  line,
  type Marks,
  newChart,
  roundSteps,
  type Stripes,
  type Tone,
} from './chart.js'
import { compact, type Part, pageNote, type Section, section } from './description.js'
import { compareTexts } from './words.js'

/** A price chart of each ticker; all but the first are folded. @param tickers also those without a chart */
export function pricesSection(
  prices: readonly ChartPrices[],
  tickers: readonly string[],
  chartOf: (prices: ChartPrices, id: string) => Chart,
): Section {
  const charts = prices.map((tickerPrices, i) => chartOf(tickerPrices, `price-${i}`))
  const [firstPart, ...otherParts] = charts.map((chart): Part => ({ chart }))
  const otherTickers = prices.slice(1).map(({ ticker }) => ticker)
  const titles = prices.length === 1 ? { title: 'The price', short: 'Price' } : { title: 'The prices', short: 'Prices' }
  return section({ id: 'prices', ...titles, on: 'page' }, [
    pageNote(pricesNote(charts, tickers.length - charts.length)),
    firstPart,
    otherParts.length > 0 && { fold: { title: `The prices of ${listNames(otherTickers)}`, parts: otherParts } },
  ])
}

/** The note above price charts. @param undrawn number of tickers without a chart */
function pricesNote(charts: readonly Chart[], undrawn: number): string {
  if (charts.length === 0) return 'There are no prices to draw.'
  const hasStrip = charts.some(({ stripes }) => stripes !== null)
  return compact([
    hasStrip && 'The strip under the line shows the band on each bar.',
    undrawn > 0 && `The tickers with most events are drawn; ${count(undrawn, 'other')} are only in the numbers.`,
  ]).join(' ')
}

/** The price of one ticker with the band on each bar and the events that the study is about. */
export function priceWithEvents(prices: ChartPrices, id: string): Chart {
  const { events, dates, close } = prices
  const marks = events.map(({ at, band }) => ({ date: dates[at]!, price: close[at]!, note: `enters ${band}` }))
  return priceChart(prices, id, count(events.length, 'event'), [newMarks('event', 'second', 'dot', marks)])
}

/** A chart of a ticker's closes with marks on them. @param markedText such as `3 events` */
export function priceChart(prices: ChartPrices, id: string, markedText: string, marks: Marks[]): Chart {
  const { ticker, field, close, dates } = prices
  const days = dates.map(dayOf)
  return newChart(id, `${ticker}, close and ${field}`, {
    description: `Close of ${ticker} with ${markedText} marked, and the band on each bar.`,
    x: ['date', days],
    y: 'price',
    log: canBeLogarithmic(close),
    height: 300,
    group: 'dates',
    lines: [line('close', 'accent', close, { width: 1.4 })],
    stripes: stripesOf(prices, days),
    marks,
    empty: `There are no bars of ${ticker} to draw.`,
  })
}

/** Whether a logarithmic scale can show the values: all known ones are above 0. */
export function canBeLogarithmic(values: readonly (number | null)[]): boolean {
  return values.every(value => value === null || value > 0)
}

/** The strip of bands below the closes; null for a condition, and if no bar has a band. */
function stripesOf({ codes, bands, field }: ChartPrices, days: readonly number[]): Stripes | null {
  // A condition is true on few bars, and the marks show where it turns true.
  if (codes.every(code => code < 0) || bands.every(band => TRUTHS.includes(band))) return null
  const starts = codes.flatMap((code, i) => (i === 0 || code !== codes[i - 1] ? [i] : []))
  return {
    label: field,
    bands,
    starts: starts.map(i => days[i]!),
    codes: starts.map(i => codes[i]!),
    // The last bar takes one day.
    end: (days.at(-1) ?? 0) + 1,
  }
}

export interface Mark {
  date: string
  price: number
  note: string
}

/** Marks of one shape and colour for a chart, sorted by date. */
export function newMarks(label: string, tone: Tone, shape: Marks['shape'], marks: readonly Mark[]): Marks {
  const ordered = marks.toSorted((a, b) => compareTexts(a.date, b.date))
  return {
    label,
    tone,
    shape,
    at: ordered.map(({ date }) => dayOf(date)),
    values: ordered.map(({ price }) => price),
    notes: ordered.map(({ date, note }) => `${date} ${note}`),
  }
}

/** The days from 1970-01-01 to a date, for the x of a chart. */
export function dayOf(date: string): number {
  return parseDay(date) ?? 0
}

/** A chart of the average price around the events, with its interval and the middle half of the events. */
export function pathChart({ path, benchmark }: EventStudy): Chart {
  const column = (key: Exclude<keyof PathPoint, 'bar' | 'n'>): (number | null)[] => path.map(point => point[key])
  const lines = [
    line('mean', 'accent', column('mean'), { width: 2.2, terminal: 'whole' }),
    line('median', 'second', column('median'), { width: 1.3 }),
    line('from any bar', 'quiet', column('base'), { width: 1.4, dashed: true, terminal: 'dotted' }),
  ]
  const abnormal = column('abnormal')
  if (abnormal.some(value => value !== null)) {
    const label = benchmark === null ? 'abnormal' : `abnormal, against ${benchmark}`
    lines.push(line(label, 'third', abnormal, { dashed: true }))
  }
  const maxEvents = path.reduce((n, point) => Math.max(n, point.n), 0)
  return newChart('path-mean', 'The price around the event', {
    description: `The average change of the price from the close of the event, over ${count(maxEvents, 'event')}, with its 95% interval and the middle half of the events.`,
    x: ['bars', path.map(({ bar }) => bar)],
    y: 'return',
    height: 320,
    ribbons: [
      { label: 'middle half of the events', tone: 'quiet', strength: 0.16, low: column('p25'), high: column('p75') },
      { label: '95% interval of the mean', tone: 'accent', strength: 0.24, low: column('low'), high: column('high') },
    ],
    lines,
    rules: { x: [0], y: [0] },
    empty: 'No event has bars around it to be averaged.',
  })
}

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

/** A histogram of the returns after the events, and one of those after any bar. Each adds up to 1. */
export function windowHistogram({ window, histogram, n, mean, base }: StudyWindow): Chart {
  const { edges, events, base: anyBar } = n === 0 || histogram === null ? NO_BINS : histogram
  const barsOf = (label: string, tone: Tone, counts: number[], outline: boolean): Bars => {
    return { label, tone, edges, values: sharesOfTotal(counts), counts, outline }
  }
  const bars = [
    barsOf(`after events, n ${n}`, 'accent', events, false),
    barsOf(`after any bar, n ${base.n}`, 'quiet', anyBar, true),
  ]
  return newChart(`histogram-${window}`, `Returns over ${window}`, {
    description: `${count(n, 'return')} after events, mean ${returnText(mean)}, and ${count(base.n, 'return')} after any bar, mean ${returnText(base.mean)}.`,
    x: ['return', binMiddles(edges)],
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

/** A histogram of the p-values of tested combinations. Without any effect, its twenty bins would hold equal numbers. */
export function pValueHistogram(cells: readonly SweepCell[]): Chart {
  const p = cells.flatMap(cell => cell.p ?? [])
  const edges = Array.from({ length: 21 }, (_, i) => i / 20)
  const values = countInBins(p, edges)
  const byChance = values.map(() => p.length / 20)
  const bars: Bars[] = [
    { label: 'combinations', tone: 'accent', edges, values, counts: values, outline: false },
    { label: 'by chance', tone: 'quiet', edges, values: byChance, counts: byChance, outline: true },
  ]
  return newChart('p-values', 'p-values of all tested combinations', {
    description: `p-values of ${count(p.length, 'tested combination')}: ${share((values[0] ?? 0) / (p.length || 1))} are below 0.05, where chance puts 5%.`,
    x: ['p', binMiddles(edges)],
    y: 'count',
    zero: true,
    height: 230,
    bars: p.length === 0 ? [] : bars,
    empty: 'No combination has a p-value.',
  })
}

/** Each count divided by the sum of all, rounded to five digits. */
function sharesOfTotal(counts: readonly number[]): number[] {
  const total = counts.reduce((sum, n) => sum + n, 0)
  return counts.map(n => (total === 0 ? 0 : Number((n / total).toPrecision(5))))
}

export function binMiddles(edges: readonly number[]): number[] {
  return edges.slice(1).map((edge, i) => Number(((edge + edges[i]!) / 2).toPrecision(6)))
}

/** Edges of about `bins` bins that contain all values, at round numbers; a single bin if all values are equal. */
export function roundBinEdges(values: readonly number[], bins: number): number[] {
  const least = values.reduce((a, b) => Math.min(a, b))
  const greatest = values.reduce((a, b) => Math.max(a, b))
  if (least === greatest) return [least - 0.005, least + 0.005]
  const [first = 0, second = 0.01] = roundSteps(least, greatest, bins)
  const step = second - first
  const from = Math.floor(least / step)
  // A greatest value on an edge gets a bin above it.
  const to = Math.max(Math.ceil(greatest / step), Math.floor(greatest / step) + 1)
  return Array.from({ length: to - from + 1 }, (_, i) => Number(((from + i) * step).toPrecision(12)))
}

/** The number of values in each bin; a value on an edge belongs to the upper bin. The last bin includes both edges. */
export function countInBins(values: readonly number[], edges: readonly number[]): number[] {
  const counts = edges.slice(1).map(() => 0)
  for (const value of values) {
    const upperEdge = edges.findIndex(edge => edge > value)
    const bin = upperEdge < 0 ? counts.length - 1 : Math.max(0, upperEdge - 1)
    counts[bin]!++
  }
  return counts
}
