import { SAMPLE } from '../../core/built.js'
import { NotFound, quoted, remedy, sentence, typedLineWith, wrong } from '../../core/errors.js'
import type { Timeframe } from '../../core/model/terms.js'
import { count } from '../../core/numbers.js'
import { tickerValue } from '../../core/params/values.js'
import type { NamedList } from '../../core/source.js'
import type { Local } from '../../data/local/local.js'
import type { Args } from './command.js'
import type { Context } from './context.js'
import type { World } from './world.js'

/** The tickers of a line: words, --tickers, @FILE, -, --watch, --all, and the default of config.json. */

export function defaultTickers({ config }: Context): readonly string[] {
  return config.saved.values.tickers ?? []
}

export async function defaultTickersWithNotice(context: Context): Promise<string[]> {
  const tickers = defaultTickers(context)
  if (tickers.length > 0)
    await context.remark(`tickers of ${context.config.saved.positions.tickers}: ${tickers.join(', ')}`)
  return [...tickers]
}

/** The tickers that a line names; empty if it names none. Throws NotFound for an empty list: it does not mean all. */
export async function tickersOfLine(
  context: Context,
  args: Args,
  words: readonly string[],
  loadedTickers: () => Promise<readonly string[]>,
): Promise<string[]> {
  const tickers = await collectTickers(context, args, words, loadedTickers)
  if (tickers.length > 0 || (words.length === 0 && !hasTickersOption(args))) return tickers
  throw emptyList()
}

const emptyList = (): NotFound => new NotFound('the list is empty; name tickers, or --all.')

/** The tickers for the search of a server: those that the line names; undefined for all, also with --all. */
export async function searchedTickers(context: Context, args: Args): Promise<string[] | undefined> {
  const tickers = await namedTickers(context, args, [], null)
  if (args.flag('all') || !hasTickersOption(args)) return undefined
  if (tickers.length === 0) throw emptyList()
  return tickers
}

/** The tickers of a line, each once. @param localAsOf for conditions of watch lists; null for the day of the run */
async function collectTickers(
  context: Context,
  args: Args,
  words: readonly string[],
  loadedTickers: () => Promise<readonly string[]>,
  localAsOf: Local | null = null,
): Promise<string[]> {
  const named = await namedTickers(context, args, words, localAsOf)
  if (!args.flag('all')) return named
  const loaded = await loadedTickers()
  if (loaded.length === 0) throw noTickerLoaded(context)
  limitHeapGrowth(loaded.length)
  return [...new Set([...named, ...loaded])]
}

/** The tickers of words, --tickers and --watch, each once. Throws InvalidParameter for --all next to typed tickers. */
async function namedTickers(
  context: Context,
  args: Args,
  words: readonly string[],
  localAsOf: Local | null,
): Promise<string[]> {
  const typed = await parseTickers([...words, ...args.list('tickers')], context.world)
  const [firstTyped] = typed
  if (args.flag('all') && firstTyped !== undefined)
    throw wrong('all', `${firstTyped} is named, and every loaded ticker as well; name tickers, or all of them.`)
  return [...new Set([...typed, ...(await watchedTickers(context, args, localAsOf))])]
}

/** From this number of tickers on, `limitHeapGrowth` acts. */
const MANY_TICKERS = 1_000

/** Keeps V8's space for new objects as it is: with many tickers it would grow to a third of a tally's memory. */
function limitHeapGrowth(tickerCount: number): void {
  // The V8 of Node 24. Another one may not know the flag, and would print a warning.
  if (tickerCount >= MANY_TICKERS && process.versions.v8.startsWith('13.'))
    process.getBuiltinModule('node:v8').setFlagsFromString('--semi-space-growth-factor=1')
}

/** Whether a line asks about several tickers: by --tickers, --watch or --all. */
export function hasTickersOption(args: Args): boolean {
  return args.value('tickers') !== undefined || args.value('watch') !== undefined || args.flag('all')
}

/**
 * The tickers of the lists of --watch, in their order. Throws NotFound for a missing list.
 * @param localAsOf for conditions of the lists; null for the day of the run
 */
async function watchedTickers(context: Context, args: Args, localAsOf: Local | null): Promise<string[]> {
  const names = args.list('watch')
  if (names.length === 0) return []
  const { findList, readLists } = await import('../open/lists.js')
  const lists = await readLists(context.databaseChoice)
  const tickersByList = names.map(name => tickersOfList(context, findList(name, lists), localAsOf))
  return (await Promise.all(tickersByList)).flat()
}

/** The tickers of a named list. A list of a condition has the tickers whose last daily bar fulfils it; may be empty. */
async function tickersOfList(
  context: Context,
  { name, condition, tickers }: NamedList,
  localAsOf: Local | null,
): Promise<readonly string[]> {
  if (condition === null) {
    if (tickers.length > 0) return tickers
    throw wrong('watch', `the list ${name} has no tickers.`, { value: name }, { remedy: remedy('watch add', [name]) })
  }
  const local = localAsOf ?? (await context.local())
  const { screen } = await import('../../research/screen/screen.js')
  const loaded = await local.withBars()
  if (loaded.length === 0) throw noTickerLoaded(context)
  const query = { condition, tickers: loaded, timeframe: 'daily', since: null, tally: false } as const
  const { matches, as_of } = await screen(local, query)
  if (matches.length === 0) await context.remark(`the list ${name}, ${condition}, holds of no ticker on ${as_of}.`)
  return matches.map(({ ticker }) => ticker)
}

/**
 * The tickers of a question about the local market (default all with bars).
 * @param localAsOf the database as of the day of the question
 */
export async function marketTickers(context: Context, args: Args, localAsOf: Local): Promise<readonly string[]> {
  const remote = await context.server()
  if (remote !== null) {
    const message = `this needs bars, and ${remote.url} gives only events; --remote local asks the database here.`
    throw wrong('remote', message)
  }
  const withBars = (): Promise<readonly string[]> => localAsOf.withBars()
  const tickers = hasTickersOption(args)
    ? await collectTickers(context, args, [], withBars, localAsOf)
    : await withBars()
  if (tickers.length === 0 && !hasTickersOption(args)) throw noTickerLoaded(context)
  limitHeapGrowth(tickers.length)
  return tickers
}

/** All known tickers. Throws InvalidParameter for a server, which does not list them, NotFound if there are none. */
export async function everyTicker(context: Context, usage: string): Promise<readonly string[]> {
  const tickers = await (await context.source()).tickers()
  if (tickers === null) {
    const message = `${context.usedRemote?.url ?? 'a server'} does not list its tickers; name them.`
    throw wrong('ticker', message, { allowed: usage })
  }
  if (tickers.length === 0) throw noTickerLoaded(context)
  limitHeapGrowth(tickers.length)
  return tickers
}

function noTickerLoaded(context: Context): NotFound {
  const message = `no ticker is loaded in ${context.opened?.path ?? 'the database'}; bands import FILE loads one.`
  // A line with --db is about that database only.
  const isDbTyped = context.config.from.db === '--db'
  return new NotFound(message, [], isDbTyped ? {} : { remedy: typedLineWith('status', [], { db: SAMPLE }) })
}

/** Parses symbols, `@FILE`, or `-` for standard input. In a file `#` begins a comment. Throws for an empty one. */
export async function parseTickers(words: readonly string[], world: World): Promise<string[]> {
  refuseFileNames(words)
  const tickers = new Set<string>()
  for (const word of words.flatMap(splitAtCommas))
    for (const text of await symbolsOf(word, world)) tickers.add(tickerValue('ticker', text))
  return [...tickers]
}

/** Throws InvalidParameter for the name of a file among tickers: a strategy, or a list without its `@`. */
export function refuseFileNames(words: readonly string[]): void {
  words.flatMap(splitAtCommas).forEach(refuseFileName)
}

function refuseFileName(word: string): void {
  if (word.startsWith('@')) return
  if (/\.ya?ml$/i.test(word)) {
    const words = sentence`${quoted(word)} is a strategy file, and tickers are expected here; ${remedy('backtest', [word])} trades it.`
    throw wrong('ticker', words, { value: word }, { remedy: remedy('backtest', [word]) })
  }
  if (/\.(txt|csv)$/i.test(word))
    throw wrong('ticker', `${quoted(word)} is a file; @ before its name reads the tickers in it.`, {
      value: word,
      suggestions: [`@${word}`],
    })
}

/** `A,B` are two words; `@A,B.txt`, the name of a file, is one. */
export function splitAtCommas(word: string): string[] {
  return word.startsWith('@') ? [word] : word.split(',').filter(text => text !== '')
}

/** The symbols of a word, of `@FILE` or of standard input. Throws for an empty file, which would mean all tickers. */
async function symbolsOf(word: string, world: World): Promise<string[]> {
  if (word !== '-' && !word.startsWith('@')) return [word]
  const { exceededBound } = await import('../../core/params/small-text.js')
  const text = await readSymbols(word, world)
  const origin = word === '-' ? 'standard input' : word.slice(1)
  const exceeded = exceededBound(text)
  if (exceeded !== null) throw wrong('ticker', `${origin}: ${exceeded.what}.`, { value: word })
  const textWithoutComments = text.replace(/^\ufeff/, '').replace(/#.*/g, '')
  const symbols = textWithoutComments.split(/[\s,]+/).filter(symbol => symbol !== '')
  if (symbols.length > 0) return symbols
  throw wrong('ticker', `${origin} has no ticker in it.`, { value: word })
}

/** The text of `@FILE`, or of standard input for `-`. */
async function readSymbols(word: string, world: World): Promise<string> {
  if (word === '-') {
    const { readSmallText, TOO_LONG } = await import('../../core/params/small-text.js')
    const text = await readSmallText(world.stdin() as AsyncIterable<Uint8Array | string>)
    if (text === null) throw wrong('ticker', `standard input: ${TOO_LONG}.`, { value: word })
    return text
  }
  return (await import('./formats.js')).readSmallFile(word.slice(1))
}

/** The tickers that have one of the fields; a notice names the others. If none has one, all: the query refuses them. */
export async function tickersWithFields(
  context: Context,
  tickers: readonly string[],
  { fields, timeframe }: { fields: readonly string[]; timeframe: Timeframe },
): Promise<readonly string[]> {
  const isMissing = await (await context.source()).missing?.()
  if (isMissing === undefined) return tickers
  const hasField = (ticker: string): boolean => fields.some(field => !isMissing({ ticker, timeframe, field }))
  const withField = tickers.filter(hasField)
  if (withField.length === 0 || withField.length === tickers.length) return tickers
  const leftOut = tickers.filter(ticker => !hasField(ticker))
  const names = leftOut.length > MAX_NAMED_TICKERS ? count(leftOut.length, 'ticker') : leftOut.join(', ')
  const what = fields.length === 1 ? `their ${timeframe} ${fields[0]}` : `every ${timeframe} field of theirs`
  const why = `${what} is not here, or not to its end (bands status lists the pulled data)`
  await context.remark(`left out, because ${why}: ${names}.`)
  return withField
}

/** The most tickers that a notice names; of more it gives their number. */
const MAX_NAMED_TICKERS = 8
