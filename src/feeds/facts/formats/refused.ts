import type { RefusedFormat } from '../format.js'

/** Tables of facts that cannot become dated records, and what to import instead. */
export const REFUSED: readonly RefusedFormat[] = [
  {
    told: ['for_year', 'period_end'],
    refusal:
      'these are annual figures, and the fields stand on quarters; import quarterly reports with the day on which each became known, such as the company facts of the SEC',
  },
  {
    told: ['quarter_end', 'eps_estimate', 'eps_actual'],
    refusal:
      'these are estimates and results by quarter without the date of the report, so nothing tells since when they were known; import earnings with report_date',
  },
  ...[['pe'], ['pe_ratio']].map(ratio => ({
    told: ['date', 'market_cap', ...ratio],
    refusal: "these are a vendor's own daily ratios; ratios are computed here from reports and prices, so import those",
  })),
]
