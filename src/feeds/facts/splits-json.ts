import { parseDay } from '../../model/day.js'
import { parseTicker } from '../../model/ticker.js'
import type { FactsResult, ReadOptions } from '../feed.js'
import { isObject, type Names } from '../json/table.js'
import type { JsonText, Path } from '../json/text.js'
import { givenTicker } from '../naming.js'
import { Rejections } from '../rejections.js'
import { severalTickers } from '../table/read-rows.js'
import { dateReason, tickerReason } from '../value/judge.js'
import { FactsSink } from './sink.js'
import { BadCell } from './values.js'

/**
 * The splits of Polygon, as a list or as `results` of an answer: `split_from` shares became `split_to`. Null when the
 * document holds none. Throws BadData as a table of facts does.
 */
export function readSplits(file: string, root: unknown, text: JsonText, options: ReadOptions): FactsResult | null {
  const [list, at] = isObject(root) ? [root.results, ['results']] : [root, []]
  if (!Array.isArray(list) || !isObject(list[0]) || !('split_from' in list[0])) return null
  const rejections = new Rejections(file, options.skipBadRows ?? false)
  const sink = new FactsSink()
  const given = givenTicker(options.ticker)
  if (given !== null) refuseSeveral(file, given, list)
  for (const [i, row] of list.entries()) {
    try {
      addSplit(isObject(row) ? row : {}, given, sink)
    } catch (error) {
      if (!(error instanceof BadCell)) throw error
      const path: Path = [...at, i, error.column]
      rejections.add(() => ({ ...text.locate(path), reason: error.message, text: JSON.stringify(row) }))
    }
  }
  rejections.refuse(list.length)
  const remarks = sink.remarks
  if (isObject(root) && typeof root.next_url === 'string')
    remarks.push({ what: 'the answer has more pages, which are not in this file', count: 1, first: ['next_url'] })
  const found = { rows: list.length, facts: sink.facts, rejected: rejections.rows, remarks }
  return { holds: 'facts', file, format: 'polygon splits', dialect: {}, header: null, ...found }
}

function refuseSeveral(file: string, given: string, list: readonly unknown[]): void {
  const symbols = list.flatMap(row => (isObject(row) && typeof row.ticker === 'string' ? [row.ticker] : []))
  const other = symbols.find(symbol => symbol !== symbols[0])
  if (other !== undefined) throw severalTickers({ file }, given, symbols[0]!, other)
}

function addSplit(row: Names, given: string | null, sink: FactsSink): void {
  const symbol = typeof row.ticker === 'string' ? row.ticker : ''
  const ticker = given ?? parseTicker(symbol)
  if (ticker === null) throw new BadCell('ticker', tickerReason(symbol))
  const date = typeof row.execution_date === 'string' ? row.execution_date : ''
  const ex_date = parseDay(date)
  if (ex_date === null) throw new BadCell('execution_date', dateReason('execution_date', date, 'YYYY-MM-DD'))
  sink.add('splits', ticker, { ex_date, ratio: shares(row, 'split_to') / shares(row, 'split_from') })
}

function shares(row: Names, name: string): number {
  const value = row[name]
  if (typeof value === 'number' && value > 0) return value
  throw new BadCell(name, `${name} ${JSON.stringify(value ?? null)} is not a number above 0`)
}
