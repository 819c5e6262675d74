import type { Missing } from '../../model/event.js'
import { PERFORMANCES, type Performance } from '../../model/record.js'
import type { Paint } from './paint.js'
import type { Cell } from './table.js'

/** ASCII signs that carry the order by themselves, in the order of PERFORMANCES. */
export const SIGNS: readonly string[] = ['---', '--', '-', '=', '+', '++', '+++']
export const OPEN_SIGN = '..'
export const UNRANKED_SIGN = '?'

/** How a window ended, as a sign or in words; of one without a band, why it has none. */
export function performanceCell(performance: Performance | null, missing: Missing | undefined, words: boolean): Cell {
  if (performance === null) {
    if (missing === 'no_history') return words ? 'no_history' : UNRANKED_SIGN
    return words ? 'pending' : OPEN_SIGN
  }
  const place = PERFORMANCES.indexOf(performance)
  return toned(words ? performance : SIGNS[place]!, place - 3)
}

/** Painted by sign; the text itself says as much. */
export function toned(text: string, sign: number): Cell {
  if (sign === 0) return text
  const tone: keyof Paint = sign > 0 ? 'good' : 'bad'
  return { text, tone }
}

/** A fraction as a percentage with its sign: `+3.4%`. */
export function signed(fraction: number): string {
  const text = grouped((fraction * 100).toFixed(1))
  return `${fraction < 0 || text.startsWith('-') ? '' : '+'}${text === '-0.0' ? '0.0' : text}%`
}

/** `12345.6` → `12,345.6` */
function grouped(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+(?:\.|$))/g, ',')
}

/** A share of 1 as whole percent. */
export function share(fraction: number): string {
  return `${Math.round(fraction * 100)}%`
}
