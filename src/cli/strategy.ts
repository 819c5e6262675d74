import { readFile } from 'node:fs/promises'
import { InvalidParameter, NotFound } from '../errors.js'
import type { Market } from '../market.js'
import { documentOf, printStrategy } from '../research/backtest/schema.js'
import type { RunOptions, Strategy } from '../research/backtest/strategy.js'
import { type BacktestName, type BacktestParams, parseBacktest } from '../research/params/backtest.js'
import { allNamed, isPooled, tickersAndField, typedParams } from './asked.js'
import type { Context } from './context.js'
import type { Given } from './given.js'

/**
 * A strategy file, or tickers and a field, with the options that override it. Throws InvalidParameter, BadData at the
 * place in the file, NotFound for a missing one.
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
  if (more.length > 0)
    throw new InvalidParameter(`a strategy file stands alone; give tickers with --tickers ${more.join(',')}.`, {
      param: 'tickers',
      value: more.join(' '),
      allowed: USAGE,
    })
  const strategy = await textOf(first)
  const tickers = isPooled(given) ? { tickers: await allNamed(context, given, market, []) } : {}
  return parseBacktest({ ...options, ...tickers, strategy }, { tier: emulated, file: first })
}

const USAGE = 'bands backtest STRATEGY.yaml, or bands backtest TICKER... FIELD'

/** YAML as a file has it; with --json the same as a document. */
export async function printConfig(context: Context, strategy: Strategy): Promise<void> {
  const { format } = context
  if (format === null || format === 'table') return context.out.write(printStrategy(strategy))
  if (format === 'json') return context.out.write(`${JSON.stringify(documentOf(strategy), null, 2)}\n`)
  throw new InvalidParameter(`output "${format}" has no form for a strategy; it is YAML, or JSON with --json.`, {
    param: 'output',
    value: format,
  })
}

function isFile(word: string): boolean {
  return /\.(ya?ml|json)$/i.test(word)
}

async function textOf(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(cause => {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') throw new NotFound(`there is no file ${file}.`)
    throw cause
  })
}
