import { weekdayOf } from '../../../model/day.js'
import type { EarningsResult } from '../../../model/facts.js'
import { factsFormat } from '../format.js'
import type { FactsSink } from '../sink.js'

/** Reports against estimates, with the hour of the report as pre or post. */
export const EARNINGS_EVENTS = factsFormat({
  name: 'earnings events csv',
  told: ['report_date', 'release_time'],
  reads: { report_date: 'date', release_time: 'session', eps_estimate: 'number', eps_actual: 'number' },
  begin: out => ({
    row(row) {
      const { ticker } = row
      const result: EarningsResult = {
        report_date: row.required('report_date'),
        session: row.optional('release_time'),
        eps_estimate: row.optional('eps_estimate'),
        eps_actual: row.optional('eps_actual'),
      }
      remarkWeekend(result, row.place, out)
      out.add('earnings', ticker, result)
    },
  }),
})

/** A report at a weekend may be a slip of a day; it counts from the next bar on either way. */
export function remarkWeekend({ report_date }: EarningsResult, place: string, out: FactsSink): void {
  if (weekdayOf(report_date) > 4) out.remark('report dates fall on a weekend and are taken as they are', place)
}
