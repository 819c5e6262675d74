import * as z from 'zod'
import { BadData, InvalidParameter } from '../../../errors.js'
import { type Day, formatDay, parseDay } from '../../../model/day.js'
import type { ReadOptions } from '../../feed.js'
import { shown } from '../../value/shown.js'
import { AS_FILED } from '../assumed.js'
import { documentTicker } from '../document-ticker.js'
import { shaped } from '../shape.js'
import type { FactsSink } from '../sink.js'
import { Amount } from './values.js'

const TYPES = {
  revenue: 'quarterlyTotalRevenue',
  eps: 'quarterlyDilutedEPS',
  equity: 'quarterlyStockholdersEquity',
  shares: 'quarterlyOrdinarySharesNumber',
} as const
type Figure = keyof typeof TYPES

const Point = z.object({ asOfDate: z.iso.date().transform(text => parseDay(text)!), reportedValue: Amount })
const Points = z.array(Point.nullable())
const Series = z.object({
  timeseries: z.object({
    result: z
      .array(z.looseObject({ meta: z.object({ symbol: z.array(z.string()), type: z.array(z.string()) }) }))
      .nullish(),
    error: z.object({ description: z.string() }).nullish(),
  }),
})

/**
 * Loads the quarters of a time series of statements as reports, all known on the day of the download, and returns the
 * number of its figures. Throws BadData when it has no quarters, or nothing tells when or of whom they are.
 */
export function readTimeseries(file: string, root: unknown, options: ReadOptions, sink: FactsSink): number {
  const { result, error } = shaped(file, Series, root, 'a time series of Yahoo').timeseries
  if (error)
    throw new BadData({ file }, `there are no facts in it, only a message of Yahoo: ${shown(error.description)}`)
  const quarters = quartersIn(file, result ?? [])
  const reported = [...quarters].filter(([, { revenue, eps }]) => revenue !== undefined || eps !== undefined)
  if (reported.length === 0) throw new BadData({ file }, refusal(quarters.size > 0))
  const { known } = options
  if (known === undefined) {
    const what = 'the statements do not tell when they became known'
    throw new BadData({ file }, `${what}; give the day of the download with --known DATE`)
  }
  const symbols = [...new Set((result ?? []).flatMap(({ meta }) => meta.symbol))]
  if (symbols.length > 1) throw new BadData({ file }, `it has statements of several tickers (${symbols.join(', ')})`)
  const ticker = documentTicker(file, symbols[0] ?? null, options.ticker)
  for (const [period_end, { revenue = null, eps = null, equity, shares }] of reported.sort(([a], [b]) => a - b)) {
    if (known < period_end) throw tooEarly(known, period_end)
    const book_value_ps = equity !== undefined && shares !== undefined && shares > 0 ? equity / shares : null
    sink.add('reports', ticker, { period_end, known, session: null, eps, revenue, book_value_ps, basis: 'filed' })
    const place = formatDay(period_end)
    sink.remark(`reports count as known on the day of the download, ${formatDay(known)}, whenever they came out`, place)
    sink.remark('ends of quarters may be those of the month: load either these or filings of one ticker', place)
    if (eps !== null || book_value_ps !== null) sink.remark(AS_FILED, place)
  }
  return [...quarters.values()].reduce((count, figures) => count + Object.keys(figures).length, 0)
}

function quartersIn(
  file: string,
  result: readonly { meta: { type: string[] }; [type: string]: unknown }[],
): Map<Day, Partial<Record<Figure, number>>> {
  const quarters = new Map<Day, Partial<Record<Figure, number>>>()
  for (const [index, series] of result.entries())
    for (const figure of Object.keys(TYPES) as Figure[]) {
      const type = TYPES[figure]
      if (!series.meta.type.includes(type) || series[type] === undefined) continue
      const at = ['timeseries', 'result', String(index), type]
      for (const point of shaped(file, Points, series[type], 'a time series of Yahoo', at)) {
        if (point === null) continue
        const figures = quarters.get(point.asOfDate) ?? {}
        figures[figure] = point.reportedValue
        quarters.set(point.asOfDate, figures)
      }
    }
  return quarters
}

function refusal(hasBalances: boolean): string {
  const types = `${TYPES.revenue} and ${TYPES.eps}`
  return hasBalances
    ? `balance sheets alone make no report, as the latest report counts as a whole; fetch them together with ${types}`
    : `it has none of the figures of quarters of which reports are made (${types})`
}

function tooEarly(known: Day, end: Day): InvalidParameter {
  const [value, allowed] = [formatDay(known), `a day after ${formatDay(end)}, the end of the latest quarter`]
  return new InvalidParameter(`known ${value} is before the end of a quarter in the document (${formatDay(end)}).`, {
    param: 'known',
    value,
    allowed,
  })
}
