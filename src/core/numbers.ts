import { counted, numberText } from './errors.js'

// Numbers in sentences and tables.

/** The text of an unknown number. */
export const UNKNOWN = '-'

export { counted as count, numberText }

/** A number of bars, with a tenth if it is a mean. */
export function barsText(value: number | null): string {
  return value === null ? UNKNOWN : numberText(Math.round(value * 10) / 10)
}

/** A price or an indicator in at most six significant digits, never in powers of ten unless it is tiny. */
export function figureText(value: number): string {
  if (value === 0) return '0'
  if (Math.abs(value) >= 1e5) return numberText(Math.round(value))
  return String(Number(value.toPrecision(6)))
}

/** `+3.4%`, and with two decimals below 1%: `-0.35%`. */
export function signedPercent(fraction: number, decimals = Math.abs(fraction) < 0.00995 ? 2 : 1): string {
  if (fraction === 0) return '0%'
  const text = (fraction * 100).toFixed(decimals).replace(/\B(?=(\d{3})+(?:\.|$))/g, ',')
  const isZero = Number.parseFloat(text) === 0
  return `${fraction < 0 || text.startsWith('-') ? '' : '+'}${isZero ? text.replace('-', '') : text}%`
}

/** A share of 1 as whole percent. */
export function share(fraction: number): string {
  return `${Math.round(fraction * 100)}%`
}

export function returnText(value: number | null | undefined): string {
  return value === null || value === undefined ? UNKNOWN : signedPercent(value)
}

export function shareText(value: number | null): string {
  return value === null ? UNKNOWN : share(value)
}

/** A range of returns: `-1.2 to +4.5%`; UNKNOWN without a bound. */
export function returnRange({ low, high }: { low: number | null; high: number | null }): string {
  return low === null || high === null ? UNKNOWN : `${signedPercent(low).slice(0, -1)} to ${signedPercent(high)}`
}

/** A class of returns: `-4.0..+0.0%`. */
export function classLabel(from: number, to: number): string {
  return `${signedPercent(from, 1).slice(0, -1)}..${signedPercent(to, 1)}`
}

/** A range of shares of 1: `27-65%`; UNKNOWN without a bound. */
export function shareRange({ low, high }: { low: number | null; high: number | null }): string {
  return low === null || high === null ? UNKNOWN : `${share(low).slice(0, -1)}-${share(high)}`
}

/** A probability in three decimals: `.042`, `<.001`. */
export function probability(p: number | null | undefined): string {
  if (p === null || p === undefined) return UNKNOWN
  if (p < 0.0005) return '<.001'
  return p.toFixed(3).replace(/^0/, '')
}

/** A ratio in two decimals. */
export function ratio(value: number | null | undefined, decimals = 2): string {
  if (value === null || value === undefined) return UNKNOWN
  const text = value.toFixed(decimals)
  return Number(text) === 0 ? text.replace('-', '') : text
}

/** A rate or a share with all its digits: `0.25 %` in a sentence. @param space '' for a table: `0.25%` */
export function percent(rate: number, space = ' '): string {
  return `${plainDigits(rate * 100)}${space}%`
}

/** A number without the last digits that binary fractions add. */
export function plainDigits(value: number): string {
  return String(Number(value.toPrecision(12)))
}

/** An amount of money, whether the start was 1 or a hundred thousand. */
export function money(value: number): string {
  return value < 1000 ? value.toFixed(2) : numberText(Math.round(value))
}

/** `AAPL, GSPC and XOM`; more than `most` names give `505 tickers (A, B, C, D, …)`. */
export function listNames(names: readonly string[], most = 4, things = 'tickers'): string {
  if (names.length > most) return `${numberText(names.length)} ${things} (${names.slice(0, most).join(', ')}, …)`
  return joinNames(names, 'and')
}

/** The first names and the number of the others: `A, B, C and 4 more`. */
export function firstNames(names: readonly string[], most = 5): string {
  const text = names.slice(0, most).join(', ')
  return names.length > most ? `${text} and ${numberText(names.length - most)} more` : text
}

/** `a, b or c` */
export function joinWithOr(names: readonly string[]): string {
  return joinNames(names, 'or')
}

function joinNames(names: readonly string[], word: string): string {
  return names.length < 2 ? (names[0] ?? '') : `${names.slice(0, -1).join(', ')} ${word} ${names.at(-1)}`
}

/** A key as words: `newey_west` → `newey west`. */
export function keyInWords(key: string): string {
  return key.replaceAll('_', ' ')
}
