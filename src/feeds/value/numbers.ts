export type Decimal = '.' | ','

const POINT = 46 - 48
const POWERS = Float64Array.from({ length: 23 }, (_, power) => 10 ** power)
const SHAPES: Record<Decimal, RegExp> = {
  '.': /^-?\$?(?:\d+|\d{1,3}(?:,\d{3})+)?(?:\.\d*)?(?:[eE][+-]?\d+)?$/,
  ',': /^-?\$?(?:\d+|\d{1,3}(?:\.\d{3})+)?(?:,\d*)?(?:[eE][+-]?\d+)?$/,
}
const NULL_WORDS = new Set(['', 'na', 'n/a', 'null', 'none', 'nan'])

/**
 * The number that bytes[start..end) spell, NaN when they spell none; what is left out by the quick way, such as `$`,
 * exponents and long fractions, goes through `readNumber`.
 */
export function numberAt(bytes: Buffer, start: number, end: number, decimal: Decimal): number {
  // Up to 15 digits are an exact integer, and so is the power of ten below them: one division rounds correctly.
  if (end - start > 16 || decimal !== '.') return readNumber(bytes.toString('latin1', start, end), decimal)
  let whole = 0
  let digits = 0
  let point = -1
  for (let i = start; i < end; i++) {
    const digit = bytes[i]! - 48
    if (digit >= 0 && digit <= 9) {
      whole = whole * 10 + digit
      digits++
    } else if (digit === POINT && point < 0) point = i
    else return readNumber(bytes.toString('latin1', start, end), decimal)
  }
  if (digits === 0 || digits > 15) return readNumber(bytes.toString('latin1', start, end), decimal)
  return point < 0 ? whole : whole / POWERS[end - 1 - point]!
}

/**
 * The number that a text spells: a decimal or with an exponent, thousands in full groups of three, a `$` before it.
 * NaN when it spells none, an infinity when it is too large for a double.
 */
export function readNumber(text: string, decimal: Decimal = '.'): number {
  const trimmed = text.trim()
  if (!SHAPES[decimal].test(trimmed) || !/\d/.test(trimmed)) return Number.NaN
  const plain = decimal === '.' ? trimmed.replaceAll(',', '') : trimmed.replaceAll('.', '').replace(',', '.')
  return Number(plain.replace('$', ''))
}

/** Whether a text stands for "not known". */
export function isNullWord(text: string): boolean {
  return NULL_WORDS.has(text.trim().toLowerCase())
}

/**
 * Which sign separates decimals in a file, judged by its numbers; null when they can be read both ways (`1,234`).
 * Volumes count only as proof, not as doubt: nobody trades thousandths of all shares.
 */
export function decimalOf(prices: readonly string[], volumes: readonly string[]): Decimal | null {
  const proofs = [...prices, ...volumes].filter(text => /^[-$\d.,\s]+$/.test(text)).map(text => proof(text.trim()))
  const point = proofs.includes('.')
  if (!point && proofs.includes(',')) return ','
  const doubtful = !point && prices.some(text => /^\$?\d{1,3},\d{3}$/.test(text.trim()))
  return doubtful ? null : '.'
}

/** The decimal sign that a number proves by itself. */
function proof(text: string): Decimal | null {
  const points = text.split('.').length - 1
  const commas = text.split(',').length - 1
  if (points > 0 && commas > 0) return text.lastIndexOf('.') > text.lastIndexOf(',') ? '.' : ','
  if (points > 1 || commas > 1) return points > 1 ? ',' : '.'
  if (points === 1 && !/^[-$]{0,2}\d{1,3}\.\d{3}$/.test(text)) return '.'
  if (commas === 1 && !/^[-$]{0,2}\d{1,3},\d{3}$/.test(text)) return ','
  return null
}
