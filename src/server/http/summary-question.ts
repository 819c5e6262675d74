import { BUILT_IN_FIELDS } from '../../core/fields/index.js'
import type { EventsQuery } from '../../core/model/event.js'
import type { SnapshotQuery } from '../../core/model/pages.js'
import { withPathTicker } from '../../core/params/pages.js'
import { parametersOf } from '../../core/params/questions.js'
import { parseSummary, SUMMARY } from '../../core/params/summary.js'
import { entitle, entitleAftermath, SUMMARY_COST } from '../../core/tiers.js'
import { SUMMARY_PATH } from '../wire/format.js'
import { eventsQuestion, keyAndDefaults, noteWithoutEvents, type Question, questionKey } from './question.js'

/** Parses a query for the state of a ticker on one day or several, the events of a field, or their statistics. */
export function readSummary(search: string, ticker: string): Question {
  const summary = parseSummary(withPathTicker(ticker, parametersOf(search), SUMMARY))
  if (summary.of === 'snapshot') return snapshotQuestion(summary.query)
  return summary.stats ? statsQuestion(summary.query) : eventsQuestion(SUMMARY_PATH, summary.query)
}

/** The question for the state of a ticker on one day, or on several; the page of several has `snapshots`. */
function snapshotQuestion(query: SnapshotQuery): Question {
  return {
    credits: SUMMARY_COST,
    ...keyAndDefaults(questionKey(SUMMARY_PATH, query)),
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

/** The question for statistics of the events of a field; only tiers that see later returns may ask it. */
function statsQuestion(query: EventsQuery): Question {
  const question = eventsQuestion(`${SUMMARY_PATH} stats`, query)
  return {
    ...question,
    stamp: async () => null, // none, because that is a hash of events and returns change with bars
    async answer(service, tier) {
      const bands = service.bands(tier)
      const { statsPage } = await import('../../research/tally/tally.js')
      const page = await statsPage(bands, query)
      const note = page.total_occurrences > 0 ? null : await noteWithoutEvents(bands, query)
      return { body: JSON.stringify(page), note }
    },
    async isAnswerable(service, tier) {
      entitle(query, tier, BUILT_IN_FIELDS)
      entitleAftermath(tier)
      return question.isAnswerable(service, tier)
    },
  }
}
