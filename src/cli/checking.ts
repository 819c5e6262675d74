import { InvalidParameter } from '../errors.js'
import { FIELDS } from '../fields/index.js'
import type { Cache } from '../local/cache.js'
import type { Timeframe } from '../model/timeframe.js'
import { fieldValue, timeframeValue } from '../query/values.js'
import { allNamed, isPooled } from './asked.js'
import type { Command, OptionSpec } from './command.js'
import type { Context } from './context.js'
import type { Given } from './given.js'
import { POOLED, TIMEFRAME } from './options.js'

export const CHECKED: NonNullable<Command['arguments']> = [
  ['[TICKER...]', 'tickers (A B, A,B, @FILE, or - for standard input); left out with --tickers or --all'],
]

export const CHECK_OPTIONS: readonly OptionSpec[] = [
  ...POOLED,
  ['--fields <FIELDS>', 'only these fields; every one unless given', 'repeatable'],
  TIMEFRAME,
]

export interface Checked {
  cache: Cache
  tickers: string[]
  fields: string[]
  timeframe: Timeframe
}

/** What a check is about: bars of this database, since it derives everything anew. Throws InvalidParameter. */
export async function checkedOf(context: Context, given: Given, name: string): Promise<Checked> {
  const words = given.rest(0)
  if (words.length === 0 && !isPooled(given)) {
    const allowed = `bands check ${name} TICKER..., or bands check ${name} --all`
    throw new InvalidParameter('TICKER is missing.', { param: 'ticker', allowed })
  }
  const fields = given.list('fields').map(field => fieldValue('field', field).name)
  const timeframe = timeframeValue('timeframe', given.text('timeframe') ?? 'daily')
  const { cache } = await context.local()
  const loaded = async (): Promise<string[]> => (await cache.store.tickers()).map(({ ticker }) => ticker)
  return {
    cache,
    tickers: await allNamed(context, given, words, loaded),
    fields: fields.length > 0 ? fields : FIELDS.map(field => field.name),
    timeframe,
  }
}
