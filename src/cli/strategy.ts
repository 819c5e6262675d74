import { InvalidParameter } from '../errors.js'
import { fieldNamed } from '../fields/index.js'
import type { Market } from '../market.js'
import { documentOf, printStrategy } from '../research/backtest/schema.js'
import type { RunOptions, Strategy } from '../research/backtest/strategy.js'
import { besideStrategy } from '../research/backtest/words.js'
import { type BacktestName, type BacktestParams, parseBacktest } from '../research/params/backtest.js'
import { allNamed, isPooled, tickersAndField, typedParams } from './asked.js'
import type { Context } from './context.js'
import type { Given } from './given.js'
import { textOf } from './text-file.js'

/**
 * A strategy file, or tickers and a field, with the options that override it. Throws InvalidParameter, BadData at the
 * place in the file, NotFound for a missing one, StorageError for one that cannot be read.
 */
export async function strategyAsked(
  context: Context,
  given: Given,
  market: Market,
  names: readonly BacktestName[],
): Promise<{ strategy: Strategy; run: RunOptions }> {
  const { tier, from } = context.config
  const emulated = from.tier === undefined ? null : tier
  const options = typedParams(given, names) as BacktestParams
  const [first, ...more] = given.rest(0)
  if (first === undefined && !isPooled(given))
    throw new InvalidParameter('what to trade is missing: a strategy file, or tickers and a field.', {
      param: 'what',
      allowed: USAGE,
    })
  if (first === undefined || !isFile(first)) {
    const { tickers, field } = await tickersAndField(context, given, market, 'backtest')
    return parseBacktest({ ...options, tickers, field }, { tier: emulated })
  }
  if (more.length > 0) throw notAlone(more)
  const strategy = await textOf(first)
  const tickers = isPooled(given) ? { tickers: await allNamed(context, given, [], () => market.tickers()) } : {}
  return parseBacktest({ ...options, ...tickers, strategy }, { tier: emulated, file: first })
}

/** A file has its field, and its tickers unless others are given. */
function notAlone(more: readonly string[]): InvalidParameter {
  const field = more.find(word => fieldNamed(word) !== undefined)
  const tickers = more.filter(word => word !== field).join(',')
  const advice = [
    ...(field === undefined ? [] : [`its field stands in it, so leave out ${field}`]),
    ...(tickers === '' ? [] : [`give tickers with --tickers ${tickers}`]),
  ]
  const message = `a strategy file stands alone: ${advice.join('; ')}.`
  return new InvalidParameter(message, { param: 'tickers', value: more.join(' '), allowed: USAGE })
}

const USAGE = 'bands backtest STRATEGY.yaml, or bands backtest TICKER... FIELD'

/** YAML as a file has it; with --json the same as a document. What of the run is not in it is said beside it. */
export async function printConfig(context: Context, strategy: Strategy, run: RunOptions): Promise<void> {
  const { format } = context
  const beside = besideStrategy(run)
  const missing = beside === null ? null : `not in this file, to be given with it again: ${beside}`
  if (format === null || format === 'table')
    return context.out.write(`${missing === null ? '' : `# ${missing}\n`}${printStrategy(strategy)}`)
  if (missing !== null && !context.config.quiet) await context.notice(missing)
  if (format === 'json') return context.out.write(`${JSON.stringify(documentOf(strategy), null, 2)}\n`)
  throw new InvalidParameter(`output "${format}" has no form for a strategy; it is YAML, or JSON with --json.`, {
    param: 'output',
    value: format,
  })
}

function isFile(word: string): boolean {
  return /\.(ya?ml|json)$/i.test(word)
}
