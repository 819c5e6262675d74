import { InvalidParameter, quoted, suggest } from '../errors.js'
import type { EventsQuery } from '../model/event.js'
import type { SnapshotQuery } from '../model/pages.js'
import { objectOf, parseJsonOrNull, withoutNulls } from './arguments.js'
import { EVENTS_CONTEXT } from './context.js'
import { BAND, DAY, FIELD, integerOf, wordOf } from './kinds.js'
import { CHOICES, withLongNames } from './places.js'
import { DEFAULT_LIMIT, EVENTS, LIMIT, MAX_LIMIT, parseEvents, TIMEFRAME_ROW } from './questions.js'
import {
  type Kind,
  optional,
  type Parameter,
  type ParamsOf,
  paramsInTable,
  readParams,
  type Table,
  type Written,
  withDefault,
} from './row.js'
import { refuse } from './values.js'

/** The parameters of `GET /v1/summary/{ticker}`: a ticker on one day or several, or the events of one of its fields. */

/** A flag in a URL. */
const SWITCH: Kind<boolean, string | boolean> = {
  schema: { type: 'string', enum: ['true', 'false'] },
  placeholder: 'true|false',
  name: 'Switch',
  object: true,
  parse: (param, written) => {
    if (written === true || written === 'true') return true
    return written === false || written === 'false' ? false : refuse(param, written, 'true or false')
  },
}

/** The number of rows to leave out first. */
export const OFFSET = { ...integerOf(0, 100_000), name: 'Offset' }

/** A kind for a list of names: a list from a program, in a URL JSON or a text with commas. */
export function namesKind(
  allowed: readonly string[],
  name: string,
): Kind<readonly string[], string | readonly string[]> {
  return {
    schema: { type: 'string', contentMediaType: 'application/json', examples: [JSON.stringify(allowed.slice(0, 2))] },
    placeholder: 'NAMES',
    name,
    object: true,
    parse: (param, written) => {
      const names = readList(param, written)
      const value = names.find(item => !allowed.includes(item))
      if (value === undefined) return [...new Set(names)]
      const suggestions = suggest(value, allowed)
      // A name with a dot is a part of another one; with all of them the message would be too long.
      const undotted = allowed.filter(item => !item.includes('.'))
      const words = `${param} has no ${quoted(value)}; it has ${undotted.join(', ')}.`
      throw new InvalidParameter(words, { param, value, allowed, suggestions }, {}, 'not_allowed')
    },
  }
}

/** The names in a list, in JSON, or in a text with commas. Throws InvalidParameter without any. */
function readList(param: string, written: unknown): string[] {
  const list = typeof written === 'string' ? parseList(written) : written
  if (!Array.isArray(list) || list.length === 0 || !list.every(item => typeof item === 'string'))
    return refuse(param, written, 'a JSON array of names, or names with commas between')
  return list
}

/** The value of a JSON list, or the parts of a text with commas; null for faulty JSON. */
function parseList(text: string): unknown {
  if (!text.trimStart().startsWith('[')) return text.split(',').map(name => name.trim())
  return parseJsonOrNull(text)
}

const LONG_FIELD = withLongNames(FIELD, 'AnyField')

/** The rows of a context, which take long names, too. */
const CONTEXT_ROWS = Object.fromEntries(
  Object.entries<Parameter>(EVENTS_CONTEXT).map(([name, row]) => [
    name,
    row.kind === FIELD ? { ...row, kind: LONG_FIELD } : row,
  ]),
) as unknown as typeof EVENTS_CONTEXT

const EVENTS_ROWS = {
  field: optional(LONG_FIELD, 'the events of this band field, instead of its state'),
  band: optional(BAND, EVENTS.band.help),
  before: EVENTS.before,
  after: EVENTS.after,
  stats: withDefault(SWITCH, false, 'with field: the outcomes of the events in numbers, instead of the events'),
  ...CONTEXT_ROWS,
} as const satisfies Table

const SNAPSHOT_ROWS = {
  date: optional(DAY, 'as of that day (default the latest); not in the Free tier'),
  start: optional(DAY, 'each bar from this day on; not in the Free tier'),
  end: optional(DAY, 'with start: up to this day (default the latest)'),
  sample: optional(
    wordOf(['even'], 'HOW', 'Sample'),
    'with start: bars spread evenly over the days, instead of the first ones',
  ),
  offset: optional(OFFSET, 'with start: how many bars to leave out first'),
  fields: optional(
    namesKind(CHOICES, 'Places'),
    'only these sections or places, such as ["trend", "momentum.rsi_zone", "trend.direction_meta"]',
  ),
  meta: optional(SWITCH, 'with the stability of each band; not in the Free tier'),
} as const satisfies Table

export const SUMMARY = {
  ticker: EVENTS.ticker,
  timeframe: TIMEFRAME_ROW,
  ...SNAPSHOT_ROWS,
  ...EVENTS_ROWS,
  limit: optional(LIMIT, `how many events (default ${DEFAULT_LIMIT}) or bars (default ${MAX_LIMIT})`),
} as const satisfies Table

export type SummaryParams = ParamsOf<typeof SUMMARY>

export type SummaryQuery =
  | { of: 'events'; query: EventsQuery; stats: boolean }
  | { of: 'snapshot'; query: SnapshotQuery }

/** Parses a summary: events of a field, or a ticker's state on some days. Throws InvalidParameter for a conflict. */
export function parseSummary(params: object): SummaryQuery {
  const written = objectOf('params', params)
  const read = readParams(SUMMARY, written)
  if (read.field !== undefined) {
    refuseTogether(written, Object.keys(SNAPSHOT_ROWS), 'field')
    const query = parseEvents({
      limit: DEFAULT_LIMIT,
      ...paramsInTable(EVENTS, read as Written),
      // The days as they were written, because parseEvents reads them again.
      ...withoutNulls({ before: written.before, after: written.after }),
    })
    return { of: 'events', query, stats: read.stats }
  }
  refuseWithout(written, Object.keys(EVENTS_ROWS), 'field')
  const { ticker, timeframe, date, start, end, sample, offset = 0, fields, meta = false, limit = MAX_LIMIT } = read
  const query: SnapshotQuery = { ticker, timeframe, meta }
  if (fields !== undefined) query.fields = fields
  if (start === undefined) {
    refuseWithout(written, ['end', 'sample', 'offset', 'limit'], 'start')
    if (date !== undefined) query.date = date
    return { of: 'snapshot', query }
  }
  refuseTogether(written, ['date'], 'start')
  if (sample !== undefined) refuseTogether(written, ['offset'], 'sample')
  // The only sample is `even`.
  query.range = { start, limit, offset, even: sample !== undefined }
  if (end !== undefined) query.range.end = end
  return { of: 'snapshot', query }
}

/** Throws InvalidParameter if one of some parameters is set next to `other`, which excludes them. */
function refuseTogether(written: Written, names: readonly string[], other: string): void {
  const param = names.find(name => written[name] !== undefined)
  if (param !== undefined)
    throw new InvalidParameter(`${quoted(param)} does not go with ${quoted(other)}: give one of them.`, { param })
}

/** Throws InvalidParameter if one of some parameters is set, because `needed` is missing. */
function refuseWithout(written: Written, names: readonly string[], needed: string): void {
  const param = names.find(name => written[name] !== undefined)
  if (param !== undefined)
    throw new InvalidParameter(`${quoted(param)} means nothing without ${quoted(needed)}.`, { param })
}
