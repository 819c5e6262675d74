import type { EventHistory, ExportedBar } from '../../../core/model/event.js'
import { bandTone } from '../../present/chart.js'
import { describeEvents } from '../../present/events.js'
import { ARROW_WINDOW, type ChartContent, PriceChart } from './chart.js'
import { html, type Page } from './page.js'
import { drawTable } from './table.js'

type NotedHistory = EventHistory & { notes: string[] }

/** The right side of the page: the price chart, the later returns, and every event of the ticker. */
export function subjectView(page: Page) {
  const { answers } = page
  const { ticker, field, band, when } = page.question
  const bars = answers.query<ExportedBar[]>('bars', { tickers: [ticker] })
  const history = answers.query<NotedHistory>('history', field === '' ? { ticker, when } : { ticker, field })
  const event = field === '' ? { when } : { field, band }
  const tally = answers.markup('tally', { tickers: [ticker], ...event })
  const content = chartContent(page, bars.value, history.value)
  const eventText = field === '' ? when : `${field} = ${band}`
  const heading = html`<h2 class="subject">${ticker} <span>${eventText}</span></h2>`
  // Without bars the other answers are refused for the same reason.
  if (bars.refusal !== null) return html`<main id="main">${heading}${refusal(bars.refusal)}</main>`
  return html`<main id="main">
    ${heading}
    ${priceFigure(page, content)}
    ${refusal(history.refusal)}
    <div class="two">
      <section aria-labelledby="followed-title" aria-busy=${tally.isWaiting}>
        <h3 id="followed-title">Later returns</h3>
        ${refusal(tally.refusal)}
        <div class="drawn" dangerouslySetInnerHTML=${{ __html: tally.value ?? '' }}></div>
      </section>
      ${history.value !== null && eventsTable(page, history.value, content)}
    </div>
  </main>`
}

/** The message of a refused question; nothing for null. */
export function refusal(text: string | null) {
  return text !== null && html`<p class="refusal" role="alert">${text}</p>`
}

let lastContent: ChartContent | null = null
let lastInputs: readonly unknown[] = []

/**
 * The content of the chart. It is the same object for the same answers, so that the chart need not be drawn again. An
 * answer is null until it has come.
 */
function chartContent(
  { question: { field, band }, start }: Page,
  bars: ExportedBar[] | null,
  history: NotedHistory | null,
): ChartContent {
  const inputs = [bars, history, field, band]
  if (lastContent !== null && inputs.every((input, i) => input === lastInputs[i])) return lastContent
  const changes = history?.events ?? []
  const bands = start.fields.find(({ name }) => name === field)?.bands ?? ['false', 'true']
  lastContent = {
    bars: bars ?? [],
    changes,
    events: changes.filter(event => field === '' || event.band === band),
    bands,
  }
  lastInputs = inputs
  return lastContent
}

let drawnChart: { box: HTMLElement; chart: PriceChart } | null = null
/** The ticker, event and number of bars of the last drawing, as text. */
let lastDrawn = ''

/**
 * The price chart with its buttons and legend, and an <output> of the days in sight. The library's chart is made once
 * for its box, and then gets new content. It moves to the chosen event once, so that the reader can scroll.
 */
function priceFigure({ question: { date, ticker, field, band } }: Page, content: ChartContent) {
  // Called by the library when the box is made or drawn again.
  const showIn = (box: HTMLElement | null): void => {
    if (box === null) return
    const showDays = (days: string): void => {
      box.parentElement!.querySelector('output')!.textContent = days
    }
    if (drawnChart?.box !== box) drawnChart = { box, chart: new PriceChart(box, showDays) }
    drawnChart.chart.show(content)
    const drawn = `${ticker} ${field} ${band} ${date} ${content.bars.length}`
    if (date !== '' && drawn !== lastDrawn) {
      drawnChart.chart.moveTo(date)
      // The table of events is below the chart, which may be out of sight.
      box.closest('figure')!.scrollIntoView({ block: 'nearest' })
    }
    lastDrawn = drawn
  }
  const buttons: readonly (readonly [name: string, sign: string, act: (chart: PriceChart) => void])[] = [
    ['Earlier', '←', chart => chart.scroll(-0.25)],
    ['Later', '→', chart => chart.scroll(0.25)],
    ['Zoom in', '+', chart => chart.zoom(0.5)],
    ['Zoom out', '−', chart => chart.zoom(2)],
    ['Show all', 'all', chart => chart.showAll()],
  ]
  const obeyKey = (event: KeyboardEvent): void => {
    const act = CHART_ACTIONS[event.key]
    if (act === undefined || drawnChart === null) return
    event.preventDefault()
    act(drawnChart.chart)
  }
  return html`<figure class="price">
    <div class="tools" role="group" aria-label="Chart">${buttons.map(
      ([name, sign, act]) =>
        html`<button type="button" class="control" title=${name} aria-label=${name} onClick=${() => drawnChart && act(drawnChart.chart)}>${sign}</button>`,
    )}<output></output><span class="legend">${legend(content)}</span></div>
    <div class="plot" ref=${showIn} tabindex="0" role="application" aria-label=${`Price of ${ticker}: arrow keys move, plus and minus zoom`} onKeyDown=${obeyKey}></div>
    <figcaption>An arrow is an event: green where the price was higher ${ARROW_WINDOW} later, red where it was lower. Below: the band of each bar.
    Chart by <a href="https://www.tradingview.com/" rel="noreferrer" target="_blank">TradingView Lightweight Charts™</a>, © 2026 TradingView, Inc.</figcaption>
  </figure>`
}

const CHART_ACTIONS: Readonly<Record<string, (chart: PriceChart) => void>> = {
  ArrowLeft: chart => chart.scroll(-0.1),
  ArrowRight: chart => chart.scroll(0.1),
  '+': chart => chart.zoom(0.5),
  '-': chart => chart.zoom(2),
  Escape: chart => chart.showAll(),
}

/** The colour of each band with its name. */
function legend({ bands }: ChartContent) {
  return bands.map((band, i) => {
    const swatch = `swatch block ${bandTone(i, bands.length)}`
    return html`<span class="key"><i class=${swatch}></i>${band.replaceAll('_', ' ')}</span>`
  })
}

/** Rows that are drawn until the reader asks for all. */
const MOST_ROWS = 200

/** The table of the events of the question, newest first. A click chooses the event that the chart moves to. */
function eventsTable(page: Page, history: NotedHistory, { events }: ChartContent) {
  const { ticker, field, timeframe, query_range, as_of } = history
  const newestFirst = events.toReversed()
  const answer = { ticker, field, timeframe, query_range, as_of, events: newestFirst, total: newestFirst.length }
  const { band } = page.question
  const query = { ticker, field, timeframe, bands: [band], limit: newestFirst.length }
  const [paragraph] = describeEvents(answer as never, query as never, { returns: true }).paragraphs
  const { table } = paragraph!.parts.find(part => 'table' in part)!
  const rows = [...newestFirst.keys()].slice(0, page.typed.has('every event') ? undefined : MOST_ROWS)
  const choice = {
    isChosen: (row: number) => newestFirst[row]!.date === page.question.date,
    choose: (row: number) => page.ask({ date: newestFirst[row]!.date }),
  }
  const showAll = (): void => {
    page.typed.set('every event', 'yes')
    page.scheduleDraw()
  }
  return html`<section aria-labelledby="events-title">
    <h3 id="events-title">${newestFirst.length} ${newestFirst.length === 1 ? 'event' : 'events'}</h3>
    ${history.notes.map(note => html`<p class="quiet">${note}</p>`)}
    ${newestFirst.length > 0 && drawTable({ ...table, caption: 'Events, newest first' }, rows, choice)}
    ${rows.length < newestFirst.length && html`<button type="button" class="control" onClick=${showAll}>Show all ${newestFirst.length}</button>`}
  </section>`
}
