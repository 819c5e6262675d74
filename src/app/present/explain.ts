import { figureText, numberText } from '../../core/numbers.js'
import type { ExplainedEvent, ExplainedTest, Explanation } from '../../data/local/explain.js'
import { type Column, column, compact, type Described, type Paragraph, tablePart } from './description.js'
import { performanceTone } from './events.js'
import { fileText } from './words.js'

/** The bar, its rule, its figures or tests, its history and event. CSV has a row for each figure or test. */
export function describeExplanation(explanation: Explanation): Described {
  const { ticker, field, timeframe, date, as_of, band, in_force, entered, readings, tests, rule, event } = explanation
  const bar = { ticker, field, timeframe, date, band, in_force, entered }
  const figures: object[] = readings.map(({ name, value, note }) => ({ ...bar, reading: name, value, note }))
  for (const { test, holds, band: testedBand, date: day } of tests ?? []) {
    const note = day === null ? 'no bar counts' : `${testedBand ?? 'no band'} on ${day}`
    figures.push({ ...bar, reading: test, value: holds, note })
  }
  const heading = [`${ticker}  ${field}  ${timeframe}`, date, `as of ${as_of}`]
  const figureTable = tablePart('Figures', READING_COLUMNS, readings)
  const table = tests === undefined ? figureTable : tablePart('Tests', TEST_COLUMNS, tests)
  return {
    document: explanation,
    columns: ['ticker', 'field', 'timeframe', 'date', 'band', 'in_force', 'entered', 'reading', 'value', 'note'],
    rows: figures.length > 0 ? figures : [{ ...bar, reading: null, value: null, note: null }],
    paragraphs: [
      { heading, parts: [{ notes: barLines(explanation) }] },
      { heading: ['Rule'], parts: [{ notes: [rule] }] },
      { heading: [], parts: [table, { notes: historyLines(explanation) }] },
      ...(event === null ? [] : eventParagraphs(event)),
    ],
  }
}

const READING_COLUMNS: readonly Column<Explanation['readings'][number]>[] = [
  { title: 'Figure', kind: 'text', value: ({ name }) => name },
  { title: 'Value', kind: 'price', value: ({ value }) => value ?? 'undefined' },
  { title: 'Note', kind: 'text', hidePriority: 1, wraps: true, value: ({ note }) => note ?? '' },
]

const TEST_COLUMNS: readonly Column<ExplainedTest>[] = [
  { title: 'Test', kind: 'text', wraps: true, value: ({ test }) => test },
  { title: 'Holds', kind: 'text', value: ({ holds }) => TRUTH_WORDS[String(holds)] ?? 'unknown' },
  { title: 'Band', kind: 'text', value: ({ band }) => band ?? '(none)' },
  { title: 'On', kind: 'date', hidePriority: 1, value: ({ date }) => date },
]

const TRUTH_WORDS: Readonly<Record<string, string>> = { true: 'yes', false: 'no' }

/** Sentences about the bar: its band, its prices and their source. */
function barLines(explanation: Explanation): string[] {
  const { open, high, low, close, volume, prices: adjustment, imported_at, begun: firstImport } = explanation
  const importDay = imported_at.slice(0, 10)
  const importDays = firstImport === undefined ? importDay : `${firstImport.imported_at.slice(0, 10)} to ${importDay}`
  const volumeText = volume === null ? 'unknown' : numberText(volume)
  return compact([
    explanation.date_note !== null && `note: ${explanation.date_note}`,
    bandLine(explanation),
    `open ${figureText(open)}  high ${figureText(high)}  low ${figureText(low)}  close ${figureText(close)}  volume ${volumeText}`,
    `${adjustment} prices from ${sourceText(explanation)}, imported ${importDays}`,
    explanation.price_note !== null && `note: ${explanation.price_note}`,
  ])
}

/** The source of a bar's prices; for a week with bars of several files also the number of its days. */
function sourceText({ source_bars: { first, last, bars, of: total }, ...source }: Explanation): string {
  const file = fileText(source)
  return bars === total ? file : `${file} (${numberText(bars)} of ${numberText(total)} daily bars, ${first} to ${last})`
}

/** `band: oversold, entered on this bar from neutral`, or since when the last known band (`in_force`) lasts. */
function bandLine({ band, undefined_because, in_force, entered, bars_in_force, initial, event }: Explanation): string {
  const bandText = `band: ${band ?? `no band (${undefined_because})`}`
  if (event !== null) return `${bandText}, entered on this bar from ${event.prev_band}`
  if (in_force === null) return bandText
  const beginning = initial ? 'the first band that the field had' : 'entered'
  const since = `${beginning} on ${entered}, ${numberText(bars_in_force!)} bars before`
  return band === in_force ? `${bandText}, ${since}` : `${bandText}; in force: ${in_force}, ${since}`
}

/** Sentences about the bars before this one, and the number that the field needs. */
function historyLines({ bars_before, history_from, warm_up, initial, band }: Explanation): string[] {
  return compact([
    `${numberText(bars_before)} bars of history before this one, from ${history_from} on.`,
    warm_up.bars > 0 &&
      warm_up.first_date !== null &&
      `The field needs ${numberText(warm_up.bars)} bars first; it can have a band from ${warm_up.first_date} on.`,
    initial && band !== null && 'No event: a first band is entered by no transition.',
  ])
}

/** An event's stability and flips, and a table of the windows after it. Empty if the tier hides later returns. */
function eventParagraphs({ windows, stability, flips, flips_lookback }: ExplainedEvent): Paragraph[] {
  if (windows === null) return []
  const rows = Object.entries(windows).map(([window, result]) => ({ window, ...result }))
  const notes = [`stability: ${stability?.because}`]
  if (flips !== undefined) notes.push(`flips in the last ${flips_lookback}: ${flips.join(', ')}`)
  const table = tablePart('What followed', [column('window', 'window'), ...WINDOW_COLUMNS], rows)
  const rankNote = 'Each return is ranked among the returns over as many bars that had ended by then.'
  return [
    { heading: ['Event'], parts: [{ notes }] },
    { heading: [], parts: [table, { notes: [rankNote] }] },
  ]
}

type WindowRow = NonNullable<ExplainedEvent['windows']>[string] & { window: string }

const WINDOW_COLUMNS: readonly Column<WindowRow>[] = [
  { title: 'Ends', kind: 'text', hidePriority: 1, value: ({ ends }) => ends ?? 'open' },
  { title: 'Return', kind: 'return', value: row => row.return ?? '' },
  { title: 'Percentile', kind: 'oneDecimal', hidePriority: 2, value: ({ percentile }) => percentile ?? '' },
  {
    title: 'Performance',
    screenTitle: 'BAND',
    kind: 'text',
    value: ({ performance, missing }) => performance ?? missing ?? 'pending',
    tone: ({ performance }) => performanceTone(performance),
  },
  {
    title: 'Sample',
    kind: 'count',
    hidePriority: 3,
    value: ({ sample, sample_needed: needed }) => `${numberText(sample)}${sample < needed ? ` of ${needed}` : ''}`,
  },
]
