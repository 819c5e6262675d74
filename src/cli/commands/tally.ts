import { oneOf } from '../../params/kinds.js'
import { FILTERS } from '../../params/parameters.js'
import { open, optionsOf } from '../../params/row.js'
import { describeTally } from '../../present/tally.js'
import { TALLY_GROUPINGS, type Tally, tally } from '../../tally/tally.js'
import type { Command } from '../command.js'
import { eventWords, pasted } from '../command-line.js'
import { described } from '../draw/described.js'
import { noticeNoEvent, noticeNoEventOfAny } from '../notices.js'
import { POOLED } from '../options.js'
import { POOL_ARGUMENTS, pooledQuery } from '../questions.js'

const GROUPED = {
  by: open(oneOf(TALLY_GROUPINGS, 'WHAT'), `split by ${TALLY_GROUPINGS.join(', ')}; by band unless --band is given`),
}

export const command: Command = {
  arguments: POOL_ARGUMENTS,
  options: [
    ...optionsOf(FILTERS),
    ...POOLED,
    ...optionsOf(GROUPED),
    ['--fail-empty', 'exit with 3 when no event matches'],
  ],
  examples: [
    'bands tally AAPL rsi_zone --band oversold',
    'bands tally AAPL rsi_zone --band oversold --by stability',
    'bands tally rsi_zone --all --band oversold --by ticker --csv',
    'bands tally AAPL macd_state --context GSPC:trend_direction --by context',
    "bands tally --all --when 'rsi_zone = oversold and volume_ratio_band = high'",
  ],
  async run(context, given) {
    const query = { ...(await pooledQuery(context, given, 'tally')), ...given.read(GROUPED) }
    const found = await tally(await context.bands(), query, { step: text => context.step(text) })
    await context.show(described(describeTally(found)))
    if (found.events > 0) return context.hint(...tallyHints(found))
    const [only, second] = found.tickers
    if (second === undefined) await noticeNoEvent(context, await context.bands(), { ...query, ticker: only! })
    else await noticeNoEventOfAny(context, await context.bands(), query, found)
    if (given.flag('fail-empty')) context.outcome = 3
  },
}

/** What the short words of the table mean. */
function tallyHints({ field, timeframe, tickers, band, when, groups }: Tally): string[] {
  const base = groups[0]?.windows[0]?.base
  const usual = base?.kind === 'measured' ? 'after any bar of the same range' : 'by the way the bands are cut'
  const hints = [`GAIN is the share of + ++ +++, with its 95% interval (Wilson); USUAL is the same ${usual}.`]
  const [only, second] = tickers
  if (only !== undefined && second === undefined && band !== null) {
    const words = eventWords({ field, bands: band.split(','), ...(when === undefined ? {} : { when }) })
    const weekly = timeframe === 'weekly' ? ['--timeframe', 'weekly'] : []
    hints.push(`next: ${pasted(['tally', only, ...words, ...weekly, '--by', 'stability'])}`)
  }
  return hints
}
