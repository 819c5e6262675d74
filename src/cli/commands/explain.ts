import type { ExplainedEvent, ExplainQuery, Explanation } from '../../local/explain.js'
import { dayValue, fieldValue, tickerValue, timeframeValue } from '../../params/values.js'
import { figure, signed, whole } from '../../present/numbers.js'
import type { Command } from '../command.js'
import { type Block, type Cell, performanceCell, type Row, type Screen } from '../draw/table.js'
import { FIELD, TICKER, TIMEFRAME } from '../options.js'
import type { Answer } from '../output.js'

export const command: Command = {
  arguments: [TICKER, FIELD, ['[DATE]', 'the bar to explain, YYYY-MM-DD; the newest unless given']],
  options: [TIMEFRAME],
  examples: ['bands explain AAPL rsi_zone 2018-02-08', 'bands explain AAPL macd_state --timeframe weekly --json'],
  async run(context, given) {
    const date = given.argument(2)
    const query: ExplainQuery = {
      ticker: tickerValue('ticker', given.argument(0)!),
      field: fieldValue('field', given.argument(1)!).name,
      timeframe: timeframeValue('timeframe', given.text('timeframe') ?? 'daily'),
    }
    if (date !== undefined) query.date = dayValue('date', date)
    const { explain } = await import('../../local/explain.js')
    await context.show(explainAnswer(await explain(await context.local(), query)))
  },
}

/** Inputs, rule, figures, band; of an event also flips, stability and what followed with its sample. */
function explainAnswer(found: Explanation): Answer {
  return {
    document: () => found,
    columns: ['ticker', 'field', 'timeframe', 'date', 'band', 'in_force', 'entered', 'reading', 'value', 'note'],
    rows: () => readingRows(found),
    blocks: screen => [
      { title: title(found), notes: barLines(found) },
      { title: ['Rule'], notes: [found.rule] },
      readings(found),
      { notes: historyLines(found) },
      ...(found.event === null ? [] : eventBlocks(found.event, screen)),
    ],
  }
}

/** One row a figure; a band without figures still has its row. */
function readingRows({
  ticker,
  field,
  timeframe,
  date,
  band,
  in_force,
  entered,
  readings: figures,
}: Explanation): Row[] {
  const bar = { ticker, field, timeframe, date, band, in_force, entered }
  if (figures.length === 0) return [{ ...bar, reading: null, value: null, note: null }]
  return figures.map(({ name, value, note }) => ({ ...bar, reading: name, value, note }))
}

function title({ ticker, field, timeframe, date, as_of }: Explanation): string[] {
  return [`${ticker}  ${field}  ${timeframe}`, date, `as of ${as_of}`]
}

function barLines(found: Explanation): string[] {
  const { open, high, low, close, volume, prices, source, imported_at } = found
  const traded = volume === null ? 'unknown' : whole(volume)
  return [
    ...(found.date_note === null ? [] : [`note: ${found.date_note}`]),
    bandLine(found),
    `open ${figure(open)}  high ${figure(high)}  low ${figure(low)}  close ${figure(close)}  volume ${traded}`,
    `${prices} prices from ${source}, imported ${imported_at.slice(0, 10)}`,
    ...(found.price_note === null ? [] : [`note: ${found.price_note}`]),
  ]
}

function bandLine({ band, undefined_because, in_force, entered, bars_in_force, initial, event }: Explanation): string {
  const here = band ?? `no band (${undefined_because})`
  if (event !== null) return `band: ${here}, entered on this bar from ${event.prev_band}`
  if (in_force === null) return `band: ${here}`
  const how = initial ? 'the first band that the field had' : 'entered'
  const since = `${how} on ${entered}, ${whole(bars_in_force!)} bars before`
  return band === in_force ? `band: ${here}, ${since}` : `band: ${here}; in force: ${in_force}, ${since}`
}

function readings({ readings: figures }: Explanation): Block {
  return {
    table: {
      columns: [{ title: 'FIGURE' }, { title: 'VALUE', align: 'right' }, { title: 'NOTE', spare: 1, wraps: true }],
      rows: figures.map(({ name, value, note }) => [name, value === null ? 'undefined' : figure(value), note ?? '']),
    },
  }
}

function historyLines({ bars_before, history_from, warm_up, initial, band }: Explanation): string[] {
  const lines = [`${whole(bars_before)} bars of history before this one, from ${history_from} on.`]
  if (warm_up.bars > 0 && warm_up.first_date !== null)
    lines.push(`The field needs ${whole(warm_up.bars)} bars first; it can have a band from ${warm_up.first_date} on.`)
  if (initial && band !== null) lines.push('No event: a first band is entered by no transition.')
  return lines
}

function eventBlocks(event: ExplainedEvent, { words }: Screen): Block[] {
  const { windows, stability, flips, flips_lookback } = event
  if (windows === null) return []
  const rows = Object.entries(windows).map(([name, seen]): Cell[] => [
    name,
    seen.ends ?? 'open',
    seen.return === null ? '' : signed(seen.return),
    seen.percentile === null ? '' : seen.percentile.toFixed(1),
    performanceCell(seen.performance, seen.missing ?? undefined, true),
    `${whole(seen.sample)}${seen.sample < seen.sample_needed ? ` of ${seen.sample_needed}` : ''}`,
  ])
  const columns = [
    { title: 'WINDOW' },
    { title: 'ENDS', spare: 1 },
    { title: 'RETURN', align: 'right' as const },
    { title: 'PERCENTILE', align: 'right' as const, spare: 2 },
    { title: words ? 'PERFORMANCE' : 'BAND' },
    { title: 'SAMPLE', align: 'right' as const, spare: 3 },
  ]
  const notes = [`stability: ${stability?.because}`]
  if (flips !== undefined) notes.push(`flips in the last ${flips_lookback}: ${flips.join(', ')}`)
  return [
    { title: ['Event'], notes },
    {
      table: { columns, rows },
      notes: ['Each return is ranked among the returns over as many bars that had ended by then.'],
    },
  ]
}
