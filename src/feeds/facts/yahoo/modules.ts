import * as z from 'zod'
import { type Day, formatDay } from '../../../model/day.js'
import { assumedFiling, type Grade } from '../../../model/facts.js'
import { shown } from '../../value/shown.js'
import { FILED_LATER, WITHOUT_SHARES } from '../assumed.js'
import { remarkWords } from '../formats/ratings.js'
import { shaped } from '../shape.js'
import type { FactsSink } from '../sink.js'
import { Amount, dayOfMoment, MaybeAmount, Moment } from './values.js'

/** Where the records of a module go. */
export interface Taking {
  file: string
  sink: FactsSink
  /** The day of the download, where the user gave it. */
  known: Day | undefined
  /** Asked for when there is a record to load; throws BadData when nothing tells it. */
  ticker(): string
}

/** What a module is to the reader: how many rows it has, or why it is refused. */
type Outcome = { rows: number } | { refused: string }

/** The modules of a quote summary that are read, or refused for a reason. */
export const MODULES: ReadonlyMap<string, (module: unknown, taking: Taking) => Outcome> = new Map([
  ['upgradeDowngradeHistory', grades],
  ['insiderTransactions', insiders],
  ['recommendationTrend', ratings],
  ['earnings', earnings],
  ['calendarEvents', calendar],
  [
    'earningsHistory',
    refusal(
      'earningsHistory gives the ends of quarters without the days of the reports, so that nothing tells when they became known',
    ),
  ],
  ['earningsTrend', refusal('earningsTrend holds estimates of quarters to come, which no field uses')],
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
      shares: MaybeAmount,
      value: MaybeAmount,
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

function read<Shape extends z.ZodType>(taking: Taking, name: string, shape: Shape, module: unknown): z.infer<Shape> {
  return shaped(taking.file, shape, module, 'a quote summary of Yahoo', ['quoteSummary', 'result', '0', name])
}

/** Newest first in the document; of two grades of one firm on one day the later one has to stand. */
function grades(module: unknown, taking: Taking): Outcome {
  const { sink } = taking
  const { history } = read(taking, 'upgradeDowngradeHistory', History, module)
  const graded: { grade: Grade; place: string }[] = []
  for (const { epochGradeDate, firm, toGrade } of history
    .toReversed()
    .sort((a, b) => a.epochGradeDate - b.epochGradeDate)) {
    const known = dayOfMoment(epochGradeDate)
    const place = `${firm || 'no firm'}, ${formatDay(known)}`
    if (!toGrade) sink.remark('rows have no toGrade and are not loaded', place)
    else if (!firm) sink.remark('rows have no firm and are not loaded', place)
    else graded.push({ grade: { known, session: null, firm, grade: toGrade }, place })
  }
  for (const { grade, place } of graded) {
    sink.add('grades', taking.ticker(), grade)
    sink.remark('grades are dated by the day in UTC and count from the next day on', place)
  }
  remarkWords(graded, sink)
  return { rows: history.length }
}

function insiders(module: unknown, taking: Taking): Outcome {
  const { sink } = taking
  const { transactions } = read(taking, 'insiderTransactions', Transactions, module)
  for (const { filerName: insider, transactionText, startDate, shares, value = null } of transactions) {
    const traded = dayOfMoment(startDate)
    const place = `${insider}, ${formatDay(traded)}`
    // Such as `Sale at price 226.35 per share.`
    const deed = (transactionText ?? '').split(' at ')[0]!
    const side = deed.startsWith('Purchase') ? 'buy' : deed.startsWith('Sale') ? 'sell' : null
    if (deed === '') sink.remark('transactions without a text, mostly grants and taxes, are not loaded', place)
    else if (side === null)
      sink.remark(`transactions such as ${shown(deed)} are no purchase or sale and are not loaded`, place)
    else if (shares === undefined || !(shares > 0)) sink.remark(WITHOUT_SHARES, place)
    else {
      const known = assumedFiling(traded)
      const money = value === null || value < 0 ? null : value
      if (value !== money) sink.remark('money below 0 is taken for unknown', place)
      sink.add('insiders', taking.ticker(), { known, session: null, insider, side, shares, value: money })
      sink.remark(FILED_LATER, place)
    }
  }
  return { rows: transactions.length }
}

function ratings(module: unknown, taking: Taking): Outcome {
  const { trend } = read(taking, 'recommendationTrend', Trend, module)
  const { known, sink } = taking
  if (known === undefined) return { refused: undated('recommendationTrend') }
  for (const { period, strongBuy: strong_buy, buy, hold, sell, strongSell: strong_sell } of trend)
    if (period === '0m')
      sink.add('ratings', taking.ticker(), { known, session: null, strong_buy, buy, hold, sell, strong_sell })
    else sink.remark('counts of earlier months are not loaded: nothing tells on which day they became known', period)
  return { rows: trend.length }
}

function earnings(module: unknown, taking: Taking): Outcome {
  const { earningsChart: chart } = read(taking, 'earnings', Earnings, module)
  for (const { date } of chart.quarterly ?? [])
    taking.sink.remark('results of past quarters are not loaded: nothing tells on which day each was reported', date)
  return schedule('earnings', chart, taking)
}

function calendar(module: unknown, taking: Taking): Outcome {
  return schedule('calendarEvents', read(taking, 'calendarEvents', Calendar, module).earnings, taking)
}

/** The first of the days between which a report is expected; two modules tell them. */
function schedule(name: string, dates: z.infer<typeof Calendar>['earnings'], taking: Taking): Outcome {
  const { known, sink } = taking
  const days = (dates.earningsDate ?? []).map(dayOfMoment)
  if (days.length === 0) return { refused: `${name} names no day of a next report (earningsDate)` }
  if (known === undefined) return { refused: undated(name) }
  const expected_date = Math.min(...days)
  const place = formatDay(expected_date)
  if (sink.facts.some(({ kind }) => kind === 'schedule')) return { rows: 1 }
  sink.add('schedule', taking.ticker(), { expected_date, known })
  if (days.length > 1) sink.remark('the next report is expected between two days; the first is taken', place)
  if (dates.isEarningsDateEstimate) sink.remark('the day of the next report is an estimate of Yahoo', place)
  return { rows: 1 }
}

function refusal(refused: string): () => Outcome {
  return () => ({ refused })
}

function undated(name: string): string {
  return `${name} does not tell when it was fetched; give the day of the download with --known DATE`
}
