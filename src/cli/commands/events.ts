import { UPGRADE_URL } from '../../errors.js'
import type { EventsPage, EventsQuery } from '../../model/event.js'
import { FILTERS, MAX_LIMIT, OWN_EVENTS } from '../../params/parameters.js'
import { optionsOf } from '../../params/row.js'
import type { NewestEvents } from '../../source.js'
import type { Command } from '../command.js'
import type { Context } from '../context.js'
import { allUnlessLimited, eventsQuery, FIELD, isWithinLimit, TICKER } from '../options.js'
import { json } from '../output.js'

export const command: Command = {
  arguments: [TICKER, FIELD],
  options: [
    ...optionsOf(FILTERS),
    ...optionsOf(OWN_EVENTS, ['limit']),
    ['--wide', 'words instead of signs'],
    ['--returns', 'add the exact returns'],
    ['--fail-empty', 'exit with 3 when no event matches'],
  ],
  examples: [
    'bands events AAPL rsi_zone --band oversold',
    'bands events AAPL macd_state --timeframe weekly --after 2017-01-01 --limit 20',
    'bands events AAPL rsi_zone --context GSPC:trend_direction=uptrend',
    'bands events AAPL rsi_zone --json',
  ],
  notes: [
    `CSV and NDJSON have all events unless --limit is given. With --tier, and at a server, --limit is at most ${MAX_LIMIT}.`,
  ],
  async run(context, given) {
    const query = allUnlessLimited(context, given, await eventsQuery(context, given))
    const returns = given.flag('returns')
    // The specified answer goes out as it is; everything that only people or --returns need is loaded for them.
    const isPlain = context.format === 'json' && !returns
    const found = isPlain
      ? await page(context, query)
      : await shown(context, query, {
          ...{ wide: given.flag('wide'), returns },
          isLimited: given.value('limit') !== undefined,
        })
    if (found > 0) return
    const { noticeNoEvent } = await import('../notices.js')
    await noticeNoEvent(context, await context.bands(), query)
    if (given.flag('fail-empty')) context.outcome = 3
  },
}

async function page(context: Context, query: EventsQuery): Promise<number> {
  const found: EventsPage = await (await context.bands()).events(query)
  await context.out.write(json(found, context.out.terminal))
  return found.total_occurrences
}

interface Style {
  wide: boolean
  returns: boolean
  /** Whether a limit was typed, which rows for machines keep to. */
  isLimited: boolean
}

async function shown(context: Context, query: EventsQuery, { wide, returns, isLimited }: Style): Promise<number> {
  const [{ describeEvents }, { described }] = await Promise.all([
    import('../../present/events.js'),
    import('../draw/described.js'),
  ])
  const source = await context.bands()
  const found = await source.newest(query)
  await context.show(described(describeEvents(found, query, returns), { wide }))
  const { server } = source
  if (server !== null && returns)
    await context.remark(`exact returns are known of the database here alone, not of ${server.url}.`)
  const older = olderBy(found, (await isWithinLimit(context, found.total)) ? found.total : MAX_LIMIT)
  // The page itself says so, and advice at a terminal.
  if (found.total > found.events.length && context.format !== 'json' && !context.isHinting)
    await context.remark(leftOut(found, older, isLimited))
  // Where a server sells its plans, its own refusals tell.
  const upgrade = server === null ? `: ${UPGRADE_URL}` : ''
  await context.hint(...hintsFor(found, query, { wide, upgrade, older }))
  return found.total
}

/** The option that shows what is left out, or more of it. @param limit the largest there can be */
function olderBy({ events }: NewestEvents, limit: number): string {
  const oldest = events.at(-1)
  return oldest === undefined || events.length < limit ? `--limit ${limit}` : `--before ${oldest.date}`
}

/** @param by the option that shows more */
function leftOut({ events, total }: NewestEvents, by: string, isLimited: boolean): string {
  const older = total - events.length
  const more = by === `--limit ${total}` ? 'shows them' : `shows more, --csv${isLimited ? ' without --limit' : ''} all`
  return `${older} older ${older === 1 ? 'event is' : 'events are'} left out: ${by} ${more}.`
}

/** What the signs mean, what is not shown, what to ask next. */
function hintsFor(
  { events, total }: NewestEvents,
  query: EventsQuery,
  { wide, upgrade, older: by }: { wide: boolean; upgrade: string; older: string },
): string[] {
  const { ticker, field, bands, timeframe } = query
  const isFull = events.some(event => event.aftermath !== null)
  const signs = `--- worst 5% to +++ best 5% of ${ticker}'s own past; .. open, ? too little past`
  const older = total - events.length
  const words = [ticker, field, ...(bands === undefined ? [] : ['--band', bands.join(',')])]
  if (timeframe !== 'daily') words.push('--timeframe', timeframe)
  return [
    ...(isFull && !wide ? [signs] : []),
    ...(!isFull && events.length > 0 ? [`Stability, flips and what followed come with the Plus tier${upgrade}`] : []),
    ...(older > 0 ? [`${older} older: ${by}`] : []),
    ...(isFull ? [`next: bands tally ${words.join(' ')}`] : []),
  ]
}
