import { PERFORMANCES } from '../../model/series.js'
import { count, share, signed, whole } from '../../present/numbers.js'
import { SIGNS } from '../../present/words.js'
import type { ReturnFigures } from '../../tally/base.js'
import type { Tally, TallyGroup, TallyWindow } from '../../tally/tally.js'
import { type Block, type Cell, type Column, type Screen, toned } from './table.js'

/** Two tables: how often each performance band followed, and, where prices are known, the returns beside those after any bar. */
export function tallyBlocks(found: Tally, screen: Screen): Block[] {
  const grouped = found.by !== null
  const label: Column[] = grouped ? [{ title: found.by!.toUpperCase() }] : []
  const name = (group: TallyGroup, w: number): Cell[] => {
    if (!grouped) return []
    return [w === 0 || screen.words ? (group.group ?? '(none)') : '']
  }
  const each = (row: (window: TallyWindow) => Cell[]): Cell[][] =>
    found.groups.flatMap(group => group.windows.map((window, w) => [...name(group, w), ...row(window)]))
  const counts: Block = {
    title: title(found),
    table: { columns: [...label, ...countColumns(screen.words)], rows: each(countCells) },
  }
  if (found.groups.length === 0) return [counts]
  // Of a server: without prices the second table would hold nothing.
  if (found.groups.every(group => group.windows.every(window => window.base.kind === 'theoretical')))
    return [{ ...counts, notes: notes(found) }]
  return [
    counts,
    {
      title: ['Returns, beside those after any bar'],
      table: { columns: [...label, ...returnColumns()], rows: each(returnCells) },
      notes: notes(found),
    },
  ]
}

function title({ tickers, field, band, timeframe, context, events, query_range, as_of }: Tally): string[] {
  const who = tickers.length <= 3 ? tickers.join(', ') : count(tickers.length, 'ticker')
  const phrases = [
    `${who}  ${band === null ? field : `${field} = ${band}`}  ${timeframe}`,
    `${count(events, 'event')} in ${query_range ?? 'no range'}`,
    ...(as_of === null ? [] : [`as of ${as_of}`]),
  ]
  if (context !== null) {
    const state = context.band === null ? context.field : `${context.field} = ${context.band}`
    phrases.splice(1, 0, `${context.band === null ? 'beside' : 'while'} ${context.ticker} ${state}`)
  }
  return phrases
}

function countColumns(words: boolean): Column[] {
  const right = (title: string, spare?: number): Column => ({
    title,
    align: 'right',
    ...(spare === undefined ? {} : { spare }),
  })
  return [
    { title: 'WINDOW' },
    right('N'),
    right('OPEN', 20),
    right(words ? 'NO_HISTORY' : '?', 21),
    ...PERFORMANCES.map((name, i) => right(words ? name.toUpperCase() : SIGNS[i]!, 10 - Math.abs(i - 3))),
    right('GAIN'),
    right('95%', 1),
    right('USUAL', 0),
  ]
}

function countCells({ window, n, pending, no_history, counts, gain, base }: TallyWindow): Cell[] {
  const usual = base.gain_share
  const difference = gain.share === null || usual === null ? 0 : Math.sign(gain.share - usual)
  return [
    window,
    whole(n),
    whole(pending),
    whole(no_history),
    ...PERFORMANCES.map(name => (counts[name] === 0 ? '.' : whole(counts[name]))),
    gain.share === null ? '-' : toned(share(gain.share), difference),
    gain.low === null || gain.high === null ? '-' : `${share(gain.low).slice(0, -1)}-${share(gain.high)}`,
    usual === null ? '-' : share(usual),
  ]
}

function returnColumns(): Column[] {
  const figures = [
    'N',
    'HIT',
    'MEAN',
    'MEDIAN',
    'P10',
    'P90',
    'ANY HIT',
    'ANY MEAN',
    'ANY MEDIAN',
    'ANY P10',
    'ANY P90',
  ]
  const columns = figures.map((title, i): Column => {
    const spare = SPARE[i] ?? null
    return spare === null ? { title, align: 'right' } : { title, align: 'right', spare }
  })
  return [{ title: 'WINDOW' }, ...columns]
}

/** The tails of any bar go first, then those of the events, then the middles. */
const SPARE = [null, 1, 4, null, 6, 7, 3, 2, 5, 9, 8]

function returnCells({ window, returns, base }: TallyWindow): Cell[] {
  return [window, whole(returns.n), ...figures(returns), ...figures(base.returns)]
}

function figures({ hit_rate, mean, median, p10, p90 }: ReturnFigures): Cell[] {
  const rate = hit_rate === null ? '-' : share(hit_rate)
  return [
    rate,
    ...[mean, median, p10, p90].map(value => (value === null ? '-' : toned(signed(value), Math.sign(value)))),
  ]
}

/** What the figures must be read with; of many groups only what holds for all. */
function notes({ groups, warnings, events }: Tally): string[] {
  const few = groups.length > 1 ? groups.filter(group => group.warnings.length > 0).length : 0
  const own = groups.length === 1 ? groups[0]!.warnings : []
  const lines = [...own, ...warnings]
  if (few > 0)
    lines.push(
      `${count(few, 'group')} of ${groups.length} must be read with care (few or overlapping windows): --json says which.`,
    )
  if (events > 0)
    lines.push(
      'Looking at many windows and groups finds luck too: of twenty, one lies outside its 95% interval by chance.',
    )
  return lines
}
