import * as z from 'zod'
import { BadData } from '../../../core/errors.js'
import { type Day, formatDay, parseDay } from '../../../core/model/day.js'
import { parseTicker } from '../../../core/model/terms.js'
import { isMapping } from '../../../core/params/arguments.js'
import type { FactsResult, ReadOptions } from '../feed.js'
import { type JsonObject, type JsonText, type Path, parseShape } from '../json-text.js'
import { parseTickerOption } from '../layout.js'
import { futureDateReason, latestBar, severalTickersError, tickerReason } from '../price-rows.js'
import { Rejections } from '../refusals.js'
import type { Source } from '../source.js'
import { dateReason } from '../values.js'
import { BadCell, refuseImpossibleRatio } from './rows.js'
import { reportsOfFilings } from './sec.js'
import { conceptValuesDiffer, type FiledFact, isReportForm, REPORT_CONCEPTS, whyNotRead } from './sec-ledger.js'
import { AS_FILED, documentTicker, FactsSink } from './sink.js'
import { readYahooFacts } from './yahoo.js'

/** The facts of a JSON document, null when it holds none that are read. Throws BadData. */
export function readFactsJson(source: Source, text: JsonText, options: ReadOptions): FactsResult | null {
  const { file, compression, encoding, total } = source
  const { root } = text
  const companyFacts = isCompanyFacts(root) ? readCompanyFacts(file, text, root, options) : null
  const facts = companyFacts ?? readSplits(file, text, options) ?? readYahooFacts(file, root, options)
  if (facts === null) return null
  options.onProgress?.({ bytes: source.bytesTaken(), total, rows: facts.rows })
  // These notes say whether the text is one document or one a line. Company facts are always one document.
  const layoutNotes = companyFacts === null ? text.notes : {}
  return { ...facts, dialect: { encoding, compression, ...layoutNotes, ...facts.dialect } }
}

/**
 * The splits of Polygon, as a list or as `results` of an answer: `split_from` shares became `split_to`. Null when the
 * document holds none. Throws BadData as a table of facts does.
 */
function readSplits(file: string, text: JsonText, options: ReadOptions): FactsResult | null {
  const { root } = text
  const [list, path] = isMapping(root) ? [root.results, ['results']] : [root, []]
  if (!Array.isArray(list) || !isMapping(list[0]) || !('split_from' in list[0])) return null
  const rejections = new Rejections(file, options.skipBadRows ?? false)
  const sink = new FactsSink()
  const tickerHint = parseTickerOption(options.ticker)
  if (tickerHint !== null) refuseSeveralTickers(file, tickerHint, list)
  for (const [i, row] of list.entries()) {
    try {
      addSplit(isMapping(row) ? row : {}, tickerHint, sink)
    } catch (error) {
      if (!(error instanceof BadCell)) throw error
      const { column, message: reason } = error
      rejections.add(() => ({ ...text.locate([...path, i, column]), reason, text: JSON.stringify(row) }))
    }
  }
  rejections.throwIfBad(list.length)
  if (isMapping(root) && typeof root.next_url === 'string')
    sink.remark('the answer has more pages, which are not in this file', 'next_url')
  return sink.result(file, 'polygon splits', list.length, { rejected: rejections.rows })
}

/** Throws BadData if rows have different tickers, although the user gave one for all. */
function refuseSeveralTickers(file: string, tickerHint: string, list: readonly unknown[]): void {
  const symbols = list.flatMap(row => (isMapping(row) && typeof row.ticker === 'string' ? [row.ticker] : []))
  const other = symbols.find(symbol => symbol !== symbols[0])
  if (other !== undefined) throw severalTickersError({ file }, tickerHint, symbols[0]!, other)
}

/** Adds the split of a row. Throws BadCell for a bad value. @param tickerHint the user's ticker; null: the row's */
function addSplit(row: JsonObject, tickerHint: string | null, sink: FactsSink): void {
  const symbol = typeof row.ticker === 'string' ? row.ticker : ''
  const ticker = tickerHint ?? parseTicker(symbol)
  if (ticker === null) throw new BadCell('ticker', tickerReason(symbol))
  const date = typeof row.execution_date === 'string' ? row.execution_date : ''
  const ex_date = parseDay(date)
  if (ex_date === null) throw new BadCell('execution_date', dateReason('execution_date', date, 'YYYY-MM-DD'))
  const ratio = positiveNumber(row, 'split_to') / positiveNumber(row, 'split_from')
  refuseImpossibleRatio(ratio, 'split_to')
  sink.add('splits', ticker, { ex_date, ratio })
}

/** The number above 0 under a key of a row. Throws BadCell for any other value. */
function positiveNumber(row: JsonObject, name: string): number {
  const value = row[name]
  if (typeof value === 'number' && value > 0) return value
  throw new BadCell(name, `${name} ${JSON.stringify(value ?? null)} is not a number above 0`)
}

function isCompanyFacts(root: unknown): root is JsonObject {
  return isMapping(root) && 'cik' in root && isMapping(root.facts)
}

/**
 * The quarterly reports of a company and its name, from the company facts of the SEC, which have no ticker. Throws
 * BadData if they give no report, or with the position of an impossible fact.
 */
function readCompanyFacts(file: string, text: JsonText, root: JsonObject, options: ReadOptions): FactsResult {
  const ticker = documentTicker(file, null, options.ticker)
  const needed = withNeededConcepts(root)
  const { entityName, facts: taxonomies } = parseShape(file, Document, needed, 'company facts of the SEC')
  const facts = Object.entries(taxonomies).flatMap(([taxonomy, concepts]) =>
    Object.entries(concepts).flatMap(([concept, { units }]) => factsOfConcept([taxonomy, concept], units)),
  )
  const sink = new FactsSink()
  const factsRead = facts.filter(fact => {
    const unread = whyNotRead(fact)
    if (unread !== null) sink.remark(unread, isReportForm(fact.form) ? `${fact.concept} in ${fact.unit}` : fact.form)
    return unread === null
  })
  const rejections = new Rejections(file, options.skipBadRows ?? false)
  const filings = new FilingChecker(latestBar(options.today))
  const validFacts = factsRead.filter(fact => {
    const fault = filings.checkAndRemember(fact)
    if (fault === null) return true
    const [key, reason] = fault
    rejections.add(() => ({
      ...text.locate([...fact.path, key]),
      reason,
      text: JSON.stringify(valueAt(root, fact.path)),
    }))
    return false
  })
  if (facts.length > 0) rejections.throwIfBad(facts.length)
  const reports = reportsOfFilings(validFacts)
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

/** Finds impossible facts, and facts that contradict an earlier fact of the same filing. */
class FilingChecker {
  readonly #latest: Day
  /** The values so far, by filing, concept, unit and period. */
  readonly #values = new Map<string, number>()

  /** @param latest the last day on which something can have been filed */
  constructor(latest: Day) {
    this.#latest = latest
  }

  /**
   * Remembers a fact, to compare later ones with it. A fact is refused if it is impossible or contradicts an earlier
   * one of the same filing. Returns the JSON key of the wrong value and the reason; null for a valid fact.
   */
  checkAndRemember(fact: PlacedFact): [key: string, reason: string] | null {
    const { accession, concept, unit, start, end, filed, form, value } = fact
    if (filed > this.#latest) return ['filed', futureDateReason('filed', formatDay(filed))]
    const period = start === null ? formatDay(end) : `${formatDay(start)} to ${formatDay(end)}`
    // The count on the cover may be that of a later day.
    if (filed < end && unit !== 'shares')
      return ['filed', `filed ${formatDay(filed)} is before the period ended (${period})`]
    const figure = [accession ?? `${filed} ${form}`, concept, unit, start, end].join(' ')
    const earlierValue = this.#values.get(figure)
    if (earlierValue === undefined) {
      this.#values.set(figure, value)
      return null
    }
    if (!conceptValuesDiffer(concept, value, earlierValue)) return null
    return [
      'val',
      `${concept} of ${period} is ${value} here and ${earlierValue} before, in one filing; take one of the two out`,
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

/** A document of company facts with only the concepts that reports use, of hundreds. */
function withNeededConcepts({ entityName, facts }: JsonObject): JsonObject {
  const taxonomies = Object.entries(facts as JsonObject).filter((entry): entry is [string, JsonObject] =>
    isMapping(entry[1]),
  )
  const isNeeded = ([concept, value]: [string, unknown]) =>
    REPORT_CONCEPTS.has(concept) && isMapping(value) && 'units' in value
  const needed = taxonomies.map(([name, concepts]) => [
    name,
    Object.fromEntries(Object.entries(concepts).filter(isNeeded)),
  ])
  return { entityName, facts: Object.fromEntries(needed) }
}

/** A fact with its path in the document, and the number of its filing, if known. */
interface PlacedFact extends FiledFact {
  path: Path
  accession: string | null
}

/** The facts of one concept in all its units, as a list. */
function factsOfConcept([taxonomy, concept]: readonly [string, string], units: z.infer<typeof Units>): PlacedFact[] {
  return Object.entries(units).flatMap(([unit, facts]) =>
    facts.map(({ start = null, end, val: value, form, filed, accn: accession = null }, i) => {
      const path = ['facts', taxonomy, concept, 'units', unit, i]
      return { concept, unit, start, end, value, form, filed, accession, path }
    }),
  )
}

function valueAt(root: unknown, path: Path): unknown {
  return path.reduce<unknown>((value, key) => (value as JsonObject)[key], root)
}
