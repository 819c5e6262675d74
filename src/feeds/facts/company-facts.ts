import * as z from 'zod'
import { BadData } from '../../errors.js'
import { type Day, formatDay, parseDay } from '../../model/day.js'
import type { FactsResult, ReadOptions } from '../feed.js'
import { isObject, type JsonText, type Names, type Path, shaped } from '../json-text.js'
import { latestBar, yetToCome } from '../price-rows.js'
import { Rejections } from '../refusals.js'
import { reportsOfFilings } from './sec.js'
import { contradicts, type FiledFact, isReportForm, REPORT_CONCEPTS, whyUnread } from './sec-ledger.js'
import { AS_FILED, documentTicker, FactsSink } from './sink.js'

/** Whether a document is one of company facts of the SEC. */
export function isCompanyFacts(root: unknown): root is Names {
  return isObject(root) && 'cik' in root && isObject(root.facts)
}

/**
 * The quarterly reports of a company and its name, from the company facts of the SEC, which name no ticker. Throws
 * BadData when no report can be made of it, and with the place of a fact that cannot be.
 */
export function readCompanyFacts(file: string, text: JsonText, root: Names, options: ReadOptions): FactsResult {
  const ticker = documentTicker(file, null, options.ticker)
  const { entityName, facts: taxonomies } = shaped(file, Document, neededOf(root), 'company facts of the SEC')
  const facts = Object.entries(taxonomies).flatMap(([taxonomy, concepts]) =>
    Object.entries(concepts).flatMap(([concept, { units }]) => factsIn([taxonomy, concept], units)),
  )
  const sink = new FactsSink()
  const read = facts.filter(fact => {
    const unread = whyUnread(fact)
    if (unread !== null) sink.remark(unread, isReportForm(fact.form) ? `${fact.concept} in ${fact.unit}` : fact.form)
    return unread === null
  })
  const rejections = new Rejections(file, options.skipBadRows ?? false)
  const filings = new Filings(latestBar(options.today))
  const sound = read.filter(fact => {
    const fault = filings.faultOf(fact)
    if (fault === null) return true
    const [key, reason] = fault
    rejections.add(() => ({ ...text.locate([...fact.at, key]), reason, text: JSON.stringify(valueAt(root, fact.at)) }))
    return false
  })
  if (facts.length > 0) rejections.refuse(facts.length)
  const reports = reportsOfFilings(sound)
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
  const dialect = name === null ? {} : { company: name }
  return sink.result(file, 'SEC company facts', facts.length, { dialect, rejected: rejections.rows })
}

/** What filings said so far, to tell a fact that cannot be. */
class Filings {
  readonly #latest: Day
  /** By filing and what a figure is of. */
  readonly #stated = new Map<string, number>()

  /** @param latest the last day on which something can have been filed */
  constructor(latest: Day) {
    this.#latest = latest
  }

  /** The key of a fact that is at fault, and why; null for a fact that may be. */
  faultOf(fact: PlacedFact): [key: string, reason: string] | null {
    const { accession, concept, unit, start, end, filed, form, value } = fact
    if (filed > this.#latest) return ['filed', yetToCome('filed', formatDay(filed))]
    const period = start === null ? formatDay(end) : `${formatDay(start)} to ${formatDay(end)}`
    // The count on the cover may be that of a later day.
    if (filed < end && unit !== 'shares')
      return ['filed', `filed ${formatDay(filed)} is before the period ended (${period})`]
    const place = [accession ?? `${filed} ${form}`, concept, unit, start, end].join(' ')
    const said = this.#stated.get(place)
    this.#stated.set(place, said ?? value)
    if (said === undefined || !contradicts(concept, value, said)) return null
    return [
      'val',
      `${concept} of ${period} is ${value} here and ${said} before, in one filing; take one of the two out`,
    ]
  }
}

const Dated = z.iso.date().transform(text => parseDay(text)!)
const Fact = z.object({
  start: Dated.optional(),
  end: Dated,
  val: z.number(),
  form: z.string(),
  filed: Dated,
  accn: z.string().optional(),
})
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

/** A fact and where it stands, and of which filing it is, where that is told. */
interface PlacedFact extends FiledFact {
  at: Path
  accession: string | null
}

function factsIn([taxonomy, concept]: readonly [string, string], units: z.infer<typeof Units>): PlacedFact[] {
  return Object.entries(units).flatMap(([unit, facts]) =>
    facts.map(({ start = null, end, val: value, form, filed, accn: accession = null }, i) => {
      const at = ['facts', taxonomy, concept, 'units', unit, i]
      return { concept, unit, start, end, value, form, filed, accession, at }
    }),
  )
}

function valueAt(root: unknown, path: Path): unknown {
  return path.reduce<unknown>((at, key) => (at as Names)[key], root)
}
