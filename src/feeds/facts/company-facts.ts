import { pipeline } from 'node:stream/promises'
import { filter } from 'stream-json/filters/filter.js'
import { streamValues } from 'stream-json/streamers/stream-values.js'
import * as z from 'zod'
import { BadData, BandsError } from '../../errors.js'
import { parseDay } from '../../model/day.js'
import type { FactsResult, ReadOptions } from '../feed.js'
import { parseJson } from '../json-text.js'
import { allOf, type Source } from '../source.js'
import { AS_FILED, documentTicker, FactsSink, shaped } from './records.js'
import { isCounted, isReportForm, reportsOfFilings } from './sec.js'
import { type FiledFact, REPORT_CONCEPTS } from './sec-ledger.js'

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

/** What company facts say of a company, as far as reports are made of it. */
interface CompanyDocument {
  name: string | null
  facts: FiledFact[]
}

/**
 * Reads company facts of the SEC as a stream: of hundreds of concepts, those of no report are dropped as they pass.
 * Throws BadData with the place where it is no JSON, or with the first key that is not as it should be.
 */
async function readCompanyDocument(source: Source, options: ReadOptions): Promise<CompanyDocument> {
  const { file } = source
  const values: unknown[] = []
  try {
    await pipeline(
      told(source, options),
      filter.withParserAsStream({ filter: isNeeded, packValues: true, streamValues: false }),
      streamValues.asStream(),
      async (items: AsyncIterable<{ value: unknown }>) => {
        for await (const { value } of items) values.push(value)
      },
    )
  } catch (error) {
    throw error instanceof BandsError ? error : await syntaxError(source, error)
  }
  const { entityName, facts } = shaped(file, Document, values[0], 'company facts of the SEC')
  const all = Object.values(facts).flatMap(taxonomy => Object.entries(taxonomy))
  return { name: entityName?.trim() || null, facts: all.flatMap(([concept, { units }]) => factsIn(concept, units)) }
}

const Dated = z.iso.date().transform(text => parseDay(text)!)
const Fact = z.object({ start: Dated.optional(), end: Dated, val: z.number(), form: z.string(), filed: Dated })
const Units = z.record(z.string(), z.array(Fact))
const Document = z.object({
  entityName: z.string().nullish(),
  // Nothing is left of it where none of its concepts is needed.
  facts: z.record(z.string(), z.record(z.string(), z.object({ units: Units }))).default({}),
})

/** Whether what stands at a path is to be kept: `facts`, a taxonomy, a concept, and all of what is below. */
function isNeeded(path: readonly unknown[]): boolean {
  if (path[0] !== 'facts') return path[0] === 'entityName'
  return path[3] === 'units' && REPORT_CONCEPTS.has(String(path[2]))
}

async function* told(source: Source, { onProgress }: ReadOptions): AsyncGenerator<Buffer> {
  for await (const chunk of source.chunks()) {
    yield chunk
    onProgress?.({ bytes: source.taken(), total: source.total, rows: 0 })
  }
}

function factsIn(concept: string, units: z.infer<typeof Units>): FiledFact[] {
  return Object.entries(units).flatMap(([unit, facts]) =>
    facts.map(({ start = null, end, val: value, form, filed }) => ({ concept, unit, start, end, value, form, filed })),
  )
}

/** A stream tells no places; the whole text does. */
async function syntaxError(source: Source, error: unknown): Promise<unknown> {
  const { file } = source
  await parseJson(file, (await allOf(source)).toString('utf8').replace(/^\ufeff/, ''))
  return new BadData({ file }, `the JSON cannot be read: ${(error as Error).message}`, { cause: error })
}
