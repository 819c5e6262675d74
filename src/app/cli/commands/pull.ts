import { BandsError, didYouMean, quoted, suggest, wrong } from '../../../core/errors.js'
import { BUILT_IN_FIELDS } from '../../../core/fields/index.js'
import type { SeriesKey } from '../../../core/model/event.js'
import { TIMEFRAME_NAMES, type Tier, type Timeframe } from '../../../core/model/terms.js'
import { count, numberText, UNKNOWN } from '../../../core/numbers.js'
import { listKind } from '../../../core/params/figures.js'
import { integerOf, oneOf } from '../../../core/params/kinds.js'
import { optional, optionsOf, withDefault } from '../../../core/params/row.js'
import { grantedFields } from '../../../core/tiers.js'
import { openForPlan } from '../../open/database.js'
import { type Column, type Described, tablePart } from '../../present/description.js'
import { compareTexts } from '../../present/words.js'
import { MAX_PAGE_EVENTS } from '../../remote/pages.js'
import type { PullOptions } from '../../remote/pull.js'
import {
  type CreditsLeft,
  creditsLeftOf,
  makePullPlan,
  type Price,
  type PullPlan,
  type PullReport,
  type PullRequest,
  type SeriesReport,
} from '../../remote/pull-plan.js'
import type { Remote } from '../../remote/remote.js'
import type { Args, Command } from '../command.js'
import { type Config, isRemoteTyped } from '../config.js'
import type { Context } from '../context.js'
import { parseTickers, splitAtCommas } from '../tickers.js'
import type { World } from '../world.js'
import { openForPull, WAIT } from '../writing.js'

const PULL = {
  timeframe: withDefault(
    listKind(oneOf([...TIMEFRAME_NAMES, 'both'] as const, 'NAMES'), 'NAMES'),
    ['daily'],
    'daily, weekly or both (default daily)',
  ),
  max_credits: optional(integerOf(0, 100_000_000), 'never spend more; the same command goes on from there'),
}

/** The word for every field. The ticker ALL is typed in capitals. */
const ALL_FIELDS = 'all'

const pullCommand: Command = {
  arguments: [
    [
      '[NAME...]',
      'tickers (A,B, @FILE, or - for standard input) and band fields, in any order; all: every field that the key may ask for',
      ['TICKER', 'FIELD'],
    ],
  ],
  options: [
    ...optionsOf(PULL),
    ['--dry-run', 'only show the least cost, without a request for events'],
    ['--replace', 'begin again, and replace any copy, of any server'],
    WAIT,
  ],
  examples: [
    'bands pull AAPL rsi_zone --remote https://api.example.com',
    'bands pull AAPL,MSFT rsi_zone macd_state --timeframe both --max-credits 100',
    'bands pull @tickers.txt all --dry-run',
  ],
  notes: [
    'Copies events with their aftermath from a server into the database here, a credit for each 100. Afterwards the same queries are answered here, and name the server.',
    'The same command continues a stopped pull. A repeated pull fetches only pages that may have changed.',
    'Of one ticker there are bars, or events of one server: bands remove TICKER takes them out.',
  ],
  /** Copies events of a server into the database; with --dry-run it only shows the price. Throws if unfinished. */
  async run(context, args) {
    const { max_credits: maxCredits, timeframe } = args.read(PULL)
    const isAllFields = args.argumentList(0).flatMap(splitAtCommas).includes(ALL_FIELDS)
    const series = await requestedSeries(args, isAllFields, timeframe, context.world)
    const request = { series, replace: args.flag('replace') }
    if (args.flag('dry-run')) return context.show(describePlan(await planPull(context, request)))
    const remote = await context.pullServer()
    // This costs nothing. It shows the remaining credits, and refuses a wrong key before anything is made.
    await remote.checkKey()
    const puller = await openForPull(context, { wait: args.flag('wait') })
    // Every page is stored at once: after a signal, the pages so far are still shown.
    context.deferSignals()
    const pulledSeries = isAllFields ? seriesWithinTier(series, remote.tier) : series
    const limit = maxCredits === undefined ? {} : { maxCredits }
    const options = { ...limit, ...progressCallbacks(context, remote) }
    const report = await puller.pull(remote, { ...request, series: pulledSeries }, options)
    const failure = pullFailure(report, isAllFields)
    const hasResult = report.credits > 0 || report.series.some(({ outcome }) => outcome === 'unchanged')
    if (failure === null || hasResult) await context.show(describePull(report))
    if (failure !== null) throw failure
    await context.hint(`next, without a server: ${exampleLine(pulledSeries[0]!, context.config)}`)
  },
}

/** The most lines of the table, and the most notes below it. */
const MAX_LISTED = 30

/** The answer about a pull, with a row for each series: one field of a ticker in one timeframe. */
function describePull(report: PullReport): Described {
  const { url: source, credits, creditsLeft, creditsMissing, stopped } = report
  const reports = report.series.toSorted(
    (a, b) => compareTexts(a.ticker, b.ticker) || compareTexts(a.timeframe, b.timeframe),
  )
  const series = reports.map(seriesReport => seriesRow(seriesReport, source))
  const table = tablePart('Pulled', SERIES_COLUMNS, groupSeries(reports))
  return {
    document: {
      schema: 'bands.pull/1',
      source,
      credits,
      credits_left: creditsLeft,
      credits_missing: creditsMissing,
      stopped,
      series,
    },
    columns: [
      ...['ticker', 'timeframe', 'field', 'outcome', 'events', 'new', 'changed', 'credits', 'query_range'],
      ...['source', 'pulled_at', 'as_of', 'complete', 'note'],
    ],
    rows: series,
    paragraphs: [{ heading: [`pulled from ${source}`], parts: [table, { notes: pullNotes(report) }] }],
  }
}

/** A series of a pull as a row for machines. @param source the address of the server */
function seriesRow({ added, refusal, outcome, ...report }: SeriesReport, source: string) {
  const { ticker, timeframe, field, events, changed, credits, query_range, pulled_at, as_of, note } = report
  return {
    ticker,
    timeframe,
    field,
    outcome,
    events,
    new: added,
    changed,
    credits,
    query_range,
    source,
    pulled_at,
    as_of,
    complete: outcome !== 'unfinished' && outcome !== 'refused',
    note: refusal?.message ?? note,
  }
}

function describePlan(plan: PullPlan): Described {
  const { url, series, price } = plan
  const rows = series.map(({ ticker, timeframe, field, nextStep, price: { least, most } }) => {
    return { ticker, timeframe, field, due: nextStep, credits_least: least, credits_most: most }
  })
  return {
    document: { schema: 'bands.pull-plan/1', source: url, credits: price, series: rows },
    columns: ['ticker', 'timeframe', 'field', 'due', 'credits_least', 'credits_most'],
    rows,
    paragraphs: [{ heading: [], parts: [{ notes: [planSentence(plan, null)] }] }],
  }
}

/** `42 series of https://…: 40 new, 2 to be brought up to date; at least 42 credits, …` */
function planSentence({ url, series, price }: PullPlan, left: CreditsLeft | null): string {
  const parts = Object.entries(STEP_WORDS).flatMap(([step, words]) => {
    const number = series.filter(planned => planned.nextStep === step).length
    return number === 0 ? [] : [`${numberText(number)} ${words}`]
  })
  const further = price.most === null ? `, one more for each further ${MAX_PAGE_EVENTS} events` : ''
  return `${numberText(series.length)} series of ${url}: ${parts.join(', ')}; ${priceText(price)}${further}${creditsLeftText(left)}.`
}

const STEP_WORDS = { new: 'new', rest: 'to be gone on with', update: 'to be brought up to date', done: 'done before' }

/** `12 credits`, `at least 12 credits`, `12 to 14 credits`. */
function priceText({ least, most }: Price): string {
  if (most === least) return count(least, 'credit')
  return most === null ? `at least ${count(least, 'credit')}` : `${numberText(least)} to ${count(most, 'credit')}`
}

/** `; 9,950 left today and 50 this hour`; empty if the server does not say. */
function creditsLeftText(left: CreditsLeft | null): string {
  const parts: string[] = []
  if (left?.day != null) parts.push(`${numberText(left.day)} left today`)
  if (left?.hour != null) parts.push(`${numberText(left.hour)} this hour`)
  return parts.length === 0 ? '' : `; ${parts.join(' and ')}`
}

/** The notes and refusals of series, at most MAX_LISTED, and the spent credits. */
function pullNotes({ series, credits, creditsLeft }: PullReport): string[] {
  const withMessage = series.filter(({ note, refusal }) => note !== null || refusal !== null)
  const lines = withMessage.slice(0, MAX_LISTED).map(({ ticker, timeframe, field, refusal, note }) => {
    return `${ticker} ${timeframe} ${field}: ${refusal?.message ?? note}`
  })
  const omitted = withMessage.length - lines.length
  if (omitted > 0) lines.push(`and ${numberText(omitted)} more (--json has all)`)
  return [...lines, `${count(credits, 'credit')} spent${creditsLeftText(creditsLeft)}`]
}

const sumOf = (group: readonly SeriesReport[], key: 'events' | 'added' | 'credits'): number =>
  group.reduce((total, report) => total + report[key], 0)

const SERIES_COLUMNS: readonly Column<[string, SeriesReport[]]>[] = [
  { title: 'ticker', kind: 'text', value: ([ticker]) => ticker },
  {
    title: 'series',
    kind: 'text',
    value: ([, group]) =>
      group.length === 1 ? `${group[0]!.timeframe} ${group[0]!.field}` : `${numberText(group.length)} series`,
  },
  { title: 'outcome', kind: 'text', hidePriority: 1, value: ([, group]) => outcomesText(group) },
  { title: 'events', kind: 'count', value: ([, group]) => sumOf(group, 'events') },
  { title: 'new', kind: 'count', hidePriority: 2, value: ([, group]) => sumOf(group, 'added') },
  { title: 'credits', kind: 'count', hidePriority: 3, value: ([, group]) => sumOf(group, 'credits') },
  {
    title: 'as of',
    kind: 'date',
    hidePriority: 4,
    value: ([, rows]) => rows.map(row => row.as_of ?? UNKNOWN).sort()[0]!,
  },
]

/** A row for each series; if these are more than MAX_LISTED, one for each ticker; if still too many, one for all. */
function groupSeries(series: readonly SeriesReport[]): [string, SeriesReport[]][] {
  if (series.length <= MAX_LISTED) return series.map(report => [report.ticker, [report]])
  const groups = Map.groupBy(series, ({ ticker }) => ticker)
  return groups.size <= MAX_LISTED ? [...groups] : [[count(groups.size, 'ticker'), [...series]]]
}

/** `updated`, or `20 pulled, 1 refused`. */
function outcomesText(series: readonly SeriesReport[]): string {
  const kinds = [...new Set(series.map(({ outcome }) => outcome))]
  if (kinds.length === 1) return kinds[0]!
  return kinds.map(kind => `${numberText(series.filter(({ outcome }) => outcome === kind).length)} ${kind}`).join(', ')
}

const USAGE = 'bands pull TICKER... FIELD...'

/** The typed tickers and fields, in any order. Throws InvalidParameter, also for a word that is nearly a field. */
async function requestedSeries(
  args: Args,
  isAllFields: boolean,
  timeframeWords: readonly (Timeframe | 'both')[],
  world: World,
): Promise<SeriesKey[]> {
  const words = args.argumentList(0).flatMap(splitAtCommas)
  const isField = (word: string): boolean => BUILT_IN_FIELDS.named(word) !== undefined
  const tickerWords = words.filter(word => !isField(word) && word !== ALL_FIELDS)
  for (const word of tickerWords) refuseMistypedField(word)
  const tickers = await parseTickers(tickerWords, world)
  const fields = isAllFields ? BUILT_IN_FIELDS.names : words.filter(isField)
  if (tickers.length === 0) throw wrong('ticker', 'TICKER is missing.', { allowed: USAGE })
  if (fields.length === 0) throw wrong('field', 'FIELD is missing; all asks for each.', { allowed: USAGE })
  const timeframes = TIMEFRAME_NAMES.filter(name => timeframeWords.includes(name) || timeframeWords.includes('both'))
  return tickers.flatMap(ticker => timeframes.flatMap(timeframe => fields.map(field => ({ ticker, timeframe, field }))))
}

/** Throws InvalidParameter for a word that is nearly a field: it would be pulled, and charged, as a ticker. */
function refuseMistypedField(word: string): void {
  const suggestions = suggest(word, BUILT_IN_FIELDS.names)
  if (word.startsWith('@') || word === '-' || (suggestions.length === 0 && !word.includes('_'))) return
  const what = `there is no field ${quoted(word)}.${didYouMean(suggestions)}`
  throw wrong('field', what, { value: word, allowed: BUILT_IN_FIELDS.names, suggestions })
}

/** The series whose fields the key's tier has; all if the server does not report the tier. */
function seriesWithinTier(series: readonly SeriesKey[], tier: Tier | null): readonly SeriesKey[] {
  if (tier === null) return series
  const granted = new Set(grantedFields(tier, BUILT_IN_FIELDS).map(({ name }) => name))
  return series.filter(({ field }) => granted.has(field))
}

/** A command line that uses the pulled events, regardless of the chosen server. */
function exampleLine({ ticker, field, timeframe }: SeriesKey, config: Config): string {
  const words = [`bands events ${ticker} ${field}`]
  if (timeframe !== 'daily') words.push(`--timeframe ${timeframe}`)
  if (config.from.db === '--db') words.push(`--db ${config.db}`)
  else if (!isRemoteTyped(config)) words.push('--remote local')
  return words.join(' ')
}

async function planPull(context: Context, request: PullRequest): Promise<PullPlan> {
  const url = await context.pullServerUrl()
  return makePullPlan(context.closeAtEnd(await openForPlan(context.databaseChoice)), url, request, context.world.now())
}

function progressCallbacks(context: Context, remote: Remote): PullOptions {
  return {
    onPlan: plan => context.remark(planSentence(plan, creditsLeftOf(remote.credits))),
    onPriced: (otherPagesPrice, creditsLeft) => {
      const others = `the others take ${priceText(otherPagesPrice)} more${creditsLeftText(creditsLeft)}`
      // The first page of each series.
      return context.remark(`the first page of each is there; ${others}.`)
    },
    onPage: ({ ticker, field, done, of, credits }) =>
      context.step(() => `pull  ${ticker} ${field}  ${done}/${of} series  ${numberText(credits)} credits`),
  }
}

/** The error that a pull ends with; null if complete. @param isAllFields whether no field was typed */
function pullFailure({ series, stopped, error, creditsMissing, credits }: PullReport, isAllFields: boolean): unknown {
  if (stopped === 'error') return error
  const unfinished = series.filter(({ outcome }) => outcome === 'unfinished').length
  const unfinishedText = `${numberText(unfinished)} of ${numberText(series.length)} series are not at their end, for ${priceText(creditsMissing)} more; the same command goes on.`
  const spent = `${count(credits, 'credit')} ${credits === 1 ? 'is' : 'are'} spent, as many as may be`
  if (stopped === 'credits') return new BandsError('rate_limit_exceeded', `${spent}: ${unfinishedText}`)
  if (unfinished > 0) return new BandsError('busy', `the server changed while it was asked: ${unfinishedText}`)
  // A field above the tier is no failure if all were asked for. If it was pulled before, its events are old now.
  const isNeverGranted = ({ refusal, pulled_at }: SeriesReport): boolean =>
    refusal?.code === 'tier_restricted' && pulled_at === null
  const refused = series.filter(report => report.refusal !== null && !(isAllFields && isNeverGranted(report)))
  const [firstRefused] = refused
  if (firstRefused === undefined) return null
  if (series.length === 1) return firstRefused.refusal
  const { code, message } = firstRefused.refusal!
  const refusedText = refused.length === 1 ? 'One' : numberText(refused.length)
  return new BandsError(code, `${refusedText} of ${numberText(series.length)} series could not be pulled: ${message}`)
}

export const commands = { pull: pullCommand }
