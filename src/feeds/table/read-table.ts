import { adjustmentOf } from '../adjustment.js'
import { Collector } from '../collect.js'
import type { FactsResult, ReadOptions, ReadResult } from '../feed.js'
import type { Source } from '../file/source.js'
import { checkHints, type Given } from '../hints.js'
import type { Layout } from '../layout.js'
import { describeText } from './describe.js'
import { type Dialect, detectDialect } from './dialect.js'
import { planTable, settleFormat, tableLayout } from './plan.js'
import { TablePlaces, type TablePlan, TableRows } from './read-rows.js'
import { eachRow } from './rows.js'

/** Reads a table of text: its head decides what it holds and how, then the whole file streams through. */
export async function readTable(
  source: Source,
  head: { bytes: Buffer; whole: boolean },
  options: ReadOptions,
): Promise<ReadResult | FactsResult> {
  const given = checkHints(options.hints)
  const dialect = detectDialect(source.file, head.bytes, head.whole, given)
  const layout = tableLayout(source.file, dialect)
  if (layout !== null) return readBarsTable(source, dialect, layout, given, options)
  const { readFactsTable } = await import('../facts/read-facts.js')
  return readFactsTable(source, dialect, given, options)
}

async function readBarsTable(
  source: Source,
  dialect: Dialect,
  layout: Layout,
  given: Given,
  options: ReadOptions,
): Promise<ReadResult> {
  const { file } = source
  const plan = await planTable(source, dialect, layout, given, options)
  const places = new TablePlaces(plan)
  const collector = new Collector(file, places, options.skipBadRows ?? false)
  const rows = new TableRows(plan, collector)
  const tick = () => options.onProgress?.({ bytes: source.taken(), total: source.total, rows: collector.rows })
  await eachRow(file, source.chunks(), dialect, row => rows.visit(places.at(row)), tick)
  const format = settleFormat(file, layout, rows.whole, given)
  const { order, rejected } = collector
  const { prices, note } = adjustmentOf(layout.columns.adj_close !== undefined, options.prices)
  const { tickers, warnings } = collector.finish(prices, format === 'lean equity' ? 10_000 : 1)
  const words: Record<string, string> = { ...describe(source, dialect, layout, plan), order }
  if (format === 'lean equity') words.scale = 'prices divided by 10,000'
  const counts = { rows: collector.rows, tickers, rejected, warnings }
  return { holds: 'bars', file, format, dialect: words, header: dialect.header, ...counts, adjustmentNote: note }
}

function describe(source: Source, dialect: Dialect, layout: Layout, plan: TablePlan): Record<string, string> {
  const { columns, names } = layout
  const used = Object.entries(columns).map(([role, i]) =>
    names[i] === role ? role : `${role} = ${names[i] || '(unnamed)'}`,
  )
  return {
    ...describeText(source, dialect),
    columns: used.join(', '),
    dates: plan.dates.format,
    decimal: plan.decimal === '.' ? 'point' : 'comma',
  }
}
