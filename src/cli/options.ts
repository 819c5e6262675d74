import { InvalidParameter, quoted } from '../errors.js'
import { fieldNamed } from '../fields/index.js'
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
export const FIELD = ['<FIELD>', 'a band field (bands fields)'] as const

export const TIMEFRAME = optionsOf(EVENTS, ['timeframe'])[0]!

/** Which tickers a question is about, where they do not stand on the line themselves. */
export const POOLED: readonly OptionSpec[] = [
  ['--tickers <TICKERS>', 'these: A,B, @FILE, or - for standard input', 'repeatable'],
  ['--all', 'every ticker that is loaded'],
]

/** TICKER, FIELD and the filters as typed → a search that can be trusted. Throws InvalidParameter. */
export async function eventsQuery(context: Context, given: Given): Promise<EventsQuery> {
  const table = (await context.withholds()) ? ASKED_EVENTS : OWN_EVENTS
  const params: Written = { ...filtersOf(given), ...given.params(['limit']), ...place(given) }
  const word = given.text('context')
  if (word !== undefined && params.context_band === undefined)
    throw new InvalidParameter(`context ${quoted(word)} names no band: write ${word}=BAND.`, {
      param: 'context',
      value: word,
      allowed: fieldNamed(String(params.context_field))!.bands,
    })
  return parseEvents(params, table)
}

/** The same for questions that have no limit. */
export function historyQuery(given: Given): HistoryQuery {
  return parseHistory({ ...filtersOf(given), ...place(given) })
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
export function poolQuery(given: Given, tickers: readonly string[], field: string): PoolQuery {
  const params = { ...filtersOf(given), tickers, field }
  return parsePool(params)
}

function place(given: Given): { ticker: string; field: string } {
  return { ticker: given.argument(0)!, field: given.argument(1)! }
}

const FILTER_NAMES = Object.keys(FILTERS)

/** The filters as typed, a context in the three parameters that the specification has for it. */
function filtersOf(given: Given): Written {
  return withOneBand(given.params(FILTER_NAMES))
}
