import { twoSidedNormal, twoSidedT } from './distributions.js'
import type { AbnormalEvent } from './market-model.js'
import { deviation, mean } from './moments.js'

/** A two-sided test of "no abnormal return"; all null, with the reason, where there is none. */
export type EventTest =
  | { statistic: number; df: number | null; p: number; reason: null }
  | { statistic: null; df: null; p: null; reason: string }

/** Mean cumulative abnormal return, its standard error, and z from the events' own variances (MacKinlay 1997, eq. 16-20). */
export function aggregate(events: readonly AbnormalEvent[]): EventTest & { car: number | null; se: number | null } {
  const n = events.length
  if (n === 0) return { ...without(NO_EVENT), car: null, se: null }
  const car = total(events, event => event.car) / n
  const se = Math.sqrt(total(events, event => event.carVariance)) / n
  return { ...normalTest(car / se), car, se }
}

/**
 * Cross-section t of the cumulative abnormal returns: mean / (sd / √N), N - 1 degrees of freedom. It allows for variances
 * that the event raises, and not for events that share their days (Brown & Warner 1985).
 */
export function crossSection(events: readonly AbnormalEvent[]): EventTest {
  return meanTest(events.map(event => event.car))
}

/**
 * Patell's z: Σ SCAR / √Σ df/(df - 2), each SCAR a CAR over its own standard deviation, distributed as t with the model's
 * degrees of freedom (Patell 1976). It holds for independent events whose variance the event leaves as it was.
 */
export function patell(events: readonly AbnormalEvent[]): EventTest {
  if (events.length === 0) return without(NO_EVENT)
  if (events.some(event => event.df <= 2)) return without('an estimation window has too few bars')
  const variance = total(events, event => event.df / (event.df - 2))
  return normalTest(total(events, standardised) / Math.sqrt(variance))
}

/** Standardised cross-section t, N - 1 degrees of freedom (Boehmer, Musumeci & Poulsen 1991): Patell's, robust to raised variance. */
export function bmp(events: readonly AbnormalEvent[]): EventTest {
  return meanTest(events.map(standardised))
}

/**
 * BMP allowing for events that share their days: t √((1 - r) / (1 + (N - 1) r)), r the average correlation of their
 * abnormal returns (Kolari & Pynnönen 2010).
 * @param r as `averageCorrelation` tells it
 */
export function kolariPynnonen(events: readonly AbnormalEvent[], r: number): EventTest {
  const plain = bmp(events)
  if (plain.reason !== null) return plain
  const inflation = 1 + (events.length - 1) * r
  if (!(inflation > 0) || !(r < 1)) return without('the average correlation of the events leaves no variance')
  return tTest(plain.statistic * Math.sqrt((1 - r) / inflation), events.length - 1)
}

/**
 * Generalised sign test: (w - N p) / √(N p (1 - p)), w events with a CAR above 0, p the share of abnormal returns above 0
 * in the estimation windows, event by event (Cowan 1992).
 */
export function cowanSign(events: readonly AbnormalEvent[]): EventTest {
  const n = events.length
  if (n === 0) return without(NO_EVENT)
  const share = total(events, ({ estimation }) => estimation.filter(value => value > 0).length / estimation.length) / n
  if (share === 0 || share === 1) return without('the estimation windows have abnormal returns of one sign alone')
  const positive = events.filter(event => event.car > 0).length
  return normalTest((positive - n * share) / Math.sqrt(n * share * (1 - share)))
}

/** Standard normal under "no abnormal return". */
export function normalTest(z: number): EventTest {
  return { statistic: z, df: null, p: twoSidedNormal(z), reason: null }
}

export function without(reason: string): EventTest & { statistic: null } {
  return { statistic: null, df: null, p: null, reason }
}

export const NO_EVENT = 'no event has a whole estimation window and a whole event window'

function meanTest(values: readonly number[]): EventTest {
  const [average, sd] = [mean(values), deviation(values)]
  if (average === null) return without(NO_EVENT)
  if (sd === null) return without('one event has no spread')
  if (sd === 0) return without('the events do not differ')
  return tTest((average / sd) * Math.sqrt(values.length), values.length - 1)
}

function tTest(t: number, df: number): EventTest {
  return { statistic: t, df, p: twoSidedT(t, df), reason: null }
}

function standardised({ car, carVariance }: AbnormalEvent): number {
  return car / Math.sqrt(carVariance)
}

function total(events: readonly AbnormalEvent[], of: (event: AbnormalEvent) => number): number {
  return events.reduce((sum, event) => sum + of(event), 0)
}
