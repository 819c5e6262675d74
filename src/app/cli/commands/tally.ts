import { quoted, wrong } from '../../../core/errors.js'
import { formatDay, parseDay } from '../../../core/model/day.js'
import { count } from '../../../core/numbers.js'
import { FILTERS, NOW, parseTransitions } from '../../../core/params/questions.js'
import { optionsOf } from '../../../core/params/row.js'
import { TALLY, tallyOptions } from '../../../core/params/studies.js'
import { fieldValue, timeframeValue } from '../../../core/params/values.js'
import { WHEN } from '../../../core/params/when.js'
import { fieldsFor, type Source, type Trials } from '../../../core/source.js'
import { type Now, now } from '../../../research/tally/now.js'
import { type Tally, tally } from '../../../research/tally/tally.js'
import { transitionsOf } from '../../../research/tally/transitions.js'
import { describeNow, describeTally } from '../../present/tally.js'
import { describeTransitions } from '../../present/transitions.js'
import type { Args, Command } from '../command.js'
import { eventWords, quotedLine } from '../command-line.js'
import type { Context } from '../context.js'
import { noFactsReason, noticeNoEvent, noticeNoEventOfAny } from '../notices.js'
import { POOL_ARGUMENTS, POOL_OPTIONS, pooledQuery, REPORT, TIMEFRAME, WIDE } from '../options.js'
import { everyTicker, tickersOfLine, tickersWithFields, useDefaultTickers } from '../tickers.js'

const tallyCommand: Command = {
  arguments: POOL_ARGUMENTS,
  options: [
    ...optionsOf(FILTERS),
    ...POOL_OPTIONS,
    ...optionsOf(TALLY),
    WIDE,
    REPORT,
    ['--fail-empty', 'exit with 3 when no event matches'],
  ],
  examples: [
    'bands tally AAPL rsi_zone --band oversold',
    'bands tally AAPL rsi_zone --band oversold --by stability --horizon 5,20',
    'bands tally rsi_zone --all --band oversold --by ticker --csv',
    'bands tally rsi_zone --all --band oversold --by sector',
    'bands tally AAPL macd_state --context GSPC:trend_direction --by context',
    "bands tally --all --when 'rsi_zone = oversold and volume_ratio_band = high'",
    'bands tally rsi_zone --all --band oversold --report oversold.html',
  ],
  async run(context, args) {
    const { outputFiles, withTrials, writeReport } = await import('../research.js')
    const { report } = await outputFiles(args)
    const pool = await pooledQuery(context, args, 'tally')
    const query = { ...pool, ...tallyOptions(args.params(Object.keys(TALLY)), pool.timeframe) }
    const bands = await context.source()
    const ask = (trials: Trials | null): Promise<Tally> => tally(bands, query, { trials, step: context.step })
    const found = await (bands.server === null ? withTrials(context, ask) : ask(null))
    await context.show(describeTally(found), { wide: args.flag('wide') })
    if (report !== undefined) await writeReport(context, report, null, found)
    if (found.events > 0) return context.hint(...tallyHints(found))
    const [only, second] = found.tickers
    if (second === undefined) await noticeNoEvent(context, await context.source(), { ...query, ticker: only! })
    else await noticeNoEventOfAny(context, await context.source(), query, found)
    if (args.flag('fail-empty')) context.exitCode = 3
  },
}

/** A hint at the study of the same events; none for several tickers or without a band. */
function tallyHints({ field, timeframe, tickers, band, when }: Tally): string[] {
  const [only, second] = tickers
  if (only === undefined || second !== undefined || band === null) return []
  const words = eventWords({ field, bands: band.split(','), ...(when === undefined ? {} : { when }) })
  const weekly = timeframe === 'weekly' ? ['--timeframe', 'weekly'] : []
  return [`next: ${quotedLine(['study', only, ...words, ...weekly])}`]
}

/** The filter for the present bands. */
const BAND_FILTER = { band: NOW.band, since: NOW.since }

const nowCommand: Command = {
  arguments: [['[TICKER...]', 'tickers, @FILE, or - for standard input (default all that are loaded)']],
  options: [
    ...optionsOf(NOW, ['field']),
    TIMEFRAME,
    ...optionsOf(BAND_FILTER),
    ...POOL_OPTIONS,
    ['--fail-empty', 'exit with 3 when nothing is in such a band'],
  ],
  examples: [
    'bands now AAPL',
    'bands now --field rsi_zone --timeframe weekly',
    'bands now AAPL GSPC --as-of 2018-02-08 --csv',
    'bands now --field rsi_zone --band oversold,deep_oversold',
    'bands now --since 1',
  ],
  async run(context, args) {
    const fields = args.list('field').map(name => fieldValue('field', name, context.fields).name)
    const timeframe = timeframeValue('timeframe', args.text('timeframe') ?? 'daily')
    const filter = args.read(BAND_FILTER)
    const words = args.rest(0)
    const isNamed = words.length > 0 || args.value('tickers') !== undefined || args.value('watch') !== undefined
    const every = (): Promise<readonly string[]> => everyTicker(context, 'bands now A B')
    const usual = isNamed || args.flag('all') ? [] : await useDefaultTickers(context)
    const named = isNamed ? await tickersOfLine(context, args, words, every) : usual
    const bands = await context.source()
    const listed = named.length > 0 ? named : await every()
    const queried = fields.length > 0 ? fields : undefined
    const { fields: chosen, omitted } = await fieldsFor(bands, queried, { ticker: listed[0], timeframe })
    const tickers = named.length > 0 ? listed : await tickersWithFields(context, listed, { fields: chosen, timeframe })
    const skip = named.length > 0 && fields.length > 0 ? undefined : await bands.missing?.()
    const query = { tickers, fields: chosen, omitted, timeframe, skip, ...filter }
    const found = await now(bands, query, { step: context.step })
    // Skip fields that cannot apply (a fund has no P/E).
    await context.show(describeNow(found, { unknown: fields.length > 0 }))
    await context.noticeOmitted(omitted)
    if (found.states.length === 0) {
      const [only, second] = tickers
      const present =
        only === undefined || second !== undefined
          ? ''
          : await presentBands(context, bands, { tickers, fields: chosen, omitted, timeframe, skip }, filter.band)
      const none = `Nothing: none of ${count(tickers.length, 'ticker')} is in a band as it was asked for.`
      await context.remark(present === '' ? none : present)
      if (args.flag('fail-empty')) context.exitCode = 3
      return
    }
    // A filtered answer omits rows for another reason.
    if (filter.band === undefined && filter.since === undefined) await noticeMissingFacts(context, bands, fields, found)
    await noticeOldBands(context, bands, found)
  },
}

/**
 * Sentences with the present band of each field that has one of the queried bands; empty if no field has one.
 * Example: `AAPL rsi_zone is neutral_low since 2018-02-06.`
 */
async function presentBands(
  context: Context,
  source: Source,
  query: Parameters<typeof now>[1],
  asked: readonly string[] = [],
): Promise<string> {
  const { states } = await now(source, query, { step: context.step })
  return states
    .filter(({ field, band }) => band !== null && asked.some(one => context.fields.named(field)?.bands.includes(one)))
    .map(({ ticker, field, band, since }) => `${ticker} ${field} is ${band}${since === null ? '' : ` since ${since}`}.`)
    .join(' ')
}

/** Calendar days. Holidays explain a smaller gap; a ticker whose last bar is older is not up to date. */
const STALE_DAYS = 10

/** Says on stderr why queried fields have no band for any ticker, if their facts are missing. */
async function noticeMissingFacts(
  context: Context,
  source: Source,
  fields: readonly string[],
  { states }: Now,
): Promise<void> {
  if (context.config.quiet) return
  for (const field of new Set(fields)) {
    const own = states.filter(state => state.field === field)
    if (own.some(state => state.band !== null)) continue
    const tickers = own.map(state => state.ticker)
    const reason = await noFactsReason(source, tickers, field)
    if (reason !== null) await context.notice(`${reason}.`)
  }
}

/** Names on stderr the tickers whose bars end long before those of the others. */
async function noticeOldBands(context: Context, source: Source, { states, as_of }: Now): Promise<void> {
  if (context.config.quiet || as_of === null) return
  const tickers = [...new Set(states.map(state => state.ticker))]
  const known = await source.known(tickers)
  // A day after all data has a notice of its own.
  const day = known.reduce((newest, { last }) => Math.max(newest, last), -Infinity)
  const limit = Math.min(day, parseDay(as_of)!) - STALE_DAYS
  const old = known.filter(({ last }) => last < limit)
  if (old.length === 0) return
  const named = old.slice(0, 5).map(({ ticker, last }) => `${ticker} ${formatDay(last)}`)
  const more = old.length > named.length ? ` and ${old.length - named.length} more (bands status)` : ''
  await context.notice(`not up to ${as_of}, shown as of the newest bar: ${named.join(', ')}${more}`)
}

const transitionsCommand: Command = {
  arguments: POOL_ARGUMENTS,
  options: [
    ...optionsOf(FILTERS, ['timeframe', 'before', 'after']),
    ...optionsOf(WHEN),
    ['--context <T:F>', 'compare by the band that a second ticker was in: GSPC:trend_direction'],
    ...POOL_OPTIONS,
    WIDE,
  ],
  examples: [
    'bands transitions AAPL rsi_zone',
    'bands transitions AAPL,GSPC macd_state --timeframe weekly --json',
    'bands transitions AAPL rsi_zone --context GSPC:trend_direction',
    'bands transitions rsi_zone --all --csv',
  ],
  async run(context, args) {
    refuseContextBand(args)
    const query = await pooledQuery(context, args, 'transitions', parseTransitions)
    const found = await transitionsOf(await context.source(), query, { step: context.step })
    await context.show(describeTransitions(found), { wide: args.flag('wide') })
    const [only, second] = found.tickers
    if (found.events > 0) return
    if (second === undefined) await noticeNoEvent(context, await context.source(), { ...query, ticker: only! })
    else await noticeNoEventOfAny(context, await context.source(), query, found)
  },
}

/** Throws InvalidParameter if --context names a band, as other commands allow: transitions compares all bands. */
function refuseContextBand(args: Args): void {
  const short = args.text('context')
  if (short !== undefined && /:.*=/.test(short))
    throw wrong('context', `context ${quoted(short)} names a band, but all bands are compared: write only T:F.`, {
      value: short,
    })
}

export const commands = { tally: tallyCommand, now: nowCommand, transitions: transitionsCommand }
