import { wordsAsText } from '../../core/errors.js'
import { BUILT_IN } from '../../core/fields/index.js'
import type { EventsQuery } from '../../core/model/event.js'
import type { SnapshotQuery } from '../../core/model/pages.js'
import type { Tier } from '../../core/model/terms.js'
import { withPathTicker } from '../../core/params/pages.js'
import { parametersOf } from '../../core/params/questions.js'
import { parseSummary, SUMMARY } from '../../core/params/summary.js'
import { entitle, entitleAftermath, eventsCost, SUMMARY_COST } from '../../core/tiers.js'
import { SUMMARY_PATH } from '../wire/format.js'
import { eventsQuestion, type Question, questionKey, type Service, uncutQuestion } from './question.js'

/** Parses a query for the state of a ticker on one day or several, the events of a field, or their statistics. */
export function readSummary(search: string, ticker: string): Question {
  const summary = parseSummary(withPathTicker(ticker, parametersOf(search), SUMMARY))
  if (summary.of === 'snapshot') return snapshotQuestion(summary.query)
  return summary.stats ? statsQuestion(summary.query) : eventsQuestion(SUMMARY_PATH, summary.query)
}

/** The question for the state of a ticker on one day or several. */
function snapshotQuestion(query: SnapshotQuery): Question {
  return {
    credits: SUMMARY_COST,
    ...uncutQuestion(questionKey(SUMMARY_PATH, query)),
    async answer(service, tier) {
      const page = await service.summary(tier, query)
      const isEmpty = 'snapshots' in page ? page.row_count === 0 : page.as_of_date === null
      return { body: JSON.stringify(page), note: isEmpty ? `${query.ticker} has no bar on those days.` : null }
    },
    async isAnswerable(service, tier) {
      // Reading one ticker is as fast as checking it.
      await service.summary(tier, query)
      return true
    },
  }
}

/** The question for statistics of the events of a field. */
function statsQuestion(query: EventsQuery): Question {
  return {
    credits: eventsCost(query),
    ...uncutQuestion(questionKey(`${SUMMARY_PATH} stats`, query)),
    async answer(service, tier) {
      const bands = service.bands(tier)
      const { statsPage } = await import('../../research/tally/tally.js')
      const page = await statsPage(bands, query)
      const body = JSON.stringify(page)
      if (page.total_occurrences > 0) return { body, note: null }
      const reason = await bands.whyEmpty(query)
      const { emptyNote } = await import('../../core/empty.js')
      return { body, note: reason && wordsAsText(emptyNote(reason, query).reason) }
    },
    isAnswerable: (service, tier) => isAnswerable(service, tier, query),
  }
}

/** Whether all tickers of the query are known. Throws TierRestricted. */
async function isAnswerable(service: Service, tier: Tier, query: EventsQuery): Promise<boolean> {
  entitle(query, tier, BUILT_IN)
  entitleAftermath(tier)
  const tickers = query.context === undefined ? [query.ticker] : [query.ticker, query.context.ticker]
  return (await service.bands(tier).known(tickers)).length === tickers.length
}
