import { SHOWN_BARS, type Timeline, timeline } from '../../local/timeline.js'
import { FILTERS } from '../../params/parameters.js'
import { optionsOf } from '../../params/row.js'
import { integerValue } from '../../params/values.js'
import { count } from '../../present/numbers.js'
import type { Command } from '../command.js'
import { drawingWidth, drawTimeline } from '../draw/chart.js'
import { noticeNoEvent } from '../notices.js'
import { FIELD, historyQuery, TICKER } from '../options.js'
import type { Answer } from '../output.js'

export const command: Command = {
  arguments: [TICKER, FIELD],
  options: [
    ...optionsOf(FILTERS),
    ['--height <LINES>', 'lines of the price, 3 to 60; 12 unless given'],
    ['--ascii', 'draw with plain characters'],
  ],
  examples: [
    'bands show AAPL rsi_zone',
    'bands show AAPL trend_direction --after 2015-01-01 --timeframe weekly',
    'bands show AAPL rsi_zone --band oversold --height 20',
  ],
  notes: [
    'The last 250 bars unless --after is given; CSV and NDJSON have all. A ^ or a number beneath the bands counts events.',
  ],
  async run(context, given) {
    const height = integerValue('height', given.text('height') ?? '12', 3, 60)
    const query = historyQuery(given)
    const whole = await timeline(await context.local(), query, Number.POSITIVE_INFINITY)
    const isWhole = context.isRowByRow || query.after !== undefined
    const found = isWhole ? whole : { ...whole, bars: whole.bars.slice(-SHOWN_BARS) }
    await context.show(timelineAnswer(found, { height, ascii: given.flag('ascii') }))
    const left = whole.bars.length - found.bars.length
    if (found.bars.every(bar => bar.band === null)) await noticeNoEvent(context, await context.local(), query)
    else if (left > 0 && !context.out.terminal)
      await context.remark(`${count(left, 'earlier bar')} left out: --after DATE shows more, --csv all.`)
  },
}

/** The price as a line with its bands beneath; for machines a row a bar. */
function timelineAnswer(found: Timeline, style: { height: number; ascii: boolean }): Answer {
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
