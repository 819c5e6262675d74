import { timeline } from '../../local/timeline.js'
import { integerValue } from '../../query/values.js'
import { tellNothing } from '../answers/nothing.js'
import { timelineAnswer } from '../answers/show.js'
import type { Command } from '../command.js'
import { FIELD, FILTERS, TICKER } from '../options.js'
import { historyQuery } from '../query.js'

export const command: Command = {
  arguments: [TICKER, FIELD],
  options: [
    ...FILTERS,
    ['--height <LINES>', 'lines of the price, 3 to 60; 12 unless given'],
    ['--ascii', 'draw with plain characters'],
  ],
  examples: [
    'bands show AAPL rsi_zone',
    'bands show AAPL trend_direction --after 2015-01-01 --timeframe weekly',
    'bands show AAPL rsi_zone --band oversold --height 20',
  ],
  notes: ['The last 250 bars unless --after is given. A ^ or a number beneath the bands counts events.'],
  async run(context, given) {
    const height = integerValue('height', given.text('height') ?? '12', 3, 60)
    const query = historyQuery(given)
    const found = await timeline((await context.local()).cache, query)
    await context.show(timelineAnswer(found, { height, ascii: given.flag('ascii') }))
    if (found.bars.every(bar => bar.band === null)) await tellNothing(context, query)
  },
}
