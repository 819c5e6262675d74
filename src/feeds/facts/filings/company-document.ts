import { pipeline } from 'node:stream/promises'
import { filter } from 'stream-json/filters/filter.js'
import { streamValues } from 'stream-json/streamers/stream-values.js'
import * as z from 'zod'
import { BadData, BandsError } from '../../../errors.js'
import { parseDay } from '../../../model/day.js'
import type { ReadOptions } from '../../feed.js'
import { allOf, type Source } from '../../file/source.js'
import { parseJson } from '../../json/text.js'
import { shaped } from '../shape.js'
import { type FiledFact, REPORT_CONCEPTS } from './concepts.js'

/** What company facts say of a company, as far as reports are made of it. */
export interface CompanyDocument {
  name: string | null
  facts: FiledFact[]
}

/**
 * Reads company facts of the SEC as a stream: of hundreds of concepts, those of no report are dropped as they pass.
 * Throws BadData with the place where it is no JSON, or with the first key that is not as it should be.
 */
export async function readCompanyDocument(source: Source, options: ReadOptions): Promise<CompanyDocument> {
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
