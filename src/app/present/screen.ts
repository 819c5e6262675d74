import { invalid, suggest } from '../../core/errors.js'
import type { ExportedEvent } from '../../core/model/event.js'
import { windowNames } from '../../core/model/terms.js'
import { count, figureText, numberText } from '../../core/numbers.js'
import type { Changes, Screen, ScreenMatch } from '../../research/screen/screen.js'
import type { TallyWindow } from '../../research/tally/tally.js'
import {
  type Column,
  column,
  compact,
  type Described,
  type Kind,
  type Paragraph,
  type Part,
  type Tone,
  tablePart,
  type Value,
} from './description.js'
import { describeTally, topTone } from './tally.js'
import { omittedNotes } from './words.js'

interface ScreenDisplay {
  /** Columns in order (default: all). */
  columns?: readonly string[] | undefined
  /** `bars` or `close:desc` (default: the newest onset first). */
  sort?: string | undefined
  /** Closes up to the last bar of each match, by ticker, for sparklines on a terminal. */
  closes?: ReadonlyMap<string, readonly number[]>
}

/** Describes the tickers for which a condition is true or became true. Records have a row for each match. */
export function describeScreen(screen: Screen, { columns: names, sort, closes }: ScreenDisplay): Described {
  const { when, as_of, tally, stale, scanned } = screen
  const staleText = `${stale} of ${count(scanned, 'ticker')} had no bar in the last seven days, and are left out.`
  const staleNote = stale > 0 && { notes: [staleText] }
  const allColumns = columnsOf(screen.subjects, tally !== undefined)
  const columns = names?.map(name => columnNamed('columns', name, allColumns)) ?? allColumns
  const matches = sort === undefined ? screen.matches : sortMatches(screen.matches, sort, allColumns)
  return {
    document: { ...screen, matches },
    columns: ['when', 'as_of', ...columns.map(({ key }) => key)],
    rows: matches.map(match => {
      return { when, as_of, ...Object.fromEntries(columns.map(({ key, value }) => [key, value(match)])) }
    }),
    paragraphs: [
      {
        heading: headingOf(screen),
        parts: compact([...matchParts(columns, matches), trendPart(matches, closes), staleNote]),
      },
      ...(tally === undefined ? [] : tallyParagraphs(tally)),
    ],
  }
}

/**
 * Throws InvalidParameter for a column in `columns` or `sort` that the screen will not have.
 * @param subjects the fields that its condition tests
 * @param isTallied whether it will have the columns of a tally
 */
export function refuseUnknownColumns(
  { columns = [], sort }: ScreenDisplay,
  subjects: readonly string[],
  { isTallied }: { isTallied: boolean },
): void {
  const known = columnsOf(subjects, isTallied)
  for (const name of columns) columnNamed('columns', name, known)
  if (sort !== undefined) sortMatches([], sort, known)
}

/** The condition, after `became true in the last 5 bars: ` if that was asked; the number of matches; the as-of day. */
function headingOf({ when: condition, within, matches, scanned, as_of }: Screen): string[] {
  const withinText = within === null ? '' : `became true in the last ${count(within, 'bar')}: `
  return [`${withinText}${condition}`, `${matches.length} of ${count(scanned, 'ticker')}`, `as of ${as_of}`]
}

/** The tally of all queried tickers together. An onset is a bar on which the condition became true. */
function tallyParagraphs(tally: NonNullable<Screen['tally']>): Paragraph[] {
  const title = `returns after its onsets, ${count(tally.tickers.length, 'ticker')} together`
  return describeTally(tally)
    .paragraphs.filter(paragraph => 'heading' in paragraph)
    .map((paragraph, i) => (i > 0 ? paragraph : { ...paragraph, heading: [title, ...paragraph.heading.slice(1)] }))
}

/** The number of matches in a short list, and in one with sparklines below it: both fit a screen. */
export const MOST_LISTED = 10
const MOST_DRAWN = 8

/** The table of the matches. Only --wide shows more than MOST_LISTED; the short output has a note about the others. */
function matchParts(columns: readonly KeyedColumn[], matches: readonly ScreenMatch[]): Part[] {
  if (matches.length <= MOST_LISTED) return [tablePart('Matches', columns, matches)]
  return [
    { on: 'wide', ...tablePart('Matches', columns, matches) },
    { on: 'short', ...tablePart('Matches', columns, matches.slice(0, MOST_LISTED)) },
    { on: 'short', notes: [`${numberText(matches.length - MOST_LISTED)} more: --wide; --csv and --json have all`] },
  ]
}

/** A sparkline of the closes of each of the first matches; null without closes. @param closes by ticker */
function trendPart(matches: readonly ScreenMatch[], closes: ScreenDisplay['closes']): Part | null {
  if (closes === undefined || closes.size === 0) return null
  const trend = matches.slice(0, MOST_LISTED).map(({ ticker, close }) => {
    return { name: ticker, values: closes.get(ticker) ?? [], text: figureText(close) }
  })
  return { on: matches.length > MOST_DRAWN ? 'wide' : 'screen', trend }
}

/** A column with the name that it has in CSV. */
type KeyedColumn = Column<ScreenMatch> & { key: string }

/** The columns of a screen; `subjects` are the tested fields. A narrow terminal hides these first, then the age. */
function columnsOf(subjects: readonly string[], isTallied: boolean): readonly KeyedColumn[] {
  return [
    column('ticker'),
    column('timeframe', 'text', { on: 'pipe' }),
    column('date', 'date', { hidePriority: 3 }),
    column('since', 'date'),
    column('bars', 'bars'),
    ...subjects.map((key, i): KeyedColumn => {
      const heading = { title: key, verbatimTitle: true, kind: 'text', hidePriority: 6 + i } as const
      return { ...heading, key, value: ({ bands }) => bands[key] ?? null }
    }),
    column('close', 'price', { hidePriority: 1 }),
    { key: 'age_days', title: 'Age', kind: 'count', hidePriority: 5, value: ({ age_days }) => age_days },
    ...(isTallied ? TALLY_COLUMNS : []),
  ]
}

/** A column with a figure of the middle window of each match's tally. */
function tallyColumn(key: string, title: string, kind: Kind, figureOf: (middle: TallyWindow) => Value): KeyedColumn {
  const value = (match: ScreenMatch): Value => {
    const middle = middleWindow(match)
    return middle === undefined ? null : figureOf(middle)
  }
  return { key, title, kind, value }
}

/** Columns of returns over the middle window, after the bars on which the condition became true for the ticker. */
const TALLY_COLUMNS: readonly KeyedColumn[] = [
  { key: 'onsets', title: 'Onsets', kind: 'count', value: ({ tally }) => tally?.events ?? null },
  { ...tallyColumn('window', 'Window', 'window', ({ window }) => window), hidePriority: 4 },
  { ...tallyColumn('hit_rate', 'Rose', 'share', ({ returns }) => returns.hit_rate), hidePriority: 3 },
  { ...tallyColumn('top_share', 'Top 40%', 'share', ({ top_share }) => top_share), tone: middleTone },
  tallyColumn('base_top_share', 'Any', 'share', ({ base }) => base.top_share),
  { ...tallyColumn('mean', 'Mean', 'return', ({ returns }) => returns.mean), hidePriority: 2 },
]

/** The middle window of a ticker's tally; undefined without one. */
function middleWindow({ tally }: ScreenMatch) {
  return tally?.windows[Math.floor(tally.windows.length / 2)]
}

function middleTone(match: ScreenMatch): Tone | undefined {
  const middle = middleWindow(match)
  return middle && topTone(middle)
}

/** The column with a key. Throws InvalidParameter with the nearest one. @param param the option that names it */
function columnNamed(param: string, name: string, columns: readonly KeyedColumn[]): KeyedColumn {
  const column = columns.findLast(({ key }) => key === name)
  if (column !== undefined) return column
  const allowed = columns.map(({ key }) => key)
  throw invalid('not_allowed', { param, value: name, allowed, suggestions: suggest(name, allowed) })
}

/** The matches sorted by a column: `close` ascending, `close:desc` descending. Unknown values are last. */
function sortMatches(matches: readonly ScreenMatch[], sort: string, columns: readonly KeyedColumn[]): ScreenMatch[] {
  const [, name, order] = /^(.*?)(?::(asc|desc))?$/.exec(sort)!
  const { value } = columnNamed('sort', name!, columns)
  const sign = order === 'desc' ? -1 : 1
  return [...matches].sort((a, b) => {
    const x = value(a)
    const y = value(b)
    if (x === null || y === null) return Number(x === null) - Number(y === null)
    return sign * (Number(x > y) - Number(x < y))
  })
}

/**
 * Changes of bands since a day. Of more than MOST_CHANGES, a short output lists only those of `watched` tickers.
 * @param tickerCount how many tickers were looked at, also those without a change
 */
export function describeChanges(page: Changes, tickerCount: number, watched: ReadonlySet<string>): Described {
  const { since, as_of, changes, omitted } = page
  const period = since === 'last' ? 'since it was last asked' : `after ${since}`
  const heading = [`${count(changes.length, 'change')} of ${count(tickerCount, 'ticker')} ${period}`, `as of ${as_of}`]
  const hasBothTimeframes = new Set(changes.map(({ timeframe }) => timeframe)).size > 1
  const changesPart = (caption: string, rows: readonly ExportedEvent[]) =>
    tablePart(caption, changeColumns(hasBothTimeframes), rows, { grouped: true })
  const paragraphs: Paragraph[] = []
  if (changes.length <= MOST_CHANGES) paragraphs.push({ heading, parts: [changesPart('Changes', changes)] })
  else {
    paragraphs.push({ heading, parts: [{ on: 'wide', ...changesPart('Changes', changes) }] })
    const watchedChanges = changes.filter(({ ticker }) => watched.has(ticker))
    const omittedCount = watchedChanges.length - MOST_OF_LISTS
    const notes = omittedCount > 0 ? [`${numberText(omittedCount)} more changes on your lists: --wide`] : []
    const watchedPart = changesPart('Changes of your lists', watchedChanges.slice(0, MOST_OF_LISTS))
    const watchedHeading = [`on your lists: ${numberText(watchedChanges.length)}`]
    if (watchedChanges.length > 0)
      paragraphs.push({ heading: watchedHeading, on: 'short', parts: [watchedPart, { notes }] })
    const frequentHeading = [`most frequent: ${mostEnteredBands(changes).join(', ')}`]
    paragraphs.push({ heading: frequentHeading, on: 'short', parts: [{ notes: [EVERY_CHANGE] }] })
  }
  return { document: page, columns: CHANGE_COLUMNS, rows: changes, paragraphs, warnings: omittedNotes(omitted) }
}

const MOST_CHANGES = 15
const MOST_OF_LISTS = 10
const EVERY_CHANGE = 'every change: --wide or --csv; one field: --field rsi_zone'

/** `236 volume_ratio_band = normal`: the five bands that most tickers entered. */
function mostEnteredBands(changes: readonly ExportedEvent[]): string[] {
  const counts = new Map<string, number>()
  for (const { field, band } of changes) {
    const state = `${field} = ${band}`
    counts.set(state, (counts.get(state) ?? 0) + 1)
  }
  const mostFrequent = [...counts].sort(([, a], [, b]) => b - a).slice(0, 5)
  return mostFrequent.map(([state, n]) => `${numberText(n)} ${state}`)
}

const CHANGE_COLUMNS = [
  ...['date', 'ticker', 'timeframe', 'field', 'band', 'prev_band'],
  ...['stability_at_entry', 'flips_recent_at_entry', 'flips_lookback', 'duration_days', 'duration_weeks'],
  ...(['daily', 'weekly'] as const).flatMap(timeframe =>
    windowNames(timeframe).flatMap(window => [
      `aftermath_${window}_performance`,
      `returns_${window}`,
      `percentiles_${window}`,
    ]),
  ),
]

/** The columns of changes. A terminal shows the timeframe if both occur, and a narrow one hides the stability first. */
function changeColumns(hasBothTimeframes: boolean): Column<ExportedEvent>[] {
  const pipeOnly = hasBothTimeframes ? {} : ({ on: 'pipe' } as const)
  return [
    column('date', 'date'),
    column('ticker'),
    column('timeframe', 'text', { title: 'Bars', hidePriority: 1, ...pipeOnly }),
    column('field'),
    { title: 'From', kind: 'text', hidePriority: 2, value: ({ prev_band }) => prev_band },
    column('band'),
    { title: 'Stability', kind: 'text', hidePriority: 3, value: row => row.stability_at_entry ?? null },
  ]
}
