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
export function drawLine(values: readonly number[], options: LineOptions): string[] {
  return drawLines([{ values }], options)
}

export interface Line {
  /** null: the line is broken there. */
  values: readonly (number | null)[]
  /** Single dots, to be told from a line that is whole. */
  dotted?: boolean
}

/** Several lines on one scale. */
export function drawLines(lines: readonly Line[], { width, height, ascii }: LineOptions): string[] {
  const pen = ascii ? ASCII : BRAILLE
  const cells = Array.from({ length: height }, () => new Uint8Array(width))
  const set = (x: number, y: number): void => {
    const row = cells[Math.floor(y / pen.down)]!
    row[Math.floor(x / pen.across)]! |= 1 << ((x % pen.across) * pen.down + (y % pen.down))
  }
  const scale = scaleOf(lines)
  for (const { values, dotted = false } of lines) {
    const dots = dotsOf(values, scale, width * pen.across, height * pen.down)
    dots.forEach((dot, i) => {
      if (dot === null) return
      const [x, y] = dot
      const [fromX, fromY] = dots[Math.max(0, i - 1)] ?? dot
      join(fromX, fromY, x, y, (x, y) => {
        if (!dotted || x % DOT_EVERY === 0) set(x, y)
      })
    })
  }
  return cells.map(row => Array.from(row, pen.character).join(''))
}

const DOT_EVERY = 4

/** Lowest and highest of all lines. */
export function scaleOf(lines: readonly Line[]): { low: number; high: number } {
  const known = lines.flatMap(({ values }) => values.filter(value => value !== null))
  return {
    high: known.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY),
    low: known.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY),
  }
}

/** The place of each value on the grid; a flat line runs in the middle. */
function dotsOf(
  values: readonly (number | null)[],
  { low, high }: { low: number; high: number },
  width: number,
  height: number,
): ([x: number, y: number] | null)[] {
  return values.map((value, i) => {
    if (value === null) return null
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
