import { parseDay } from '../../model/day.js'
import type { Trade } from '../../research/backtest/result.js'
import type { PriceChart } from '../../research/chart.js'
import { counted, gain } from '../format.js'
import { MOST_POINTS, newChart } from './new-chart.js'
import type { Chart, Marks, Stripes } from './spec.js'
import { shortened, thinned } from './thin.js'

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
export function isWide(values: readonly (number | null)[]): boolean {
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
