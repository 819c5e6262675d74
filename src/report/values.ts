import { type Html, html, type Piece } from '../html.js'
import type { Cell, Content, Kind, Value } from '../present/description.js'

/** What stands where a number is not known. */
export const NONE = '–'

/** A value of a table, with the decimals that a page has room for. */
export function cellPiece({ kind, content, mark }: Cell): Piece {
  const piece = typeof content === 'object' && content !== null ? pair(kind, content) : valueText(kind, content)
  return mark === undefined ? piece : html`${piece}${mark}`
}

function valueText(kind: Kind, value: Value): string {
  return value === null ? NONE : typeof value === 'string' ? value : NUMBERS[kind](value)
}

const NUMBERS: Readonly<Record<Kind, (value: number) => string>> = {
  text: String,
  date: String,
  window: String,
  count,
  return: gain,
  deviation: value => share(value, 2),
  share,
  probability,
  ratio: decimal,
  tenth: value => decimal(value, 1),
  degrees: count,
  statistic: value => decimal(value, 3),
  price,
  money: value => decimal(value, value > -100 && value < 100 ? 4 : 0),
  lifted: count,
  bars: count,
  performance: String,
  lettered: String,
}

/** `-0.40 to +2.90%`, `27–65%`, `12 ×1.40`. */
function pair(kind: Kind, [first, second]: readonly [Value, Value]): string | Html {
  if (kind === 'lifted')
    return html`${valueText(kind, first)} <span class="quiet">×${valueText('ratio', second)}</span>`
  if (first === null || second === null) return NONE
  if (kind === 'share') return `${share(Number(first), 0).slice(0, -1)}–${share(Number(second), 0)}`
  return `${valueText(kind, first).replace(/%$/, '')} to ${valueText(kind, second)}`
}

/** By what rows are ordered in a column; null comes last either way. */
export function orderOf({ kind, content }: Pick<Cell, 'kind' | 'content'>): number | string | null {
  const value: Content = content
  const first = typeof value === 'object' && value !== null ? value[0] : value
  return kind === 'window' && first !== null ? Number.parseInt(String(first), 10) : first === '' ? null : first
}

/** A fraction as a percentage with its sign: `+1.64%`. */
export function gain(fraction: number | null | undefined, digits = 2): string {
  if (!isNumber(fraction)) return NONE
  const text = grouped((fraction * 100).toFixed(digits))
  // Neither "+0.00%" nor "-0.00%": what rounds to nothing has no sign.
  if (Number.parseFloat(text) === 0) return `${text.replace('-', '')}%`
  return `${fraction > 0 ? '+' : ''}${text}%`
}

/** A fraction as a percentage: `63.2%`. */
export function share(fraction: number | null | undefined, digits = 1): string {
  return isNumber(fraction) ? `${(fraction * 100).toFixed(digits)}%` : NONE
}

/** A p-value, or a q-value: two significant digits, and never 0. */
export function probability(p: number | null | undefined): string {
  if (!isNumber(p)) return NONE
  if (p < 0.0001) return '<0.0001'
  return p >= 0.1 ? p.toFixed(2) : trimmed(p.toPrecision(2))
}

export function decimal(value: number | null | undefined, digits = 2): string {
  return isNumber(value) ? value.toFixed(digits).replace(/^-(0(?:\.0*)?)$/, '$1') : NONE
}

/** A whole number with its thousands apart: `12,345`. */
export function count(value: number | null | undefined): string {
  return isNumber(value) ? grouped(String(Math.round(value))) : NONE
}

/** A price, with as many digits as it needs. */
export function price(value: number | null | undefined): string {
  if (!isNumber(value)) return NONE
  const size = Math.abs(value)
  return size >= 1000 ? grouped(value.toFixed(size >= 10_000 ? 0 : 1)) : value.toFixed(size >= 1 || size === 0 ? 2 : 4)
}

/** `-0.4 to +2.9%` */
export function gainRange(low: number | null, high: number | null): string {
  return isNumber(low) && isNumber(high) ? `${gain(low).slice(0, -1)} to ${gain(high)}` : NONE
}

function grouped(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+(?!\d))(?<!\.\d*)/g, ',')
}

function trimmed(text: string): string {
  return text.includes('e') ? String(Number(text)) : text
}

function isNumber(value: number | null | undefined): value is number {
  return value !== null && value !== undefined && Number.isFinite(value)
}
