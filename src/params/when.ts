import { type InvalidParameter, parameter, quoted, sentence, wrong } from '../errors.js'
import type { FieldSet } from '../fields/index.js'
import { conditionField, isCondition, TRUE, TRUTHS } from '../language/as-field.js'
import { isMapping } from './arguments.js'
import { CONDITION, integerOf } from './kinds.js'
import { optional, type Table, type Written } from './row.js'
import { conditionValue, textOf } from './values.js'

/** A condition among the parameters: in place of a field, whose events are then those of the condition, or beside one. */

/** How far back a condition looks at the tickers that it names. */
const LAG = integerOf(0, 2000, 'BARS')

export const LAGGED = {
  context_lag: optional(
    LAG,
    'look at tickers that a condition names so many of their bars earlier, 0 to 2,000, such as 1 for a market that closes later; 0 unless given',
  ),
} as const satisfies Table

/** The same of studies and backtests, where it is that of a context, too. */
export const LAGGED_SIGNALS = {
  context_lag: optional(
    LAG,
    'for markets that close later: 1 looks at the last bar of the context before the date of the event, and N at tickers that a condition names N of their own bars earlier; 0 unless given',
  ),
} as const satisfies Table

/** As the command line and programs ask for it; a server knows no conditions. */
export const WHEN = {
  when: optional(CONDITION, 'the events of a condition; beside a field only those on whose bar it holds'),
  ...LAGGED,
} as const satisfies Table

/** A condition alone stands for the field; its band is `true` unless another is given. */
export function withField(params: object, fields: FieldSet): object {
  // What is no object is refused where it is read.
  if (!isMapping(params) || params.when == null || params.field != null) return params
  const { when, band = TRUTHS[TRUE], ...others } = params
  return { ...others, field: nameOf(when, fields), band }
}

/** The same where a question is of a field or of a condition and not of both. @param why they do not go together */
export function conditionAsField({ when, ...others }: Written, why: string, fields: FieldSet): Written {
  if (when == null) return others
  if (others.field == null) return { ...others, field: nameOf(when, fields) }
  const field = quoted(String(others.field))
  const message = sentence`${why}: ${parameter('when')} stands in place of a field, and not beside ${field}.`
  throw wrong('when', message)
}

/** The same of the entry of a strategy, whose keys have other names. @param at where it stands: `entry` */
export function entryWithField(written: Written, at: string, fields: FieldSet): Written {
  if (written.when == null || written.field != null) return written
  const { when, bands, ...others } = written
  return { ...others, field: nameOf(when, fields, `${at}.when`), bands: bands ?? [TRUTHS[TRUE]] }
}

/** The entry as it is best written: a condition that stands in place of the field by its own key. */
export function entryForFile<Entry extends { field: string; bands: readonly string[] | null; when?: string }>(
  entry: Entry,
): object {
  const { field, when, ...others } = entry
  // Without a band that key stands for the bars on which it holds.
  return when === undefined && isCondition(field) && entry.bands !== null ? { when: field, ...others } : entry
}

function nameOf(when: unknown, fields: FieldSet, param = 'when'): string {
  return conditionValue(param, textOf(param, when), fields).name
}

/** What was read of a question in which conditions may stand. */
export interface ReadWhen {
  field: string
  when?: string
  context_lag?: number
}

/** With the lag as a query has it. Throws InvalidParameter for one without a condition that names a ticker. */
export function lagged<Query extends ReadWhen>({ context_lag: lag, ...query }: Query, fields: FieldSet) {
  if (lag === undefined) return query
  if (!namesTicker([query.field, query.when], fields)) throw uselessLag('a condition that names another ticker')
  return { ...query, lag }
}

/** @param what could have been looked at earlier */
export function uselessLag(what: string): InvalidParameter {
  const param = 'context_lag'
  return wrong(param, sentence`${parameter(param)} is for ${what}, and none is given.`)
}

/** Whether one of some names is that of a condition that names a ticker. */
export function namesTicker(names: readonly (string | null | undefined)[], fields: FieldSet): boolean {
  const conditions = names.filter(name => name != null).filter(isCondition)
  return conditions.some(name => conditionField(name, fields).subjects.some(({ ticker }) => ticker !== null))
}
