import { type EventTest, NO_EVENT, normalTest, without } from './event-tests.js'
import type { AbnormalEvent } from './market-model.js'

/**
 * Rank test: each event's abnormal returns are ranked over its estimation and event window together, T bars; with K_t the
 * mean rank of bar t over the events, and k = (T + 1) / 2, the statistic is √h (mean of K over the h event bars - k) /
 * √(Σ_t (K_t - k)² / T), standard normal (Corrado 1989; over several bars Corrado & Zivney 1992, Cowan 1992). Equal
 * returns share their mean rank. Windows must be of one length.
 */
export function corradoRank(events: readonly AbnormalEvent[]): EventTest {
  const [first] = events
  if (first === undefined) return without(NO_EVENT)
  const [length, h] = [first.estimation.length, first.event.length]
  if (events.some(({ estimation, event }) => estimation.length !== length || event.length !== h)) {
    return without('the windows of the events differ in length')
  }
  const bars = length + h
  const means = new Float64Array(bars)
  for (const { estimation, event } of events) {
    const ranks = ranksOf(Float64Array.of(...estimation, ...event))
    for (let t = 0; t < bars; t++) means[t]! += ranks[t]! / events.length
  }
  const expected = (bars + 1) / 2
  const deviation = Math.sqrt(means.reduce((sum, rank) => sum + (rank - expected) ** 2, 0) / bars)
  if (deviation === 0) return without('the ranks do not differ')
  const observed = means.subarray(length).reduce((sum, rank) => sum + rank, 0) / h
  return normalTest((Math.sqrt(h) * (observed - expected)) / deviation)
}

/** 1 for the least; equal values share the mean of their ranks. */
export function ranksOf(values: Float64Array): Float64Array {
  const order = Int32Array.from(values.keys()).sort((a, b) => values[a]! - values[b]!)
  const ranks = new Float64Array(values.length)
  for (let i = 0; i < order.length; ) {
    let end = i + 1
    while (end < order.length && values[order[end]!] === values[order[i]!]) end++
    for (let j = i; j < end; j++) ranks[order[j]!] = (i + 1 + end) / 2
    i = end
  }
  return ranks
}
