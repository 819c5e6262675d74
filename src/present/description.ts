import type { Chart } from './chart.js'
import { TERMS } from './glossary.js'
import { words } from './numbers.js'

/**
 * A result, described once: what is said of it, its tables and its charts, in the order in which they are read. The
 * terminal and the page draw the same description; neither knows of what.
 */
export interface Description {
  /** The result itself, as `--json` prints it. */
  document: unknown
  /** `Event study` */
  kind: string
  /** What was asked, as a sentence. */
  question: string
  /** What was found, how sure that is, on how many independent cases: first on a page, last on a terminal. */
  answer: string
  /** The same in phrases, with of what: the first line of a terminal. */
  heading: readonly string[]
  /** What was assumed, in short. */
  assumed: readonly string[]
  /** What a page draws beneath the answer: within its first screen. */
  lead: readonly Part[]
  /** The gravest first. */
  warnings: readonly string[]
  /** The numbers that are looked at first. */
  tiles: readonly Tile[]
  /** What was asked, of what, and how, term by term. */
  facts: readonly Fact[]
  sections: readonly Section[]
  /** Lists of the document of which a page carries no more than it has room for; the first is shortened first. */
  long: readonly LongList[]
}

/** A list of a document that may have thousands of entries, and which end of it is kept. */
export interface LongList {
  key: string
  keep: 'first' | 'last'
  /** What writes all of it. */
  whole: string
}

/** As many warnings are read at once: the rest lies behind a fold, or is asked for. */
export const MOST_WARNINGS = 2

/** A result for machines: one object a row, and which of its values are the columns of CSV, nested keys joined by `_`. */
export interface Records {
  columns: readonly string[]
  rows: readonly object[]
}

/** An answer of the terminal, described once: as a document and as records for machines, and for people. */
export interface Described extends Records {
  document: unknown
  paragraphs: readonly (Paragraph | Section)[]
  /** The gravest first. */
  warnings?: readonly string[]
}

/** What is read under one heading, which stands there even where nothing was found. */
export interface Paragraph {
  heading: readonly string[]
  on?: Medium
  parts: readonly Part[]
}

/** One number that is worth a large type. */
export interface Tile {
  label: string
  value: string
  note: string
  tone?: Tone | undefined
}

/** A term and what is said of it. */
export type Fact = readonly [term: string, text: string]

export type Tone = 'good' | 'bad' | 'faint' | 'strong'

/**
 * Who shows a part: the page alone, the terminal alone, the terminal in short; the page and a terminal that was asked for
 * everything, or for what became of each signal; what is read on a screen alone, or from a pipe, which has whole words.
 */
export type Medium = 'page' | 'terminal' | 'short' | 'wide' | 'explain' | 'screen' | 'pipe'

export interface Section {
  /** Names it in the page. */
  id: string
  title: string
  /** What else stands in its heading. */
  phrases?: readonly string[]
  /** A terminal shows it without a heading: it is clear what it is. */
  untitled?: true
  /** The title where many stand in a row. */
  short?: string
  on?: Medium
  parts: readonly Part[]
}

/** A piece of a section. */
export type Part = { on?: Medium | undefined } & (
  | { notes: readonly string[] }
  | { table: Table }
  | { chart: Chart; note?: string }
  | { charts: readonly Chart[] }
  | { estimates: Estimates }
  | { stacks: Stacks }
  | { trend: readonly Trend[] }
  | { months: readonly Month[] }
  | { facts: readonly Fact[] }
  | { list: readonly string[] }
  | { code: string }
  | { fold: Fold }
)

/** A section of what there is of some parts. */
export function section(head: Omit<Section, 'parts'>, parts: readonly (Part | Absent)[]): Section {
  return { ...head, parts: compact(parts) }
}

/** What a condition leaves in a list that does not hold. */
type Absent = false | null | undefined | ''

/** What there is of a list. */
export function compact<One>(all: readonly (One | Absent)[]): One[] {
  return all.filter((one): one is One => one !== false && one !== null && one !== undefined && one !== '')
}

/** What the page alone says. */
export function pageNote(text: string): Part {
  return { on: 'page', notes: [text] }
}

/** A part that is a table, as tableOf makes it. */
export function tablePart<Row>(...of: Parameters<typeof tableOf<Row>>): { table: Table } {
  return { table: tableOf(...of) }
}

/** What a page shows to whoever opens it; a terminal shows it with the rest. */
export interface Fold {
  title: string
  parts: readonly Part[]
  /** Too long for paper. */
  long?: true
}

/** What a value is. Each door writes it in its own way, the page with more decimals than the terminal. */
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

/** One value, or two: the ends of a range, a count and its lift, how a window ended and its return, a letter and its name. */
export type Content = Value | readonly [Value, Value]

export interface Cell {
  kind: Kind
  content: Content
  tone?: Tone | undefined
  /** Stands behind the value. */
  mark?: string | undefined
  /** How dark it is in a map, from 0 to 4. */
  heat?: number
}

/** The head of a column. */
export interface Heading {
  title: string
  /** What stands for the title where there is little room. */
  sign?: string
  /** The title is a name of the data, and stands as it is. */
  verbatim?: true
  kind: Kind
  /** What the term means, for whoever rests on it. */
  hint?: string | undefined
  /** May be left out on a narrow terminal: the highest first. */
  spare?: number
  /** Of a last column: text that does not fit goes on in lines below. */
  wraps?: true
  on?: Medium
}

/** A column: its head, and what stands in it. */
export interface Column<Row> extends Heading {
  of(row: Row): Content
  /** What it is called in rows for machines. */
  key?: string
  /** Of the value; returns have that of their sign unless it says otherwise. */
  tone?(row: Row): Tone | undefined
  mark?(row: Row): string | undefined
  /** Left out where no row has anything in it. */
  optional?: true
}

export interface Table {
  caption: string
  columns: readonly Heading[]
  rows: readonly (readonly Cell[])[]
  /** Rows of too little to be read as a finding. */
  grey?: readonly boolean[]
  /** What the first column says is said once for all rows that have it. */
  grouped?: true
  /** The one table of a page that people sort, what its rows are when there are more than fit, and what writes all. */
  sorted?: { cut: string; whole: string }
  /** What words name each row, for whoever looks for some. */
  filter?: readonly CellNames[]
  /** Rows that a terminal shows. */
  limit?: number
  /** Said in place of a table without rows. */
  empty?: string
  /** The output that has what finds no room on a terminal; CSV unless given. */
  whole?: 'json'
}

/** What a row can be found by. */
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
  return { key, title: words(key), kind, of: row => row[key], ...more }
}

/** A table of rows as its columns tell them. */
export function tableOf<Row>(
  caption: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  more: Partial<Table> = {},
): Table {
  const told = columns.filter(({ optional, of }) => optional === undefined || rows.some(row => isKnown(of(row))))
  return {
    caption,
    columns: told.map(column => ({ ...column, hint: column.hint ?? TERMS[column.title] })),
    rows: rows.map(row => told.map(column => cellOf(column, row))),
    ...more,
  }
}

/** Things of one kind: a row each for machines, of the columns of the table unless given; a table and sentences for people. */
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

function cellOf<Row>({ kind, of, tone, mark }: Column<Row>, row: Row): Cell {
  const content = of(row)
  const isReturn = kind === 'return' && typeof content === 'number'
  return { kind, content, tone: tone ? tone(row) : isReturn ? signTone(content) : undefined, mark: mark?.(row) }
}

/** A value that stands in no column of its kind. */
export function cell(kind: Kind, content: Content): Cell {
  return cellOf({ title: '', kind, of: () => content }, null)
}

/** Good above 0, bad below it. */
export function signTone(value: number): Tone | undefined {
  return value === 0 ? undefined : value > 0 ? 'good' : 'bad'
}

function isKnown(content: Content): boolean {
  return content !== null && content !== '' && content !== 0
}

/** A return that is not painted by its sign. */
export const plain = (): undefined => undefined

/** An estimate and its interval. */
export interface Estimate {
  label: string
  /** Beside the label, such as n. */
  note: string
  value: number | null
  low: number | null
  high: number | null
  grey: boolean
  /** Stands in place of an estimate that is null. */
  reason: string
}

/** Estimates under each other, and a line where there is no difference. */
export interface Estimates {
  id: string
  title: string
  note: string
  /** Room that the labels take: `short` for a window, `long` for a cell. */
  names: 'short' | 'long'
  of: readonly Estimate[]
}

/** Shares of the seven aftermath bands, a bar a row. */
export interface Stacks {
  id: string
  title: string
  /** As of estimates. */
  names: Estimates['names']
  of: readonly { label: string; note: string; counts: readonly number[]; isBase: boolean }[]
}

/** A line so small that it stands beside words. */
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

/** Each reason for a missing number once, with what it is about; nothing where none is missing. */
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

/** What was assumed, and what the page alone says of how it was asked. */
export function assumedSection(assumptions: readonly string[], parts: readonly (Part | Absent)[] = []): Section {
  return section({ id: 'settings', title: 'Assumed', short: 'Settings', on: 'wide' }, [{ list: assumptions }, ...parts])
}
