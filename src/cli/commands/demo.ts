import { parseEvents } from '../../params/parse.js'
import { now } from '../../tally/now.js'
import { tally } from '../../tally/tally.js'
import { grantedFields } from '../../tiers.js'
import type { Command } from '../command.js'
import { eventsAnswer } from '../draw/events.js'
import type { Answer } from '../output.js'
import { nowAnswer } from './now.js'
import { tallyAnswer } from './tally.js'

const SEARCH = { ticker: 'AAPL', field: 'rsi_zone', band: 'oversold' }
const WORDS = `${SEARCH.ticker} ${SEARCH.field} --band ${SEARCH.band}`
/** A simulated company: of it there are facts, too. */
const COMPANY = 'SIM0001'

export const command: Command = {
  examples: ['bands demo'],
  notes: ['Answers from the bundled sample, whatever database there is.'],
  async run(context) {
    const bands = await context.sample()
    const query = parseEvents(SEARCH)
    const style = { wide: false, returns: false }
    const events = eventsAnswer(await bands.newest(query), query, style)
    const { ticker, limit: _limit, ...filter } = query
    const counted = await tally(bands, { ...filter, tickers: [ticker] })
    const fields = grantedFields(context.config.tier).map(({ name }) => name)
    const states = await now(bands, { tickers: [COMPANY], fields, timeframe: 'daily' })
    await context.show(demoAnswer(events, tallyAnswer(counted), nowAnswer(states, { unknown: false })))
  },
}

/** The answers one after the other, each under the line that asks for it; as rows, the events alone. */
function demoAnswer(events: Answer, counted: Answer, states: Answer): Answer {
  return {
    document: () => ({
      schema: 'bands.demo/1',
      events: events.document(),
      tally: counted.document(),
      now: states.document(),
    }),
    columns: events.columns,
    rows: events.rows,
    blocks: async screen => [
      { notes: [`$ bands events ${WORDS}`] },
      ...(await events.blocks(screen)),
      { notes: [`$ bands tally ${WORDS}`] },
      ...(await counted.blocks(screen)),
      { notes: [`$ bands now ${COMPANY}`] },
      ...(await states.blocks(screen)),
    ],
  }
}
