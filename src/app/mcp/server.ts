// For: the questions of bands as tools of an assistant, by the Model Context Protocol.
// In: a client of a database, and calls with JSON parameters.
// Out: answers as JSON of bounded length, and refusals with the allowed values.

import type { Readable, Writable } from 'node:stream'
import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { version } from '../../core/built.js'
import { BandsError, InvalidParameter } from '../../core/errors.js'
import { formatDay } from '../../core/model/day.js'
import { numberText } from '../../core/numbers.js'
import { withoutNulls } from '../../core/params/arguments.js'
import { listKind } from '../../core/params/figures.js'
import { TICKER } from '../../core/params/kinds.js'
import { CHANGES, EVENTS_WITH_CONDITIONS, EXPLAIN, NOW, SCREEN } from '../../core/params/questions.js'
import { type JsonSchema, optional, type Parameter, schemaOf, type Table } from '../../core/params/row.js'
import { BACKTEST } from '../../core/params/strategy.js'
import { STUDY, TALLY } from '../../core/params/studies.js'
import type { TickerEntry } from '../../data/store/store.js'
import type { BandsClient } from '../client.js'

/** One question that an assistant may ask. */
interface Tool {
  about: string
  /** The parameters that the assistant is shown, in order; the question takes every one of its table. */
  shown: Table
  /** Lists of the answer that are left out, because their sums are in it. */
  details?: readonly string[]
  ask(bands: BandsClient, params: never): unknown
}

/** In characters; a longer answer is shortened for the assistant. */
const MAX_ANSWER_LENGTH = 25_000

const TICKERS = { tickers: optional(listKind(TICKER, 'TICKERS'), 'loaded tickers (default all)') }
const { ticker, field, band, limit, when, timeframe, after, before, context } = EVENTS_WITH_CONDITIONS
const EVENTS = { field, band, when, timeframe, after, before, context }

type Params = Record<string, unknown>

const TOOLS: Readonly<Record<string, Tool>> = {
  fields: {
    about: 'All band fields with their bands, and named conditions. Ask this first.',
    shown: {},
    ask: bands => ({
      fields: bands.fields().map(({ name, bands: words, summary }) => ({ name, bands: words, summary })),
      conditions: bands.conditions(),
    }),
  },
  tickers: {
    about: 'The loaded tickers, by the range of their bars.',
    shown: {},
    ask: async bands => groupByRange(await bands.tickers()),
  },
  status: {
    about: 'How many tickers, bars and events are loaded, how fresh, and whether an import is unfinished.',
    shown: {},
    details: ['tickers', 'oddities', 'pulled'],
    ask: bands => bands.status(),
  },
  now: {
    about: 'The present band of each field of some tickers, since when, and how long such a stay usually lasts.',
    shown: NOW,
    ask: (bands, params) => bands.now(params),
  },
  events: {
    about: 'The newest changes into a band of one ticker, and what its price did afterwards.',
    shown: { ticker, ...EVENTS, limit },
    ask: (bands, params) => bands.events(params),
  },
  tally: {
    about: 'How often each performance followed such events, with intervals, next to what follows any bar.',
    shown: { ...TICKERS, ...EVENTS, by: TALLY.by, horizon: TALLY.horizon },
    ask: async (bands, params) => bands.tally(await withAllTickers(bands, params)),
  },
  transitions: {
    about: 'Which band follows which, how often, and after how many bars.',
    shown: { ...TICKERS, field, when, timeframe, after, before, context },
    details: ['dwell.survival', 'incidence'],
    ask: async (bands, params) => bands.transitions(await withAllTickers(bands, params)),
  },
  screen: {
    about: 'The tickers for which a condition holds, and since when.',
    shown: { ...pickRows(SCREEN, ['when', 'since', 'as_of', 'tally', 'timeframe']), ...TICKERS },
    ask: (bands, params) => bands.screen(params),
  },
  changes: {
    about: 'Every change of band after a day, such as on a watch list.',
    shown: { ...pickRows(CHANGES, ['since', 'field', 'when', 'timeframe']), ...TICKERS },
    ask: (bands, params) => bands.changes(params),
  },
  explain: {
    about: 'Why a ticker has its band on a day: inputs, rule, value.',
    shown: pickRows(EXPLAIN, ['ticker', 'field', 'when', 'date', 'timeframe']),
    ask: (bands, params) => bands.explain(params),
  },
  study: {
    about: 'Whether returns after such events differ from any bar, with p-values. It counts in the trial log.',
    shown: {
      ...TICKERS,
      ...pickRows(STUDY, ['field', 'band', 'when', 'context', 'after', 'before', 'horizon']),
      benchmark: STUDY.benchmark,
      timeframe,
    },
    details: ['occurrences', 'path', 'band_paths'],
    ask: async (bands, params) => bands.study(await withAllTickers(bands, params)),
  },
  backtest: {
    about:
      'Trades on such events after costs, compared with holding and with random entry. It counts in the trial log.',
    shown: {
      ...TICKERS,
      ...pickRows(BACKTEST, ['field', 'band', 'when', 'hold', 'exit', 'stop', 'target', 'side']),
      ...pickRows(BACKTEST, ['costs', 'size', 'benchmark', 'split', 'context', 'after', 'before']),
      timeframe,
    },
    details: ['trades', 'skipped', 'equity', 'months', 'benchmarks.equity'],
    ask: async (bands, params) => bands.backtest(await withAllTickers(bands, params)),
  },
}

function pickRows<Rows extends Table, Name extends keyof Rows & string>(table: Rows, names: readonly Name[]) {
  return Object.fromEntries(names.map(name => [name, table[name]!])) as Record<Name, Parameter>
}

/** The parameters with every loaded ticker, if they name none. */
async function withAllTickers(bands: BandsClient, params: Params): Promise<never> {
  const { tickers = (await bands.tickers()).map(({ ticker }) => ticker), ...others } = params
  return { tickers, ...others } as never
}

/** The tickers grouped by the range of their bars: thousands of them usually share a few ranges. */
function groupByRange(entries: readonly TickerEntry[]) {
  const groups = Map.groupBy(entries, ({ first, last }) => `${formatDay(first)} to ${formatDay(last)}`)
  const ranges = Array.from(groups, ([range, group]) => ({
    range,
    tickers: group.map(({ ticker }) => ticker).join(' '),
  }))
  return { tickers: entries.length, ranges }
}

/** Answers an assistant until it closes the input. */
export async function serveAssistant(bands: BandsClient, input: Readable, output: Writable): Promise<void> {
  const ended = new Promise<void>(resolve => input.once('end', resolve).once('close', resolve))
  const handle = serveStdio(() => toolServer(bands), { transport: new StdioServerTransport(input, output) })
  await ended
  await handle.close()
}

/** Turns off the validation of the protocol: each question checks its parameters, and its errors say more. */
const NO_VALIDATION = {
  getValidator: () => (data: unknown) => ({ valid: true as const, data: data as never, errorMessage: undefined }),
}

/** A server with every question as a tool. */
function toolServer(bands: BandsClient): McpServer {
  const server = new McpServer(
    { name: 'bands', version: version() },
    { instructions: INSTRUCTIONS, jsonSchemaValidator: NO_VALIDATION },
  )
  // The first tool that has a parameter describes it for all.
  const describedParameters = new Set<string>()
  for (const [name, { about, shown, details = [], ask }] of Object.entries(TOOLS)) {
    const config = {
      description: about,
      inputSchema: fromJsonSchema(inputSchema(shown, describedParameters) as never, NO_VALIDATION),
      annotations: { readOnlyHint: true },
    }
    server.registerTool(name, config, async params =>
      answerOrRefusal(async () => {
        const answer = await ask(bands, withoutNulls(params as Params) as never)
        return shortenAnswer(answer, details, shown)
      }),
    )
  }
  return server
}

const INSTRUCTIONS =
  'Bands describe a market in categories, such as rsi_zone = oversold; an event is a change of band. fields and tickers say what can be asked. A parameter is described in the first tool that has it. A condition (when) joins tests with and, or, not and brackets, takes another ticker (GSPC:trend_direction = uptrend) and a named condition (@name); with it, leave out field. Returns are fractions, windows count bars. A tally compares with any bar and tests nothing; study tests. Repeat the verdict, warnings and independent cases of an answer.'

/**
 * The schema of a tool's parameters. A parameter that an earlier tool describes has only its type, because an assistant
 * sees all tools.
 * @param described the described parameters; those of this tool are added
 */
function inputSchema(shown: Table, described: Set<string>): JsonSchema {
  const { properties, required = [] } = schemaOf(shown) as {
    properties: Record<string, JsonSchema>
    required?: string[]
  }
  const shortProperties: Record<string, JsonSchema> = {}
  for (const name of Object.keys(properties)) {
    const { kind, help } = shown[name]!
    const type = shortSchema(kind.schema)
    shortProperties[name] = type
    const nameAndType = `${name} ${JSON.stringify(type)}`
    if (described.has(nameAndType)) continue
    described.add(nameAndType)
    // Options of the command line are parameters here.
    shortProperties[name] = { ...type, description: help.replace(/--(\w+)/g, '$1') }
  }
  const schema: Record<string, unknown> = { type: 'object', properties: shortProperties }
  // A condition replaces the field.
  const needed = required.filter(name => name !== 'field' || shown.when === undefined)
  if (needed.length > 0) schema.required = needed
  return schema
}

/** The allowed words of a parameter are left out if they are more: the tool `fields` has them. */
const MAX_ENUM_LENGTH = 8

/**
 * A shorter schema that may allow more than the parameter does; the question refuses the rest with a reason.
 * Alternatives (`anyOf`) are replaced by the one that is a list; without a list any value is allowed.
 */
function shortSchema({ anyOf, type, enum: words, items }: JsonSchema): JsonSchema {
  const list = (anyOf as JsonSchema[] | undefined)?.find(alternative => alternative.type === 'array')
  if (list !== undefined) return shortSchema(list)
  if (anyOf !== undefined) return {}
  const short: Record<string, unknown> = { type }
  if (Array.isArray(words) && words.length <= MAX_ENUM_LENGTH) short.enum = words
  if (items !== undefined) short.items = shortSchema(items as JsonSchema)
  return short
}

/** The reply to a call. A BandsError becomes a reply, too, so that the assistant can correct its question. */
async function answerOrRefusal(ask: () => Promise<string>) {
  try {
    return { content: [{ type: 'text' as const, text: await ask() }] }
  } catch (error) {
    if (!(error instanceof BandsError)) throw error
    const text = JSON.stringify({ error: error.code, message: error.message, ...error.payload() })
    return { content: [{ type: 'text' as const, text }], isError: true }
  }
}

/**
 * An answer as JSON of at most MAX_ANSWER_LENGTH. Its longest lists are cut until it is short enough; `rows_here` names
 * them. Throws InvalidParameter if cutting does not suffice.
 * @param details the paths of lists that are left out
 * @param shown the parameters of the question, for the advice how to shorten its answer
 */
function shortenAnswer(answer: unknown, details: readonly string[], shown: Table): string {
  const document = JSON.parse(JSON.stringify(answer, roundNumber)) as Params
  const originalLengths = new Map<string, number>()
  const rowsHere: Record<string, string> = {}
  const cutTo = ({ path, list }: RowList, length: number): void => {
    const originalLength = originalLengths.get(path) ?? list.length
    originalLengths.set(path, originalLength)
    rowsHere[path] = `${length} of ${originalLength}`
    list.length = length
  }
  for (const rows of listsIn(document)) {
    const isLongTickerList = rows.path === 'tickers' && rows.list.length > MAX_LISTED_TICKERS
    if (isLongTickerList || details.includes(rows.path)) cutTo(rows, 0)
  }
  let text = JSON.stringify(document)
  while (text.length > MAX_ANSWER_LENGTH) {
    const longest = longestList(document)
    if (longest === null) throw tooLongError(text.length, shown)
    const { list, size } = longest
    // The share of its rows with which the answer would be short enough; at least one row stays, and one goes.
    const keptShare = 1 - (text.length - MAX_ANSWER_LENGTH + CUT_NOTE_LENGTH) / size
    const keptRows = Math.min(list.length - 1, Math.floor(list.length * keptShare))
    cutTo(longest, Math.max(1, keptRows))
    text = JSON.stringify(document)
  }
  if (Object.keys(rowsHere).length === 0) return text
  const advice = `${narrowingAdvice(shown)}the command line has all`
  return JSON.stringify({ rows_here: rowsHere, for_more: advice, ...document })
}

/** Characters that are left for `rows_here`. */
const CUT_NOTE_LENGTH = 500
/** A longer list has details; a shorter one has groups of figures, and is only cut if no other is left. */
const MANY_ROWS = 10
/** A longer list of tickers is left out, and only counted. */
const MAX_LISTED_TICKERS = 50

/** A list of a document, and the keys that lead to it, such as `benchmarks.equity`. */
interface RowList {
  path: string
  list: unknown[]
}

/**
 * The list that is cut next, with its length as JSON; null if none has several rows. It is the longest one of more than
 * MANY_ROWS rows, or else the longest of all.
 */
function longestList(document: object): (RowList & { size: number }) | null {
  const lists = listsIn(document).map(rows => ({ ...rows, size: JSON.stringify(rows.list).length }))
  const withManyRows = lists.filter(({ list }) => list.length > MANY_ROWS)
  const candidates = withManyRows.length > 0 ? withManyRows : lists.filter(({ list }) => list.length > 1)
  return candidates.toSorted((a, b) => b.size - a.size)[0] ?? null
}

/**
 * The lists of a document that are not empty, also those inside their rows, each with its path: `trades`,
 * `benchmarks.equity`. A path names keys only, so lists in several rows of one list share a path.
 */
function listsIn(document: object, documentPath = ''): RowList[] {
  return Object.entries(document).flatMap(([key, value]): RowList[] => {
    if (typeof value !== 'object' || value === null) return []
    const keyPath = documentPath === '' ? key : `${documentPath}.${key}`
    const path = Array.isArray(document) ? documentPath : keyPath
    const lists = listsIn(value, path)
    if (Array.isArray(value) && value.length > 0) lists.unshift({ path, list: value })
    return lists
  })
}

/** Parameters that make an answer shorter. */
const NARROWING_PARAMS = ['tickers', 'field', 'band', 'after', 'since', 'limit', 'horizon']

/** How to make an answer shorter, as the start of a sentence; empty where no parameter does. */
function narrowingAdvice(shown: Table): string {
  const names = NARROWING_PARAMS.filter(name => name in shown)
  return names.length === 0 ? '' : `narrow the question by ${names.join(', ')}; `
}

function tooLongError(characters: number, shown: Table): BandsError {
  const message = `the answer has ${numberText(characters)} characters, and at most ${numberText(MAX_ANSWER_LENGTH)} are sent: ${narrowingAdvice(shown)}the command line has all.`
  return new InvalidParameter(message, { param: NARROWING_PARAMS.find(name => name in shown) ?? 'tickers' })
}

/** Rounds a number to six digits, for JSON.stringify: that is precise enough, in half the characters. */
function roundNumber(_key: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(6)) : value
}
