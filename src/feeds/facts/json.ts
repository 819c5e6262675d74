import { parseDay } from '../../model/day.js'
import { parseTicker } from '../../model/terms.js'
import type { FactsResult, ReadOptions } from '../feed.js'
import { isObject, type Names } from '../json-tables.js'
import type { JsonText, Path } from '../json-text.js'
import { dateReason, tickerReason } from '../judge.js'
import { givenTicker } from '../layout.js'
import { severalTickers } from '../price-rows.js'
import { Rejections } from '../refusals.js'
import { allOf, type Source } from '../source.js'
import { FactsSink } from './records.js'
import { BadCell } from './rows.js'

/** Keys near the top of a document that only those of facts have. */
const FACT_KEYS = /"(quoteSummary|timeseries|execution_date)"\s*:/

/**
 * The facts of a JSON document, null when it holds none that are read; `head` is its beginning, by which documents of bars
 * are told without being read. Throws BadData.
 */
export async function readFactsJson(source: Source, head: string, options: ReadOptions): Promise<FactsResult | null> {
  const { isCompanyFacts, readCompanyFacts } = await import('./company-facts.js')
  if (isCompanyFacts(head)) return readCompanyFacts(source, options)
  if (!FACT_KEYS.test(head)) return null
  const { parseJson } = await import('../json-text.js')
  const content = (await allOf(source)).toString('utf8').replace(/^\ufeff/, '')
  const { root, text, lines } = await parseJson(source.file, content)
  const facts = await factsIn(source.file, root, text, options)
  if (facts === null) return null
  options.onProgress?.({ bytes: source.taken(), total: source.total, rows: facts.rows })
  const words = {
    encoding: 'UTF-8',
    compression: source.compression,
    lines: lines ? 'one document a line' : 'one document',
  }
  return { ...facts, dialect: { ...words, ...facts.dialect } }
}

async function factsIn(file: string, root: unknown, text: JsonText, options: ReadOptions): Promise<FactsResult | null> {
  const splits = readSplits(file, root, text, options)
  if (splits !== null) return splits
  const { readYahooFacts } = await import('./yahoo.js')
  return readYahooFacts(file, root, options)
}

/**
 * The splits of Polygon, as a list or as `results` of an answer: `split_from` shares became `split_to`. Null when the
 * document holds none. Throws BadData as a table of facts does.
 */
function readSplits(file: string, root: unknown, text: JsonText, options: ReadOptions): FactsResult | null {
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
