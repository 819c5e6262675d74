/** Credits are counted in days and hours of UTC, so that everyone everywhere starts anew at the same moment. */
export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS

/** How long a request that its caller named may be asked again at no cost. */
export const REPEAT_MS = 48 * HOUR_MS

/** Start of the day or the hour of a moment; all in milliseconds since 1970. */
export const dayStart = (at: number): number => at - (at % DAY_MS)
export const hourStart = (at: number): number => at - (at % HOUR_MS)
