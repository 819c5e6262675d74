import type { Trade } from '../../research/backtest/result.js'
import type { PriceChart } from '../../research/chart.js'
import { figure } from '../charts/figure.js'
import { eventPrice, tradedPrice } from '../charts/price.js'
import { counted } from '../format.js'
import { html } from '../html.js'
import type { Section } from '../page.js'

/** The prices with what happened on them; with trades their entries and exits, otherwise the events. */
export function prices(charts: readonly PriceChart[], tickers: readonly string[], trades?: readonly Trade[]): Section {
  const left = tickers.length - charts.length
  return {
    id: 'prices',
    title: charts.length === 1 ? 'The price' : 'The prices',
    short: charts.length === 1 ? 'Price' : 'Prices',
    body: html`<p>The strip under the line shows the band on each bar.${
      left > 0 &&
      charts.length > 0 &&
      ` Drawn are the tickers in which most happened; ${counted(left, 'other')} are in the numbers alone.`
    }</p>
${charts.length === 0 && html`<p class="empty">There are no prices to draw.</p>`}
${charts.map((chart, i) => figure(trades === undefined ? eventPrice(chart, `price-${i}`) : tradedPrice(chart, trades, `price-${i}`)))}`,
  }
}
