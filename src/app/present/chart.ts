/** A chart as data. The page contains it for the script that zooms it and shows its values. */
export interface Chart {
  /** Unique in the page. */
  id: string
  title: string
  /** For readers who cannot see the chart: its content in a sentence or two. */
  description: string
  /** CSS pixels, which are also the units of the drawing. */
  height: number
  /** Units of the drawing, which the page scales to its width: the fewer, the larger its letters. */
  width: number
  /** Charts of one group are zoomed together. */
  group: string | null
  x: { unit: XUnit; values: number[] }
  y: { unit: YUnit; log: boolean; zero: boolean }
  lines: Line[]
  ribbons: Ribbon[]
  shades: Shades[]
  bars: Bars[]
  stripes: Stripes | null
  marks: Marks[]
  /** What can be chosen in the chart, one at a time; null: nothing. */
  cases: Cases | null
  /** The positions of thin lines across the whole chart. */
  rules: { x: number[]; y: number[] }
  /** Shown instead of an empty chart. */
  empty: string
}

/** `date`: days since 1970-01-01; `year`: calendar years; `bars`: from an event. */
export type XUnit = 'date' | 'year' | 'bars' | 'return' | 'p'
export type YUnit = 'price' | 'return' | 'money' | 'share' | 'count' | 'ratio'

/** A colour by its meaning; light and dark pages have their own. */
export type Tone = 'accent' | 'second' | 'third' | 'quiet' | 'gain' | 'loss' | BandTone

/** One of seven colours for the bands of a field: 0 for its first band, 6 for its last. */
export type BandTone = `band-${0 | 1 | 2 | 3 | 4 | 5 | 6}`

/** The colour of a band. @param code index of the band in its field @param bands number of bands of the field */
export function bandTone(code: number, bands: number): BandTone {
  const step = bands < 2 ? 3 : Math.round((code * 6) / (bands - 1))
  return `band-${step}` as BandTone
}

export interface Line {
  label: string
  tone: Tone
  values: (number | null)[]
  width: number
  dashed: boolean
  /** Filled down to 0. */
  area: boolean
  /** Its name is written at its end, where the drawing is wide enough. */
  named?: boolean
  /** How a terminal draws the line (default: not at all); it has room for two. */
  terminal?: 'whole' | 'dotted'
}

/** The area between two lines. */
interface Ribbon {
  label: string
  tone: Tone
  /** 0 to 1 */
  strength: number
  low: (number | null)[]
  high: (number | null)[]
}

/** Ranges of x, from top to bottom behind everything else. */
export interface Shades {
  label: string
  tone: Tone
  spans: { from: number; to: number; note: string }[]
}

/** A histogram: one value for each x, as wide as the edges around it. */
export interface Bars {
  label: string
  tone: Tone
  /** Edges of the bins, one more than values. */
  edges: number[]
  /** The height of each bar: a number, or a share of all. */
  values: (number | null)[]
  /** Whole numbers behind the heights, for a terminal; empty in a chart that no terminal draws. */
  counts: number[]
  /** Drawn as a stepped line rather than filled. */
  outline: boolean
  /** Position among several histograms that are drawn side by side in each bin. */
  slot?: readonly [index: number, of: number]
}

/** A strip of the band on each bar. A stripe extends from its start to the start of the next one. */
export interface Stripes {
  label: string
  bands: string[]
  starts: number[]
  /** Index in `bands`; -1: none. */
  codes: number[]
  end: number
}

export interface Marks {
  label: string
  tone: Tone
  shape: 'dot' | 'up' | 'down'
  /** The ascending x of each mark, with its height and its text. */
  at: number[]
  values: number[]
  notes: string[]
}

/** Cases with a beginning and an end in the chart, by their beginning. */
export interface Cases {
  /** `trade` */
  name: string
  of: Case[]
}

export interface Case {
  title: string
  /** x and y of the beginning, and of the end. */
  from: readonly [x: number, y: number]
  to: readonly [x: number, y: number]
  facts: (readonly [term: string, text: string])[]
}

/** The properties of a chart apart from its id and title. */
interface ChartParts extends Partial<Omit<Chart, 'x' | 'y'>> {
  x: readonly [unit: XUnit, values: number[]]
  y: YUnit
  log?: boolean
  /** The axis begins at 0. */
  zero?: boolean
}

/** A chart with the given parts, and defaults for all others. */
export function newChart(id: string, title: string, { x, y, log = false, zero = false, ...parts }: ChartParts): Chart {
  const [unit, values] = x
  return {
    id,
    title,
    description: '',
    height: 240,
    width: 760,
    group: null,
    x: { unit, values },
    y: { unit: y, log, zero },
    lines: [],
    ribbons: [],
    shades: [],
    bars: [],
    stripes: null,
    marks: [],
    cases: null,
    rules: { x: [], y: [] },
    empty: 'There is nothing to draw.',
    ...parts,
  }
}

/** A line of a chart, solid and 1.6 units wide unless the style differs. */
export function line(label: string, tone: Line['tone'], values: Line['values'], style: Partial<Line> = {}): Line {
  return { label, tone, values, width: 1.6, dashed: false, area: false, ...style }
}

/**
 * About `wanted` round numbers between `least` and `greatest`; only `least` if both are equal. Their step is 1, 2 or 5
 * times a power of ten, and at least 72% of the step that would make just `wanted` numbers.
 */
export function roundSteps(least: number, greatest: number, wanted: number): number[] {
  const span = greatest - least
  if (!(span > 0)) return [least]
  const exactStep = span / wanted
  const power = 10 ** Math.floor(Math.log10(exactStep))
  const step = [1, 2, 5, 10].map(factor => factor * power).find(size => size >= exactStep * 0.72)!
  const first = Math.ceil(least / step - 1e-9)
  const last = Math.floor(greatest / step + 1e-9)
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)))
}

export interface ChartPrices {
  ticker: string
  field: string
  dates: string[]
  close: number[]
  /** The field's vocabulary, in its order. */
  bands: string[]
  /** The index in `bands` of each bar; -1: none. */
  codes: number[]
  /** Bars at which something happened that the report is about, ascending. */
  events: { at: number; band: string }[]
}
