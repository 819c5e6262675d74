import { WHOLE_RANGE } from '../../core/tiers.js'
import type { FieldState, Now } from '../../research/tally/now.js'
import { type Column, column, type Described, type Paragraph, tablePart } from './description.js'
import { asOfText, omittedNotes, rangeInWords, tickersText } from './words.js'

/** The current band of every field, its start and usual duration. @param withUnknown also fields without a band */
export function describeNow(now: Now, { withUnknown }: { withUnknown: boolean }): Described {
  const { timeframe, as_of, query_range, states, omitted } = now
  return {
    document: now,
    columns: [
      ...['ticker', 'field', 'timeframe', 'as_of', 'band', 'since', 'bars', 'initial', 'prev_band'],
      ...['completed_stays_n', 'completed_stays_median', 'completed_stays_p90'],
    ],
    // Computed on demand: an output uses only rows or only paragraphs, and for a whole market each takes long.
    get rows() {
      return states.map(({ ticker, field, ...state }) => ({ ticker, field, timeframe, as_of, ...state }))
    },
    get paragraphs() {
      return states.length === 0 ? [] : [nowParagraph(now, withUnknown)]
    },
    warnings: omittedNotes(omitted),
    method:
      states.length === 0
        ? []
        : [`BARS: so far, today's too. MEDIAN, P90: bars that it lasts, of STAYS in ${rangeInWords(query_range)}.`],
  }
}

/** The table of current bands; one ticker needs no column of tickers. @param withUnknown also fields without a band */
function nowParagraph({ timeframe, as_of, query_range, states }: Now, withUnknown: boolean): Paragraph {
  const withBand = states.filter(state => state.band !== null)
  const shown = withUnknown || withBand.length === 0 ? states : withBand
  const tickers = [...new Set(shown.map(state => state.ticker))]
  const hasSeveralTickers = tickers.length > 1
  const columns = [
    column('ticker', 'text', hasSeveralTickers ? {} : { on: 'pipe' }),
    ...STATE_COLUMNS,
    durationColumn(query_range),
  ]
  const note = '* since the beginning of the data: no event entered it'
  return {
    heading: [`${tickersText(tickers)}  ${timeframe}`, ...asOfText({ as_of })],
    parts: [
      tablePart('Where every field stands', columns, shown, hasSeveralTickers ? { grouped: true } : {}),
      { on: 'screen', notes: shown.some(state => state.initial) ? [note] : [] },
    ],
  }
}

const STATE_COLUMNS: readonly Column<FieldState>[] = [
  column('field'),
  column('band'),
  { title: 'Since', kind: 'date', hidePriority: 2, value: row => row.since && `${row.since}${row.initial ? '*' : ''}` },
  column('bars', 'bars', { hidePriority: 1 }),
  { title: 'From', kind: 'text', on: 'wide', value: ({ prev_band }) => prev_band },
  { title: 'Median', kind: 'bars', hidePriority: 3, value: ({ completed_stays }) => completed_stays.median },
  { title: 'P90', kind: 'bars', hidePriority: 4, value: ({ completed_stays }) => completed_stays.p90 },
]

/** The number of completed periods of a band; none instead of 0 in a limited range, which may hide earlier periods. */
function durationColumn(range: string | null): Column<FieldState> {
  const hidesEarlier = range !== WHOLE_RANGE
  const value = ({ completed_stays: { n } }: FieldState): number | null => (n === 0 && hidesEarlier ? null : n)
  return { title: 'Stays', kind: 'count', hidePriority: 5, value }
}
