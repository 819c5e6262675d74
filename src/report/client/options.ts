import type uPlot from 'uplot'
import {
  airy,
  axisLabel,
  type Bars,
  type Chart,
  dateLabel,
  dateTicks,
  logSteps,
  roundSteps,
  stepsUp,
  widthOf,
  type XUnit,
  type YUnit,
} from '../charts/spec.js'
import { colour, faded } from './colours.js'
import { barsPath, drawMarks, drawRules, drawStripes, STRIPE } from './draw.js'

const FONT = '11px system-ui, sans-serif'

/** Where each part of a chart lies among the columns: lines, then the low and high of each ribbon, then bars. */
export function columnsOf({ x, lines, ribbons, bars }: Chart): uPlot.AlignedData {
  const values = [...lines.map(line => line.values), ...ribbons.flatMap(({ low, high }) => [low, high])]
  return [x.values, ...values, ...bars.map(({ values }) => values)]
}

/** How uPlot draws the chart; what the page's script adds are the hooks. */
export function optionsOf(
  chart: Chart,
  size: { width: number; height: number },
  hooks: uPlot.Hooks.Arrays,
): uPlot.Options {
  const full = widthOf(chart)
  const { values } = chart.x
  const ribbonsFrom = 1 + chart.lines.length
  return {
    ...size,
    padding: [8, 20, 0, 0],
    legend: { show: false },
    cursor: {
      drag: { x: true, y: false, setScale: true },
      points: { size: 7 },
      ...(chart.group === null ? {} : { sync: syncing(chart.group) }),
    },
    scales: {
      x: {
        time: false,
        // The whole of it when uPlot asks for the range of the data: bins reach beyond their middles.
        range: (_, from, to) => (from === values[0] && to === values.at(-1) ? [full.from, full.to] : [from, to]),
      },
      y: { distr: chart.y.log ? 3 : 1, range: (u, least, greatest) => heightShown(chart, u, least, greatest) },
    },
    axes: axesOf(chart, size.width),
    series: seriesOf(chart),
    bands: chart.ribbons.map(({ tone, strength }, i) => ({
      series: [ribbonsFrom + 2 * i + 1, ribbonsFrom + 2 * i] as [number, number],
      fill: () => faded(tone, strength),
    })),
    hooks: {
      ...hooks,
      drawAxes: [u => drawStripes(u, chart), u => drawRules(u, chart)],
      draw: [u => drawMarks(u, chart)],
    },
  }
}

function syncing(key: string): uPlot.Cursor.Sync {
  return { key, setSeries: false, filters: { pub: type => type === 'mousemove' || type === 'mouseleave' } }
}

function heightShown(chart: Chart, u: uPlot, least: number | null, greatest: number | null): [number, number] {
  const shown = { least: least ?? 0, greatest: greatest ?? 1 }
  const whole = chart.y.zero ? { least: Math.min(0, shown.least), greatest: Math.max(0, shown.greatest) } : shown
  const foot = chart.stripes === null ? 0 : (STRIPE + 4) / Math.max(u.height - 60, 60)
  const { from, to } = airy(whole, chart.y, foot)
  return [from, to]
}

function axesOf({ x, y, height }: Chart, width: number): uPlot.Axis[] {
  const look = {
    stroke: () => colour('label'),
    font: FONT,
    grid: { stroke: () => colour('grid'), width: 1 },
    ticks: { show: false },
  }
  const wanted = Math.max(3, Math.floor(width / 90))
  const up = stepsUp(height)
  return [
    {
      ...look,
      size: 26,
      gap: 6,
      splits: (_, __, from, to) =>
        x.unit === 'date' ? dateTicks(from, to, wanted).map(({ at }) => at) : roundSteps(from, to, wanted),
      values: (_, at) => labels(x.unit, at),
    },
    {
      ...look,
      size: 56,
      gap: 6,
      splits: (_, __, from, to) => (y.log && from > 0 ? logSteps(from, to, up) : roundSteps(from, to, up)),
      values: (_, at) => labels(y.unit, at),
    },
  ]
}

function labels(unit: XUnit | YUnit, at: readonly number[]): string[] {
  if (unit === 'date') return at.map(dateLabel)
  const step = at.length > 1 ? Math.abs(at[1]! - at[0]!) : 1
  return at.map(value => axisLabel(unit, value, step))
}

function seriesOf(chart: Chart): uPlot.Series[] {
  const hidden: uPlot.Series = { width: 0, points: { show: false } }
  return [
    {},
    ...chart.lines.map(
      ({ label, tone, width, dashed, area, values }): uPlot.Series => ({
        label,
        stroke: () => colour(tone),
        width,
        ...(dashed ? { dash: [5, 4] } : {}),
        ...(area ? { fill: () => faded(tone, 0.25), fillTo: 0 } : {}),
        // A single value has no line to be seen by.
        points: { show: values.filter(value => value !== null).length === 1, stroke: () => colour(tone) },
      }),
    ),
    ...chart.ribbons.flatMap(() => [hidden, hidden]),
    ...chart.bars.map((bars): uPlot.Series => barSeries(bars)),
  ]
}

function barSeries(bars: Bars): uPlot.Series {
  const { label, tone, outline } = bars
  return {
    label,
    stroke: () => colour(tone),
    width: outline ? 1.5 : 0,
    ...(outline ? {} : { fill: () => faded(tone, 0.7) }),
    paths: u => barsPath(u, bars),
    points: { show: false },
  }
}
