import { InvalidParameter, invalid, quoted, suggest } from '../errors.js'
import { BUILT_IN_FIELDS } from '../fields/index.js'
import { ASSET_CLASSES, MARKET_CAP_TIERS } from '../model/event.js'
import { OPERATORS, type Operator, type SearchColumn, type SearchFilter, type SearchQuery } from '../model/pages.js'
import { BAR_FIGURES } from '../model/series.js'
import { isMapping, parseJsonOrNull } from './arguments.js'
import { DAY, TEXT } from './kinds.js'
import { PAGE_ORDER } from './pages.js'
import { fieldByAnyName, longNameOf, PRICES } from './places.js'
import { LIMIT, MAX_LIMIT, OVERSOLD, TIMEFRAME_ROW } from './questions.js'
import { type Kind, optional, type ParamsOf, readParams, type Table, withDefault } from './row.js'
import { namesKind, OFFSET } from './summary.js'
import { bandValue, refuse, wordValue } from './values.js'

/** The parameters of `GET /v1/search`: which tickers meet filters, with some columns of each. */

/** A column that is no band. */
export interface OwnColumn {
  type: 'text' | 'numeric'
  category: string
  about: string
  /** Its possible words, if they are few. */
  values?: readonly string[]
}

/** The columns that are no band fields, in the order of an answer. */
export const OWN_COLUMNS: Readonly<Record<string, OwnColumn>> = {
  ticker: { type: 'text', category: 'identity', about: 'The ticker.' },
  asset_class: {
    type: 'text',
    category: 'identity',
    about: 'What it is; null where it is not known.',
    values: ASSET_CLASSES.filter(name => name !== 'all'),
  },
  sector: { type: 'text', category: 'identity', about: 'Its sector; case does not matter in filters.' },
  market_cap_tier: { type: 'text', category: 'identity', about: 'Its size.', values: MARKET_CAP_TIERS },
  market_cap: { type: 'numeric', category: 'identity', about: 'Its market capitalisation, as it was imported.' },
  as_of_date: { type: 'text', category: 'identity', about: 'The date of its last bar.' },
  ...Object.fromEntries(
    BAR_FIGURES.map(name => [name, { type: 'numeric', category: PRICES, about: `The ${name} of that bar.` } as const]),
  ),
}

/** The field of each band column, by its short and its long name. */
const BAND_COLUMNS = new Map(
  BUILT_IN_FIELDS.names.flatMap(field => [field, longNameOf(field)].map(name => [name, field] as const)),
)
const COLUMN_NAMES = [...Object.keys(OWN_COLUMNS), ...BAND_COLUMNS.keys()]

/** The columns of an answer that names none; a tier has some of them. */
export const USUAL_COLUMNS: readonly SearchColumn[] = [
  ...['ticker', 'asset_class', 'sector', 'market_cap_tier'].map(name => ({ name, field: null })),
  ...['trend_direction', 'rsi_zone', 'volatility_regime', 'volume_ratio_band', 'valuation_zone'].map(longColumn),
]

/** Every column, by the long names of the fields. */
export const ALL_COLUMNS: readonly SearchColumn[] = [
  ...Object.keys(OWN_COLUMNS).map(name => ({ name, field: null })),
  ...BUILT_IN_FIELDS.names.map(longColumn),
]

function longColumn(field: string): SearchColumn {
  return { name: longNameOf(field), field }
}

/** The column of a name, also of a field's long name. Throws InvalidParameter for an unknown one. */
function columnOf(param: string, name: string): SearchColumn {
  const field = BAND_COLUMNS.get(name) ?? null
  if (field !== null || Object.hasOwn(OWN_COLUMNS, name)) return { name, field }
  const suggestions = suggest(name, COLUMN_NAMES)
  const words = `${param} has no ${quoted(name)}: the columns of a search are those of /v1/schema/fields.`
  throw new InvalidParameter(words, { param, value: name, allowed: COLUMN_NAMES, suggestions }, {}, 'not_allowed')
}

const COLUMN: Kind<SearchColumn, string> = {
  ...TEXT,
  schema: { type: 'string', enum: COLUMN_NAMES },
  name: 'Column',
  parse: (param, written) => columnOf(param, String(written)),
}

const MAX_FILTERS = 20
export const MAX_VALUES = 100
const FILTER_FORM = 'a JSON array of objects with field, op and value'

/** Filters: a list from a program, JSON in a URL. */
const FILTERS: Kind<readonly SearchFilter[], string | readonly object[]> = {
  schema: {
    type: 'string',
    contentMediaType: 'application/json',
    examples: ['[{"field":"momentum_rsi_zone","op":"eq","value":"oversold"}]'],
  },
  placeholder: 'JSON',
  name: 'Filters',
  object: true,
  parse: (param, written) => {
    const list = typeof written === 'string' ? parseJsonOrNull(written) : written
    if (!Array.isArray(list)) return refuse(param, written, FILTER_FORM)
    if (list.length > MAX_FILTERS) return refuse(param, list.length, `at most ${MAX_FILTERS} filters`)
    return list.map(filter => readFilter(param, filter))
  },
}

/** One filter of a search. Throws InvalidParameter for unknown keys, and for an operator or values that do not fit. */
function readFilter(param: string, written: unknown): SearchFilter {
  if (!isMapping(written)) return refuse(param, JSON.stringify(written), FILTER_FORM)
  const { field: name, op, value, ...others } = written
  const [unknownKey] = Object.keys(others)
  if (unknownKey !== undefined)
    throw invalid('unknown', { param: unknownKey, allowed: ['field', 'op', 'value'], suggestions: [] })
  const column = columnOf(param, typeof name === 'string' ? name : '')
  const operator = wordValue(param, typeof op === 'string' ? op : '', OPERATORS)
  const isNumber = OWN_COLUMNS[column.name]?.type === 'numeric'
  if (!isNumber && NUMERIC_OPERATORS.has(operator)) {
    const words = `${quoted(operator)} compares numbers, and ${column.name} is text.`
    throw new InvalidParameter(words, { param, value: operator, allowed: ['eq', 'neq', 'in'] })
  }
  const list = operator === 'in' ? value : [value]
  if (!Array.isArray(list) || list.length === 0 || list.length > MAX_VALUES)
    return refuse(param, JSON.stringify(value), `a list of 1 to ${MAX_VALUES} values for ${quoted('in')}`)
  return {
    ...column,
    op: operator,
    values: list.map(item => (isNumber ? readNumber(param, item) : readWord(param, column, item))),
  }
}

const NUMERIC_OPERATORS: ReadonlySet<Operator> = new Set(['gt', 'gte', 'lt', 'lte'])

function readNumber(param: string, value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : refuse(param, JSON.stringify(value), 'a number')
}

/** Reads a text to compare with: a band of the field, or one of the words of a column. */
function readWord(param: string, { name, field }: SearchColumn, value: unknown): string {
  if (typeof value !== 'string') return refuse(param, JSON.stringify(value), 'text')
  if (field !== null) return bandValue(param, value, fieldByAnyName(param, field, BUILT_IN_FIELDS))
  const { values } = OWN_COLUMNS[name]!
  if (values !== undefined) return wordValue(param, value, values)
  return name === 'ticker' ? value.toUpperCase() : value
}

/** Names of columns, or `*` for all. */
const COLUMNS: Kind<readonly string[], string | readonly string[]> = namesKind(['*', ...COLUMN_NAMES], 'Columns')

export const SEARCH = {
  filters: optional(FILTERS, 'only tickers that meet all of them: a JSON array of objects with field, op and value'),
  timeframe: TIMEFRAME_ROW,
  date: optional(DAY, OVERSOLD.date.help),
  limit: withDefault(LIMIT, 20, `how many results at most, 1 to ${MAX_LIMIT}`),
  offset: withDefault(OFFSET, 0, 'how many results to leave out first'),
  fields: optional(COLUMNS, 'the columns of a result, ["*"] for all'),
  sort_by: optional(
    COLUMN,
    'the column that results are sorted by (default ticker); tickers without a value come last',
  ),
  sort_direction: optional(PAGE_ORDER, 'asc or desc (default desc, by ticker asc)'),
} as const satisfies Table

export type SearchParams = ParamsOf<typeof SEARCH>

/** Parses a search. Throws InvalidParameter for the first fault. */
export function parseSearch(params: object): SearchQuery {
  const { filters = [], fields, sort_by: sort, sort_direction, ...read } = readParams(SEARCH, params)
  const order = sort_direction ?? (sort === undefined ? 'asc' : 'desc')
  const allColumns = fields?.includes('*') ?? false
  const query: SearchQuery = { ...read, filters, order, all: allColumns }
  if (sort !== undefined) query.sort = sort
  if (fields === undefined || allColumns) return query
  const names = new Set(['ticker', ...fields])
  return { ...query, columns: Array.from(names, name => columnOf('fields', name)) }
}
