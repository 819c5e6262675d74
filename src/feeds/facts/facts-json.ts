import type { FactsResult, ReadOptions } from '../feed.js'
import { allOf, type Source } from '../file/source.js'
import type { JsonText } from '../json/text.js'

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
  const { parseJson } = await import('../json/text.js')
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
  const { readSplits } = await import('./splits-json.js')
  const splits = readSplits(file, root, text, options)
  if (splits !== null) return splits
  const { readYahooFacts } = await import('./yahoo.js')
  return readYahooFacts(file, root, options)
}
