import { type Day, formatDay } from '../model/day.js'
import { DEFINITIONS } from '../model/definitions.js'
import { UNDEFINED } from '../model/series.js'
import type { Consensus, Dealings } from './dated-facts.js'
import { codesByBar, codesOf, cutsInWords, factField, type Reading, reading, zoneBothWays, zoneOf } from './field.js'
import { areKnown, sinceWhen } from './readings.js'

/** Opinions and trades of people who know the company: analysts' ratings, and insiders' purchases and sales. */

const { consensus: ratings, insiders } = DEFINITIONS

const RATINGS = ['strong_sell', 'sell', 'hold', 'buy', 'strong_buy'] as const

export const analystConsensus = factField({
  name: 'analyst_consensus',
  tier: 'plus',
  bands: RATINGS,
  summary: 'mean of the analysts’ ratings',
  rule: `mean of the latest counts of at least ${ratings.least} analysts, 5 strong buy, 4 buy, 3 hold, 2 sell, 1 strong sell; ${cutsInWords(RATINGS, ratings.cuts)}`,
  classify: company =>
    codesOf(company.consensus().now, now => (now === undefined ? UNDEFINED : zoneOf(now.mean, ratings.cuts))),
  readings: (company, t) => {
    const now = company.consensus().now[t]
    const mean = consensusReading('consensus_mean', now, 'yet')
    if (now === undefined) return [mean]
    return [...RATINGS.toReversed().map(opinion => reading(opinion, now.counts[opinion], 'analysts')), mean]
  },
})

export const analystConsensusDirection = factField({
  name: 'analyst_consensus_direction',
  tier: 'pro',
  bands: ['downgrading', 'stable', 'upgrading'],
  summary: `the ratings against those of ${ratings.lookback} days before`,
  rule: `mean of the latest counts of at least ${ratings.least} analysts (as in analyst_consensus) minus the one in force ${ratings.lookback} days earlier; ≥ ${ratings.change} upgrading, ≤ -${ratings.change} downgrading, else stable`,
  classify: company => {
    const { now, before } = company.consensus()
    return codesByBar(now.length, 0, t => {
      const mean = now[t]?.mean
      const earlier = before[t]?.mean
      return mean === undefined || earlier === undefined ? UNDEFINED : zoneBothWays(mean - earlier, [ratings.change])
    })
  },
  readings: (company, t) => {
    const now = company.consensus().now[t]
    const before = company.consensus().before[t]
    const parts = [
      consensusReading('consensus_mean', now, 'yet'),
      consensusReading('consensus_mean_before', before, `by ${formatDay(company.series.days[t]! - ratings.lookback)}`),
    ]
    return areKnown(parts) ? [...parts, reading('change', now!.mean - before!.mean)] : parts
  },
})

/** A mean of analysts' opinions with its origin, or why there is none. @param when the date in that: `by 2020-01-02` */
function consensusReading(name: string, consensus: Consensus | undefined, when: string): Reading {
  if (consensus === undefined)
    return reading(name, undefined, `no counts of at least ${ratings.least} analysts are known ${when}`)
  const { counts, analysts, isFromGrades } = consensus
  const origin = isFromGrades ? `their latest grades of ${ratings.gradeLife} days` : 'given as counts'
  return reading(name, consensus.mean, `of ${analysts} analysts, ${origin}, ${sinceWhen(counts.known, counts.session)}`)
}

const [moderate, heavy] = insiders.valueCuts
const ACTIVITY = [
  'heavy_selling',
  'moderate_selling',
  'neutral',
  'no_activity',
  'moderate_buying',
  'heavy_buying',
] as const

export const insiderActivityZone = factField({
  name: 'insider_activity_zone',
  tier: 'pro',
  bands: ACTIVITY,
  summary: 'value of insiders’ purchases against their sales',
  rule: `r = (bought - sold) / (bought + sold), the money of insiders' trades in the last ${insiders.lookback} days, unknown money 0, undefined when both are 0; no trade: no_activity; |r| ≥ ${heavy} with at least ${insiders.leastHeavy} net buyers (net sellers): heavy_buying (heavy_selling); otherwise |r| ≥ ${moderate}: moderate_buying (moderate_selling); else neutral; from the first trade ever known on`,
  classify: company =>
    codesOf(company.dealings(), window => {
      const band = activityOf(window)
      return band === null ? UNDEFINED : ACTIVITY.indexOf(band)
    }),
  readings: (company, t) => {
    const window = company.dealings()[t]!
    const trades = dealingsReading(window, company.series.days[t]!)
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
  },
})

/** The band of insiders' trades; null before the first trade, and without known money. */
function activityOf(window: Dealings | null): (typeof ACTIVITY)[number] | null {
  if (window === null) return null
  if (window.trades === 0) return 'no_activity'
  const ratio = ratioOf(window)
  if (Number.isNaN(ratio)) return null
  const size = zoneOf(Math.abs(ratio), insiders.valueCuts)
  if (size === 0) return 'neutral'
  const side = ratio > 0 ? 'buying' : 'selling'
  const insidersOnSide = ratio > 0 ? window.buyers : window.sellers
  const isHeavy = size === insiders.valueCuts.length && insidersOnSide >= insiders.leastHeavy
  return isHeavy ? `heavy_${side}` : `moderate_${side}`
}

/** The excess of purchases over sales as a share of the money of both; NaN without known money. */
function ratioOf({ bought, sold }: Dealings): number {
  return (bought - sold) / (bought + sold)
}

const [mild, strong] = insiders.directionCuts

export const netDirection = factField({
  name: 'net_direction',
  tier: 'pro',
  bands: ['strong_selling', 'selling', 'neutral', 'buying', 'strong_buying'],
  summary: 'insiders who bought against those who sold',
  rule: `b and s = insiders who in the last ${insiders.lookback} days bought more shares than they sold, and those who sold more; (b - s) / (b + s), 0 without any; ≥ ${strong} strong_buying, ≥ ${mild} buying, ≤ -${strong} strong_selling, ≤ -${mild} selling, else neutral; from the first trade ever known on`,
  classify: company =>
    codesOf(company.dealings(), window =>
      window === null ? UNDEFINED : zoneBothWays(directionOf(window), insiders.directionCuts),
    ),
  readings: (company, t) => {
    const window = company.dealings()[t]!
    const trades = dealingsReading(window, company.series.days[t]!)
    if (window === null) return [trades]
    return [
      trades,
      reading('net_buyers', window.buyers),
      reading('net_sellers', window.sellers),
      reading('direction', directionOf(window)),
    ]
  },
})

/** The excess of buyers over sellers as a share of both; 0 without any. */
function directionOf({ buyers, sellers }: Dealings): number {
  return buyers + sellers === 0 ? 0 : (buyers - sellers) / (buyers + sellers)
}

/** Number of insider trades that began to count in the 90 days up to a day, and those days; null before the first. */
function dealingsReading(window: Dealings | null, day: Day): Reading {
  const first = formatDay(day - insiders.lookback + 1)
  if (window === null) return reading('trades', undefined, 'no trade of an insider has been known yet')
  return reading('trades', window.trades, `counted for the first time from ${first} to ${formatDay(day)}`)
}
