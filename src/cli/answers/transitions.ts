import type { Dwell } from '../../study/dwell.js'
import type { Transitions } from '../../study/transitions.js'
import type { Answer } from '../output.js'
import { count, whole } from '../render/amounts.js'
import type { Screen } from '../render/layout.js'
import { share } from '../render/performance.js'
import type { Row } from '../render/records.js'
import type { Block, Cell, Column, Table } from '../render/table.js'

/** Which band follows which, and how long each lasts; for machines a row for every pair of bands. */
export function transitionsAnswer(found: Transitions): Answer {
  return {
    document: () => found,
    columns: [
      ...['ticker', 'tickers', 'field', 'timeframe', 'from', 'to', 'count', 'share'],
      ...['from_stays', 'from_completed', 'from_censored', 'from_median', 'from_p90', 'from_mean', 'from_longest'],
    ],
    rows: () => rows(found),
    blocks: screen => blocks(found, screen),
  }
}

function rows({ tickers, field, timeframe, bands, matrix, dwell }: Transitions): Row[] {
  const ticker = tickers.length === 1 ? tickers[0]! : null
  return matrix.flatMap(({ from, counts, shares }) => {
    const stays = dwell.find(({ band }) => band === from)!
    return bands
      .filter(to => to !== from)
      .map(to => ({
        ...{ ticker, tickers: tickers.length, field, timeframe, from, to, count: counts[to], share: shares[to] },
        ...{ from_stays: stays.stays, from_completed: stays.completed, from_censored: stays.censored },
        ...{ from_median: stays.median, from_p90: stays.p90, from_mean: stays.mean, from_longest: stays.longest },
      }))
  })
}

function blocks(found: Transitions, { words }: Screen): Block[] {
  const { tickers, field, timeframe, events, query_range, as_of } = found
  const who = tickers.length > 3 ? count(tickers.length, 'ticker') : tickers.join(', ')
  return [
    {
      title: [
        `${who}  ${field}  ${timeframe}`,
        `${count(events, 'transition')} in ${query_range ?? '?'}`,
        ...(as_of === null ? [] : [`as of ${as_of}`]),
      ],
      table: matrixTable(found, words),
    },
    { title: ['How long a band lasts, in bars'], table: dwellTable(found, words), notes: found.notes },
  ]
}

/** Columns have letters on a terminal, because the names of seven bands side by side are wider than it. */
function matrixTable({ bands, matrix }: Transitions, words: boolean): Table {
  const columns = bands.map((band, i): Column => ({ title: words ? band : letter(i), align: 'right', spare: i }))
  return {
    columns: [{ title: words ? 'FROM' : '  FROM' }, { title: 'N', align: 'right' }, ...columns],
    rows: matrix.map(({ from, n, shares }, i): Cell[] => [
      words ? from : `${letter(i)} ${from}`,
      whole(n),
      ...bands.map(to => (to === from || shares[to] == null ? '-' : shares[to] === 0 ? '.' : share(shares[to]))),
    ]),
  }
}

function letter(i: number): string {
  return String.fromCharCode('A'.charCodeAt(0) + i)
}

function dwellTable({ dwell }: Transitions, words: boolean): Table {
  const right = (title: string, spare: number): Column => ({ title, align: 'right', spare })
  return {
    columns: [
      { title: words ? 'BAND' : '  BAND' },
      ...[right('STAYS', 1), right('ENDED', 5), right('ACTIVE', 6)],
      ...[right('MEDIAN', 0), right('P90', 2), right('MEAN', 4), right('LONGEST', 3)],
    ],
    rows: dwell.map((stays, i): Cell[] => [words ? stays.band : `${letter(i)} ${stays.band}`, ...dwellCells(stays)]),
  }
}

function dwellCells({ stays, completed, censored, median, p90, mean, longest, longest_is_active }: Dwell): Cell[] {
  const number = (value: number | null): string => (value === null ? '-' : whole(Math.round(value * 10) / 10))
  return [
    ...[stays, completed, censored].map(whole),
    ...[median, p90, mean].map(number),
    `${number(longest)}${longest_is_active ? '+' : ''}`,
  ]
}
