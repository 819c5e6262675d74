import * as z from 'zod'
import type { Day } from '../../../model/day.js'

/** A number, bare or as Yahoo wraps it with a text for people. */
export const Amount = z.union([z.number(), z.object({ raw: z.number() }).transform(({ raw }) => raw)])

/** A number that may be missing: left out, null, or an empty wrapping. */
export const MaybeAmount = z.preprocess(
  value => (value === null || (typeof value === 'object' && Object.keys(value).length === 0) ? undefined : value),
  Amount.optional(),
)

/** The day, UTC, and second of a time: an epoch in seconds, or ISO text as programs that fetch it write it. */
export const Moment = z.union([
  Amount.pipe(z.number().min(0).max(253_402_300_799)),
  z.iso.datetime().transform(text => Date.parse(text) / 1000),
])

export function dayOfMoment(seconds: number): Day {
  return Math.floor(seconds / 86_400)
}
