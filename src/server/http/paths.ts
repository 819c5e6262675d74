import { FIELDS } from '../../core/fields/index.js'
import type { Tier } from '../../core/model/terms.js'
import { BARS, BARS_A_CREDIT, inPath, OPERATORS, parseBars } from '../../core/params/pages.js'
import { longNameOf, placeOf, SECTIONS } from '../../core/params/places.js'
import { parametersOf } from '../../core/params/questions.js'
import { readParams } from '../../core/params/row.js'
import { BARS_PATH, EVENTS_PATH, OVERSOLD_PATH, SCHEMA_PATH, SUMMARY_PATH } from '../wire/format.js'
import { normalOf, type Question, type ReadQuestion, readEvents, readOversold } from './question.js'
import { readSummary } from './summary-question.js'

/** Path → how its query is read. Reading throws InvalidParameter. */
export const QUESTIONS: ReadonlyMap<string, ReadQuestion> = new Map([
  [EVENTS_PATH, readEvents],
  [OVERSOLD_PATH, readOversold],
  [SUMMARY_PATH, readSummary],
  [BARS_PATH, readBars],
  [SCHEMA_PATH, readSchema],
])

/** The last part of such a path is a ticker. */
const TICKER = '{ticker}'

/** The path as documents have it, and the ticker in it. A letter may be spelled with a percent sign. */
export function templateOf(path: string): { template: string; inPath: string } {
  const at = path.lastIndexOf('/') + 1
  const template = decoded(path.slice(0, at), decodeURI) + TICKER
  const last = path.slice(at)
  if (last !== '' && QUESTIONS.has(template)) return { template, inPath: decoded(last, decodeURIComponent) }
  return { template: decoded(path, decodeURI), inPath: '' }
}

function decoded(text: string, decode: (text: string) => string): string {
  try {
    return decode(text)
  } catch {
    return text
  }
}

/** A credit for each hundred bars, and at least one. */
export function barsCost(rows: number): number {
  return Math.max(1, Math.ceil(rows / BARS_A_CREDIT))
}

export function readBars(search: string, ticker: string): Question {
  const query = parseBars(inPath(ticker, parametersOf(search), BARS))
  const normal = normalOf(BARS_PATH, query)
  return {
    credits: barsCost(0),
    normal,
    whole: normal,
    // A bar may change while no band of its ticker does.
    stamp: async () => null,
    isHeavy: false,
    async ask(service, tier) {
      const page = await service.barsPage(tier, query)
      const note = page.row_count > 0 ? null : `${query.ticker} has no bar on those days.`
      return { body: JSON.stringify(page), note, credits: barsCost(page.row_count) }
    },
    part: body => body,
    async isAnswerable(service, tier) {
      return (await service.bands(tier).known([query.ticker])).length > 0
    },
  }
}

/** The same for every caller, and free. */
export function readSchema(search: string): Question {
  readParams({}, parametersOf(search))
  return {
    credits: 0,
    normal: SCHEMA_PATH,
    whole: SCHEMA_PATH,
    stamp: async () => '',
    isHeavy: false,
    ask: async () => ({ body: JSON.stringify(fieldsPage()), note: null }),
    part: body => body,
    isAnswerable: async () => true,
  }
}

/** The body of `GET /v1/schema/fields`. */
export interface FieldsPage {
  total_fields: number
  categories: string[]
  /** The operators of filters in a search. */
  operators: string[]
  fields: SchemaField[]
}

interface SchemaField {
  /** As columns and filters of a search have it. */
  name: string
  type: 'text' | 'numeric'
  category: string
  /** Its bands, in their order. */
  values: readonly string[]
  description: string
  /** As events and scans have it. */
  field: string
  tier: Tier
}

export function fieldsPage(): FieldsPage {
  const fields = FIELDS.map(({ name, tier, summary, bands }): SchemaField => {
    const [category = ''] = placeOf(name).split('.')
    return { name: longNameOf(name), type: 'text', category, values: bands, description: summary, field: name, tier }
  })
  return { total_fields: fields.length, categories: [...SECTIONS], operators: [...OPERATORS], fields }
}
