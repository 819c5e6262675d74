import { InvalidParameter, quoted } from '../../errors.js'
import { windowNames } from '../../model/terms.js'
import { FILTERS } from '../../params/parameters.js'
import { optionsOf } from '../../params/row.js'
import { type Transitions, transitionsOf } from '../../tally/transitions.js'
import type { Command } from '../command.js'
import type { Row } from '../draw/table.js'
import { transitionsBlocks } from '../draw/transitions.js'
import type { Given } from '../given.js'
import { noticeNoEvent } from '../notices.js'
import { POOLED } from '../options.js'
import type { Answer } from '../output.js'
import { POOL_ARGUMENTS, pooledQuery } from '../questions.js'

export const command: Command = {
  arguments: POOL_ARGUMENTS,
  options: [
    ...optionsOf(FILTERS, ['timeframe', 'before', 'after']),
    [
      '--context <T:F>',
      'compare by the band that a second ticker was in: GSPC:trend_direction; short for the two below',
    ],
    ...optionsOf(FILTERS, ['context_ticker', 'context_field']),
    ...POOLED,
  ],
  examples: [
    'bands transitions AAPL rsi_zone',
    'bands transitions AAPL,GSPC macd_state --timeframe weekly --json',
    'bands transitions AAPL rsi_zone --context GSPC:trend_direction',
    'bands transitions rsi_zone --all --csv',
  ],
  async run(context, given) {
    checkContext(given)
    const query = await pooledQuery(context, given, 'transitions')
    const found = await transitionsOf(await context.bands(), query, { step: text => context.step(text) })
    await context.show(transitionsAnswer(found))
    const [only, second] = found.tickers
    if (found.events === 0 && second === undefined)
      await noticeNoEvent(context, await context.bands(), { ...query, ticker: only! })
  },
}

/** Said here in its own words, because a search may name a band of the context, too. */
function checkContext(given: Given): void {
  const short = given.text('context')
  if (short?.includes('='))
    throw new InvalidParameter(
      `context ${quoted(short)} names a band, and all of them are compared: write T:F alone.`,
      {
        param: 'context',
        value: short,
      },
    )
  const names = ['context-ticker', 'context-field'] as const
  const [missing, other] = names.filter(name => given.text(name) === undefined)
  if (missing === undefined || other !== undefined) return
  const there = names.find(name => name !== missing)!
  throw new InvalidParameter(`--${missing} is missing beside --${there}.`, { param: missing.replace('-', '_') })
}

/**
 * Which band follows which, and how long each lasts; for machines a row for every pair of bands, with a context for every
 * pair in every band of it.
 */
function transitionsAnswer(found: Transitions): Answer {
  return {
    document: () => found,
    columns: [
      ...['ticker', 'tickers', 'field', 'timeframe', 'from', 'to', 'count', 'share'],
      ...['from_stays', 'from_completed', 'from_censored', 'from_median', 'from_p90', 'from_mean', 'from_longest'],
      ...['from_median_low', 'from_median_high', 'per_bar', 'from_per_bar'],
      ...windowNames(found.timeframe).map(name => `incidence_${name}`),
      ...['context_ticker', 'context_field', 'context_band', 'equal_rows_p', 'log_rank_p'],
    ],
    rows: () => rows(found),
    blocks: screen => transitionsBlocks(found, screen),
  }
}

function rows(found: Transitions): Row[] {
  if (found.by_context === null) return groupRows(found, found, {})
  return found.by_context.groups.flatMap(group => groupRows(found, group, { context_band: group.context }))
}

/** @param group whose figures they are: all, or those in one band of the context */
function groupRows(
  { tickers, field, timeframe, bands, context, by_context }: Transitions,
  { matrix, per_bar, dwell, incidence }: Pick<Transitions, 'matrix' | 'per_bar' | 'dwell' | 'incidence'>,
  more: Row,
): Row[] {
  const ticker = tickers.length === 1 ? tickers[0]! : null
  const names = windowNames(timeframe)
  const where = { context_ticker: context?.ticker ?? null, context_field: context?.field ?? null, context_band: null }
  return bands.flatMap((from, i) => {
    const [{ counts, shares }, stays, bars] = [matrix[i]!, dwell[i]!, per_bar[i]!]
    const left = incidence.filter(({ band }) => band === from)
    const tests = {
      equal_rows_p: by_context?.tests.equal_rows.rows[i]?.p ?? null,
      log_rank_p: by_context?.tests.log_rank[i]?.p ?? null,
    }
    return bands
      .filter(to => to !== from)
      .map(to => ({
        ...{ ticker, tickers: tickers.length, field, timeframe, from, to, count: counts[to], share: shares[to] },
        ...{ from_stays: stays.stays, from_completed: stays.completed, from_censored: stays.censored },
        ...{ from_median: stays.median, from_p90: stays.p90, from_mean: stays.mean, from_longest: stays.longest },
        ...{ from_median_low: stays.median_low, from_median_high: stays.median_high },
        ...{ per_bar: bars.shares[to], from_per_bar: bars.shares[from] },
        ...Object.fromEntries(names.map((name, w) => [`incidence_${name}`, left[w]!.to[to]])),
        ...{ ...where, ...tests, ...more },
      }))
  })
}
