import { readFileSync } from 'node:fs'
import { Random } from '../../../src/core/statistics/random.js'

export const ESTIMATION = 40
export const WINDOW = 5

/** The first of the event's bars, on a calendar of 200: two dates are shared, two windows overlap in part. */
const STARTS = [60, 60, 60, 63, 100, 140, 140, 170]

export interface MadeEvent {
  estimation: Float64Array
  event: Float64Array
  marketEstimation: Float64Array
  marketEvent: Float64Array
  estimationDays: Int32Array
  eventDays: Int32Array
}

/** Eight securities that follow a market, each with one event of a small drift; the same numbers for ever. */
export function madeEvents(): MadeEvent[] {
  const market = normals(1, 200, 0.01)
  return STARTS.map((start, i) => {
    const own = normals(100 + i, 200, 0.015)
    const returns = market.map((value, t) => 0.0003 + (0.6 + 0.15 * i) * value + own[t]! + (t >= start ? 0.004 : 0))
    const first = start - ESTIMATION - 10
    return {
      estimation: returns.slice(first, first + ESTIMATION),
      event: returns.slice(start, start + WINDOW),
      marketEstimation: market.slice(first, first + ESTIMATION),
      marketEvent: market.slice(start, start + WINDOW),
      estimationDays: Int32Array.from({ length: ESTIMATION }, (_, t) => first + t),
      eventDays: Int32Array.from({ length: WINDOW }, (_, t) => start + t),
    }
  })
}

/** Returns per bar of seven strategies over 61 bars, the first of which never trades. */
export function madeStrategies(): Float64Array[] {
  return Array.from({ length: 7 }, (_, i) => (i === 0 ? new Float64Array(61) : normals(300 + i, 61, 0.01)))
}

function normals(seed: number, n: number, deviation: number): Float64Array {
  const random = new Random(seed)
  return Float64Array.from({ length: n }, () => deviation * random.normal())
}

/** The lines of a file of golden/ that are no remarks, in words. */
export function goldenRows(file: string): string[][] {
  const text = readFileSync(new URL(`../golden/${file}`, import.meta.url), 'utf8')
  const lines = text.split('\n').filter(line => line.trim() !== '' && !line.startsWith('#'))
  return lines.map(line => line.split(/ +/))
}

/** How far a number is from the one that is expected, as a part of it; the distance itself from 0. */
export function distance(value: number, expected: number): number {
  return Math.abs(value - expected) / (expected === 0 ? 1 : Math.abs(expected))
}
