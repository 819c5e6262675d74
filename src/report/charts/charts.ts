import type { Backtest, Trade } from '../../backtest/result.js'
import { parseDay } from '../../model/day.js'
import { PERFORMANCES } from '../../model/series.js'
import type { EventStudy, PathPoint, StudyWindow } from '../../study/result.js'
import type { SweepCell } from '../../sweep/result.js'
import { counted, gain, gainRange, type Html, html, share, words } from '../html.js'
import type { PriceChart } from '../pictured.js'
import {
  axisLabel,
  type Bars,
  type Chart,
  type Line,
  line,
  type Marks,
  MOST_POINTS,
  newChart,
  roundSteps,
  type Scale,
  type Stripes,
  scale,
  shortened,
  type Tone,
  thinned,
} from './spec.js'

/** The price of one ticker with the band on each bar and the events that the study is about. */
export function eventPrice(prices: PriceChart, id: string): Chart {
  const chart = closes(prices, id)
  const { events, dates, close, ticker } = prices
  const at = events.map(event => event.at)
  chart.marks = [
    {
      label: 'event',
      tone: 'second',
      shape: 'dot',
      at: at.map(bar => dayOf(dates[bar]!)),
      values: at.map(bar => close[bar]!),
      notes: events.map(({ at, band }) => `${dates[at]} enters ${band}`),
    },
  ]
  chart.description = `Close of ${ticker} with ${counted(events.length, 'event')} marked, and the band on each bar.`
  return chart
}

/** The price of one ticker with the entries and exits of its trades. */
export function tradedPrice(prices: PriceChart, trades: readonly Trade[], id: string): Chart {
  const chart = closes(prices, id)
  const own = trades.filter(({ ticker }) => ticker === prices.ticker)
  const closed = own.filter(trade => trade.exit !== 'open')
  const long = own[0]?.side !== 'short'
  chart.marks = [
    trademarks(
      long ? 'buy' : 'sell short',
      'accent',
      long ? 'up' : 'down',
      own,
      ({ entry_date, entry_price, band }) => ({
        date: entry_date,
        price: entry_price,
        note: `in at ${entry_price} after ${band}`,
      }),
    ),
    ...(['gain', 'loss'] as const).map(tone =>
      trademarks(
        `leave with a ${tone}`,
        tone,
        long ? 'down' : 'up',
        closed.filter(({ net }) => net > 0 === (tone === 'gain')),
        ({ exit_date, exit_price, exit, net }) => ({
          date: exit_date,
          price: exit_price,
          note: `out at ${exit_price}, ${exit}, ${gain(net)} net`,
        }),
      ),
    ),
  ]
  chart.description = `Close of ${prices.ticker} with ${counted(own.length, 'trade')} marked, and the band on each bar.`
  return chart
}

function closes(prices: PriceChart, id: string): Chart {
  const days = prices.dates.map(dayOf)
  const kept = thinned([prices.close], days.length, MOST_POINTS)
  const close = kept.map(i => shortened(prices.close[i]))
  return {
    ...newChart(id, `${prices.ticker}, close and ${prices.field}`, 'date', 'price'),
    height: 300,
    group: 'dates',
    x: { unit: 'date', values: kept.map(i => days[i]!) },
    y: { unit: 'price', log: isWide(prices.close), zero: false },
    lines: [{ label: 'close', tone: 'accent', values: close, width: 1.4, dashed: false, area: false }],
    stripes: stripesOf(prices, days),
    empty: `There are no bars of ${prices.ticker} to draw.`,
  }
}

/** More than fivefold: on a linear scale the early years would lie on the floor. */
function isWide(values: readonly (number | null)[]): boolean {
  const known = values.filter(value => value !== null)
  const least = known.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)
  return least > 0 && known.reduce((a, b) => Math.max(a, b), 0) > 5 * least
}

function stripesOf({ codes, bands, field }: PriceChart, days: readonly number[]): Stripes | null {
  if (codes.every(code => code < 0)) return null
  const starts = codes.flatMap((code, i) => (i === 0 || code !== codes[i - 1] ? [i] : []))
  return {
    label: field,
    bands,
    starts: starts.map(i => days[i]!),
    codes: starts.map(i => codes[i]!),
    end: (days.at(-1) ?? 0) + 1,
  }
}

function trademarks(
  label: string,
  tone: Marks['tone'],
  shape: Marks['shape'],
  trades: readonly Trade[],
  told: (trade: Trade) => { date: string; price: number; note: string },
): Marks {
  const marks = trades.map(told).sort((a, b) => (a.date < b.date ? -1 : Number(a.date > b.date)))
  return {
    label,
    tone,
    shape,
    at: marks.map(({ date }) => dayOf(date)),
    values: marks.map(mark => mark.price),
    notes: marks.map(({ date, note }) => `${date} ${note}`),
  }
}

function dayOf(date: string): number {
  return parseDay(date) ?? 0
}

const TONES: readonly Tone[] = ['quiet', 'third', 'second']

/**
 * The equity beside what holding would have made of the same money, how far it lay below its high, and how much of it
 * was in positions: three charts of the same dates, so that one pointer reads all of them.
 */
export function equityCharts(backtest: Backtest): Chart[] {
  const { equity, benchmarks, statistics } = backtest
  const own = fromOne(equity.map(point => point.equity))
  // A benchmark starts at 1 on its own first bar.
  const others = benchmarks.map(({ name, equity }) => ({ name, values: equity }))
  const depths = equity.map(point => point.drawdown)
  const shares = equity.map(point => point.gross)
  const curves = [own, ...others.map(({ values }) => values)]
  const kept = thinned([...curves, depths, shares], equity.length, MOST_POINTS)
  const at = (values: readonly (number | null)[]): (number | null)[] => kept.map(i => shortened(values[i]))
  const dates = kept.map(i => parseDay(equity[i]!.date) ?? 0)
  const total = (name: string, values: readonly (number | null)[]): string =>
    `${name} ${gain((values.findLast(value => value !== null) ?? 1) - 1)}`
  return [
    over(dates, 'equity-curve', 'Equity, from 1', 300, {
      description: `What 1 became over ${counted(equity.length, 'bar')}: ${total('strategy', own)}${others
        .map(({ name, values }) => `, ${total(name, values)}`)
        .join('')}.`,
      y: { unit: 'multiple', log: isWide(curves.flat()), zero: false },
      lines: [
        ...others.map(({ name, values }, i) => holding(name, at(values), i)),
        line('strategy', 'accent', at(own), { width: 2 }),
      ],
      rules: { x: [], y: [1] },
    }),
    over(dates, 'drawdown', 'Drawdown', 150, {
      description: `How far the equity lay below its highest value so far; at worst ${gain(statistics.max_drawdown)}.`,
      y: { unit: 'return', log: false, zero: true },
      lines: [line('below the high', 'loss', at(depths), { width: 1.2, area: true })],
    }),
    over(dates, 'exposure', 'In positions', 120, {
      description: 'The value of all positions as a share of the equity.',
      y: { unit: 'share', log: false, zero: true },
      lines: [line('share of the equity', 'third', at(shares), { width: 1, area: true })],
    }),
  ]
}

function over(dates: number[], id: string, title: string, height: number, more: Partial<Chart>): Chart {
  return {
    ...newChart(id, title, 'date', 'multiple'),
    height,
    group: 'dates',
    x: { unit: 'date', values: dates },
    empty: 'There is no equity curve: the strategy had no bar to trade on.',
    ...more,
  }
}

function holding(name: string, values: Line['values'], place: number): Line {
  return line(name, TONES[place % TONES.length]!, values, { width: 1.2, dashed: place > 0 })
}

function fromOne(values: readonly number[]): number[] {
  const [first = 1] = values
  return values.map(value => value / first)
}

/** The average price around the events, with how sure that average is and how far single events lie from it. */
export function pathChart({ path, benchmark }: EventStudy): Chart {
  const column = (key: Exclude<keyof PathPoint, 'bar' | 'n'>): (number | null)[] =>
    path.map(point => shortened(point[key]))
  const abnormal = column('abnormal')
  const most = path.reduce((n, point) => Math.max(n, point.n), 0)
  return {
    ...newChart('path-mean', 'The price around the event', 'bars', 'return'),
    description: `The average change of the price from the close of the event, over ${counted(most, 'event')}, with its 95% interval and the middle half of the events.`,
    height: 320,
    x: { unit: 'bars', values: path.map(point => point.bar) },
    ribbons: [
      { label: 'middle half of the events', tone: 'quiet', strength: 0.16, low: column('p25'), high: column('p75') },
      { label: '95% interval of the mean', tone: 'accent', strength: 0.24, low: column('low'), high: column('high') },
    ],
    lines: [
      line('mean', 'accent', column('mean'), { width: 2.2 }),
      line('median', 'second', column('median'), { width: 1.3 }),
      line('any bar', 'quiet', column('base'), { width: 1.4, dashed: true }),
      ...(abnormal.some(value => value !== null)
        ? [line(`abnormal${benchmark === null ? '' : `, against ${benchmark}`}`, 'third', abnormal, { dashed: true })]
        : []),
    ],
    rules: { x: [0], y: [0] },
    empty: 'No event has bars around it to be averaged.',
  }
}

/** How many events stand behind each bar of the average. */
export function pathCountChart({ path }: EventStudy): Chart {
  const bars = path.map(point => point.bar)
  const most = path.reduce((n, point) => Math.max(n, point.n), 0)
  return {
    ...newChart('path-n', 'Events behind each bar', 'bars', 'count'),
    description: 'How many events had a price that many bars before or after.',
    height: 120,
    group: null,
    x: { unit: 'bars', values: bars },
    y: { unit: 'count', log: false, zero: true },
    lines:
      most === 0
        ? []
        : [
            line(
              'n',
              'quiet',
              path.map(point => point.n),
              { area: true, width: 1.2 },
            ),
          ],
    rules: { x: [0], y: [] },
    empty: 'No event has bars around it to be counted.',
  }
}

/** Returns over one window after the events, with those after any bar behind them; both as shares of their own number. */
export function windowHistogram({ window, histogram, n, mean, base }: StudyWindow): Chart {
  const chart = newChart(`histogram-${window}`, `Returns over ${window}`, 'return', 'share')
  const none = { ...chart, height: 190, width: 430, empty: `No window of ${window} has elapsed.` }
  if (histogram === null || n === 0) return none
  const { edges, events, base: any } = histogram
  return {
    ...none,
    description: `${counted(n, 'return')} after events, mean ${gain(mean)}, and ${counted(base.n, 'return')} after any bar, mean ${gain(base.mean)}.`,
    x: { unit: 'return', values: middles(edges) },
    y: { unit: 'share', log: false, zero: true },
    bars: [
      { label: `after events, n ${n}`, tone: 'accent', edges, values: shares(events), outline: false },
      { label: `after any bar, n ${base.n}`, tone: 'quiet', edges, values: shares(any), outline: true },
    ],
    rules: { x: [0], y: [] },
  }
}

/** Net returns of closed trades. */
export function tradeHistogram(trades: readonly Trade[]): Chart {
  const net = trades.filter(({ exit }) => exit !== 'open').map(trade => trade.net)
  const chart = newChart('trade-returns', 'Net returns of the trades', 'return', 'count')
  const none = { ...chart, height: 200, empty: 'No trade is closed.' }
  if (net.length === 0) return none
  const edges = roundEdges(net, Math.min(30, Math.max(6, Math.ceil(Math.sqrt(net.length) * 1.5))))
  return {
    ...none,
    description: `Net returns of ${counted(net.length, 'closed trade')}, from ${gain(Math.min(...net))} to ${gain(Math.max(...net))}.`,
    x: { unit: 'return', values: middles(edges) },
    y: { unit: 'count', log: false, zero: true },
    bars: [{ label: 'trades', tone: 'accent', edges, values: counts(net, edges), outline: false }],
    rules: { x: [0], y: [] },
  }
}

/** p-values of all tested cells; were there nothing to find, each of the twenty bins would hold as many. */
export function pValueHistogram(cells: readonly SweepCell[]): Chart {
  const p = cells.flatMap(cell => (cell.p === null ? [] : [cell.p]))
  const edges = Array.from({ length: 21 }, (_, i) => i / 20)
  const values = counts(p, edges)
  const bars: Bars[] = [{ label: 'cells', tone: 'accent', edges, values, outline: false }]
  return {
    ...newChart('p-values', 'p-values of all tested cells', 'p', 'count'),
    height: 230,
    description: `p-values of ${counted(p.length, 'tested cell')}: ${share((values[0] ?? 0) / (p.length || 1))} lie below 0.05, where chance alone puts 5.0%.`,
    x: { unit: 'p', values: middles(edges) },
    y: { unit: 'count', log: false, zero: true },
    bars:
      p.length === 0
        ? []
        : [
            ...bars,
            { label: 'by chance alone', tone: 'quiet', edges, values: values.map(() => p.length / 20), outline: true },
          ],
    empty: 'No cell has a p-value.',
  }
}

function shares(counts: readonly number[]): number[] {
  const all = counts.reduce((sum, n) => sum + n, 0)
  return counts.map(n => (all === 0 ? 0 : Number((n / all).toPrecision(5))))
}

function middles(edges: readonly number[]): number[] {
  return edges.slice(1).map((edge, i) => Number(((edge + edges[i]!) / 2).toPrecision(6)))
}

function roundEdges(values: readonly number[], bins: number): number[] {
  const least = values.reduce((a, b) => Math.min(a, b))
  const greatest = values.reduce((a, b) => Math.max(a, b))
  if (least === greatest) return [least - 0.005, least + 0.005]
  const [first = 0, second = 0.01] = roundSteps(least, greatest, bins)
  const step = second - first
  const from = Math.floor(least / step)
  const to = Math.max(Math.ceil(greatest / step), Math.floor(greatest / step) + 1)
  return Array.from({ length: to - from + 1 }, (_, i) => Number(((from + i) * step).toPrecision(12)))
}

/** How many lie in each bin; what lies on an edge belongs to the bin above, the last bin has both its edges. */
function counts(values: readonly number[], edges: readonly number[]): number[] {
  const found = edges.slice(1).map(() => 0)
  for (const value of values) {
    const above = edges.findIndex(edge => edge > value)
    found[above < 0 ? found.length - 1 : Math.max(0, above - 1)]!++
  }
  return found
}

/** One line of a forest plot: an estimate and its interval. */
interface Estimate {
  label: string
  /** Beside the label, such as n. */
  note: string
  value: number | null
  low: number | null
  high: number | null
  grey: boolean
  /** Stands in place of an estimate that is null. */
  reason: string
}

/**
 * Estimates under each other with their intervals, and a line where there is no difference. Words stand beside the
 * drawing, on a narrow page above it; the drawing itself is in percent of its width, so that both halves of it are in
 * sight on any page. Needs no script.
 *
 * @param names room that they take: `short` for a window, `long` for a cell
 */
export function forest(id: string, title: string, estimates: readonly Estimate[], names: 'short' | 'long'): Html {
  const known = estimates.flatMap(({ value, low, high }) => [value, low, high].filter(v => v !== null))
  const least = Math.min(0, ...known)
  const greatest = Math.max(0, ...known)
  const air = (greatest - least) * 0.05 || 0.01
  const x = scale(least - air, greatest + air, 0, 100)
  const steps = roundSteps(x.from, x.to, 6)
  return html`<ul class="forest ${names}" id="${id}" aria-label="${title}">
${estimates.map(estimate => row(estimate, steps, x))}
<li>${axis(steps, x)}</li>
</ul>`
}

function row({ label, note, value, low, high, grey, reason }: Estimate, steps: readonly number[], x: Scale): Html {
  const told = value === null ? reason : `${gain(value)}${low === null ? '' : ` [${gainRange(low, high)}]`}`
  const tone = grey || value === null ? 'quiet' : value >= 0 ? 'gain' : 'loss'
  const at = (place: number): string => percent(x.place(place))
  const whisker = (from: number, to: number): Html =>
    html`<g class="line ${tone}"><line x1="${at(from)}" x2="${at(to)}" y1="13" y2="13"/><line x1="${at(from)}" x2="${at(from)}" y1="9" y2="17"/><line x1="${at(to)}" x2="${at(to)}" y1="9" y2="17"/></g>`
  return html`<li><strong>${label}</strong><span class="note">${note}</span><svg class="strip" aria-hidden="true">
<g class="grid">${steps.map(step => upright(at(step)))}</g><g class="rule">${upright(at(0))}</g>
${low !== null && high !== null && whisker(low, high)}${value !== null && html`<circle class="fill ${tone}" cx="${at(value)}" cy="13" r="4.5"/>`}
</svg><span class="told">${told}</span></li>`
}

function upright(at: string): Html {
  return html`<line x1="${at}" x2="${at}" y1="0" y2="100%"/>`
}

function axis(steps: readonly number[], x: Scale): Html {
  const step = steps.length > 1 ? steps[1]! - steps[0]! : 1
  const inside = steps.filter(at => x.place(at) > EDGE && x.place(at) < 100 - EDGE)
  return html`<svg class="strip labels" aria-hidden="true">${inside.map(at => html`<text x="${percent(x.place(at))}" y="13" text-anchor="middle">${axisLabel('return', at, step)}</text>`)}</svg>`
}

/** Nearer to an end a label would be cut. */
const EDGE = 4

function percent(place: number): string {
  return `${Math.round(place * 100) / 100}%`
}

interface Stack {
  label: string
  note: string
  /** In the order of PERFORMANCES. */
  counts: readonly number[]
  /** What is compared with: paler. */
  pale: boolean
}

/** A narrower part has no room for its share. */
const LEAST_TOLD = 7

/** Shares of the seven aftermath bands, a bar a row, in percent of the width that the page has. Needs no script. */
export function stacked(id: string, title: string, stacks: readonly Stack[]): Html {
  return html`<ul class="forest short stacked" id="${id}" aria-label="${title}">
${stacks.map(stackedRow)}
</ul>
<ul class="legend">${PERFORMANCES.map((name, i) => html`<li><span class="swatch block out-${i}"></span>${words(name)}</li>`)}</ul>`
}

function stackedRow({ label, note, counts, pale }: Stack): Html {
  const all = counts.reduce((sum, n) => sum + n, 0)
  let x = 0
  const parts = counts.map((n, i) => {
    const wide = all === 0 ? 0 : (100 * n) / all
    const from = x
    x += wide
    return html`${
      wide > 0 &&
      html`<rect class="out-${i}" x="${cut(from)}%" y="3" width="${cut(wide)}%" height="18"${pale && html` opacity="0.5"`}><title>${words(PERFORMANCES[i]!)}: ${n} of ${all}</title></rect>${
        wide > LEAST_TOLD &&
        html`<text class="inside${!pale && (i === 0 || i === 6) && ' end'}" x="${cut(from + wide / 2)}%" y="16" text-anchor="middle">${share(n / all, 0)}</text>`
      }`
    }`
  })
  return html`<li><strong>${label}</strong><span class="note">${note}</span><svg class="strip" role="img" aria-label="${counts.map((n, i) => `${words(PERFORMANCES[i]!)} ${n}`).join(', ')}">${parts}</svg></li>`
}

function cut(value: number): number {
  return Math.round(value * 100) / 100
}
