import type { EventsPage, EventsQuery } from '../../../core/model/event.js'
import { count } from '../../../core/numbers.js'
import { FILTERS, MAX_LIMIT, UNLIMITED_EVENTS } from '../../../core/params/questions.js'
import { optionsOf } from '../../../core/params/row.js'
import type { NewestEvents } from '../../../core/source.js'
import type { Args, Command } from '../command.js'
import { eventWords, nextLine } from '../command-line.js'
import type { Context } from '../context.js'
import {
  eventsQuery,
  largestLimit,
  POOL_ARGUMENTS,
  type PoolTarget,
  poolTarget,
  TICKERS_OPTIONS,
  withoutDefaultLimit,
} from '../options.js'
import { jsonText } from '../output.js'
import { hasTickersOption } from '../tickers.js'

const eventsCommand: Command = {
  arguments: POOL_ARGUMENTS,
  options: [
    ...optionsOf(FILTERS),
    ...optionsOf(UNLIMITED_EVENTS, ['limit']),
    ...TICKERS_OPTIONS,
    ['--wide', 'words instead of signs'],
    ['--returns', 'add the exact returns'],
    ['--fail-empty', 'exit with 3 when no event matches'],
  ],
  examples: [
    'bands events AAPL rsi_zone --band oversold',
    'bands events AAPL macd_state --timeframe weekly --after 2017-01-01 --limit 20',
    'bands events AAPL rsi_zone --context GSPC:trend_direction=uptrend',
    "bands events AAPL --when 'rsi_zone = oversold and trend_direction = uptrend'",
    'bands events AAPL rsi_zone --json',
    'bands events rsi_zone --all --band oversold --limit 20',
  ],
  notes: [
    `CSV and NDJSON have all events; --limit cuts them. With --tier, and at a server, --limit is at most ${MAX_LIMIT}.`,
    'Events of several tickers on one date are in order of ticker. --limit may cut within a date; a remark then says how many of that date are left out.',
  ],
  /** Shows the events of one ticker or of several; if there are none, says why. */
  async run(context, args) {
    const { tickers, ...target } = await poolTarget(context, args, 'events')
    // A list with one ticker gives the same document as a longer list, for scripts.
    if (tickers.length > 1 || hasTickersOption(args)) return showPoolEvents(context, args, { tickers, ...target })
    const limitedQuery = await eventsQuery(context, args, { ticker: tickers[0]!, ...target })
    const query = withoutDefaultLimit(context, args, limitedQuery)
    // --json prints the page of the API; the code that only people or --returns need is not loaded for it.
    const printsApiPage = context.format === 'json' && !args.flag('returns')
    const total = await (printsApiPage ? writeApiPage(context, query) : showEvents(context, args, query))
    if (total > 0) return
    const { noticeNoEvent } = await import('../notices.js')
    await noticeNoEvent(context, await context.source(), query)
    if (args.flag('fail-empty')) context.exitCode = 3
  },
}

/** Shows the events of several tickers in one document. */
async function showPoolEvents(context: Context, args: Args, { tickers, ...target }: PoolTarget): Promise<void> {
  // The filters and the limit are parsed as those of a question about one ticker.
  const { ticker: _ticker, ...filters } = await eventsQuery(context, args, { ticker: tickers[0]!, ...target })
  const query = { ...withoutDefaultLimit(context, args, filters), tickers }
  const [{ poolEvents }, { describePoolEvents }] = await Promise.all([
    import('../../../research/tally/pool.js'),
    import('../../present/events.js'),
  ])
  const source = await context.source()
  const result = await poolEvents(source, query, { step: context.step })
  const description = describePoolEvents(result, query, { returns: args.flag('returns') })
  await context.show(description, { wide: args.flag('wide') })
  const omitted = result.total_occurrences - result.events.length
  if (omitted > 0 && context.format !== 'json') {
    const limit = await largestLimit(context, result.total_occurrences)
    const { omitted_on_last_date: onLastDate, events } = result
    const { date, ticker } = events.at(-1)!
    const lastDateText = onLastDate === 0 ? '' : `${count(onLastDate, 'event')} of ${date} after ${ticker}, and `
    const olderText = count(omitted - onLastDate, 'older event')
    await context.remark(`${lastDateText}${olderText} left out: --limit ${limit} shows more, --csv all.`)
  }
  if (result.total_occurrences > 0) return
  const { noticeNoEventOfSeveral } = await import('../notices.js')
  await noticeNoEventOfSeveral(context, source, query, result)
  if (args.flag('fail-empty')) context.exitCode = 3
}

/** Writes the events as JSON, in the form of the API. Returns the number of all events that match. */
async function writeApiPage(context: Context, query: EventsQuery): Promise<number> {
  const result: EventsPage = await (await context.source()).events(query)
  await context.out.write(jsonText(context.withUsedDefinitions(result), { isPretty: context.out.terminal }))
  return result.total_occurrences
}

/** Shows the events of one ticker with hints. Returns the number of all events that match. */
async function showEvents(context: Context, args: Args, query: EventsQuery): Promise<number> {
  const wide = args.flag('wide')
  const returns = args.flag('returns')
  const { describeEvents } = await import('../../present/events.js')
  const source = await context.source()
  const result = await source.newest(query)
  await context.show(describeEvents(result, query, { returns }), { wide })
  const { server } = source
  if (server !== null && returns)
    await context.remark(`exact returns need the database here; ${server.url} does not give them.`)
  const olderOption = optionForOlder(result, await largestLimit(context, result.total))
  // JSON has the number of all events, and a hint at a terminal the number of older ones.
  if (result.total > result.events.length && context.format !== 'json' && !context.showsHints)
    await context.remark(leftOutText(result, olderOption, args.value('limit') !== undefined))
  // A server names its own address for upgrades, in its refusals.
  const { upgrade_url: url } = context.config
  const upgrade = server === null && url !== undefined ? `: ${url}` : ''
  await context.hint(...hintsFor(result, query, { wide, upgrade, olderOption, argv: context.argv }))
  return result.total
}

/** The option that shows more of the omitted events: --limit, or --before once the limit is reached. */
function optionForOlder({ events }: NewestEvents, limit: number): string {
  const oldest = events.at(-1)
  return oldest === undefined || events.length < limit ? `--limit ${limit}` : `--before ${oldest.date}`
}

/** The number of older events that are left out. @param option shows more @param isLimited whether a limit was typed */
function leftOutText({ events, total }: NewestEvents, option: string, isLimited: boolean): string {
  const omitted = total - events.length
  const subject = omitted === 1 ? '1 older event is' : `${omitted} older events are`
  if (option === `--limit ${total}`) return `${subject} left out: ${option} shows them.`
  return `${subject} left out: ${option} shows more, --csv${isLimited ? ' without --limit' : ''} all.`
}

/**
 * Hints that explain the signs and the omitted rows, and name the next command.
 * @param upgrade `: URL` of a page that sells the Plus tier, or an empty text
 */
function hintsFor(
  { events, total }: NewestEvents,
  query: EventsQuery,
  {
    wide,
    upgrade,
    olderOption,
    argv,
  }: { wide: boolean; upgrade: string; olderOption: string; argv: readonly string[] },
): string[] {
  const { ticker } = query
  const hasReturns = events.some(event => event.aftermath !== null)
  const signs = `--- worst 5% to +++ best 5% of ${ticker}'s own past; .. open, ? too little past`
  const omitted = total - events.length
  const hints: string[] = []
  if (hasReturns && !wide) hints.push(signs)
  if (!hasReturns && events.length > 0) hints.push(`Stability, flips and returns come with the Plus tier${upgrade}`)
  if (omitted > 0) hints.push(`${omitted} older: ${olderOption}`)
  if (hasReturns) hints.push(`next: ${nextLine(argv, 'tally', [ticker], eventWords(query))}`)
  return hints
}

export const commands = { events: eventsCommand }
