import type { FieldSet } from '../fields/index.js'
import { type Day, parseDay } from '../model/day.js'
import { TIMEFRAME_NAMES, type Timeframe } from '../model/terms.js'
import { FLAG, ONE_OF_FIELDS, several } from './figures.js'
import { CONDITION, DAY, integerOf, TIMEFRAME } from './kinds.js'
import { TIMEFRAME_ROW } from './parameters.js'
import { given, type Kind, needed, open, type ParamsOf, readParams, type Table } from './row.js'
import { refuse, textOf } from './values.js'
import { LAGGED, lagged } from './when.js'

/** What is asked of a whole market, beside its tickers: all that are loaded unless some are named. */

export const SCREEN = {
  condition: needed(CONDITION, 'what must hold, in the language of conditions'),
  timeframe: TIMEFRAME_ROW,
  since: open(integerOf(1, 2000, 'N'), 'what became true on one of the last N bars, whether or not it still holds'),
  date: open(DAY, 'as of that day: short for --as-of'),
  ...LAGGED,
  tally: given(FLAG, false, 'with what followed such onsets in the past, beside any bar'),
} as const satisfies Table

export type ScreenParams = ParamsOf<typeof SCREEN> & { tickers?: readonly string[] }

/** Throws InvalidParameter. */
export function parseScreen(params: object, fields: FieldSet) {
  const { condition, since = null, ...read } = readParams(SCREEN, params, fields)
  const { field, ...query } = lagged({ field: condition, ...read }, fields)
  return { condition: field, since, ...query }
}

/** After a day, or after what the list was told when it was last asked. */
const SINCE: Kind<Day | 'last', string> = {
  schema: { anyOf: [{ type: 'string', format: 'date' }, { enum: ['last'] }] },
  takes: 'DATE',
  parse: (param, written) => {
    const text = textOf(param, written)
    if (text === 'last') return 'last'
    return parseDay(text) ?? refuse(param, text, 'a calendar date as YYYY-MM-DD, or last')
  },
}

export const CHANGES = {
  since: open(SINCE, 'on bars that became final after this day, or last: since this list was last asked about'),
  fields: open(several(ONE_OF_FIELDS, 'FIELDS'), 'only these fields'),
  timeframe: open(TIMEFRAME, 'only daily or weekly; both unless given'),
  when: open(CONDITION, 'only where this condition holds on the bar'),
  ...LAGGED,
} as const satisfies Table

/** Throws InvalidParameter. */
export function parseChanges(params: object, fields: FieldSet) {
  const { fields: names = fields.names, timeframe, since, ...read } = readParams(CHANGES, params, fields)
  const { field: _field, ...query } = lagged({ field: '', ...read }, fields)
  const timeframes: readonly Timeframe[] = timeframe === undefined ? TIMEFRAME_NAMES : [timeframe]
  return { ...query, fields: names, timeframes, ...(since !== undefined && { since }) }
}
