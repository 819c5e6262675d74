import type { EventHistory, ExportedBar } from '../../../core/model/event.js'
import { bandTone } from '../../present/chart.js'
import { describeEvents } from '../../present/events.js'
import { ARROW_WINDOW, type ChartContent, PriceChart } from './chart.js'
import { html, type Page } from './page.js'
import { drawTable } from './table.js'

type NotedHistory = EventHistory & { notes: string[] }

/** The right side of the page: the price chart, the later returns, and every event of the ticker. */
export function subject(page: Page) {
  const { answers } = page
  const { ticker, field, band, when } = page.asked
  const bars = answers.of<ExportedBar[]>('bars', { tickers: [ticker] })
  const about = field === '' ? { ticker, when } : { ticker, field }
  const history = answers.of<NotedHistory>('history', about)
  const what = field === '' ? { when } : { field, band }
  const followed = answers.markup('tally', { tickers: [ticker], ...what })
  const shown = shownOf(page, bars.value, history.value)
  const name = field === '' ? when : `${field} = ${band}`
  return html`<main id="main">
    <h2 class="subject">${ticker} <span>${name}</span></h2>
    ${refusal(bars.refusal)}
    ${chart(page, shown)}
    ${refusal(history.refusal)}
    <div class="two">
      <section aria-labelledby="followed-title" aria-busy=${followed.isWaiting}>
        <h3 id="followed-title">Later returns</h3>
        ${refusal(followed.refusal)}
        <div class="drawn" dangerouslySetInnerHTML=${{ __html: followed.value ?? '' }}></div>
      </section>
      ${history.value !== null && eventsTable(page, history.value, shown)}
    </div>
  </main>`
}

/** A refusal, where its question was asked. */
export function refusal(text: string | null) {
  return text !== null && html`<p class="refusal" role="alert">${text}</p>`
}

let shownBefore: ChartContent | null = null
let shownFrom: readonly unknown[] = []

/** The content of the chart. Returns the same object for the same answers, so that the chart need not be drawn again. */
function shownOf(
  { asked: { field, band }, first }: Page,
  bars: ExportedBar[] | null,
  history: NotedHistory | null,
): ChartContent {
  const from = [bars, history, field, band]
  if (shownBefore !== null && from.every((one, i) => one === shownFrom[i])) return shownBefore
  const changes = history?.events ?? []
  const bands = first.fields.find(({ name }) => name === field)?.bands ?? ['false', 'true']
  shownBefore = {
    bars: bars ?? [],
    changes,
    events: changes.filter(event => field === '' || event.band === band),
    bands,
  }
  shownFrom = from
  return shownBefore
}

let drawn: { box: HTMLElement; chart: PriceChart } | null = null
let looked = ''

/** The chart is made once, and shows other data. */
function chart({ asked: { date, ticker, field, band } }: Page, shown: ChartContent) {
  const made = (box: HTMLElement | null): void => {
    if (box === null) return
    if (drawn?.box !== box) drawn = { box, chart: new PriceChart(box, days => sayDays(box, days)) }
    drawn.chart.show(shown)
    const look = `${ticker} ${field} ${band} ${date} ${shown.bars.length}`
    if (date !== '' && look !== looked) drawn.chart.moveTo(date)
    looked = look
  }
  const buttons: readonly (readonly [name: string, sign: string, act: (chart: PriceChart) => void])[] = [
    ['Earlier', '←', chart => chart.scroll(-0.25)],
    ['Later', '→', chart => chart.scroll(0.25)],
    ['Zoom in', '+', chart => chart.zoom(0.5)],
    ['Zoom out', '−', chart => chart.zoom(2)],
    ['Show all', 'all', chart => chart.showAll()],
  ]
  const key = (event: KeyboardEvent): void => {
    const act = KEYS[event.key]
    if (act === undefined || drawn === null) return
    event.preventDefault()
    act(drawn.chart)
  }
  return html`<figure class="price">
    <div class="tools" role="group" aria-label="Chart">${buttons.map(
      ([name, sign, act]) =>
        html`<button type="button" class="control" title=${name} aria-label=${name} onClick=${() => drawn && act(drawn.chart)}>${sign}</button>`,
    )}<output></output><span class="legend">${legend(shown)}</span></div>
    <div class="plot" ref=${made} tabindex="0" role="application" aria-label=${`Price of ${ticker}: arrow keys move, plus and minus zoom`} onKeyDown=${key}></div>
    <figcaption>An arrow is an event: green where the price was higher ${ARROW_WINDOW} later, red where it was lower. Below: the band of each bar.
    Chart by <a href="https://www.tradingview.com/" rel="noreferrer" target="_blank">TradingView Lightweight Charts™</a>, © 2026 TradingView, Inc.</figcaption>
  </figure>`
}

function sayDays(box: HTMLElement, days: string): void {
  box.parentElement!.querySelector('output')!.textContent = days
}

const KEYS: Readonly<Record<string, (chart: PriceChart) => void>> = {
  ArrowLeft: chart => chart.scroll(-0.1),
  ArrowRight: chart => chart.scroll(0.1),
  '+': chart => chart.zoom(0.5),
  '-': chart => chart.zoom(2),
  Escape: chart => chart.showAll(),
}

function legend({ bands }: ChartContent) {
  return bands.map((band, i) => {
    const swatch = `swatch block ${bandTone(i, bands.length)}`
    return html`<span class="key"><i class=${swatch}></i>${band.replaceAll('_', ' ')}</span>`
  })
}

/** Rows that are drawn before more are wanted. */
const MOST_ROWS = 200

function eventsTable(page: Page, history: NotedHistory, { events }: ChartContent) {
  const { ticker, field, timeframe, query_range, as_of } = history
  const newest = events.toReversed()
  const found = { ticker, field, timeframe, query_range, as_of, events: newest, total: newest.length }
  const { band } = page.asked
  const query = { ticker, field, timeframe, bands: [band], limit: newest.length }
  const [paragraph] = describeEvents(found as never, query as never, { returns: true }).paragraphs
  const table = paragraph!.parts.flatMap(part => ('table' in part ? [part.table] : []))[0]!
  const rows = [...newest.keys()].slice(0, page.typed.has('every event') ? undefined : MOST_ROWS)
  const choice = {
    isChosen: (row: number) => newest[row]!.date === page.asked.date,
    choose: (row: number) => page.ask({ date: newest[row]!.date }),
  }
  const more = (): void => {
    page.typed.set('every event', 'yes')
    page.scheduleDraw()
  }
  return html`<section aria-labelledby="events-title">
    <h3 id="events-title">${newest.length} ${newest.length === 1 ? 'event' : 'events'}</h3>
    ${history.notes.map(note => html`<p class="quiet">${note}</p>`)}
    ${newest.length > 0 && drawTable({ ...table, caption: 'Events, newest first' }, rows, choice)}
    ${rows.length < newest.length && html`<button type="button" class="control" onClick=${more}>Show all ${newest.length}</button>`}
  </section>`
}
