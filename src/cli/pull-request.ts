import { InvalidParameter, quoted } from '../errors.js'
import { FIELD_NAMES, fieldNamed } from '../fields/index.js'
import type { PullRequest } from '../local/pull/plan.js'
import { TIMEFRAME_NAMES, type Timeframe } from '../model/timeframe.js'
import { wordValue } from '../query/values.js'
import { didYouMean, suggest } from '../suggest.js'
import type { Given } from './given.js'
import { namedTickers } from './tickers.js'
import type { World } from './world.js'

const USAGE = 'bands pull TICKER... FIELD...'

/**
 * Tickers and fields as typed, in any order: the name of a field is a field, everything else a ticker. Throws
 * InvalidParameter, also for a word that is nearly a field, and NotFound for a missing file.
 */
export async function pullRequest(given: Given, world: World): Promise<PullRequest> {
  const words = given.rest(0).flatMap(word => (word.startsWith('@') ? [word] : word.split(',')))
  const named = words.filter(word => fieldNamed(word) !== undefined)
  const others = words.filter(word => fieldNamed(word) === undefined && word !== '')
  for (const word of others) checkNoField(word)
  const tickers = await namedTickers(others, world)
  const fields = given.flag('all-fields') ? FIELD_NAMES : named
  if (tickers.length === 0) throw new InvalidParameter('TICKER is missing.', { param: 'ticker', allowed: USAGE })
  if (fields.length === 0)
    throw new InvalidParameter('FIELD is missing; --all-fields asks for each.', { param: 'field', allowed: USAGE })
  const series = tickers.flatMap(ticker =>
    timeframesOf(given).flatMap(timeframe => fields.map(field => ({ ticker, timeframe, field }))),
  )
  return { series, replace: given.flag('replace') }
}

/** A slip in a field's name would be asked for as a ticker, and paid for. */
function checkNoField(word: string): void {
  const suggestions = suggest(word, FIELD_NAMES)
  if (word.startsWith('@') || word === '-' || (suggestions.length === 0 && !word.includes('_'))) return
  const what = `there is no field ${quoted(word)}.${didYouMean(suggestions)}`
  throw new InvalidParameter(what, { param: 'field', value: word, allowed: FIELD_NAMES, suggestions })
}

/** Daily unless some are given. */
function timeframesOf(given: Given): readonly Timeframe[] {
  const names = given.list('timeframe').map(name => wordValue('timeframe', name, [...TIMEFRAME_NAMES, 'both'] as const))
  if (names.length === 0) return ['daily']
  return TIMEFRAME_NAMES.filter(name => names.includes(name) || names.includes('both'))
}
