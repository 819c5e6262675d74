import { type Day, weekdaysAfter } from './day.js'
import { DEFINITIONS } from './definitions.js'
import type { AssetClass } from './series.js'

/**
 * Dated facts about a company, and when they became known. Records have the same names in the project's own files and
 * in printed JSON.
 */

/** When in its day a fact became known: before or after the session. null: unknown, which counts as after. */
export type Session = 'pre' | 'post' | null

/** One version of the numbers of one quarter; null is unknown. */
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
  /** `bars`: values a share are on the split basis of the bars. `filed`: they are as on the day they became known. */
  basis: 'bars' | 'filed'
}

/** An earnings report with its estimate; known on its own date. */
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

/** An analyst's opinion of a stock. */
type Opinion = (typeof OPINIONS)[number]
const OPINIONS = ['strong_buy', 'buy', 'hold', 'sell', 'strong_sell'] as const

/** Number of analysts per opinion. */
export interface RatingCounts extends Record<Opinion, number> {
  known: Day
  session: Session
}

/** One firm's published opinion; fields compute a consensus from them. */
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

/** A split: from `ex_date` on there are `ratio` new shares for each old one. */
export interface Split {
  ex_date: Day
  ratio: number
}

/** Description of a ticker; undated, except for the end of its trading. */
export interface Security {
  name: string | null
  sector: string | null
  asset_class: AssetClass | null
  market_cap: number | null
  /** The day on which its trading ended; known on that day. */
  delisted?: Day
  /** The final value of a share, on the basis of the last bars; it wins over the return. */
  delisting_price?: number
  /** The same as a return from the last close, a fraction: -1 is a total loss. */
  delisting_return?: number
}

/** Every kind of record, by the name of its file in a folder (`reports.csv`). */
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

/** The dated records of one ticker, each kind in input order. */
export type Facts = { readonly [Kind in DatedKind]: readonly FactRecords[Kind][] }

/** Facts whose records of each kind are those that `records` returns. */
function factsByKind(records: <Kind extends DatedKind>(kind: Kind) => readonly FactRecords[Kind][]): Facts {
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

export const NO_FACTS = factsByKind(() => [])

/** The kind of a column: how its values are read, checked and shown. */
export type FactValue = FactAmount | 'date' | 'session' | 'text' | 'side' | 'basis' | 'asset_class'
/** The numeric kinds. */
type FactAmount = 'number' | 'amount' | 'count' | 'positive' | 'return'

export interface FactColumn {
  name: string
  holds: FactValue
  /** A record without it is a bad row; otherwise it is null, or its default. */
  required?: true
  /** Few records have it: the others omit the key, without a null. */
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
    { name: 'eps_actual', holds: 'number', about: 'reported figures' },
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

/** The assumed filing day of an insider's trade whose filing day is unknown. */
export function assumedFiling(traded: Day): Day {
  return weekdaysAfter(traded, DEFINITIONS.insiders.filing)
}

/** The day on which a record became known: for a report or a split its own date; null for undated records. */
export function knownOn(kind: FactKind, record: FactRecord): Day | null {
  if (kind === 'securities') return null
  const { known, report_date, ex_date } = record as { known?: Day; report_date?: Day; ex_date?: Day }
  return known ?? report_date ?? ex_date!
}

/** The first date on whose bar a fact counts: the day it became known if that was before the session, else the next. */
export function firstUsableDay({ known, session = null }: { known: Day; session?: Session }): Day {
  return session === 'pre' ? known : known + 1
}

/** The origin of records. */
export interface FactSource {
  file: string
  format: string
  /** ISO time, UTC. */
  imported_at: string
}

/** All records of one kind of one ticker in input order, with the source of each. */
export interface FactSheet<Kind extends FactKind = FactKind> {
  sources: readonly FactSource[]
  rows: readonly { source: number; record: FactRecords[Kind] }[]
}

/** All stored facts about a ticker. */
export type FactSheets = { readonly [Kind in FactKind]?: FactSheet<Kind> }

/** The records without their sources. */
export function factsOf(sheets: FactSheets): Facts {
  return factsByKind(<Kind extends DatedKind>(kind: Kind) =>
    ((sheets[kind] as FactSheet<Kind> | undefined)?.rows ?? []).map(row => row.record),
  )
}

export function factsKnownBy(facts: Facts, day: Day): Facts {
  return factsByKind(kind => facts[kind].filter(record => knownOn(kind, record)! <= day))
}

/** The last imported description of a ticker; null without one. */
export function securityOf(sheets: FactSheets): Security | null {
  return sheets.securities?.rows.at(-1)?.record ?? null
}

/** Words of single firms for each opinion; other words do not count. */
const FIRMS_WORDS: Readonly<Record<Opinion, string>> = {
  strong_buy: 'strong buy, conviction buy, top pick, long-term buy',
  buy: 'buy, outperform, overweight, market outperform, sector outperform, positive, accumulate, add, outperformer',
  hold: `hold, neutral, equal-weight, equal weight, market perform, sector perform, sector weight, peer perform, perform,
    in-line, fair value, mixed`,
  sell: 'sell, underperform, underweight, reduce, negative, sector underperform',
  strong_sell: 'strong sell',
}

const OPINION_OF: ReadonlyMap<string, Opinion> = new Map(
  OPINIONS.flatMap(opinion => FIRMS_WORDS[opinion].split(/,\s+/).map(word => [word, opinion])),
)

/** The opinion behind a firm's word, case-insensitive; null for other words. */
export function opinionOf(grade: string): Opinion | null {
  return OPINION_OF.get(grade.trim().toLowerCase()) ?? null
}
