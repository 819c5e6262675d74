import { InvalidParameter } from '../errors.js'
import type { FieldSet } from '../fields/index.js'
import { isCondition } from '../language/as-field.js'
import type { PoolQuery } from '../model/event.js'
import { parseTicker } from '../model/terms.js'
import { type OptionSpec, optionsOf } from '../params/row.js'
import { SIGNALS } from '../params/studies.js'
import { askedFieldValue, conditionValue, timeframeValue } from '../params/values.js'
import type { Context } from './context.js'
import type { Given } from './given.js'
import { checkOrder, poolQuery } from './options.js'
import { allNamed, everyTicker, isPooled, keptTickers, thereOf, usualTickers } from './tickers.js'

/** Which events count: the parameters of a study that a backtest has, too, but its field, which stands on the line. */
export const SIGNAL_OPTIONS = optionsOf(SIGNALS).slice(1)

/** Those of other parameters. */
export function isNoSignal([flags]: OptionSpec): boolean {
  const name = /[\w-]+/.exec(flags)![0].replace('--', '').replaceAll('-', '_')
  return !(name in SIGNALS) && name !== 'name'
}

/** Options under a heading. */
export function under(heading: string, [first, ...others]: readonly OptionSpec[]): OptionSpec[] {
  const [flags, help, times = 'once', , values = []] = first!
  return [[flags, help, times, heading, values], ...others]
}

export const POOL_ARGUMENTS = [
  ['[TICKER_OR_FIELD...]', 'tickers (A B, A,B, @FILE, or - for standard input), then a band field'],
] as const

/**
 * `TICKER... FIELD`, or `FIELD` where --tickers or --all say which tickers: the last word is the field. Throws
 * InvalidParameter, and NotFound where nothing is loaded.
 * @param loaded all tickers that there are
 * @param others ways to ask that a refusal shows, too
 */
export async function tickersAndField(
  context: Context,
  given: Given,
  command: string,
  loaded: (field: string) => Promise<readonly string[]>,
  others = '',
): Promise<{ tickers: string[]; field?: string }> {
  const words = given.rest(0)
  const pooled = isPooled(given)
  const field = words.at(-1)
  if (given.text('when') !== undefined && (field === undefined || !isField(field, context.fields)))
    return { tickers: await tickersOfCondition(context, given, command, loaded) }
  const usual = words.length === 1 && !pooled ? keptTickers(context) : []
  if (field === undefined || (words.length === 1 && !pooled && usual.length === 0)) {
    const missing = words.length === 0 || !field!.includes('_') ? 'FIELD' : 'TICKER'
    const allowed = `bands ${command} TICKER... FIELD, or bands ${command} FIELD --tickers A,B, or bands ${command} FIELD --all${others}`
    throw new InvalidParameter(`${missing} is missing.`, { param: missing.toLowerCase(), allowed })
  }
  if (words.length > 1) checkOrder(context, words[0]!, field)
  const { name } = askedFieldValue('field', field, context.fields)
  const second = words.slice(0, -1).find(word => context.fields.named(word) !== undefined)
  if (second !== undefined)
    throw new InvalidParameter(
      `${second} and ${name} are two fields, and a ${command} is of one; the field of a second ticker is --context T:F.`,
      { param: 'field', value: second },
    )
  if (usual.length > 0) return { tickers: await usualTickers(context), field: name }
  return { tickers: await allNamed(context, given, words.slice(0, -1), () => loaded(name)), field: name }
}

/** All words are tickers where a condition stands in place of the field. */
async function tickersOfCondition(
  context: Context,
  given: Given,
  command: string,
  loaded: (field: string) => Promise<readonly string[]>,
): Promise<string[]> {
  const { name } = conditionValue('when', given.text('when')!, context.fields)
  const words = given.rest(0)
  if (words.length > 0 || isPooled(given)) return allNamed(context, given, words, () => loaded(name))
  const usual = await usualTickers(context)
  if (usual.length > 0) return usual
  const allowed = `bands ${command} TICKER... --when CONDITION, or bands ${command} --all --when CONDITION`
  throw new InvalidParameter('TICKER is missing.', { param: 'ticker', allowed })
}

/** Whether a word is meant for a field: where a condition is given, the last one may be a ticker as well. */
function isField(word: string, fields: FieldSet): boolean {
  // A ticker may have = in it: `CL=F`.
  const isTicker = parseTicker(word) !== null && fields.named(word.split('=')[0]!) === undefined
  return fields.named(word) !== undefined || word.includes('_') || (isCondition(word) && !isTicker)
}

/** Tickers and field of a question about events. Throws as tickersAndField does. */
export async function askedPlace(context: Context, given: Given, command: string) {
  const usage = `bands ${command} FIELD --tickers A,B`
  const timeframe = timeframeValue('timeframe', given.text('timeframe') ?? 'daily')
  const loaded = async (field: string) =>
    thereOf(context, await everyTicker(context, usage), { fields: [field], timeframe })
  return tickersAndField(context, given, command, loaded, `, or bands ${command} TICKER... --when CONDITION`)
}

/** The events of a pool as they were asked for: which tickers, which field, and the filters. Throws as tickersAndField does. */
export async function pooledQuery(
  context: Context,
  given: Given,
  command: string,
  parse?: Parameters<typeof poolQuery>[3],
): Promise<PoolQuery> {
  return poolQuery(context, given, await askedPlace(context, given, command), parse)
}
