export interface LineOptions {
  /** In characters. */
  width: number
  height: number
  ascii: boolean
}

/** Dots of a character: across and down, and the character of each set of them. */
interface Pen {
  across: number
  down: number
  character(dots: number): string
}

/** Braille: eight dots a character, numbered down the left column, then the right; the low row came later (Unicode 5.0, 15.12). */
const BRAILLE_BITS = [0x01, 0x02, 0x04, 0x40, 0x08, 0x10, 0x20, 0x80]
const BRAILLE: Pen = {
  across: 2,
  down: 4,
  character: dots =>
    dots === 0
      ? ' '
      : String.fromCharCode(0x2800 + BRAILLE_BITS.reduce((sum, bit, i) => sum + (dots & (1 << i) ? bit : 0), 0)),
}

/** Two dots a character, the upper and the lower. */
const ASCII: Pen = { across: 1, down: 2, character: dots => " '.:"[dots]! }

/** A line through the values from left to right, as `height` lines of `width` characters; lowest at the bottom. */
export function drawLine(values: readonly number[], { width, height, ascii }: LineOptions): string[] {
  const pen = ascii ? ASCII : BRAILLE
  const cells = Array.from({ length: height }, () => new Uint8Array(width))
  const set = (x: number, y: number): void => {
    const row = cells[Math.floor(y / pen.down)]!
    row[Math.floor(x / pen.across)]! |= 1 << ((x % pen.across) * pen.down + (y % pen.down))
  }
  const dots = dotsOf(values, width * pen.across, height * pen.down)
  dots.forEach(([x, y], i) => {
    const [fromX, fromY] = dots[Math.max(0, i - 1)]!
    join(fromX, fromY, x, y, set)
  })
  return cells.map(row => Array.from(row, pen.character).join(''))
}

/** The place of each value on the grid; a flat line runs in the middle. */
function dotsOf(values: readonly number[], width: number, height: number): [x: number, y: number][] {
  const high = values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY)
  const low = values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)
  return values.map((value, i) => {
    const x = values.length === 1 ? 0 : Math.round((i * (width - 1)) / (values.length - 1))
    const share = high === low ? 0.5 : (high - value) / (high - low)
    return [x, Math.round(share * (height - 1))]
  })
}

/** Dots from one place to another without a hole between neighbours (Bresenham). */
function join(x: number, y: number, toX: number, toY: number, set: (x: number, y: number) => void): void {
  const steps = Math.max(Math.abs(toX - x), Math.abs(toY - y), 1)
  for (let i = 0; i <= steps; i++) {
    set(Math.round(x + ((toX - x) * i) / steps), Math.round(y + ((toY - y) * i) / steps))
  }
}
