import { BadData } from '../../errors.js'
import type { FactsResult, ReadOptions } from '../feed.js'
import type { Source } from '../file/source.js'
import { AS_FILED } from './assumed.js'
import { documentTicker } from './document-ticker.js'
import { isCounted, isReportForm, reportsOfFilings } from './filings.js'
import { FactsSink } from './sink.js'

/** Whether a document that starts so is one of company facts of the SEC. */
export function isCompanyFacts(text: string): boolean {
  return /^\ufeff?\s*\{/.test(text) && /"cik"\s*:/.test(text) && /"facts"\s*:\s*\{/.test(text)
}

/**
 * The quarterly reports of a company and its name, from the company facts of the SEC, which name no ticker. Throws
 * BadData, with the place where it is no JSON, and when no report can be made of it.
 */
export async function readCompanyFacts(source: Source, options: ReadOptions): Promise<FactsResult> {
  const { file } = source
  const ticker = documentTicker(file, null, options.ticker)
  const { readCompanyDocument } = await import('./filings/company-document.js')
  const { name, facts } = await readCompanyDocument(source, options)
  const sink = new FactsSink()
  for (const { unit, form, concept } of facts) {
    if (!isReportForm(form)) sink.remark('facts stand in filings other than reports and are not read', form)
    else if (!isCounted(concept, unit)) sink.remark('facts are in units that are not read', `${concept} in ${unit}`)
  }
  const reports = reportsOfFilings(facts)
  if (reports.length === 0)
    throw new BadData({ file }, 'no earnings a share and no revenue of a quarter, in USD, is stated in it')
  for (const report of reports) {
    sink.add('reports', ticker, report)
    sink.remark('sessions are unknown: a report counts from the day after its filing', ticker)
    if (report.eps !== null || report.book_value_ps !== null) sink.remark(AS_FILED, ticker)
    if (report.book_value_ps !== null)
      sink.remark('book value a share is equity over the shares stated nearest', ticker)
  }
  sink.remark('fourth quarters that no filing states are the year less its first nine months', ticker)
  if (name !== null) sink.add('securities', ticker, { name, sector: null, asset_class: null, market_cap: null })
  options.onProgress?.({ bytes: source.taken(), total: source.total, rows: facts.length })
  const dialect = { encoding: 'UTF-8', compression: source.compression, ...(name === null ? {} : { company: name }) }
  const found = { rows: facts.length, facts: sink.facts, rejected: [], remarks: sink.remarks }
  return { holds: 'facts', file, format: 'SEC company facts', dialect, header: null, ...found }
}
