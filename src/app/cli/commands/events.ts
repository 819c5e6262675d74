import type { EventsPage, EventsQuery } from '../../../core/model/event.js'
import { count } from '../../../core/numbers.js'
import { FILTERS, MAX_LIMIT, UNLIMITED_EVENTS } from '../../../core/params/questions.js'
import { optionsOf } from '../../../core/params/row.js'
import type { NewestEvents } from '../../../core/source.js'
import type { Args, Command } from '../command.js'
import { eventWords, quotedLine } from '../command-line.js'
import type { Context } from '../context.js'
import {
  eventsQuery,
  largestLimit,
  POOL_ARGUMENTS,
  POOL_OPTIONS,
  type PoolTarget,
  poolTarget,
  withoutDefaultLimit,
} from '../options.js'
import { json } from '../output.js'
import { isPooled } from '../tickers.js'

const eventsCommand: Command = {
  arguments: POOL_ARGUMENTS,
  options: [
    ...optionsOf(FILTERS),
    ...optionsOf(UNLIMITED_EVENTS, ['limit']),
    ...POOL_OPTIONS,
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
  async run(context, args) {
    const { tickers, ...asked } = await poolTarget(context, args, 'events')
    const [ticker, second] = tickers
    // A list with one ticker gives the same document as a longer list, for scripts.
    if (second !== undefined || isPooled(args)) return showPoolEvents(context, args, { tickers, ...asked })
    const query = withoutDefaultLimit(context, args, await eventsQuery(context, args, { ticker: ticker!, ...asked }))
    // The specified answer goes out as it is; everything that only people or --returns need is loaded for them.
    const isPlain = context.format === 'json' && !args.flag('returns')
    const found = await (isPlain ? writeSpecifiedPage(context, query) : showEvents(context, args, query))
    if (found > 0) return
    const { noticeNoEvent } = await import('../notices.js')
    await noticeNoEvent(context, await context.source(), query)
    if (args.flag('fail-empty')) context.exitCode = 3
  },
}

/** Shows the events of several tickers in one document. */
async function showPoolEvents(context: Context, args: Args, { tickers, ...place }: PoolTarget): Promise<void> {
  // Every refusal of a question about one ticker is one of several: its filters, its limit.
  const { ticker: _ticker, ...asked } = await eventsQuery(context, args, { ticker: tickers[0]!, ...place })
  const query = { ...withoutDefaultLimit(context, args, asked), tickers }
  const [{ poolEvents }, { describePoolEvents }] = await Promise.all([
    import('../../../research/tally/pool.js'),
    import('../../present/events.js'),
  ])
  const source = await context.source()
  const found = await poolEvents(source, query, { step: context.step })
  const description = describePoolEvents(found, query, args.flag('returns'))
  await context.show(description, { wide: args.flag('wide') })
  const leftOutCount = found.total_occurrences - found.events.length
  if (leftOutCount > 0 && context.format !== 'json') {
    const most = await largestLimit(context, found.total_occurrences)
    const { omitted_on_last_date: same, events } = found
    const { date, ticker } = events.at(-1)!
    const sameDateText = same === 0 ? '' : `${count(same, 'event')} of ${date} after ${ticker}, and `
    await context.remark(
      `${sameDateText}${count(leftOutCount - same, 'older event')} left out: --limit ${most} shows more, --csv all.`,
    )
  }
  if (found.total_occurrences > 0) return
  const { noticeNoEventOfAny } = await import('../notices.js')
  await noticeNoEventOfAny(context, source, query, found)
  if (args.flag('fail-empty')) context.exitCode = 3
}

/** Writes the page of the specification as JSON. Returns the number of all events that match. */
async function writeSpecifiedPage(context: Context, query: EventsQuery): Promise<number> {
  const found: EventsPage = await (await context.source()).events(query)
  await context.out.write(json(context.withUsedDefinitions(found), { isPretty: context.out.terminal }))
  return found.total_occurrences
}

/** Shows the events of one ticker with hints. Returns the number of all events that match. */
async function showEvents(context: Context, args: Args, query: EventsQuery): Promise<number> {
  const wide = args.flag('wide')
  const returns = args.flag('returns')
  const { describeEvents } = await import('../../present/events.js')
  const source = await context.source()
  const found = await source.newest(query)
  await context.show(describeEvents(found, query, returns), { wide })
  const { server } = source
  if (server !== null && returns)
    await context.remark(`exact returns need the database here; ${server.url} does not give them.`)
  const older = optionForOlder(found, await largestLimit(context, found.total))
  // The page itself says so, and advice at a terminal.
  if (found.total > found.events.length && context.format !== 'json' && !context.isHinting)
    await context.remark(leftOutText(found, older, args.value('limit') !== undefined))
  // A server that sells plans names the address in its own refusals.
  const { upgrade_url: url } = context.config
  const upgrade = server === null && url !== undefined ? `: ${url}` : ''
  await context.hint(...hintsFor(found, query, { wide, upgrade, older }))
  return found.total
}

/** The option that shows more of the omitted events: --limit, or --before once the limit is reached. */
function optionForOlder({ events }: NewestEvents, limit: number): string {
  const oldest = events.at(-1)
  return oldest === undefined || events.length < limit ? `--limit ${limit}` : `--before ${oldest.date}`
}

/**
 * A sentence with the number of older events that are left out.
 * @param by the option that shows more
 * @param isLimited whether a limit was typed, which also limits rows for machines
 */
function leftOutText({ events, total }: NewestEvents, by: string, isLimited: boolean): string {
  const older = total - events.length
  const more = by === `--limit ${total}` ? 'shows them' : `shows more, --csv${isLimited ? ' without --limit' : ''} all`
  return `${older} older ${older === 1 ? 'event is' : 'events are'} left out: ${by} ${more}.`
}

/** Hints that explain the signs and the omitted rows, and name the next command. @param older the option for older rows */
function hintsFor(
  { events, total }: NewestEvents,
  query: EventsQuery,
  { wide, upgrade, older: by }: { wide: boolean; upgrade: string; older: string },
): string[] {
  const { ticker, timeframe } = query
  const isFull = events.some(event => event.aftermath !== null)
  const signs = `--- worst 5% to +++ best 5% of ${ticker}'s own past; .. open, ? too little past`
  const older = total - events.length
  const words = ['tally', ticker, ...eventWords(query)]
  if (timeframe !== 'daily') words.push('--timeframe', timeframe)
  const hints: string[] = []
  if (isFull && !wide) hints.push(signs)
  if (!isFull && events.length > 0) hints.push(`Stability, flips and returns come with the Plus tier${upgrade}`)
  if (older > 0) hints.push(`${older} older: ${by}`)
  if (isFull) hints.push(`next: ${quotedLine(words)}`)
  return hints
}

export const commands = { events: eventsCommand }
