import { type InvalidParameter, parameter, quoted, sentence, wrong } from '../errors.js'
import type { FieldSet } from '../fields/index.js'
import { conditionField, isCondition, TRUE, TRUTHS } from '../language/as-field.js'
import { isMapping } from './arguments.js'
import { CONDITION, integerOf } from './kinds.js'
import { optional, type Table, type Written } from './row.js'
import { conditionValue, textOf } from './values.js'

/** Conditions as parameters: instead of a field, or in addition to one. */

/** The number of bars that a condition looks back at the tickers it names. */
const LAG = integerOf(0, 2000, 'BARS')

export const LAGGED = {
  context_lag: optional(
    LAG,
    'look at the tickers in a condition N of their bars earlier, 0 to 2,000, such as 1 for a market that closes later (default 0)',
    { onlyWith: ['context'] },
  ),
} as const satisfies Table

/** The lag in studies and backtests, which also applies to a context. */
export const LAGGED_SIGNALS = {
  context_lag: optional(
    LAG,
    'for markets that close later: 1 reads the context one of its bars earlier, and N the tickers in a condition N of theirs (default 0)',
    { onlyWith: ['context'] },
  ),
} as const satisfies Table

/** The condition of the command line and of programs; a server knows no conditions. */
export const WHEN = {
  when: optional(CONDITION, 'the events of a condition; with a field only events on bars where it is true'),
  ...LAGGED,
} as const satisfies Table

/** Puts the condition `when` in place of a missing field; the band is `true` by default. */
export function conditionForField(params: object, fields: FieldSet): object {
  // Other values are refused by the parser.
  if (!isMapping(params) || params.when == null || params.field != null) return params
  const { when, band = TRUTHS[TRUE], ...others } = params
  return { ...others, field: conditionName(when, fields), band }
}

/**
 * Puts the condition `when` in place of the field. Throws InvalidParameter if both are set.
 * @param why the reason why both cannot be set, as a clause
 */
export function conditionAsField({ when, ...others }: Written, why: string, fields: FieldSet): Written {
  if (when == null) return others
  if (others.field == null) return { ...others, field: conditionName(when, fields) }
  const field = quoted(String(others.field))
  const message = sentence`${why}: ${parameter('when')} replaces a field, so leave out ${field}.`
  throw wrong('when', message)
}

/** Puts the condition of a strategy's entry in place of a missing field. @param at path of the entry: `entry` */
export function entryWithField(written: Written, at: string, fields: FieldSet): Written {
  if (written.when == null || written.field != null) return written
  const { when, bands, ...others } = written
  return { ...others, field: conditionName(when, fields, `${at}.when`), bands: bands ?? [TRUTHS[TRUE]] }
}

/** A strategy's entry as a file has it: a condition in place of a field moves to the key `when`. */
export function entryForFile<Entry extends { field: string; bands: readonly string[] | null; when?: string }>(
  entry: Entry,
): object {
  const { field, when, ...others } = entry
  // Without a band, the key `when` means the bars on which the condition holds.
  return when === undefined && isCondition(field) && entry.bands !== null ? { when: field, ...others } : entry
}

/** The name of a condition, which is its text as it is printed. Throws InvalidParameter for any other text. */
function conditionName(when: unknown, fields: FieldSet, param = 'when'): string {
  return conditionValue(param, textOf(param, when), fields).name
}

export interface ReadWhen {
  field: string
  when?: string
  context_lag?: number
}

/** Renames `context_lag` to `lag`. Throws InvalidParameter for a lag without a condition that names a ticker. */
export function readLag<Query extends ReadWhen>({ context_lag: lag, ...query }: Query, fields: FieldSet) {
  if (lag === undefined) return query
  if (!someNameTickers([query.field, query.when], fields))
    throw uselessLagError('a condition that names another ticker')
  return { ...query, lag }
}

/** The error for a lag without a use. @param what the parts that a lag is for */
export function uselessLagError(what: string): InvalidParameter {
  const param = 'context_lag'
  return wrong(param, sentence`${parameter(param)} is for ${what}, and none is given.`)
}

/** Whether some of these names are conditions that name a ticker. Names of fields are ignored. */
export function someNameTickers(names: readonly (string | null | undefined)[], fields: FieldSet): boolean {
  const conditions = names.filter(name => name != null).filter(isCondition)
  return conditions.some(name => conditionField(name, fields).subjects.some(({ ticker }) => ticker !== null))
}
