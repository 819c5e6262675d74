import * as z from 'zod'
import { BadData } from '../../errors.js'
import { parseDay } from '../../model/day.js'
import type { FactsResult, ReadOptions } from '../feed.js'
import { isObject, type Names, shaped } from '../json-text.js'
import { reportsOfFilings } from './sec.js'
import { type FiledFact, isReportForm, REPORT_CONCEPTS, whyUnread } from './sec-ledger.js'
import { AS_FILED, documentTicker, FactsSink } from './sink.js'

/** Whether a document is one of company facts of the SEC. */
export function isCompanyFacts(root: unknown): root is Names {
  return isObject(root) && 'cik' in root && isObject(root.facts)
}

/**
 * The quarterly reports of a company and its name, from the company facts of the SEC, which name no ticker. Throws
 * BadData when no report can be made of it.
 */
export function readCompanyFacts(file: string, root: Names, options: ReadOptions): FactsResult {
  const ticker = documentTicker(file, null, options.ticker)
  const { entityName, facts: taxonomies } = shaped(file, Document, neededOf(root), 'company facts of the SEC')
  const concepts = Object.values(taxonomies).flatMap(taxonomy => Object.entries(taxonomy))
  const facts = concepts.flatMap(([concept, { units }]) => factsIn(concept, units))
  const sink = new FactsSink()
  for (const fact of facts) {
    const unread = whyUnread(fact)
    if (unread !== null) sink.remark(unread, isReportForm(fact.form) ? `${fact.concept} in ${fact.unit}` : fact.form)
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
  const name = entityName?.trim() || null
  if (name !== null) sink.add('securities', ticker, { name, sector: null, asset_class: null, market_cap: null })
  return sink.result(file, 'SEC company facts', facts.length, { dialect: name === null ? {} : { company: name } })
}

const Dated = z.iso.date().transform(text => parseDay(text)!)
const Fact = z.object({ start: Dated.optional(), end: Dated, val: z.number(), form: z.string(), filed: Dated })
const Units = z.record(z.string(), z.array(Fact))
const Document = z.object({
  entityName: z.string().nullish(),
  facts: z.record(z.string(), z.record(z.string(), z.object({ units: Units }))),
})

/** The document with the few of its hundreds of concepts that a report is made of. */
function neededOf({ entityName, facts }: Names): Names {
  const taxonomies = Object.entries(facts as Names).filter((entry): entry is [string, Names] => isObject(entry[1]))
  const isNeeded = ([concept, value]: [string, unknown]) =>
    REPORT_CONCEPTS.has(concept) && isObject(value) && 'units' in value
  const needed = taxonomies.map(([name, concepts]) => [
    name,
    Object.fromEntries(Object.entries(concepts).filter(isNeeded)),
  ])
  return { entityName, facts: Object.fromEntries(needed) }
}

function factsIn(concept: string, units: z.infer<typeof Units>): FiledFact[] {
  return Object.entries(units).flatMap(([unit, facts]) =>
    facts.map(({ start = null, end, val: value, form, filed }) => ({ concept, unit, start, end, value, form, filed })),
  )
}
