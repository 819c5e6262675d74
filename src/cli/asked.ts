import { InvalidParameter } from '../errors.js'
import { fieldNamed } from '../fields/index.js'
import type { Market } from '../market.js'
import { STABILITIES } from '../model/record.js'
import { fieldValue } from '../query/values.js'
import { nothingLoaded } from './answers/nothing.js'
import type { OptionSpec } from './command.js'
import type { Context } from './context.js'
import type { Given } from './given.js'
import { TIMEFRAME } from './options.js'
import { namedTickers } from './tickers.js'

/** Which events count. */
export const SIGNALS: readonly OptionSpec[] = [
  TIMEFRAME,
  ['--band <BANDS>', 'the bands entered; any unless given', 'repeatable'],
  ['--prev-band <BANDS>', 'the bands left', 'repeatable'],
  ['--stability <WORDS>', `how settled the band left was: ${STABILITIES.join(', ')}`, 'repeatable'],
  ['--max-flips <N>', 'at most so many changes of band in the days before it (FLIPS of bands events)'],
  ['--context <T:F=B>', 'while a second ticker was in a band: GSPC:trend_direction=downtrend'],
  ['--context-ticker <TICKER>', 'the same in three: the second ticker'],
  ['--context-field <FIELD>', 'the field that is looked at there'],
  ['--context-band <BANDS>', 'the bands it was in on the date of the event', 'repeatable'],
  ['--context-lag <BARS>', '1: as of its bar before that date, for a market that closes later; 0 unless given'],
  ['--after <DATE>', 'only events after this day'],
  ['--before <DATE>', 'only events before this day'],
]

/**
 * `TICKER... FIELD`, or `FIELD` where --tickers or --all say which tickers: the last word is the field. Throws
 * InvalidParameter, and NotFound where nothing is loaded.
 */
export async function tickersAndField(
  context: Context,
  given: Given,
  market: Market,
  command: string,
): Promise<{ tickers: string[]; field: string }> {
  const words = given.rest(0)
  const pooled = isPooled(given)
  const field = words.at(-1)
  if (field === undefined || (words.length === 1 && !pooled)) {
    const missing = words.length === 0 || !field!.includes('_') ? 'FIELD' : 'TICKER'
    const allowed = `bands ${command} TICKER... FIELD, or bands ${command} FIELD --tickers A,B, or bands ${command} FIELD --all`
    throw new InvalidParameter(`${missing} is missing.`, { param: missing.toLowerCase(), allowed })
  }
  const { name } = fieldValue('field', field)
  const second = words.slice(0, -1).find(word => fieldNamed(word) !== undefined)
  if (second !== undefined)
    throw new InvalidParameter(
      `${second} and ${name} are two fields, and a ${command} is of one; the field of a second ticker is --context T:F=B.`,
      { param: 'field', value: second },
    )
  return { tickers: await allNamed(context, given, words.slice(0, -1), () => market.tickers()), field: name }
}

/** Tickers of the line, of --tickers and of --all. Throws NotFound where all are meant and there are none. */
export async function allNamed(
  context: Context,
  given: Given,
  words: readonly string[],
  loaded: () => Promise<readonly string[]>,
): Promise<string[]> {
  const named = words.flatMap(word => (word.startsWith('@') ? [word] : word.split(','))).filter(word => word !== '')
  const tickers = await namedTickers([...named, ...given.list('tickers')], context.world)
  if (!given.flag('all')) return tickers
  const all = await loaded()
  if (all.length === 0) throw nothingLoaded(context)
  return [...new Set([...tickers, ...all])]
}

export function isPooled(given: Given): boolean {
  return given.value('tickers') !== undefined || given.flag('all')
}

/** Options as typed, by the names that parameters have. */
export function typedParams<Name extends string>(
  given: Given,
  names: readonly Name[],
): Partial<Record<Name, string | string[] | true>> {
  const params: Partial<Record<Name, string | string[] | true>> = {}
  for (const name of names) {
    const value = given.value(name.replaceAll('_', '-'))
    if (value !== undefined) params[name] = value
  }
  return params
}
