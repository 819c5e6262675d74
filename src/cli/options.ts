import { InvalidParameter, quoted, remedy } from '../errors.js'
import type { FieldSet } from '../fields/index.js'
import type { EventsQuery, HistoryQuery, PoolQuery } from '../model/event.js'
import { withOneBand } from '../params/context.js'
import { ASKED_EVENTS, EVENTS, FILTERS, MAX_LIMIT, OWN_EVENTS } from '../params/parameters.js'
import { parseEvents, parseHistory, parsePool } from '../params/parse.js'
import { type OptionSpec, optionsOf, type Written } from '../params/row.js'
import { SETTINGS } from './config.js'
import type { Context } from './context.js'
import type { Given } from './given.js'

/** Options of every command; they may stand before or after it. */
export const GLOBAL_OPTIONS: readonly OptionSpec[] = [
  ['--output <FORMAT>', 'table, json, ndjson or csv; a table unless given'],
  ['--json', 'short for --output json'],
  ['--ndjson', 'short for --output ndjson: one JSON object a line'],
  ['--csv', 'short for --output csv'],
  ...optionsOf(SETTINGS).map(([flags, ...more]): OptionSpec => [flags === '--quiet' ? '-q, --quiet' : flags, ...more]),
  ['-V, --version', 'print the version'],
]

export const TICKER = ['<TICKER>', 'a ticker that is loaded (bands tickers); case does not matter'] as const
export const FIELD = ['[FIELD]', 'a band field (bands fields); left out where --when stands in its place'] as const

export const TIMEFRAME = optionsOf(EVENTS, ['timeframe'])[0]!

/** Which tickers a question is about, where they do not stand on the line themselves. */
export const POOLED: readonly OptionSpec[] = [
  ['--tickers <TICKERS>', 'these: A,B, @FILE, or - for standard input', 'repeatable'],
  ['--watch <LISTS>', 'those of a list of yours (bands watch list)', 'repeatable'],
  ['--all', 'every ticker that is loaded'],
]

/** A ticker and its field, for which a condition may stand. */
export interface Place {
  ticker: string
  field?: string
}

/** The filters as typed, of a ticker and a field → a search that can be trusted. Throws InvalidParameter. */
export async function eventsQuery(context: Context, given: Given, place: Place): Promise<EventsQuery> {
  const table = (await context.withholds()) ? ASKED_EVENTS : OWN_EVENTS
  const params: Written = {
    ...filtersOf(given, context.fields),
    ...given.params(['limit']),
    ...place,
  }
  const word = given.text('context')
  if (word !== undefined && params.context_band === undefined)
    throw new InvalidParameter(`context ${quoted(word)} names no band: write ${word}=BAND.`, {
      param: 'context',
      value: word,
      allowed: context.fields.named(String(params.context_field))!.bands,
    })
  return parseEvents(params, table, context.fields)
}

/** Ticker and field in the wrong order: refused with the line put right. Throws InvalidParameter. */
export function checkOrder({ argv, fields }: Context, first: string, last: string | undefined): void {
  if (last === undefined || fields.named(first) === undefined || fields.named(last) !== undefined) return
  const words = argv.with(argv.indexOf(first), last).with(argv.lastIndexOf(last), first)
  throw new InvalidParameter(
    `${first} is a field, and the field comes after the ticker.`,
    { param: 'ticker', value: first },
    { remedy: remedy(words[0]!, words.slice(1)) },
  )
}

/** The same for questions that have no limit. */
export function historyQuery({ fields }: Context, given: Given, place: Place): HistoryQuery {
  return parseHistory({ ...filtersOf(given, fields), ...place }, fields)
}

/** Rows for machines are all there are, unless a limit was typed. */
export function allUnlessLimited<Query extends { limit: number }>(
  { isRowByRow }: Pick<Context, 'isRowByRow'>,
  given: Given,
  query: Query,
): Query {
  return isRowByRow && given.value('limit') === undefined ? { ...query, limit: Number.POSITIVE_INFINITY } : query
}

/** Whether a limit can be so large. */
export async function isWithinLimit(context: Context, total: number): Promise<boolean> {
  return total <= MAX_LIMIT || !(await context.withholds())
}

/** The filters as typed, for tickers and a field that stand elsewhere on the line. */
export function poolQuery(
  { fields }: Context,
  given: Given,
  place: { tickers: readonly string[]; field?: string },
  parse = parsePool,
): PoolQuery {
  return parse({ ...filtersOf(given, fields), ...place }, fields)
}

/** A condition may stand in place of the field. Throws InvalidParameter where neither is given. */
export function place(given: Given, command: string): { ticker: string; field?: string } {
  const [ticker, field] = [given.argument(0)!, given.argument(1)]
  if (field !== undefined) return { ticker, field }
  if (given.text('when') !== undefined) return { ticker }
  const allowed = `bands ${command} TICKER FIELD, or bands ${command} TICKER --when CONDITION`
  throw new InvalidParameter('FIELD is missing.', { param: 'field', allowed })
}

const FILTER_NAMES = Object.keys(FILTERS)

/** The filters as typed, a context in the three parameters that the specification has for it. */
function filtersOf(given: Given, fields: FieldSet): Written {
  return withOneBand(given.params(FILTER_NAMES), fields)
}
