// For: describe each result once, for terminal, page and pipe.
// In: the result of a question.
// Out: columns, rows, sentences and charts, without colour or width.

import { words } from '../../core/numbers.js'
import type { StrategyVerdict } from '../../research/backtest/result.js'
import type { Chart } from './chart.js'
import { TERMS } from './glossary.js'

/**
 * The single description of a result: its texts, tables and charts in reading order. The terminal and the page draw the
 * same description, and do not know its subject.
 */
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
  /** The assumptions, in short. */
  assumed: readonly string[]
  /** The parts below the answer, on the first screen of a page. */
  lead: readonly Part[]
  /** The gravest first. */
  warnings: readonly string[]
  /** The question, its data and its method, term by term. */
  facts: readonly Fact[]
  sections: readonly Section[]
  /** Lists of the document that a page shortens to its room; the first one is shortened first. */
  long: readonly LongList[]
}

/** A list of a document that may have thousands of entries, and the end that a page shows. */
export interface LongList {
  key: string
  keep: 'first' | 'last'
  /** The option that writes the full list. */
  whole: string
  /** The entries one by one, of a list that takes too much memory. */
  each?(): Iterable<unknown>
}

/** A result for machines: one object a row, and which of its values are the columns of CSV, nested keys joined by `_`. */
export interface Records {
  columns: readonly string[]
  rows: readonly object[]
}

/** An answer of the terminal, described once: as a document and as records for machines, and for people. */
export interface Described extends Records {
  document: unknown
  long?: readonly LongList[]
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
  on?: Medium
  parts: readonly Part[]
}

/** A term and its text. */
export type Fact = readonly [term: string, text: string]

export type Tone = 'good' | 'bad' | 'faint' | 'strong'

/**
 * Where a part is shown: only the page, only the terminal, or the short terminal output. `wide` and `explain` also need
 * that option on a terminal. `screen` is an interactive terminal, and `pipe` has words instead of
 * signs.
 */
export type Medium = 'page' | 'terminal' | 'short' | 'wide' | 'explain' | 'screen' | 'pipe'

export interface Section {
  /** Names it in the page. */
  id: string
  title: string
  /** More phrases of its heading. */
  phrases?: readonly string[]
  /** A terminal omits the heading, because the content is clear. */
  untitled?: true
  /** A shorter title for a row of several. */
  short?: string
  on?: Medium
  /** A page shows only its heading until it is opened. */
  folded?: true
  parts: readonly Part[]
}

/** A piece of a section. */
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

/** A section of the parts that exist. */
export function section(head: Omit<Section, 'parts'>, parts: readonly (Part | Absent)[]): Section {
  return { ...head, parts: compact(parts) }
}

/** The value of a false condition in a list. */
type Absent = false | null | undefined | ''

/** The existing items of a list. */
export function compact<One>(all: readonly (One | Absent)[]): One[] {
  return all.filter((one): one is One => one !== false && one !== null && one !== undefined && one !== '')
}

/** A note that only the page shows. */
export function pageNote(text: string): Part {
  return { on: 'page', notes: [text] }
}

/** A part that is a table, as tableOf makes it. */
export function tablePart<Row>(...of: Parameters<typeof tableOf<Row>>): { table: Table } {
  return { table: tableOf(...of) }
}

/** Hidden in a page until it is opened; always shown on a terminal. */
export interface Fold {
  title: string
  parts: readonly Part[]
  /** Too long for paper. */
  long?: true
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
  | 'tenth'
  | 'degrees'
  | 'statistic'
  | 'price'
  | 'money'
  | 'lifted'
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

/** The head of a column. */
export interface Heading {
  title: string
  /** Replaces the title in a narrow output. */
  sign?: string
  /** The title is a name of the data, and is shown unchanged. */
  verbatim?: true
  kind: Kind
  /** The meaning of the term, shown under the pointer. */
  hint?: string | undefined
  /** May be left out on a narrow terminal: the highest first. */
  spare?: number
  /** Text that does not fit wraps; only for a last column. */
  wraps?: true
  on?: Medium
}

/** A column: its head and its values. */
export interface Column<Row> extends Heading {
  value(row: Row): Content
  /** Its key in rows for machines. */
  key?: string
  /** The tone of the value. */
  tone?(row: Row): Tone | undefined
  mark?(row: Row): string | undefined
  /** Omitted if every row is empty. */
  optional?: true
}

export interface Table {
  caption: string
  columns: readonly Heading[]
  rows: readonly (readonly Cell[])[]
  /** Rows of too little to be read as a finding. */
  grey?: readonly boolean[]
  /** Equal values of the first column are shown once. */
  grouped?: true
  /** The sortable table of a page, the words for its omitted rows, and the option that writes all. */
  sorted?: { cut: string; whole: string }
  /** The names of each row, for filtering. */
  filter?: readonly CellNames[]
  /** Rows that a terminal shows. */
  limit?: number
  /** Shown instead of an empty table. */
  empty?: string
  /** The output with the content that does not fit a terminal (default CSV). */
  whole?: 'json'
}

/** The names by which a row can be found. */
export interface CellNames {
  text: string
  field: string
  window: string
  isTested: boolean
  isFound: boolean
}

/** Whether values of a kind are numbers, which are set right. */
export function isNumber(kind: Kind): boolean {
  return !WORDS.has(kind)
}

const WORDS: ReadonlySet<Kind> = new Set(['text', 'date', 'window', 'performance', 'lettered'])

/** A column that is a value of its rows, under its name. */
export function column<Key extends string>(
  key: Key,
  kind: Kind = 'text',
  more: Partial<Heading> = {},
): Column<Readonly<Record<Key, Value>>> & { key: Key } {
  return { key, title: words(key), kind, value: row => row[key], ...more }
}

/** Builds a table from its columns and rows, without optional columns that are empty. */
export function tableOf<Row>(
  caption: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  more: Partial<Table> = {},
): Table {
  const shown = columns.filter(({ optional, value }) => !optional || rows.some(row => hasContent(value(row))))
  return {
    caption,
    columns: shown.map(column => ({ ...column, hint: column.hint ?? TERMS[column.title] })),
    rows: rows.map(row => shown.map(column => cellOf(column, row))),
    ...more,
  }
}

/**
 * A list of one kind: a row each for machines (default: the columns of the table), and a table and sentences for
 * people.
 */
export function describeList<Row extends object>(
  document: unknown,
  rows: readonly Row[],
  shown: readonly Column<NoInfer<Row>>[],
  {
    columns = shown.flatMap(({ key }) => key ?? []),
    notes = [],
  }: { columns?: readonly string[]; notes?: readonly string[] } = {},
): Described {
  return {
    document,
    columns,
    rows,
    paragraphs: [{ heading: [], parts: [{ table: tableOf('', shown, rows) }, { notes }] }],
  }
}

function cellOf<Row>({ kind, value, tone, mark }: Column<Row>, row: Row): Cell {
  return { kind, content: value(row), tone: tone?.(row), mark: mark?.(row) }
}

/** A cell whose kind differs from that of its column. */
export function cell(kind: Kind, content: Content): Cell {
  return cellOf({ title: '', kind, value: () => content }, null)
}

/** Colour says that a figure stands out from chance, never that it is above 0. */
export function verdictTone(verdict: StrategyVerdict['word']): Tone | undefined {
  if (verdict === 'beats chance') return 'good'
  return BAD.has(verdict) ? 'bad' : undefined
}

const BAD: ReadonlySet<string> = new Set(['worse than chance', 'worse than holding', 'ruined'])

function hasContent(content: Content): boolean {
  return content !== null && content !== '' && content !== 0
}

/** An estimate and its interval. */
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
  reason: string
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

/** Each reason for a missing number once, with its subject; null if no number is missing. */
export function reasonsPart(
  told: readonly { where: string; reasons: Readonly<Record<string, string>> }[],
  on?: Medium,
): Part | null {
  const about = new Map<string, string[]>()
  for (const { where, reasons } of told)
    for (const [statistic, reason] of Object.entries(reasons))
      about.set(reason, [
        ...(about.get(reason) ?? []),
        [where, statistic.replace(/[_.]/g, ' ')].filter(Boolean).join(' '),
      ])
  const lines = [...about].map(([reason, what]) => `${reason}: ${what.join(', ')}`)
  return lines.length === 0 ? null : { on, list: lines }
}

/** The assumptions, and the page's notes about the question. */
export function assumedSection(assumptions: readonly string[], parts: readonly (Part | Absent)[] = []): Section {
  return section({ id: 'settings', title: 'Assumed', short: 'Settings', on: 'wide', folded: true }, [
    { list: assumptions },
    ...parts,
  ])
}
