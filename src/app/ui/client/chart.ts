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
  /** Every change of band of the field, oldest first. */
  changes: readonly HistoricEvent[]
  /** The changes into the band of the question. */
  events: readonly HistoricEvent[]
  /** The bands of the field in order, for their colours. */
  bands: readonly string[]
}

/** The window that colours an arrow. */
export const ARROW_WINDOW = '20d'

/** Room right of the newest bar, in bars. */
const RIGHT_MARGIN = 4

/** Bars that are shown at first, and before and after a chosen event. */
const BARS_AT_FIRST = 260
const BARS_AROUND_EVENT = { before: 60, after: 120 }

/** Candles with a ribbon of bands below, and an arrow at each event. */
export class PriceChart {
  readonly #chart: IChartApi
  readonly #candles: ISeriesApi<'Candlestick'>
  readonly #ribbon: ISeriesApi<'Histogram'>
  readonly #arrows: ISeriesMarkersPluginApi<Time>
  #content: ChartContent = { bars: [], changes: [], events: [], bands: [] }

  /** @param onMove called with the first and last day in sight, as `2018-01-02 to 2018-05-11` */
  constructor(box: HTMLElement, onMove: (days: string) => void) {
    this.#chart = createChart(box, {
      autoSize: true,
      layout: { attributionLogo: false, background: { color: 'transparent' }, panes: { enableResize: false } },
      rightPriceScale: { borderVisible: false },
      timeScale: { borderVisible: false, rightOffset: RIGHT_MARGIN, tickMarkFormatter: tickText },
    })
    this.#candles = this.#chart.addSeries(CandlestickSeries, { borderVisible: false, priceLineVisible: false })
    const withoutText = { type: 'custom' as const, formatter: () => '' }
    this.#ribbon = this.#chart.addSeries(
      HistogramSeries,
      { priceLineVisible: false, lastValueVisible: false, priceFormat: withoutText },
      1,
    )
    const [pricePane, ribbonPane] = this.#chart.panes()
    pricePane!.setStretchFactor(1)
    ribbonPane!.setStretchFactor(0.08)
    this.#ribbon.priceScale().applyOptions({ scaleMargins: { top: 0, bottom: 0 } })
    this.#arrows = createSeriesMarkers(this.#candles, [])
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#paint())
    this.#chart.timeScale().subscribeVisibleLogicalRangeChange(() => onMove(this.#daysInSight))
    this.#paint()
  }

  /** Shows other content. New bars are shown from their end; with the same bars the visible days stay. */
  show(content: ChartContent): void {
    const { bars, changes, events } = content
    const hasNewBars = bars !== this.#content.bars
    if (!hasNewBars && changes === this.#content.changes && events === this.#content.events) return
    this.#content = content
    if (hasNewBars) {
      this.#candles.setData(bars.map(({ date: time, open, high, low, close }) => ({ time, open, high, low, close })))
      const end = bars.length + RIGHT_MARGIN
      this.#chart.timeScale().setVisibleLogicalRange({ from: end - BARS_AT_FIRST, to: end })
    }
    this.#paintBands()
  }

  /** Moves to a day, and marks it; does nothing for a day without a bar. */
  moveTo(date: string): void {
    const index = this.#content.bars.findIndex(bar => bar.date === date)
    if (index < 0) return
    const range = { from: index - BARS_AROUND_EVENT.before, to: index + BARS_AROUND_EVENT.after }
    this.#chart.timeScale().setVisibleLogicalRange(range)
    // The chart moves with the next frame, and the cross is placed where the day is then.
    const { close } = this.#content.bars[index]!
    requestAnimationFrame(() =>
      requestAnimationFrame(() => this.#chart.setCrosshairPosition(close, date, this.#candles)),
    )
  }

  /** Moves by a share of the bars in sight; a negative share moves to earlier bars. */
  scroll(share: number): void {
    const { from, to } = this.#rangeInSight
    const step = (to - from) * share
    this.#chart.timeScale().setVisibleLogicalRange({ from: from + step, to: to + step })
  }

  /** Multiplies the number of bars in sight. */
  zoom(times: number): void {
    const { from, to } = this.#rangeInSight
    const middle = (from + to) / 2
    const half = ((to - from) / 2) * times
    this.#chart.timeScale().setVisibleLogicalRange({ from: middle - half, to: middle + half })
  }

  showAll(): void {
    this.#chart.timeScale().fitContent()
  }

  /** The first and the last day in sight, as text; empty without bars. */
  get #daysInSight(): string {
    const { from, to } = this.#rangeInSight
    const { bars } = this.#content
    if (bars.length === 0) return ''
    const dayAt = (position: number): string => bars[Math.min(Math.max(0, Math.round(position)), bars.length - 1)]!.date
    return `${dayAt(from)} to ${dayAt(to)}`
  }

  get #rangeInSight(): { from: number; to: number } {
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

  /** Draws the ribbon of bands, and an arrow at each event in the colour of its later return. */
  #paintBands(): void {
    const { bars, events, bands } = this.#content
    const codes = bandCodes(this.#content)
    const tones = bands.map((_, code) => colour(bandTone(code, bands.length)))
    this.#ribbon.setData(
      bars.map(({ date: time }, bar) => ({ time, value: 1, color: tones[codes[bar] ?? -1] ?? 'transparent' })),
    )
    const [gain, loss, quiet] = ['gain', 'loss', 'quiet'].map(colour)
    this.#arrows.setMarkers(
      events.map(({ date: time, returns }) => {
        const laterReturn = returns?.[ARROW_WINDOW] ?? null
        let color = quiet!
        if (laterReturn !== null) color = laterReturn >= 0 ? gain! : loss!
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
    // Without a duration, the band is active on the last bar.
    const to = days == null ? bars.length : from + days
    codes.fill(bands.indexOf(band), from, to)
  }
  return codes
}

/** The text of a tick of the time axis: `2018`, `Feb` or `2 Feb`. */
function tickText(time: Time, type: TickMarkType): string {
  const [year, month, day] = String(time).split('-')
  const monthName = MONTHS[Number(month) - 1]!
  if (type === TickMarkType.Year) return year!
  return type === TickMarkType.Month ? monthName : `${Number(day)} ${monthName}`
}

/** The value of a colour variable of the style sheet. */
function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
}
