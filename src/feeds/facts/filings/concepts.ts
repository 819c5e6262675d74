import type { Day } from '../../../model/day.js'

/** One figure as one filing states it. */
export interface FiledFact {
  /** Name without its taxonomy: `EarningsPerShareDiluted`. */
  concept: string
  /** `USD`, `USD/shares`, `shares`. */
  unit: string
  /** First day of the period; null for a figure of one day. */
  start: Day | null
  end: Day
  value: number
  form: string
  filed: Day
}

/** What a report is made of. A figure may go by several names; of one filing the first that it states counts. */
export const FIGURES = {
  // A company at a loss often states one figure that is both.
  eps: { unit: 'USD/shares', concepts: ['EarningsPerShareDiluted', 'EarningsPerShareBasicAndDiluted'] },
  revenue: {
    unit: 'USD',
    concepts: [
      'Revenues',
      'RevenueFromContractWithCustomerExcludingAssessedTax',
      'RevenueFromContractWithCustomerIncludingAssessedTax',
      'SalesRevenueNet',
    ],
  },
  income: { unit: 'USD', concepts: ['NetIncomeLoss'] },
  equity: { unit: 'USD', concepts: ['StockholdersEquity'] },
  /** Shares on one day: on the balance sheet, or on the cover some weeks later. */
  count: { unit: 'shares', concepts: ['CommonStockSharesOutstanding', 'EntityCommonStockSharesOutstanding'] },
  /** Shares of a period. */
  diluted: {
    unit: 'shares',
    concepts: [
      'WeightedAverageNumberOfDilutedSharesOutstanding',
      'WeightedAverageNumberOfShareOutstandingBasicAndDiluted',
    ],
  },
} as const satisfies Record<string, { unit: string; concepts: readonly string[] }>

export type Figure = keyof typeof FIGURES

/** Every concept that a report is made of. */
export const REPORT_CONCEPTS: ReadonlySet<string> = new Set(Object.values(FIGURES).flatMap(({ concepts }) => concepts))

const UNITS: ReadonlyMap<string, string> = new Map(
  Object.values(FIGURES).flatMap(({ unit, concepts }) => concepts.map(concept => [concept, unit])),
)

/** Whether a concept is read in a unit. */
export function isCounted(concept: string, unit: string): boolean {
  return UNITS.get(concept) === unit
}

/** Statements of periods and their amendments; a proxy statement or a prospectus repeats figures in other frames. */
export function isReportForm(form: string): boolean {
  return /^(10-[QK]T?|20-F|40-F|6-K|8-K)(\/A)?$/.test(form)
}
