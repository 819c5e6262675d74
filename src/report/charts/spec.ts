/**
 * A chart as data: drawn once as SVG inside the page, for print and for whoever runs no scripts, and once more by the
 * page's script, to be zoomed and pointed at. Both draw the same values.
 */
export interface Chart {
  /** Unique in the page. */
  id: string
  title: string
  /** For whoever cannot see it: what it shows, in a sentence or two. */
  description: string
  /** CSS pixels, of the drawing its units. */
  height: number
  /** Units of the drawing, which the page scales to its width: the fewer, the larger its letters. */
  width: number
  /** Charts of one group are zoomed together. */
  group: string | null
  x: { unit: XUnit; values: number[] }
  y: { unit: YUnit; log: boolean; zero: boolean }
  lines: Line[]
  ribbons: Ribbon[]
  bars: Bars[]
  stripes: Stripes | null
  marks: Marks[]
  /** Where a thin line crosses the whole chart. */
  rules: { x: number[]; y: number[] }
  /** Said in place of a chart that has nothing to draw. */
  empty: string
}

/** `date`: days since 1970-01-01; `bars`: from an event. */
export type XUnit = 'date' | 'bars' | 'return' | 'p'
export type YUnit = 'price' | 'return' | 'multiple' | 'share' | 'count'

/** A colour by what it says; light and dark have their own. */
export type Tone = 'accent' | 'second' | 'third' | 'quiet' | 'gain' | 'loss'

export interface Line {
  label: string
  tone: Tone
  values: (number | null)[]
  width: number
  dashed: boolean
  /** Filled down to 0. */
  area: boolean
}

/** Between two lines. */
export interface Ribbon {
  label: string
  tone: Tone
  /** 0 to 1 */
  strength: number
  low: (number | null)[]
  high: (number | null)[]
}

/** A histogram: one value for each x, as wide as the edges around it. */
export interface Bars {
  label: string
  tone: Tone
  /** Edges of the bins, one more than values. */
  edges: number[]
  values: number[]
  /** Drawn as a stepped line rather than filled. */
  outline: boolean
}

/** Which band held when: runs, each from its x to the next one's. */
export interface Stripes {
  label: string
  bands: string[]
  starts: number[]
  /** Place in `bands`; -1: none. */
  codes: number[]
  end: number
}

export interface Marks {
  label: string
  tone: Tone
  shape: 'dot' | 'up' | 'down'
  /** x of each, ascending, with the height and what is said of it. */
  at: number[]
  values: number[]
  notes: string[]
}

/** Whether there is anything to draw. */
export function isEmpty({ lines, bars, ribbons }: Chart): boolean {
  const known = (values: readonly (number | null)[]): boolean => values.some(value => value !== null)
  return !(lines.some(line => known(line.values)) || ribbons.some(ribbon => known(ribbon.low)) || bars.some(hasBars))
}

/** The least and the greatest value that a chart draws; null without any. */
export function heights({ lines, ribbons, bars, marks, y }: Chart): { least: number; greatest: number } | null {
  const columns = [lines, bars, marks].flatMap(parts => parts.map(({ values }) => values))
  let least = Number.POSITIVE_INFINITY
  let greatest = Number.NEGATIVE_INFINITY
  for (const column of [...columns, ...ribbons.flatMap(({ low, high }) => [low, high])]) {
    for (const value of column) {
      if (value === null) continue
      if (value < least) least = value
      if (value > greatest) greatest = value
    }
  }
  if (least > greatest) return null
  return y.zero ? { least: Math.min(0, least), greatest: Math.max(0, greatest) } : { least, greatest }
}

function hasBars({ values }: Bars): boolean {
  return values.some(value => value > 0)
}
