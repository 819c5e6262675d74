// For: read facts of vendors: earnings, ratings, insiders, profiles.
// In: tables and JSON in the formats of vendors.
// Out: dated facts in one form.

import { quoted } from '../../../core/errors.js'
import { formatDay, weekdayOf } from '../../../core/model/day.js'
import { assumedFiling, type EarningsResult, type Report } from '../../../core/model/facts.js'
import { BadCell, type Columns, type FactRow, refuseImpossibleRatio } from './rows.js'
import { reportsOfFilings } from './sec.js'
import { type FiledFact, whyNotRead } from './sec-ledger.js'
import { AS_FILED, EARLIER_MONTHS, type FactsSink, FILED_LATER, type TimedGrade, WITHOUT_SHARES } from './sink.js'

/** A layout of tables of facts: which columns it reads, and the records of its rows. */
export interface FactsFormat<Reads extends Columns = Columns, RowResult = unknown> {
  /** In words for people. */
  name: string
  reads: Reads
  /**
   * Reads one row; its result is for `end`. Reading a bad column of the row throws BadCell, so all columns are read
   * before a record or a remark is added.
   */
  row(row: FactRow<Reads>, out: FactsSink): RowResult | undefined
  /** Called after the last row, with the results of all rows. */
  end?(results: readonly RowResult[], out: FactsSink): void
}

/** Identifies a layout: the columns that a header must have; `ticker` does not matter. */
interface Identified {
  identifiedBy: readonly string[]
}

/** A layout that is known and not loaded, and why. */
interface RefusedFormat extends Identified {
  /** A sentence that starts after `file:line: `, with what to do instead. */
  refusal: string
}

/** Returns the same format with the type that all formats share; the compiler has checked the types of its columns. */
function factsFormat<const Reads extends Columns, RowResult>(
  format: FactsFormat<Reads, RowResult> & Identified,
): FactsFormat & Identified {
  return format as unknown as FactsFormat & Identified
}

/** Reports against estimates, with the hour of the report as pre or post. */
const EARNINGS_EVENTS = factsFormat({
  name: 'earnings events csv',
  identifiedBy: ['report_date', 'release_time'],
  reads: { report_date: 'date!', release_time: 'session', eps_estimate: 'number', eps_actual: 'number' },
  row({ ticker, place, report_date, release_time: session, eps_estimate, eps_actual }, out) {
    addEarnings(out, ticker, { report_date, session, eps_estimate, eps_actual }, place)
  },
})

/** Throws BadCell for a quarter that is known before its end. @param column the one with the known date */
export function refuseKnownBeforeEnd({ known, period_end }: Report, column: string): void {
  if (known >= period_end) return
  const what = `${column} ${formatDay(known)} is before the period ended (${formatDay(period_end)})`
  throw new BadCell(column, `${what}; are the dates in the wrong columns?`)
}

/** Adds an estimate of earnings, or their result. Throws BadCell for a result of a report that is yet to come. */
export function addEarnings(out: FactsSink, ticker: string, result: EarningsResult, place: string): void {
  const { report_date, eps_actual } = result
  if (eps_actual !== null && report_date > out.latest) {
    const what = `report_date ${formatDay(report_date)} is yet to come`
    throw new BadCell('report_date', `${what}, and eps_actual is not known before the report`)
  }
  out.add('earnings', ticker, result, place)
  // It may be a slip of a day; it counts from the next bar on either way.
  if (weekdayOf(report_date) > 4) out.remark('report dates fall on a weekend and are taken as they are', place)
}

/** Quarters are filed within this number of days; an older one was first seen as a comparative in a later filing. */
const DAYS_TO_FILE = 120
/** Maximum error of a difference of rounded earnings per share. */
const EPS_ROUNDING = 0.02

const FILED_LATE = `quarters were filed more than ${DAYS_TO_FILE} days after their end, first seen next to a later one; they count from then on`
const DERIVED_EPS = 'EPS of fourth quarters are the year less three quarters, and may be off by about 0.01'
const CONTRADICTED_EPS =
  'derived EPS have the other sign than net income, as after a split in the year, and are not loaded'

/** Figures of quarters with the day on which they were filed. */
const QUARTERLY_FIGURES = factsFormat({
  name: 'quarterly figures csv',
  identifiedBy: ['period_end', 'filed', 'eps_diluted'],
  reads: {
    period_end: 'date!',
    filed: 'date!',
    days_to_file: 'number',
    revenue: 'number',
    net_income: 'number',
    eps_diluted: 'number',
    q4_derived: 'text',
  },
  row(row, out) {
    const { ticker, place, period_end, filed: known, eps_diluted, revenue } = row
    const daysToFile = row.days_to_file ?? known - period_end
    const isDerived = row.q4_derived === '1'
    const isContradictory = isDerived && hasOtherSignThanIncome(eps_diluted, row.net_income)
    const eps = isContradictory ? null : eps_diluted
    const report: Report = { period_end, known, session: null, eps, revenue, book_value_ps: null, basis: 'filed' }
    refuseKnownBeforeEnd(report, 'filed')
    out.add('reports', ticker, report, place)
    if (isContradictory) out.remark(CONTRADICTED_EPS, place)
    if (eps !== null) out.remark(AS_FILED, place)
    if (eps !== null && isDerived) out.remark(DERIVED_EPS, place)
    if (daysToFile > DAYS_TO_FILE) out.remark(FILED_LATE, place)
  },
})

function hasOtherSignThanIncome(eps: number | null, income: number | null): boolean {
  return eps !== null && income !== null && Math.abs(eps) > EPS_ROUNDING && eps * income < 0
}

/** Single facts from filings with the SEC, one per row. */
const SEC_FACTS = factsFormat({
  name: 'SEC facts csv',
  identifiedBy: ['concept', 'unit', 'start', 'end', 'value', 'form', 'filed'],
  reads: {
    concept: 'text!',
    unit: 'text!',
    start: 'date',
    end: 'date!',
    value: 'number!',
    form: 'text!',
    filed: 'date!',
  },
  row({ ticker, place, concept, unit, start, end, value, form, filed }, out) {
    const fact: FiledFact = { concept, unit, start, end, value, form, filed }
    const unread = whyNotRead(fact)
    if (unread !== null) out.remark(unread, place)
    return { ticker, fact }
  },
  end(results, out) {
    for (const [ticker, resultsOfTicker] of Map.groupBy(results, ({ ticker }) => ticker))
      for (const report of reportsOfFilings(resultsOfTicker.map(({ fact }) => fact))) {
        out.add('reports', ticker, report)
        if (report.eps !== null || report.book_value_ps !== null) out.remark(AS_FILED, ticker)
      }
  },
})

/** Members of an index with their sectors. */
const GICS_SECURITIES = factsFormat({
  name: 'GICS securities csv',
  identifiedBy: ['gics_sector'],
  reads: { name: 'text', gics_sector: 'text' },
  row({ ticker, name, gics_sector: sector }, out) {
    out.add('securities', ticker, { name, sector, asset_class: null, market_cap: null })
  },
})

/** One day of many listings from a screener; only undated data are read. */
const SCREENER_SNAPSHOT = factsFormat({
  name: 'screener snapshot csv',
  identifiedBy: ['name', 'exchange', 'sector', 'analyst_rating', 'market_cap'],
  reads: { name: 'text', sector: 'text', market_cap: 'positive' },
  row({ ticker, place, name, sector, market_cap }, out) {
    out.add('securities', ticker, { name, sector, asset_class: null, market_cap })
    if (sector !== null)
      out.remark('sectors are those of the screener, not GICS; they replace the sectors that were there', place)
  },
})

/** Single upgrades, downgrades and initiations of firms. */
const ANALYST_RATINGS = factsFormat({
  name: 'analyst ratings csv',
  identifiedBy: ['date', 'firm', 'to_grade'],
  reads: { date: 'date!', datetime_utc: 'text', firm: 'text', to_grade: 'text' },
  row({ ticker, place, date: known, datetime_utc, firm, to_grade: grade }, out): TimedGrade | undefined {
    const time = `${formatDay(known)} ${datetime_utc ?? ''}`
    if (grade === null) out.remark('rows have no to_grade and are not loaded', place)
    else if (firm === null) out.remark('rows have no firm and are not loaded', place)
    else return { ticker, grade: { known, session: null, firm, grade }, time, place }
    return undefined
  },
  end: (results, out) => out.addGrades(results),
})

/** Counts of opinions by month, as they stood on the day of a snapshot. */
const RECOMMENDATION_TREND = factsFormat({
  name: 'recommendation trend csv',
  identifiedBy: ['snapshot', 'period', 'strong_buy', 'buy', 'hold', 'sell', 'strong_sell'],
  reads: {
    snapshot: 'date!',
    period: 'text!',
    strong_buy: 'count!',
    buy: 'count!',
    hold: 'count!',
    sell: 'count!',
    strong_sell: 'count!',
  },
  row({ ticker, place, snapshot: known, strong_buy, buy, hold, sell, strong_sell, period }, out) {
    const counts = { known, session: null, strong_buy, buy, hold, sell, strong_sell }
    if (period === '0m') out.add('ratings', ticker, counts)
    else out.remark(EARLIER_MONTHS, place)
  },
})

const SIDE_OF_KIND = new Map<string, 'buy' | 'sell'>([
  ['purchase', 'buy'],
  ['sale', 'sell'],
])

/** Transactions of insiders by kind, dated by the trade. */
const INSIDER_TRADES = factsFormat({
  name: 'insider trades csv',
  identifiedBy: ['transaction_date', 'filer', 'kind', 'shares'],
  reads: { transaction_date: 'date!', filer: 'text!', kind: 'text!', shares: 'number', value: 'amount' },
  row(row, out) {
    const { ticker, place, transaction_date, kind, shares, value } = row
    const side = SIDE_OF_KIND.get(kind.toLowerCase())
    if (side === undefined)
      out.remark(`rows of kind ${quoted(kind.toLowerCase())} are no open-market trades and are not loaded`, place)
    else if (shares === null || shares <= 0) out.remark(WITHOUT_SHARES, place)
    else {
      const known = assumedFiling(transaction_date)
      out.add('insiders', ticker, { known, session: null, insider: row.filer, side, shares, value })
      out.remark(FILED_LATER, place)
    }
  },
})

/** Splits and dividends; `value` is new shares for each old one, or cash. */
const CORPORATE_ACTIONS = factsFormat({
  name: 'corporate actions csv',
  identifiedBy: ['ex_date', 'type', 'value'],
  reads: { ex_date: 'date!', type: 'text!', value: 'number' },
  row({ ticker, place, ex_date, type, value }, out) {
    const ratio = value ?? 0
    if (/^split$/i.test(type)) {
      if (ratio <= 0) throw new BadCell('value', 'value is not above 0, as the ratio of a split must be')
      refuseImpossibleRatio(ratio, 'value')
      out.add('splits', ticker, { ex_date, ratio })
    } else if (/^dividend$/i.test(type)) out.remark('dividends are not used and not loaded', place)
    else throw new BadCell('type', `type ${quoted(type)} is not split or dividend`)
  },
})

/** Tables of facts that cannot become dated records, and what to import instead. */
const REFUSED_FORMATS: readonly RefusedFormat[] = [
  {
    identifiedBy: ['for_year', 'period_end'],
    refusal:
      'these are annual figures, and the fields use quarters; import quarterly reports with the day on which each became known, such as the company facts of the SEC',
  },
  {
    identifiedBy: ['quarter_end', 'eps_estimate', 'eps_actual'],
    refusal:
      'these are estimates and results by quarter without the date of the report, so the day they became known is missing; import earnings with report_date',
  },
  ...['pe', 'pe_ratio'].map(ratioColumn => ({
    identifiedBy: ['date', 'market_cap', ratioColumn],
    refusal: "these are a vendor's own daily ratios; ratios are computed here from reports and prices, so import those",
  })),
]

/** Every layout of others' tables of facts; the first whose columns a header has is the one. */
export const FACTS_FORMATS: readonly ((FactsFormat & Identified) | RefusedFormat)[] = [
  EARNINGS_EVENTS,
  QUARTERLY_FIGURES,
  SEC_FACTS,
  GICS_SECURITIES,
  SCREENER_SNAPSHOT,
  ANALYST_RATINGS,
  RECOMMENDATION_TREND,
  INSIDER_TRADES,
  CORPORATE_ACTIONS,
  ...REFUSED_FORMATS,
]
