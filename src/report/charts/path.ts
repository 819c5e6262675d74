import type { EventStudy, PathPoint } from '../../research/study/result.js'
import { counted } from '../format.js'
import { line, newChart } from './new-chart.js'
import type { Chart } from './spec.js'
import { shortened } from './thin.js'

/** The average price around the events, with how sure that average is and how far single events lie from it. */
export function pathChart({ path, benchmark }: EventStudy): Chart {
  const column = (key: Exclude<keyof PathPoint, 'bar' | 'n'>): (number | null)[] =>
    path.map(point => shortened(point[key]))
  const abnormal = column('abnormal')
  const most = path.reduce((n, point) => Math.max(n, point.n), 0)
  return {
    ...newChart('path-mean', 'The price around the event', 'bars', 'return'),
    description: `The average change of the price from the close of the event, over ${counted(most, 'event')}, with its 95% interval and the middle half of the events.`,
    height: 320,
    x: { unit: 'bars', values: path.map(point => point.bar) },
    ribbons: [
      { label: 'middle half of the events', tone: 'quiet', strength: 0.16, low: column('p25'), high: column('p75') },
      { label: '95% interval of the mean', tone: 'accent', strength: 0.24, low: column('low'), high: column('high') },
    ],
    lines: [
      line('mean', 'accent', column('mean'), { width: 2.2 }),
      line('median', 'second', column('median'), { width: 1.3 }),
      line('any bar', 'quiet', column('base'), { width: 1.4, dashed: true }),
      ...(abnormal.some(value => value !== null)
        ? [line(`abnormal${benchmark === null ? '' : `, against ${benchmark}`}`, 'third', abnormal, { dashed: true })]
        : []),
    ],
    rules: { x: [0], y: [0] },
    empty: 'No event has bars around it to be averaged.',
  }
}

/** How many events stand behind each bar of the average. */
export function pathCountChart({ path }: EventStudy): Chart {
  const bars = path.map(point => point.bar)
  const most = path.reduce((n, point) => Math.max(n, point.n), 0)
  return {
    ...newChart('path-n', 'Events behind each bar', 'bars', 'count'),
    description: 'How many events had a price that many bars before or after.',
    height: 120,
    group: null,
    x: { unit: 'bars', values: bars },
    y: { unit: 'count', log: false, zero: true },
    lines:
      most === 0
        ? []
        : [
            line(
              'n',
              'quiet',
              path.map(point => point.n),
              { area: true, width: 1.2 },
            ),
          ],
    rules: { x: [0], y: [] },
    empty: 'No event has bars around it to be counted.',
  }
}
