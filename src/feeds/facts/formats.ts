import type { FactsFormat, RefusedFormat } from './format.js'
import { CORPORATE_ACTIONS } from './formats/corporate-actions.js'
import { EARNINGS_EVENTS } from './formats/earnings.js'
import { INSIDER_TRADES } from './formats/insiders.js'
import { QUARTERLY_FIGURES } from './formats/quarterly.js'
import { ANALYST_RATINGS, RECOMMENDATION_TREND } from './formats/ratings.js'
import { REFUSED } from './formats/refused.js'
import { SEC_FACTS } from './formats/sec-facts.js'
import { GICS_SECURITIES, SCREENER_SNAPSHOT } from './formats/securities.js'

/** Every layout of others' tables of facts; the first whose columns a header has is the one. */
export const FACTS_FORMATS: readonly (FactsFormat | RefusedFormat)[] = [
  EARNINGS_EVENTS,
  QUARTERLY_FIGURES,
  SEC_FACTS,
  GICS_SECURITIES,
  SCREENER_SNAPSHOT,
  ANALYST_RATINGS,
  RECOMMENDATION_TREND,
  INSIDER_TRADES,
  CORPORATE_ACTIONS,
  ...REFUSED,
]
