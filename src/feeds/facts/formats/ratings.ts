import { formatDay } from '../../../model/day.js'
import type { Grade } from '../../../model/facts.js'
import { opinionOf } from '../../../model/ratings.js'
import { factsFormat } from '../format.js'
import type { FactsSink } from '../sink.js'

/** Single upgrades, downgrades and initiations of firms. */
export const ANALYST_RATINGS = factsFormat({
  name: 'analyst ratings csv',
  told: ['date', 'firm', 'to_grade'],
  reads: { date: 'date', datetime_utc: 'text', firm: 'text', to_grade: 'text' },
  begin: out => {
    const graded: { ticker: string; grade: Grade; time: string; place: string }[] = []
    return {
      row(row) {
        const { ticker, place } = row
        const known = row.required('date')
        const time = `${formatDay(known)} ${row.optional('datetime_utc') ?? ''}`
        const [firm, grade] = [row.optional('firm'), row.optional('to_grade')]
        if (grade === null) out.remark('rows have no to_grade and are not loaded', place)
        else if (firm === null) out.remark('rows have no firm and are not loaded', place)
        else graded.push({ ticker, grade: { known, session: null, firm, grade }, time, place })
      },
      end() {
        // Of two grades of one firm on one day the later one stands.
        const earlierFirst = graded.toSorted((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0))
        for (const { ticker, grade } of earlierFirst) out.add('grades', ticker, grade)
        remarkWords(graded, out)
      },
    }
  },
})

/** Tells the words of grades that do not count, all of them in one remark. */
export function remarkWords(graded: readonly { grade: Grade; place: string }[], out: FactsSink): void {
  const odd = graded.filter(({ grade }) => opinionOf(grade.grade) === null)
  const words = [...new Set(odd.map(({ grade }) => grade.grade.toLowerCase()))].sort()
  const shown = words.slice(0, 20).join(', ') + (words.length > 20 ? ` and ${words.length - 20} more` : '')
  for (const { place } of odd) out.remark(`grades are words that no list has, kept but not counted: ${shown}`, place)
}

/** Counts of opinions by month, as they stood on the day of a snapshot. */
export const RECOMMENDATION_TREND = factsFormat({
  name: 'recommendation trend csv',
  told: ['snapshot', 'period', 'strong_buy', 'buy', 'hold', 'sell', 'strong_sell'],
  reads: {
    snapshot: 'date',
    period: 'text',
    strong_buy: 'count',
    buy: 'count',
    hold: 'count',
    sell: 'count',
    strong_sell: 'count',
  },
  begin: out => ({
    row(row) {
      const { ticker, place } = row
      const counts = {
        known: row.required('snapshot'),
        session: null,
        strong_buy: row.required('strong_buy'),
        buy: row.required('buy'),
        hold: row.required('hold'),
        sell: row.required('sell'),
        strong_sell: row.required('strong_sell'),
      }
      if (row.required('period') === '0m') out.add('ratings', ticker, counts)
      else out.remark('counts of earlier months are not loaded: nothing tells on which day they became known', place)
    },
  }),
})
