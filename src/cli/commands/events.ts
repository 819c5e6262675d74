import type { EventsPage, EventsQuery } from '../../model/event.js'
import { EVENTS, FILTERS } from '../../params/parameters.js'
import { optionsOf } from '../../params/row.js'
import type { Command } from '../command.js'
import type { Context } from '../context.js'
import type { Given } from '../given.js'
import { eventsQuery, FIELD, TICKER } from '../options.js'
import { json } from '../output.js'

export const command: Command = {
  arguments: [TICKER, FIELD],
  options: [
    ...optionsOf(FILTERS),
    ...optionsOf(EVENTS, ['limit']),
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
  async run(context, given) {
    const query = eventsQuery(given)
    // The specified answer goes out as it is; everything that only people or --returns need is loaded for them.
    const found = isPlainPage(context, given) ? await page(context, query) : await shown(context, query, given)
    if (found > 0) return
    const { noticeNoEvent } = await import('../notices.js')
    await noticeNoEvent(context, await context.bands(), query)
    if (given.flag('fail-empty')) context.outcome = 3
  },
}

function isPlainPage(context: Context, given: Given): boolean {
  return context.format === 'json' && !given.flag('returns')
}

async function page(context: Context, query: EventsQuery): Promise<number> {
  const found: EventsPage = await (await context.bands()).events(query)
  await context.out.write(json(found, context.out.terminal))
  return found.total_occurrences
}

async function shown(context: Context, query: EventsQuery, given: Given): Promise<number> {
  const { showEvents } = await import('../draw/events.js')
  return showEvents(context, query, { wide: given.flag('wide'), returns: given.flag('returns') })
}
