import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Provider } from './provider.js'

/**
 * Keeps the number of calls in a period within what a vendor allows. The times of the calls are in a file, so that
 * later and simultaneous runs count them, too.
 */
export class Pace {
  readonly #pace: Provider['pace']
  readonly #file: string | null
  readonly #now: () => number
  /** The times of this run's calls, which count if there is no file. */
  #calls: number[] = []

  /** @param file where the times of calls are kept; null counts only the calls of this run */
  constructor(pace: Provider['pace'], file: string | null, now: () => number) {
    this.#pace = pace
    this.#now = now
    this.#file = file === null ? null : writeTimes(file, recentTimes(readTimes(file), pace, now()))
  }

  /** Milliseconds until the next call is allowed. */
  get wait(): number {
    const [calls, seconds] = this.#pace
    const times = recentTimes(this.#file === null ? this.#calls : readTimes(this.#file), this.#pace, this.#now())
    // The next call is allowed once this one is older than the period; undefined while fewer calls were made.
    const blockingCall = times.at(-calls)
    return blockingCall === undefined ? 0 : blockingCall + seconds * 1000 + ROUNDING_MS - this.#now()
  }

  /** Notes the time of a call before it is made. */
  noteCall(): void {
    this.#calls = [...recentTimes(this.#calls, this.#pace, this.#now()), this.#now()]
    if (this.#file !== null) appendFileSync(this.#file, `${this.#now()}\n`)
  }
}

/** Added to each wait, because the clocks here and at the vendor differ by some milliseconds. */
const ROUNDING_MS = 20

/** The seconds that some calls take at a pace; the first ones need not wait. */
export function secondsFor(calls: number, [allowedCalls, seconds]: Provider['pace']): number {
  return Math.floor(Math.max(0, calls - 1) / allowedCalls) * seconds
}

/** The times within the last period of a pace. */
function recentTimes(times: readonly number[], [, seconds]: Provider['pace'], now: number): number[] {
  // A time in the future was written before the clock was set back.
  return times.filter(time => time > now - seconds * 1000 && time <= now)
}

/** The times of calls in a file, in milliseconds; none if it cannot be read. */
function readTimes(file: string): number[] {
  try {
    return readFileSync(file, 'utf8').split('\n').map(Number).filter(Boolean)
  } catch {
    return []
  }
}

/** Writes the times into a file. Returns the file, or null if it cannot be written. */
function writeTimes(file: string, times: readonly number[]): string | null {
  try {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, times.map(time => `${time}\n`).join(''))
    return file
  } catch {
    return null
  }
}
