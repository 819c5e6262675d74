import { LEAST_UNITS } from '../cell/series.js'

/** Why so few events get neither p-value nor interval; null where they are enough. */
export function tooFew(n: number, independent: number, minEvents: number): string | null {
  if (independent < LEAST_UNITS)
    return `${independent} ${independent === 1 ? 'window' : 'windows'} that share no bar are fewer than ${LEAST_UNITS}`
  return n < minEvents ? `${n} events are fewer than the ${minEvents} asked for` : null
}
