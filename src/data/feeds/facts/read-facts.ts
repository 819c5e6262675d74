import { BadData, parameter, sentence } from '../../../core/errors.js'
import type { FactValue } from '../../../core/model/facts.js'
import type { Dialect } from '../dialect.js'
import type { FactsResult } from '../feed.js'
import { indexOfName, isNameOfRole, parseTickerOption } from '../layout.js'
import { normalizedColumnName } from '../names.js'
import { latestBar } from '../price-rows.js'
import { Rejections } from '../refusals.js'
import type { TextTable } from '../text-table.js'
import { DateReader, isNullWord } from '../values.js'
import type { FactsFormat } from './formats.js'
import { factsFormatOf, misspeltColumns } from './kinds.js'
import { BadCell, type FactsPlan, RowReader, valueKind } from './rows.js'
import { FactsSink } from './sink.js'

/** Reads a table of facts in the layout of its header, streaming row after row. */
export async function readFactsTable(table: TextTable): Promise<FactsResult> {
  const { file, dialect, hints, options } = table
  const format = factsFormatOf(table)
  if (hints.format !== undefined && hints.format !== 'csv')
    throw new BadData({ file }, `this is not ${hints.format}; it looks like ${format.name}`)
  const plan = await planFacts(table, format)
  const rejections = new Rejections(file, options.skipBadRows ?? false)
  const sink = new FactsSink(plan.latest)
  remarkMisspeltColumns(format, dialect, sink)
  const reader = new RowReader(plan, format.reads)
  const results: unknown[] = []
  let rows = 0
  await table.eachRow((row, rowFault) => {
    rows++
    try {
      reader.moveTo(row, rowFault)
      const result = format.row(reader.columns, sink)
      if (result !== undefined) results.push(result)
    } catch (error) {
      if (!(error instanceof BadCell)) throw error
      rejections.add(() => reader.rejected(error))
    }
  })
  rejections.throwIfBad(rows)
  format.end?.(results, sink)
  const described = describeFactsTable(table, plan)
  const { rows: rejected } = rejections
  return sink.result(file, format.name, rows, { dialect: described, header: dialect.header, rejected })
}

/** Decides how to read every row, from the header, the first rows and the user's hints. */
async function planFacts(table: TextTable, format: FactsFormat): Promise<FactsPlan> {
  const { file, dialect } = table
  const columnIndexes = columnIndexesOf(table, format)
  const tickerColumn = tickerColumnOf(dialect.names)
  const tickerHint = parseTickerOption(table.options.ticker)
  if (tickerColumn === undefined && tickerHint === null)
    throw new BadData(table.top, sentence`no column names the ticker; give it with ${parameter('ticker')}`)
  const columns = Object.entries(format.reads).flatMap(([name, column]): ValueColumn[] => {
    const index = columnIndexes.get(normalizedColumnName(name))
    return index === undefined ? [] : [{ name, kind: valueKind(column), index }]
  })
  const dateColumns = columns.filter(({ kind }) => kind === 'date')
  const dates = await dateReaders(table, dateColumns)
  const numeric = columns.filter(({ kind }) => NUMERIC_KINDS.has(kind))
  const fractions = numeric.filter(column => !isWholeNumber(column))
  const wholeNumbers = numeric.filter(isWholeNumber)
  const decimal = table.decimalSeparator(indexesOf(fractions), indexesOf(wholeNumbers))
  const { delimiter } = dialect
  const latest = latestBar(table.options.today)
  return { file, delimiter, latest, columnIndexes, tickerColumn, tickerHint, dates, decimal }
}

interface ValueColumn {
  name: string
  kind: FactValue
  index: number
}

const indexesOf = (columns: readonly ValueColumn[]): number[] => columns.map(({ index }) => index)

/** A date reader for each date column, by its name. An empty column gets the user's date format, or YYYY-MM-DD. */
async function dateReaders(table: TextTable, dateColumns: readonly ValueColumn[]): Promise<Record<string, DateReader>> {
  const { dateFormat = 'YYYY-MM-DD' } = table.hints
  const readers: Record<string, DateReader> = {}
  for (const column of dateColumns) {
    const isEmpty = table.dialect.samples.every(fields => isNullWord(fields[column.index] ?? ''))
    const otherIndexes = indexesOf(dateColumns).filter(index => index !== column.index)
    readers[column.name] = isEmpty ? new DateReader(dateFormat) : await table.dateReader(column, otherIndexes)
  }
  return readers
}

/** Index of each column that the format reads; throws BadData for a repeated name. */
function columnIndexesOf({ dialect, top }: TextTable, format: FactsFormat): Map<string, number> {
  const fileNames = dialect.names.map(normalizedColumnName)
  const formatNames = Object.keys(format.reads).map(normalizedColumnName)
  const indexes = formatNames.map(name => [name, indexOfName(top, dialect.names, fileNames, name)] as const)
  return new Map(indexes.filter(([, index]) => index >= 0))
}

/** Index of the ticker column; undefined if there is none. Columns `name` and `code` never hold tickers here. */
function tickerColumnOf(names: readonly string[]): number | undefined {
  const isTickerName = names.map(
    name => isNameOfRole(name, ['ticker']) && !/^(name|code)$/.test(normalizedColumnName(name)),
  )
  const exact = names.findIndex(name => normalizedColumnName(name) === 'ticker')
  const index = exact >= 0 ? exact : isTickerName.indexOf(true)
  return index < 0 ? undefined : index
}

const NUMERIC_KINDS: ReadonlySet<FactValue> = new Set(['number', 'positive', 'count', 'return'])

/** Whether the numbers of a column never have thousandths: a comma in them is unambiguous. */
function isWholeNumber({ name, kind }: Pick<ValueColumn, 'name' | 'kind'>): boolean {
  return kind === 'count' || /^(revenue|market_cap|shares|value|days_to_file)$/.test(name)
}

/** Adds a remark for each column that is not read because its name seems misspelt. */
function remarkMisspeltColumns(format: FactsFormat, dialect: Dialect, sink: FactsSink): void {
  for (const { word, column } of misspeltColumns(dialect.names, Object.keys(format.reads)))
    sink.remark(`a column of the file is not read, and its name is like ${column}`, word)
}

/** How a table of facts is written and read, in words by topic, such as `columns` and `dates`. */
function describeFactsTable(table: TextTable, plan: FactsPlan): Record<string, string> {
  const indexesRead = new Set([plan.tickerColumn, ...plan.columnIndexes.values()])
  const names = table.dialect.names.map(name => name || '(unnamed)')
  const unreadNames = names.filter((_, i) => !indexesRead.has(i))
  const dates = new Set(Object.values(plan.dates).map(({ format }) => format))
  const topics: Record<string, string> = { columns: names.filter((_, i) => indexesRead.has(i)).join(', ') }
  if (unreadNames.length > 0) topics['columns not read'] = unreadNames.join(', ')
  if (dates.size > 0) topics.dates = [...dates].join(', ')
  return table.describe(topics, plan.decimal)
}
