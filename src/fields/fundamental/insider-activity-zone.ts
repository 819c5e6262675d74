import { DEFINITIONS } from '../../model/definitions.js'
import { UNDEFINED } from '../../model/series.js'
import type { Dealings } from '../dated-facts.js'
import { codesOf, type Field, factCodes, factReadings, type Reading, reading, zoneOf } from '../field.js'
import type { Fundamentals } from '../fundamentals.js'
import { dealingsReading } from '../readings.js'

const { lookback, valueCuts, leastHeavy } = DEFINITIONS.insiders
const [moderate, heavy] = valueCuts
const bands = [
  'heavy_selling',
  'moderate_selling',
  'neutral',
  'no_activity',
  'moderate_buying',
  'heavy_buying',
] as const
type Band = (typeof bands)[number]

export const insiderActivityZone: Field<Band> = {
  name: 'insider_activity_zone',
  tier: 'pro',
  needs: 'facts',
  bands,
  summary: 'value of insiders’ purchases against their sales',
  rule: `r = (bought - sold) / (bought + sold), the money of insiders' trades in the last ${lookback} days, unknown money 0, undefined when both are 0; no trade: no_activity; |r| ≥ ${heavy} with at least ${leastHeavy} net buyers (net sellers): heavy_buying (heavy_selling); otherwise |r| ≥ ${moderate}: moderate_buying (moderate_selling); else neutral; from the first trade ever known on`,
  warmUp: () => 0,
  classify: panel =>
    factCodes(panel, ({ dealings }) =>
      codesOf(dealings, window => {
        const band = bandOf(window)
        return band === null ? UNDEFINED : bands.indexOf(band)
      }),
    ),
  readings: (panel, t) => factReadings(panel, known => readings(known, t)),
}

function bandOf(window: Dealings | null): Band | null {
  if (window === null) return null
  if (window.trades === 0) return 'no_activity'
  const ratio = ratioOf(window)
  if (Number.isNaN(ratio)) return null
  const size = zoneOf(Math.abs(ratio), valueCuts)
  if (size === 0) return 'neutral'
  const [side, many] = ratio > 0 ? (['buying', window.buyers] as const) : (['selling', window.sellers] as const)
  return size === valueCuts.length && many >= leastHeavy ? `heavy_${side}` : `moderate_${side}`
}

/** NaN when no money is known. */
function ratioOf({ bought, sold }: Dealings): number {
  return (bought - sold) / (bought + sold)
}

function readings({ dealings, series }: Fundamentals, t: number): Reading[] {
  const window = dealings[t]!
  const trades = dealingsReading(window, series.days[t]!)
  if (window === null || window.trades === 0) return [trades]
  const ratio = ratioOf(window)
  return [
    trades,
    reading('net_buyers', window.buyers),
    reading('net_sellers', window.sellers),
    reading('value_bought', window.bought),
    reading('value_sold', window.sold),
    reading('value_ratio', ratio, Number.isNaN(ratio) ? 'the money of none of these trades is known' : undefined),
  ]
}
