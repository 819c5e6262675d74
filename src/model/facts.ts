import { type Day, weekdaysAfter } from './day.js'
import { DEFINITIONS } from './definitions.js'
import type { AssetClass } from './series.js'

/**
 * Dated facts about a company: what became known of it, and when. Records keep the names of their columns in the
 * project's own files from the file to the JSON that is printed.
 */

/** When in its day a fact became known: before the session or after it. null: unknown, which counts as after. */
export type Session = 'pre' | 'post' | null

/** One version of the figures of one quarter; null is an unknown figure. */
export interface Report {
  period_end: Day
  known: Day
  session: Session
  /** Diluted earnings a share of the quarter. */
  eps: number | null
  /** Revenue of the quarter. */
  revenue: number | null
  /** Book value a share at the end of the quarter. */
  book_value_ps: number | null
  /** `bars`: per-share figures are on the split basis of the bars. `filed`: they are as on the day they became known. */
  basis: 'bars' | 'filed'
}

/** An earnings report against what was expected of it; known on its own date. */
export interface EarningsResult {
  report_date: Day
  session: Session
  eps_estimate: number | null
  eps_actual: number | null
}

/** The date on which a report is expected, as announced on the day `known`. */
export interface ScheduledReport {
  expected_date: Day
  known: Day
}

/** What an analyst thinks of a stock. */
type Opinion = (typeof OPINIONS)[number]
const OPINIONS = ['strong_buy', 'buy', 'hold', 'sell', 'strong_sell'] as const

/** How many analysts held which opinion. */
export interface RatingCounts extends Record<Opinion, number> {
  known: Day
  session: Session
}

/** One firm's opinion as it was published; a standing consensus is made of them where fields are computed. */
export interface Grade {
  known: Day
  session: Session
  firm: string
  /** The firm's own word. */
  grade: string
}

/** One open-market trade of an insider. */
export interface InsiderTrade {
  known: Day
  session: Session
  insider: string
  side: 'buy' | 'sell'
  shares: number
  /** Money paid or received; null where unknown. */
  value: number | null
}

/** From `ex_date` on, prices are those of shares of which there are `ratio` for each old one. */
export interface Split {
  ex_date: Day
  ratio: number
}

/** What a ticker is; undated, but for the end of its trading. */
export interface Security {
  name: string | null
  sector: string | null
  asset_class: AssetClass | null
  market_cap: number | null
  /** The day on which trading of it ended, known on that day. */
  delisted?: Day
  /** What a share was worth in the end, on the basis of the last bars; it counts where both are told. */
  delisting_price?: number
  /** The same as a return from the last close, a fraction: -1 is a total loss. */
  delisting_return?: number
}

/** Every kind of record, by the name of its file in a folder of record files (`reports.csv`). */
export interface FactRecords {
  reports: Report
  earnings: EarningsResult
  schedule: ScheduledReport
  ratings: RatingCounts
  grades: Grade
  insiders: InsiderTrade
  splits: Split
  securities: Security
}
export type FactKind = keyof FactRecords
export type FactRecord = FactRecords[FactKind]

type DatedKind = Exclude<FactKind, 'securities'>

/** The dated records of one ticker, each kind in the order in which it was given. */
export type Facts = { readonly [Kind in DatedKind]: readonly FactRecords[Kind][] }

function factsFrom(records: <Kind extends DatedKind>(kind: Kind) => readonly FactRecords[Kind][]): Facts {
  return {
    reports: records('reports'),
    earnings: records('earnings'),
    schedule: records('schedule'),
    ratings: records('ratings'),
    grades: records('grades'),
    insiders: records('insiders'),
    splits: records('splits'),
  }
}

export const NO_FACTS = factsFrom(() => [])

/** What a column of records holds: how it is read, checked and shown. */
export type FactValue = FactAmount | 'date' | 'session' | 'text' | 'side' | 'basis' | 'asset_class'
/** Those that are numbers. */
type FactAmount = 'number' | 'amount' | 'count' | 'positive' | 'return'

export interface FactColumn {
  name: string
  holds: FactValue
  /** A record without it is a bad row; otherwise it is null, or its default. */
  required?: true
  /** Few records tell it: the others lack it, and have no null. */
  rare?: true
  about: string
}

const KNOWN: FactColumn = { name: 'known', holds: 'date', required: true, about: 'the day on which it became known' }
const SESSION: FactColumn = { name: 'session', holds: 'session', about: 'pre or post: before or after the session' }

/** The columns of the project's own record files, after `ticker`. */
export const FACT_COLUMNS: Readonly<Record<FactKind, readonly FactColumn[]>> = {
  reports: [
    { name: 'period_end', holds: 'date', required: true, about: 'the last day of the quarter' },
    KNOWN,
    SESSION,
    { name: 'eps', holds: 'number', about: 'diluted earnings a share of the quarter' },
    { name: 'revenue', holds: 'number', about: 'revenue of the quarter' },
    { name: 'book_value_ps', holds: 'number', about: 'book value a share at its end' },
    { name: 'basis', holds: 'basis', about: 'bars (default) or filed: the split basis of per-share figures' },
  ],
  earnings: [
    { name: 'report_date', holds: 'date', required: true, about: 'the day of the report' },
    SESSION,
    { name: 'eps_estimate', holds: 'number', about: 'what analysts expected' },
    { name: 'eps_actual', holds: 'number', about: 'what was reported' },
  ],
  schedule: [
    { name: 'expected_date', holds: 'date', required: true, about: 'the day on which a report is expected' },
    KNOWN,
  ],
  ratings: [
    KNOWN,
    SESSION,
    ...OPINIONS.map(
      (name): FactColumn => ({ name, holds: 'count', required: true, about: 'analysts of that opinion' }),
    ),
  ],
  grades: [
    KNOWN,
    SESSION,
    { name: 'firm', holds: 'text', required: true, about: 'who says so' },
    { name: 'grade', holds: 'text', required: true, about: 'its word: buy, overweight, hold …' },
  ],
  insiders: [
    KNOWN,
    SESSION,
    { name: 'insider', holds: 'text', required: true, about: 'the person' },
    { name: 'side', holds: 'side', required: true, about: 'buy or sell, in the open market' },
    { name: 'shares', holds: 'positive', required: true, about: 'number of shares' },
    { name: 'value', holds: 'amount', about: 'money paid or received' },
  ],
  splits: [
    { name: 'ex_date', holds: 'date', required: true, about: 'the first day with prices of new shares' },
    { name: 'ratio', holds: 'positive', required: true, about: 'new shares for each old one' },
  ],
  securities: [
    { name: 'sector', holds: 'text', about: 'its sector' },
    { name: 'asset_class', holds: 'asset_class', about: 'stock, crypto or etf' },
    { name: 'market_cap', holds: 'positive', about: 'market capitalisation' },
    { name: 'name', holds: 'text', about: 'its name' },
    { name: 'delisted', holds: 'date', rare: true, about: 'the day on which trading of it ended' },
    { name: 'delisting_price', holds: 'amount', rare: true, about: 'what a share was worth then' },
    { name: 'delisting_return', holds: 'return', rare: true, about: 'or the return from the last close to that' },
  ],
}

export const FACT_KINDS = Object.keys(FACT_COLUMNS) as readonly FactKind[]

/** The day on which a trade is taken for known whose date of filing is not. */
export function assumedFiling(traded: Day): Day {
  return weekdaysAfter(traded, DEFINITIONS.insiders.filing)
}

/** The day on which a record became known: a report's and a split's own date; null for what bears no date. */
export function knownOn(kind: FactKind, record: FactRecord): Day | null {
  if (kind === 'securities') return null
  const { known, report_date, ex_date } = record as { known?: Day; report_date?: Day; ex_date?: Day }
  return known ?? report_date ?? ex_date!
}

/** The first date on whose bar a fact counts. */
export function usableFrom({ known, session = null }: { known: Day; session?: Session }): Day {
  return session === 'pre' ? known : known + 1
}

/** Where records came from. */
export interface FactSource {
  file: string
  format: string
  /** ISO time, UTC. */
  imported_at: string
}

/** All records of one kind of one ticker, in the order in which they were given, and the source of each. */
export interface FactSheet<Kind extends FactKind = FactKind> {
  sources: readonly FactSource[]
  rows: readonly { source: number; record: FactRecords[Kind] }[]
}

/** Everything kept about a ticker beside its bars. */
export type FactSheets = { readonly [Kind in FactKind]?: FactSheet<Kind> }

/** The records without their sources. */
export function factsOf(sheets: FactSheets): Facts {
  return factsFrom(<Kind extends DatedKind>(kind: Kind) =>
    ((sheets[kind] as FactSheet<Kind> | undefined)?.rows ?? []).map(row => row.record),
  )
}

/** Those that became known by a day. */
export function factsKnownBy(facts: Facts, day: Day): Facts {
  return factsFrom(kind => facts[kind].filter(record => knownOn(kind, record)! <= day))
}

export function securityOf(sheets: FactSheets): Security | null {
  return sheets.securities?.rows.at(-1)?.record ?? null
}

/** What single firms call each opinion; other words do not count. */
const WORDS: Readonly<Record<Opinion, string>> = {
  strong_buy: 'strong buy, conviction buy, top pick, long-term buy',
  buy: 'buy, outperform, overweight, market outperform, sector outperform, positive, accumulate, add, outperformer',
  hold: `hold, neutral, equal-weight, equal weight, market perform, sector perform, sector weight, peer perform, perform,
    in-line, fair value, mixed`,
  sell: 'sell, underperform, underweight, reduce, negative, sector underperform',
  strong_sell: 'strong sell',
}

const OPINION_OF: ReadonlyMap<string, Opinion> = new Map(
  OPINIONS.flatMap(opinion => WORDS[opinion].split(/,\s+/).map(word => [word, opinion])),
)

/** What a firm's word says, case aside; null when the word does not count. */
export function opinionOf(grade: string): Opinion | null {
  return OPINION_OF.get(grade.trim().toLowerCase()) ?? null
}
