import { BadData, parameter, sentence } from '../../../core/errors.js'
import type { FactValue } from '../../../core/model/facts.js'
import type { Dialect } from '../dialect.js'
import type { FactsResult } from '../feed.js'
import { indexOfName, spells, tickerOption } from '../layout.js'
import { plainName } from '../names.js'
import { latestBar } from '../price-rows.js'
import { Rejections } from '../refusals.js'
import type { TextTable } from '../text-table.js'
import { DateReader, isNullWord } from '../values.js'
import type { FactsFormat } from './formats.js'
import { formatOf, misspelt } from './kinds.js'
import { BadCell, type FactsPlan, RowReader, valueKind } from './rows.js'
import { FactsSink } from './sink.js'

/** Reads a table of facts in the layout of its header, streaming row after row. */
export async function readFactsTable(table: TextTable): Promise<FactsResult> {
  const { file, dialect, hints, options } = table
  const format = formatOf(table)
  if (hints.format !== undefined && hints.format !== 'csv')
    throw new BadData({ file }, `this is not ${hints.format}; it looks like ${format.name}`)
  const plan = await planFacts(table, format)
  const rejections = new Rejections(file, options.skipBadRows ?? false)
  const sink = new FactsSink(plan.latest)
  remarkNames(format, dialect, sink)
  const reader = new RowReader(plan, format.reads)
  const results: unknown[] = []
  let rows = 0
  await table.eachRow((row, rowFault) => {
    rows++
    try {
      reader.set(row, rowFault)
      const made = format.row(reader.columns, sink)
      if (made !== undefined) results.push(made)
    } catch (error) {
      if (!(error instanceof BadCell)) throw error
      rejections.add(() => reader.rejected(error))
    }
  })
  rejections.refuse(rows)
  format.end?.(results, sink)
  const words = describe(table, plan)
  const { rows: rejected } = rejections
  return sink.result(file, format.name, rows, { dialect: words, header: dialect.header, rejected })
}

/** Decides how to read every row, from the header, the first rows and the user's hints. */
async function planFacts(table: TextTable, format: FactsFormat): Promise<FactsPlan> {
  const { file, dialect } = table
  const places = placesOf(table, format)
  const tickerColumn = tickerColumnOf(dialect.names)
  const tickerHint = tickerOption(table.options.ticker)
  if (tickerColumn === undefined && tickerHint === null)
    throw new BadData(table.top, sentence`no column names the ticker; give it with ${parameter('ticker')}`)
  const columns = Object.entries(format.reads).flatMap(([name, column]) => {
    const index = places.get(plainName(name))
    return index === undefined ? [] : [{ name, holds: valueKind(column), index }]
  })
  const dated = columns.filter(({ holds }) => holds === 'date')
  const dates: Record<string, DateReader> = {}
  for (const column of dated) {
    const empty = dialect.samples.every(fields => isNullWord(fields[column.index] ?? ''))
    const beside = dated.map(({ index }) => index).filter(index => index !== column.index)
    const { dateFormat = 'YYYY-MM-DD' } = table.hints
    dates[column.name] = empty ? new DateReader(dateFormat) : await table.dates(column, beside)
  }
  const numbers = (wanted: boolean) =>
    columns.filter(column => NUMERIC.has(column.holds) && isWhole(column) === wanted).map(({ index }) => index)
  const decimal = table.decimal(numbers(false), numbers(true))
  const { delimiter } = dialect
  const latest = latestBar(table.options.today)
  return { file, delimiter, latest, places, tickerColumn, tickerHint, dates, decimal }
}

/** Index of each column that the format reads; throws BadData for a repeated name. */
function placesOf({ dialect, top }: TextTable, format: FactsFormat): Map<string, number> {
  const plain = dialect.names.map(plainName)
  const wanted = Object.keys(format.reads).map(plainName)
  const places = wanted.map(name => [name, indexOfName(top, dialect.names, plain, name)] as const)
  return new Map(places.filter(([, index]) => index >= 0))
}

/** Columns "name" and "code" hold names and codes of many things here, never tickers. */
function tickerColumnOf(names: readonly string[]): number | undefined {
  const spelled = names.map(name => spells(name, ['ticker']) && !/^(name|code)$/.test(plainName(name)))
  const exact = names.findIndex(name => plainName(name) === 'ticker')
  const found = exact >= 0 ? exact : spelled.indexOf(true)
  return found < 0 ? undefined : found
}

const NUMERIC: ReadonlySet<FactValue> = new Set(['number', 'positive', 'count', 'return'])

/** Numbers that never have thousandths: a comma in them is unambiguous. */
function isWhole({ name, holds }: { name: string; holds: FactValue }): boolean {
  return holds === 'count' || /^(revenue|market_cap|shares|value|days_to_file)$/.test(name)
}

/** A column that is left out because of a slip in its name would be missed without a word. */
function remarkNames(format: FactsFormat, dialect: Dialect, sink: FactsSink): void {
  for (const { word, column } of misspelt(dialect.names, Object.keys(format.reads)))
    sink.remark(`a column of the file is not read, and its name is like ${column}`, word)
}

function describe(table: TextTable, plan: FactsPlan): Record<string, string> {
  const { tickerColumn, places } = plan
  const used = [...(tickerColumn === undefined ? [] : [tickerColumn]), ...places.values()]
  const namesOf = (wanted: boolean) =>
    table.dialect.names.filter((_, i) => used.includes(i) === wanted).map(name => name || '(unnamed)')
  const unread = namesOf(false)
  const dates = [...new Set(Object.values(plan.dates).map(({ format }) => format))]
  const more = {
    columns: namesOf(true).join(', '),
    ...(unread.length === 0 ? {} : { 'columns not read': unread.join(', ') }),
    ...(dates.length === 0 ? {} : { dates: dates.join(', ') }),
  }
  return table.words(more, plan.decimal)
}
