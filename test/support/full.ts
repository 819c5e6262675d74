import { test } from 'vitest'

/**
 * How much is proven: `npm test` leaves BANDS_FULL unset, `npm run test:full` sets it to 1. A greater number draws that
 * many times as much, for a night (BANDS_FULL=10).
 */
const TIMES = Number(process.env.BANDS_FULL ?? 0)

/** Whether everything is proven, and not a smoke of it. */
export const FULL = TIMES >= 1

/** Whether more is drawn than a proof needs, so that a table of what was found is worth printing. */
export const NIGHT = TIMES > 1

/** How many of so many draws are made: all of them, or a twentieth in the quick run. */
export function draws(all: number): number {
  return FULL ? Math.round(all * TIMES) : Math.ceil(all / 20)
}

/** A test that a smoke of the draws would say nothing about: a rate, a share, a count of what is rare. */
export const provenInFull = test.runIf(FULL)
