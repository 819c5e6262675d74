import { quoted, wrong } from '../../../core/errors.js'
import { type Day, formatDay, parseDay } from '../../../core/model/day.js'
import type { Timeframe } from '../../../core/model/terms.js'
import { count } from '../../../core/numbers.js'
import { FILTERS, NOW, parseTransitions } from '../../../core/params/questions.js'
import { optionsOf } from '../../../core/params/row.js'
import { TALLY, tallyOptions } from '../../../core/params/studies.js'
import { fieldValue, timeframeValue } from '../../../core/params/values.js'
import { WHEN } from '../../../core/params/when.js'
import { fieldsFor, type KnownTicker, type Source, type Trials } from '../../../core/source.js'
import type { Now } from '../../../research/tally/now.js'
import type { Tally } from '../../../research/tally/tally.js'
import type { Args, Command } from '../command.js'
import { eventWords, MAX_TICKERS_IN_NEXT_LINE, nextLine } from '../command-line.js'
import type { Context } from '../context.js'
import { POOL_ARGUMENTS, pooledQuery, REPORT, TICKERS_OPTIONS, TIMEFRAME, WIDE } from '../options.js'
import {
  defaultTickersWithNotice,
  everyTicker,
  hasTickersOption,
  tickersOfLine,
  tickersWithFields,
} from '../tickers.js'

const tallyCommand: Command = {
  arguments: POOL_ARGUMENTS,
  options: [
    ...optionsOf(FILTERS),
    ...TICKERS_OPTIONS,
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
  /** Counts later returns of events, shows them, and writes the report; without events, says why. */
  async run(context, args) {
    const [{ tally }, { describeTally }, { outputFiles, withTrials, writeReport }] = await Promise.all([
      import('../../../research/tally/tally.js'),
      import('../../present/tally.js'),
      import('../research.js'),
    ])
    const { report } = await outputFiles(args)
    const pool = await pooledQuery(context, args, 'tally')
    const query = { ...pool, ...tallyOptions(args.params(Object.keys(TALLY)), pool.timeframe) }
    const bands = await context.source()
    const runTally = (trials: Trials | null): Promise<Tally> => tally(bands, query, { trials, step: context.step })
    const result = await (bands.server === null ? withTrials(context, runTally) : runTally(null))
    await context.show(describeTally(result), { wide: args.flag('wide') })
    if (report !== undefined) await writeReport(context, report, null, result)
    if (result.events > 0) return context.hint(...tallyHints(result, context.argv, hasTickersOption(args)))
    const { noticeNoEventOfPool } = await import('../notices.js')
    await noticeNoEventOfPool(context, bands, query, result)
    if (args.flag('fail-empty')) context.exitCode = 3
  },
}

/** A hint at the study of the same events; none for many named tickers or without a band. */
function tallyHints({ field, tickers, band, when }: Tally, argv: readonly string[], isPool: boolean): string[] {
  if ((tickers.length > MAX_TICKERS_IN_NEXT_LINE && !isPool) || band === null) return []
  const events = { field, bands: band.split(',') }
  const words = eventWords(when === undefined ? events : { ...events, when })
  return [`next: ${nextLine(argv, 'study', isPool ? [] : tickers, words)}`]
}

const BAND_FILTER = { band: NOW.band, since: NOW.since }

const nowCommand: Command = {
  arguments: [['[TICKER...]', 'tickers, @FILE, or - for standard input (default all that are loaded)']],
  options: [
    ...optionsOf(NOW, ['field']),
    TIMEFRAME,
    ...optionsOf(BAND_FILTER),
    ...TICKERS_OPTIONS,
    ['--fail-empty', 'exit with 3 when nothing is in such a band'],
  ],
  examples: [
    'bands now AAPL',
    'bands now --field rsi_zone --timeframe weekly',
    'bands now AAPL GSPC --as-of 2018-02-08 --csv',
    'bands now --field rsi_zone --band oversold,deep_oversold',
    'bands now --since 1',
  ],
  /** Shows the present bands of tickers, filtered by --band and --since; says why bands are missing or old. */
  async run(context, args) {
    const typedFields = args.list('field').map(name => fieldValue('field', name, context.fields).name)
    const timeframe = timeframeValue('timeframe', args.text('timeframe') ?? 'daily')
    const filter = args.read(BAND_FILTER)
    const namedTickers = await tickersOfNow(context, args)
    const bands = await context.source()
    const query = await nowQuery(context, bands, { namedTickers, typedFields, timeframe })
    const [{ now }, { describeNow }] = await Promise.all([
      import('../../../research/tally/now.js'),
      import('../../present/now.js'),
    ])
    const result = await now(bands, { ...query, ...filter }, { step: context.step })
    // Without --field, fields that cannot apply are left out (a fund has no P/E).
    await context.show(describeNow(result, { withUnknown: typedFields.length > 0 }))
    await context.noticeOmitted(query.omitted)
    if (result.states.length === 0) {
      const tickers = count(query.tickers.length, 'ticker')
      let presentText = ''
      if (query.tickers.length === 1)
        presentText = presentBandsText(context, await now(bands, query, { step: context.step }), filter.band)
      await context.remark(presentText || `Nothing: none of ${tickers} is in a band as it was asked for.`)
      if (args.flag('fail-empty')) context.exitCode = 3
      return
    }
    // With a filter, a row may also be absent because it does not match.
    if (filter.band === undefined && filter.since === undefined)
      await noticeMissingFacts(context, bands, typedFields, result)
    await noticeOldBands(context, bands, result)
  },
}

const allTickersOfNow = (context: Context): Promise<readonly string[]> => everyTicker(context, 'bands now A B')

/** The tickers that the line names, otherwise the default ones; empty if the question is about all. */
async function tickersOfNow(context: Context, args: Args): Promise<string[]> {
  const words = args.argumentList(0)
  if (words.length > 0 || args.value('tickers') !== undefined || args.value('watch') !== undefined)
    return tickersOfLine(context, args, words, () => allTickersOfNow(context))
  return args.flag('all') ? [] : defaultTickersWithNotice(context)
}

interface NowOptions {
  /** Empty for all tickers that have one of the fields. */
  namedTickers: readonly string[]
  /** Empty for all fields. */
  typedFields: readonly string[]
  timeframe: Timeframe
}

/**
 * The query for present bands. Without typed fields, `fields` are those of the caller's plan that can be queried now,
 * and `omitted` the others. A server is asked for the plan with the first ticker. `skip` says which fields of a ticker
 * were not pulled; undefined if tickers and fields are both named, or the source has no pulled events.
 */
async function nowQuery(context: Context, source: Source, { namedTickers, typedFields, timeframe }: NowOptions) {
  const isNamed = namedTickers.length > 0
  const queriedTickers = isNamed ? namedTickers : await allTickersOfNow(context)
  const fieldNames = typedFields.length > 0 ? typedFields : undefined
  const { fields, omitted } = await fieldsFor(source, fieldNames, { ticker: queriedTickers[0], timeframe })
  const tickers = isNamed ? queriedTickers : await tickersWithFields(context, queriedTickers, { fields, timeframe })
  // Only pulled events may lack fields of a ticker.
  const skip = isNamed && typedFields.length > 0 ? undefined : await source.missing?.()
  return { tickers, fields, omitted, timeframe, skip }
}

/** `AAPL rsi_zone is neutral_low since 2018-02-06.`: a sentence for each field that has a queried band. */
function presentBandsText(context: Context, { states }: Now, queriedBands: readonly string[] = []): string {
  const hasQueriedBand = (field: string): boolean => {
    const vocabulary = context.fields.named(field)?.bands ?? []
    return queriedBands.some(band => vocabulary.includes(band))
  }
  return states
    .filter(({ field, band }) => band !== null && hasQueriedBand(field))
    .map(({ ticker, field, band, since }) => `${ticker} ${field} is ${band}${since === null ? '' : ` since ${since}`}.`)
    .join(' ')
}

/** Calendar days. Holidays explain a smaller gap; a ticker whose last bar is older is not up to date. */
const STALE_DAYS = 10

/** Says on stderr why queried fields have no band for any ticker, if their facts are missing. */
async function noticeMissingFacts(context: Context, source: Source, fields: readonly string[], { states }: Now) {
  if (context.config.quiet) return
  for (const field of new Set(fields)) {
    const statesOfField = states.filter(state => state.field === field)
    if (statesOfField.some(state => state.band !== null)) continue
    const tickers = statesOfField.map(state => state.ticker)
    const { noFactsReason } = await import('../notices.js')
    const reason = await noFactsReason(source, tickers, field)
    if (reason !== null) await context.notice(`${reason}.`)
  }
}

/** Names on stderr the tickers whose bars begin after the as-of day, or end long before those of the others. */
async function noticeOldBands(context: Context, source: Source, { states, as_of }: Now): Promise<void> {
  if (context.config.quiet || as_of === null) return
  const tickers = [...new Set(states.map(state => state.ticker))]
  const known = await source.known(tickers)
  const asOfDay = parseDay(as_of)!
  const list = (found: readonly KnownTicker[], dayOf: (ticker: KnownTicker) => Day): string => {
    const names = found.slice(0, 5).map(one => `${one.ticker} ${formatDay(dayOf(one))}`)
    const more = found.length > names.length ? ` and ${found.length - names.length} more (bands status)` : ''
    return names.join(', ') + more
  }
  const later = known.filter(({ first }) => first > asOfDay)
  if (later.length > 0) await context.notice(`no bars by ${as_of}, which begin later: ${list(later, one => one.first)}`)
  // If the as-of day is after all bars, another notice says so, and not every ticker is old.
  const newestDay = known.reduce((newest, { last }) => Math.max(newest, last), -Infinity)
  const oldestAllowed = Math.min(newestDay, asOfDay) - STALE_DAYS
  const stale = known.filter(({ last }) => last < oldestAllowed)
  if (stale.length === 0) return
  await context.notice(`not up to ${as_of}, shown as of the newest bar: ${list(stale, one => one.last)}`)
}

const transitionsCommand: Command = {
  arguments: POOL_ARGUMENTS,
  options: [
    ...optionsOf(FILTERS, ['timeframe', 'before', 'after']),
    ...optionsOf(WHEN),
    ['--context <T:F>', 'compare by the band that a second ticker was in: GSPC:trend_direction'],
    ...TICKERS_OPTIONS,
    WIDE,
  ],
  examples: [
    'bands transitions AAPL rsi_zone',
    'bands transitions AAPL,GSPC macd_state --timeframe weekly --json',
    'bands transitions AAPL rsi_zone --context GSPC:trend_direction',
    'bands transitions rsi_zone --all --csv',
  ],
  /** Shows which band followed which, and how long bands lasted; without events, says why. */
  async run(context, args) {
    refuseContextBand(args)
    const query = await pooledQuery(context, args, 'transitions', parseTransitions)
    const [{ transitionsOf }, { describeTransitions }] = await Promise.all([
      import('../../../research/tally/transitions.js'),
      import('../../present/transitions.js'),
    ])
    const result = await transitionsOf(await context.source(), query, { step: context.step })
    await context.show(describeTransitions(result), { wide: args.flag('wide') })
    if (result.events > 0) return
    const { noticeNoEventOfPool } = await import('../notices.js')
    await noticeNoEventOfPool(context, await context.source(), query, result)
  },
}

/** Throws InvalidParameter if --context names a band, as other commands allow: transitions compares all bands. */
function refuseContextBand(args: Args): void {
  const value = args.text('context')
  if (value === undefined || !/:.*=/.test(value)) return
  const message = `context ${quoted(value)} names a band, but all bands are compared: write only T:F.`
  throw wrong('context', message, { value })
}

export const commands = { tally: tallyCommand, now: nowCommand, transitions: transitionsCommand }
