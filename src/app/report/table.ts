import { type Html, html, type TemplateValue } from '../../core/html.js'
import { count as counted } from '../../core/numbers.js'
import {
  type Cell,
  type CellNames,
  type Fact,
  type Heading,
  isNumeric,
  type Kind,
  type Table,
  type Tone,
  type Value,
} from '../present/description.js'

/** The largest number of rows of a table in the page. */
export const MOST_ROWS = 250

export const TONE_CLASSES: Readonly<Record<Tone, string>> = {
  good: 'gain',
  bad: 'loss',
  faint: 'quiet',
  strong: 'strong',
}

/** A table that scrolls; it says if rows after MOST_ROWS are cut. A caption that begins `sectionTitle` is hidden. */
export function table(data: Table, sectionTitle = ''): Html {
  const { caption, columns, rows, empty, sorted, filter } = data
  if (rows.length === 0 && empty !== undefined) return html`<p class="empty">${empty}</p>`
  const columnIndexes = pageColumns(data)
  const shownRows = [...rows.keys()].slice(0, MOST_ROWS)
  const isHeatMap = rows.some(row => row.some(({ heat }) => heat !== undefined))
  return html`${filter !== undefined && filterForm(filter)}
<div class="table-box"${sorted !== undefined && html` data-table="sorted" data-rows="${rows.length}"`}>
<div class="scroll" role="region" tabindex="0" aria-label="${caption}"><table${isHeatMap ? html` class="map"` : columnIndexes.length > 13 && html` class="wide"`}>
<caption${sectionTitle.startsWith(caption) && html` class="same"`}><span>${caption}</span></caption>
<thead><tr>${columnIndexes.map(i => heading(columns[i]!))}</tr></thead>
<tbody>
${tableRows(data, shownRows)}</tbody></table></div>
${rows.length > shownRows.length && html`<p class="cut">Here are ${sorted?.cut ?? 'the first'} ${count(shownRows.length)} of ${count(rows.length)} rows; ${sorted?.fullListOption ?? '--json'} has all.</p>`}
</div>
`
}

/** The indexes of the columns that a page shows. */
function pageColumns({ columns }: Table): number[] {
  return [...columns.keys()].filter(i => columns[i]!.on !== 'terminal')
}

/** The head of a column. Its title begins with a capital letter, unless it is a name of the data. */
function heading({ title, hint, kind, verbatimTitle: verbatim }: Heading): Html {
  if (title === '') return html`<td></td>`
  const text = verbatim === true ? title : title.charAt(0).toUpperCase() + title.slice(1).replaceAll('_', ' ')
  return html`<th scope="col"${isNumeric(kind) && html` class="num"`}>${hint === undefined ? text : html`<abbr title="${hint}">${text}</abbr>`}</th>`
}

/** The rows of a table's body. The first column names the row. @param rowIndexes in the order to show them */
export function tableRows(data: Table, rowIndexes: readonly number[]): Html {
  const { columns, rows, grey } = data
  const columnIndexes = pageColumns(data)
  return html`${rowIndexes.map(
    r =>
      html`<tr>${columnIndexes.map((i, position) => cell(rows[r]![i]!, columns[i]!, grey?.[r] ?? false, position === 0))}</tr>\n`,
  )}`
}

/** A cell as markup. @param isGrey whether its row is grey @param isName whether it names its row */
function cell(data: Cell, { kind, wraps }: Heading, isGrey: boolean, isName: boolean): Html {
  const tone = isGrey ? 'faint' : data.tone
  const heat = data.heat === undefined ? '' : `up-${data.heat}`
  const classes = [isNumeric(kind) && 'num', wraps && 'wrap', tone && TONE_CLASSES[tone], heat]
    .filter(Boolean)
    .join(' ')
  const attribute = classes === '' ? '' : html` class="${classes}"`
  const content = cellContent(data)
  return isName ? html`<th scope="row"${attribute}>${content}</th>` : html`<td${attribute}>${content}</td>`
}

/** Sorts indexes of rows by a column of the page. Equal values keep the table's order; rows without one are last. */
export function sortRows(data: Table, rowIndexes: readonly number[], column: number, isDescending: boolean): number[] {
  const columnIndex = pageColumns(data)[column]!
  const keys = new Map(rowIndexes.map(r => [r, sortKey(data.rows[r]![columnIndex]!)]))
  return [...rowIndexes].sort((r, s) => {
    const a = keys.get(r) ?? null
    const b = keys.get(s) ?? null
    if (a === null || b === null) return Number(a === null) - Number(b === null) || r - s
    const order = a < b ? -1 : Number(a > b)
    return (isDescending ? -order : order) || r - s
  })
}

export interface CellFilter {
  /** Every word of it must be in the name of the row. */
  text: string
  field: string
  window: string
  only: '' | 'found' | 'tested'
}

/** The indexes of the rows that pass a filter; all rows for null. */
export function filterRows({ rows, filter }: Table, by: CellFilter | null): number[] {
  const allRows = [...rows.keys()]
  if (filter === undefined || by === null) return allRows
  const words = by.text.toLowerCase().split(/\s+/).filter(Boolean)
  return allRows.filter(r => {
    const { text, field, window, isTested, isFound } = filter[r]!
    if ((by.field !== '' && field !== by.field) || (by.window !== '' && window !== by.window)) return false
    if ((by.only === 'found' && !isFound) || (by.only === 'tested' && !isTested)) return false
    return words.every(word => text.includes(word))
  })
}

/** The form that filters rows. It is hidden until the page's script runs, which alone can filter. */
function filterForm(names: readonly CellNames[]): Html {
  const fields = [...new Set(names.map(({ field }) => field))]
  const windows = [...new Set(names.map(({ window }) => window))]
  windows.sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10))
  const option = (name: string): Html => html`<option value="${name}">${name}</option>`
  return html`<form class="filters" hidden>
<label>Find <input class="control" type="search" name="text" placeholder="band, field, ticker" autocomplete="off"></label>
<label>Field <select class="control" name="field"><option value="">all</option>${fields.map(option)}</select></label>
<label>Window <select class="control" name="window"><option value="">all</option>${windows.map(option)}</select></label>
<label>Show <select class="control" name="only"><option value="">all ${counted(names.length, 'combination')}</option><option value="tested">those with a p-value</option><option value="found">those with q below 0.05</option></select></label>
<output aria-live="polite"></output>
</form>`
}

/** A fact with more letters gets its own line. */
const MIN_WIDE_FACT = 90

/** Terms and their texts. @param verbatim terms whose text is code */
export function factList(facts: readonly Fact[], verbatim: readonly string[] = []): Html {
  return html`<dl class="facts">${facts.map(([term, text]) => {
    const isVerbatim = verbatim.includes(term)
    const isLong = isVerbatim || text.length > MIN_WIDE_FACT
    return html`<div${isLong && html` class="wide"`}><dt>${term}</dt><dd>${isVerbatim ? html`<code>${text}</code>` : text}</dd></div>`
  })}</dl>
`
}

export const UNKNOWN_SIGN = '–'

/** A value of a table, with the decimals that a page has room for. */
function cellContent({ kind, content, mark }: Cell): TemplateValue {
  const piece = typeof content === 'object' && content !== null ? pairText(kind, content) : valueText(kind, content)
  return mark === undefined ? piece : html`${piece}${mark}`
}

function valueText(kind: Kind, value: Value): string {
  if (value === null) return UNKNOWN_SIGN
  return typeof value === 'string' ? value : NUMBER_TEXTS[kind](value)
}

const NUMBER_TEXTS: Readonly<Record<Kind, (value: number) => string>> = {
  text: String,
  date: String,
  window: String,
  count,
  return: signedPercent,
  deviation: value => percentText(value, 2),
  share: percentText,
  probability,
  ratio: decimal,
  oneDecimal: value => decimal(value, 1),
  degrees: count,
  statistic: value => decimal(value, 3),
  price,
  money: value => decimal(value, value > -100 && value < 100 ? 4 : 0),
  countAndLift: count,
  bars: count,
  performance: String,
  lettered: String,
}

/** A pair of values: a range `-0.40 to +2.90%` or `27–65%`, or a count and its lift, `12 ×1.40`. */
function pairText(kind: Kind, [first, second]: readonly [Value, Value]): string | Html {
  if (kind === 'countAndLift')
    return html`${valueText(kind, first)} <span class="quiet">×${valueText('ratio', second)}</span>`
  if (first === null || second === null) return UNKNOWN_SIGN
  if (kind === 'share') return `${percentText(Number(first), 0).slice(0, -1)}–${percentText(Number(second), 0)}`
  return `${valueText(kind, first).replace(/%$/, '')} to ${valueText(kind, second)}`
}

/** The sort key of a cell; null is last in both directions. */
function sortKey({ kind, content }: Cell): number | string | null {
  const value: Value = typeof content === 'object' && content !== null ? content[0] : content
  if (value === null || value === '') return null
  return kind === 'window' ? Number.parseInt(String(value), 10) : value
}

/** A fraction as a percentage with its sign: `+1.64%`. */
export function signedPercent(fraction: number | null | undefined, digits = 2): string {
  if (!isKnown(fraction)) return UNKNOWN_SIGN
  const text = groupThousands((fraction * 100).toFixed(digits))
  // A value that rounds to zero has no sign: neither "+0.00%" nor "-0.00%".
  if (Number.parseFloat(text) === 0) return `${text.replace('-', '')}%`
  return `${fraction > 0 ? '+' : ''}${text}%`
}

/** A fraction as a percentage: `63.2%`. */
export function percentText(fraction: number | null | undefined, digits = 1): string {
  return isKnown(fraction) ? `${(fraction * 100).toFixed(digits)}%` : UNKNOWN_SIGN
}

/** A p-value, or a q-value: two significant digits, and never 0. */
export function probability(p: number | null | undefined): string {
  if (!isKnown(p)) return UNKNOWN_SIGN
  if (p < 0.0001) return '<0.0001'
  return p >= 0.1 ? p.toFixed(2) : p.toPrecision(2)
}

/** A number with a constant number of decimals, without a sign for zero. */
export function decimal(value: number | null | undefined, digits = 2): string {
  return isKnown(value) ? value.toFixed(digits).replace(/^-(0(?:\.0*)?)$/, '$1') : UNKNOWN_SIGN
}

/** A whole number with a thousands separator: `12,345`. */
export function count(value: number | null | undefined): string {
  return isKnown(value) ? groupThousands(String(Math.round(value))) : UNKNOWN_SIGN
}

/** A price, with as many digits as it needs. */
export function price(value: number | null | undefined): string {
  if (!isKnown(value)) return UNKNOWN_SIGN
  const size = Math.abs(value)
  if (size >= 1000) return groupThousands(value.toFixed(size >= 10_000 ? 0 : 1))
  return value.toFixed(size >= 1 || size === 0 ? 2 : 4)
}

/** `-0.4 to +2.9%` */
export function signedPercentRange(low: number | null, high: number | null): string {
  return isKnown(low) && isKnown(high) ? `${signedPercent(low).slice(0, -1)} to ${signedPercent(high)}` : UNKNOWN_SIGN
}

/** Adds thousands separators to the digits before the decimal point. */
function groupThousands(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+(?!\d))(?<!\.\d*)/g, ',')
}

function isKnown(value: number | null | undefined): value is number {
  return value !== null && value !== undefined && Number.isFinite(value)
}
