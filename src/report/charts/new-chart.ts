import type { Chart, Line, XUnit, YUnit } from './spec.js'

/** At most so many points of a series are drawn. */
export const MOST_POINTS = 2000

export function newChart(id: string, title: string, x: XUnit, y: YUnit): Chart {
  return {
    id,
    title,
    description: '',
    height: 240,
    width: 760,
    group: null,
    x: { unit: x, values: [] },
    y: { unit: y, log: false, zero: false },
    lines: [],
    ribbons: [],
    bars: [],
    stripes: null,
    marks: [],
    rules: { x: [], y: [] },
    empty: 'There is nothing to draw.',
  }
}

export function line(label: string, tone: Line['tone'], values: Line['values'], more: Partial<Line> = {}): Line {
  return { label, tone, values, width: 1.6, dashed: false, area: false, ...more }
}
