// For: describe each result once, for terminal, page and pipe.
// In: the result of a question.
// Out: columns, rows, sentences and charts, without colour or width.

import { keyInWords } from '../../core/numbers.js'
import type { StrategyVerdict } from '../../research/backtest/result.js'
import type { Chart } from './chart.js'
import { TERMS } from './glossary.js'

/** A result described once, in reading order. Terminal and page draw it, and do not know its subject. */
export interface Description {
  /** The result itself, as `--json` prints it. */
  document: unknown
  /** `Event study` */
  kind: string
  /** Of a page: five to ten words. */
  title: string
  /** The verdict and its figure, as the first line of a page and of a terminal. */
  answer: string
  /** The question in phrases, with its subject: the second line of a terminal. */
  heading: readonly string[]
  assumed: readonly string[]
  /** The parts below the answer, on the first screen of a page. */
  lead: readonly Part[]
  /** The gravest first. */
  warnings: readonly string[]
  /** The question, its data and its method, term by term. */
  facts: readonly Fact[]
  sections: readonly Section[]
  /** Lists of the document that a page may shorten; the first one is shortened first. */
  longLists: readonly LongList[]
}

/** A list of a document that may have thousands of entries, and the end that a page shows. */
export interface LongList {
  key: string
  keptEnd: 'first' | 'last'
  /** The option that writes the full list. */
  fullListOption: string
  /** The entries one by one, of a list that takes too much memory. */
  each?(): Iterable<unknown>
}

/** A result for machines: one object a row, and which of its values are columns of CSV, nested keys joined by `_`. */
export interface Records {
  columns: readonly string[]
  rows: readonly object[]
}

/** An answer of the terminal, described once: as a document and as records for machines, and for people. */
export interface Described extends Records {
  document: unknown
  longLists?: readonly LongList[]
  paragraphs: readonly (Paragraph | Section)[]
  /** Shown in full, the gravest first. */
  warnings?: readonly string[]
  /** Named in one line, and shown in full with --wide. */
  notes?: readonly string[]
  /** How it was computed: the last line, in grey. */
  method?: readonly string[]
}

/** The content under one heading, which appears even without a finding. */
export interface Paragraph {
  heading: readonly string[]
  on?: Medium | undefined
  parts: readonly Part[]
}

export type Fact = readonly [term: string, text: string]

export type Tone = 'good' | 'bad' | 'faint' | 'strong'

/**
 * Where a part is shown: only the page, only the terminal, or the short terminal output. `wide` and `explain` also need
 * that option on a terminal. `screen` is an interactive terminal, and `pipe` has words instead of signs.
 */
export type Medium = 'page' | 'terminal' | 'short' | 'wide' | 'explain' | 'screen' | 'pipe'

export interface Section {
  /** Names it in the page. */
  id: string
  title: string
  /** More phrases of its heading. */
  phrases?: readonly string[]
  /** A page shows the heading. A terminal omits it, because the content is clear. */
  untitled?: true
  /** A shorter title for a row of several. */
  short?: string
  on?: Medium
  /** A page shows only its heading until it is opened. */
  folded?: true
  parts: readonly Part[]
}

export type Part = { on?: Medium | undefined } & (
  | { notes: readonly string[] }
  | { phrases: readonly string[] }
  | { table: Table }
  | { chart: Chart; note?: string }
  | { charts: readonly Chart[] }
  | { estimates: Estimates }
  | { forests: readonly Estimates[] }
  | { stacks: Stacks }
  | { trend: readonly Trend[] }
  | { months: readonly Month[] }
  | { facts: readonly Fact[] }
  | { list: readonly string[] }
  | { code: string }
  | { fold: Fold }
)

/** A section from its head and its parts, without the parts whose condition is false. */
export function section(head: Omit<Section, 'parts'>, parts: readonly (Part | Falsy)[]): Section {
  return { ...head, parts: compact(parts) }
}

/** An item whose condition is false. */
type Falsy = false | null | undefined | ''

/** The items of a list without `false`, `null`, `undefined` and `''`. */
export function compact<Item>(items: readonly (Item | Falsy)[]): Item[] {
  return items.filter((item): item is Item => item !== false && item !== null && item !== undefined && item !== '')
}

export function pageNote(text: string): Part {
  return { on: 'page', notes: [text] }
}

/** A part with the table that tableOf builds from the same arguments. */
export function tablePart<Row>(...args: Parameters<typeof tableOf<Row>>): { table: Table } {
  return { table: tableOf(...args) }
}

/** Hidden in a page until it is opened; always shown on a terminal. */
export interface Fold {
  title: string
  parts: readonly Part[]
  /** Too long for paper. */
  isTooLongForPaper?: true
}

/** The kind of a value. Each output writes it in its own way, the page with more decimals than the terminal. */
export type Kind =
  | 'text'
  | 'date'
  | 'count'
  | 'window'
  | 'return'
  | 'deviation'
  | 'share'
  | 'probability'
  | 'ratio'
  | 'oneDecimal'
  | 'degrees'
  | 'statistic'
  | 'price'
  | 'money'
  | 'countAndLift'
  | 'bars'
  | 'performance'
  | 'lettered'

export type Value = string | number | null

/** One value or two: the ends of a range, a count and its lift, an outcome and its return, a letter and its name. */
export type Content = Value | readonly [Value, Value]

export interface Cell {
  kind: Kind
  content: Content
  tone?: Tone | undefined
  /** After the value. */
  mark?: string | undefined
  /** How dark it is in a map, from 0 to 4. */
  heat?: number
}

export interface Heading {
  title: string
  /** Replaces the title in a narrow output. */
  screenTitle?: string
  /** The title is a name of the data, and is shown unchanged. */
  verbatimTitle?: true
  kind: Kind
  /** The meaning of the term, shown under the pointer. */
  hint?: string | undefined
  /** Columns with this number may be left out on a narrow terminal, the highest number first. */
  hidePriority?: number
  /** Text that does not fit wraps; only for a last column. */
  wraps?: true
  on?: Medium
}

/** A column: its head, and how the content of its cells follows from a row. */
export interface Column<Row> extends Heading {
  value(row: Row): Content
  /** Its key in rows for machines. */
  key?: string
  tone?(row: Row): Tone | undefined
  mark?(row: Row): string | undefined
  /** Omitted if every row is empty. */
  optional?: true
}

export interface Table {
  caption: string
  columns: readonly Heading[]
  rows: readonly (readonly Cell[])[]
  /** For each row, whether it is grey: too few events for a finding. */
  grey?: readonly boolean[]
  /** Equal values of the first column are shown once. */
  grouped?: true
  /** The sortable table of a page, the words for its omitted rows, and the option that writes all. */
  sorted?: { cut: string; fullListOption: string }
  /** The names of each row, for filtering. */
  filter?: readonly CellNames[]
  /** Rows that a terminal shows. */
  limit?: number
  /** Shown instead of an empty table. */
  empty?: string
  /** The output with the content that does not fit a terminal (default CSV). */
  allColumnsIn?: 'json'
}

/** The names by which a row can be found. */
export interface CellNames {
  text: string
  field: string
  window: string
  isTested: boolean
  isFound: boolean
}

/** Whether values of a kind are numbers, which are aligned right. */
export function isNumeric(kind: Kind): boolean {
  return !TEXT_KINDS.has(kind)
}

const TEXT_KINDS: ReadonlySet<Kind> = new Set(['text', 'date', 'window', 'performance', 'lettered'])

/** A column with the value that each row has under `key`; its title is the key in words. */
export function column<Key extends string>(
  key: Key,
  kind: Kind = 'text',
  heading: Partial<Heading> = {},
): Column<Readonly<Record<Key, Value>>> & { key: Key } {
  return { key, title: keyInWords(key), kind, value: row => row[key], ...heading }
}

/** A table of columns and rows, without optional columns that are empty. @param more further properties */
export function tableOf<Row>(
  caption: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  more: Partial<Table> = {},
): Table {
  const shownColumns = columns.filter(({ optional, value }) => !optional || rows.some(row => hasContent(value(row))))
  const cellsOf = (row: Row): Cell[] =>
    shownColumns.map(({ kind, value, tone, mark }) => ({
      kind,
      content: value(row),
      tone: tone?.(row),
      mark: mark?.(row),
    }))
  return {
    caption,
    columns: shownColumns.map(column => ({ ...column, hint: column.hint ?? TERMS[column.title] })),
    rows: rows.map(cellsOf),
    ...more,
  }
}

/** A list as one table and as records. @param columns keys of the records (default those of the table's columns) */
export function describeList<Row extends object>(
  document: unknown,
  rows: readonly Row[],
  tableColumns: readonly Column<NoInfer<Row>>[],
  {
    columns = tableColumns.flatMap(({ key }) => key ?? []),
    notes = [],
  }: { columns?: readonly string[]; notes?: readonly string[] } = {},
): Described {
  return {
    document,
    columns,
    rows,
    paragraphs: [{ heading: [], parts: [tablePart('', tableColumns, rows), { notes }] }],
  }
}

/** Headings of values side by side. A narrow terminal leaves out the last ones first, and keeps the first one. */
export function withHidePriorities(headings: readonly Heading[]): Heading[] {
  return headings.map((heading, i) => (i === 0 ? heading : { ...heading, hidePriority: i }))
}

/** A cell of a table that is built without tableOf, such as one whose rows have different kinds. */
export function cell(kind: Kind, content: Content): Cell {
  return { kind, content, tone: undefined, mark: undefined }
}

/** The tone of a figure that stands out from chance; undefined for other figures, even if they are above 0. */
export function verdictTone(verdict: StrategyVerdict['word']): Tone | undefined {
  if (verdict === 'beats chance') return 'good'
  return BAD_VERDICTS.has(verdict) ? 'bad' : undefined
}

const BAD_VERDICTS: ReadonlySet<string> = new Set(['worse than chance', 'worse than holding', 'ruined'])

/** Whether a cell shows something: null, an empty text and 0 count as empty. */
function hasContent(content: Content): boolean {
  return content !== null && content !== '' && content !== 0
}

export interface Estimate {
  label: string
  /** Next to the label, such as n. */
  note: string
  value: number | null
  low: number | null
  high: number | null
  grey: boolean
  /** Whether it stands out from chance. */
  tone: Tone | undefined
  /** Drawn next to a mean. */
  median?: number | null
  /** Shown instead of a null estimate. */
  reasonIfNull: string
}

/** Estimates below each other, with a line at no difference. */
export interface Estimates {
  id: string
  title: string
  note: string
  /** Room that the labels take: `short` for a window, `long` for a cell, `bands` for a band in half a page. */
  names: 'short' | 'long' | 'bands'
  /** A dashed line through all rows: the same after any bar. */
  baseline?: number | null
  estimates: readonly Estimate[]
}

/** Shares of the seven performance bands, one bar per row. */
export interface Stacks {
  id: string
  title: string
  /** As of estimates. */
  names: Estimates['names']
  rows: readonly { label: string; note: string; counts: readonly number[]; isBase: boolean }[]
}

/** A sparkline, small enough to be next to words. */
export interface Trend {
  name: string
  values: readonly number[]
  text: string
}

export interface Month {
  year: number
  month: number
  return: number | null
}

/** `too few events: 20d diff, 60d diff`: a line for each reason of missing numbers; null without any. */
export function reasonsPart(
  results: readonly { where: string; reasons: Readonly<Record<string, string>> }[],
  on?: Medium,
): Part | null {
  const statisticsByReason = new Map<string, string[]>()
  for (const { where, reasons } of results) {
    for (const [key, reason] of Object.entries(reasons)) {
      const statistic = compact([where, key.replace(/[_.]/g, ' ')]).join(' ')
      statisticsByReason.set(reason, [...(statisticsByReason.get(reason) ?? []), statistic])
    }
  }
  const lines = [...statisticsByReason].map(([reason, statistics]) => `${reason}: ${statistics.join(', ')}`)
  return lines.length === 0 ? null : { on, list: lines }
}

/** A folded section with the list of assumptions, and further parts below it. */
export function assumedSection(assumptions: readonly string[], parts: readonly (Part | Falsy)[] = []): Section {
  return section({ id: 'settings', title: 'Assumed', short: 'Settings', on: 'wide', folded: true }, [
    { list: assumptions },
    ...parts,
  ])
}
