import * as z from 'zod'
import { BadData, type InvalidParameter, parameter, quoted, sentence, type Words, wrong } from '../../../core/errors.js'
import { type Day, dayAt, formatDay, parseDay } from '../../../core/model/day.js'
import { assumedFiling } from '../../../core/model/facts.js'
import { isMapping } from '../../../core/params/arguments.js'
import type { FactsResult, ReadOptions } from '../feed.js'
import { parseShape } from '../json-text.js'
import { futureDateReason, latestBar } from '../price-rows.js'
import {
  AS_FILED,
  documentTicker,
  EARLIER_MONTHS,
  FactsSink,
  FILED_LATER,
  type TimedGrade,
  WITHOUT_SHARES,
} from './sink.js'

/**
 * The facts of a Yahoo document: a quote summary (grades, insiders, counts of ratings, the next report) or a time
 * series of statements. Null when it is neither. Throws BadData that names wrong or missing parts.
 */
export function readYahooFacts(file: string, root: unknown, options: ReadOptions): FactsResult | null {
  if (!isMapping(root) || !('quoteSummary' in root || 'timeseries' in root)) return null
  const sink = new FactsSink()
  if ('quoteSummary' in root) return sink.result(file, 'Yahoo quote summary', readSummary(file, root, options, sink))
  return sink.result(file, 'Yahoo statements', readTimeseries(file, root, options, sink))
}

const SYMBOL_MODULES = ['price', 'quoteType'] as const

const Summary = z.object({
  quoteSummary: z.object({
    result: z.array(z.record(z.string(), z.unknown())).length(1).nullish(),
    error: z.object({ description: z.string() }).nullish(),
  }),
})
const SymbolModule = z.object({ symbol: z.string() })

/**
 * Loads the modules of a quote summary and returns the number of their rows. A module that cannot be loaded is
 * remarked; throws BadData when none can be.
 */
function readSummary(file: string, root: unknown, options: ReadOptions, sink: FactsSink): number {
  const { result, error } = parseShape(file, Summary, root, 'a quote summary of Yahoo').quoteSummary
  const modules = result?.[0]
  if (modules === undefined) {
    const content =
      error === undefined || error === null ? 'nothing' : `only a message of Yahoo: ${quoted(error.description)}`
    throw new BadData({ file }, `there are no facts in it, ${content}`)
  }
  const symbols = SYMBOL_MODULES.map(name => SymbolModule.safeParse(modules[name]).data?.symbol)
  const ownSymbol = symbols.find(symbol => symbol !== undefined) ?? null
  const latest = latestBar(options.today)
  const context = {
    file,
    sink,
    known: options.known,
    latest,
    ticker: () => documentTicker(file, ownSymbol, options.ticker),
  }
  const refusals: Words[] = []
  let rows: number | null = null
  for (const [name, module] of Object.entries(modules)) {
    // The number of its rows, the reason why it is refused, or undefined for a module that no field uses.
    const outcome = MODULES.get(name)?.(module, context)
    if (typeof outcome === 'number') rows = (rows ?? 0) + outcome
    else if (outcome !== undefined) {
      refusals.push(outcome)
      sink.remark(outcome, name)
    } else if (!SYMBOL_MODULES.some(symbolModule => symbolModule === name))
      sink.remark('modules of no field are not loaded', name)
  }
  if (rows !== null) return rows
  const readableNames = [...MODULES.keys()].join(', ')
  const reason =
    refusals.length > 0
      ? refusals.reduce((text, refusal) => sentence`${text}; ${refusal}`)
      : `none of its modules (${Object.keys(modules).join(', ')}) is read; those are ${readableNames}`
  throw new BadData({ file }, reason)
}

/** A number, bare or as Yahoo wraps it with a text for people. */
const Amount = z.union([z.number(), z.object({ raw: z.number() }).transform(({ raw }) => raw)])

/** A number that may be missing: left out, null, or an empty wrapping. */
const OptionalAmount = z.preprocess(
  value => (value === null || (typeof value === 'object' && Object.keys(value).length === 0) ? undefined : value),
  Amount.optional(),
)

/** The day, UTC, and second of a time: an epoch in seconds, or ISO text as programs that fetch it write it. */
const Moment = z.union([
  Amount.pipe(z.number().min(0).max(253_402_300_799)),
  z.iso.datetime().transform(text => Date.parse(text) / 1000),
])

const dayOfEpochSecond = (seconds: number): Day => dayAt(seconds * 1000)

/** The day of a past event. Throws BadData for a future day. */
function pastDay(name: string, seconds: number, { file, latest }: Pick<ModuleContext, 'file' | 'latest'>): Day {
  const day = dayOfEpochSecond(seconds)
  if (day > latest) throw new BadData({ file }, futureDateReason(name, formatDay(day)))
  return day
}

interface ModuleContext {
  file: string
  sink: FactsSink
  /** The day of the download, where the user gave it. */
  known: Day | undefined
  /** The last day on which something can have happened. */
  latest: Day
  /** The ticker; throws BadData if it is unknown, so it is called only with a record to load. */
  ticker(): string
}

/** The result of a module: its number of rows, or why it is refused. */
type Outcome = number | Words

/** The modules of a quote summary that are read, or refused for a reason. */
const MODULES: ReadonlyMap<string, (module: unknown, context: ModuleContext) => Outcome> = new Map([
  ['upgradeDowngradeHistory', addGradesOf],
  ['insiderTransactions', addInsiderTrades],
  ['recommendationTrend', addRatings],
  ['earnings', addNextReportOfEarnings],
  ['calendarEvents', addNextReportOfCalendar],
  [
    'earningsHistory',
    () =>
      'earningsHistory gives the ends of quarters without the days of the reports, so the day they became known is missing',
  ],
  ['earningsTrend', () => 'earningsTrend holds estimates of quarters to come, which no field uses'],
])

const History = z.object({
  history: z.array(z.object({ epochGradeDate: Moment, firm: z.string().nullish(), toGrade: z.string().nullish() })),
})
const Transactions = z.object({
  transactions: z.array(
    z.object({
      filerName: z.string(),
      transactionText: z.string().nullish(),
      startDate: Moment,
      shares: OptionalAmount,
      value: OptionalAmount,
    }),
  ),
})
const Count = Amount.pipe(z.int().min(0))
const Trend = z.object({
  trend: z.array(
    z.object({ period: z.string(), strongBuy: Count, buy: Count, hold: Count, sell: Count, strongSell: Count }),
  ),
})
const Dates = { earningsDate: z.array(Moment).nullish(), isEarningsDateEstimate: z.boolean().nullish() }
const Earnings = z.object({
  earningsChart: z.object({ ...Dates, quarterly: z.array(z.object({ date: z.string() })).nullish() }),
})
const Calendar = z.object({ earnings: z.object(Dates) })

/** A module in its required shape; throws BadData. */
function parseModule<Shape extends z.ZodType>(
  context: ModuleContext,
  name: string,
  shape: Shape,
  module: unknown,
): z.infer<Shape> {
  return parseShape(context.file, shape, module, 'a quote summary of Yahoo', ['quoteSummary', 'result', '0', name])
}

/** Gives the grades of a module to the sink, which counts the latest of a firm on a day; returns the number of rows. */
function addGradesOf(module: unknown, context: ModuleContext): Outcome {
  const { sink } = context
  const { history } = parseModule(context, 'upgradeDowngradeHistory', History, module)
  const timedGrades: TimedGrade[] = []
  // Yahoo lists the newest first. Reversed, rows of one moment are oldest first, too, as `sort` is stable.
  const oldestFirst = history.toReversed().sort((a, b) => a.epochGradeDate - b.epochGradeDate)
  for (const { epochGradeDate: time, firm, toGrade } of oldestFirst) {
    const known = pastDay('epochGradeDate', time, context)
    const place = `${firm || 'no firm'}, ${formatDay(known)}`
    if (!toGrade) sink.remark('rows have no toGrade and are not loaded', place)
    else if (!firm) sink.remark('rows have no firm and are not loaded', place)
    else
      timedGrades.push({ ticker: context.ticker(), grade: { known, session: null, firm, grade: toGrade }, time, place })
  }
  sink.addGrades(timedGrades, 'grades are dated by the day in UTC and count from the next day on')
  return history.length
}

/** Adds the purchases and sales of insiders; returns the number of all transactions. */
function addInsiderTrades(module: unknown, context: ModuleContext): Outcome {
  const { sink } = context
  const { transactions } = parseModule(context, 'insiderTransactions', Transactions, module)
  for (const { filerName: insider, transactionText, startDate, shares, value = null } of transactions) {
    const traded = pastDay('startDate', startDate, context)
    const place = `${insider}, ${formatDay(traded)}`
    // The text is such as `Sale at price 226.35 per share.`
    const action = (transactionText ?? '').split(' at ')[0]!
    let side: 'buy' | 'sell' | null = null
    if (action.startsWith('Purchase')) side = 'buy'
    else if (action.startsWith('Sale')) side = 'sell'
    if (action === '') sink.remark('transactions without a text, mostly grants and taxes, are not loaded', place)
    else if (side === null)
      sink.remark(`transactions such as ${quoted(action)} are no purchase or sale and are not loaded`, place)
    else if (shares === undefined || !(shares > 0)) sink.remark(WITHOUT_SHARES, place)
    else {
      const known = assumedFiling(traded)
      const knownValue = value === null || value < 0 ? null : value
      if (value !== knownValue) sink.remark('money below 0 is taken for unknown', place)
      sink.add('insiders', context.ticker(), { known, session: null, insider, side, shares, value: knownValue })
      sink.remark(FILED_LATER, place)
    }
  }
  return transactions.length
}

/** Adds the present counts of ratings, of period `0m`; returns the number of periods. */
function addRatings(module: unknown, context: ModuleContext): Outcome {
  const { trend } = parseModule(context, 'recommendationTrend', Trend, module)
  const { file, known, sink } = context
  const currentCounts = new Set(trend.filter(({ period }) => period === '0m').map(counts => JSON.stringify(counts)))
  if (currentCounts.size > 1) throw new BadData({ file }, 'recommendationTrend gives 0m twice, with other counts')
  if (known === undefined) return undatedReason('recommendationTrend')
  for (const { period, strongBuy: strong_buy, buy, hold, sell, strongSell: strong_sell } of trend)
    if (period === '0m')
      sink.add('ratings', context.ticker(), { known, session: null, strong_buy, buy, hold, sell, strong_sell })
    else sink.remark(EARLIER_MONTHS, period)
  return trend.length
}

/** Adds the day of the next report from the module `earnings`; its past results are only remarked. */
function addNextReportOfEarnings(module: unknown, context: ModuleContext): Outcome {
  const { earningsChart: chart } = parseModule(context, 'earnings', Earnings, module)
  for (const { date } of chart.quarterly ?? [])
    context.sink.remark('results of past quarters are not loaded: the days of the reports are missing', date)
  return addNextReport('earnings', chart, context)
}

function addNextReportOfCalendar(module: unknown, context: ModuleContext): Outcome {
  return addNextReport('calendarEvents', parseModule(context, 'calendarEvents', Calendar, module).earnings, context)
}

/**
 * Adds the day of the next report, the first of those between which it is expected, unless another module had it.
 * Returns 1, the number of days read, or the reason why there is none.
 */
function addNextReport(name: string, dates: z.infer<typeof Calendar>['earnings'], context: ModuleContext): Outcome {
  const { known, sink } = context
  const days = (dates.earningsDate ?? []).map(dayOfEpochSecond)
  if (days.length === 0) return `${name} names no day of a next report (earningsDate)`
  if (known === undefined) return undatedReason(name)
  const expected_date = Math.min(...days)
  const place = formatDay(expected_date)
  if (sink.has('schedule')) return 1
  sink.add('schedule', context.ticker(), { expected_date, known })
  if (days.length > 1) sink.remark('the next report is expected between two days; the first is taken', place)
  if (dates.isEarningsDateEstimate) sink.remark('the day of the next report is an estimate of Yahoo', place)
  return 1
}

function undatedReason(name: string): Words {
  return sentence`${name} does not say when it was fetched; give the day of the download with ${parameter('known', 'DATE')}`
}

const TYPE_OF_FIGURE = {
  revenue: 'quarterlyTotalRevenue',
  eps: 'quarterlyDilutedEPS',
  equity: 'quarterlyStockholdersEquity',
  shares: 'quarterlyOrdinarySharesNumber',
} as const
type Figure = keyof typeof TYPE_OF_FIGURE

const Point = z.object({ asOfDate: z.iso.date().transform(text => parseDay(text)!), reportedValue: Amount })
const Points = z.array(Point.nullable())
const Series = z.object({
  timeseries: z.object({
    result: z
      .array(z.looseObject({ meta: z.object({ symbol: z.array(z.string()), type: z.array(z.string()) }) }))
      .nullish(),
    error: z.object({ description: z.string() }).nullish(),
  }),
})

/**
 * Loads the quarters of a time series of statements as reports, all known on the day of the download. Returns the
 * number of its figures. Throws BadData if it has no quarters, or if their dates or ticker are unknown.
 */
function readTimeseries(file: string, root: unknown, options: ReadOptions, sink: FactsSink): number {
  const { result, error } = parseShape(file, Series, root, 'a time series of Yahoo').timeseries
  if (error)
    throw new BadData({ file }, `there are no facts in it, only a message of Yahoo: ${quoted(error.description)}`)
  const quarters = quartersIn(file, result ?? [])
  const reported = [...quarters].filter(([, { revenue, eps }]) => revenue !== undefined || eps !== undefined)
  if (reported.length === 0) throw new BadData({ file }, noQuartersReason(quarters.size > 0))
  const { known } = options
  if (known === undefined) {
    const what = 'the statements do not say when they became known'
    throw new BadData({ file }, sentence`${what}; give the day of the download with ${parameter('known', 'DATE')}`)
  }
  const symbols = [...new Set((result ?? []).flatMap(({ meta }) => meta.symbol))]
  if (symbols.length > 1) throw new BadData({ file }, `it has statements of several tickers (${symbols.join(', ')})`)
  const ticker = documentTicker(file, symbols[0] ?? null, options.ticker)
  for (const [period_end, { revenue = null, eps = null, equity, shares }] of reported.sort(([a], [b]) => a - b)) {
    if (known < period_end) throw tooEarlyError(known, period_end)
    const book_value_ps = equity !== undefined && shares !== undefined && shares > 0 ? equity / shares : null
    sink.add('reports', ticker, { period_end, known, session: null, eps, revenue, book_value_ps, basis: 'filed' })
    const place = formatDay(period_end)
    sink.remark(`reports count as known on the day of the download, ${formatDay(known)}, whenever they came out`, place)
    sink.remark('ends of quarters may be those of the month: load either these or filings of one ticker', place)
    if (eps !== null || book_value_ps !== null) sink.remark(AS_FILED, place)
  }
  return [...quarters.values()].reduce((count, figures) => count + Object.keys(figures).length, 0)
}

/** The figures of each quarter, by its end. Throws BadData where a figure has two values. */
function quartersIn(
  file: string,
  result: readonly { meta: { type: string[] }; [type: string]: unknown }[],
): Map<Day, Partial<Record<Figure, number>>> {
  const quarters = new Map<Day, Partial<Record<Figure, number>>>()
  for (const [index, series] of result.entries())
    for (const figure of Object.keys(TYPE_OF_FIGURE) as Figure[]) {
      const type = TYPE_OF_FIGURE[figure]
      if (!series.meta.type.includes(type) || series[type] === undefined) continue
      const path = ['timeseries', 'result', String(index), type]
      for (const point of parseShape(file, Points, series[type], 'a time series of Yahoo', path)) {
        if (point === null) continue
        const figures = quarters.get(point.asOfDate) ?? {}
        const earlierValue = figures[figure] ?? point.reportedValue
        if (earlierValue !== point.reportedValue) {
          const what = `${type} of ${formatDay(point.asOfDate)} is ${earlierValue} and ${point.reportedValue}`
          throw new BadData({ file }, `${what}; take one of the two out`)
        }
        figures[figure] = earlierValue
        quarters.set(point.asOfDate, figures)
      }
    }
  return quarters
}

function noQuartersReason(hasBalances: boolean): string {
  const types = `${TYPE_OF_FIGURE.revenue} and ${TYPE_OF_FIGURE.eps}`
  return hasBalances
    ? `balance sheets are no complete report; fetch them together with ${types}`
    : `it has no quarterly figures for a report (${types})`
}

function tooEarlyError(known: Day, end: Day): InvalidParameter {
  const value = formatDay(known)
  const allowed = `a day after ${formatDay(end)}, the end of the latest quarter`
  const what = `known ${value} is before the end of a quarter in the document (${formatDay(end)}).`
  return wrong('known', what, { value, allowed })
}
