/** Text that is markup already. Everything else that a template is given is escaped. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** What may stand in a template: text and numbers are escaped, absent values leave nothing. */
export type Piece = Html | string | number | null | undefined | false | readonly Piece[]

/** Markup from a template whose values are escaped unless they are markup themselves. */
export function html(strings: TemplateStringsArray, ...values: readonly Piece[]): Html {
  return new Html(strings.reduce((text, part, i) => text + markup(values[i - 1]) + part))
}

/** Data for scripts to read, as an element that no browser runs. */
export function dataScript(attribute: string, value: unknown): Html {
  return new Html(`<script type="application/json" ${attribute}>${dataText(value)}</script>`)
}

/** JSON that cannot leave its script element, nor break a line of a script. */
function dataText(value: unknown): string {
  return JSON.stringify(value).replace(UNSAFE_IN_SCRIPT, character => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

const UNSAFE_IN_SCRIPT = /[<>&\u2028\u2029]/g

function markup(piece: Piece): string {
  if (piece === null || piece === undefined || piece === false) return ''
  if (piece instanceof Html) return piece.text
  if (typeof piece === 'string') return escaped(piece)
  if (typeof piece === 'number') return String(piece)
  return piece.map(markup).join('')
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, character => ESCAPES[character]!)
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** What stands where a number is not known. */
export const NONE = '–'

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

/** `27–65%` */
export function shareRange(low: number | null, high: number | null): string {
  return isNumber(low) && isNumber(high) ? `${(low * 100).toFixed(0)}–${(high * 100).toFixed(0)}%` : NONE
}

/** `-0.4 to +2.9%` */
export function gainRange(low: number | null, high: number | null): string {
  return isNumber(low) && isNumber(high) ? `${gain(low).slice(0, -1)} to ${gain(high)}` : NONE
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

/** A whole number with its thousands apart: `12 345`, with a space that no line is broken at. */
export function count(value: number | null | undefined): string {
  return isNumber(value) ? grouped(String(Math.round(value))) : NONE
}

/** A price, with as many digits as it needs. */
export function price(value: number | null | undefined): string {
  if (!isNumber(value)) return NONE
  const size = Math.abs(value)
  return size >= 1000 ? grouped(value.toFixed(size >= 10_000 ? 0 : 1)) : value.toFixed(size >= 1 || size === 0 ? 2 : 4)
}

/** `1 event`, `2 events`. */
export function counted(n: number, thing: string, things = `${thing}s`): string {
  return `${count(n)} ${n === 1 ? thing : things}`
}

/** Names in a row: up to `most` of them, then how many there are. */
export function listed(names: readonly string[], most = 4, things = 'tickers'): string {
  if (names.length > most) return `${count(names.length)} ${things} (${names.slice(0, most).join(', ')}, …)`
  return names.length < 2 ? (names[0] ?? '') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}

/** `a or b` */
export function either(names: readonly string[]): string {
  return names.length < 2 ? (names[0] ?? '') : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`
}

/** A key as words: `newey_west` → `newey west`. */
export function words(key: string): string {
  return key.replaceAll('_', ' ')
}

function grouped(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+(?!\d))(?<!\.\d*)/g, '\u202f')
}

function trimmed(text: string): string {
  return text.includes('e') ? String(Number(text)) : text
}

function isNumber(value: number | null | undefined): value is number {
  return value !== null && value !== undefined && Number.isFinite(value)
}
