import { parseDay } from '../../model/day.js'
import { parseTicker } from '../../model/terms.js'
import type { FactsResult, ReadOptions } from '../feed.js'
import { isObject, type JsonText, type Names } from '../json-text.js'
import { givenTicker } from '../layout.js'
import { severalTickers, tickerReason } from '../price-rows.js'
import { Rejections } from '../refusals.js'
import type { Source } from '../source.js'
import { dateReason } from '../values.js'
import { isCompanyFacts, readCompanyFacts } from './company-facts.js'
import { BadCell, checkRatio } from './rows.js'
import { FactsSink } from './sink.js'
import { readYahooFacts } from './yahoo.js'

/** The facts of a JSON document, null when it holds none that are read. Throws BadData. */
export function readFactsJson(source: Source, text: JsonText, options: ReadOptions): FactsResult | null {
  const { file, compression, total } = source
  const { root } = text
  const companyFacts = isCompanyFacts(root)
  const facts = companyFacts
    ? readCompanyFacts(file, text, root, options)
    : (readSplits(file, text, options) ?? readYahooFacts(file, root, options))
  if (facts === null) return null
  options.onProgress?.({ bytes: source.taken(), total, rows: facts.rows })
  const lines = companyFacts ? {} : text.words
  return { ...facts, dialect: { encoding: 'UTF-8', compression, ...lines, ...facts.dialect } }
}

/**
 * The splits of Polygon, as a list or as `results` of an answer: `split_from` shares became `split_to`. Null when the
 * document holds none. Throws BadData as a table of facts does.
 */
function readSplits(file: string, text: JsonText, options: ReadOptions): FactsResult | null {
  const { root } = text
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
      const { column, message: reason } = error
      rejections.add(() => ({ ...text.locate([...at, i, column]), reason, text: JSON.stringify(row) }))
    }
  }
  rejections.refuse(list.length)
  if (isObject(root) && typeof root.next_url === 'string')
    sink.remark('the answer has more pages, which are not in this file', 'next_url')
  return sink.result(file, 'polygon splits', list.length, { rejected: rejections.rows })
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
  const ratio = shares(row, 'split_to') / shares(row, 'split_from')
  checkRatio(ratio, 'split_to')
  sink.add('splits', ticker, { ex_date, ratio })
}

function shares(row: Names, name: string): number {
  const value = row[name]
  if (typeof value === 'number' && value > 0) return value
  throw new BadCell(name, `${name} ${JSON.stringify(value ?? null)} is not a number above 0`)
}
