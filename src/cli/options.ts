import { EVENTS_PARAMETERS } from '../query/parse.js'
import type { OptionSpec } from './command.js'

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
