import type { PullPlan } from '../../local/pull/plan.js'
import type { Price } from '../../local/pull/price.js'
import type { PullReport, SeriesReport } from '../../local/pull/report.js'
import { type CreditsLeft, PAGE } from '../../local/pull/source.js'
import type { Answer } from '../output.js'
import { count, whole } from '../render/amounts.js'
import type { Row } from '../render/records.js'
import type { Cell, Table } from '../render/table.js'

/** More series than this are told ticker by ticker, and more tickers than this together. */
const LISTED = 30

/** What a pull has brought. */
export function pullAnswer(report: PullReport): Answer {
  const { url: source, credits, left, price, stopped } = report
  const reports = report.series.toSorted(byTicker)
  const series = reports.map(one => rowOf(one, source))
  return {
    document: () => ({
      schema: 'bands.pull/1',
      source,
      credits,
      credits_left: left,
      credits_missing: price,
      stopped,
      series,
    }),
    columns: [
      ...['ticker', 'timeframe', 'field', 'outcome', 'events', 'new', 'changed', 'credits', 'query_range'],
      ...['source', 'pulled_at', 'as_of', 'complete', 'note'],
    ],
    rows: () => series,
    blocks: () => [{ title: [`pulled from ${source}`], table: seriesTable(reports), notes: notes(report) }],
  }
}

/** They were asked for in another order. */
function byTicker(a: SeriesReport, b: SeriesReport): number {
  return a.ticker < b.ticker
    ? -1
    : a.ticker > b.ticker
      ? 1
      : Number(a.timeframe > b.timeframe) - Number(a.timeframe < b.timeframe)
}

function rowOf({ added, refusal, outcome, ...told }: SeriesReport, source: string) {
  const { ticker, timeframe, field, events, changed, credits, query_range, pulled_at, as_of, note } = told
  return {
    ...{ ticker, timeframe, field, outcome, events, new: added, changed, credits, query_range },
    ...{ source, pulled_at, as_of, complete: outcome !== 'unfinished' && outcome !== 'refused' },
    note: refusal?.message ?? note,
  }
}

/** What a pull would do; nothing was asked. */
export function planAnswer({ url, series, price }: PullPlan): Answer {
  const rows = series.map(({ ticker, timeframe, field, due, price: { least, most } }) => {
    return { ticker, timeframe, field, due, credits_least: least, credits_most: most }
  })
  return {
    document: () => ({ schema: 'bands.pull-plan/1', source: url, credits: price, series: rows }),
    columns: ['ticker', 'timeframe', 'field', 'due', 'credits_least', 'credits_most'],
    rows: (): Row[] => rows,
    blocks: () => [{ notes: [planSentence({ url, series, price }, null)] }],
  }
}

/** `42 series of https://…: 40 new, 2 to be brought up to date; at least 42 credits, one more for each further 100 events.` */
export function planSentence(
  { url, series, price }: Pick<PullPlan, 'url' | 'series' | 'price'>,
  left: CreditsLeft | null,
): string {
  const parts = (['new', 'rest', 'update', 'done'] as const)
    .map(due => ({ due, number: series.filter(planned => planned.due === due).length }))
    .filter(({ number }) => number > 0)
    .map(({ due, number }) => `${whole(number)} ${DUE[due]}`)
  const further = price.most === null ? `, one more for each further ${PAGE} events` : ''
  return `${whole(series.length)} series of ${url}: ${parts.join(', ')}; ${priceWords(price)}${further}${leftWords(left)}.`
}

const DUE = { new: 'new', rest: 'to be gone on with', update: 'to be brought up to date', done: 'done before' } as const

/** `12 credits`, `at least 12 credits`, `12 to 14 credits`. */
export function priceWords({ least, most }: Price): string {
  if (most === least) return count(least, 'credit')
  return most === null ? `at least ${count(least, 'credit')}` : `${whole(least)} to ${count(most, 'credit')}`
}

/** `; 9,950 left today and 50 this hour`; nothing where the server does not tell. */
export function leftWords(left: CreditsLeft | null): string {
  const parts = [
    ...(left?.day == null ? [] : [`${whole(left.day)} left today`]),
    ...(left?.hour == null ? [] : [`${whole(left.hour)} this hour`]),
  ]
  return parts.length === 0 ? '' : `; ${parts.join(' and ')}`
}

function notes({ series, credits, left }: PullReport): string[] {
  const told = series.filter(({ note, refusal }) => note !== null || refusal !== null)
  const shown = told
    .slice(0, LISTED)
    .map(one => `${one.ticker} ${one.timeframe} ${one.field}: ${one.refusal?.message ?? one.note}`)
  const more = told.length > shown.length ? [`and ${whole(told.length - shown.length)} more (--json has all)`] : []
  return [...shown, ...more, `${count(credits, 'credit')} spent${leftWords(left)}`]
}

function seriesTable(series: readonly SeriesReport[]): Table {
  return {
    columns: [
      { title: 'TICKER' },
      { title: 'SERIES' },
      { title: 'OUTCOME', spare: 1 },
      { title: 'EVENTS', align: 'right' },
      { title: 'NEW', align: 'right', spare: 2 },
      { title: 'CREDITS', align: 'right', spare: 3 },
      { title: 'AS OF', spare: 4 },
    ],
    rows: groups(series).map(([ticker, own]): Cell[] => [
      ticker,
      own.length === 1 ? `${own[0]!.timeframe} ${own[0]!.field}` : `${whole(own.length)} series`,
      outcomes(own),
      ...(['events', 'added', 'credits'] as const).map(key => whole(own.reduce((sum, one) => sum + one[key], 0))),
      [...new Set(own.map(({ as_of }) => as_of ?? '-'))].sort()[0]!,
    ]),
  }
}

function groups(series: readonly SeriesReport[]): [string, SeriesReport[]][] {
  if (series.length <= LISTED) return series.map(one => [one.ticker, [one]])
  const found = new Map<string, SeriesReport[]>()
  for (const one of series) found.set(one.ticker, [...(found.get(one.ticker) ?? []), one])
  return found.size <= LISTED ? [...found] : [[count(found.size, 'ticker'), [...series]]]
}

/** `updated`, or `20 pulled, 1 refused`. */
function outcomes(series: readonly SeriesReport[]): string {
  const numbers = new Map<string, number>()
  for (const { outcome } of series) numbers.set(outcome, (numbers.get(outcome) ?? 0) + 1)
  if (numbers.size === 1) return series[0]!.outcome
  return [...numbers].map(([outcome, number]) => `${whole(number)} ${outcome}`).join(', ')
}
