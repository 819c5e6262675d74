import { quoted, remedy, sentence, wrong } from '../../core/errors.js'
import type { FieldSet } from '../../core/fields/index.js'
import { isCondition } from '../../core/language/as-field.js'
import type { EventsQuery, HistoryQuery, PoolQuery } from '../../core/model/event.js'
import { parseTicker } from '../../core/model/terms.js'
import { splitContextWithOneBand } from '../../core/params/context.js'
import {
  EVENTS,
  EVENTS_WITH_CONDITIONS,
  FILTERS,
  MAX_LIMIT,
  parseEvents,
  parseHistory,
  parsePool,
  UNLIMITED_EVENTS,
} from '../../core/params/questions.js'
import { type OptionSpec, optionsOf, type Table, type Written } from '../../core/params/row.js'
import { SIGNALS } from '../../core/params/studies.js'
import { conditionValue, fieldOrConditionValue, timeframeValue } from '../../core/params/values.js'
import type { Args } from './command.js'
import { SETTINGS } from './config.js'
import type { Context } from './context.js'
import {
  defaultTickers,
  defaultTickersWithNotice,
  everyTicker,
  hasTickersOption,
  refuseFileNames,
  tickersOfLine,
  tickersWithFields,
} from './tickers.js'

export const GLOBAL_OPTIONS: readonly OptionSpec[] = [
  ['--output <FORMAT>', 'table, json, ndjson or csv (default table)'],
  ['--json', 'short for --output json'],
  ['--ndjson', 'short for --output ndjson: one JSON object a line'],
  ['--csv', 'short for --output csv'],
  ...optionsOf(SETTINGS).map(([flags, ...more]): OptionSpec => [flags === '--quiet' ? '-q, --quiet' : flags, ...more]),
  ['-V, --version', 'print the version'],
]

export const TICKER = ['<TICKER>', 'a ticker that is loaded (bands status); case does not matter'] as const
export const TICKERS = ['[TICKER...]', 'tickers (A B, A,B, @FILE, or - for standard input)'] as const
export const FIELD = ['[FIELD]', 'a band field (bands fields); left out with --when'] as const

export const TIMEFRAME = optionsOf(EVENTS, ['timeframe'])[0]!

/** Everything that a short answer leaves out. */
export const WIDE: OptionSpec = ['--wide', 'every table, every note in full']

export const REPORT: OptionSpec = ['--report <FILE>', 'write a page that needs nothing else: .html']

/** Options that name tickers instead of arguments. */
export const TICKERS_OPTIONS: readonly OptionSpec[] = [
  ['--tickers <TICKERS>', 'these: A,B, @FILE, or - for standard input', 'repeatable'],
  ['--watch <LISTS>', 'those of a list of yours (bands watch list)', 'repeatable'],
  ['--all', 'every ticker that is loaded'],
]

/** A ticker, and its field unless a condition replaces it. */
export interface Target {
  ticker: string
  field?: string
}

/** Several tickers with one field or condition. */
export interface PoolTarget extends Pick<Target, 'field'> {
  tickers: string[]
  /** A condition in place of the field: its events are the bars on which it becomes true. */
  when?: string
}

/** Parses the query for the events of a ticker: its typed filters and limit. Throws InvalidParameter. */
export async function eventsQuery(context: Context, args: Args, target: Target): Promise<EventsQuery> {
  const table = (await context.hasMaxLimit()) ? EVENTS_WITH_CONDITIONS : UNLIMITED_EVENTS
  const params: Written = { ...filtersOf(args, context.fields), ...args.params(['limit']), ...target }
  const typedContext = args.text('context')
  if (typedContext !== undefined && params.context_band === undefined) {
    const allowed = context.fields.named(String(params.context_field))!.bands
    const message = `context ${quoted(typedContext)} names no band: write ${typedContext}=BAND.`
    throw wrong('context', message, { value: typedContext, allowed })
  }
  return parseEvents(params, table, context.fields)
}

/** Throws InvalidParameter, with the corrected line, if the first word is a field and the last one is not. */
export function refuseFieldBeforeTicker({ argv, fields }: Context, first: string, last: string | undefined): void {
  if (last === undefined || fields.named(first) === undefined || fields.named(last) !== undefined) return
  const words = argv.with(argv.indexOf(first), last).with(argv.lastIndexOf(last), first)
  const message = `${first} is a field, and the field comes after the ticker.`
  throw wrong('ticker', message, { value: first }, { remedy: remedy(words[0]!, words.slice(1)) })
}

export function historyQuery({ fields }: Context, args: Args, target: Target): HistoryQuery {
  return parseHistory({ ...filtersOf(args, fields), ...target }, fields)
}

/** The query without its default limit if machines read the answer row by row; a typed limit stays. */
export function withoutDefaultLimit<Query extends { limit: number }>(
  { isRowFormat }: Pick<Context, 'isRowFormat'>,
  args: Args,
  query: Query,
): Query {
  return isRowFormat && args.value('limit') === undefined ? { ...query, limit: Number.POSITIVE_INFINITY } : query
}

/** The limit that shows all rows, or the largest allowed one if that is less. @param total the number of all rows */
export async function largestLimit(context: Context, total: number): Promise<number> {
  return total > MAX_LIMIT && (await context.hasMaxLimit()) ? MAX_LIMIT : total
}

/** The ticker and field of a line; --when may replace the field. Throws InvalidParameter if both are missing. */
export function targetOf(args: Args, command: string): Target {
  const ticker = args.argument(0)!
  const field = args.argument(1)
  if (field !== undefined) return { ticker, field }
  if (args.text('when') !== undefined) return { ticker }
  const allowed = `bands ${command} TICKER FIELD, or bands ${command} TICKER --when CONDITION`
  throw wrong('field', 'FIELD is missing.', { allowed })
}

/** The typed filters. --context is split into the three parameters that the specification has for it. */
function filtersOf(args: Args, fields: FieldSet): Written {
  return splitContextWithOneBand(args.params(Object.keys(FILTERS)), fields)
}

/** Options that select the events of a study or a backtest; the field is an argument. */
export function signalOptions(table: Table): OptionSpec[] {
  return [...optionsOf(SIGNALS).slice(1), ...optionsOf(table, ['when'])]
}

/** The options of a table that do not select events. */
export function otherOptions(table: Table): OptionSpec[] {
  const names = Object.keys(table).filter(name => !(name in SIGNALS) && name !== 'name' && name !== 'when')
  return optionsOf(table, names)
}

/** The same options under a heading of the help. Only the first one has it, and it counts for those after it. */
export function underHeading(heading: string, [first, ...others]: readonly OptionSpec[]): OptionSpec[] {
  const [flags, help, times = 'once', , ...more] = first!
  return [[flags, help, times, heading, ...more], ...others]
}

export const POOL_ARGUMENTS = [
  ['[TICKER_OR_FIELD...]', 'tickers (A B, A,B, @FILE, or - for standard input), then a band field'],
] as const

/**
 * Parses `TICKER... FIELD`, or `FIELD` with --tickers or --all; a lone `FIELD` uses default tickers of config.json.
 * Returns the last word as `field`, or as `when` if it is a condition. With --when and no field, all words are tickers,
 * and only the tickers are returned. Throws InvalidParameter, and NotFound without loaded tickers.
 * @param loadedTickers returns all loaded tickers that have a field
 * @param otherForms other forms of the line, for refusals
 */
export async function tickersAndField(
  context: Context,
  args: Args,
  command: string,
  loadedTickers: (field: string) => Promise<readonly string[]>,
  otherForms = '',
): Promise<PoolTarget> {
  const words = args.argumentList(0)
  refuseFileNames(words)
  const field = words.at(-1)
  if (args.text('when') !== undefined && (field === undefined || !isField(field, context.fields)))
    return { tickers: await tickersOfCondition(context, args, command, loadedTickers) }
  const isFieldOnly = words.length === 1 && !hasTickersOption(args)
  const defaults = isFieldOnly ? defaultTickers(context) : []
  if (field === undefined || (isFieldOnly && defaults.length === 0)) {
    // A single word with an underscore is a field; any other is a ticker.
    const missing = field?.includes('_') ? 'TICKER' : 'FIELD'
    const allowed = `bands ${command} TICKER... FIELD, or bands ${command} FIELD --tickers A,B, or bands ${command} FIELD --all${otherForms}`
    throw wrong(missing.toLowerCase(), `${missing} is missing.`, { allowed })
  }
  if (words.length > 1) refuseFieldBeforeTicker(context, words[0]!, field)
  const { name } = fieldOrConditionValue('field', field, context.fields)
  const otherField = words.slice(0, -1).find(word => context.fields.named(word) !== undefined)
  if (otherField !== undefined) {
    const message = `${otherField} and ${name} are two fields, and a ${command} is of one; the field of a second ticker is --context T:F.`
    throw wrong('field', message, { value: otherField })
  }
  const event = isCondition(name) ? { when: onlyCondition(args, name) } : { field: name }
  if (defaults.length > 0) return { tickers: await defaultTickersWithNotice(context), ...event }
  return { tickers: await tickersOfLine(context, args, words.slice(0, -1), () => loadedTickers(name)), ...event }
}

/** Returns a condition that was typed as the field. Throws InvalidParameter if there is --when as well. */
function onlyCondition(args: Args, condition: string): string {
  const typed = args.text('when')
  if (typed === undefined) return condition
  const message = sentence`${quoted(condition)} and --when are two conditions; join them with and.`
  throw wrong('when', message, { value: typed })
}

/** The tickers of a line that has --when instead of a field: all its words are tickers. */
async function tickersOfCondition(
  context: Context,
  args: Args,
  command: string,
  loadedTickers: (field: string) => Promise<readonly string[]>,
): Promise<string[]> {
  const { name } = conditionValue('when', args.text('when')!, context.fields)
  const words = args.argumentList(0)
  if (words.length > 0 || hasTickersOption(args)) return tickersOfLine(context, args, words, () => loadedTickers(name))
  const defaults = await defaultTickersWithNotice(context)
  if (defaults.length > 0) return defaults
  const allowed = `bands ${command} TICKER... --when CONDITION, or bands ${command} --all --when CONDITION`
  throw wrong('ticker', 'TICKER is missing.', { allowed })
}

/** Whether a word means a field or a condition, and not a ticker. */
function isField(word: string, fields: FieldSet): boolean {
  // A ticker may have = in it: `CL=F`.
  const isTicker = parseTicker(word) !== null && fields.named(word.split('=')[0]!) === undefined
  // @NAME is a condition, any other word like @tickers.txt a file of tickers.
  if (word.startsWith('@')) return fields.conditions?.named(word.slice(1)) !== undefined
  return fields.named(word) !== undefined || word.includes('_') || (isCondition(word) && !isTicker)
}

/** Tickers and field of a question about events. Throws as tickersAndField does. */
export async function poolTarget(context: Context, args: Args, command: string) {
  const usage = `bands ${command} FIELD --tickers A,B`
  const timeframe = timeframeValue('timeframe', args.text('timeframe') ?? 'daily')
  const loadedTickers = async (field: string) =>
    tickersWithFields(context, await everyTicker(context, usage), { fields: [field], timeframe })
  return tickersAndField(context, args, command, loadedTickers, `, or bands ${command} TICKER... --when CONDITION`)
}

/** The query for events of several tickers: tickers, field and filters. Throws InvalidParameter, NotFound. */
export async function pooledQuery(
  context: Context,
  args: Args,
  command: string,
  parse = parsePool,
): Promise<PoolQuery> {
  const { fields } = context
  const target = await poolTarget(context, args, command)
  return parse({ ...filtersOf(args, fields), ...target }, fields)
}
