import { readFile } from 'node:fs/promises'
import { InvalidParameter, NotFound, StorageError } from '../errors.js'
import { fieldNamed } from '../fields/index.js'
import type { PoolQuery } from '../model/event.js'
import type { Timeframe } from '../model/terms.js'
import { type OptionSpec, optionsOf } from '../params/row.js'
import { SIGNALS } from '../params/studies.js'
import { fieldValue, tickerValue, timeframeValue } from '../params/values.js'
import { count } from '../present/numbers.js'
import type { Context } from './context.js'
import type { Given } from './given.js'
import { poolQuery } from './options.js'
import type { World } from './world.js'

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
 */
export async function tickersAndField(
  context: Context,
  given: Given,
  command: string,
  loaded: (field: string) => Promise<readonly string[]>,
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
      `${second} and ${name} are two fields, and a ${command} is of one; the field of a second ticker is --context T:F.`,
      { param: 'field', value: second },
    )
  return { tickers: await allNamed(context, given, words.slice(0, -1), () => loaded(name)), field: name }
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
  if (all.length === 0) throw noTickerLoaded(context)
  return [...new Set([...tickers, ...all])]
}

export function isPooled(given: Given): boolean {
  return given.value('tickers') !== undefined || given.flag('all')
}

/** The events of a pool as they were asked for: which tickers, which field, and the filters. Throws as tickersAndField does. */
export async function pooledQuery(context: Context, given: Given, command: string): Promise<PoolQuery> {
  const usage = `bands ${command} FIELD --tickers A,B`
  const timeframe = timeframeValue('timeframe', given.text('timeframe') ?? 'daily')
  const { tickers, field } = await tickersAndField(context, given, command, async field =>
    thereOf(context, await everyTicker(context, usage), { fields: [field], timeframe }),
  )
  return poolQuery(given, tickers, field)
}

/** All tickers that can be asked for. Throws InvalidParameter for a server, which does not tell, NotFound for none. */
export async function everyTicker(context: Context, usage: string): Promise<readonly string[]> {
  const tickers = await (await context.bands()).tickers()
  if (tickers === null) {
    const message = `${context.asked?.url ?? 'a server'} does not tell which tickers it has; name them.`
    throw new InvalidParameter(message, { param: 'ticker', allowed: usage })
  }
  if (tickers.length === 0) throw noTickerLoaded(context)
  return tickers
}

/** For a question about all tickers of a database that has none. */
function noTickerLoaded(context: Context): NotFound {
  return new NotFound(`no ticker is loaded in ${context.opened?.path ?? 'the database'}; bands import FILE loads one.`)
}

/**
 * Tickers as typed: symbols, `@FILE`, or `-` for standard input; in those, separated by commas, blanks or lines, and
 * what follows a `#` is a remark. Throws InvalidParameter, and NotFound for a missing file.
 */
export async function namedTickers(words: readonly string[], world: World): Promise<string[]> {
  const tickers = new Set<string>()
  for (const word of words) for (const text of await symbols(word, world)) tickers.add(tickerValue('ticker', text))
  return [...tickers]
}

async function symbols(word: string, world: World): Promise<string[]> {
  if (word === '-') return split(await all(world.stdin()))
  return word.startsWith('@') ? split(await textOf(word.slice(1))) : [word]
}

function split(text: string): string[] {
  return text
    .replace(/^\ufeff/, '')
    .replace(/#.*/g, '')
    .split(/[\s,]+/)
    .filter(symbol => symbol !== '')
}

async function all(stream: NodeJS.ReadableStream): Promise<string> {
  let text = ''
  for await (const chunk of stream) text += String(chunk)
  return text
}

/** A text file that was named on the command line. Throws NotFound for a missing one, StorageError for an unreadable one. */
export async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT')
      throw new NotFound(`there is no file ${file}.`, [], { missing: { kind: 'file', name: file } })
    throw new StorageError(`cannot read ${file}: ${(cause as Error).message}`, { cause })
  }
}

/**
 * Of all tickers those of which some of the fields is there, saying which are left out. All of them where none is left:
 * then the refusal tells what there is.
 */
export async function thereOf(
  context: Context,
  tickers: readonly string[],
  { fields, timeframe }: { fields: readonly string[]; timeframe: Timeframe },
): Promise<readonly string[]> {
  const lacks = await (await context.bands()).lacking?.()
  if (lacks === undefined) return tickers
  const isThere = (ticker: string): boolean => fields.some(field => !lacks({ ticker, timeframe, field }))
  const there = tickers.filter(isThere)
  if (there.length === 0 || there.length === tickers.length) return tickers
  const left = tickers.filter(ticker => !isThere(ticker))
  const named = left.length > MOST ? count(left.length, 'ticker') : left.join(', ')
  const what = fields.length === 1 ? `their ${timeframe} ${fields[0]}` : `every ${timeframe} field of theirs`
  const why = `${what} is not here, or not to its end (bands tickers shows what was pulled)`
  await context.remark(`left out, because ${why}: ${named}.`)
  return there
}

/** As many as a line names. */
const MOST = 8
