import type { FactsResult, ReadOptions } from '../feed.js'
import { isObject } from '../json/table.js'
import { FactsSink } from './sink.js'
import { readSummary } from './yahoo/summary.js'
import { readTimeseries } from './yahoo/timeseries.js'

/**
 * The facts of a document of Yahoo: a quote summary (grades, insiders, counts of ratings, the next report) or a time
 * series of statements. Null when it is neither. Throws BadData that says what is not as it should be, or lacking.
 */
export function readYahooFacts(file: string, root: unknown, options: ReadOptions): FactsResult | null {
  const reader = !isObject(root)
    ? null
    : 'quoteSummary' in root
      ? { read: readSummary, format: 'Yahoo quote summary' }
      : 'timeseries' in root
        ? { read: readTimeseries, format: 'Yahoo statements' }
        : null
  if (reader === null) return null
  const sink = new FactsSink()
  const rows = reader.read(file, root, options, sink)
  const found = { rows, facts: sink.facts, rejected: [], remarks: sink.remarks }
  return { holds: 'facts', file, format: reader.format, dialect: {}, header: null, ...found }
}
