import { normalCdf } from '../../../src/core/statistics/distributions.js'
import { mean } from '../../../src/core/statistics/moments.js'
import type { StudyWindow } from '../../../src/research/study/result.js'
import { type NullTicker, VOLATILITY } from '../../support/null-markets.js'

/** What each of so many bars after an event earns more. */
export interface Edge {
  perBar: number
  bars: number
}

/** What was planted, what was found of it, and how often a test of so many independent windows should find it. */
export interface Planted {
  truth: number
  window: StudyWindow
  power: number
}

/**
 * Of a ticker with an edge, and the study of it.
 * @param from the first bar on which it is known whether there is an event
 */
export function plantedIn(ticker: Omit<NullTicker, 'ticker'>, edge: Edge, window: StudyWindow, from: number): Planted {
  const truth = truthOf(ticker, edge, from)
  return { truth, window, power: powerOf(truth, window.n_indep, edge) }
}

/** Difference of the mean of the events' windows and of all, as planted. */
function truthOf({ active, events }: Omit<NullTicker, 'ticker'>, { perBar, bars }: Edge, from: number): number {
  const planted = (t: number): number =>
    (1 + perBar) ** active.subarray(t + 1, t + 1 + bars).filter(a => a > 0).length - 1
  const all = Array.from(active.keys()).filter(t => t >= from && t + bars < active.length)
  const elapsed = events.filter(t => t + bars < active.length)
  return mean(elapsed.map(planted))! - mean(all.map(planted))!
}

/** Of a two-sided z test at 5 %, given the deviation of a window. */
function powerOf(truth: number, independent: number, { bars }: Edge): number {
  const z = truth / ((VOLATILITY * Math.sqrt(bars)) / Math.sqrt(independent))
  return normalCdf(z - 1.96) + normalCdf(-z - 1.96)
}

export function expectedOf(planted: readonly Planted[]): number {
  return mean(planted.map(({ power }) => power))!
}

export function foundOf(planted: readonly Planted[]): number {
  return planted.filter(({ window }) => window.tests[0]!.p! < 0.05).length / planted.length
}

export function outsideOf(planted: readonly Planted[]): number {
  return planted.filter(({ truth, window: { intervals } }) => truth < intervals[0]!.low! || truth > intervals[0]!.high!)
    .length
}
