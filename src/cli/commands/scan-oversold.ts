import { type OversoldParams, SEVERITIES } from '../../model/oversold.js'
import { parseOversold } from '../../query/oversold.js'
import { OVERSOLD } from '../../query/parameters.js'
import { oversoldAnswer, tellOversold } from '../answers/oversold.js'
import type { Command } from '../command.js'
import type { Context } from '../context.js'
import type { Given } from '../given.js'
import { TIMEFRAME } from '../options.js'

export const command: Command = {
  options: [
    ['--asset-class <CLASS>', 'only stock, crypto or etf; all unless given'],
    ['--sector <NAME>', 'only tickers of this sector; case does not matter'],
    ['--market-cap-tier <SIZE>', 'only nano, micro, small, mid, large, mega or ultra_mega ones'],
    ['--min-market-cap-tier <SIZE>', 'only tickers of this size or larger'],
    ['--min-severity <BAND>', `the least that counts: ${SEVERITIES.join(' or ')}; the first unless given`],
    ['--sort-by <ORDER>', 'severity (unless given), days_oversold or condition_percentile'],
    ['--limit <N>', 'how many matches at most, 1 to 100; 20 unless given'],
    TIMEFRAME,
    ['--date <DATE>', 'as of that day, on Plus and Pro; the latest unless given'],
  ],
  examples: [
    'bands scan oversold',
    'bands scan oversold --date 2018-02-08 --sort-by days_oversold',
    'bands scan oversold --timeframe weekly --min-severity deep_oversold --json',
  ],
  notes: [
    'A ticker is looked at on its last bar that is final on the date, if that is at most seven days older (weekly: its Sunday). DAYS are bars since it became oversold; RARITY is how seldom its RSI was as low in its own history; SUPPORT how far below the close the support level lies.',
  ],
  async run(context, given) {
    const query = parseOversold(paramsOf(given))
    const page = await (await context.bands()).oversold(query)
    const scan = { query, page, date: query.date ?? (await today(context)) }
    await context.show(oversoldAnswer(scan))
    await tellOversold(context, scan)
  },
}

function paramsOf(given: Given): OversoldParams {
  const params: OversoldParams = {}
  for (const name of Object.keys(OVERSOLD) as (keyof OversoldParams)[]) {
    const text = given.text(name.replaceAll('_', '-'))
    if (text !== undefined) params[name] = text
  }
  return params
}

/** null of a server, which does not tell. */
async function today(context: Context): Promise<number | null> {
  return context.opened === null ? null : context.opened.local.cache.today()
}
