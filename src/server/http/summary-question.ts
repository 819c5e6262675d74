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
import { eventsQuestion, type Question, questionKey, type Service } from './question.js'

/** A summary of a ticker: its state on one day or several, the events of a field, or their statistics. */
export function readSummary(search: string, ticker: string): Question {
  const read = parseSummary(withPathTicker(ticker, parametersOf(search), SUMMARY))
  if (read.of === 'snapshot') return snapshotQuestion(read.query)
  return read.stats ? statsQuestion(read.query) : eventsQuestion(SUMMARY_PATH, read.query)
}

/** An answer depends on bars, facts and the identity of the ticker: it is kept while no data change. */
function uncutQuestion(key: string): Pick<Question, 'key' | 'fullKey' | 'stamp' | 'isHeavy' | 'cutOut'> {
  return { key, fullKey: key, stamp: async () => null, isHeavy: false, cutOut: body => body }
}

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
      // One ticker is read as fast as it is checked.
      await service.summary(tier, query)
      return true
    },
  }
}

function statsQuestion(query: EventsQuery): Question {
  return {
    credits: eventsCost(query),
    ...uncutQuestion(questionKey(`${SUMMARY_PATH} stats`, query)),
    async answer(service, tier) {
      const bands = service.bands(tier)
      const { statsPage } = await import('../../research/tally/tally.js')
      const page = await statsPage(bands, query)
      const why = page.total_occurrences > 0 ? null : await bands.whyEmpty(query)
      const { emptyNote } = await import('../../core/empty.js')
      return { body: JSON.stringify(page), note: why && wordsAsText(emptyNote(why, query).reason) }
    },
    isAnswerable: (service, tier) => isAnswerable(service, tier, query),
  }
}

async function isAnswerable(service: Service, tier: Tier, query: EventsQuery): Promise<boolean> {
  entitle(query, tier, BUILT_IN)
  entitleAftermath(tier)
  const tickers = [query.ticker, ...(query.context === undefined ? [] : [query.context.ticker])]
  return (await service.bands(tier).known(tickers)).length === tickers.length
}
