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
import { keyAndDefaults, type Question, questionKey, type ReadQuestion, readEvents, readOversold } from './question.js'
import { readSummary } from './summary-question.js'

/** Path → the function that parses its queries. */
export const QUESTION_READERS: ReadonlyMap<string, ReadQuestion> = new Map([
  [EVENTS_PATH, readEvents],
  [OVERSOLD_PATH, readOversold],
  [SUMMARY_PATH, readSummary],
  [SEARCH_PATH, readSearch],
  [BARS_PATH, readBars],
  [SCHEMA_PATH, readSchema],
])

/** The last part of a path that ends with a ticker. */
const TICKER_PLACEHOLDER = '{ticker}'

/**
 * `/v1/summary/AAPL` → the template `/v1/summary/{ticker}` and the ticker `AAPL`, both percent-decoded. For any other
 * path the template is the path itself, and the ticker is empty.
 */
export function pathTemplate(path: string): { template: string; pathTicker: string } {
  if (QUESTION_READERS.has(path) && !path.endsWith(TICKER_PLACEHOLDER)) return { template: path, pathTicker: '' }
  const lastPartStart = path.lastIndexOf('/') + 1
  const template = decodeOrKeep(path.slice(0, lastPartStart), decodeURI) + TICKER_PLACEHOLDER
  const lastPart = path.slice(lastPartStart)
  if (lastPart !== '' && QUESTION_READERS.has(template))
    return { template, pathTicker: decodeOrKeep(lastPart, decodeURIComponent) }
  return { template: decodeOrKeep(path, decodeURI), pathTicker: '' }
}

/** The decoded text; the text itself if it is not validly encoded. */
function decodeOrKeep(text: string, decode: (text: string) => string): string {
  try {
    return decode(text)
  } catch {
    return text
  }
}

/** The price of a page of bars: a credit for each hundred bars, and at least one. */
function barsCost(rows: number): number {
  return Math.max(1, Math.ceil(rows / BARS_PER_CREDIT))
}

/** Parses a query for daily bars of a ticker. */
export function readBars(search: string, ticker: string): Question {
  const query = parseBars(withPathTicker(ticker, parametersOf(search), BARS))
  return {
    credits: barsCost(0), // the least; an answer has its own price
    // No stamp, which is a hash of events: a bar may change without these.
    ...keyAndDefaults(questionKey(BARS_PATH, query)),
    async answer(service, tier) {
      const page = await service.barsPage(tier, query)
      const note = page.row_count > 0 ? null : `${query.ticker} has no bar on those days.`
      return { body: JSON.stringify(page), note, credits: barsCost(page.row_count) }
    },
    async isAnswerable(service, tier) {
      return (await service.bands(tier).known([query.ticker])).length > 0
    },
  }
}

/** Parses a search, which is heavy: it reads every ticker. Each limit and offset has its own answer in the cache. */
function readSearch(search: string): Question {
  const query = parseSearch(parametersOf(search))
  return {
    credits: SEARCH_COST,
    ...keyAndDefaults(questionKey(SEARCH_PATH, query)),
    isHeavy: true,
    async answer(service, tier, signal) {
      const body = await service.search(tier, query, signal)
      const page: SearchPage = JSON.parse(body)
      const note = page.match_count > 0 ? null : `None of ${counted(page.total_scanned, 'ticker')} meets all filters.`
      return { body, note }
    },
    async isAnswerable(service, tier) {
      await service.checkSearch(tier, query) // throws for a wrong sector, and for a field or day above the tier
      return true
    },
  }
}

/** Parses a question for all fields. Its answer is the same for every caller, and free. */
function readSchema(search: string): Question {
  readParams({}, parametersOf(search)) // refuses any parameter
  return {
    credits: 0,
    ...keyAndDefaults(SCHEMA_PATH),
    stamp: async () => '', // the answer never changes
    answer: async () => ({ body: JSON.stringify(fieldsPage()), note: null }),
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
  /** The name in columns and filters of a search. */
  name: string
  type: 'text' | 'numeric'
  category: string
  /** All values in their order; absent if they are many. */
  values?: readonly string[]
  description: string
  /** The name in events; null for a column that is no band. */
  field: string | null
  tier: Tier
}

/** The page of all columns of a search: first those that are no band, then a column for each field. */
export function fieldsPage(): FieldsPage {
  const plainColumns = Object.entries(OWN_COLUMNS).map(([name, { about, ...column }]): SchemaField => {
    return { name, ...column, description: about, field: null, tier: 'free' }
  })
  const bandColumns = FIELDS.map(({ name, tier, summary, bands }): SchemaField => {
    // The place in a summary, such as `trend.direction`.
    const [category = ''] = placeOf(name).split('.')
    return { name: longNameOf(name), type: 'text', category, values: bands, description: summary, field: name, tier }
  })
  const fields = [...plainColumns, ...bandColumns]
  const categories = [...new Set(fields.map(({ category }) => category))]
  return { total_fields: fields.length, categories, operators: [...OPERATORS], fields }
}
