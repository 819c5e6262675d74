import { PERFORMANCES, type Performance } from '../../core/model/series.js'
import { count, listNames, numberText, share } from '../../core/numbers.js'
import type { BandCount, BandCounts } from '../../data/local/band-counts.js'
import type { ReturnFigures } from '../../research/tally/base.js'
import type { Tally, TallyWindow } from '../../research/tally/tally.js'
import { eventsAndCases, tallyAnswer } from './answer.js'
import {
  type Column,
  type Content,
  column,
  compact,
  type Described,
  type Description,
  type Paragraph,
  type Stacks,
  section,
  type Table,
  type Tone,
  tablePart,
} from './description.js'
import { windowColumn } from './study-bands.js'
import {
  asOfText,
  boundsText,
  eventTitle,
  pageTitle,
  rangeInWords,
  readingSection,
  SIGNS,
  stateText,
  tickerColumns,
  tickersText,
} from './words.js'

/** Counts events by group and performance band of the later return. CSV has a row for each group and window. */
export function describeTally(tally: Tally): Described {
  const { tickers, field, timeframe, band, by, groups } = tally
  const question = { ...tickerColumns(tickers), field, timeframe, band, by }
  const [countsTable, ...returnTables] = tableParts(tally)
  return {
    document: tally,
    columns: RECORD_COLUMNS,
    rows: groupWindows(tally).map(groupWindow => ({ ...question, ...groupWindow })),
    paragraphs: [
      // A notice on stderr gives the reason for an empty answer.
      tally.events === 0
        ? { heading: tallyHeading(tally), parts: [] }
        : { heading: [tallyAnswer(tally)], parts: [{ phrases: tallyHeading(tally) }, countsTable!] },
      ...returnTables.map((part): Paragraph => ({ heading: [part.table.caption], on: 'wide', parts: [part] })),
    ],
    notes: groups.length === 0 ? [] : tallyNotes(tally),
    method: groups.length === 0 ? [] : compact([rankedText(tally), anyBarText(tally)]),
  }
}

/** A sentence that the figures of any bar ignore the context; null without a context, and for a server's figures. */
function anyBarText({ context, groups }: Tally): string | null {
  const isFromServer = groups.some(({ windows }) => windows.some(({ base }) => base.kind === 'theoretical'))
  if (context === null || isFromServer) return null
  return `ANY: after any bar, also while ${context.ticker} was in another band, as ranks count the whole past. bands study compares with bars in the same band.`
}

/** The line that explains the performance bands, and says how many events have none in some window. */
function rankedText({ groups }: Tally): string {
  const unrankedIn = ({ windows }: Tally['groups'][number]): number =>
    Math.max(0, ...windows.map(window => window.no_history))
  const unranked = groups.reduce((sum, group) => sum + unrankedIn(group), 0)
  const ranks =
    "Ranks in the ticker's own past: --- (sharp_decline) worst 5%, -- next 15%, - next 20%, = (flat) middle 20%, likewise up to +++ (sharp_gain)."
  if (unranked === 0) return ranks
  return `${ranks} ${count(unranked, 'event')} ${unranked === 1 ? 'has' : 'have'} too little past to be ranked.`
}

/** The page of a tally: a picture of later returns compared with any bar, and the tables of the terminal. */
export function describeTallyPage(tally: Tally): Description {
  const { tickers, field, band, timeframe, when, events, query_range } = tally
  const [countsTable, ...returnTables] = tableParts(tally)
  const pictures = stackParts(tally)
  return {
    document: tally,
    kind: 'Tally',
    title: pageTitle(`After ${eventTitle(field, band?.split(',') ?? null)}`, { tickers, first: null, last: null }),
    answer: tallyAnswer(tally),
    heading: tallyHeading(tally),
    assumed: [],
    lead: pictures.slice(0, 1),
    warnings: tallyNotes(tally),
    facts: [
      ['Tickers', listNames(tickers)],
      ['Asked', compact([field, when !== undefined && `when ${when}`, timeframe]).join(', ')],
      ['Range', `${boundsText(tally) ?? query_range ?? 'none'}, ${count(events, 'event')}`],
    ],
    sections: compact([
      section({ id: 'counts', title: 'Counts' }, [countsTable]),
      returnTables.length > 0 && section({ id: 'returns', title: 'Returns' }, returnTables),
      pictures.length > 1 &&
        section({ id: 'windows', title: 'Over the other windows', short: 'Windows' }, pictures.slice(1)),
      readingSection('tally'),
    ]),
    longLists: [{ key: 'groups', keptEnd: 'first', fullListOption: '--json' }],
  }
}

/** `rsi_zone = oversold or deep_oversold`: the queried bands, which the document joins by commas. */
function bandText({ field, band }: { field: string; band: string | null }): string {
  return stateText(field, band?.split(',') ?? null)
}

function eventConditions({ context, when }: Tally): string[] {
  return compact([
    context && `${context.band === null ? 'beside' : 'while'} ${context.ticker} ${bandText(context)}`,
    when !== undefined && `when ${when}`,
  ])
}

/** One group: a figure with a row for each window. Several: a figure for each window, the middle one first. */
function stackParts({ groups }: Tally): { stacks: Stacks }[] {
  const [firstGroup] = groups
  if (firstGroup === undefined) return []
  if (groups.length === 1) {
    const rows = firstGroup.windows.map(row => ({ ...row, label: row.window }))
    return [{ stacks: { id: 'followed', title: 'What followed', names: 'short', rows: stackRows(rows) } }]
  }
  const names = firstGroup.windows.map(({ window }) => window)
  const middle = Math.floor((names.length - 1) / 2)
  const otherWindows = [...names.keys()].filter(w => w !== middle)
  return [middle, ...otherWindows].map(w => {
    const rows = groups.slice(0, MOST_DRAWN).map(({ group, windows }) => ({ ...windows[w]!, label: group ?? '(none)' }))
    const id = `followed-${names[w]}`
    const title = `What followed over ${names[w]}`
    return { stacks: { id, title, names: 'long', rows: stackRows(rows) } }
  })
}

/** Two rows for each row of a tally: the shares after the events, and after any bar. */
function stackRows(rows: readonly (TallyWindow & { label: string })[]): Stacks['rows'] {
  return rows
    .filter(({ n }) => n > 0)
    .flatMap(({ label, n, counts, base }) => [
      { label, note: `events, n ${numberText(n)}`, counts: PERFORMANCES.map(name => counts[name]), isBase: false },
      { label: '', note: 'any bar', counts: PERFORMANCES.map(name => base.shares[name] ?? 0), isBase: true },
    ])
}

/** The largest number of groups in a picture; the tables have all. */
const MOST_DRAWN = 30

type GroupWindow = TallyWindow & { group: string | null }

function groupWindows({ groups }: Tally): GroupWindow[] {
  return groups.flatMap(({ group, windows }) => windows.map(window => ({ group, ...window })))
}

/** Counts of each performance band, and returns; a server's tally has no returns, and a theoretical base. */
function tableParts(tally: Tally): { table: Table }[] {
  const { by } = tally
  const rows = groupWindows(tally)
  const headColumns: Column<GroupWindow>[] = [windowColumn(tally.timeframe)]
  if (by !== null) headColumns.unshift({ title: by, kind: 'text', value: ({ group }) => group ?? '(none)' })
  const table = (caption: string, columns: readonly Column<GroupWindow>[]) =>
    tablePart(caption, [...headColumns, ...columns], rows, by === null ? {} : { grouped: true })
  const caption = 'How often each performance band followed'
  const isPriced = rows.some(({ base }) => base.kind !== 'theoretical')
  const counts = [...COUNT_COLUMNS, ...rankColumns(rows)]
  if (!isPriced) return [table(caption, [...counts, ...TOP_COLUMNS])]
  return [
    table(caption, [...counts, ...ROSE_COLUMNS, ...TOP_COLUMNS]),
    table('Returns, compared with those after any bar', RETURN_COLUMNS),
  ]
}

const RETURN_KEYS = ['n', 'hit_rate', 'mean', 'median', 'p10', 'p90']

const RECORD_COLUMNS = [
  ...['ticker', 'tickers', 'field', 'timeframe', 'band', 'by', 'group'],
  ...['window', 'events', 'n', 'n_independent', 'pending', 'no_history'],
  ...PERFORMANCES.map(name => `counts_${name}`),
  ...PERFORMANCES.map(name => `shares_${name}`),
  ...RETURN_KEYS.map(name => `returns_${name}`),
  ...['hit_low', 'hit_high', 'top_share', 'top_low', 'top_high'],
  ...['overlapping', 'base_kind', 'base_n'],
  ...PERFORMANCES.map(name => `base_shares_${name}`),
  ...RETURN_KEYS.map(name => `base_returns_${name}`),
  'base_top_share',
]

function tallyHeading(tally: Tally): string[] {
  const { groups, events } = tally
  return [
    `${tickersText(tally.tickers)}  ${bandText(tally)}  ${tally.timeframe}`,
    ...eventConditions(tally),
    eventsAndCases(events, groups.length === 1 ? groups[0]!.windows : []),
    boundsText(tally) ?? rangeInWords(tally.query_range),
    ...asOfText(tally),
  ]
}

const COUNT_COLUMNS: readonly Column<GroupWindow>[] = [
  column('n', 'count'),
  // The ranks stay longer: without the middle ones they look like two extremes.
  { title: 'Indep', kind: 'count', hidePriority: 11, value: ({ n_independent }) => n_independent },
  { title: 'Open', kind: 'count', on: 'wide', value: ({ pending }) => pending },
  { title: 'No history', kind: 'count', on: 'wide', value: ({ no_history }) => no_history },
]

/**
 * A column for each performance band: the number of events, or their share if there are many. Numbers of four digits
 * would not fit on a terminal of 80 columns.
 */
function rankColumns(rows: readonly GroupWindow[]): Column<GroupWindow>[] {
  const areMany = rows.some(({ n }) => n >= MANY_EVENTS)
  const value = ({ counts, shares }: GroupWindow, name: Performance): Content =>
    (areMany ? shares : counts)[name] || '.'
  return PERFORMANCES.map((name, i) => ({
    title: name,
    screenTitle: SIGNS[i]!,
    kind: areMany ? 'share' : 'count',
    hidePriority: 10 - Math.abs(i - 3),
    value: row => value(row, name),
  }))
}

const MANY_EVENTS = 1_000

const ROSE_COLUMNS: readonly Column<GroupWindow>[] = [
  { title: 'Rose', kind: 'share', hidePriority: 0, value: ({ returns }) => returns.hit_rate },
  { title: 'Any', kind: 'share', hidePriority: 2, value: ({ base }) => base.returns.hit_rate },
]

const TOP_COLUMNS: readonly Column<GroupWindow>[] = [
  { title: 'Top 40%', kind: 'share', value: ({ top_share }) => top_share, tone: topTone },
  { title: '95%', kind: 'share', hidePriority: 1, value: ({ top_low, top_high }) => [top_low, top_high] },
  { title: 'Any', kind: 'share', hidePriority: 0, value: ({ base }) => base.top_share },
]

/** The tone of the share among the best 40%: good or bad if the share after any bar is outside its 95% interval. */
export function topTone({ top_low, top_high, base }: TallyWindow): Tone | undefined {
  const baseShare = base.top_share
  if (baseShare === null || top_low === null || top_high === null) return undefined
  if (baseShare < top_low) return 'good'
  return baseShare > top_high ? 'bad' : undefined
}

/** The events, then any bar. Narrow tables drop the tails of any bar first, then of the events, then the middles. */
const RETURN_COLUMNS: readonly Column<GroupWindow>[] = [
  { title: 'N', kind: 'count', value: ({ returns }) => returns.n },
  ...figureColumns('', ({ returns }) => returns, [4, undefined, 6, 7]),
  ...figureColumns('Any ', ({ base }) => base.returns, [2, 5, 9, 8]),
]

/** Columns of mean, median, p10 and p90. @param hidePriorities of each column; undefined for one that always shows */
function figureColumns(
  prefix: string,
  figuresOf: (row: GroupWindow) => ReturnFigures,
  hidePriorities: readonly (number | undefined)[],
): Column<GroupWindow>[] {
  const names = ['mean', 'median', 'p10', 'p90'] as const
  return names.map((name, i) => {
    const column: Column<GroupWindow> = { title: prefix + name, kind: 'return', value: row => figuresOf(row)[name] }
    const hidePriority = hidePriorities[i]
    return hidePriority === undefined ? column : { ...column, hidePriority }
  })
}

/** Cautions about the figures. Several groups show the common ones, and how many groups have cautions of their own. */
function tallyNotes({ groups, warnings, events }: Tally): string[] {
  const groupsWithWarnings = groups.filter(group => group.warnings.length > 0).length
  return compact([
    ...(groups.length === 1 ? groups[0]!.warnings : []),
    ...warnings,
    groups.length > 1 &&
      groupsWithWarnings > 0 &&
      `${count(groupsWithWarnings, 'group')} of ${groups.length} must be read with care (few or overlapping windows): --json says which.`,
    events > 0 && 'Many windows: of twenty, one lies outside its 95% interval by chance.',
  ])
}

/** Describes how often each band of some fields occurred, in a table for each field; for machines, a row a band. */
export function describeBandCounts(counts: BandCounts): Described {
  const { timeframe, tickers, fields } = counts
  return {
    document: counts,
    columns: [
      ...['field', 'hash', 'timeframe', 'tickers', 'band', 'bars', 'share', 'events'],
      ...['by_ticker_least', 'by_ticker_median', 'by_ticker_most'],
    ],
    rows: fields.flatMap(({ field, hash, bands }) => bands.map(band => ({ field, hash, timeframe, tickers, ...band }))),
    paragraphs: fields.map(({ field, bars, undefined: barsWithoutBand, bands }) => {
      const withoutBand = `${share(barsWithoutBand / bars)} of ${count(bars, 'bar')} without a band`
      const heading = [field, timeframe, count(tickers, 'ticker'), bars === 0 ? 'no bars' : withoutBand]
      return { heading, parts: [tablePart(field, BAND_COUNT_COLUMNS, bands)] }
    }),
  }
}

const BAND_COUNT_COLUMNS: readonly Column<BandCount>[] = [
  column('band'),
  { title: 'Share', kind: 'share', value: ({ share }) => share },
  { title: '', kind: 'text', value: ({ share }) => '#'.repeat(Math.round((share ?? 0) * BAR_CHARACTERS)) || null },
  column('bars', 'count', { hidePriority: 2 }),
  column('events', 'count', { hidePriority: 1 }),
  // The tickers with the smallest, the middle and the greatest share.
  { title: 'Least', kind: 'share', hidePriority: 4, value: ({ by_ticker }) => by_ticker.least },
  { title: 'Median', kind: 'share', hidePriority: 3, value: ({ by_ticker }) => by_ticker.median },
  { title: 'Most', kind: 'share', hidePriority: 4, value: ({ by_ticker }) => by_ticker.most },
]

/** The length of the bar of # that draws a share of 100%. */
const BAR_CHARACTERS = 30
