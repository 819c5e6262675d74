import type { FieldState, Now } from '../../study/now.js'
import type { Answer } from '../output.js'
import { count, whole } from '../render/amounts.js'
import type { Screen } from '../render/layout.js'
import type { Block, Cell } from '../render/table.js'

/**
 * Where every field stands, since when, and how long such stays lasted.
 * @param unknown whether people are shown fields without a band, too
 */
export function nowAnswer(found: Now, { unknown }: { unknown: boolean }): Answer {
  return {
    document: () => found,
    columns: [
      ...['ticker', 'field', 'timeframe', 'as_of', 'band', 'since', 'bars', 'initial', 'prev_band'],
      ...['completed_stays_n', 'completed_stays_median', 'completed_stays_p90'],
    ],
    rows: () => {
      const { timeframe, as_of } = found
      return found.states.map(({ ticker, field, ...state }) => ({ ticker, field, timeframe, as_of, ...state }))
    },
    blocks: screen => [block(unknown ? found : seen(found), screen)],
  }
}

/** The states with a band; all where there is none. */
function seen(found: Now): Now {
  const states = found.states.filter(state => state.band !== null)
  return states.length === 0 ? found : { ...found, states }
}

function block({ timeframe, as_of, query_range, states }: Now, { words }: Screen): Block {
  const tickers = new Set(states.map(state => state.ticker))
  const several = tickers.size > 1 || words
  const who = tickers.size > 3 ? count(tickers.size, 'ticker') : [...tickers].join(', ')
  const right = { align: 'right' as const }
  return {
    title: [
      `${who}  ${timeframe}`,
      `stays of the last ${query_range ?? '?'}, in bars`,
      ...(as_of === null ? [] : [`as of ${as_of}`]),
    ],
    table: {
      columns: [
        ...(several ? [{ title: 'TICKER' }] : []),
        { title: 'FIELD' },
        { title: 'BAND' },
        { title: 'SINCE', spare: 2 },
        { title: 'BARS', ...right, spare: 1 },
        { title: 'FROM', spare: 6 },
        { title: 'MEDIAN', ...right, spare: 3 },
        { title: 'P90', ...right, spare: 4 },
        { title: 'STAYS', ...right, spare: 5 },
      ],
      rows: states.map((state, i) => [
        ...(several ? [words || states[i - 1]?.ticker !== state.ticker ? state.ticker : ''] : []),
        ...cells(state),
      ]),
    },
    notes:
      !words && states.some(state => state.initial) ? ['* since the beginning of the data: no event entered it'] : [],
  }
}

function cells({ field, band, since, bars, initial, prev_band, completed_stays: stays }: FieldState): Cell[] {
  const number = (value: number | null): string => (value === null ? '-' : whole(Math.round(value * 10) / 10))
  return [
    field,
    band ?? '-',
    since === null ? '-' : `${since}${initial ? '*' : ''}`,
    number(bars),
    prev_band ?? '-',
    number(stays.median),
    number(stays.p90),
    whole(stays.n),
  ]
}
