import { DEFINITIONS } from '../../model/definitions.js'
import { TIMEFRAMES } from '../../model/terms.js'
import { cutsInWords, type Field, factCodes, factReadings, rankZones } from '../field.js'
import {
  areKnown,
  historyReading,
  VALUATION_BANDS,
  type ValuationBand,
  YIELD_IN_WORDS,
  yieldReadings,
} from '../readings.js'

const cuts = DEFINITIONS.valuation.historicalCuts

export const peVsHistorical: Field<ValuationBand> = {
  name: 'pe_vs_historical',
  tier: 'pro',
  needs: 'facts',
  bands: VALUATION_BANDS,
  summary: 'earnings yield against its own history',
  rule: `${YIELD_IN_WORDS}; rolling percentile of -E: ${cutsInWords(VALUATION_BANDS, cuts)}`,
  warmUp: ({ series }) => TIMEFRAMES[series.timeframe].minHistory - 1,
  classify: panel => factCodes(panel, known => rankZones(known.yieldRanks, cuts)),
  readings: (panel, t) =>
    factReadings(panel, known => {
      const parts = yieldReadings(known, t)
      return areKnown(parts) ? [...parts, historyReading('history_pct', known.yieldRanks, panel.series, t)] : parts
    }),
}
