import {
  CandlestickSeries,
  createChart,
  createSeriesMarkers,
  HistogramSeries,
  type IChartApi,
  type ISeriesApi,
  type ISeriesMarkersPluginApi,
  TickMarkType,
  type Time,
} from 'lightweight-charts'
import type { ExportedBar, HistoricEvent } from '../../../core/model/event.js'
import { bandTone } from '../../present/chart.js'
import { MONTHS } from '../../report/scale.js'

/** What the chart shows of a ticker. */
export interface ChartContent {
  bars: readonly ExportedBar[]
  /** Every change of the field, oldest first. */
  changes: readonly HistoricEvent[]
  /** The changes that are the question. */
  events: readonly HistoricEvent[]
  /** The bands of the field in order, for their colours. */
  bands: readonly string[]
}

/** The window that colours an arrow. */
export const ARROW_WINDOW = '20d'

/** Bars that are shown at first, and before and after a chosen event. */
const BARS_AT_FIRST = 260
const BARS_AROUND_EVENT = { before: 60, after: 120 }

/** Candles with a ribbon of bands below, and an arrow at each event. */
export class PriceChart {
  readonly #chart: IChartApi
  readonly #candles: ISeriesApi<'Candlestick'>
  readonly #ribbon: ISeriesApi<'Histogram'>
  readonly #marks: ISeriesMarkersPluginApi<Time>
  #shown: ChartContent = { bars: [], changes: [], events: [], bands: [] }

  /** @param onMove gets the days in sight */
  constructor(box: HTMLElement, onMove: (days: string) => void) {
    this.#chart = createChart(box, {
      autoSize: true,
      layout: { attributionLogo: false, background: { color: 'transparent' }, panes: { enableResize: false } },
      rightPriceScale: { borderVisible: false },
      timeScale: { borderVisible: false, rightOffset: 4, tickMarkFormatter: tickText },
    })
    this.#candles = this.#chart.addSeries(CandlestickSeries, { borderVisible: false, priceLineVisible: false })
    const ribbon = { type: 'custom' as const, formatter: () => '' }
    this.#ribbon = this.#chart.addSeries(
      HistogramSeries,
      { priceLineVisible: false, lastValueVisible: false, priceFormat: ribbon },
      1,
    )
    const [prices, below] = this.#chart.panes()
    prices!.setStretchFactor(1)
    below!.setStretchFactor(0.08)
    this.#ribbon.priceScale().applyOptions({ scaleMargins: { top: 0, bottom: 0 } })
    this.#marks = createSeriesMarkers(this.#candles, [])
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#paint())
    this.#chart.timeScale().subscribeVisibleLogicalRangeChange(() => onMove(this.#days))
    this.#paint()
  }

  /** Shows other content. New bars are shown from their end; with the same bars the visible days stay. */
  show(shown: ChartContent): void {
    const isOther = shown.bars !== this.#shown.bars
    if (!isOther && shown.changes === this.#shown.changes && shown.events === this.#shown.events) return
    this.#shown = shown
    if (isOther) {
      this.#candles.setData(
        shown.bars.map(({ date: time, open, high, low, close }) => ({ time, open, high, low, close })),
      )
      const to = shown.bars.length + 4
      this.#chart.timeScale().setVisibleLogicalRange({ from: to - BARS_AT_FIRST, to })
    }
    this.#paintBands()
  }

  /** Moves to a day, and marks it. */
  moveTo(date: string): void {
    const at = this.#shown.bars.findIndex(bar => bar.date === date)
    if (at < 0) return
    const range = { from: at - BARS_AROUND_EVENT.before, to: at + BARS_AROUND_EVENT.after }
    this.#chart.timeScale().setVisibleLogicalRange(range)
    // The chart moves with the next frame, and the cross is placed where the day is then.
    const { close } = this.#shown.bars[at]!
    requestAnimationFrame(() =>
      requestAnimationFrame(() => this.#chart.setCrosshairPosition(close, date, this.#candles)),
    )
  }

  /** Moves by a part of the days in sight; back for less than 0. */
  scroll(part: number): void {
    const { from, to } = this.#range
    const step = (to - from) * part
    this.#chart.timeScale().setVisibleLogicalRange({ from: from + step, to: to + step })
  }

  /** Shows more bars, or fewer for less than 1. */
  zoom(times: number): void {
    const { from, to } = this.#range
    const middle = (from + to) / 2
    const half = ((to - from) / 2) * times
    this.#chart.timeScale().setVisibleLogicalRange({ from: middle - half, to: middle + half })
  }

  showAll(): void {
    this.#chart.timeScale().fitContent()
  }

  /** The first and the last day in sight. */
  get #days(): string {
    const { from, to } = this.#range
    const { bars } = this.#shown
    const day = (at: number): string => bars[Math.min(Math.max(0, Math.round(at)), bars.length - 1)]?.date ?? ''
    return bars.length === 0 ? '' : `${day(from)} to ${day(to)}`
  }

  get #range(): { from: number; to: number } {
    return this.#chart.timeScale().getVisibleLogicalRange() ?? { from: 0, to: 1 }
  }

  /** Applies the colours of the style sheet, which differ in dark mode. */
  #paint(): void {
    const [ink, grid, gain, loss] = ['quiet', 'grid', 'gain', 'loss'].map(colour)
    this.#chart.applyOptions({
      layout: { textColor: ink!, panes: { separatorColor: grid!, separatorHoverColor: grid! } },
      grid: { vertLines: { color: grid! }, horzLines: { color: grid! } },
    })
    this.#candles.applyOptions({ upColor: gain!, downColor: loss!, wickUpColor: gain!, wickDownColor: loss! })
    this.#paintBands()
  }

  #paintBands(): void {
    const { bars, events, bands } = this.#shown
    const codes = bandCodes(this.#shown)
    const tones = bands.map((_, code) => colour(bandTone(code, bands.length)))
    this.#ribbon.setData(
      bars.map(({ date: time }, t) => ({ time, value: 1, color: tones[codes[t] ?? -1] ?? 'transparent' })),
    )
    const [gain, loss, quiet] = ['gain', 'loss', 'quiet'].map(colour)
    this.#marks.setMarkers(
      events.map(({ date: time, returns }) => {
        const after = returns?.[ARROW_WINDOW] ?? null
        const color = after === null ? quiet! : after >= 0 ? gain! : loss!
        return { time, position: 'belowBar', shape: 'arrowUp', color }
      }),
    )
  }
}

/** For each bar the index of its band in `bands`; undefined before the first change. */
function bandCodes({ bars, changes, bands }: ChartContent): (number | undefined)[] {
  const indexByDate = new Map(bars.map(({ date }, i) => [date, i]))
  const codes = new Array<number | undefined>(bars.length)
  for (const { date, band, duration_days: days } of changes) {
    const from = indexByDate.get(date)
    if (from === undefined) continue
    const to = days == null ? bars.length : from + days
    codes.fill(bands.indexOf(band), from, to)
  }
  return codes
}

/** `2018`, `Feb` or `2 Feb`. */
function tickText(time: Time, type: TickMarkType): string {
  const [year, month, day] = String(time).split('-')
  const name = MONTHS[Number(month) - 1]!
  return type === TickMarkType.Year ? year! : type === TickMarkType.Month ? name : `${Number(day)} ${name}`
}

/** The value of a colour variable of the style sheet. */
function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
}
