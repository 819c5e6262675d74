import type { Report } from '../../../model/facts.js'
import { AS_FILED } from '../assumed.js'
import { factsFormat } from '../format.js'

/** Quarters are filed within so many days; an older one was first seen as a comparative in a later filing. */
const DAYS_TO_FILE = 120
/** How far a difference of rounded figures may be off. */
const ROUNDING = 0.02

const LATE = `quarters were filed more than ${DAYS_TO_FILE} days after their end, first seen beside a later one; they count from then on`
const DERIVED = 'EPS of fourth quarters are the year less three quarters, and may be off by about 0.01'
const CONTRADICTED = 'derived EPS have the other sign than net income, as after a split in the year, and are not loaded'

/** Figures of quarters with the day on which they were filed. */
export const QUARTERLY_FIGURES = factsFormat({
  name: 'quarterly figures csv',
  told: ['period_end', 'filed', 'eps_diluted'],
  reads: {
    period_end: 'date',
    filed: 'date',
    days_to_file: 'number',
    revenue: 'number',
    net_income: 'number',
    eps_diluted: 'number',
    q4_derived: 'text',
  },
  begin: out => ({
    row(row) {
      const { ticker, place } = row
      const report: Report = {
        period_end: row.required('period_end'),
        known: row.required('filed'),
        session: null,
        eps: row.optional('eps_diluted'),
        revenue: row.optional('revenue'),
        book_value_ps: null,
        basis: 'filed',
      }
      const days = row.optional('days_to_file') ?? report.known - report.period_end
      const derived = row.optional('q4_derived') === '1'
      const income = row.optional('net_income')
      if (derived && isContradicted(report.eps, income)) {
        out.remark(CONTRADICTED, place)
        report.eps = null
      }
      out.add('reports', ticker, report)
      if (report.eps !== null) out.remark(AS_FILED, place)
      if (report.eps !== null && derived) out.remark(DERIVED, place)
      if (days > DAYS_TO_FILE) out.remark(LATE, place)
    },
  }),
})

function isContradicted(eps: number | null, income: number | null): boolean {
  return eps !== null && income !== null && Math.abs(eps) > ROUNDING && eps * income < 0
}
