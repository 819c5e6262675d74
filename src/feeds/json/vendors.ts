import * as z from 'zod'
import { BadData } from '../../errors.js'
import type { Role } from '../layout.js'
import { shown } from '../value/shown.js'
import { barColumns, type JsonTable } from './table.js'

/** Shapes of the vendors' envelopes. The values inside are judged one by one, with their places, like those of a row. */
const Values = z.array(z.unknown())
const Chart = z.object({
  chart: z.object({
    result: z
      .array(
        z.object({
          meta: z.object({
            symbol: z.string(),
            exchangeTimezoneName: z.string().optional(),
            dataGranularity: z.string().optional(),
          }),
          timestamp: Values,
          indicators: z.object({
            quote: z
              .array(z.object({ open: Values, high: Values, low: Values, close: Values, volume: Values.optional() }))
              .min(1),
            adjclose: z.array(z.object({ adjclose: Values.optional() })).optional(),
          }),
        }),
      )
      .length(1),
  }),
})
const Failed = z.object({ chart: z.object({ error: z.object({ description: z.string() }) }) })
const Daily = z.record(z.string(), z.record(z.string(), z.unknown()))
const Meta = z.object({ 'Meta Data': z.record(z.string(), z.unknown()) })

/** A chart of Yahoo: columns beside a list of epochs. */
export function yahooTable(file: string, root: unknown): JsonTable {
  const failed = Failed.safeParse(root)
  if (failed.success)
    throw new BadData(
      { file },
      `there are no bars in it, only a message of Yahoo: ${shown(failed.data.chart.error.description)}`,
    )
  const chart = parsed(file, Chart, root, 'a chart of Yahoo')
  const { meta, timestamp, indicators } = chart.chart.result[0]!
  const { dataGranularity: step = '1d', exchangeTimezoneName: zone = 'UTC', symbol } = meta
  if (step !== '1d') throw new BadData({ file }, `these are bars of ${step}; only daily bars are imported`)
  const quote = indicators.quote[0]!
  const adjusted = indicators.adjclose?.[0]?.adjclose
  const columns: Partial<Record<Role, unknown[] | undefined>> = { ...quote, date: timestamp, adj_close: adjusted }
  const places: Partial<Record<Role, string[]>> = {
    date: ['timestamp'],
    adj_close: ['indicators', 'adjclose', '0', 'adjclose'],
  }
  const at = ['chart', 'result', 0]
  const index = (text: string) => (text === '0' ? 0 : text)
  return {
    format: 'yahoo chart json',
    symbol,
    roles: new Set((Object.keys(columns) as Role[]).filter(role => columns[role] !== undefined)),
    rows: timestamp.length,
    zone,
    stamped: true,
    keyed: false,
    value: (row, role) => columns[role]?.[row],
    path: (row, role = 'date') => [...at, ...(places[role] ?? ['indicators', 'quote', '0', role]).map(index), row],
  }
}

/** A daily time series of Alpha Vantage: an object of bars by date. */
export function alphaTable(file: string, root: unknown, series: string): JsonTable {
  const span = /weekly|monthly|intraday|\d+min/i.exec(series)?.[0]
  if (span !== undefined) {
    const what = /weekly|monthly/i.test(span) ? `${span.toLowerCase()} bars` : 'intraday bars'
    throw new BadData({ file }, `these are ${what} (${shown(series)}); only daily bars are imported`)
  }
  const meta = Meta.safeParse(root).data?.['Meta Data'] ?? {}
  const bars = parsed(file, Daily, (root as Record<string, unknown>)[series], 'a daily series of Alpha Vantage')
  const dates = Object.keys(bars)
  const names = ['date', ...new Set(dates.flatMap(date => Object.keys(bars[date]!)))]
  const columns = barColumns(file, names)
  if (columns === null)
    throw new BadData({ file }, `its bars lack open, high, low or close (${names.slice(1).join(', ')})`)
  const symbol = meta['2. Symbol'] ?? meta['2. Digital Currency Code']
  const key = (role: Role) => names[columns[role] ?? -1]
  return {
    format: 'alpha vantage json',
    symbol: typeof symbol === 'string' ? symbol : null,
    roles: new Set(Object.keys(columns) as Role[]),
    rows: dates.length,
    zone: null,
    stamped: false,
    keyed: true,
    value: (row, role) => (role === 'date' ? dates[row] : bars[dates[row]!]![key(role) ?? '']),
    path: (row, role = 'date') => [series, dates[row]!, ...(role === 'date' ? [] : [key(role) ?? ''])],
  }
}

function parsed<T extends z.ZodType>(file: string, shape: T, value: unknown, what: string): z.infer<T> {
  const result = shape.safeParse(value)
  if (result.success) return result.data
  const { path, message } = result.error.issues[0]!
  throw new BadData(
    { file },
    `this looks like ${what}, but ${path.join('.') || 'it'} is not as it should be (${message})`,
  )
}
