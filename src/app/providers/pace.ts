import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Provider } from './provider.js'

/**
 * No more calls in a while than a vendor allows. The times of the calls are in a file. So the next run
 * keeps the pace, too, and so do two at once.
 */
export class Pace {
  readonly #pace: Provider['pace']
  readonly #file: string | null
  readonly #now: () => number
  /** The calls of this run, for the case that no file can be written. */
  #calls: number[] = []

  /** @param file null: only the calls of this run count */
  constructor(pace: Provider['pace'], file: string | null, now: () => number) {
    this.#pace = pace
    this.#now = now
    this.#file = file === null ? null : written(file, recent(timesIn(file), pace, now()))
  }

  /** Milliseconds until the next call is allowed. */
  get wait(): number {
    const [calls, seconds] = this.#pace
    const times = recent(this.#file === null ? this.#calls : timesIn(this.#file), this.#pace, this.#now())
    const oldest = times.at(-calls)
    return oldest === undefined ? 0 : oldest + seconds * 1000 + ROUNDING_MS - this.#now()
  }

  /** Notes a call before it is made. */
  note(): void {
    this.#calls = [...recent(this.#calls, this.#pace, this.#now()), this.#now()]
    if (this.#file !== null) appendFileSync(this.#file, `${this.#now()}\n`)
  }
}

/** Clocks here and at the vendor differ by some milliseconds. */
const ROUNDING_MS = 20

/** Seconds that some calls take at a pace: the first ones go at once. */
export function secondsFor(calls: number, [allowed, seconds]: Provider['pace']): number {
  return Math.floor(Math.max(0, calls - 1) / allowed) * seconds
}

function recent(times: readonly number[], [, seconds]: Provider['pace'], now: number): number[] {
  // A time to come is that of a clock that was set back since.
  return times.filter(time => time > now - seconds * 1000 && time <= now)
}

function timesIn(file: string): number[] {
  try {
    return readFileSync(file, 'utf8').split('\n').map(Number).filter(Boolean)
  } catch {
    return []
  }
}

/** The file with some times in it; null where it cannot be written. */
function written(file: string, times: readonly number[]): string | null {
  try {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, times.map(time => `${time}\n`).join(''))
    return file
  } catch {
    return null
  }
}
