import type { Timeline } from '../../local/timeline.js'
import type { Answer } from '../output.js'
import { drawingWidth } from '../render/chart.js'
import { drawTimeline } from '../render/timeline.js'

/** The price as a line with its bands beneath; for machines a row a bar. */
export function timelineAnswer(found: Timeline, style: { height: number; ascii: boolean }): Answer {
  const { ticker, field, timeframe, bars } = found
  return {
    document: () => found,
    columns: ['ticker', 'field', 'timeframe', 'date', 'close', 'band', 'event'],
    rows: () => bars.map(bar => ({ ticker, field, timeframe, ...bar })),
    blocks: ({ width, unicode, paint }) => {
      const events = bars.filter(bar => bar.event).length
      const range = bars.length === 0 ? 'no bars' : `${bars.length} bars from ${bars[0]!.date} to ${bars.at(-1)!.date}`
      const middle = (found.bands.length - 1) / 2
      return [
        {
          title: [
            `${ticker}  ${field}  ${timeframe}`,
            range,
            `${events} ${events === 1 ? 'event' : 'events'}`,
            `${found.prices} prices`,
            `as of ${found.as_of}`,
          ],
          drawing: drawTimeline(found, {
            width: drawingWidth(width),
            height: style.height,
            ascii: style.ascii || !unicode,
            // Bands below the middle of the vocabulary in one colour, above it in the other; letters tell them apart.
            paint: (band, text) => (band === middle ? text : band < middle ? paint.bad(text) : paint.good(text)),
          }),
        },
      ]
    },
  }
}
