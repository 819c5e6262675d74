import { counted } from '../../core/errors.js'
import { FIELDS } from '../../core/fields/index.js'
import { OPERATORS, type SearchPage } from '../../core/model/pages.js'
import type { Tier } from '../../core/model/terms.js'
import { BARS, BARS_PER_CREDIT, parseBars, withPathTicker } from '../../core/params/pages.js'
import { longNameOf, placeOf } from '../../core/params/places.js'
import { parametersOf } from '../../core/params/questions.js'
import { readParams } from '../../core/params/row.js'
import { OWN_COLUMNS, parseSearch } from '../../core/params/search.js'
import { SEARCH_COST } from '../../core/tiers.js'
import { BARS_PATH, EVENTS_PATH, OVERSOLD_PATH, SCHEMA_PATH, SEARCH_PATH, SUMMARY_PATH } from '../wire/format.js'
import { type Question, questionKey, type ReadQuestion, readEvents, readOversold } from './question.js'
import { readSummary } from './summary-question.js'

/** Path → how its query is read. Reading throws InvalidParameter. */
export const QUESTION_READERS: ReadonlyMap<string, ReadQuestion> = new Map([
  [EVENTS_PATH, readEvents],
  [OVERSOLD_PATH, readOversold],
  [SUMMARY_PATH, readSummary],
  [SEARCH_PATH, readSearch],
  [BARS_PATH, readBars],
  [SCHEMA_PATH, readSchema],
])

/** The last part of such a path is a ticker. */
const TICKER_PLACEHOLDER = '{ticker}'

/** The path as documents have it, and the ticker in it. A letter may be spelled with a percent sign. */
export function pathTemplate(path: string): { template: string; pathTicker: string } {
  if (QUESTION_READERS.has(path) && !path.endsWith(TICKER_PLACEHOLDER)) return { template: path, pathTicker: '' }
  const at = path.lastIndexOf('/') + 1
  const template = decodeOrKeep(path.slice(0, at), decodeURI) + TICKER_PLACEHOLDER
  const last = path.slice(at)
  if (last !== '' && QUESTION_READERS.has(template))
    return { template, pathTicker: decodeOrKeep(last, decodeURIComponent) }
  return { template: decodeOrKeep(path, decodeURI), pathTicker: '' }
}

function decodeOrKeep(text: string, decode: (text: string) => string): string {
  try {
    return decode(text)
  } catch {
    return text
  }
}

/** A credit for each hundred bars, and at least one. */
export function barsCost(rows: number): number {
  return Math.max(1, Math.ceil(rows / BARS_PER_CREDIT))
}

export function readBars(search: string, ticker: string): Question {
  const query = parseBars(withPathTicker(ticker, parametersOf(search), BARS))
  const key = questionKey(BARS_PATH, query)
  return {
    credits: barsCost(0),
    key,
    fullKey: key,
    // A bar may change while no band of its ticker does.
    stamp: async () => null,
    isHeavy: false,
    async answer(service, tier) {
      const page = await service.barsPage(tier, query)
      const note = page.row_count > 0 ? null : `${query.ticker} has no bar on those days.`
      return { body: JSON.stringify(page), note, credits: barsCost(page.row_count) }
    },
    cutOut: body => body,
    async isAnswerable(service, tier) {
      return (await service.bands(tier).known([query.ticker])).length > 0
    },
  }
}

/** A search reads every ticker, as a scan does. */
function readSearch(search: string): Question {
  const query = parseSearch(parametersOf(search))
  const key = questionKey(SEARCH_PATH, query)
  return {
    credits: SEARCH_COST,
    key,
    fullKey: key,
    stamp: async () => null,
    isHeavy: true,
    async answer(service, tier, signal) {
      const body = await service.search(tier, query, signal)
      const { match_count: count, total_scanned: scanned } = JSON.parse(body) as SearchPage
      return { body, note: count > 0 ? null : `None of ${counted(scanned, 'ticker')} meets all filters.` }
    },
    cutOut: body => body,
    async isAnswerable(service, tier) {
      await service.checkSearch(tier, query)
      return true
    },
  }
}

/** The same for every caller, and free. */
export function readSchema(search: string): Question {
  readParams({}, parametersOf(search))
  return {
    credits: 0,
    key: SCHEMA_PATH,
    fullKey: SCHEMA_PATH,
    stamp: async () => '',
    isHeavy: false,
    answer: async () => ({ body: JSON.stringify(fieldsPage()), note: null }),
    cutOut: body => body,
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
  /** Its words in their order, where these are few. */
  values?: readonly string[]
  description: string
  /** The name that events have; null for a column that is no band. */
  field: string | null
  tier: Tier
}

export function fieldsPage(): FieldsPage {
  const own = Object.entries(OWN_COLUMNS).map(([name, { about, values, ...column }]): SchemaField => {
    return { name, ...column, ...(values && { values }), description: about, field: null, tier: 'free' }
  })
  const bands = FIELDS.map(({ name, tier, summary, bands }): SchemaField => {
    const [category = ''] = placeOf(name).split('.')
    return { name: longNameOf(name), type: 'text', category, values: bands, description: summary, field: name, tier }
  })
  const fields = [...own, ...bands]
  const categories = [...new Set(fields.map(({ category }) => category))]
  return { total_fields: fields.length, categories, operators: [...OPERATORS], fields }
}
