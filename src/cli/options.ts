import { InvalidParameter, quoted } from '../errors.js'
import { fieldNamed } from '../fields/index.js'
import type { EventsQuery, HistoryQuery, PoolQuery } from '../model/event.js'
import { EVENTS_PARAMETERS, parseContext, parseEvents, parseHistory, parsePool } from '../params/parse.js'
import type { OptionSpec } from './command.js'
import type { Given } from './given.js'

/** Options of every command; they may stand before or after it. */
export const GLOBAL_OPTIONS: readonly OptionSpec[] = [
  ['--output <FORMAT>', 'table, json, ndjson or csv; a table unless given'],
  ['--json', 'short for --output json'],
  ['--ndjson', 'short for --output ndjson: one JSON object a line'],
  ['--csv', 'short for --output csv'],
  ['--db <FILE>', 'the database to use (BANDS_DB)'],
  ['--tier <TIER>', 'answer as free, plus or pro; pro unless given (BANDS_TIER)'],
  ['--as-of <DATE>', 'what was known at the end of that day, and nothing later (BANDS_AS_OF)'],
  ['--remote <URL>', 'ask the server at this address; local asks the database here (BANDS_REMOTE)'],
  ['--profile <NAME>', 'ask the server of this profile (bands login, BANDS_PROFILE)'],
  ['--key-file <FILE>', 'where the API key for it stands; otherwise BANDS_API_KEY, or as bands login keeps it'],
  ['--timeout <SECONDS>', 'for each question to it, retries included; 30 unless given'],
  ['--retries <N>', 'further attempts at a question that it did not answer; 3 unless given'],
  ['--allow-plain-http', 'send it the key without TLS, for everyone on the way to read'],
  ['--color <WHEN>', 'auto, always or never'],
  ['--progress <HOW>', 'auto, plain (a line every ten seconds) or none'],
  ['-q, --quiet', 'no hints and no progress'],
  ['--debug', 'show the stack of an error (BANDS_DEBUG)'],
  ['-V, --version', 'print the version'],
]

export const TICKER = ['<TICKER>', 'a ticker that is loaded (bands tickers); case does not matter'] as const
export const FIELD = ['<FIELD>', 'a band field (bands fields)'] as const

export const TIMEFRAME: OptionSpec = ['--timeframe <NAME>', 'daily or weekly; daily unless given']

/** Which tickers a question is about, where they do not stand on the line themselves. */
export const POOLED: readonly OptionSpec[] = [
  ['--tickers <TICKERS>', 'these: A,B, @FILE, or - for standard input', 'repeatable'],
  ['--all', 'every ticker that is loaded'],
]

/** What narrows events, in the spelling of the specification's parameters. */
export const FILTERS: readonly OptionSpec[] = [
  TIMEFRAME,
  ['--band <BAND>', 'only events that enter this band'],
  ['--before <DATE>', 'only events before this day'],
  ['--after <DATE>', 'only events after this day'],
  ['--context <T:F=B>', 'only events while a second ticker was in a band: GSPC:trend_direction=downtrend'],
  ['--context-ticker <TICKER>', 'the same in three: the second ticker'],
  ['--context-field <FIELD>', 'the field that is looked at there'],
  ['--context-band <BAND>', 'the band it was in on the date of the event'],
]

/** What narrows a search, as the specification spells it; each is an option of the same name with dashes. */
export const FILTER_PARAMETERS = EVENTS_PARAMETERS.filter(name => name !== 'ticker' && name !== 'field')

/** TICKER, FIELD and the filters as typed → a search that can be trusted. Throws InvalidParameter. */
export function eventsQuery(given: Given): EventsQuery {
  const params = paramsOf(given)
  const short = given.text('context')
  if (short !== undefined && params.context_band === undefined)
    throw new InvalidParameter(`context ${quoted(short)} names no band: write ${short}=BAND.`, {
      param: 'context',
      value: short,
      allowed: fieldNamed(params.context_field!)!.bands,
    })
  return parseEvents(params)
}

/** The same for questions that have no limit. */
export function historyQuery(given: Given): HistoryQuery {
  return parseHistory(paramsOf(given))
}

/** The filters as typed, for tickers and a field that stand elsewhere on the line. */
export function poolQuery(given: Given, tickers: readonly string[], field: string): PoolQuery {
  const { ticker: _place, ...filters } = paramsOf(given)
  return parsePool({ ...filters, tickers, field })
}

type Typed = Record<string, string> & { ticker: string; field: string }

function paramsOf(given: Given): Typed {
  const params: Record<string, string> = {}
  for (const name of FILTER_PARAMETERS) {
    const value = given.text(name.replaceAll('_', '-'))
    if (value !== undefined) params[name] = value
  }
  return { ...params, ...shortContext(given), ticker: given.argument(0)!, field: given.argument(1)! }
}

const PARTS = ['context-ticker', 'context-field', 'context-band']

/** `--context GSPC:trend_direction=downtrend` in the three parameters that the specification has for it. */
function shortContext(given: Given): Record<string, string> {
  const short = given.text('context')
  if (short === undefined) return {}
  const more = PARTS.filter(name => given.text(name) !== undefined).map(name => `--${name}`)
  if (more.length > 0)
    throw new InvalidParameter(`--context says it all; leave ${more.join(' and ')} out.`, { param: 'context' })
  const { ticker, field, bands } = parseContext('context', short)
  if (bands !== null && bands.length > 1)
    throw new InvalidParameter(`context ${quoted(short)} names ${bands.length} bands, and this question takes one.`, {
      param: 'context',
      value: short,
    })
  const [band] = bands ?? []
  return { context_ticker: ticker, context_field: field, ...(band === undefined ? {} : { context_band: band }) }
}
